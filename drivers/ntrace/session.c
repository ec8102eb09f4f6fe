// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session: an event that traces on a CPU. It opens a window in the AUX area, lets the sink
 * write it, looks at the write pointer by a timer, and hands over what was written.
 */
#include "compat.h"
#include "session.h"

/*
 * How soon the write pointer is looked at: a nanosecond for each byte of the
 * window. What a hart emits in that time (it is below 0.25 byte) is less than
 * the half of the window that is kept free, see ntrace_session_due(); timers
 * may be late.
 */
#define NTRACE_PERIOD_MIN	(50 * NSEC_PER_USEC)
#define NTRACE_PERIOD_MAX	(4 * NSEC_PER_MSEC)

/* The sink came to the end of its window; sets PARTIAL if trace is missing */
static noinline unsigned long ntrace_collect_wrapped(struct ntrace_session *s,
						     unsigned long written)
{
	unsigned long size = s->win.end - s->win.start, used;
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;

	sink->holds = NULL;
	if (s->win.circular) {
		ntrace_window_sync(s, s->win.start, size);
		/* once around at least; the head is where the write pointer is */
		return written + size - s->first;
	}

	perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	used = size - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	if (!s->win.stop)
		ntrace_buf_unwrap(buf, s->offset, s->offset + written, s->offset + size);
	return used;
}

/* Bytes that the window of a stopped SMEM sink holds */
static __always_inline unsigned long ntrace_collect_smem(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used, written;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (unlikely(wrapped || written < s->first))
		return ntrace_collect_wrapped(s, written);
	used = written - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	s->win.wp += used;
	s->first = written;
	return used;
}

/* Copy from SRAM to the head, as much as there is room for; PARTIAL if that is not all */
static noinline unsigned long ntrace_collect_sram(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long size = s->win.end - s->win.start, head, used, n, done;
	bool wrapped;
	u32 from;

	used = ntrace_sink_written(sink, &s->win, &wrapped);
	from = wrapped ? used : 0;
	if (wrapped)
		used = size;
	if (buf->overwrite) {
		if (used > buf->size) {
			from = (from + used - buf->size) % size;
			used = buf->size;
		}
	} else if (wrapped || used > s->handle.size) {
		used = min(used, ALIGN_DOWN(s->handle.size, 4));
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	}

	head = s->handle.head;
	for (done = 0; done < used; done += n) {
		unsigned long offset = (head + done) & (buf->size - 1);

		n = min(used - done, PAGE_SIZE - offset_in_page(offset));
		ntrace_ramsink_read(sink, (from + done) % size,
				    buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset), n);
	}
	return used;
}

/*
 * The sink has stopped: what it wrote is ready to be handed over. Sets flags of
 * the handle. Returns the bytes.
 */
static __always_inline unsigned long ntrace_session_collect(struct ntrace_session *s, int stopped)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long used = 0;

	/* It said that it is empty: what follows sees what it wrote */
	mb();
	if (unlikely(sink->loose && sink->smem))
		buf->leak = true;
	else if (sink->smem)
		used = ntrace_collect_smem(s);
	else
		used = ntrace_collect_sram(s);

	if (unlikely(sink->ops))
		perf_aux_output_flag(&s->handle, NTRACE_AUX_FORMAT_FRAMES);
	if (unlikely(stopped))
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);

	used += s->pad;
	s->next = s->handle.head + used;
	if (buf->overwrite)
		s->handle.head += used;
	return min(used, buf->size);
}

/*
 * May the sink go on in its window, where it stopped? It may if nobody else has
 * used its registers or the AUX area since, and the part that is left does not
 * make a stop necessary soon. Then no register need be written for it.
 */
static __always_inline bool ntrace_session_may_continue(const struct ntrace_session *s)
{
	if (s->enc->sink->holds != s || s->buf_id != s->buf->id || s->next != s->handle.head)
		return false;
	if (s->win.circular)
		return true;
	/* One that runs around would write what perf has been given */
	return s->win.stop && ntrace_session_may_stop(s) &&
	       s->first <= (s->win.end - s->win.start) / 2;
}

