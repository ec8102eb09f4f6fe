// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Divide the AUX buffers of a recording into stretches (trace.h). */
#include <string.h>

#include "ntrace/foreign.h"
#include "frames.h"
#include "trace.h"

#define PAGE	4096

/* ---- Records ---- */

/* Return the slot of the AUX buffer of a CPU or thread in the hash table, or NULL if out of memory. */
static struct ns_hash_slot *slot_of(struct ns_trace *trace, int32_t cpu, int32_t tid)
{
	const struct ns_queue *q = trace->queues.at;

	return ns_hash_find(&trace->owners, ns_hash_mix((uint64_t)cpu << 32 | (uint32_t)tid), q[i].cpu == cpu && q[i].tid == tid);
}

static struct ns_queue *get_queue(struct ns_trace *trace, int32_t cpu, int32_t tid)
{
	struct ns_queue queue = { .cpu = cpu, .tid = cpu < 0 ? tid : -1 };
	struct ns_hash_slot *slot = slot_of(trace, queue.cpu, queue.tid);

	if (!slot || (!slot->index && !ns_array_add(&trace->queues, queue)))
		return NULL;
	if (!slot->index)
		ns_hash_set(&trace->owners, slot, trace->queues.nr - 1);
	return &trace->queues.at[slot->index - 1];
}

int ns_trace_add_data(struct ns_trace *trace, const struct pd_record *record)
{
	const struct pd_auxtrace_record *r = (const void *)record->header;
	struct ns_buffer buffer = { .data = record->data, .size = record->data_size };
	struct ns_queue *q;

	if (record->header->size < sizeof(*r) || !record->data_size)
		return 0;
	buffer.offset = r->offset;
	if (buffer.size > UINT64_MAX - buffer.offset)
		return 0;
	q = get_queue(trace, (int32_t)r->cpu, (int32_t)r->tid);
	if (!q || !ns_array_add(&q->buffers, buffer))
		return -1;
	trace->bytes += buffer.size;
	return 0;
}

int ns_trace_add_aux(struct ns_trace *trace, const struct pd_record *record)
{
	const struct pd_aux_record *r = (const void *)record->header;
	struct ns_stretch s = {
		.end = record->id.time, .cpu = record->id.cpu, .pid = record->id.pid,
		.tid = record->id.tid,
	};

	if (record->header->size < sizeof(*r))
		return 0;
	s.offset = r->offset;
	s.size = r->size;
	s.flags = trace->foreign ? nt_foreign_flags(trace->foreign, r->flags) : r->flags;
	s.lost = s.flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL);
	if (!s.size && !s.lost)
		return 0;
	/*
	 * in snapshot mode, the record's offset is the end of the trace, and its size is at most
	 * the size of the buffer
	 */
	if (s.flags & PERF_AUX_FLAG_OVERWRITE) {
		s.offset -= s.offset < s.size ? s.offset : s.size;
		s.middle = s.size >= PAGE && !(s.size & (s.size - 1));
	}
	if (s.size > UINT64_MAX - s.offset)
		s.size = UINT64_MAX - s.offset;
	return ns_array_add(&trace->stretches, s) ? 0 : -1;
}

int ns_trace_add_bytes(struct ns_trace *trace, int32_t cpu, const uint8_t *data, size_t size, bool middle)
{
	struct ns_queue *q = get_queue(trace, cpu, -1);
	struct ns_buffer buffer = { .data = data, .size = size };
	struct ns_stretch s = { .size = size, .cpu = cpu, .pid = -1, .tid = -1, .middle = middle };

	if (q && q->buffers.nr) {
		s.offset = buffer.offset = q->buffers.at[q->buffers.nr - 1].offset + q->buffers.at[q->buffers.nr - 1].size;
		trace->stretches.at[trace->stretches.nr - 1].lost = true;
	}
	trace->bytes += size;
	return q && ns_array_add(&q->buffers, buffer) && ns_array_add(&trace->stretches, s) ? 0 : -1;
}

/* A record without trace does not mean that the sink was full, but that the CPU of the record did not get the sink. */
bool ns_stretch_is_full(const struct ns_stretch *s)
{
	return s->size && s->flags & PERF_AUX_FLAG_PARTIAL;
}

bool ns_stretch_is_cut(const struct ns_stretch *s)
{
	return s->lost && (!ns_frames_lost(s) || s->flags & PERF_AUX_FLAG_TRUNCATED);
}

/* ---- Cut the trace in the buffers into stretches ---- */

static bool add_piece(struct ns_stretch *s, const struct ns_buffer *b, uint64_t from, uint64_t to)
{
	struct ns_piece piece = { .data = b->data + (from - b->offset), .size = to - from };

	return ns_array_add(&s->pieces, piece);
}

