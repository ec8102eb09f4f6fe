// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decoding of one AUX buffer in step with the other events.
 *
 * Code must be read as it was at the time of the trace. A message may be decoded only when perf has
 * delivered all earlier events (mmap, exec, ...) and no later event. So a reader reads messages
 * ahead of the decoder to know their times, and the decoder is fed up to the last message that is
 * early enough.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "machine.h"
#include "ntrace-decoder/sinks.h"
#include "ntrace-priv.h"
#include "session.h"
#include "thread.h"
#include "time-utils.h"

/* Time after all events, for trace without timestamps */
#define NTRACE_TIME_LAST	(~0ULL - 1)

#define NTRACE_CHUNK		(256 * 1024)

/* ----------------------------------------------------------------- decoding */

/* Process all items that the decoder returns for the bytes that it was fed */
static int ntrace_queue_drain(struct ntrace_queue *q)
{
	struct nt_batch batch;
	int ret, err;

	while ((ret = nt_flow_next_batch(q->flow, &batch)) > 0) {
		err = batch.nr ? ntrace_synth_batch(q, &batch) :
				 ntrace_synth_item(q, &batch.item);
		if (err)
			return err;
	}
	return ret ? -ENOMEM : 0;
}

static int ntrace_queue_feed(struct ntrace_queue *q, const u8 *data, size_t size)
{
	if (q->quick)
		return ntrace_quick_feed(q, data, size);
	nt_flow_feed(q->flow, data, size);
	return ntrace_queue_drain(q);
}

static void ntrace_queue_restart(struct ntrace_queue *q, u64 offset, bool middle)
{
	nt_flow_restart(q->flow, offset, middle);
	if (q->quick)
		ntrace_quick_restart(q, offset, middle);
}

static void ntrace_queue_drop(struct ntrace_queue *q, unsigned int piece)
{
	struct auxtrace_buffer *buffer = q->pieces[piece].buffer;

	zfree(&q->pieces[piece].data);
	if (piece + 1 < q->nr_pieces && q->pieces[piece + 1].buffer == buffer)
		return;
	/* If encoders send SRC, an AUX buffer has trace of several encoders, so other queues may still need its data */
	if (q->nt->has_sources)
		return;
	auxtrace_buffer__drop_data(buffer);
}

static bool ntrace_is_before(const struct ntrace_position *a, const struct ntrace_position *b)
{
	return a->piece != b->piece ? a->piece < b->piece : a->offset < b->offset;
}

/* Feed the decoder with the trace up to @pos. Return 0 or an error. */
static int ntrace_queue_feed_to(struct ntrace_queue *q, const struct ntrace_position *pos)
{
	struct ntrace_piece *piece;
	const u8 *data;
	u64 end;
	int err;

	while (1) {
		piece = &q->pieces[q->flow_piece];
		end = piece->offset + piece->size;
		if (q->flow_piece == pos->piece)
			end = pos->offset;
		data = ntrace_piece_data(q, piece);
		if (!data)
			return -ENOMEM;
		if (end > q->flow_offset) {
			err = ntrace_queue_feed(q, data + (q->flow_offset - piece->offset),
						end - q->flow_offset);
			if (err)
				return err;
			q->flow_offset = end;
		}
		if (q->flow_piece >= pos->piece)
			return 0;
		ntrace_queue_drop(q, q->flow_piece++);
	}
}

static int ntrace_queue_lost(struct ntrace_queue *q, u64 time)
{
	return ntrace_synth_error(q->nt, NTRACE_ERROR_LOST, q->cpu, q->pid, q->tid, 0, time,
				  "sink full: trace was lost (try perf record -m,SIZE)");
}

/*
 * Report a loss before this stretch. If an ETR wraps around in the part of the AUX buffer that it writes to, it
 * overwrites the oldest trace of all its encoders, which do not report this loss. The decoder gets the trace after
 * the loss next. An encoder may have lost all its trace in the stretch, so report a loss also for an encoder that
 * has no messages there, but only if it has messages elsewhere in the recording.
 */
static int ntrace_queue_lost_before(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch;
	u64 time = max(q->first_time ? : q->pending_time, q->time);

	if (!q->lost_before)
		return 0;
	q->lost_before = false;
	if (q->cpu != stretch->cpu && !test_bit(q->info - q->nt->info.cpus, q->nt->senders))
		return 0;
	return ntrace_queue_lost(q, time);
}

