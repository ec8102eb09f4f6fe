// SPDX-License-Identifier: GPL-2.0-only
/*
 * Start and stop the trace path from encoders to their sink. The chapter "Enabling and Disabling"
 * of the Trace Control Interface requires that software starts at the sink, stops at the source,
 * and waits for each component before the next.
 *
 * Several encoders may share a sink. The window of a sink can be changed only while the sink and
 * all its encoders are disabled. The list sink->members contains these encoders.
 *
 * A task switch stops and starts a path. The code for the common case, an encoder with a sink and
 * nothing between them, is therefore kept short.
 */
#include <linux/lockdep.h>

#include "fabric/fabric.h"
#include "power.h"
#include "route.h"

/* Components that the driver recognises but refuses */
static const struct ntrace_comp_ops ntrace_pib_comp_ops = {
	.type = TR_COMP_PIBSINK, .name = "trace PIB sink", .prefix = "trPib",
};

#ifndef CONFIG_NTRACE_CORESIGHT
const struct ntrace_comp_ops ntrace_bridge_comp_ops = {
	.type = TR_COMP_ATBBRIDGE, .name = "trace ATB bridge", .prefix = "trAtbBridge",
};
#endif

static int ntrace_riscv_identify(struct ntrace_comp *comp)
{
	static const struct ntrace_comp_ops * const kinds[] = {
		&ntrace_encoder_comp_ops, &ntrace_funnel_comp_ops, &ntrace_ramsink_comp_ops,
		&ntrace_bridge_comp_ops, &ntrace_pib_comp_ops, NULL
	};

	return ntrace_comp_identify(comp, kinds);
}

/* Operations of a component of the Trace Control Interface before its registers were read */
const struct ntrace_comp_ops ntrace_riscv_comp_ops = {
	.name		= "trace component",
	.prefix		= "tr??",
	.identify	= ntrace_riscv_identify,
};

/*
 * Funnels are shared. The first path through a funnel enables it, and the last one disables it. A
 * funnel that stopped answering is not touched, because ntrace_path_recover() may be about to reset
 * it.
 */
static int ntrace_path_enable_funnel(struct ntrace_comp *comp)
{
	int ret = 0;

	raw_spin_lock(&comp->lock);
	if (unlikely(comp->stuck))
		ret = -EIO;
	else if (!comp->users)
		ret = ntrace_comp_enable(comp);
	if (!ret)
		comp->users++;
	raw_spin_unlock(&comp->lock);
	return ret;
}

/*
 * Flush a component. A sink that writes frames does not stop at the end of its window, so the flush
 * need not check it.
 */
static int ntrace_path_flush_comp(struct ntrace_comp *comp, const struct ntrace_sink *sink)
{
	return ntrace_comp_flush(comp, sink->frames ? NULL : &sink->comp);
}

/* Disable a funnel if no other path uses it. Return the same values as ntrace_comp_flush(). */
static int ntrace_path_disable_funnel(struct ntrace_comp *comp, const struct ntrace_sink *sink)
{
	int ret = 0;

	raw_spin_lock(&comp->lock);
	if (comp->users && !--comp->users && !ntrace_comp_disable_fast(comp))
		ret = ntrace_path_flush_comp(comp, sink);
	raw_spin_unlock(&comp->lock);
	return ret;
}

/*
 * Disable the funnels of a path, starting at component number @first. On entry, *ret is the result
 * of ntrace_comp_flush() for the components before them. On return, it is the result for all of
 * these components.
 */
static void ntrace_path_disable_funnels(struct ntrace_encoder *enc, unsigned int first, int *ret)
{
	unsigned int i;
	int err;

	for (i = first; i < enc->route.len - 1; i++) {
		if (enc->route.path[i]->type != TR_COMP_FUNNEL)
			continue;
		err = ntrace_path_disable_funnel(enc->route.path[i], enc->sink);
		if (*ret >= 0 && err)
			*ret = err;
	}
}