/* Open a window at the head, and point the sink to it */
static noinline int ntrace_session_renew(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	int ret;

	ret = sink->smem ? ntrace_window_smem(s, buf) : ntrace_window_sram(s, buf);
	if (!ret)
		ret = ntrace_sink_start(sink, &s->win);
	if (ret)
		return ret;
	s->buf_id = buf->id;
	/* SRAM, and a sink that is no RAM sink, begin anew each time. */
	sink->holds = sink->smem && !sink->ops ? s : NULL;
	return 0;
}

/* A window in the AUX area of @s for its sink and all members of that */
static __always_inline int ntrace_session_run(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	if (likely(ntrace_session_may_continue(s))) {
		s->pad = 0;
		ret = ntrace_sink_start(sink, NULL);
	} else {
		ret = ntrace_session_renew(s);
	}
	if (unlikely(ret)) {
		s->buf->leak |= sink->loose && sink->smem;
		return ret;
	}
	s->filled = s->first;
	s->period = ns_to_ktime(clamp_t(u64, s->win.end - s->win.wp,
					NTRACE_PERIOD_MIN, NTRACE_PERIOD_MAX));
	/* A sample may be taken from now on, see ntrace_session_sample() */
	barrier();
	WRITE_ONCE(sink->owner, s);
	return 0;
}

/* Another member's memory is used from now on, or the timers of the members sort it out */
static noinline void ntrace_session_hand_on(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_encoder *enc;

	list_del_init(&s->enc->member);
	list_for_each_entry(enc, &sink->members, member) {
		struct ntrace_session *next = enc->session;

		if (ntrace_session_run(next))
			continue;
		/* Its timer is that of one who is in no hurry */
		if (next->period < next->queued)
			smp_call_function_single_async(next->timer_cpu, &next->kick);
		break;
	}
}

/* The owner of a sink, which has stopped, is done */
static __always_inline void ntrace_session_leave(struct ntrace_session *s)
{
	if (s->enc->sink->encoders > 1)
		ntrace_session_hand_on(s);
}

/*
 * A shared sink writes what all its encoders trace to the buffer of one of
 * them; SRC tells them apart. That is for events of one owner that see the
 * same.
 */
static bool ntrace_session_may_share(const struct ntrace_session *a,
				     const struct ntrace_session *b)
{
	const struct perf_event *ea = a->event->parent ?: a->event;
	const struct perf_event *eb = b->event->parent ?: b->event;

	return ea->owner && ea->owner == eb->owner && a->config == b->config &&
	       a->filter->priv == b->filter->priv && !a->filter->nr_ranges &&
	       !b->filter->nr_ranges && !(a->config & NTRACE_CONFIG_INHIBIT_SRC);
}

static __always_inline int ntrace_session_enter(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	if (unlikely(sink->owner)) {
		if (!ntrace_session_may_share(sink->owner, s))
			return -EBUSY;
		return ntrace_sink_join(sink, s->enc);
	}
	ntrace_sink_add(sink, &s->enc->member);
	ret = ntrace_session_run(s);
	if (unlikely(ret))
		ntrace_sink_del(sink, &s->enc->member);
	return ret;
}

/* Is it time: will the window be full, or does the reader want to be woken? */
static bool ntrace_session_due(struct ntrace_session *s)
{
	unsigned long size = s->win.end - s->win.start, written, delta;
	bool wrapped;

	written = ntrace_sink_written(s->enc->sink, &s->win, &wrapped);
	delta = written - s->filled;
	s->filled = written;
	if (wrapped || size - written < max(2 * delta, size / 2))
		return true;
	/* A snapshot buffer, with no room to keep account of, wakes nobody */
	return s->handle.size &&
	       (long)(s->handle.head + s->pad + written - s->first - s->handle.wakeup) >= 0;
}