/* Feed the decoder with the trace up to @pos, without trace that is skipped because of --time */
static int ntrace_queue_release(struct ntrace_queue *q, const struct ntrace_position *pos)
{
	struct ntrace_skip *skip = &q->skip;
	int err;

	err = ntrace_queue_lost_before(q);
	if (err)
		return err;
	if (!skip->on || ntrace_is_before(pos, &skip->from))
		return ntrace_queue_feed_to(q, pos);
	if (skip->begun)
		return 0;
	err = ntrace_queue_feed_to(q, &skip->from);
	skip->begun = true;
	ntrace_synth_lost(q);
	return err;
}

static void ntrace_set_pending(struct ntrace_queue *q, unsigned int piece, u64 offset, u64 time)
{
	q->pending.piece = piece;
	q->pending.offset = offset;
	if (time > q->pending_time)
		q->pending_time = time;
}

/* ---------------------------------------------------------------- --time */

static bool ntrace_has_ranges(struct ntrace *nt)
{
	return nt->synth_opts.range_num && nt->synth_opts.ptime_range;
}

/* Return true if @from to @to overlaps a range of --time. A range with the end 0 has no end. */
static bool ntrace_time_wanted(struct ntrace *nt, u64 from, u64 to)
{
	const struct perf_time_interval *range = nt->synth_opts.ptime_range;
	int i;

	for (i = 0; i < nt->synth_opts.range_num; i++, range++) {
		if (to >= range->start && (!range->end || from <= range->end))
			return true;
	}
	return false;
}

/* Return the start of the first range of --time that ends after @time, or NTRACE_TIME_LAST if there is none */
static u64 ntrace_time_next(struct ntrace *nt, u64 time)
{
	const struct perf_time_interval *range = nt->synth_opts.ptime_range;
	u64 next = NTRACE_TIME_LAST;
	int i;

	for (i = 0; i < nt->synth_opts.range_num; i++, range++) {
		if (!range->end || range->end >= time)
			next = min_t(u64, next, range->start);
	}
	return next;
}

static void ntrace_skip_to(struct ntrace_queue *q, unsigned int piece)
{
	while (q->flow_piece < piece)
		ntrace_queue_drop(q, q->flow_piece++);
}

/*
 * Start decoding for a range of --time at the last synchronising message before the range. The encoder
 * sends Ownership directly after that message (chapter 8.4), so the context is known. If no
 * synchronising message was skipped, the decoder continues at its position. Return 0 or an error.
 */
static int ntrace_skip_end(struct ntrace_queue *q)
{
	struct ntrace_skip *skip = &q->skip;
	int err = ntrace_queue_release(q, &skip->from);

	skip->on = false;
	if (err)
		return err;
	if (!skip->has_sync) {
		ntrace_gap_close(q);
		return 0;
	}
	ntrace_skip_to(q, skip->sync.piece);
	q->flow_offset = skip->sync.offset;
	ntrace_queue_restart(q, q->flow_offset, false);
	return 0;
}

/* Return true if trace is skipped, and no range of --time follows */
static bool ntrace_skip_is_last(struct ntrace_queue *q)
{
	return q->skip.on && q->skip.until == NTRACE_TIME_LAST;
}

static void ntrace_skip_sync(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_skip *skip = &q->skip;
	unsigned int piece = q->read_piece;

	if (!nt_message_is_sync(msg))
		return;
	while (q->pieces[piece].offset > msg->offset)
		piece--;
	skip->sync.piece = piece;
	skip->sync.offset = msg->offset;
	skip->has_sync = true;
}

/* Skip trace outside of the ranges of --time, by reading its messages but no code */
static int ntrace_skip_time(struct ntrace_queue *q, const struct nt_message *msg, u64 time)
{
	struct ntrace_skip *skip = &q->skip;

	if (!skip->on) {
		if (ntrace_time_wanted(q->nt, time, time))
			return 0;
		/* Begin to skip after @msg, because @msg also reports code that executed before @time */
		skip->from.piece = q->read_piece;
		skip->from.offset = msg->offset + msg->length;
		skip->on = true;
		skip->begun = false;
		skip->has_sync = false;
		skip->until = ntrace_time_next(q->nt, time);
		ntrace_log(q->nt, "skip cpu %d from time %" PRIu64 " to %" PRIu64 "\n", q->cpu,
			   time, skip->until);
	}
	if (time >= skip->until)
		return ntrace_skip_end(q);
	ntrace_skip_sync(q, msg);
	return 0;
}