static int ntrace_path_enable_funnels(struct ntrace_encoder *enc)
{
	unsigned int i = enc->route.len - 1;
	int ret = 0;

	while (!ret && --i)
		if (enc->route.path[i]->type == TR_COMP_FUNNEL)
			ret = ntrace_path_enable_funnel(enc->route.path[i]);
	if (ret)
		ntrace_path_disable_funnels(enc, i + 1, &ret);
	return ret;
}

/*
 * Stop a path that has funnels or takes a while to disable. Trace that the sink no longer accepts
 * stays in the path. It is dropped when the path or the sink starts again, when the window of the
 * sink is taken (ntrace_sink_discard()), or when the encoder rests or leaves its path, whichever
 * happens first.
 */
static noinline int ntrace_path_flush(struct ntrace_encoder *enc)
{
	int ret = ntrace_path_flush_comp(&enc->comp, enc->sink);

	if (ret < 0)
		ntrace_encoder_forget(enc);
	ntrace_path_disable_funnels(enc, 1, &ret);
	if (ret <= 0)
		return ret;
	enc->ready = 0;
	if (list_empty(&enc->held))
		list_add(&enc->held, &enc->sink->held);
	return 0;
}

/* Drop the trace of a funnel, unless another path uses it, whose trace it may contain */
static int ntrace_path_drop_comp(struct ntrace_comp *comp)
{
	int ret = 0;

	if (comp->type != TR_COMP_FUNNEL)
		return 0;
	raw_spin_lock(&comp->lock);
	if (!comp->users && !comp->stuck && !(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_EMPTY))
		ret = ntrace_funnel_drop(to_ntrace_funnel(comp));
	raw_spin_unlock(&comp->lock);
	return ret;
}

/*
 * Reset the encoder and the funnels of a disabled path to drop the trace that they contain. The
 * reset restarts an internal timestamp counter. ntrace_path_drop_comp() spares a funnel that
 * another path uses.
 */
static int ntrace_path_drop(struct ntrace_encoder *enc)
{
	unsigned int i;
	int ret = 0, err;

	list_del_init(&enc->held);
	if (!(ntrace_read(&enc->comp, TR_CONTROL) & TR_CONTROL_EMPTY))
		ret = ntrace_encoder_drop(enc);
	for (i = 1; i < enc->route.len - 1; i++) {
		err = ntrace_path_drop_comp(enc->route.path[i]);
		ret = ret ?: err;
	}
	return ret;
}

/* Disable the encoder, and all components between it and its sink */
static int ntrace_path_disable(struct ntrace_encoder *enc)
{
	if (unlikely(!enc->on))
		return 0;
	enc->on = false;
	if (ntrace_encoder_disable_fast(enc) && enc->route.len == 2)
		return 0;
	return ntrace_path_flush(enc);
}

/* Enable the encoder, and all components between it and its sink */
static int ntrace_path_enable(struct ntrace_encoder *enc)
{
	int ret = 0;

	if (unlikely(enc->comp.stuck))
		return -EIO;
	/*
	 * ntrace_sink_hold() has left the encoder enabled, so that it stalls its hart instead of
	 * losing trace
	 */
	if (unlikely(enc->on))
		return 0;
	if (unlikely(!list_empty(&enc->held)))
		ret = ntrace_path_drop(enc);
	if (unlikely(!ret && !enc->programmed))
		ret = ntrace_encoder_program(enc, enc->config, &enc->filter);
	if (!ret && enc->route.len > 2)
		ret = ntrace_path_enable_funnels(enc);
	if (unlikely(ret))
		return ret;

	ret = ntrace_comp_enable(&enc->comp);
	if (unlikely(ret)) {
		ntrace_encoder_forget(enc);
		ntrace_comp_disable(&enc->comp);
		ntrace_path_disable_funnels(enc, 1, &ret);
		return ret;
	}
	enc->on = true;
	if (!READ_ONCE(enc->paused))
		ntrace_encoder_tracing(enc, true);
	return 0;
}

static inline int ntrace_sink_program(struct ntrace_sink *sink, struct ntrace_window *win)
{
	return unlikely(sink->ops) ? sink->ops->program(sink, win) :
				     ntrace_ramsink_program(sink, win);
}

