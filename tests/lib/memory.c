// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure the memory that several threads use for a long trace.
 *
 *   memory ELF TRACE TIMES THREADS [implicit-return|timestamp]
 *
 * The program maps the file TRACE at TIMES consecutive addresses, so that the long trace does not
 * use private memory. Idle bytes pad TRACE to whole pages. The program prints the number of bytes,
 * instructions and errors, and the peak of anonymous memory in KiB.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <ntrace/ntrace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "code.h"

struct sum {
	uint64_t	insns;
	uint64_t	errors;
	uint64_t	batches;
	long		peak;
};

static long anonymous_kib(void)
{
	FILE *file = fopen("/proc/self/status", "r");
	char line[128];
	long kib = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "RssAnon: %ld", &kib);
	if (file)
		fclose(file);
	return kib;
}

static int add(void *ctx, const struct nt_batch *batch)
{
	struct sum *sum = ctx;
	size_t i;

	for (i = 0; i < batch->nr; i++)
		sum->insns += batch->ranges[i].insns;
	sum->errors += !batch->nr && (batch->item.type == NT_ITEM_ERROR ||
				      batch->item.type == NT_ITEM_GAP);
	if (!(sum->batches++ & 0xfff)) {
		long kib = anonymous_kib();

		sum->peak = kib > sum->peak ? kib : sum->peak;
	}
	return 0;
}

static const uint8_t *map_times(const char *path, unsigned int times, size_t *size)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *all;
	unsigned int i;

	if (fd < 0 || fstat(fd, &st) || st.st_size % sysconf(_SC_PAGESIZE))
		return NULL;
	*size = (size_t)st.st_size * times;
	all = mmap(NULL, *size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (all == MAP_FAILED)
		return NULL;
	for (i = 0; i < times; i++) {
		if (mmap(all + (size_t)st.st_size * i, st.st_size, PROT_READ,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return NULL;
	}
	close(fd);
	return all;
}

int main(int argc, char **argv)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct sum sum = { 0 };
	const uint8_t *data;
	unsigned int xlen;
	size_t size;

	if (argc < 5 || !image || !add_code(image, argv[1], &xlen))
		return 2;
	config.return_depth = argc > 5 && !strcmp(argv[5], "implicit-return") ? 32 : 0;
	config.timestamp = argc > 5 && !strcmp(argv[5], "timestamp");
	data = map_times(argv[2], atoi(argv[3]), &size);
	if (!data)
		return 2;
	if (nt_parallel_decode(&config, image, data, size, atoi(argv[4]), add, &sum, NULL))
		return 1;
	printf("%zu %" PRIu64 " %" PRIu64 " %ld\n", size, sum.insns, sum.errors, sum.peak);
	nt_image_free(image);
	return 0;
}
