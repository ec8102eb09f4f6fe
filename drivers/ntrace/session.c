// SPDX-License-Identifier: GPL-2.0-only
/*
 * A session is an event that traces on a CPU. It opens a window in the AUX area and lets the sink
 * write to it. A timer reads the write pointer, and the session passes the new trace to perf.
 *
 * A task switch stops one session and starts another. If the sink has one encoder, no funnel is on
 * the path, and the registers still hold the settings of the session, a start takes 3 writes and no
 * read, and a stop takes 2 writes and 3 reads. Without this fast path, a switch in and out costs
 * 1,150 instructions more (tests/driver/cost.c: 1,325 instead of 175 beyond a bare AUX PMU).
 */
#include "compat.h"
#include "session.h"

/*
 * Copy trace from the sink's own memory to the AUX area, from the head on. Set the PARTIAL flag if
 * the AUX area does not have room for all of it.
 */
static noinline unsigned long ntrace_collect_copied(struct ntrace_session *s)
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
		if (wrapped && s->win.stop)
			perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	} else if (wrapped || used > s->handle.size) {
		used = min(used, ALIGN_DOWN(s->handle.size, 4));
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	}

	head = s->handle.head;
	for (done = 0; done < used; done += n) {
		unsigned long offset = (head + done) & (buf->size - 1);

		n = min3(used - done, PAGE_SIZE - offset_in_page(offset),
			 size - (from + done) % size);
		ntrace_ramsink_read(sink, (from + done) % size,
				    buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset), n);
	}
	return used;
}

/*
 * Collect the trace of a sink that has stopped, and set flags of the handle. Return the number of
 * bytes to pass to perf.
 */
static __always_inline unsigned long ntrace_session_collect(struct ntrace_session *s, int stopped)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long used = 0;

	/*
	 * The sink has reported that it is empty. Reads of memory after this barrier see its trace.
	 */
	mb();
	ntrace_sink_assert_locked(sink);
	if (unlikely(sink->loose && !sink->area->copied))
		buf->leak = true;
	else if (!sink->area->copied)
		used = ntrace_window_collect(s);
	else
		used = ntrace_collect_copied(s);

	if (unlikely(sink->frames))
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
 * Return true if the sink may continue in its window, at the place at which it stopped.
 *
 * This requires that no other session has used its registers or the AUX area since, and that the
 * window is less than half full. A sink that wraps around must not continue in a window that is not
 * circular, because it would overwrite trace that perf already has.
 */
static __always_inline bool ntrace_session_may_continue(const struct ntrace_session *s)
{
	return s->enc->sink->holds == s && s->buf_id == s->buf->id &&
	       s->next == s->handle.head && s->first <= s->half;
}

/* Open a window at the head, and point the sink to it */
static noinline int ntrace_session_renew(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long size;
	int ret;

	ret = sink->area->copied ? ntrace_window_copied(s, buf) : ntrace_window_smem(s, buf);
	if (!ret)
		ret = ntrace_sink_start(sink, &s->win);
	if (ret)
		return ret;
	s->buf_id = buf->id;
	size = s->win.end - s->win.start;
	s->half = s->win.circular ? size : size / 2;
	/*
	 * A circular window needs no timer, unless the timer must invalidate cache lines (follow).
	 * A sink that writes CoreSight frames gets a timer, because it cannot continue in its
	 * window after a sample, and the next window may not be circular.
	 */
	s->timed = !s->win.circular || sink->frames || s->win.follow;
	/*
	 * Each time that it is restarted, a sink that has its own memory or that writes CoreSight
	 * frames needs a new window, so its registers do not keep the window of @s
	 */
	sink->holds = NULL;
	if (!sink->area->copied && !sink->frames && (s->win.circular || s->win.stop))
		sink->holds = s;
	return 0;
}

/* Record that the sink runs in the window of @s */
static __always_inline void ntrace_session_owns(struct ntrace_session *s)
{
	s->filled = s->first;
	s->period = s->window_period;
	s->state = NTRACE_SESSION_OWNER;
	/*
	 * Set sink->owner last, because from then on an interrupt may sample the trace of the sink,
	 * see ntrace_session_sample()
	 */
	barrier();
	WRITE_ONCE(s->enc->sink->owner, s);
}

