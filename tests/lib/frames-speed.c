// SPDX-License-Identifier: GPL-2.0-only
/*
 * frames-speed FILE TIMES
 *
 * Measure how fast CoreSight frames are converted to streams. Print the fastest of ten runs, in GB
 * of frames per second of processor time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <ntrace/ntrace.h>

#define MAX_SIZE	(16 << 20)
#define OUT_SIZE	(16 << 10)
#define ROUNDS		10

static uint8_t data[MAX_SIZE];
static uint8_t bytes[NT_FRAMES_IDS][OUT_SIZE];

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Convert all frames of the file once. Return the number of bytes of output. */
static uint64_t convert(struct nt_frames *frames, struct nt_frames_out *outs, size_t size)
{
	size_t at = 0, used;
	uint64_t sum = 0;
	unsigned int i;

	while (at < size) {
		if (nt_frames_convert(frames, data + at, size - at, &used, outs) < 0)
			exit(1);
		at += used;
		for (i = 0; i < NT_FRAMES_IDS; i++) {
			sum += outs[i].nr;
			outs[i].nr = 0;
		}
	}
	return sum;
}

int main(int argc, char **argv)
{
	struct nt_frames_out outs[NT_FRAMES_IDS] = { 0 };
	struct nt_frames *frames = nt_frames_new();
	unsigned long times, i, round;
	double best = 0, start, speed;
	uint64_t sum = 0;
	size_t size;
	FILE *file;

	if (argc != 3 || !frames)
		return 2;
	file = fopen(argv[1], "rb");
	if (!file)
		return 2;
	size = fread(data, 1, sizeof(data), file);
	fclose(file);
	times = strtoul(argv[2], NULL, 0);
	for (i = 1; i < NT_FRAMES_IDS; i++)
		outs[i] = (struct nt_frames_out){ .data = bytes[i], .size = OUT_SIZE };
	for (round = 0; round < ROUNDS; round++) {
		start = now();
		for (i = 0; i < times; i++)
			sum += convert(frames, outs, size);
		speed = (double)size * times / (now() - start) / 1e9;
		best = speed > best ? speed : best;
	}
	printf("%.2f GB/s of frames, %.2f bytes out of each\n", best,
	       16.0 * sum / size / times / ROUNDS);
	nt_frames_free(frames);
	return 0;
}
