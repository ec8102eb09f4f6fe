// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of a CoreSight ETR, which interleave the bytes of several encoders. Each queue extracts
 * the bytes with its encoder's trace ID.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "data.h"
#include "debug.h"
#include "ntrace-decoder/sinks.h"
#include "ntrace-priv.h"
#include "session.h"

/* Byte with the reserved MSEO 10 (chapter 3.1.4), which makes the decoder report that bytes are missing */
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
 * Return true if trace of all encoders of an ETR is missing before @size bytes of frames. The
 * queues report this loss at its position in the trace, and not at the time of PERF_RECORD_AUX.
 */
bool ntrace_frames_lost(u64 flags, u64 size)
{
	return size && ntrace_flags_frames(flags) && flags & PERF_AUX_FLAG_PARTIAL;
}

/* Output buffers, by trace ID. The bytes of one trace ID are always fewer than the bytes of the frames. */
struct ntrace_frames {
	struct nt_frames	*frames;
	struct nt_frames_out	outs[NT_FRAMES_IDS];
	unsigned int		id;
	bool			sends[NT_FRAMES_IDS];
};

/*
 * Size in bytes of the buffer for each trace ID in ntrace_frames_find(), which only finds out which encoders have
 * sent messages
 */
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

static const struct ntrace_cpu *ntrace_frames_cpu(const struct ntrace_info *info, unsigned int id)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		if (info->cpus[i].trace_id == id)
			return &info->cpus[i];
	}
	return NULL;
}

static void ntrace_frames_see(struct ntrace_frames *f, const u8 *data, size_t size)
{
	unsigned int id;
	size_t used;

	while (size) {
		nt_frames_convert(f->frames, data, size, &used, f->outs);
		data += used;
		size -= used;
		for (id = 1; id < NT_FRAMES_IDS; id++) {
			f->sends[id] |= f->outs[id].nr;
			f->outs[id].nr = 0;
		}
	}
}

/*
 * Pass the frames of a stretch to @put, buffer by buffer. Return false if a buffer cannot be read.
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

/* Record in ntrace::senders that the encoder with trace ID @id has bytes in a stretch of CPU @own */
static void ntrace_frames_add(struct ntrace *nt, const struct ntrace_cpu *own, unsigned int id)
{
	const struct ntrace_cpu *cpu = ntrace_frames_cpu(&nt->info, id);

	if (cpu) {
		__set_bit(cpu - nt->info.cpus, nt->senders);
		nt_sinks_join(nt->sinks, own - nt->info.cpus, cpu - nt->info.cpus);
		return;
	}
	if (!nt->frames_warned)
		pr_warning("N-Trace: skipping the trace of ID %u, which no encoder of this recording has\n",
			   id);
	nt->frames_warned = true;
}

void ntrace_frames_find(struct ntrace_queue *q, struct ntrace_piece *piece,
			const struct ntrace_cpu *own)
{
	struct ntrace_frames_check *check = zalloc(sizeof(*check));
	unsigned int id;

	if (!check)
		return;
	for (id = 1; id < NT_FRAMES_IDS; id++) {
		check->f.outs[id].data = check->data[id];
		check->f.outs[id].size = NTRACE_FRAMES_CHECK;
	}
	check->f.frames = nt_frames_new();
	if (check->f.frames)
		ntrace_frames_convert(q, piece, &check->f, ntrace_frames_see);
	for (id = 1; id < NT_FRAMES_IDS; id++) {
		if (check->f.sends[id])
			ntrace_frames_add(q->nt, own, id);
	}
	nt_frames_free(check->f.frames);
	free(check);
}

/*
 * Return the trace ID of the queue's encoder. @piece may be in the buffer of another encoder's CPU.
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
 * Fill the rest of the buffer, which nt_frames_convert() may have overwritten, with idle bytes. End
 * a truncated message, so that it does not continue in the idle bytes.
 */
static void ntrace_frames_end(struct nt_frames_out *out)
{
	memset(out->data + out->nr, NTRACE_IDLE, out->size - out->nr);
	if (out->nr && out->nr < out->size && (out->data[out->nr - 1] & 3) != 3)
		out->data[out->nr] = NTRACE_BROKEN;
}

/**
 * ntrace_frames_data() - extract the bytes of one encoder from a stretch of frames
 * @q: Queue of the encoder
 * @piece: The stretch. Its member data is set to the bytes, which are freed together with @piece.
 *
 * Return: @piece->size bytes, padded with idle bytes; NULL if memory is exhausted or the trace
 * cannot be read.
 */
const u8 *ntrace_frames_data(struct ntrace_queue *q, struct ntrace_piece *piece)
{
	u32 id = ntrace_frames_id(q, piece);
	struct ntrace_frames f = { .id = id < NT_FRAMES_IDS ? id : 0 };
	struct nt_frames_out *out = &f.outs[f.id];

	if (piece->data)
		return piece->data;
	/* nt_frames_convert() needs space for a frame after the last byte */
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