/* --------------------------------- reading messages before they are decoded */

bool ntrace_piece_is_last(struct ntrace_queue *q, unsigned int piece)
{
	return piece + 1 >= q->nr_pieces || q->pieces[piece + 1].start;
}

/* Return true if the end of the stretch is missing because the sink was full */
bool ntrace_stretch_is_full(const struct ntrace_stretch *stretch)
{
	return stretch && stretch->flags & PERF_AUX_FLAG_PARTIAL &&
	       !ntrace_stretch_has_frames(stretch);
}

/*
 * Return the time of the end of the last trace that the encoder's sink wrote before @stretch to the AUX buffer of any
 * CPU, or 0 if unknown
 */
static u64 ntrace_window_before(struct ntrace_queue *q, const struct ntrace_stretch *stretch)
{
	return nt_sinks_before(q->nt->sinks, q->info - q->nt->info.cpus, stretch->time);
}

static void ntrace_set_pending_end(struct ntrace_queue *q)
{
	struct ntrace_piece *piece = &q->pieces[q->read_piece];
	u64 time = 0;

	if (q->timeless)
		time = q->stretch_time ? : NTRACE_TIME_LAST;
	else if (!q->first_time &&
		 (q->lost_before || (q->src >= 0 && ntrace_stretch_is_full(piece->stretch))))
		time = ntrace_window_before(q, piece->stretch);
	ntrace_set_pending(q, q->read_piece, piece->offset + piece->size, time);
	q->pending_end = true;
}

/* Process a message with a time that was read ahead. Return 0 or an error. */
static int ntrace_read_time(struct ntrace_queue *q, const struct nt_message *msg)
{
	u64 time = ntrace_ticks_to_time(q, q->clock.ticks);
	int err = ntrace_has_ranges(q->nt) ? ntrace_skip_time(q, msg, time) : 0;

	if (!err)
		ntrace_set_pending(q, q->read_piece, msg->offset + msg->length, time);
	if (!q->first_time)
		q->first_time = time;
	return err;
}

/*
 * Read ahead up to the end of the next message that has a time. The trace up to there can be decoded when all events
 * before that time were processed. If the whole stretch ends before @limit, do not search for a time in it.
 */
static int ntrace_read_ahead(struct ntrace_queue *q, u64 limit)
{
	struct nt_message msg;
	const u8 *data;
	int ret;

	if (q->timeless || ntrace_skip_is_last(q) ||
	    (!ntrace_has_ranges(q->nt) && q->stretch_time && q->stretch_time <= limit)) {
		while (!ntrace_piece_is_last(q, q->read_piece))
			q->read_piece++;
		ntrace_set_pending_end(q);
		return 0;
	}
	while (1) {
		ret = nt_reader_next(q->reader, &msg);
		if (ret > 0 && ntrace_queue_is_other(q, &msg))
			ntrace_check_other(q, &msg);
		else if (ret > 0 && ntrace_clock_advance(q, &msg))
			return ntrace_read_time(q, &msg);
		if (ret)
			continue;
		if (ntrace_piece_is_last(q, q->read_piece)) {
			ntrace_set_pending_end(q);
			return 0;
		}
		q->read_piece++;
		data = ntrace_piece_data(q, &q->pieces[q->read_piece]);
		if (!data)
			return -ENOMEM;
		nt_reader_feed(q->reader, data, q->pieces[q->read_piece].size);
	}
}

/* -------------------------------------------- starting and ending stretches */

void ntrace_queue_free_decoder(struct ntrace_queue *q)
{
	ntrace_quick_exit(q);
	nt_flow_free(q->flow);
	nt_reader_free(q->reader);
	q->flow = NULL;
	q->reader = NULL;
}