/*
 * No room, or no sink. Say once that trace is missing. The timer tries again: nobody switches a
 * system-wide event out and in.
 */
static noinline int ntrace_session_refused(struct ntrace_session *s, int ret, bool again)
{
	s->waiting = ret == -ENOSPC || ret == -EBUSY;
	if (!again || !s->waiting)
		perf_aux_output_flag(&s->handle, ret == -EBUSY ? PERF_AUX_FLAG_PARTIAL :
								 PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&s->handle, 0);
	return s->waiting ? 0 : ret;
}

/*
 * Trace into the AUX area of the event from now on. Without room there, the
 * event waits for its reader: see ntrace_session_timer().
 *
 * TRUNCATED makes perf disable the event until its reader enables it again,
 * which perf does when it has read. Linux 6.12 forgets to, but for a task that
 * is switched: there it is the timer that goes on.
 */
static __always_inline int ntrace_session_open(struct ntrace_session *s, bool again)
{
	int ret;

	s->waiting = false;
	/* A member that is not the owner, or waits for room, is in no hurry */
	s->period = ns_to_ktime(NTRACE_PERIOD_MAX);
	/* Without a buffer; some room is always left in one */
	s->buf = perf_aux_output_begin(&s->handle, s->event);
	if (unlikely(!s->buf))
		return -ENOSPC;
	ret = ntrace_session_enter(s);
	if (likely(!ret))
		return 0;
	return ntrace_session_refused(s, ret, again);
}

static noinline int ntrace_session_reopen(struct ntrace_session *s, bool again)
{
	return ntrace_session_open(s, again);
}

/* What there is, of the owner of a sink; that stops */
static __always_inline unsigned long ntrace_session_take(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used;

	WRITE_ONCE(sink->owner, NULL);
	barrier();
	used = ntrace_session_collect(s, ntrace_sink_stop(sink));
	ntrace_session_leave(s);
	return used;
}

/* Hand over what there is, and go on */
static int ntrace_session_drain(struct ntrace_session *s)
{
	perf_aux_output_end(&s->handle, ntrace_session_take(s));
	return ntrace_session_reopen(s, false);
}

/* A member whose memory was not fit for the others, see ntrace_session_leave() */
static int ntrace_session_restart(struct ntrace_session *s)
{
	ntrace_sink_del(s->enc->sink, &s->enc->member);
	perf_aux_output_end(&s->handle, 0);
	return ntrace_session_reopen(s, false);
}

/* Look what the sink has done. Context: on the CPU of @s, interrupts off. */
static void ntrace_session_look(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct perf_event *event = s->event;
	int ret = 0;

	ntrace_sink_lock(sink);
	if (s->waiting)
		ret = ntrace_session_reopen(s, true);
	else if (!sink->owner)
		ret = ntrace_session_restart(s);
	else if (sink->owner == s && !s->win.circular && ntrace_session_due(s))
		ret = ntrace_session_drain(s);
	if (unlikely(ret)) {
		WRITE_ONCE(s->event, NULL);
		event->hw.state |= PERF_HES_STOPPED;
	}
	ntrace_sink_unlock(sink);
}

static enum hrtimer_restart ntrace_session_timer(struct hrtimer *timer)
{
	struct ntrace_session *s = container_of(timer, struct ntrace_session, timer);