static inline int ntrace_sink_enable(struct ntrace_sink *sink)
{
	return unlikely(sink->ops) ? sink->ops->enable(sink) : ntrace_comp_enable(&sink->comp);
}

static inline int ntrace_sink_disable(struct ntrace_sink *sink)
{
	return unlikely(sink->ops) ? sink->ops->disable(sink) : ntrace_ramsink_disable(sink);
}

/**
 * ntrace_sink_period - return the period with which to read the write pointer of a sink
 * @sink: The sink
 * @win: Its window
 *
 * The period is one nanosecond for each byte of the window, divided by the number of members. A
 * hart emits less than 0.25 byte in a nanosecond, so that all members together fill less than half
 * of the window in a period, even if the timer is late. ntrace_session_due() ensures that half of
 * the window is free when a period begins. A circular window is never full. In a window that the
 * timer follows, all members together write at most NTRACE_FOLLOW_MAX in a period. From 6 members
 * on, they may write more, because the period is not shorter than NTRACE_PERIOD_MIN.
 *
 * Return: Nanoseconds
 */
u32 ntrace_sink_period(const struct ntrace_sink *sink, const struct ntrace_window *win)
{
	u32 size = win->circular ? NTRACE_PERIOD_MAX : win->end - win->wp;
	unsigned int members = 0;
	struct ntrace_encoder *enc;

	ntrace_sink_assert_locked(sink);
	if (win->follow)
		size = min_t(u64, size, 2 * min_t(u64, win->end - win->start,
						  2 * NTRACE_FOLLOW_MAX));
	else if (win->circular)
		return NTRACE_PERIOD_MAX;
	list_for_each_entry(enc, &sink->members, member)
		members++;
	return clamp_t(u32, size / max(members, 1U), NTRACE_PERIOD_MIN, NTRACE_PERIOD_MAX);
}

/*
 * An encoder that is still enabled with the settings of an earlier event is disabled before its
 * sink takes trace of the next event.
 */
static int ntrace_path_clear(struct ntrace_encoder *enc)
{
	return unlikely(enc->on && !enc->programmed) ? ntrace_path_disable(enc) : 0;
}

/*
 * Let a disabled path send the trace that its components contain. Return the same values as
 * ntrace_comp_flush().
 */
static int ntrace_path_drain(struct ntrace_encoder *enc)
{
	int ret = ntrace_path_enable_funnels(enc);

	if (ret)
		return ret;
	ret = ntrace_path_flush_comp(&enc->comp, enc->sink);
	ntrace_path_disable_funnels(enc, 1, &ret);
	return ret;
}

/*
 * Choose memory to which the sink writes trace that must be discarded. Return false if there is
 * none.
 *
 * If the driver copies the trace of the sink, this memory is the next window, unless it is circular
 * and its contents must stay. If the sink writes to the AUX area itself, this memory is a separate
 * page, because a user who has mapped the AUX area could read the trace.
 */
static bool ntrace_sink_scrap(const struct ntrace_sink *sink, const struct ntrace_window *next,
			      struct ntrace_window *scrap)
{
	if (!next)
		return false;
	if (sink->area->copied) {
		*scrap = *next;
		return !next->circular;
	}
	*scrap = (struct ntrace_window){
		.start = ALIGN_DOWN(sink->scrap, sink->area->start_align),
		.wp = sink->scrap,
		.end = sink->scrap + PAGE_SIZE,
		.stop = true,
	};
	/*
	 * Do not use a window that starts before the page sink->scrap, because of the alignment of
	 * trRamStart. If the sink rounds the size of the window down to 2^M bytes, the window may
	 * also end before this page.
	 */
	return sink->scrap && (sink->area->any_size || scrap->start == scrap->wp);
}

/*
 * Discard trace that did not fit into the last window, because it must not appear in the next one.
 * A reset would also discard it, but it would restart the timestamp counter and make later times
 * wrong. So the sink writes the trace to other memory before it gets its next window. If a member
 * is still enabled, it would add trace, so the paths are reset instead.
 */