static int ntrace_queue_new_decoder(struct ntrace_queue *q, const struct ntrace_cpu *cpu)
{
	bool valid;

	ntrace_queue_free_decoder(q);
	q->info = cpu;
	valid = ntrace_cpu_config(cpu, &q->config);
	if (q->src >= 0)
		q->config.src_id = q->src;
	if (!valid || nt_config_check(&q->config) != NT_OK) {
		pr_err("N-Trace: the metadata of CPU %d has impossible values\n",
		       cpu->cpu);
		return -EINVAL;
	}
	memset(&q->clock, 0, sizeof(q->clock));
	q->reader = nt_reader_new(&q->config);
	q->flow = nt_flow_new(&q->config, q->image);
	if (!q->reader || !q->flow)
		return -ENOMEM;
	return ntrace_quick_init(q);
}

/* Return the encoder of the queue's source in a stretch of this CPU, or NULL if there is none */
static const struct ntrace_cpu *ntrace_queue_info(struct ntrace_queue *q, int cpu)
{
	const struct ntrace_info *info = &q->nt->info;
	const struct ntrace_cpu *own = ntrace_info_cpu(info, cpu);
	bool has_src = q->src >= 0;

	/*
	 * Without PERF_RECORD_AUX, the CPU of a per-thread buffer is unknown, so assume that all
	 * encoders are like the first one
	 */
	if (!own && cpu < 0)
		own = &info->cpus[0];
	if (!own || ntrace_cpu_has_src(own) != has_src)
		return NULL;
	return q->src < 0 || own->src_id == (u32)q->src ? own : ntrace_info_source(info, own, q->src);
}

/*
 * Report an error if the CPU has no metadata. Only the stream without SRC reports it, so that the
 * error is reported once.
 */
static int ntrace_queue_no_metadata(struct ntrace_queue *q)
{
	char text[MAX_AUXTRACE_ERROR_MSG];

	if (q->src >= 0 || q->cpu < 0 || ntrace_info_cpu(&q->nt->info, q->cpu))
		return 0;
	snprintf(text, sizeof(text), "no metadata for this CPU: its trace is skipped");
	return ntrace_synth_error(q->nt, NTRACE_ERROR_CONFIG, q->cpu, -1, -1, 0, 0, text);
}

/* Skip the stretch. Return true if it was the last one. */
static bool ntrace_queue_skip(struct ntrace_queue *q)
{
	while (!ntrace_piece_is_last(q, q->flow_piece))
		q->flow_piece++;
	return ++q->flow_piece >= q->nr_pieces;
}

/*
 * Report a loss for the encoder of @q if the sink was full in this stretch, and the stretch is in the buffer of
 * another CPU, which shares the sink. PERF_RECORD_AUX reports the loss only for that CPU. The encoders do not report
 * it, because a SiFive funnel drops incoming messages, and the driver discards the messages that an encoder of
 * N-Trace 1.0 has not yet sent, including its Error message.
 */
static int ntrace_queue_lost_too(struct ntrace_queue *q, const struct ntrace_stretch *stretch)
{
	if (q->src < 0 || q->cpu == stretch->cpu || !ntrace_stretch_is_full(stretch))
		return 0;
	return ntrace_queue_lost(q, q->first_time ? q->time : max(q->time, q->pending_time));
}

