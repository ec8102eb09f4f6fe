/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Components that do not have the registers of the Trace Control Interface, or that lead to such
 * components. The rest of the driver only uses their operations.
 */
#ifndef NTRACE_FABRIC_H
#define NTRACE_FABRIC_H

#include "../encoder.h"
#include "../sink.h"

/* Types of components that N-Trace does not define; no value of trComponentType is that large */
#define NTRACE_COMP_SBA_FUNNEL	0x80
#define NTRACE_COMP_CSFUNNEL	0x100
#define NTRACE_COMP_ETF		0x101
#define NTRACE_COMP_ETR		0x102

/**
 * struct ntrace_csfunnel - a funnel of a CoreSight fabric
 * @comp: The component; @comp.lock protects the registers
 * @used: Bitmap of inputs that a path uses
 */
struct ntrace_csfunnel {
	struct ntrace_comp	comp;
	u8			used;
};

#define to_ntrace_csfunnel(c)	container_of(c, struct ntrace_csfunnel, comp)

/* bridge.c and coresight.c, with CONFIG_NTRACE_CORESIGHT */
extern const struct ntrace_comp_ops ntrace_bridge_comp_ops;
extern const struct ntrace_comp_ops ntrace_csfunnel_comp_ops;
extern const struct ntrace_comp_ops ntrace_tmc_comp_ops;

/* sifive.c, with CONFIG_NTRACE_SIFIVE */
extern const struct ntrace_comp_ops ntrace_sifive_encoder_comp_ops;
extern const struct ntrace_comp_ops ntrace_sifive_funnel_comp_ops;

#endif /* NTRACE_FABRIC_H */
