/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A funnel, and the timestamp unit that encoders at its inputs may share.
 */
#ifndef NTRACE_FUNNEL_H
#define NTRACE_FUNNEL_H

#include <linux/types.h>

#include "component.h"

/**
 * struct ntrace_funnel - a trace funnel
 * @comp: The component; @comp.lock protects the registers
 * @inputs: Bitmap of inputs that can be disabled
 * @used: Bitmap of inputs that a path uses
 * @inner: Its output leads to another funnel
 * @ts: Its timestamp unit
 * @ts_mode: Value of trTsMode, 0 without a timestamp unit
 */
struct ntrace_funnel {
	struct ntrace_comp	comp;
	u16			inputs;
	u16			used;
	bool			inner;
	struct ntrace_ts	ts;
	u8			ts_mode;
};

#define to_ntrace_funnel(c)	container_of(c, struct ntrace_funnel, comp)

/* funnel.c */
extern const struct ntrace_comp_ops ntrace_funnel_comp_ops;
void ntrace_funnel_setup(struct ntrace_funnel *funnel);
void ntrace_funnel_revive(struct ntrace_funnel *funnel);
int ntrace_funnel_drop(struct ntrace_funnel *funnel);
void ntrace_funnel_connect(struct ntrace_funnel *funnel, bool inner);

#endif /* NTRACE_FUNNEL_H */
