// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Read the times of messages before the messages are decoded. Find out whether the counter from
 * which encoders take these times is constant or was set back.
 */
#include "worker.h"

#define EARLY	10000000	/* maximum time by which a valid message precedes the start of its stretch, ns */

uint64_t ns_worker_time(const struct worker *w, uint64_t ticks)
{
	const struct ns_setup *setup = &w->session->setup;
	const struct ns_stretch *s = w->stretch;
	uint64_t time;

	if (w->set_back == UINT64_MAX)
		return s->start ? s->start : s->end;
	time = ns_setup_time(setup, w->cpu, ns_setup_widen(setup, w->cpu, ticks, s->end)) + w->set_back;
	if (time < w->least)
		return w->least;
	return s->end && time > s->end ? s->end : time;
}

/*
 * Update the worker's clock by the timestamp of a message. Return true if the encoder of this part
 * has sent @msg, and the time of @msg is known.
 */
static bool clock_advance(struct worker *w, const struct nt_message *msg)
{
	struct ns_clock *clock = &w->clock;

	if (msg->fields & NT_FIELD_SRC && msg->src != w->cpu->src_id)
		return false;
	if (!(msg->fields & NT_FIELD_TSTAMP))
		return false;
	if (nt_message_is_sync(msg)) {
		clock->ticks = msg->tstamp;
		clock->known = true;
	} else {
		clock->ticks = ns_cpu_next_tstamp(w->cpu, clock->ticks, msg->tstamp);
	}
	return clock->known;
}

struct place ns_place_end(const struct ns_stretch *s)
{
	return (struct place){ .piece = s->pieces.nr, .at = 0 };
}

/* Convert @offset, an offset in the AUX buffer, to a position in the stretch, which starts at offset @begin. */
static struct place place_of(const struct ns_stretch *s, uint64_t begin, uint64_t offset)
{
	struct place p = { 0 };

	for (offset -= begin; p.piece < s->pieces.nr && offset >= s->pieces.at[p.piece].size;
	     p.piece++)
		offset -= s->pieces.at[p.piece].size;
	p.at = offset;
	return p;
}

void ns_worker_scan(struct worker *w, struct scan *scan)
{
	*scan = (struct scan){ .begin = w->stretch->offset };
	nt_reader_seek(w->reader, w->stretch->offset, w->stretch->middle);
	w->clock = (struct ns_clock){ 0 };
}

struct place ns_worker_read_until(struct worker *w, uint64_t time, struct scan *scan)
{
	const struct ns_stretch *s = w->stretch;
	struct nt_message msg;
	int ret;

	while (scan->time <= time) {
		ret = nt_reader_next(w->reader, &msg);
		if (ret > 0 && clock_advance(w, &msg)) {
			scan->time = ns_worker_time(w, w->clock.ticks);
			scan->offset = msg.offset;
		} else if (!ret && scan->piece == s->pieces.nr) {
			scan->time = UINT64_MAX;
		} else if (!ret) {
			nt_reader_feed(w->reader, s->pieces.at[scan->piece].data,
				       s->pieces.at[scan->piece].size);
			scan->piece++;
		}
	}
	return scan->time == UINT64_MAX ? ns_place_end(s) : place_of(s, scan->begin, scan->offset);
}

/*
 * Return the time of the last message of the stretch, even if it is after the end of the stretch.
 * Return 0 if no message has a time.
 */
static uint64_t last_time(struct worker *w, const struct ns_stretch *s)
{
	const struct ns_stretch *own = w->stretch;
	struct scan scan;
	uint64_t time;

	w->stretch = s;
	ns_worker_scan(w, &scan);
	ns_worker_read_until(w, UINT64_MAX - 1, &scan);
	time = !w->clock.known ? 0 : ns_setup_time(&w->session->setup, w->cpu, ns_setup_widen(
		&w->session->setup, w->cpu, w->clock.ticks, s->end));
	w->stretch = own;
	return time;
}

/*
 * Return by how many ns the timestamp counter was set back before the first message of the stretch,
 * whose time is @first and is before the start of the stretch. Return 0 if the counter was not set back.
 * Then the message either waited in the encoder's queue since before the start, or has a damaged
 * timestamp. In the second case, set @w->least, so that no message gets a time before the start of the
 * stretch.
 */
static uint64_t went_back(struct worker *w, uint64_t first)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t before, back = s->start - first;

	if (s->flags & PERF_AUX_FLAG_OVERWRITE || s == w->session->trace.stretches.at || s[-1].queue != s->queue)
		return 0;
	before = last_time(w, s - 1);
	if (before < first || (before == first && back < EARLY))
		return 0;
	if (!s->end || last_time(w, s) + back <= s->end + EARLY)
		return back;
	w->least = s->start;
	return 0;
}

/*
 * Return true if the timestamp counter is constant. This is certain if all messages have the time
 * @first, and have more bytes than a processor can send during one tick of the counter.
 */
static bool stands_still(struct worker *w, uint64_t first, struct scan *scan)
{
	uint64_t tick = ns_setup_time(&w->session->setup, w->cpu, w->clock.ticks + 1) - first;
	uint64_t offset = scan->offset;

	ns_worker_read_until(w, first, scan);
	/*
	 * no processor executes more than eight instructions in a nanosecond, or sends more than
	 * eight bytes of trace for one instruction
	 */
	return scan->time == UINT64_MAX && scan->offset - offset > 4096 && (scan->offset - offset) / 64 > tick;
}

void ns_worker_check_clock(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t first;
	struct scan scan;

	w->set_back = w->least = 0;
	ns_worker_scan(w, &scan);
	ns_worker_read_until(w, 0, &scan);
	first = scan.time;
	/* do not check messages from frames, because their offsets are not offsets in the AUX buffer */
	if (s == &w->joined || (first == UINT64_MAX && !w->clock.known))
		return;
	/*
	 * @first is the time of the first message that is later than 0, or UINT64_MAX if all messages have the time 0,
	 * in which case the counter is constant
	 */
	if (first == UINT64_MAX || stands_still(w, first, &scan))
		w->set_back = UINT64_MAX;
	else if (first < s->start)
		w->set_back = went_back(w, first);
	if (w->set_back || w->least)
		__atomic_store_n(&w->session->wrong_clock, w->who.cpu + 1, __ATOMIC_RELAXED);
}

void ns_worker_begin_early(struct worker *w, struct scan *scan)
{
	ns_worker_read_until(w, 0, scan);
	if (scan->time < w->now)
		w->now = w->now - scan->time < EARLY ? scan->time : w->now - EARLY;
}