/* Give the sink of @s, and all members of the sink, a window in the AUX area of @s */
static noinline int ntrace_session_run(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	ntrace_sink_assert_locked(sink);
	/*
	 * Check again whether the sink stops at the end of the window, because the window may have
	 * been opened for an event with other settings
	 */
	if (ntrace_session_may_continue(s) && (s->win.circular || ntrace_session_may_stop(s))) {
		s->pad = 0;
		ret = ntrace_sink_start(sink, NULL);
	} else {
		ret = ntrace_session_renew(s);
	}
	if (unlikely(ret)) {
		sink->holds = NULL;
		s->buf->leak |= sink->loose && !sink->area->copied;
		return ret;
	}
	s->window_period = ntrace_window_period(s);
	ntrace_session_owns(s);
	return 0;
}

/*
 * Shorten the period of the timer of the sink's owner if the window could become full before the
 * timer expires. The period may be too long because @owner has just become the owner, or because
 * another encoder has joined the sink, so that the window fills faster.
 */
static void ntrace_session_hasten(struct ntrace_session *owner)
{
	owner->period = min(owner->period, ntrace_window_period(owner));
	if (owner->period < owner->queued)
		smp_call_function_single_async(owner->timer_cpu, &owner->kick);
}

/* Return the number of bytes for which the AUX buffer of a session has room */
static unsigned long ntrace_session_room(const struct ntrace_session *s)
{
	return s->buf->overwrite ? s->buf->size : s->handle.size;
}

/* Move the member whose AUX buffer has the most room to the front. Return NULL without a member. */
static struct ntrace_session *ntrace_sink_roomiest(struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc, *most = NULL;

	list_for_each_entry(enc, &sink->members, member)
		if (!most || ntrace_session_room(enc->session) > ntrace_session_room(most->session))
			most = enc;
	if (!most)
		return NULL;
	list_move(&most->member, &sink->members);
	return most->session;
}

/*
 * Let the sink use the memory of another member, because the owner of a shared sink has finished.
 * When a window is full, all members lose trace, so the member with the most room is tried first.
 * If no member can be the owner, all members leave the sink, and their timers restart them later.
 * They must not stay, because the next owner may be a user who must not see their trace.
 */
static noinline void ntrace_session_hand_on(struct ntrace_sink *sink)
{
	struct ntrace_encoder *enc, *next;

	ntrace_sink_assert_locked(sink);
	ntrace_sink_roomiest(sink);
	list_for_each_entry(enc, &sink->members, member) {
		struct ntrace_session *other = enc->session;

		if (ntrace_session_run(other))
			continue;
		ntrace_session_hasten(other);
		return;
	}
	list_for_each_entry_safe(enc, next, &sink->members, member) {
		ntrace_sink_leave(sink, enc);
		enc->session->state = NTRACE_SESSION_ORPHAN;
	}
}

/*
 * Return true if the owner @s of a sink stays the owner while it reopens its AUX buffer, of which
 * @used bytes are in use. It does if the sink has no other member. Otherwise look at the member
 * whose AUX buffer has the most room. @s stays the owner if that buffer has less room than remains
 * in the buffer of @s, and also less than an eighth of that buffer's size.
 */
static bool ntrace_session_keeps(const struct ntrace_session *s, unsigned long used)
{
	const struct ntrace_session *other = ntrace_sink_roomiest(s->enc->sink);
	unsigned long room = ntrace_session_room(s);

	return !other || (ntrace_session_room(other) < other->buf->size / 8 &&
			  ntrace_session_room(other) < room - min(room, used));
}

/*
 * Return true if two events may share a sink. A shared sink writes the trace of all its encoders,
 * which differ in SRC, to the buffer of one event. So only events of one user with the same rights
 * may share it.
 */
static bool ntrace_session_may_share(const struct ntrace_session *a,
				     const struct ntrace_session *b)
{
	const struct perf_event *ea = a->event->parent ?: a->event;
	const struct perf_event *eb = b->event->parent ?: b->event;

	ntrace_sink_assert_locked(a->enc->sink);
	return ea->owner && ea->owner == eb->owner && a->want->config == b->want->config &&
	       a->want->filter.priv == b->want->filter.priv && !a->want->filter.nr_ranges &&
	       !b->want->filter.nr_ranges && !(a->want->config & NTRACE_CONFIG_INHIBIT_SRC);
}

