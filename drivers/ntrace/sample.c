// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX samples contain the newest trace of an event, in the samples of other events. Linux does not
 * export perf_output_copy(), which writes them, so only a driver that is built in writes samples.
 */
#include "session.h"

static void ntrace_sample_copy(struct perf_output_handle *to, const struct ntrace_buf *buf,
			       unsigned long from, unsigned long len)
{
	unsigned long n;

	for (; len; from += n, len -= n) {
		from &= buf->size - 1;
		n = min(len, PAGE_SIZE - offset_in_page(from));
		perf_output_copy(to, buf->pages[from >> PAGE_SHIFT] + offset_in_page(from), n);
	}
}

/*
 * Write bytes that a decoder skips. If they are formatter frames, the last frame ends at the end of
 * these bytes.
 */
static void ntrace_sample_idle(const struct ntrace_sink *sink, struct perf_output_handle *to,
			       unsigned long len)
{
	static const u64 idle[8] = { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL };
	/* Formatter frames that change the trace ID to 0, so that their other bytes are padding */
	static const u64 frames[8] = { 1, 0, 1, 0, 1, 0, 1, 0 };
	const u64 *from = sink && sink->frames ? frames : idle;
	unsigned long n;

	if (len % 16 && from == frames) {
		perf_output_copy(to, &frames[1], len % 16);
		len -= len % 16;
	}
	for (; len; len -= n) {
		n = min(len, sizeof(idle));
		perf_output_copy(to, from, n);
	}
}

/*
 * Write the last @len bytes of the AUX area, which end at @end. @all is the number of bytes that
 * were ever written.
 */
static void ntrace_sample_aux(const struct ntrace_session *s, struct perf_output_handle *to,
			      unsigned long end, unsigned long all, unsigned long len)
{
	const struct ntrace_sink *sink = s->enc->sink;
	unsigned long have = min3(len, all, s->buf->size);

	if (sink->frames)
		have = ALIGN_DOWN(have, sink->area->align);
	ntrace_sample_idle(sink, to, len - have);
	ntrace_sample_copy(to, s->buf, end - have, have);
}

/*
 * Sample a window in which a sink without trRamStopOnWrap has wrapped around, so that the oldest
 * trace is at the write pointer
 */
static void ntrace_sample_around(struct ntrace_session *s, struct perf_output_handle *to,
				 unsigned long size, unsigned long written)
{
	unsigned long len = s->win.end - s->win.start, n = min(size, len);

	ntrace_sample_aux(s, to, s->offset, s->handle.head + s->pad - s->first, size - n);
	if (n > written) {
		ntrace_sample_copy(to, s->buf, s->offset + len - (n - written), n - written);
		n = written;
	}
	ntrace_sample_copy(to, s->buf, s->offset + written - n, n);
}

static void ntrace_sample_smem(struct ntrace_session *s, struct perf_output_handle *to,
			       unsigned long size, unsigned long written, bool wrapped)
{
	unsigned long len = s->win.end - s->win.start, all = s->handle.head + s->pad - s->first;

	if (wrapped && s->win.circular)
		ntrace_window_sync_circular(s, written);
	else if (wrapped && !s->win.stop)
		ntrace_window_sync(s, s->win.start, len);
	else if (wrapped)
		written = len;
	if (!wrapped || s->win.stop)
		ntrace_window_sync(s, s->win.wp, written - s->first);

	if (wrapped && !s->win.stop && !s->win.circular)
		ntrace_sample_around(s, to, size, written);
	else
		ntrace_sample_aux(s, to, s->offset + written,
				  wrapped ? s->buf->size : all + written, size);
}

