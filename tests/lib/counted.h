/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Count the items of nt_flow_next() according to the definition in the header. nt_flow_count() must
 * give the same counts for the same stream.
 */
#ifndef TESTS_LIB_COUNTED_H
#define TESTS_LIB_COUNTED_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

/* A list of counts. Several entries may have the same key until counted_fold() adds them up. */
struct counted {
	struct nt_count	*v;
	size_t		n;
	size_t		room;
};

static inline struct nt_count *counted_add(struct counted *counted)
{
	if (counted->n == counted->room) {
		counted->room = counted->room ? 2 * counted->room : 1024;
		counted->v = realloc(counted->v, counted->room * sizeof(*counted->v));
		if (!counted->v)
			abort();
	}
	memset(&counted->v[counted->n], 0, sizeof(*counted->v));
	return &counted->v[counted->n++];
}

static inline int counted_compare(const void *left, const void *right)
{
	const struct nt_count *a = left, *b = right;
	const uint64_t x[] = { a->type, a->space, a->from, a->to, a->how };
	const uint64_t y[] = { b->type, b->space, b->from, b->to, b->how };
	size_t i;

	for (i = 0; i < 5; i++) {
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	}
	return 0;
}

static inline bool counted_is_same(const struct nt_count *a, const struct nt_count *b)
{
	return !counted_compare(a, b) && a->count == b->count && a->insns == b->insns &&
	       a->not_taken == b->not_taken;
}

/* Sort the entries, and add up those with the same key. */
static inline void counted_fold(struct counted *counted)
{
	size_t i, n = 0;

	if (counted->n)
		qsort(counted->v, counted->n, sizeof(*counted->v), counted_compare);
	for (i = 0; i < counted->n; i++) {
		if (n && !counted_compare(&counted->v[n - 1], &counted->v[i])) {
			counted->v[n - 1].count += counted->v[i].count;
			counted->v[n - 1].insns += counted->v[i].insns;
			counted->v[n - 1].not_taken += counted->v[i].not_taken;
		} else {
			counted->v[n++] = counted->v[i];
		}
	}
	counted->n = n;
}

static inline void counted_add_item(struct counted *counted, const struct nt_item *item)
{
	struct nt_count *count;
	unsigned int how = item->range.how;

	if (item->type != NT_ITEM_RANGE)
		return;
	if (item->range.insns) {
		count = counted_add(counted);
		count->type = NT_COUNT_BLOCK;
		count->space = item->space;
		count->from = item->range.start;
		count->to = item->range.end_addr;
		count->count = 1;
		count->insns = item->range.insns;
	}
	switch (how) {
	case NT_END_LINEAR:
	case NT_END_JUMP:
	case NT_END_CALL:
		return;
	case NT_END_BRANCH:
		count = counted_add(counted);
		count->type = NT_COUNT_BRANCH;
		count->from = item->range.last_addr;
		count->count = item->range.taken;
		count->not_taken = !item->range.taken;
		break;
	default:
		if (!item->range.has_dest)
			return;
		count = counted_add(counted);
		count->type = NT_COUNT_EDGE;
		count->from = how == NT_END_TRAP || how == NT_END_EXCEPTION ||
			how == NT_END_INTERRUPT ? item->range.end_addr : item->range.last_addr;
		count->to = item->range.dest;
		count->count = 1;
	}
	count->how = how;
	count->space = item->space;
	if (counted->n > 1u << 22)
		counted_fold(counted);
}

static inline void counted_print(const char *title, const struct nt_count *count)
{
	printf("# %s: type %u how %u space %" PRIu64 " 0x%" PRIx64 " 0x%" PRIx64 ": %" PRIu64
	       " times, %" PRIu64 " instructions, not taken %" PRIu64 "\n", title, count->type,
	       count->how, count->space, count->from, count->to, count->count, count->insns,
	       count->not_taken);
}

/*
 * Return true if @counts equals @counted, for which counted_fold() has been called. Sort @counts, and
 * print the first difference.
 */
static inline bool counted_is(const struct counted *counted, struct nt_counts *counts)
{
	struct nt_count count;
	uint64_t at = 0;
	size_t i = 0;

	nt_counts_sort(counts);
	while (nt_counts_next(counts, &at, &count)) {
		const struct nt_count *one = &counted->v[i];

		if (i == counted->n || !counted_is_same(one, &count)) {
			counted_print("counted", &count);
			if (i < counted->n)
				counted_print("ranges", one);
			return false;
		}
		i++;
	}
	if (i < counted->n)
		counted_print("not counted", &counted->v[i]);
	return i == counted->n;
}

static inline void counted_free(struct counted *counted)
{
	free(counted->v);
	memset(counted, 0, sizeof(*counted));
}

#endif /* TESTS_LIB_COUNTED_H */