/* Start decoding the stretch that starts at q->flow_piece */
static int ntrace_queue_start_stretch(struct ntrace_queue *q)
{
	struct ntrace_piece *piece = &q->pieces[q->flow_piece];
	const struct ntrace_stretch *stretch = piece->stretch;
	const struct ntrace_cpu *cpu;
	const u8 *data;
	bool middle;
	int err;

	if (stretch && stretch->cpu >= 0)
		q->cpu = stretch->cpu;
	else
		q->cpu = q->nt->queues.queue_array[q->queue_nr].cpu;
	q->stretch_time = stretch ? stretch->time : 0;
	cpu = ntrace_queue_info(q, q->cpu);
	if (!cpu)
		return -ENOENT;
	if (q->src >= 0)
		q->cpu = cpu->cpu;
	if (cpu != q->info) {
		err = ntrace_queue_new_decoder(q, cpu);
		if (err)
			return err;
	}
	ntrace_clock_check(q);
	data = ntrace_piece_data(q, piece);
	if (!data)
		return -ENOMEM;
	middle = ntrace_piece_is_middle(q, piece);
	ntrace_queue_restart(q, piece->offset, middle);
	nt_reader_seek(q->reader, piece->offset, middle);
	nt_reader_feed(q->reader, data, piece->size);
	q->read_piece = q->flow_piece;
	q->flow_offset = piece->offset;
	q->pending.piece = q->flow_piece;
	q->pending.offset = piece->offset;
	q->pending_end = false;
	memset(&q->skip, 0, sizeof(q->skip));
	if (q->timeless)
		q->time = q->stretch_time;
	/* If the first bytes are lost, do not use the first timestamps, which are relative to a lost timestamp */
	q->clock.stale = middle;
	if (middle)
		ntrace_gap_open(q);
	q->lost_before = stretch && ntrace_frames_lost(stretch->flags, stretch->size);
	q->first_time = 0;
	/*
	 * The PERF_RECORD_AUX of the previous trace of the sink may report a loss, so perf must
	 * process that record before it decodes this trace. The times in this trace do not ensure
	 * this order, because they may be some microseconds too early. So wait at least until the
	 * time at which the previous trace ends.
	 */
	if (stretch)
		q->pending_time = max(q->pending_time, ntrace_window_before(q, stretch));
	if (piece->lost) {
		err = ntrace_queue_lost(q, q->time);
		if (err)
			return err;
	}
	ntrace_log(q->nt, "CPU %d: decoding starts at offset %#" PRIx64 ", time %" PRIu64 "%s\n", q->cpu,
		   piece->offset, q->stretch_time, middle ? " (from the middle)" : "");
	return 0;
}

static int ntrace_queue_end_stretch(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch;
	int err;

	if (q->quick) {
		err = ntrace_quick_end(q);
	} else {
		nt_flow_end(q->flow);
		err = ntrace_queue_drain(q);
	}
	if (!err)
		err = ntrace_synth_end(q);
	/* The thread continued after the trace stopped, so its calls and returns are unknown */
	if (stretch && stretch->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)) {
		ntrace_synth_lost(q);
		err = err ? : ntrace_queue_lost_too(q, stretch);
	}
	ntrace_queue_drop(q, q->flow_piece++);
	q->pending_end = false;
	return err;
}

/*
 * Return true if the stretch may overlap a range of --time. The messages of any other stretch are
 * not read.
 */
static bool ntrace_stretch_wanted(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch;
	u64 from = q->stretch_time, to = stretch && stretch->time ? stretch->time : ~0ULL;

	if (stretch && stretch->time)
		q->stretch_time = stretch->time;
	return ntrace_time_wanted(q->nt, from, to);
}

/* Start the next stretch that can be decoded. Return 1 if there is none. */
int ntrace_queue_next_stretch(struct ntrace_queue *q, u64 limit)
{
	int err;

	while (q->flow_piece < q->nr_pieces) {
		if (ntrace_has_ranges(q->nt) && !ntrace_stretch_wanted(q)) {
			ntrace_gap_open(q);
			if (ntrace_queue_skip(q))
				break;
			continue;
		}
		err = ntrace_queue_start_stretch(q);
		if (!err)
			return ntrace_read_ahead(q, limit);
		if (err != -ENOENT)
			return err;
		err = ntrace_queue_no_metadata(q);
		if (err)
			return err;
		if (ntrace_queue_skip(q))
			break;
	}
	q->done = true;
	return 1;
}

int ntrace_queue_run(struct ntrace_queue *q, u64 *timestamp)
{
	struct ntrace_position pos;
	int err;

	while (!q->done) {
		if (q->pending_time >= *timestamp) {
			*timestamp = q->pending_time;
			return 0;
		}
		pos = q->pending;
		if (q->pending_end) {
			err = ntrace_queue_release(q, &pos);
			ntrace_skip_to(q, pos.piece);
			if (!err)
				err = ntrace_queue_end_stretch(q);
			if (!err)
				err = ntrace_queue_next_stretch(q, *timestamp);
			if (err < 0)
				return err;
			continue;
		}
		err = ntrace_read_ahead(q, *timestamp);
		/*
		 * Reading far ahead is fast, but the processor's caches should still have the bytes
		 * when the decoder reads them
		 */
		if (!err && (q->pending_time >= *timestamp ||
			     pos.offset - q->flow_offset >= NTRACE_CHUNK))
			err = ntrace_queue_release(q, &pos);
		if (err)
			return err;
	}
	return 1;
}
