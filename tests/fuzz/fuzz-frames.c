// SPDX-License-Identifier: GPL-2.0-only
/*
 * Convert any bytes as CoreSight frames. Convert them once as a whole, and once in pieces with very small
 * output buffers. Each ID must get the same bytes, and the library must report the same events.
 *
 * The input is a byte with the size of the pieces, and then the frames.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sum {
	uint64_t	hash[NT_FRAMES_IDS];
	uint64_t	reports;
	uint64_t	bytes;
};

static void drain(struct sum *sum, struct nt_frames_out *outs)
{
	unsigned int id;
	size_t i;

	for (id = 1; id < NT_FRAMES_IDS; id++) {
		for (i = 0; i < outs[id].nr; i++)
			sum->hash[id] = (sum->hash[id] ^ outs[id].data[i]) * 0x100000001b3ULL;
		sum->bytes += outs[id].nr;
		outs[id].nr = 0;
	}
}

static struct sum convert(const uint8_t *data, size_t size, size_t piece, size_t room)
{
	struct nt_frames_out outs[NT_FRAMES_IDS] = { 0 };
	struct nt_frames *frames = nt_frames_new();
	struct nt_frames_stats stats;
	struct sum sum = { 0 };
	size_t at, n, used;
	unsigned int id;
	int ret;

	for (id = 1; id < NT_FRAMES_IDS; id++)
		outs[id] = (struct nt_frames_out){ .data = malloc(room), .size = room };
	for (at = 0; at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		for (;;) {
			ret = nt_frames_convert(frames, data + at, n, &used, outs);
			if (used > n)
				abort();
			drain(&sum, outs);
			if (ret)
				sum.reports = (sum.reports ^ (uint64_t)ret ^ sum.bytes) * 31;
			if (!ret && used == n)
				break;
			at += used;
			n -= used;
		}
	}
	sum.reports += nt_frames_end(frames) < 0;
	nt_frames_stats(frames, &stats, sizeof(stats));
	if (stats.bytes != size ||
	    sum.bytes + stats.padding + stats.unknown + stats.triggers > 15 * stats.frames)
		abort();
	for (id = 1; id < NT_FRAMES_IDS; id++)
		free(outs[id].data);
	nt_frames_free(frames);
	return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sum whole, pieces;
	uint8_t *copy;

	if (size < 1)
		return 0;
	/* use a copy of exactly this size, so that the sanitizer detects reads beyond its end */
	copy = malloc(size);
	memcpy(copy, data + 1, size - 1);
	whole = convert(copy, size - 1, SIZE_MAX / 2, 4 * size + NT_FRAMES_OUT_MIN);
	pieces = convert(copy, size - 1, 1 + data[0], NT_FRAMES_OUT_MIN);
	if (memcmp(whole.hash, pieces.hash, sizeof(whole.hash)) || whole.bytes != pieces.bytes)
		abort();
	free(copy);
	return 0;
}