static noinline int ntrace_sink_drain(struct ntrace_sink *sink, const struct ntrace_window *win)
{
	struct ntrace_encoder *enc, *next;
	struct ntrace_window scrap;
	bool may_send = ntrace_sink_scrap(sink, win, &scrap);
	int ret = 0, err;

	list_for_each_entry(enc, &sink->members, member)
		may_send = may_send && !enc->on;
	/* If the sink rejects the window, reset the paths instead of failing the event */
	if (may_send && ntrace_sink_program(sink, &scrap))
		may_send = false;
	if (may_send)
		ret = ntrace_sink_enable(sink);
	list_for_each_entry_safe(enc, next, &sink->held, held) {
		err = may_send && !ret ? ntrace_path_drain(enc) : 1;
		if (err > 0)
			err = ntrace_path_drop(enc);
		list_del_init(&enc->held);
		ret = ret ?: err;
	}
	if (may_send) {
		err = ntrace_sink_disable(sink);
		ret = ret ?: err;
	}
	return ret;
}

/**
 * ntrace_sink_discard - drop trace that did not fit into a window that has been collected
 * @sink: The sink
 * @win: Its last window
 *
 * Call this function while the encoders that still hold trace have power, see ntrace_path_rest().
 *
 * Context: Called with ntrace_sink_lock() held, interrupts off. The sink is disabled.
 */
void ntrace_sink_discard(struct ntrace_sink *sink, const struct ntrace_window *win)
{
	ntrace_sink_assert_locked(sink);
	if (likely(list_empty(&sink->held)) || sink->comp.stuck || sink->closed)
		return;
	ntrace_sink_drain(sink, win);
	sink->holds = NULL;
}

/**
 * ntrace_sink_start - enable a sink and its members, the sink first
 * @sink: The sink; its members are programmed
 * @win: Memory that the sink may write, which this function may shrink; NULL to continue
 *	at the position at which the sink stopped
 *
 * Context: Called with ntrace_sink_lock() held, interrupts off.
 * Return: 0, or -EIO or -ETIMEDOUT if a component does not answer, in which case nothing is enabled
 */
int ntrace_sink_start(struct ntrace_sink *sink, struct ntrace_window *win)
{
	struct ntrace_encoder *enc;
	int ret = 0;

	ntrace_sink_assert_locked(sink);
	if (unlikely(sink->comp.stuck || sink->closed))
		return -EIO;
	list_for_each_entry(enc, &sink->members, member) {
		ret = ntrace_path_clear(enc);
		if (unlikely(ret))
			return ret;
	}

	if (unlikely(!list_empty(&sink->held)))
		ret = ntrace_sink_drain(sink, win);
	if (!ret && win)
		ret = ntrace_sink_program(sink, win);
	if (!ret)
		ret = ntrace_sink_enable(sink);
	if (unlikely(ret))
		goto fail;

	list_for_each_entry(enc, &sink->members, member) {
		ret = ntrace_path_enable(enc);
		if (unlikely(ret))
			goto undo;
	}
	return 0;

undo:
	list_for_each_entry_continue_reverse(enc, &sink->members, member)
		ntrace_path_disable(enc);
fail:
	ntrace_sink_disable(sink);
	return ret;
}

/*
 * Mark @enc as ready for a fast restart with @want. Its path has just been started, and all its
 * settings were verified.
 */
void ntrace_path_is_ready(struct ntrace_encoder *enc, const struct ntrace_want *want)
{
	const struct ntrace_sink *sink = enc->sink;

	ntrace_sink_assert_locked(sink);
	if (sink->encoders == 1 && enc->route.len == 2 && !sink->ops && sink->comp.prompt &&
	    enc->comp.prompt)
		enc->ready = want->id;
}

/**
 * ntrace_sink_stop - disable and flush a sink and its members, sources first
 * @sink: The sink
 *
 * Context: Called with ntrace_sink_lock() held, interrupts off.
 * Return: 0 if all trace is in memory, else -ETIMEDOUT. If the sink itself did not answer,
 * sink->comp.stuck is set, and its memory must not be used for anything else.
 */
