// SPDX-License-Identifier: GPL-2.0-only
/*
 * Division of an AUX buffer into pieces. A piece is in one struct auxtrace_buffer, and one PERF_RECORD_AUX
 * describes it.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/kernel.h>

#include "data.h"
#include "debug.h"
#include "ntrace-priv.h"
#include "session.h"

static int ntrace_queue_add_piece(struct ntrace_queue *q, struct auxtrace_buffer *buffer,
				  const struct ntrace_stretch *stretch, u64 start, u64 end)
{
	struct ntrace_piece *piece, *prev;

	prev = q->nr_pieces ? &q->pieces[q->nr_pieces - 1] : NULL;
	if (prev && prev->stretch == stretch && prev->offset + prev->size == start &&
	    ntrace_stretch_has_frames(stretch)) {
		prev->size = end - prev->offset;
		return 0;
	}
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
	piece->data = NULL;
	piece->lost = piece->whole = false;
	piece->start = !prev || prev->offset + prev->size != start || prev->stretch != stretch;
	return 0;
}

/* Return true if the bytes may be the up to 7 zero bytes that perf adds and PERF_RECORD_AUX does not count */
static bool ntrace_is_padding(u64 start, u64 end, u64 buffer_end)
{
	return end == buffer_end && end - start < PERF_AUXTRACE_RECORD_ALIGNMENT;
}

/* The stretches of one buffer, sorted by offset */
struct ntrace_stretches {
	const struct ntrace_stretch	*list;
	size_t				nr;
	size_t				next;	/* index of the first stretch that is not yet completely divided */
};

static u64 ntrace_stretch_end(const struct ntrace_stretch *stretch)
{
	return stretch->offset + stretch->size;
}

static int ntrace_queue_cut(struct ntrace_queue *q, struct auxtrace_buffer *buffer, u64 end,
			    struct ntrace_stretches *all)
{
	const struct ntrace_stretch *stretch;
	u64 pos = buffer->offset, stop;
	int err;

	/* In a damaged file, buffers may not be in the order of the trace, so search again from the first stretch */
	if (all->next && ntrace_stretch_end(&all->list[all->next - 1]) > pos)
		all->next = 0;
	for (; all->next < all->nr && pos < end; all->next++) {
		stretch = &all->list[all->next];
		if (ntrace_stretch_end(stretch) <= pos)
			continue;
		if (stretch->offset >= end)
			break;
		if (stretch->offset > pos) {
			err = ntrace_queue_add_piece(q, buffer, NULL, pos, stretch->offset);
			if (err)
				return err;
			pos = stretch->offset;
		}
		stop = min(end, ntrace_stretch_end(stretch));
		err = ntrace_queue_add_piece(q, buffer, stretch, pos, stop);
		if (err)
			return err;
		pos = stop;
		/* Do not advance to the next stretch, because this one continues in the next buffer */
		if (stop < ntrace_stretch_end(stretch))
			break;
	}
	if (pos >= end || (all->nr && ntrace_is_padding(pos, end, buffer->offset + buffer->size)))
		return 0;
	return ntrace_queue_add_piece(q, buffer, NULL, pos, end);
}

static int ntrace_cmp(u64 a, u64 b)
{
	return a < b ? -1 : a > b;
}

static int ntrace_cmp_cpu(const void *a, const void *b)
{
	const struct ntrace_stretch *x = a, *y = b;

	return ntrace_cmp((u32)x->cpu, (u32)y->cpu) ? : ntrace_cmp(x->offset, y->offset);
}

static int ntrace_cmp_tid(const void *a, const void *b)
{
	const struct ntrace_stretch *x = a, *y = b;

	return ntrace_cmp((u32)x->tid, (u32)y->tid) ? : ntrace_cmp(x->offset, y->offset);
}

/* Sort all stretches by buffer. There is one buffer for each thread if @by_tid is set, otherwise for each CPU. */
void ntrace_sort_stretches(struct ntrace *nt, bool by_tid)
{
	qsort(nt->stretches, nt->nr_stretches, sizeof(*nt->stretches),
	      by_tid ? ntrace_cmp_tid : ntrace_cmp_cpu);
}

static struct ntrace_stretches ntrace_find_stretches(struct ntrace *nt,
						     const struct auxtrace_queue *queue)
{
	u32 key = queue->cpu == -1 ? queue->tid : queue->cpu, at;
	size_t low = 0, high = nt->nr_stretches, mid, end;

	while (low < high) {
		mid = (low + high) / 2;
		at = queue->cpu == -1 ? nt->stretches[mid].tid : nt->stretches[mid].cpu;
		if (at < key)
			low = mid + 1;
		else
			high = mid;
	}
	for (end = low; end < nt->nr_stretches; end++) {
		at = queue->cpu == -1 ? nt->stretches[end].tid : nt->stretches[end].cpu;
		if (at != key)
			break;
	}
	return (struct ntrace_stretches){ .list = nt->stretches + low, .nr = end - low };
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
		pr_warning("N-Trace: the file was cut short: its trace continues after its end\n");
	nt->size_warned = true;
	return at < file ? file - at : 0;
}

int ntrace_queue_pieces(struct ntrace_queue *q, struct auxtrace_queue *queue)
{
	struct ntrace_stretches stretches = ntrace_find_stretches(q->nt, queue);
	struct auxtrace_buffer *buffer, *next;
	int err = 0;
	u64 end;

	buffer = auxtrace_buffer__next(queue, NULL);
	for (; buffer && !err; buffer = next) {
		next = auxtrace_buffer__next(queue, buffer);
		end = buffer->offset + ntrace_buffer_size(q->nt, buffer);
		if (end < buffer->offset)
			end = buffer->offset;
		if (next && next->offset > buffer->offset && next->offset < end)
			end = next->offset;
		err = ntrace_queue_cut(q, buffer, end, &stretches);
	}
	return err ? : ntrace_foreign_rings(q);
}

const u8 *ntrace_piece_data(struct ntrace_queue *q, struct ntrace_piece *piece)
{
	struct auxtrace_buffer *buffer = piece->buffer;

	if (ntrace_stretch_has_frames(piece->stretch))
		return ntrace_frames_data(q, piece);
	if (!buffer->data)
		buffer->data = auxtrace_buffer__get_data(buffer,
							 perf_data__fd(q->nt->session->data));
	if (!buffer->data)
		return NULL;
	return (u8 *)buffer->data + (piece->offset - buffer->offset);
}

/*
 * Return true if the piece may start inside a message. A stretch starts with a synchronising message
 * if its first bytes were not lost or overwritten. With PERF_AUX_FLAG_PARTIAL, the sink may have
 * overwritten them, and the next bytes may look like a synchronising message. So this message must
 * also report the start of trace.
 */
bool ntrace_piece_is_middle(struct ntrace_queue *q, struct ntrace_piece *piece)
{
	const struct ntrace_stretch *stretch = piece->stretch;
	bool partial = !stretch || stretch->flags & PERF_AUX_FLAG_PARTIAL;
	struct nt_message msg;
	int ret;

	if (stretch && (stretch->cut || (stretch->offset != piece->offset && !piece->whole)))
		return true;
	ret = nt_message_decode(&q->config, ntrace_piece_data(q, piece), piece->size, &msg);
	/* If the first message continues in the next piece, assume that it is a synchronising message */
	if (!ret && !partial)
		return false;
	if (ret <= 0 || !nt_message_is_sync(&msg))
		return true;
	return stretch && partial && msg.sync != NT_SYNC_TRACE_ENABLE;
}
