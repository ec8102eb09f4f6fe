// SPDX-License-Identifier: GPL-2.0-only
/*
 * N-Trace: frames that a CoreSight ETR wrote, with the bytes of several encoders in them. Each
 * queue takes the bytes of its encoder's trace ID.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "ntrace-priv.h"
#include "session.h"

/* No message has a byte with this MSEO (chapter 3.1.4): a decoder sees that bytes are missing. */
#define NTRACE_BROKEN	0x02
#define NTRACE_IDLE	0xff

static bool ntrace_flags_frames(u64 flags)
{
	return (flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK) == NTRACE_AUX_FORMAT_FRAMES;
}

bool ntrace_stretch_has_frames(const struct ntrace_stretch *stretch)
{
	return stretch && ntrace_flags_frames(stretch->flags);
}

/*
 * Is trace of all encoders of an ETR missing before @size bytes of frames? Their queues report that
 * where it is missing, and not where PERF_RECORD_AUX comes.
 */
bool ntrace_frames_lost(u64 flags, u64 size)
{
	return size && ntrace_flags_frames(flags) && flags & PERF_AUX_FLAG_PARTIAL;
}

/* Where the bytes of one ID go; there are always fewer of them than bytes of frames */
struct ntrace_frames {
	struct nt_frames	*frames;
	struct nt_frames_out	outs[NT_FRAMES_IDS];
	unsigned int		id;
};

/* Bytes of one ID, when it is asked which IDs there are */
#define NTRACE_FRAMES_CHECK	4096

struct ntrace_frames_check {
	struct ntrace_frames	f;
	u8			data[NT_FRAMES_IDS][NTRACE_FRAMES_CHECK];
};

static void ntrace_frames_put(struct ntrace_frames *f, const u8 *data, size_t size)
{
	struct nt_frames_out *out = &f->outs[f->id];
	size_t used;

	while (size) {
		if (nt_frames_convert(f->frames, data, size, &used, f->outs) < 0 &&
		    out->nr < out->size)
			out->data[out->nr++] = NTRACE_BROKEN;
		else if (!used)
			return;
		data += used;
		size -= used;
	}
}

static void ntrace_frames_warn(struct ntrace_frames *f, const u8 *data, size_t size)
{
	unsigned int id;
	size_t used;

	while (size) {
		nt_frames_convert(f->frames, data, size, &used, f->outs);
		data += used;
		size -= used;
		for (id = 0; id < NT_FRAMES_IDS; id++) {
			if (!f->outs[id].nr)
				continue;
			pr_warning("N-Trace: there is trace of ID %u, which no encoder of this recording has: it is skipped\n",
				   id);
			return;
		}
	}
}

/*
 * All of a stretch, buffer by buffer, is given to @put. Returns false if one of them cannot be read
 */
static bool ntrace_frames_convert(struct ntrace_queue *q, const struct ntrace_piece *piece,
				  struct ntrace_frames *f,
				  void (*put)(struct ntrace_frames *f, const u8 *data, size_t size))
{
	struct auxtrace_queue *queue = &q->nt->queues.queue_array[q->queue_nr];
	struct auxtrace_buffer *buffer = piece->buffer, *next;
	int fd = perf_data__fd(q->nt->session->data);
	u64 pos = piece->offset, end = piece->offset + piece->size, stop;

	for (; buffer && pos < end; buffer = next) {
		next = auxtrace_buffer__next(queue, buffer);
		stop = min(end, buffer->offset + ntrace_buffer_size(q->nt, buffer));
		if (stop <= pos || buffer->offset > pos)
			continue;
		if (!buffer->data)
			buffer->data = auxtrace_buffer__get_data(buffer, fd);
		if (!buffer->data)
			return false;
		put(f, (u8 *)buffer->data + (pos - buffer->offset), stop - pos);
		pos = stop;
	}
	return true;
}

static bool ntrace_frames_is_known(const struct ntrace_info *info, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		if (info->cpus[i].trace_id == id)
			return true;
	}
	return false;
}

void ntrace_frames_check_ids(struct ntrace_queue *q, struct ntrace_piece *piece)
{
	struct ntrace_frames_check *check;
	unsigned int id;

	if (q->nt->frames_checked)
		return;
	q->nt->frames_checked = true;
	check = malloc(sizeof(*check));
	if (!check)
		return;
	memset(&check->f, 0, sizeof(check->f));
	for (id = 1; id < NT_FRAMES_IDS; id++) {
		if (!ntrace_frames_is_known(&q->nt->info, id))
			check->f.outs[id] = (struct nt_frames_out){ .data = check->data[id],
								     .size = NTRACE_FRAMES_CHECK };
	}
	check->f.frames = nt_frames_new();
	if (check->f.frames)
		ntrace_frames_convert(q, piece, &check->f, ntrace_frames_warn);
	nt_frames_free(check->f.frames);
	free(check);
}

/*
 * The ID of the encoder that the queue reads; @piece may be in the buffer of another encoder's CPU.
 */
static u32 ntrace_frames_id(struct ntrace_queue *q, const struct ntrace_piece *piece)
{
	const struct ntrace_info *info = &q->nt->info;
	const struct ntrace_cpu *cpu = ntrace_info_cpu(info, piece->stretch->cpu);

	if (q->src >= 0)
		cpu = ntrace_info_source(info, cpu, q->src);
	return cpu ? cpu->trace_id : 0;
}

/*
 * Idle bytes follow the last one; nt_frames_convert() writes there, too. A message that was cut
 * short must not go on in them.
 */
static void ntrace_frames_end(struct nt_frames_out *out)
{
	memset(out->data + out->nr, NTRACE_IDLE, out->size - out->nr);
	if (out->nr && out->nr < out->size && (out->data[out->nr - 1] & 3) != 3)
		out->data[out->nr] = NTRACE_BROKEN;
}

/**
 * ntrace_frames_data - the bytes of one encoder in a stretch of frames
 * @q: the queue of the encoder
 * @piece: the stretch; its @data is set, and freed with it
 *
 * Return: @piece->size bytes, idle ones after the last; NULL without memory.
 */
const u8 *ntrace_frames_data(struct ntrace_queue *q, struct ntrace_piece *piece)
{
	u32 id = ntrace_frames_id(q, piece);
	struct ntrace_frames f = { .id = id < NT_FRAMES_IDS ? id : 0 };
	struct nt_frames_out *out = &f.outs[f.id];

	if (piece->data)
		return piece->data;
	/* nt_frames_convert() wants room for a frame beyond the last byte */
	out->size = piece->size + NT_FRAMES_OUT_MIN;
	out->data = malloc(out->size);
	f.frames = nt_frames_new();
	if (out->data && f.frames && (!f.id || ntrace_frames_convert(q, piece, &f, ntrace_frames_put)))
		ntrace_frames_end(out);
	else
		zfree(&out->data);
	nt_frames_free(f.frames);
	piece->data = out->data;
	return piece->data;
}