/*
 * Return true if the bytes are padding. perf appends up to 7 zero bytes, which no record describes.
 */
static bool is_padding(const struct ns_buffer *b, uint64_t from, uint64_t to)
{
	return to == b->offset + b->size && to - from < 8;
}

/*
 * Add a stretch for trace that no record describes, for example because the recording was cut
 * short.
 */
static bool add_unknown(struct ns_trace *trace, uint32_t queue, const struct ns_buffer *b,
			uint64_t from, uint64_t to, bool middle)
{
	const struct ns_queue *q = &trace->queues.at[queue];
	struct ns_stretch s = {
		.offset = from, .size = to - from, .cpu = q->cpu, .pid = -1, .tid = q->tid,
		.queue = queue, .middle = middle,
	};

	if (is_padding(b, from, to))
		return true;
	return add_piece(&s, b, from, to) && ns_array_add(&trace->stretches, s);
}

static int buffer_cmp(const void *a, const void *b)
{
	const struct ns_buffer *x = a, *y = b;

	return ns_order(x->offset, y->offset);
}

static int stretch_cmp(const void *a, const void *b)
{
	const struct ns_stretch *x = a, *y = b;

	return ns_order(x->queue, y->queue) ?: ns_order(x->offset, y->offset) ?:
	       ns_order(x->size, y->size);
}

int64_t ns_trace_queue(struct ns_trace *trace, int32_t cpu, int32_t tid)
{
	const struct ns_hash_slot *slot = cpu >= 0 ? slot_of(trace, cpu, -1) : NULL;

	if (!slot || !slot->index)
		slot = slot_of(trace, -1, tid);
	return slot ? (int64_t)slot->index - 1 : -1;
}

/*
 * Return the index in ns_trace::queues of the AUX buffer that a PERF_RECORD_AUX describes, or -1 if
 * out of memory. If the CPU of the record has no buffer, the buffer belongs to the thread. If the file
 * lacks the trace of the record, add an element to ns_trace::queues, because the record may report
 * lost trace.
 */
static int64_t queue_of(struct ns_trace *trace, const struct ns_stretch *s)
{
	int64_t found = ns_trace_queue(trace, s->cpu, s->tid);
	struct ns_queue *q;

	if (found >= 0)
		return found;
	q = get_queue(trace, s->cpu, s->tid);
	return q ? q - trace->queues.at : -1;
}

/*
 * Divide the bytes of one ns_buffer among the stretches with the indices [*first, @end). Set *first to
 * the first stretch that may have bytes in the next ns_buffer. Return false if out of memory.
 */
static bool cut_buffer(struct ns_trace *trace, uint32_t queue, const struct ns_buffer *b,
		       size_t *first, size_t end)
{
	uint64_t pos = b->offset, last = b->offset + b->size, stop;
	struct ns_stretch *s;
	size_t i;

	for (i = *first; i < end && pos < last; i++) {
		s = &trace->stretches.at[i];
		stop = s->offset + s->size;
		if (stop <= pos) {
			*first = i + 1;
			continue;
		}
		if (s->offset >= last)
			break;
		if (s->offset > pos) {
			if (!add_unknown(trace, queue, b, pos, s->offset, true))
				return false;
			s = &trace->stretches.at[i];
			pos = s->offset;
		}
		if (!s->pieces.nr && s->offset != pos)
			s->middle = true;	/* the file lacks the start of the stretch */
		stop = stop < last ? stop : last;
		if (!add_piece(s, b, pos, stop))
			return false;
		pos = stop;
	}
	return pos >= last || add_unknown(trace, queue, b, pos, last, pos != 0);
}

/*
 * Remove the zeros that perf appends to a buffer. They are not trace, so the next buffer begins at their offset.
 */
static void drop_padding(const struct ns_queue *q)
{
	struct ns_buffer *b = q->buffers.at, *last = b + q->buffers.nr;

	for (; b && b + 1 < last; b++) {
		if (b->offset + b->size > b[1].offset && b->offset + b->size - b[1].offset < 8)
			b->size = b[1].offset - b->offset;
	}
}

static bool cut_queue(struct ns_trace *trace, uint32_t queue, size_t first, size_t end)
{
	const struct ns_queue *q = &trace->queues.at[queue];
	size_t i;

	ns_array_sort(&q->buffers, buffer_cmp);
	drop_padding(q);
	for (i = 0; i < q->buffers.nr; i++) {
		if (!cut_buffer(trace, queue, &q->buffers.at[i], &first, end))
			return false;
	}
	return true;
}

/*
 * Copy the first bytes of a stretch, which may be in several pieces, up to the length of the
 * longest possible message. Skip idle bytes at the start. If a part of the AUX buffer is too small for
 * the sink to write to it, the driver fills this part with idle bytes.
 */
