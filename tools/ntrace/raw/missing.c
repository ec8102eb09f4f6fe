// SPDX-License-Identifier: GPL-2.0-only
/*
 * Addresses at which code is missing.
 *
 * A boot without its kernel's ELF file has millions of gaps in a few megabytes of code. Addresses
 * are therefore counted by region, and a region is as large as a small library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "missing.h"

#define REGION_BITS	20
#define NR_REGIONS	4096	/* power of two; addresses of more are only counted */

struct region {
	uint64_t	first, last;	/* lowest and highest address of the gaps */
	uint64_t	times;		/* 0: the entry is free */
};

struct missing {
	struct region	regions[NR_REGIONS];
	unsigned int	nr;
	uint64_t	others;
};

struct missing *missing_new(void)
{
	return calloc(1, sizeof(struct missing));
}

static struct region *missing_find(struct missing *missing, uint64_t addr)
{
	uint64_t hash = (addr >> REGION_BITS) * 0x9e3779b97f4a7c15ULL;
	unsigned int i = hash >> 52;

	while (missing->regions[i].times &&
	       missing->regions[i].first >> REGION_BITS != addr >> REGION_BITS)
		i = (i + 1) % NR_REGIONS;
	return &missing->regions[i];
}

bool missing_add(struct missing *missing, uint64_t addr)
{
	struct region *region = missing_find(missing, addr);

	if (region->times) {
		if (addr < region->first)
			region->first = addr;
		if (addr > region->last)
			region->last = addr;
		region->times++;
		return false;
	}
	/* one entry stays free, so that each search ends */
	if (missing->nr == NR_REGIONS - 1) {
		missing->others++;
		return false;
	}
	missing->nr++;
	*region = (struct region) { .first = addr, .last = addr, .times = 1 };
	return true;
}

static int compare_regions(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

void missing_report(struct missing *missing)
{
	unsigned int i;

	qsort(missing->regions, NR_REGIONS, sizeof(missing->regions[0]), compare_regions);
	for (i = 0; i < NR_REGIONS; i++) {
		const struct region *region = &missing->regions[i];

		if (region->times > 1)
			fprintf(stderr, "ntrace: no code at 0x%" PRIx64 " to 0x%" PRIx64 ": %" PRIu64 " times\n",
				region->first, region->last, region->times);
	}
	if (missing->others)
		fprintf(stderr, "ntrace: no code at other addresses: %" PRIu64 " times\n",
			missing->others);
	free(missing);
}
