// SPDX-License-Identifier: GPL-2.0-only
/*
 * N-Trace: one AUX buffer, decoded in step with the other events.
 *
 * Code must be read as it was at the time of the trace: a message may only go
 * to the decoder when all events before it (mmap, exec, ...) have been seen,
 * and no later one. So a reader goes ahead message by message and keeps the
 * time, and the decoder is fed up to the last message that is early enough.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "machine.h"
#include "ntrace-priv.h"
#include "session.h"
#include "thread.h"
#include "time-utils.h"

/* Later than any event, for trace of which nothing tells the time */
#define NTRACE_TIME_LAST	(~0ULL - 1)

#define NTRACE_CHUNK		(256 * 1024)

/* ------------------------------------------------------------------- pieces */

static int ntrace_queue_add_piece(struct ntrace_queue *q, struct auxtrace_buffer *buffer,
				  const struct ntrace_stretch *stretch, u64 start, u64 end)
{
	struct ntrace_piece *piece, *prev;

	if (q->nr_pieces == q->max_pieces) {
		q->max_pieces = 2 * q->max_pieces + 16;
		piece = realloc(q->pieces, q->max_pieces * sizeof(*piece));
		if (!piece)
			return -ENOMEM;
		q->pieces = piece;
	}
	prev = q->nr_pieces ? &q->pieces[q->nr_pieces - 1] : NULL;
	piece = &q->pieces[q->nr_pieces++];
	piece->buffer = buffer;
	piece->stretch = stretch;
	piece->offset = start;
	piece->size = end - start;
	piece->start = !prev || prev->offset + prev->size != start || prev->stretch != stretch;
	return 0;
}

/* perf pads what it writes by up to 7 zero bytes, which no record tells of */
static bool ntrace_is_padding(u64 start, u64 end, u64 buffer_end)
{
	return end == buffer_end && end - start < PERF_AUXTRACE_RECORD_ALIGNMENT;
}

static int ntrace_queue_cut(struct ntrace_queue *q, struct auxtrace_buffer *buffer, u64 end,
			    struct ntrace_stretch **list, size_t nr)
{
	u64 pos = buffer->offset, stop;
	size_t i;
	int err;

	for (i = 0; i < nr && pos < end; i++) {
		if (list[i]->offset + list[i]->size <= pos)
			continue;
		if (list[i]->offset >= end)
			break;
		if (list[i]->offset > pos) {
			err = ntrace_queue_add_piece(q, buffer, NULL, pos, list[i]->offset);
			if (err)
				return err;
			pos = list[i]->offset;
		}
		stop = min(end, list[i]->offset + list[i]->size);
		err = ntrace_queue_add_piece(q, buffer, list[i], pos, stop);
		if (err)
			return err;
		pos = stop;
	}
	if (pos >= end || (nr && ntrace_is_padding(pos, end, buffer->offset + buffer->size)))
		return 0;
	return ntrace_queue_add_piece(q, buffer, NULL, pos, end);
}