/* Sample the sink's own memory, whose trace is not yet in the AUX area */
static void ntrace_sample_copied(struct ntrace_session *s, struct perf_output_handle *to,
				 unsigned long size, unsigned long written, bool wrapped)
{
	unsigned long len = s->win.end - s->win.start, n, part;
	u32 words[16];

	n = min(size, wrapped ? len : written);
	ntrace_sample_aux(s, to, s->handle.head, s->handle.head, size - n);
	for (; n; n -= part) {
		part = min3(n, sizeof(words), len - (written + len - n) % len);
		ntrace_ramsink_read(s->enc->sink, (written + len - n) % len, words, part);
		perf_output_copy(to, words, part);
	}
}

/* Sample the newest trace, and let the sink continue at the same position, unless it is full */
static int ntrace_sample_plain(struct ntrace_session *s, struct perf_output_handle *to,
			       unsigned long size)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long written;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (!sink->area->copied)
		ntrace_sample_smem(s, to, size, written, wrapped);
	else
		ntrace_sample_copied(s, to, size, written, wrapped);
	return wrapped && s->win.stop ? 0 : ntrace_sink_start(sink, NULL);
}

/*
 * Sample a sink that writes frames. It begins at the start of its window each time, so it gets
 * another window in the same AUX area, after the trace that it has written.
 */
static int ntrace_sample_frames(struct ntrace_session *s, struct perf_output_handle *to,
				unsigned long size)
{
	unsigned long head = s->handle.head, before = ntrace_window_collect(s);
	int ret;

	/* Read @s->pad only now, because ntrace_window_collect() may have changed it */
	before += s->pad;
	ntrace_sample_aux(s, to, head + before, head + before, size);
	s->handle.head = head + before;
	ret = ntrace_window_smem(s, s->buf);
	s->handle.head = head;
	s->pad += before;
	s->filled = s->first;
	s->period = ntrace_window_period(s);
	return ret ?: ntrace_sink_start(s->enc->sink, &s->win);
}

/*
 * Stop the sink, sample the newest trace of its owner, and let the sink continue at the same
 * position. A sink whose window is full waits for the timer, which reports that trace is missing.
 * @own is the encoder of this CPU.
 */
static void ntrace_sample_owner(struct ntrace_session *s, struct ntrace_encoder *own,
				struct perf_output_handle *to, unsigned long size)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret = ntrace_sink_hold(sink, own);

	/*
	 * The sink has reported that it is empty. Reads of memory after this barrier see its trace.
	 */
	mb();
	if (sink->comp.stuck)
		ntrace_sample_idle(sink, to, size);
	else if (sink->frames)
		ret = ntrace_sample_frames(s, to, size) ?: ret;
	else
		ret = ntrace_sample_plain(s, to, size) ?: ret;
	if (ret)
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
}

/**
 * ntrace_session_sample - write the newest trace of an event into a sample
 * @s: Session of this CPU
 * @event: The event
 * @to: The sample
 * @size: Number of bytes to write; idle bytes precede the trace if there is less
 *
 * The driver may be changing the sink when it is interrupted by this function, because an event of
 * a tracepoint or of an interrupt takes a sample. The sink then has no owner, or its lock is taken,
 * and the sample contains no trace.
 *
 * The trace of a member of a shared sink is in the buffer of the owner, which has the same rights,
 * see ntrace_session_may_share().
 *
 * Context: Any, interrupts off.
 * Return: @size
 */
long ntrace_session_sample(struct ntrace_session *s, struct perf_event *event,
			   struct perf_output_handle *to, unsigned long size)
{
	struct ntrace_sink *sink = s->enc ? s->enc->sink : NULL;
	struct ntrace_session *owner;

	if (!sink || READ_ONCE(s->event) != event || !ntrace_sink_trylock(sink)) {
		ntrace_sample_idle(sink, to, size);
		return size;
	}
	owner = READ_ONCE(sink->owner);
	if ((owner == s || (owner && s->enc->on)) && (!sink->frames || owner->buf->overwrite))
		ntrace_sample_owner(owner, s->enc, to, size);
	else
		ntrace_sample_idle(sink, to, size);
	ntrace_sink_unlock(sink);
	return size;
}