static int ntrace_session_enter(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	ntrace_sink_assert_locked(sink);
	if (sink->owner) {
		if (!ntrace_session_may_share(sink->owner, s))
			return -EBUSY;
		s->state = NTRACE_SESSION_MEMBER;
		ret = ntrace_sink_join(sink, s->enc);
		if (!ret)
			ntrace_session_hasten(sink->owner);
		return ret;
	}
	ntrace_sink_add(sink, &s->enc->member);
	ret = ntrace_session_run(s);
	if (ret)
		ntrace_sink_del(sink, &s->enc->member);
	return ret;
}

/*
 * Return true if less than half of the window is free, if the window may be full soon, or if there
 * is enough trace to wake the reader
 */
static bool ntrace_session_due(struct ntrace_session *s)
{
	unsigned long size = s->win.end - s->win.start, written, delta;
	bool wrapped;

	written = ntrace_sink_written(s->enc->sink, &s->win, &wrapped);
	delta = written - s->filled;
	s->filled = written;
	if (wrapped || size - written < max(2 * delta, size / 2))
		return true;
	/* A snapshot buffer never gets full, and its reader is not woken */
	return s->handle.size &&
	       (long)(s->handle.head + s->pad + written - s->first - s->handle.wakeup) >= 0;
}

/*
 * Handle an event that has no room or no sink. A flag informs the reader once that trace is
 * missing. The COLLISION flag means that another event has the sink. The timer tries again, because
 * no task switch restarts a system-wide event.
 */
static int ntrace_session_refused(struct ntrace_session *s, int ret, enum ntrace_session_state was)
{
	u64 flags = PERF_AUX_FLAG_TRUNCATED;

	switch (ret) {
	case -EBUSY:
		s->state = NTRACE_SESSION_WAITING;
		flags = PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_COLLISION;
		if (was == NTRACE_SESSION_WAITING)
			flags = 0;
		break;
	case -ENOSPC:
		s->state = NTRACE_SESSION_FULL;
		if (was != NTRACE_SESSION_IDLE)
			flags = 0;
		break;
	default:
		s->state = NTRACE_SESSION_IDLE;
		break;
	}
	if (flags)
		perf_aux_output_flag(&s->handle, flags);
	perf_aux_output_end(&s->handle, 0);
	return s->state == NTRACE_SESSION_IDLE ? ret : 0;
}

/*
 * Trace into the AUX area of the event, whose handle is open. If the area has no room, the event
 * waits for its reader, see ntrace_session_timer().
 *
 * TRUNCATED makes the kernel disable the event. The perf command enables it again after it has read
 * the area. Linux 6.12 does not disable a system-wide event, and it disables the event of a task
 * only when it switches to another task. On that kernel, the timer continues the trace.
 *
 * @was is the state in which the session waited before, or NTRACE_SESSION_IDLE.
 */
static int ntrace_session_open(struct ntrace_session *s, enum ntrace_session_state was)
{
	int ret;

	ntrace_sink_assert_locked(s->enc->sink);
	/*
	 * Begin with the longest period of the timer. It suits a member, whose window the owner's
	 * timer checks, and an event that waits for room. ntrace_session_enter() shortens it if the
	 * session becomes the owner.
	 */
	s->period = ns_to_ktime(NTRACE_PERIOD_MAX);
	ret = ntrace_session_enter(s);
	return ret ? ntrace_session_refused(s, ret, was) : 0;
}

/*
 * Stop the sink whose owner is @s. Return the number of bytes to pass to perf. If @reopens is true,
 * the caller will open the AUX buffer again before it unlocks the sink, so @s may stay the owner.
 */
static unsigned long ntrace_session_take(struct ntrace_session *s, bool reopens)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used;

	ntrace_sink_assert_locked(sink);
	WRITE_ONCE(sink->owner, NULL);
	barrier();
	used = ntrace_session_collect(s, ntrace_sink_hold(sink, s->enc));
	ntrace_sink_discard(sink, &s->win);
	if (sink->encoders > 1) {
		list_del_init(&s->enc->member);
		if (!reopens || !ntrace_session_keeps(s, used))
			ntrace_session_hand_on(sink);
	}
	return used;
}

/*
 * Open the handle again after it was closed. Without a buffer the session ends. @was has the same
 * meaning as in ntrace_session_open().
 */
