/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A hash table with the number of executions of each block, branch and edge, whose addresses are
 * the key.
 */
#ifndef NTRACE_COUNTS_H
#define NTRACE_COUNTS_H

#include "../internal.h"

/* @entries is in the order in which entries were added. @slots finds an entry by its key. */
struct nt_counts {
	struct nt_count	*entries;
	uint32_t	*slots;		/* index of an entry plus 1, or 0 */
	size_t		nr;
	size_t		max;
	size_t		mask;		/* mask of an index of @slots */
};

/* Return the key of an entry. The other fields are numbers that are added up. */
static inline struct nt_count nt_count_key(unsigned int type, unsigned int how, uint64_t space,
					   uint64_t from, uint64_t to)
{
	return (struct nt_count){
		.type = type, .how = how, .space = space, .from = from, .to = to,
	};
}

/* Make room for @nr more entries. Return NT_OK or NT_E_NOMEM. */
int nt_counts_reserve(struct nt_counts *counts, size_t nr);

/* Add *count, for which there must be room. */
void nt_counts_put(struct nt_counts *counts, const struct nt_count *count);

/* Drop all entries. */
void nt_counts_clear(struct nt_counts *counts);

/* Maximum number of entries that counting one range adds */
#define NT_RANGE_COUNTS	2

/* Count the range of *item once. There must be room for NT_RANGE_COUNTS entries. */
void nt_counts_put_range(struct nt_counts *counts, const struct nt_item *item);

/* Do the work of nt_counts_add_item(), see api.c. */
int nt_counts_add_range(struct nt_counts *counts, const struct nt_item *item);

#endif /* NTRACE_COUNTS_H */
