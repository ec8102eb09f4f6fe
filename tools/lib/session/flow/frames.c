// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Unpack the CoreSight frames of a stretch into messages (frames.h). */
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "frames.h"

/* A byte that is not part of any message, because its MSEO bits are 2 (chapter 3.1.4) */
#define BROKEN	0x02
/* Size of the buffer for the incomplete message of one trace ID, which is more than the longest message needs */
#define ROOM	256

/* Buffers for unpacking frames. @data has as many bytes as the frames, which is enough for all unpacked bytes. */
struct join {
	struct nt_frames	*frames;
	struct nt_frames_out	outs[NT_FRAMES_IDS];
	uint8_t			ids[NT_FRAMES_IDS];	/* trace IDs of the encoders whose messages are copied */
	unsigned int		nr_ids;
	uint8_t			*data;
	size_t			nr, size;
};

bool ns_frames_has(const struct ns_stretch *stretch)
{
	return (stretch->flags & PERF_AUX_FLAG_PMU_FORMAT_TYPE_MASK) == NTRACE_AUX_FORMAT_FRAMES;
}

bool ns_frames_lost(const struct ns_stretch *stretch)
{
	return ns_frames_has(stretch) && stretch->flags & PERF_AUX_FLAG_PARTIAL;
}

static void join_add(struct join *join, const uint8_t *data, size_t nr)
{
	size_t room = join->size - join->nr;

	nr = nr < room ? nr : room;
	memcpy(join->data + join->nr, data, nr);
	join->nr += nr;
}

/* Drop the incomplete messages of all trace IDs, because bytes of the frames are missing, and append a BROKEN byte. */
static void join_break(struct join *join)
{
	const uint8_t broken = BROKEN;
	unsigned int i;

	for (i = 0; i < join->nr_ids; i++)
		join->outs[join->ids[i]].nr = 0;
	join_add(join, &broken, 1);
}

/* Append the complete messages of one trace ID to the stream. */
static void join_messages(struct join *join, struct nt_frames_out *out)
{
	size_t nr = out->nr;

	while (nr && (out->data[nr - 1] & 3) != 3)
		nr--;
	/* also append bytes that are too many for one message, so that the decoder reports an error */
	if (!nr && out->nr > ROOM / 2)
		nr = out->nr;
	join_add(join, out->data, nr);
	out->nr -= nr;
	memmove(out->data, out->data + nr, out->nr);
}

/* Unpack one frame at a time, and append each message when its end is found, so that all are sorted by their ends. */
static void join_bytes(struct join *join, const uint8_t *data, size_t size)
{
	unsigned int i;
	size_t n, used;

	while (size) {
		n = size < NT_FRAME_SIZE ? size : NT_FRAME_SIZE;
		if (nt_frames_convert(join->frames, data, n, &used, join->outs) != NT_OK)
			join_break(join);
		for (i = 0; i < join->nr_ids; i++) {
			if (join->outs[join->ids[i]].nr)
				join_messages(join, &join->outs[join->ids[i]]);
		}
		data += used;
		size -= used;
	}
}

static bool join_has_rest(const struct join *join)
{
	unsigned int i;

	for (i = 0; i < join->nr_ids; i++) {
		if (join->outs[join->ids[i]].nr)
			return true;
	}
	return false;
}

/* Prepare to join the messages of @cpu, or of all CPUs. @bytes has ROOM bytes for each trace ID. */
static void join_begin(struct join *join, const struct ns_setup *setup, const struct ns_cpu *cpu,
		       uint8_t *bytes)
{
	size_t i;

	for (i = 0; i < setup->nr_cpus; i++) {
		uint32_t id = setup->cpus[i].trace_id;

		if (!id || id >= NT_FRAMES_IDS || join->outs[id].data || (cpu && id != cpu->trace_id))
			continue;
		join->outs[id].data = bytes + (size_t)id * ROOM;
		join->outs[id].size = ROOM;
		join->ids[join->nr_ids++] = id;
	}
}

static void join_pieces(struct join *join, const struct ns_stretch *stretch)
{
	size_t i;

	for (i = 0; i < stretch->pieces.nr; i++)
		join_bytes(join, stretch->pieces.at[i].data, stretch->pieces.at[i].size);
	if (nt_frames_end(join->frames) != NT_OK || join_has_rest(join))
		join_break(join);
	memset(join->data + join->nr, NS_IDLE, join->size - join->nr);
}

int ns_frames_join(const struct ns_stretch *stretch, const struct ns_setup *setup,
		   const struct ns_cpu *cpu, struct ns_stretch *joined)
{
	uint8_t *bytes = malloc(NT_FRAMES_IDS * ROOM);
	struct join join = { .size = 0 };
	struct ns_piece piece;
	size_t i;

	*joined = *stretch;
	memset(&joined->pieces, 0, sizeof(joined->pieces));
	for (i = 0; i < stretch->pieces.nr; i++)
		join.size += stretch->pieces.at[i].size;
	join.frames = nt_frames_new();
	join.data = malloc(join.size + 1);
	if (join.frames && join.data && bytes) {
		join_begin(&join, setup, cpu, bytes);
		join_pieces(&join, stretch);
	}
	piece = (struct ns_piece){ .data = join.data, .size = join.size };
	if (!join.frames || !bytes || !join.data || !ns_array_add(&joined->pieces, piece)) {
		free(join.data);
		join.data = NULL;
	}
	nt_frames_free(join.frames);
	free(bytes);
	return join.data ? 0 : -1;
}

void ns_frames_free(struct ns_stretch *joined)
{
	if (joined->pieces.nr)
		free((void *)joined->pieces.at[0].data);
	free(joined->pieces.at);
	memset(&joined->pieces, 0, sizeof(joined->pieces));
}