static void ntrace_session_reopen(struct ntrace_session *s, enum ntrace_session_state was)
{
	s->state = NTRACE_SESSION_IDLE;
	s->buf = perf_aux_output_begin(&s->handle, s->event);
	if (s->buf)
		ntrace_session_open(s, was);
	if (s->state == NTRACE_SESSION_IDLE)
		WRITE_ONCE(s->event, NULL);
}

/* Check how much the sink has written. Runs on the CPU of @s with interrupts off. */
static void ntrace_session_look(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;

	if (unlikely(s->barred))
		return;
	ntrace_sink_lock(sink);
	switch (s->state) {
	case NTRACE_SESSION_WAITING:
	case NTRACE_SESSION_FULL:
		ntrace_session_reopen(s, s->state);
		break;
	case NTRACE_SESSION_ORPHAN:
		/* Report that trace is missing for the time in which the session had no sink */
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
		perf_aux_output_end(&s->handle, 0);
		ntrace_session_reopen(s, NTRACE_SESSION_IDLE);
		break;
	case NTRACE_SESSION_OWNER:
		if (s->win.follow)
			ntrace_window_follow(s);
		if (s->win.circular || !ntrace_session_due(s))
			break;
		perf_aux_output_end(&s->handle, ntrace_session_take(s, true));
		ntrace_session_reopen(s, NTRACE_SESSION_IDLE);
		if (sink->encoders > 1 && !sink->owner)
			ntrace_session_hand_on(sink);
		break;
	default:
		break;
	}
	ntrace_sink_unlock(sink);
}

/*
 * If the flight recorder has ended, start the event that has waited for it and return true.
 */
static bool ntrace_session_unbar(struct ntrace_session *s)
{
	if (READ_ONCE(s->enc->sink->flight))
		return false;
	s->barred = false;
	s->state = NTRACE_SESSION_IDLE;
	/*
	 * Do not set the COLLISION flag again, because the reader got it when the event began to
	 * wait
	 */
	s->rested = NTRACE_SESSION_WAITING;
	ntrace_session_start(s, s->event, s->want);
	s->rested = NTRACE_SESSION_IDLE;
	return true;
}

static enum hrtimer_restart ntrace_session_timer(struct hrtimer *timer)
{
	struct ntrace_session *s = container_of(timer, struct ntrace_session, timer);