static int ntrace_stretch_cmp(const void *a, const void *b)
{
	const struct ntrace_stretch *x = *(struct ntrace_stretch **)a;
	const struct ntrace_stretch *y = *(struct ntrace_stretch **)b;

	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static bool ntrace_stretch_of(const struct ntrace_stretch *stretch,
			      const struct auxtrace_queue *queue)
{
	return queue->cpu == -1 ? stretch->tid == queue->tid : stretch->cpu == queue->cpu;
}

u64 ntrace_buffer_size(struct ntrace *nt, const struct auxtrace_buffer *buffer)
{
	struct perf_data *data = nt->session->data;
	u64 file = data->file.size, at = buffer->data_offset;

	if (buffer->data_needs_freeing || perf_data__is_pipe(data) || !file)
		return buffer->size;
	if (at <= file && buffer->size <= file - at)
		return buffer->size;
	if (!nt->size_warned)
		pr_warning("N-Trace: trace goes on behind the end of the file, which has been cut short\n");
	nt->size_warned = true;
	return at < file ? file - at : 0;
}

static int ntrace_queue_pieces(struct ntrace_queue *q, struct auxtrace_queue *queue)
{
	struct ntrace *nt = q->nt;
	struct auxtrace_buffer *buffer = NULL, *next;
	struct ntrace_stretch **list;
	size_t i, nr = 0;
	int err = 0;
	u64 end;

	list = calloc(nt->nr_stretches + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < nt->nr_stretches; i++) {
		if (ntrace_stretch_of(&nt->stretches[i], queue))
			list[nr++] = &nt->stretches[i];
	}
	qsort(list, nr, sizeof(*list), ntrace_stretch_cmp);

	buffer = auxtrace_buffer__next(queue, NULL);
	for (; buffer && !err; buffer = next) {
		next = auxtrace_buffer__next(queue, buffer);
		end = buffer->offset + ntrace_buffer_size(nt, buffer);
		if (end < buffer->offset)
			end = buffer->offset;
		if (next && next->offset > buffer->offset && next->offset < end)
			end = next->offset;
		err = ntrace_queue_cut(q, buffer, end, list, nr);
	}
	free(list);
	return err;
}

static const u8 *ntrace_piece_data(struct ntrace_queue *q, const struct ntrace_piece *piece)
{
	struct auxtrace_buffer *buffer = piece->buffer;

	if (!buffer->data)
		buffer->data = auxtrace_buffer__get_data(buffer,
							 perf_data__fd(q->nt->session->data));
	if (!buffer->data)
		return NULL;
	return (u8 *)buffer->data + (piece->offset - buffer->offset);
}

/*
 * Does the piece begin inside a message? A stretch begins with a synchronising
 * one, if its first bytes were not lost or overwritten. Any byte may look like
 * the first one of that; PARTIAL may be a sink that ran around in its window.
 */
static bool ntrace_piece_is_middle(struct ntrace_queue *q, const struct ntrace_piece *piece)
{
	const struct ntrace_stretch *stretch = piece->stretch;
	struct nt_message msg;

	if (stretch && (stretch->cut || stretch->offset != piece->offset))
		return true;
	if (nt_message_decode(&q->config, ntrace_piece_data(q, piece), piece->size, &msg) <= 0 ||
	    !nt_message_is_sync(&msg))
		return true;
	return stretch && stretch->flags & PERF_AUX_FLAG_PARTIAL &&
	       msg.sync != NT_SYNC_TRACE_ENABLE;
}

/* --------------------------------------------------------------------- time */

/* The clock of the trace is the time CSR, or one of the same rate */
static bool ntrace_cpu_has_time(struct ntrace *nt, const struct ntrace_cpu *cpu)
{
	u64 freq, diff;

	if (!nt->have_time || nt->synth_opts.timeless_decoding)
		return false;
	if (!(cpu->config & NTRACE_CONFIG_TIMESTAMP))
		return false;
	if (!cpu->ts_freq)
		return true;
	freq = ((u64)NSEC_PER_SEC << nt->tc.time_shift) / nt->tc.time_mult;
	diff = freq > cpu->ts_freq ? freq - cpu->ts_freq : cpu->ts_freq - freq;
	if (diff <= freq / 100)
		return true;
	if (!nt->time_warned)
		pr_warning("N-Trace: timestamps run at %llu Hz, perf's clock at %llu Hz: decoding without times\n",
			   (unsigned long long)cpu->ts_freq, (unsigned long long)freq);
	nt->time_warned = true;
	return false;
}

static unsigned int ntrace_prescale_shift(const struct ntrace_cpu *cpu)
{
	/* trTsPrescale: the counter advances every 4^n ticks */
	return 2 * ((cpu->config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT);
}

static u64 ntrace_ticks_to_time(struct ntrace_queue *q, u64 ticks)
{
	u64 time = tsc_to_perf_time(ticks << ntrace_prescale_shift(q->info), &q->nt->tc);

	/* nothing in a stretch is later than its end: a damaged timestamp must not say so */
	if (q->stretch_time && time > q->stretch_time)
		time = q->stretch_time;
	return time;
}

static u64 ntrace_ts_mask(const struct ntrace_cpu *cpu)
{
	return cpu->ts_width && cpu->ts_width < 64 ? (1ULL << cpu->ts_width) - 1 : ~0ULL;
}

/* The end of the stretch, in ticks, and a little more: nothing in it is later */
static u64 ntrace_end_ticks(struct ntrace_queue *q, u64 mask)
{
	u64 end = perf_time_to_tsc(q->stretch_time, &q->nt->tc) >> ntrace_prescale_shift(q->info);

	return end + (mask >> 4);
}

/*
 * A counter that is narrower than 64 bits wraps: from a reference that is
 * close, the upper bits follow.
 */
static u64 ntrace_ticks_widen(struct ntrace_queue *q, const struct ntrace_clock *clock, u64 value)
{
	u64 mask = ntrace_ts_mask(q->info), end;

	if (mask == ~0ULL)
		return value;
	if (q->stretch_time) {
		end = ntrace_end_ticks(q, mask);
		return end - ((end - value) & mask);
	}
	return clock->valid ? clock->ticks + ((value - clock->ticks) & mask) : value;
}

static bool ntrace_clock_advance(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_clock *clock = &q->clocks[msg->src & ((1 << q->config.src_bits) - 1)];

	if (!(msg->fields & NT_FIELD_TSTAMP))
		return false;
	if (nt_message_is_sync(msg)) {
		clock->ticks = ntrace_ticks_widen(q, clock, msg->tstamp);
		clock->valid = true;
	} else if (clock->valid) {
		clock->ticks += msg->tstamp;
	}
	return clock->valid;
}

u64 ntrace_queue_time(struct ntrace_queue *q, u16 src, u64 tstamp, u8 kind)
{
	const struct ntrace_clock *clock = &q->clocks[src & ((1 << q->config.src_bits) - 1)];
	u64 mask = ntrace_ts_mask(q->info), time;

	if (q->timeless || kind == NT_TSTAMP_NONE)
		return q->time;
	/* without an end, the reader's clock is the one that is ahead */
	if (mask != ~0ULL && !q->stretch_time && clock->valid)
		tstamp = clock->ticks - ((clock->ticks - tstamp) & mask);
	else
		tstamp = ntrace_ticks_widen(q, clock, tstamp);
	time = ntrace_ticks_to_time(q, tstamp);
	if (time > q->time)
		q->time = time;
	return q->time;
}

/* ----------------------------------------------------------------- decoding */

/* All that the flow has to say of what it was fed */
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

	if (piece + 1 < q->nr_pieces && q->pieces[piece + 1].buffer == buffer)
		return;
	auxtrace_buffer__drop_data(buffer);
}

/* Feed up to @pos */
static int ntrace_queue_release(struct ntrace_queue *q, const struct ntrace_position *pos)
{
	struct ntrace_piece *piece;
	const u8 *data;
	u64 end;
	int err;

	if (q->skip.on) {
		q->flow_piece = pos->piece;
		q->flow_offset = pos->offset;
		return 0;
	}
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

/* Is any time from @from to @to asked for? An end of 0 is open. */
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

/* When the next range begins that is not over at @time */
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

/*
 * A range begins: go on at the last synchronising message before it. Ownership comes
 * right behind that (chapter 8.4), so that nothing is missed.
 */
static void ntrace_skip_end(struct ntrace_queue *q)
{
	struct ntrace_skip *skip = &q->skip;

	skip->on = false;
	if (!skip->has_sync)
		return;
	q->flow_piece = skip->sync.piece;
	q->flow_offset = skip->sync.offset;
	ntrace_queue_restart(q, q->flow_offset, false);
	ntrace_synth_lost(q);
}

static void ntrace_skip_sync(struct ntrace_queue *q, const struct nt_message *msg)
{
	struct ntrace_skip *skip = &q->skip;
	unsigned int piece = q->read_piece;

	/* of several encoders in one stream, the others would be lost up to theirs */
	if (q->config.src_bits && msg->src != q->info->src_id)
		skip->mixed = true;
	if (skip->mixed || !nt_message_is_sync(msg))
		return;
	while (q->pieces[piece].offset > msg->offset)
		piece--;
	skip->sync.piece = piece;
	skip->sync.offset = msg->offset;
	skip->has_sync = true;
}

/* Fast forward over what no range of --time asks for: messages are read, and no code */
static int ntrace_skip_time(struct ntrace_queue *q, const struct nt_message *msg, u64 time)
{
	struct ntrace_skip *skip = &q->skip;
	int err;

	if (!skip->on) {
		if (ntrace_time_wanted(q->nt, time, time))
			return 0;
		/* this message tells of what was before its time, too */
		ntrace_set_pending(q, q->read_piece, msg->offset + msg->length, time);
		err = ntrace_queue_release(q, &q->pending);
		if (err)
			return err;
		skip->on = true;
		skip->has_sync = false;
		skip->until = ntrace_time_next(q->nt, time);
		ntrace_log(q->nt, "skip cpu %d from time %" PRIu64 " to %" PRIu64 "\n", q->cpu,
			   time, skip->until);
	}
	if (time >= skip->until)
		ntrace_skip_end(q);
	else if (skip->until == NTRACE_TIME_LAST)
		q->done = true;
	else
		ntrace_skip_sync(q, msg);
	return 0;
}

/* ------------------------------------------------------------- reading ahead */

/* The last piece of the stretch that @piece is of */
static bool ntrace_piece_is_last(struct ntrace_queue *q, unsigned int piece)
{
	return piece + 1 >= q->nr_pieces || q->pieces[piece + 1].start;
}

static void ntrace_set_pending_end(struct ntrace_queue *q)
{
	struct ntrace_piece *piece = &q->pieces[q->read_piece];

	ntrace_set_pending(q, q->read_piece, piece->offset + piece->size,
			   !q->timeless ? 0 : q->stretch_time ? : NTRACE_TIME_LAST);
	q->pending_end = true;
}

/* A message with a time has been read */
static int ntrace_read_time(struct ntrace_queue *q, const struct nt_message *msg)
{
	u64 ticks = q->clocks[msg->src & ((1 << q->config.src_bits) - 1)].ticks;
	u64 time = ntrace_ticks_to_time(q, ticks);
	int err = ntrace_has_ranges(q->nt) ? ntrace_skip_time(q, msg, time) : 0;

	if (!err)
		ntrace_set_pending(q, q->read_piece, msg->offset + msg->length, time);
	return err;
}

/*
 * Find how far the trace goes on without getting later than the next message
 * with a time. If all of the stretch is before @limit, that is its end.
 */
static int ntrace_read_ahead(struct ntrace_queue *q, u64 limit)
{
	struct nt_message msg;
	const u8 *data;
	int ret;

	if (q->timeless || (!ntrace_has_ranges(q->nt) && q->stretch_time &&
			    q->stretch_time <= limit)) {
		while (!ntrace_piece_is_last(q, q->read_piece))
			q->read_piece++;
		ntrace_set_pending_end(q);
		return 0;
	}
	while (1) {
		ret = nt_reader_next(q->reader, &msg);
		if (ret > 0 && ntrace_clock_advance(q, &msg))
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

/* --------------------------------------------------------------- stretches */

static void ntrace_queue_free_decoder(struct ntrace_queue *q)
{
	ntrace_quick_exit(q);
	nt_flow_free(q->flow);
	nt_reader_free(q->reader);
	q->flow = NULL;
	q->reader = NULL;
	zfree(&q->clocks);
}

static int ntrace_queue_new_decoder(struct ntrace_queue *q, const struct ntrace_cpu *cpu)
{
	ntrace_queue_free_decoder(q);
	q->info = cpu;
	if (!ntrace_cpu_config(cpu, &q->config)) {
		pr_err("N-Trace: the metadata of CPU %d has values that no encoder can have\n",
		       cpu->cpu);
		return -EINVAL;
	}
	q->clocks = calloc(1 << q->config.src_bits, sizeof(*q->clocks));
	q->reader = nt_reader_new(&q->config);
	q->flow = nt_flow_new(&q->config, q->image);
	if (!q->clocks || !q->reader || !q->flow)
		return -ENOMEM;
	q->timeless = !ntrace_cpu_has_time(q->nt, cpu);
	return ntrace_quick_init(q);
}

static const struct ntrace_cpu *ntrace_queue_info(struct ntrace_queue *q)
{
	const struct ntrace_info *info = &q->nt->info;
	const struct ntrace_cpu *cpu = ntrace_info_cpu(info, q->cpu);

	/* per thread, without PERF_RECORD_AUX: all CPUs are hoped to be alike */
	return cpu ? cpu : q->cpu < 0 ? &info->cpus[0] : NULL;
}

static int ntrace_queue_no_metadata(struct ntrace_queue *q)
{
	char text[MAX_AUXTRACE_ERROR_MSG];

	snprintf(text, sizeof(text), "no metadata for this CPU: its trace is skipped");
	return ntrace_synth_error(q->nt, NTRACE_ERROR_CONFIG, q->cpu, -1, -1, 0, 0, text);
}

/* Skip the stretch: nothing says how it was encoded */
static bool ntrace_queue_skip(struct ntrace_queue *q)
{
	while (!ntrace_piece_is_last(q, q->flow_piece))
		q->flow_piece++;
	return ++q->flow_piece >= q->nr_pieces;
}

/* Begin with the stretch that starts at q->flow_piece */
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
	q->stretch_time = stretch ? stretch->time : 0;
	cpu = ntrace_queue_info(q);
	if (!cpu)
		return -ENOENT;
	if (cpu != q->info) {
		err = ntrace_queue_new_decoder(q, cpu);
		if (err)
			return err;
	}
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
	ntrace_log(q->nt, "stretch cpu %d offset %#" PRIx64 " time %" PRIu64 "%s\n", q->cpu,
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
	/* the thread went on, and nobody knows where it called and returned */
	if (stretch && stretch->flags & PERF_AUX_FLAG_TRUNCATED)
		ntrace_synth_lost(q);
	ntrace_queue_drop(q, q->flow_piece++);
	q->pending_end = false;
	return err;
}

/* Of a stretch that no range of --time asks for, not even messages are read */
static bool ntrace_stretch_wanted(struct ntrace_queue *q)
{
	const struct ntrace_stretch *stretch = q->pieces[q->flow_piece].stretch;
	u64 from = q->stretch_time, to = stretch && stretch->time ? stretch->time : ~0ULL;

	if (stretch && stretch->time)
		q->stretch_time = stretch->time;
	return ntrace_time_wanted(q->nt, from, to);
}

/* The next stretch that can be decoded: 1 there is none */
static int ntrace_queue_next_stretch(struct ntrace_queue *q, u64 limit)
{
	int err;

	while (q->flow_piece < q->nr_pieces) {
		if (ntrace_has_ranges(q->nt) && !ntrace_stretch_wanted(q)) {
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
			if (!err)
				err = ntrace_queue_end_stretch(q);
			if (!err)
				err = ntrace_queue_next_stretch(q, *timestamp);
			if (err < 0)
				return err;
			continue;
		}
		err = ntrace_read_ahead(q, *timestamp);
		/* far at once is fast, and too far would leave the caches */
		if (!err && (q->pending_time >= *timestamp ||
			     pos.offset - q->flow_offset >= NTRACE_CHUNK))
			err = ntrace_queue_release(q, &pos);
		if (err)
			return err;
	}
	return 1;
}

/* -------------------------------------------------------------- who executes */

static pid_t ntrace_queue_sideband_tid(struct ntrace_queue *q)
{
	struct auxtrace_queue *queue = &q->nt->queues.queue_array[q->queue_nr];
	const struct ntrace_stretch *stretch = NULL;
	pid_t tid = -1;

	if (q->flow_piece < q->nr_pieces)
		stretch = q->pieces[q->flow_piece].stretch;
	if (queue->cpu == -1)
		return queue->tid;
	if (q->cpu >= 0)
		tid = machine__get_current_tid(q->nt->machine, q->cpu);
	return tid == -1 && stretch ? stretch->tid : tid;
}

static u8 ntrace_cpumode(const struct nt_context *context)
{
	if (!context->has_priv)
		return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	switch (context->priv) {
	case NT_PRIV_U:
		return PERF_RECORD_MISC_USER;
	case NT_PRIV_S:
		return PERF_RECORD_MISC_KERNEL;
	case NT_PRIV_VU:
		return PERF_RECORD_MISC_GUEST_USER;
	case NT_PRIV_VS:
		return PERF_RECORD_MISC_GUEST_KERNEL;
	default:
		return PERF_RECORD_MISC_HYPERVISOR;
	}
}

/* The thread by Ownership (scontext is the kernel's thread id), else by sideband events */
void ntrace_queue_set_thread(struct ntrace_queue *q, const struct nt_context *context)
{
	pid_t tid = context->has_scontext ? (pid_t)context->scontext :
					    ntrace_queue_sideband_tid(q);

	q->cpumode = ntrace_cpumode(context);
	if (q->thread && q->tid == tid && q->pid != -1)
		return;
	thread__zput(q->thread);
	q->tid = tid;
	q->pid = -1;
	if (tid == -1)
		return;
	q->thread = machine__find_thread(q->nt->machine, -1, tid);
	if (!q->thread)
		q->thread = tid ? NULL : machine__findnew_thread(q->nt->machine, 0, 0);
	if (q->thread)
		q->pid = thread__pid(q->thread);
}

/* -------------------------------------------------------------------- setup */

void ntrace_queue_free(struct ntrace_queue *q)
{
	if (!q)
		return;
	ntrace_queue_free_decoder(q);
	ntrace_code_exit(q);
	ntrace_synth_queue_exit(q);
	thread__zput(q->thread);
	zfree(&q->pieces);
	free(q);
}

int ntrace_queue_setup(struct ntrace *nt, unsigned int queue_nr)
{
	struct auxtrace_queue *queue = &nt->queues.queue_array[queue_nr];
	struct ntrace_queue *q = queue->priv;
	int err;

	if (list_empty(&queue->head) || q)
		return 0;
	q = zalloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	queue->priv = q;
	q->nt = nt;
	q->queue_nr = queue_nr;
	q->cpu = queue->cpu;
	q->tid = -1;
	q->pid = -1;
	err = ntrace_code_init(q);
	if (!err)
		err = ntrace_synth_queue_init(q);
	if (!err)
		err = ntrace_queue_pieces(q, queue);
	if (!err)
		err = ntrace_queue_next_stretch(q, 0);
	if (err)
		return err < 0 ? err : 0;
	q->on_heap = true;
	return auxtrace_heap__add(&nt->heap, queue_nr, q->pending_time);
}
