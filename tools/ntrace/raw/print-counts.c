// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print how often each block, branch and edge was executed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "print-counts.h"

static uint64_t executed(const struct nt_count *count)
{
	return count->count + count->not_taken;
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_counts(const void *left, const void *right)
{
	const struct nt_count *a = left, *b = right;
	int ret = compare_numbers(a->type, b->type);

	if (!ret)
		ret = compare_numbers(executed(b), executed(a));
	if (!ret)
		ret = compare_numbers(a->from, b->from);
	if (!ret)
		ret = compare_numbers(a->to, b->to);
	return ret ? ret : compare_numbers(a->how, b->how);
}

static void print_count(const struct nt_count *count)
{
	switch (count->type) {
	case NT_COUNT_BLOCK:
		printf("block 0x%" PRIx64 "..0x%" PRIx64 " %" PRIu64 " times, %" PRIu64
		       " instructions\n", count->from, count->to, count->count, count->insns);
		break;
	case NT_COUNT_BRANCH:
		printf("branch 0x%" PRIx64 " taken %" PRIu64 ", not taken %" PRIu64 "\n",
		       count->from, count->count, count->not_taken);
		break;
	case NT_COUNT_EDGE:
		printf("edge 0x%" PRIx64 " %s -> 0x%" PRIx64 " %" PRIu64 " times\n", count->from,
		       nt_end_name(count->how), count->to, count->count);
		break;
	}
}

bool print_counts(const struct nt_counts *counts)
{
	uint64_t at = 0, nr = 0, i;
	struct nt_count count, *all;

	while (nt_counts_next(counts, &at, &count))
		nr++;
	all = calloc(nr + 1, sizeof(*all));
	if (!all)
		return false;
	for (i = 0, at = 0; i < nr; i++)
		nt_counts_next(counts, &at, &all[i]);
	qsort(all, nr, sizeof(*all), compare_counts);
	for (i = 0; i < nr; i++)
		print_count(&all[i]);
	free(all);
	return true;
}