static size_t first_bytes(const struct ns_stretch *s, uint8_t buf[NT_MESSAGE_MAX])
{
	const struct ns_piece *piece = s->pieces.at, *end = piece + s->pieces.nr;
	size_t nr = 0, n, at;

	for (; piece < end && nr < NT_MESSAGE_MAX; piece++) {
		for (at = 0; !nr && at < piece->size && piece->data[at] == NS_IDLE; at++)
			;
		n = piece->size - at < NT_MESSAGE_MAX - nr ? piece->size - at : NT_MESSAGE_MAX - nr;
		memcpy(buf + nr, piece->data + at, n);
		nr += n;
	}
	return nr;
}

/*
 * Find out whether the first bytes of a stretch were lost. If no byte was lost, the stretch begins
 * with a valid message with SYNC. Decode the whole message, because a byte inside a message may look
 * like the first byte of a message. If a record with the flag PARTIAL does not begin with the message
 * of a trace start, the sink may have overwritten the first bytes.
 */
void ns_trace_find_middle(struct ns_stretch *s, const struct ns_setup *setup)
{
	const struct ns_cpu *cpu = ns_setup_cpu(setup, s->cpu);
	uint8_t buf[NT_MESSAGE_MAX];
	struct nt_message msg;
	size_t nr;

	if (s->middle || !s->pieces.nr || !cpu || !cpu->valid)
		return;
	nr = first_bytes(s, buf);
	if (!nr)
		return;
	if (nt_message_decode(&cpu->nt, buf, nr, &msg) <= 0 ||
	    !nt_message_is_sync(&msg))
		s->middle = true;
	else if (s->flags & PERF_AUX_FLAG_PARTIAL && msg.sync != NT_SYNC_TRACE_ENABLE)
		s->middle = true;
}

/*
 * Check the first message of a stretch. At intervals of PD_BLOCK bytes, release the memory that the
 * kernel has mapped for these messages.
 */
static void look_at_begin(struct ns_stretch *s, const struct ns_setup *setup, const struct perfdata *pd, const uint8_t **last)
{
	ns_trace_find_middle(s, setup);
	if (!s->pieces.nr || (uintptr_t)s->pieces.at[0].data - (uintptr_t)*last < PD_BLOCK)
		return;
	*last = s->pieces.at[0].data;
	pd_forget(pd, *last, PD_AROUND);
}

/*
 * Count the bytes of a stretch that PERF_RECORD_AUX lists but no buffer contains. They are lost,
 * except in two cases. In snapshot mode, newer trace may have replaced the trace of a record. A
 * shard (a part of a recording) also contains the PERF_RECORD_AUX before its first trace.
 */
static void find_missing(struct ns_trace *trace, struct ns_stretch *s, bool first_of_shard)
{
	uint64_t there = 0;
	size_t i;

	for (i = 0; i < s->pieces.nr; i++)
		there += s->pieces.at[i].size;
	if (there >= s->size || s->flags & PERF_AUX_FLAG_OVERWRITE || (first_of_shard && !there))
		return;
	trace->missing += s->size - there;
	s->lost = true;
}

static void link_stretches(struct ns_trace *trace, const struct ns_setup *setup,
			   const struct perfdata *pd)
{
	struct ns_stretch *s, *before = NULL;
	const uint8_t *last = NULL;
	size_t i;

	for (i = 0; i < trace->stretches.nr; i++) {
		s = &trace->stretches.at[i];
		find_missing(trace, s, pd->features[PD_FEAT_SHARD].there &&
			     (!before || before->queue != s->queue));
		/* if the trace is packed in frames, its first message is checked when the frames are unpacked */
		if (!ns_frames_has(s))
			look_at_begin(s, setup, pd, &last);
		if (before && before->queue == s->queue) {
			/* if a record was divided into two stretches, both stretches have the times of the record */
			s->start = trace->wrapped && before->end == s->end ? before->start : before->end;
			s->follows = !before->lost && !ns_frames_lost(s) &&
				     before->offset + before->size == s->offset;
		}
		before = s;
	}
}

/* ---- Records of other drivers whose ring has wrapped around ---- */

/* Remove the bytes of a stretch that are not in [@from, @to), which are offsets from its start. */
static bool keep_pieces(struct ns_stretch *s, uint64_t from, uint64_t to)
{
	struct ns_stretch kept = *s;
	uint64_t at = 0, first, last;
	size_t i;

	memset(&kept.pieces, 0, sizeof(kept.pieces));
	for (i = 0; i < s->pieces.nr; at += s->pieces.at[i++].size) {
		first = from > at ? from - at : 0;
		last = to - at < s->pieces.at[i].size ? to - at : s->pieces.at[i].size;
		struct ns_piece piece = { s->pieces.at[i].data + first, last - first };

		if (to > at && first < last && !ns_array_add(&kept.pieces, piece))
			return false;
	}
	kept.offset += from;
	kept.size = to - from;
	*s = kept;
	return true;
}