int ntrace_sink_stop(struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc;
	int ret = 0, err;

	ntrace_sink_assert_locked(sink);
	if (unlikely(sink->closed))
		return 0;
	list_for_each_entry(enc, &sink->members, member) {
		err = ntrace_path_disable(enc);
		ret = ret ?: err;
	}
	err = ntrace_sink_disable(sink);
	return ret ?: err;
}

/*
 * Return true if @enc stalls its hart and traces only user mode. The hart then stalls only in user
 * mode or on its way out of it, and does not hold a kernel lock there.
 */
static bool ntrace_encoder_stands_still(const struct ntrace_encoder *enc)
{
	u8 priv = enc->filter.priv;

	return enc->config & NTRACE_CONFIG_STALL && priv &&
	       !(priv & ~(NTRACE_PRIV_U | NTRACE_PRIV_VU));
}

/**
 * ntrace_sink_hold - stop a sink for a moment, to give it another window
 * @sink: The sink
 * @own: The encoder of this CPU, a member
 *
 * Members that can stall their harts stay enabled, because the sink "should stop accepting new
 * messages which may result in an overflow or stall condition at an encoder" (trRamStopOnWrap). So
 * no trace of their harts is lost until ntrace_sink_start(), or ntrace_sink_leave() if that fails.
 *
 * Context: The same as for ntrace_sink_stop().
 * Return: The same as ntrace_sink_stop()
 */
int ntrace_sink_hold(struct ntrace_sink *sink, struct ntrace_encoder *own)
{
	int ret;

	/*
	 * It is enough to check @own, because the events of all members of a sink have the same
	 * settings
	 */
	if (sink->ops || !own->on || !ntrace_encoder_stands_still(own) || sink->closed)
		return ntrace_sink_stop(sink);
	ntrace_sink_assert_locked(sink);
	ret = ntrace_path_disable(own);
	return ntrace_sink_disable(sink) ?: ret;
}

static void ntrace_sink_pause_members(struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc;
	bool paused;

	list_for_each_entry(enc, &sink->members, member) {
		paused = READ_ONCE(enc->paused);
		if (enc->on && paused == !!(enc->comp.control & TR_TE_INST_TRACING))
			ntrace_encoder_tracing(enc, !paused);
	}
}

/**
 * ntrace_sink_pause - pause or resume the members of a sink according to their encoder->paused
 * @sink: The sink
 *
 * The caller may have interrupted code on this CPU that holds the lock of the sink. So this
 * function does not wait for the lock. If the lock is taken, ntrace_sink_unlock() calls this
 * function later.
 *
 * Context: Any, interrupts off.
 */
void ntrace_sink_pause(struct ntrace_sink *sink)
{
	do {
		/*
		 * Set sink->pausing after the caller's write of encoder->paused. Pairs with the
		 * last barrier of this function, on the CPU that holds the lock.
		 */
		smp_mb();
		WRITE_ONCE(sink->pausing, true);
		/* Pairs with ntrace_sink_release() */
		smp_mb();
		if (!ntrace_sink_trylock(sink))
			return;
		WRITE_ONCE(sink->pausing, false);
		/*
		 * Clear sink->pausing before encoder->paused is read. Pairs with the first barrier
		 * of this function on another CPU, which did not get the lock and returned.
		 */
		smp_mb();
		ntrace_sink_pause_members(sink);
	} while (ntrace_sink_release(sink));
}

/* Add a programmed encoder to a running sink. The sink is locked, and interrupts are off. */
int ntrace_sink_join(struct ntrace_sink *sink, struct ntrace_encoder *enc)
{
	int ret;

	ntrace_sink_assert_locked(sink);
	ret = ntrace_path_clear(enc) ?: ntrace_path_enable(enc);
	if (!ret)
		ntrace_sink_add(sink, &enc->member);
	return ret;
}

/* Remove an encoder from a running sink. The sink is locked, and interrupts are off. */
int ntrace_sink_leave(struct ntrace_sink *sink, struct ntrace_encoder *enc)
{
	ntrace_sink_assert_locked(sink);
	ntrace_sink_del(sink, &enc->member);
	return ntrace_path_disable(enc);
}

