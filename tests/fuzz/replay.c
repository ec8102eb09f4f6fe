// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run a fuzz target without a fuzzer.
 *
 *   replay MUTATIONS FILE...	run it on each file, and on MUTATIONS mutations of each file
 *   replay			run it on the standard input, as AFL++ requires
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SIZE	65536

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 0x9e3779b97f4a7c15ULL;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Run the target on a copy of exactly @size bytes, so that the sanitizer detects reads beyond its end. */
static void run(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size ? size : 1);

	memcpy(copy, data, size);
	LLVMFuzzerTestOneInput(copy, size);
	free(copy);
}

static size_t mutate(uint8_t *data, size_t size)
{
	unsigned int n = 1 + next_random() % 4;

	while (n-- && size) {
		size_t at = next_random() % size;

		switch (next_random() % 4) {
		case 0:
			data[at] ^= 1 << (next_random() & 7);
			break;
		case 1:
			data[at] = next_random();
			break;
		case 2:		/* remove a byte */
			memmove(data + at, data + at + 1, size - at - 1);
			size--;
			break;
		case 3:		/* insert a copy of a byte after it */
			if (size < MAX_SIZE) {
				memmove(data + at + 1, data + at, size - at);
				size++;
			}
			break;
		}
	}
	return size;
}

static void run_file(FILE *file, unsigned long mutations)
{
	static uint8_t data[MAX_SIZE], work[MAX_SIZE];
	size_t size = fread(data, 1, sizeof(data), file);
	unsigned long i;

	run(data, size);
	for (i = 0; i < mutations; i++) {
		memcpy(work, data, size);
		run(work, mutate(work, size));
	}
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 2)
		run_file(stdin, 0);
	for (i = 2; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");

		if (!file) {
			perror(argv[i]);
			return 2;
		}
		run_file(file, strtoul(argv[1], NULL, 0));
		fclose(file);
	}
	printf("%d files\n", argc > 2 ? argc - 2 : 0);
	return 0;
}
