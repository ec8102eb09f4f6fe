// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A hash table with the number of executions of each block, branch and edge. The key of an entry
 * contains its addresses.
 */
#include <stdlib.h>

#include "counts.h"

#define FIRST_ENTRIES	256

struct nt_counts *nt_counts_new(void)
{
	return calloc(1, sizeof(struct nt_counts));
}

void nt_counts_free(struct nt_counts *counts)
{
	if (!counts)
		return;
	free(counts->entries);
	free(counts->slots);
	free(counts);
}

static size_t counts_hash(const struct nt_count *key)
{
	uint64_t h = (key->from ^ key->space * 0xc2b2ae3d27d4eb4fULL) * 0x9e3779b97f4a7c15ULL;

	h ^= (h >> 32) ^ key->to;
	h = (h ^ ((uint64_t)key->type << 8 | key->how)) * 0xc2b2ae3d27d4eb4fULL;
	return h >> 32;
}

static bool counts_is_same(const struct nt_count *a, const struct nt_count *b)
{
	return a->from == b->from && a->to == b->to && a->space == b->space &&
		a->type == b->type && a->how == b->how;
}

/* Return the slot of the entry with *key, or the free slot in which this entry would be stored. */
static uint32_t *counts_slot(const struct nt_counts *counts, const struct nt_count *key)
{
	size_t at = counts_hash(key) & counts->mask;

	while (counts->slots[at] && !counts_is_same(&counts->entries[counts->slots[at] - 1], key))
		at = (at + 1) & counts->mask;
	return &counts->slots[at];
}

/* Fill the slots of all entries. All slots must be free. */
static void counts_index(struct nt_counts *counts)
{
	size_t i;

	for (i = 0; i < counts->nr; i++)
		*counts_slot(counts, &counts->entries[i]) = i + 1;
}

/* Allocate 2 * @max slots for @max entries, so that searches are short. Return NT_OK or NT_E_NOMEM. */
static int counts_grow_slots(struct nt_counts *counts, size_t max)
{
	uint32_t *slots = calloc(2 * max, sizeof(*slots));

	if (!slots)
		return NT_E_NOMEM;
	free(counts->slots);
	counts->slots = slots;
	counts->mask = 2 * max - 1;
	counts_index(counts);
	return NT_OK;
}

int nt_counts_reserve(struct nt_counts *counts, size_t nr)
{
	size_t max = counts->max ? counts->max : FIRST_ENTRIES;
	struct nt_count *entries;

	if (counts->nr + nr <= counts->max)
		return NT_OK;
	while (max < counts->nr + nr)
		max *= 2;
	/* A slot stores the index of an entry in 32 bits, which limits the number of entries. */
	if (max > UINT32_MAX)
		return NT_E_NOMEM;
	entries = realloc(counts->entries, max * sizeof(*entries));
	if (!entries)
		return NT_E_NOMEM;
	counts->entries = entries;
	if (counts_grow_slots(counts, max))
		return NT_E_NOMEM;
	counts->max = max;
	return NT_OK;
}

void nt_counts_put(struct nt_counts *counts, const struct nt_count *count)
{
	uint32_t *slot = counts_slot(counts, count);
	struct nt_count *entry;

	if (!*slot) {
		counts->entries[counts->nr] = *count;
		*slot = ++counts->nr;
		return;
	}
	entry = &counts->entries[*slot - 1];
	entry->count += count->count;
	entry->insns += count->insns;
	entry->not_taken += count->not_taken;
}

/*
 * Return true if the range ends with an edge, which is a jump whose destination only the trace
 * shows.
 */
static bool counts_is_edge(const struct nt_item *item)
{
	return item->range.how >= NT_END_INDIRECT_JUMP && item->range.has_dest;
}

void nt_counts_put_range(struct nt_counts *counts, const struct nt_item *item)
{
	uint64_t last = item->range.how >= NT_END_TRAP ? item->range.end_addr :
		item->range.last_addr;
	struct nt_count count;

	if (item->range.insns) {
		count = nt_count_key(NT_COUNT_BLOCK, 0, item->space, item->range.start,
				     item->range.end_addr);
		count.count = 1;
		count.insns = item->range.insns;
		nt_counts_put(counts, &count);
	}
	if (item->range.how == NT_END_BRANCH) {
		count = nt_count_key(NT_COUNT_BRANCH, NT_END_BRANCH, item->space, last, 0);
		count.count = item->range.taken;
		count.not_taken = !item->range.taken;
		nt_counts_put(counts, &count);
	} else if (counts_is_edge(item)) {
		count = nt_count_key(NT_COUNT_EDGE, item->range.how, item->space, last,
				     item->range.dest);
		count.count = 1;
		nt_counts_put(counts, &count);
	}
}

int nt_counts_merge(struct nt_counts *counts, const struct nt_counts *from)
{
	size_t i;

	if (nt_counts_reserve(counts, from->nr))
		return NT_E_NOMEM;
	for (i = 0; i < from->nr; i++)
		nt_counts_put(counts, &from->entries[i]);
	return NT_OK;
}

void nt_counts_clear(struct nt_counts *counts)
{
	if (counts->nr)
		memset(counts->slots, 0, (counts->mask + 1) * sizeof(*counts->slots));
	counts->nr = 0;
}

static int counts_compare(const void *left, const void *right)
{
	const struct nt_count *a = left, *b = right;

	if (a->type != b->type)
		return a->type < b->type ? -1 : 1;
	if (a->space != b->space)
		return a->space < b->space ? -1 : 1;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return (a->how > b->how) - (a->how < b->how);
}

void nt_counts_sort(struct nt_counts *counts)
{
	if (!counts->nr)
		return;
	qsort(counts->entries, counts->nr, sizeof(*counts->entries), counts_compare);
	memset(counts->slots, 0, (counts->mask + 1) * sizeof(*counts->slots));
	counts_index(counts);
}

int nt_counts_add_range(struct nt_counts *counts, const struct nt_item *item)
{
	if (item->type != NT_ITEM_RANGE)
		return NT_OK;
	if (nt_counts_reserve(counts, NT_RANGE_COUNTS))
		return NT_E_NOMEM;
	nt_counts_put_range(counts, item);
	return NT_OK;
}