/*
 * Close a sink for good before kexec, because it would corrupt the next kernel's memory if it kept
 * writing.
 *
 * Context: On the CPU of an encoder, interrupts off.
 */
void ntrace_sink_close(struct ntrace_sink *sink, bool power)
{
	ntrace_sink_lock(sink);
	if (power)
		ntrace_sink_stop(sink);
	sink->closed = true;
	sink->holds = NULL;
	ntrace_sink_unlock(sink);
}

/*
 * Return true if the encoder has a route, and an event with @config can use its sink. If @config
 * lets the encoder stall its hart when trace does not drain, the sink must not stop when it is
 * full, because the hart would then stall for ever, and only this hart could restart the sink.
 */
bool ntrace_path_fits(const struct ntrace_encoder *enc, u64 config)
{
	return enc->route.len && !(config & NTRACE_CONFIG_STALL && enc->sink->stop_fixed);
}

/* Let @enc trace to the sink of enc->route, the route that the last search for a route has found */
void ntrace_path_use(struct ntrace_encoder *enc)
{
	/* A panicking CPU may read this member at any time */
	WRITE_ONCE(enc->sink, enc->route.sink);
	/* The only encoder of a sink is always its member. Other encoders join and leave. */
	INIT_LIST_HEAD(&enc->member);
	if (enc->sink->encoders == 1)
		list_add(&enc->member, &enc->sink->members);
}

/**
 * ntrace_path_rest - prepare an encoder for the loss of its power
 * @enc: The encoder, which traces nothing and has power
 *
 * Drop the trace that the encoder still holds. Otherwise another CPU would drop it when it starts
 * the sink, and would access an encoder without power. A sink with only one encoder needs no drop
 * here, because only the CPU of that encoder starts the sink.
 *
 * Context: Interrupts off; on the CPU of the encoder, or CPUs are kept awake.
 */
void ntrace_path_rest(struct ntrace_encoder *enc)
{
	struct ntrace_sink *sink = enc->sink;

	if (sink->encoders == 1)
		return;
	ntrace_sink_lock(sink);
	if (!list_empty(&enc->held))
		ntrace_path_drop(enc);
	ntrace_sink_unlock(sink);
}

/**
 * ntrace_path_leave - detach an encoder from its path
 * @enc: The encoder, which traces nothing
 *
 * Context: CPUs are kept awake.
 */
void ntrace_path_leave(struct ntrace_encoder *enc)
{
	struct ntrace_sink *sink = enc->sink;
	unsigned long flags;

	local_irq_save(flags);
	ntrace_sink_lock(sink);
	list_del_init(&enc->member);
	if (!list_empty(&enc->held) && ntrace_has_power(&enc->comp))
		ntrace_path_drop(enc);
	list_del_init(&enc->held);
	ntrace_sink_unlock(sink);
	local_irq_restore(flags);
}

static int ntrace_path_recover_comp(struct ntrace_comp *comp)
{
	int ret = comp->ops->foreign ? 0 : ntrace_comp_reset(comp);

	ret = ret ?: comp->ops->revive(comp);
	if (ret)
		return ret;
	/* Clear stuck after the set-up, because another CPU may start the path at once */
	smp_store_release(&comp->stuck, false);
	dev_info(comp->dev, "%s answers again\n", comp->ops->name);
	return 0;
}

/**
 * ntrace_path_recover - reset components that stopped answering, and try them again
 * @enc: The source of the path
 *
 * Context: May sleep; ntrace_mutex is held.
 * Return: 0 if all components of the path that have power can be used, else -EIO
 */
int ntrace_path_recover(struct ntrace_encoder *enc)
{
	unsigned int i = enc->route.len;
	int ret = 0;

	while (!ret && i--) {
		struct ntrace_comp *comp = enc->route.path[i];

		if (likely(!comp->stuck))
			continue;
		ntrace_keep_awake();
		if (ntrace_has_power(comp))
			ret = READ_ONCE(comp->users) || READ_ONCE(enc->sink->owner) ?
			      -EIO : ntrace_path_recover_comp(comp);
		ntrace_let_sleep();
	}
	return ret ? -EIO : 0;
}