	if (!s->event || s->timer_cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	ntrace_session_look(s);
	if (!s->event)
		return HRTIMER_NORESTART;
	s->queued = s->period;
	hrtimer_forward_now(timer, s->period);
	return HRTIMER_RESTART;
}

/**
 * ntrace_sink_interrupt - a sink says that its window is full
 * @sink: the sink
 *
 * The specification has no interrupt; some sinks have. The timer is to come
 * before it, and goes on without it: when it was late, this ends the loss.
 *
 * Context: hard interrupt.
 * Return: false if it cannot have been the sink
 */
bool ntrace_sink_interrupt(struct ntrace_sink *sink)
{
	struct ntrace_session *s;

	ntrace_sink_lock(sink);
	s = sink->owner;
	ntrace_sink_unlock(sink);
	if (!s)
		return false;
	/* Its CPU may have been told already */
	smp_call_function_single_async(s->timer_cpu, &s->kick);
	return true;
}

static void ntrace_session_start_timer(struct ntrace_session *s)
{
	if (s->enc->sink->encoders == 1 && !s->waiting && s->win.circular)
		return;
	/* One that another event has left may be too late for this one */
	if (hrtimer_is_queued(&s->timer) && s->queued <= s->period)
		return;
	s->queued = s->period;
	hrtimer_start(&s->timer, s->period, HRTIMER_MODE_REL_PINNED_HARD);
}

/* The sink interrupted, perhaps another CPU; or another CPU has made this one the owner */
static void ntrace_session_kicked(void *data)
{
	struct ntrace_session *s = data;

	if (!s->event)
		return;
	ntrace_session_look(s);
	if (s->event)
		ntrace_session_start_timer(s);
}

/* Before the first event */
void ntrace_session_init(struct ntrace_session *s, unsigned int cpu)
{
	s->timer_cpu = cpu;
	INIT_CSD(&s->kick, ntrace_session_kicked, s);
	ntrace_hrtimer_setup(&s->timer, ntrace_session_timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * ntrace_session_start - trace into the AUX area of an event
 * @s: of this CPU
 * @event: the event
 * @config: its config
 * @filter: what it traces
 *
 * Context: interrupts off.
 * Return: 0, or a negative error: nothing is traced
 */
int ntrace_session_start(struct ntrace_session *s, struct perf_event *event, u64 config,
			 const struct ntrace_filter *filter)
{
	struct ntrace_encoder *enc = s->enc;
	struct ntrace_sink *sink = enc->sink;
	int ret = 0;

	s->config = config;
	s->filter = filter;
	enc->paused = ntrace_event_is_paused(event);

	if (unlikely(!ntrace_encoder_holds(enc, config, filter)))
		ret = ntrace_encoder_program(enc, config, filter);
	if (unlikely(ret))
		return ret;
	ntrace_sink_lock(sink);
	WRITE_ONCE(s->event, event);
	ret = ntrace_session_open(s, false);
	if (unlikely(ret))
		WRITE_ONCE(s->event, NULL);
	ntrace_sink_unlock(sink);
	if (likely(!ret))
		ntrace_session_start_timer(s);
	return ret;
}

/*
 * The timer is left to find that there is nothing to do: a task switch does not
 * pay for it. Context: interrupts off.
 */
void ntrace_session_stop(struct ntrace_session *s)
{
	struct ntrace_sink *sink;
	unsigned long used = 0;
	bool waiting, on;

	if (!s->event)
		return;
	sink = s->enc->sink;
	ntrace_sink_lock(sink);
	waiting = s->waiting;
	if (likely(sink->owner == s)) {
		used = ntrace_session_take(s);
	} else if (!waiting) {
		on = s->enc->on;
		if (ntrace_sink_leave(sink, s->enc) || !on)
			perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	}
	/* Not before: other CPUs ask the owner's event whether theirs may share the sink */
	WRITE_ONCE(s->event, NULL);
	ntrace_sink_unlock(sink);
	if (likely(!waiting))
		perf_aux_output_end(&s->handle, used);
}

/*
 * PERF_EF_PAUSE and PERF_EF_RESUME come from another event, which may have interrupted code of
 * this file that has the sink locked. Who has the lock is asked to do it then.
 *
 * Context: interrupts off, any other.
 */
void ntrace_session_pause(struct ntrace_session *s, bool pause)
{
	struct ntrace_sink *sink;

	if (!READ_ONCE(s->event))
		return;
	sink = s->enc->sink;
	WRITE_ONCE(s->enc->paused, pause);
	ntrace_sink_pause(sink);
}
