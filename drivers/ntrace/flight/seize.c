// SPDX-License-Identifier: GPL-2.0-only
/*
 * An event of perf has a sink when the kernel panics: what it traced last goes into the sink's area
 * of the flight record, over what the recorder had there from before the event. So the trace of
 * `perf record -S`, which nobody can ask for its snapshot any more, is found in a crash dump and
 * after a reset.
 *
 * Other CPUs may be dead, in the middle of whatever they did to the event: nothing is locked, and
 * what is read of it is checked.
 */
#include "record.h"

/**
 * struct ntrace_loot - what an event has traced
 * @end: Offset in its AUX area, of the byte after the last one there
 * @aux: Bytes before @end
 * @from: Offset in the sink's own memory of what comes after these
 * @own: Bytes there, around its end
 * @size: Of the sink's own memory
 */
struct ntrace_loot {
	unsigned long end, aux, from, own, size;
};

/* The program that made the event, or has made that of a parent; NULL if it has ended */
static struct task_struct *ntrace_loot_owner(const struct ntrace_session *s)
{
	const struct perf_event *event = s->event;

	return READ_ONCE((event->parent ?: event)->owner);
}

/* An event of user mode alone says less of a panic than what the recorder had before it */
static bool ntrace_traces_kernel(const struct ntrace_want *want)
{
	return !want->filter.priv || want->filter.priv & (NTRACE_PRIV_S | NTRACE_PRIV_VS);
}

/* The session that traces into the sink; NULL: there is none whose trace is to be taken */
static struct ntrace_session *ntrace_seizable(const struct ntrace_sink *sink)
{
	struct ntrace_session *s = READ_ONCE(sink->owner);

	if (!READ_ONCE(sink->flight) || sink->ops || sink->frames || !s || !s->event || !s->want ||
	    READ_ONCE(s->state) != NTRACE_SESSION_OWNER || !ntrace_traces_kernel(s->want))
		return NULL;
	return s;
}

/* Has an event of perf the sink, so that there is trace to be taken? */
bool ntrace_flight_may_seize(const struct ntrace_sink *sink)
{
	return ntrace_seizable(sink);
}

/* A window in the AUX area. One that is full and has no stop has its oldest bytes in the middle. */
static void ntrace_loot_window(struct ntrace_sink *sink, struct ntrace_session *s,
			       struct ntrace_loot *loot)
{
	unsigned long size = s->win.end - s->win.start, written;
	u64 total = s->handle.head + s->pad;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (wrapped && s->win.stop)
		written = size;
	loot->end = s->offset + written;
	if (wrapped && !s->win.stop && !s->win.circular)
		total = written;
	else
		total += written - s->first;
	if (s->win.circular && (wrapped || written < s->first))
		total += size;
	loot->aux = min_t(u64, total, s->buf->size);
	ntrace_window_sync(s, s->win.start, size);
}

/* The sink's own memory, which would have been copied to the head */
static void ntrace_loot_copied(struct ntrace_sink *sink, struct ntrace_session *s,
			       struct ntrace_loot *loot)
{
	unsigned long written;
	bool wrapped;

	loot->size = s->win.end - s->win.start;
	written = ntrace_sink_written(sink, &s->win, &wrapped);
	loot->from = wrapped ? written : 0;
	loot->own = wrapped ? loot->size : written;
	loot->end = s->handle.head;
	loot->aux = min_t(u64, s->handle.head, s->buf->size);
}

/* The AUX area is a ring; perf has made its size a power of two */
static void ntrace_loot_take_aux(const struct ntrace_buf *buf, const struct ntrace_loot *loot,
				 u8 *to, unsigned long len)
{
	unsigned long at = loot->end - len, n;

	for (; len; len -= n, at += n, to += n) {
		unsigned long offset = at & (buf->size - 1);

		n = min(len, PAGE_SIZE - offset_in_page(offset));
		memcpy(to, buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset), n);
	}
}

static void ntrace_loot_take_own(struct ntrace_sink *sink, const struct ntrace_loot *loot, u8 *to,
				 unsigned long len)
{
	unsigned long at = loot->from + loot->own - len, n;

	for (; len; len -= n, at += n, to += n) {
		n = min(len, loot->size - at % loot->size);
		ntrace_ramsink_read(sink, at % loot->size, to, n);
	}
}

/* All that there is room for, at the end of the area; a reader skips the idle bytes before it */
static void ntrace_loot_take(struct ntrace_sink *sink, const struct ntrace_buf *buf,
			     const struct ntrace_loot *loot)
{
	const struct ntrace_area *area = sink->flight;
	unsigned long own = min_t(u64, loot->own, area->size);
	unsigned long aux = min_t(u64, loot->aux, area->size - own);
	unsigned long idle = area->size - own - aux;
	u8 *to = ntrace_record_area(area->offset);

	ntrace_record_seize(true);
	memset(to, 0xff, idle);
	ntrace_loot_take_aux(buf, loot, to + idle, aux);
	ntrace_loot_take_own(sink, loot, to + idle + aux, own);
	ntrace_record_written(to, area->size);
	ntrace_record_seize(false);
}

/**
 * ntrace_flight_seize - the record gets what an event has traced into a sink
 * @sink: The sink, which has been disabled
 * @stopped: It was empty
 *
 * Context: Any, interrupts off; the event does not go on.
 */
void ntrace_flight_seize(struct ntrace_sink *sink, bool stopped)
{
	struct ntrace_session *s = ntrace_seizable(sink);
	struct ntrace_loot loot = { 0 };
	u32 src_bits;
	u64 config;

	if (!s || !s->buf || !is_power_of_2(s->buf->size) || s->win.end <= s->win.start)
		return;
	/* The sink has said that it is empty: reads of memory after this see its trace */
	mb();
	if (sink->area->copied)
		ntrace_loot_copied(sink, s, &loot);
	else
		ntrace_loot_window(sink, s, &loot);
	if (!loot.own && !loot.aux)
		return;
	ntrace_loot_take(sink, s->buf, &loot);
	config = ntrace_encoder_resolve(s->enc, s->want->config);
	src_bits = config & NTRACE_CONFIG_INHIBIT_SRC ? 0 : s->enc->src_bits;
	ntrace_record_session(sink->flight, s->want, config, src_bits, ntrace_loot_owner(s));
	ntrace_record_pointer(sink->flight, 0, NTRACE_FLIGHT_POINTER_WRAPPED |
			      (stopped ? NTRACE_FLIGHT_POINTER_STOPPED : 0), true);
}
