/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A hash table with the number of executions of each block, branch and edge. The key of an entry
 * contains its addresses.
 */
#ifndef NTRACE_COUNTS_H
#define NTRACE_COUNTS_H

#include "../internal.h"

/* @entries are in the order in which they were added or sorted. @slots finds an entry by its key. */
struct nt_counts {
	struct nt_count	*entries;
	uint32_t	*slots;		/* index of an entry plus 1, or 0 */
	size_t		nr;		/* number of entries */
	size_t		max;		/* number of entries for which there is memory */
	size_t		mask;		/* number of @slots minus 1 */
};

/* Return an entry with this key. Its other members, which are numbers to be added up, are 0. */
static inline struct nt_count nt_count_key(unsigned int type, unsigned int how, uint64_t space,
					   uint64_t from, uint64_t to)
{
	return (struct nt_count){
		.type = type, .how = how, .space = space, .from = from, .to = to,
	};
}

/* Make room for @nr more entries. Return NT_OK or NT_E_NOMEM. */
int nt_counts_reserve(struct nt_counts *counts, size_t nr);

/* Add the numbers of *count to the entry with its key, or add an entry, for which there must be room. */
void nt_counts_put(struct nt_counts *counts, const struct nt_count *count);

/* Drop all entries. */
void nt_counts_clear(struct nt_counts *counts);

/* Maximum number of new entries that nt_counts_put_range() adds to struct nt_counts for one range */
#define NT_RANGE_COUNTS	2

/* Count the range of *item once. There must be room for NT_RANGE_COUNTS entries. */
void nt_counts_put_range(struct nt_counts *counts, const struct nt_item *item);

/* Do the work of nt_counts_add_item(), see api.c. */
int nt_counts_add_range(struct nt_counts *counts, const struct nt_item *item);

#endif /* NTRACE_COUNTS_H */