/*
 * Set up the registers of a component that may have lost its power, if it has power now. The lock
 * is needed because several CPUs may resume at the same time and share the component. A CoreSight
 * fabric is skipped because its power does not depend on that of a CPU.
 *
 * Context: Any; nothing is traced through the component.
 * Return: True if it had lost its power
 */
bool ntrace_path_restore_comp(struct ntrace_comp *comp)
{
	unsigned long flags;
	bool lost;

	raw_spin_lock_irqsave(&comp->lock, flags);
	lost = comp->powered && comp->state == NTRACE_COMP_READY && !comp->ops->foreign &&
	       !(ntrace_read(comp, TR_CONTROL) & TR_CONTROL_ACTIVE);
	if (lost && !ntrace_comp_activate(comp))
		comp->ops->revive(comp);
	raw_spin_unlock_irqrestore(&comp->lock, flags);
	return lost;
}

/*
 * Restore the path after an idle state in which its components may have lost their state.
 * Interrupts are off. Return true if the encoder had lost its power.
 */
bool ntrace_path_restore(struct ntrace_encoder *enc)
{
	unsigned int i = enc->route.len;
	bool lost = false;

	ntrace_encoder_forget(enc);
	ntrace_sink_lock(enc->sink);
	/* The encoder is the first component of its route, and is restored last */
	while (i--)
		lost = ntrace_path_restore_comp(enc->route.path[i]);
	ntrace_sink_unlock(enc->sink);
	return lost;
}

/*
 * Return true if components between the encoder and a CoreSight fabric stay enabled between
 * sessions.
 */
bool ntrace_path_keeps_links(const struct ntrace_encoder *enc)
{
	return enc->route.len > 2 && enc->route.path[1]->ops->stays_on;
}

/**
 * ntrace_path_leave_link - put a link into reset before it becomes unreachable
 * @comp: Any component; only a link is touched
 *
 * If the driver were unloaded while a link is enabled and out of reach, the next driver would
 * believe that a debugger uses the link. ntrace_path_restore_comp() enables it again.
 *
 * Context: Any; nothing is traced through the component.
 */
void ntrace_path_leave_link(struct ntrace_comp *comp)
{
	unsigned long flags;

	if (!comp->ops->stays_on && comp->type != TR_COMP_FUNNEL)
		return;
	raw_spin_lock_irqsave(&comp->lock, flags);
	if (comp->powered && comp->state == NTRACE_COMP_READY &&
	    comp->control & TR_CONTROL_ENABLE)
		ntrace_comp_quiesce(comp);
	raw_spin_unlock_irqrestore(&comp->lock, flags);
}

/* Call ntrace_path_leave_link() for the links that no remaining CPU needs */
void ntrace_path_leave_links(struct ntrace_encoder *enc)
{
	unsigned int i;

	for (i = 1; i + 1 < enc->route.len; i++)
		if (!ntrace_serves_active(enc->route.path[i]))
			ntrace_path_leave_link(enc->route.path[i]);
}

/*
 * Disable a bridge that only this encoder uses, because the CPU is about to idle and may lose its
 * power.
 *
 * Context: On the CPU, interrupts off; nothing is traced there.
 */
void ntrace_path_rest_links(struct ntrace_encoder *enc)
{
	if (ntrace_path_keeps_links(enc))
		ntrace_path_leave_link(enc->route.path[1]);
}

/* Resume all components of a route. May sleep. Return 0, or a negative error and resume none. */
int ntrace_route_get(const struct ntrace_route *route)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; !ret && i < route->len; i++)
		ret = ntrace_power_get(route->path[i]);
	if (!ret)
		return 0;
	while (--i)
		ntrace_power_put(route->path[i - 1]);
	return ret;
}

void ntrace_route_put(const struct ntrace_route *route)
{
	unsigned int i;

	for (i = 0; i < route->len; i++)
		ntrace_power_put(route->path[i]);
}
