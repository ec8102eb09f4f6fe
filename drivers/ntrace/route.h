/* SPDX-License-Identifier: GPL-2.0-only */
/* Routes from encoders through funnels to sinks, with start, stop and recovery. */
#ifndef NTRACE_ROUTE_H
#define NTRACE_ROUTE_H

#include <linux/types.h>

#include "component.h"
#include "encoder.h"
#include "funnel.h"
#include "sink.h"

/* route.c */
extern const struct ntrace_comp_ops ntrace_riscv_comp_ops;
u32 ntrace_sink_period(const struct ntrace_sink *sink, const struct ntrace_window *win);
int ntrace_sink_start(struct ntrace_sink *sink, struct ntrace_window *win);
void ntrace_sink_discard(struct ntrace_sink *sink, const struct ntrace_window *win);
int ntrace_sink_stop(struct ntrace_sink *sink);
int ntrace_sink_hold(struct ntrace_sink *sink, struct ntrace_encoder *own);
int ntrace_sink_join(struct ntrace_sink *sink, struct ntrace_encoder *enc);
int ntrace_sink_leave(struct ntrace_sink *sink, struct ntrace_encoder *enc);
void ntrace_sink_close(struct ntrace_sink *sink, bool power);
void ntrace_path_is_ready(struct ntrace_encoder *enc, const struct ntrace_want *want);
bool ntrace_path_fits(const struct ntrace_encoder *enc, u64 config);
void ntrace_path_use(struct ntrace_encoder *enc);
void ntrace_path_leave(struct ntrace_encoder *enc);
void ntrace_path_rest(struct ntrace_encoder *enc);
int ntrace_path_recover(struct ntrace_encoder *enc);
bool ntrace_path_restore(struct ntrace_encoder *enc);
bool ntrace_path_keeps_links(const struct ntrace_encoder *enc);
void ntrace_path_leave_link(struct ntrace_comp *comp);
void ntrace_path_leave_links(struct ntrace_encoder *enc);
void ntrace_path_rest_links(struct ntrace_encoder *enc);
bool ntrace_path_restore_comp(struct ntrace_comp *comp);
int ntrace_route_get(const struct ntrace_route *route);
void ntrace_route_put(const struct ntrace_route *route);

/*
 * Enable a path that is ready, see struct ntrace_encoder. Do not read registers to verify it. The
 * driver did that when it opened the window: "Trace tools may verify a particular setting once per
 * session, so subsequent starts of trace may be faster".
 */
static __always_inline void ntrace_path_restart(struct ntrace_encoder *enc)
{
	struct ntrace_comp *sink = &enc->sink->comp;

	sink->control |= TR_CONTROL_ENABLE;
	ntrace_write(sink, TR_CONTROL, sink->control);
	/*
	 * Enable the sink first. Without a barrier, writes to two components may arrive in any
	 * order.
	 */
	wmb();
	enc->comp.control |= TR_CONTROL_ENABLE;
	ntrace_write(&enc->comp, TR_CONTROL, enc->comp.control);
	enc->on = true;
	ntrace_encoder_tracing(enc, true);
}

/*
 * Start to disable the encoder. Return true if it is already disabled and empty.
 * trTeInstStallOrOverflow is in the same register, and is cleared when trTeEnable is set.
 */
static inline bool ntrace_encoder_disable_fast(struct ntrace_encoder *enc)
{
	u32 mask = TR_CONTROL_ENABLE | TR_CONTROL_EMPTY, val;

	enc->comp.control &= ~(TR_CONTROL_ENABLE | TR_TE_INST_TRACING);
	ntrace_write(&enc->comp, TR_CONTROL, enc->comp.control);
	val = ntrace_read(&enc->comp, TR_CONTROL);
	if (unlikely(val & TR_TE_INST_STALL_OR_OVERFLOW))
		enc->overflows++;
	return likely((val & mask) == TR_CONTROL_EMPTY);
}

/*
 * Disable a path that is ready. Return false if the caller must use ntrace_sink_stop(), which
 * handles all cases.
 */
static __always_inline bool ntrace_path_halt(struct ntrace_encoder *enc)
{
	if (unlikely(!ntrace_encoder_disable_fast(enc)))
		return false;
	enc->on = false;
	return ntrace_comp_disable_fast(&enc->sink->comp);
}

/* Limits of the result of ntrace_sink_period() in nanoseconds */
#define NTRACE_PERIOD_MIN	50000
#define NTRACE_PERIOD_MAX	4000000

#endif /* NTRACE_ROUTE_H */