/*
 * Handle a stretch that consists of the whole ring of another driver, in which the newest bytes have overwritten the
 * oldest (nt_foreign_wrapped()). Remove the bytes of earlier sessions (nt_foreign_ring::old). If bytes are missing
 * inside the stretch, divide the stretch at their position.
 */
static bool cut_ring(struct ns_trace *trace, size_t nth, const struct nt_config *config, uint64_t position)
{
	struct ns_stretch s = trace->stretches.at[nth], after = s;
	struct nt_foreign_bytes *bytes = calloc(s.pieces.nr, sizeof(*bytes));
	struct nt_foreign_ring ring;
	bool ok = bytes;
	size_t i;

	if (!ok)
		return false;
	for (i = 0; i < s.pieces.nr; i++)
		bytes[i] = (struct nt_foreign_bytes){ s.pieces.at[i].data, s.pieces.at[i].size };
	nt_foreign_ring(config, bytes, s.pieces.nr, position, &ring);
	free(bytes);
	trace->wrapped++;
	trace->old += ring.old;
	s.lost = true;
	if (ring.seam) {
		s.flags |= PERF_AUX_FLAG_TRUNCATED;
		after.middle = true;
		ok = keep_pieces(&after, ring.seam, s.size) && ns_array_add(&trace->stretches, after);
	}
	ok = ok && keep_pieces(&s, ring.old, ring.seam ? ring.seam : s.size);
	if (!ok)
		return false;
	free(trace->stretches.at[nth].pieces.at);
	trace->stretches.at[nth] = s;
	return true;
}

static bool cut_rings(struct ns_trace *trace, const struct ns_setup *setup)
{
	size_t nr = trace->stretches.nr, i;
	const struct ns_stretch *s;
	const struct ns_cpu *cpu;
	uint64_t since = 0, end;
	uint32_t queue = 0;

	for (i = 0; i < nr; i++) {
		s = &trace->stretches.at[i];
		since = s->queue == queue ? since : 0;
		queue = s->queue;
		cpu = ns_setup_cpu(setup, s->cpu);
		if (!nt_foreign_wrapped(trace->foreign, s->size) || !s->pieces.nr || !cpu || !cpu->valid)
			continue;
		end = s->offset + s->size;
		if (!cut_ring(trace, i, &cpu->nt, s->offset - since))
			return false;
		since = end;
	}
	return true;
}

/*
 * Drop repeated records. In perf record, perf_mmap__push() reads the end of the ring buffer twice.
 * If the kernel writes a record in between, perf saves this record now, and again with the next
 * records.
 */
static void drop_repeated(struct ns_trace *trace)
{
	struct ns_stretch *s = trace->stretches.at, *kept = s, *end = s + trace->stretches.nr;

	for (; s < end; s++) {
		if (kept > trace->stretches.at && s->size && !stretch_cmp(s, kept - 1) && s->end == kept[-1].end)
			continue;
		*kept++ = *s;
	}
	trace->stretches.nr = kept - trace->stretches.at;
}

int ns_trace_cut(struct ns_trace *trace, const struct ns_setup *setup, const struct perfdata *pd)
{
	size_t nr, i, end;
	int64_t found;
	uint32_t queue;

	for (i = 0; i < trace->stretches.nr; i++) {
		found = queue_of(trace, &trace->stretches.at[i]);
		if (found < 0)
			return -1;
		trace->stretches.at[i].queue = found;
	}
	ns_array_sort(&trace->stretches, stretch_cmp);
	drop_repeated(trace);
	nr = trace->stretches.nr;
	for (queue = 0, i = 0; queue < trace->queues.nr; queue++, i = end) {
		for (end = i; end < nr && trace->stretches.at[end].queue == queue; end++)
			;
		if (!cut_queue(trace, queue, i, end))
			return -1;
	}
	ns_array_sort(&trace->stretches, stretch_cmp);
	if (trace->foreign && !cut_rings(trace, setup))
		return -1;
	if (trace->wrapped)
		ns_array_sort(&trace->stretches, stretch_cmp);
	link_stretches(trace, setup, pd);
	return 0;
}

void ns_trace_free(struct ns_trace *trace)
{
	size_t i;

	for (i = 0; i < trace->queues.nr; i++)
		free(trace->queues.at[i].buffers.at);
	for (i = 0; i < trace->stretches.nr; i++) {
		free(trace->stretches.at[i].pieces.at);
		free(trace->stretches.at[i].cpus.at);
	}
	free(trace->queues.at);
	free(trace->owners.slots);
	free(trace->stretches.at);
	memset(trace, 0, sizeof(*trace));
}
