// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Store paths and groups, which are results of walks, so that a walk through the same code is not
 * repeated.
 *
 * The ranges of paths and groups are stored in a ring, in which new ranges overwrite the oldest. A
 * lookup ignores a path or group whose ranges were overwritten.
 */
#include <stddef.h>
#include <stdlib.h>

#include "memo.h"

struct nt_memo *nt_memo_new(void)
{
	/*
	 * Do not use aligned_alloc(), because glibc returns memory from this function to the kernel
	 * at each free().
	 */
	void *allocated = malloc(sizeof(struct nt_memo) + MEMO_ALIGN - 1);
	struct nt_memo *memo = (void *)(((uintptr_t)allocated + MEMO_ALIGN - 1) &
					-(uintptr_t)MEMO_ALIGN);

	if (!allocated)
		return NULL;
	memset(memo, 0, offsetof(struct nt_memo, ranges));
	memo->allocated = allocated;
	return memo;
}

void nt_memo_free(struct nt_memo *memo)
{
	if (memo)
		free(memo->allocated);
}

void nt_memo_clear(struct nt_memo *memo)
{
	memset(memo->paths, 0, sizeof(memo->paths));
	memset(memo->groups, 0, sizeof(memo->groups));
	memo->nr_ranges = 0;
	memo->nr_calls = 0;
}

void nt_memo_make_room(struct nt_memo *memo)
{
	if (memo->nr_ranges > UINT32_MAX - 2 * GROUP_RANGES ||
	    memo->nr_calls + GROUP_POPS + GROUP_PUSHES > NR_CALLS)
		nt_memo_clear(memo);
}

uint32_t nt_memo_ranges(struct nt_memo *memo, const struct nt_range *ranges, unsigned int nr)
{
	uint32_t first = memo->nr_ranges;

	if (first % NR_RANGES + nr > NR_RANGES)
		first += NR_RANGES - first % NR_RANGES;
	memcpy(&memo->ranges[first % NR_RANGES], ranges, nr * sizeof(*ranges));
	memo->nr_ranges = first + nr;
	return first;
}

void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const struct nt_net *net,
		   const uint32_t *pushed)
{
	uint32_t *calls = &memo->calls[memo->nr_calls];
	unsigned int nr;

	effect->nr_pops = -net->low;
	effect->nr_pushes = nt_net_pushes(net);
	effect->drop = nt_net_lost(net);
	effect->any = effect->nr_pops || effect->nr_pushes || effect->drop;
	effect->calls = memo->nr_calls;
	nr = memo_nr_below(effect);
	if (!effect->any)
		return;
	memcpy(calls, net->popped + 1, nr * sizeof(*calls));
	memcpy(calls + nr, pushed, effect->nr_pushes * sizeof(*calls));
	memo->nr_calls += nr + effect->nr_pushes;
}

const struct nt_path *nt_memo_keep_path(struct nt_memo *memo, const struct nt_path *new)
{
	struct nt_path *path = memo_path_slot(memo, new->key, new->top);

	*memo_other_slot(memo, path) = *path;
	*path = *new;
	return path;
}