	if (!ntrace_session_is_active(s) || s->timer_cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	/*
	 * Do not restart the timer here, because ntrace_session_unbar() has started the event and
	 * its timer
	 */
	if (unlikely(s->barred) && ntrace_session_unbar(s))
		return HRTIMER_NORESTART;
	ntrace_session_look(s);
	if (!ntrace_session_is_active(s))
		return HRTIMER_NORESTART;
	s->queued = s->period;
	hrtimer_forward_now(timer, s->period);
	return HRTIMER_RESTART;
}

/**
 * ntrace_sink_interrupt - handle the interrupt of a sink whose window is full
 * @sink: The sink
 *
 * The specification does not define an interrupt, but some sinks have one. Tracing works without
 * it, because the timer usually fires first. If the timer is late, this interrupt ends the loss of
 * trace.
 *
 * Context: Hard interrupt.
 * Return: False if the sink cannot have caused the interrupt
 */
bool ntrace_sink_interrupt(struct ntrace_sink *sink)
{
	struct ntrace_session *s;

	ntrace_sink_lock(sink);
	s = sink->owner;
	ntrace_sink_unlock(sink);
	if (!s)
		return false;
	/* The call fails if an earlier request is pending, which has the same effect */
	smp_call_function_single_async(s->timer_cpu, &s->kick);
	return true;
}

static __always_inline void ntrace_session_start_timer(struct ntrace_session *s)
{
	if (s->enc->sink->encoders == 1 && s->state == NTRACE_SESSION_OWNER && !s->timed)
		return;
	/* A timer that is still queued with another event's longer period would fire too late */
	if (hrtimer_is_queued(&s->timer) && s->queued <= s->period)
		return;
	s->queued = s->period;
	hrtimer_start(&s->timer, s->period, HRTIMER_MODE_REL_PINNED_HARD);
}

/* Check the sink after its interrupt, or after another CPU has made this session the owner */
static void ntrace_session_kicked(void *data)
{
	struct ntrace_session *s = data;

	if (!ntrace_session_is_active(s))
		return;
	ntrace_session_look(s);
	if (ntrace_session_is_active(s))
		ntrace_session_start_timer(s);
}

/* Set up a session before its first event */
void ntrace_session_init(struct ntrace_session *s, unsigned int cpu)
{
	s->timer_cpu = cpu;
	INIT_CSD(&s->kick, ntrace_session_kicked, s);
	ntrace_hrtimer_setup(&s->timer, ntrace_session_timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
}

/* Restart the timer, because the CPU did not go offline and the event still traces */
void ntrace_session_restart_timer(struct ntrace_session *s)
{
	lockdep_assert_irqs_disabled();
	if (ntrace_session_is_active(s))
		ntrace_session_start_timer(s);
}

/* Cancel the timer of a CPU that goes offline, because it would move to another CPU. May sleep. */
void ntrace_session_cancel_timer(struct ntrace_session *s)
{
	hrtimer_cancel(&s->timer);
}

/* Report the SRC of this CPU's messages to perf once, if several encoders share one stream */
static void ntrace_session_report_src(struct ntrace_session *s)
{
	const struct ntrace_encoder *enc = s->enc;

	if (enc->sink->encoders <= 1 || s->want->reported == enc->cpu + 1)
		return;
	s->want->reported = enc->cpu + 1;
	perf_report_aux_output_id(s->event, FIELD_PREP(NTRACE_HW_ID_SRC, enc->src_id) |
					    FIELD_PREP(NTRACE_HW_ID_SRC_BITS, enc->src_bits));
}

/* Start a session whose components must be set up before they are enabled */
static noinline int ntrace_session_start_slowly(struct ntrace_session *s)
{
	struct ntrace_encoder *enc = s->enc;
	struct ntrace_sink *sink = enc->sink;
	int ret;

	/*
	 * All CPUs had a suitable sink when the event was opened. A CPU whose encoder was found
	 * later may have none.
	 */
	if (!ntrace_path_fits(enc, s->want->config)) {
		perf_aux_output_end(&s->handle, 0);
		WRITE_ONCE(s->event, NULL);
		return -ENODEV;
	}
	ntrace_sink_lock(sink);
	ntrace_encoder_want(enc, s->want);
	ret = ntrace_session_open(s, s->rested);
	if (ret)
		WRITE_ONCE(s->event, NULL);
	else if (s->state == NTRACE_SESSION_OWNER && sink->holds == s)
		ntrace_path_is_ready(enc, s->want);
	ntrace_sink_unlock(sink);
	if (!ret) {
		ntrace_session_start_timer(s);
		ntrace_session_report_src(s);
	}
	return ret;
}

/**
 * ntrace_session_start - trace into the AUX area of an event
 * @s: Session of this CPU, idle
 * @event: The event
 * @want: Its settings
 *
 * Context: Interrupts off.
 * Return: 0, or a negative error, in which case nothing is traced
 */
int ntrace_session_start(struct ntrace_session *s, struct perf_event *event,
			 struct ntrace_want *want)
{
	struct ntrace_encoder *enc = s->enc;

	s->want = want;
	WRITE_ONCE(s->event, event);
	/*
	 * From here on, an interrupt that pauses or resumes the event finds it in s->event. So read
	 * the state of the event after this barrier.
	 */
	barrier();
	WRITE_ONCE(enc->paused, ntrace_event_is_paused(event));
	barrier();
	s->buf = perf_aux_output_begin(&s->handle, event);
	/*
	 * perf_aux_output_begin() fails only if the event has no buffer, because a buffer always
	 * has some room left
	 */
	if (unlikely(!s->buf)) {
		WRITE_ONCE(s->event, NULL);
		return -ENOSPC;
	}
	if (unlikely(enc->ready != want->id || READ_ONCE(enc->paused) ||
		     !ntrace_session_may_continue(s)))
		return ntrace_session_start_slowly(s);
	s->pad = 0;
	ntrace_path_restart(enc);
	ntrace_session_owns(s);
	ntrace_session_start_timer(s);
	return 0;
}

/**
 * ntrace_session_bar - let an event wait until the flight recorder ends
 * @s: Session of this CPU, idle
 * @event: The event
 * @want: Its settings
 *
 * The recorder uses the encoder and the sink, so this function does not touch them. The reader of
 * the event gets the COLLISION flag.
 *
 * Context: Interrupts off.
 * Return: 0, or -ENOSPC if the event has no AUX area
 */
int ntrace_session_bar(struct ntrace_session *s, struct perf_event *event,
		       struct ntrace_want *want)
{
	s->want = want;
	s->buf = perf_aux_output_begin(&s->handle, event);
	if (!s->buf)
		return -ENOSPC;
	s->barred = true;
	WRITE_ONCE(s->event, event);
	s->period = ns_to_ktime(NTRACE_PERIOD_MAX);
	ntrace_session_refused(s, -EBUSY, s->rested);
	ntrace_session_start_timer(s);
	return 0;
}

/* Leave a sink in any state. Return the number of bytes to pass to perf. */
static unsigned long ntrace_session_leave(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;

	ntrace_sink_assert_locked(sink);
	switch (s->state) {
	case NTRACE_SESSION_OWNER:
		return ntrace_session_take(s, false);
	case NTRACE_SESSION_MEMBER:
		if (ntrace_sink_leave(sink, s->enc))
			perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
		return 0;
	case NTRACE_SESSION_ORPHAN:
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
		return 0;
	default:
		return 0;
	}
}

static noinline void ntrace_session_stop_slowly(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used;
	bool open;

	ntrace_sink_lock(sink);
	open = s->state != NTRACE_SESSION_WAITING && s->state != NTRACE_SESSION_FULL;
	used = ntrace_session_leave(s);
	s->barred = false;
	/*
	 * Clear the event last, because other CPUs check whether their events may share the sink
	 * with this event
	 */
	s->state = NTRACE_SESSION_IDLE;
	WRITE_ONCE(s->event, NULL);
	ntrace_sink_unlock(sink);
	if (s->leaving)
		ntrace_path_rest(s->enc);
	if (open)
		perf_aux_output_end(&s->handle, used);
}

/*
 * Stop a sink that has one encoder and no funnel before it. Return the number of bytes to pass to
 * perf, or -1 if the slow path is needed.
 */
static __always_inline long ntrace_session_take_directly(struct ntrace_session *s)
{
	struct ntrace_encoder *enc = s->enc;
	struct ntrace_sink *sink = enc->sink;
	unsigned long used, written;
	bool wrapped;

	WRITE_ONCE(sink->owner, NULL);
	barrier();
	if (unlikely(!ntrace_path_halt(enc)))
		return -1;
	/*
	 * The sink has reported that it is empty. Reads of memory after this barrier see its trace.
	 */
	mb();
	written = ntrace_ramsink_written(sink, &s->win, &wrapped);
	if (unlikely(wrapped || written < s->first))
		return -1;
	used = written - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	s->win.wp += used;
	s->first = written;
	used += s->pad;
	s->next = s->handle.head + used;
	if (s->buf->overwrite)
		s->handle.head = s->next;
	return used;
}

/**
 * ntrace_session_stop - stop tracing, and pass the trace to perf
 * @s: Session of this CPU, active
 *
 * The timer is not cancelled, because this would make a task switch slower. When it fires, it finds
 * nothing to do.
 *
 * Context: Interrupts off.
 */
void ntrace_session_stop(struct ntrace_session *s)
{
	long used = -1;

	if (likely(s->state == NTRACE_SESSION_OWNER && s->enc->sink->holds == s &&
		   s->enc->ready)) {
		used = ntrace_session_take_directly(s);
		if (unlikely(used < 0))
			WRITE_ONCE(s->enc->sink->owner, s);
	}
	if (unlikely(used < 0)) {
		ntrace_session_stop_slowly(s);
		return;
	}
	s->state = NTRACE_SESSION_IDLE;
	WRITE_ONCE(s->event, NULL);
	perf_aux_output_end(&s->handle, used);
}

/*
 * Pause or resume a session. PERF_EF_PAUSE and PERF_EF_RESUME are requests of another event, which
 * may have interrupted code of this file that holds the lock of the sink. The holder then carries
 * out the request when it unlocks. A session that is idle while it reopens its buffer starts with
 * the requested state.
 *
 * Context: Any, interrupts off.
 */
void ntrace_session_pause(struct ntrace_session *s, bool pause)
{
	if (s->barred)
		return;
	WRITE_ONCE(s->enc->paused, pause);
	ntrace_sink_pause(s->enc->sink);
}
