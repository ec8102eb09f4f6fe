// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What is remembered of ways through the code, so that they need not be walked again.
 *
 * A way depends on nothing but the code, the bits that select it, and where the first
 * return leads to that is not from a call on the way. Where more matters, it ends: at
 * another jump that is not direct.
 */
#include <stddef.h>
#include <stdlib.h>

#include "memo.h"

struct walker {
	struct nt_flow		*flow;
	struct nt_source	*src;
	struct nt_path		path;
	uint32_t		pushed[PATH_PUSHES];
	uint32_t		bits;		/* HIST, the next bit is the highest of @nr_bits */
	unsigned int		nr_bits;
	bool			final;
	bool			btm;
	bool			direct;
	int64_t			left;		/* of I-CNT, or more */
	unsigned int		height;		/* of the return stack, PATH_PUSHES at first */
	unsigned int		peak;		/* highest of it behind a call; 0: there was none */
	struct nt_range		ranges[PATH_RANGES];
};

struct nt_memo *nt_memo_new(void)
{
	/* not aligned_alloc(): glibc's gives the memory back each time that it is freed */
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

void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const uint32_t *below,
		   const uint32_t *pushed)
{
	unsigned int nr = nr_below(effect);
	uint32_t *calls = &memo->calls[memo->nr_calls];

	effect->any = effect->nr_pops || effect->nr_pushes || effect->drop;
	effect->calls = memo->nr_calls;
	if (nr)
		memcpy(calls, below, nr * sizeof(*calls));
	memcpy(calls + nr, pushed, effect->nr_pushes * sizeof(*calls));
	memo->nr_calls += nr + effect->nr_pushes;
}

static const struct nt_block *block_at(const struct walker *walker)
{
	return &walker->flow->code.blocks[walker->path.next];
}

static void put(struct walker *walker, unsigned int flags)
{
	struct nt_range *range = &walker->ranges[walker->path.nr_ranges++];

	*range = block_at(walker)->range;
	range->flags = flags;
	walker->path.halfwords += range->halfwords;
	walker->left -= range->halfwords;
}

/* On to what is behind block @index, or at its target. False: there is nothing. */
static bool follow(struct walker *walker, uint32_t index, unsigned int which)
{
	struct nt_code *code = &walker->flow->code;
	const struct nt_block *block = &code->blocks[index];
	uint64_t pc = which ? block->target :
		nt_flow_mask(walker->flow, nt_range_end(&block->range));
	uint32_t link = block->link[which];

	if (!link || code->blocks[link].range.start != pc) {
		link = nt_code_find(code, walker->src->space, pc);
		code->blocks[index].link[which] = link;
	}
	walker->path.next = link;
	return link;
}

/* The block's end goes on the return stack, if it is a call. */
static void push(struct walker *walker)
{
	unsigned int end = block_at(walker)->range.end;

	if (!walker->flow->config.return_depth ||
	    (end != NT_END_CALL && end != NT_END_INDIRECT_CALL))
		return;
	walker->pushed[walker->path.effect.nr_pushes++] = walker->path.next;
	walker->height++;
	if (walker->peak < walker->height)
		walker->peak = walker->height;
}

/* What a push has dropped of a stack that was full, if it was, is still missing. */
static unsigned int dropped(const struct walker *walker)
{
	return walker->peak > walker->height ? walker->peak - walker->height : 0;
}

/* The call whose return comes now; 0: that is not known, or not to be foreseen here */
static uint32_t pop(struct walker *walker)
{
	struct nt_effect *effect = &walker->path.effect;

	if (dropped(walker) >= walker->flow->config.return_depth)
		return 0;
	if (effect->nr_pushes) {
		walker->height--;
		return walker->pushed[--effect->nr_pushes];
	}
	if (!walker->path.top || effect->nr_pops)
		return 0;
	walker->height--;
	effect->nr_pops = 1;
	return walker->path.top;
}

enum step { STEP_ON, STEP_END, STEP_FAIL };

/* A branch, or a jump that is told like one */
static enum step step_branch(struct walker *walker, bool jump)
{
	unsigned int taken = 0;

	if (!walker->btm) {
		if (!walker->nr_bits)
			return STEP_FAIL;
		taken = walker->bits >> --walker->nr_bits & 1;
		walker->path.nr_bits++;
		if (jump && !taken)
			return STEP_FAIL;
	} else if (walker->left == block_at(walker)->range.halfwords) {
		taken = 1;
		walker->path.end = PATH_TAKEN;
		if (!walker->direct)
			return STEP_FAIL;
	} else if (jump) {
		return STEP_FAIL;
	}
	put(walker, taken ? NT_RANGE_TAKEN : 0);
	if (jump)
		push(walker);
	if (!follow(walker, walker->path.next, taken))
		return STEP_FAIL;
	return walker->path.end == PATH_TAKEN ? STEP_END : STEP_ON;
}

static enum step step_jump(struct walker *walker, unsigned int flags)
{
	put(walker, flags);
	push(walker);
	return follow(walker, walker->path.next, flags != 0) ? STEP_ON : STEP_FAIL;
}

/* A return that no message tells, as more of HIST or I-CNT is behind it */
static enum step step_return(struct walker *walker)
{
	uint32_t call = walker->nr_bits || walker->left > 0 ? pop(walker) : 0;

	if (!call) {
		walker->path.end = PATH_RETURN;
		return STEP_END;
	}
	walker->ranges[walker->path.nr_ranges - 1].flags |= NT_RANGE_INFERRED;
	return follow(walker, call, 0) ? STEP_ON : STEP_FAIL;
}

static enum step step_indirect(struct walker *walker)
{
	const struct nt_block *block = block_at(walker);
	bool is_return = nt_block_kind(block) == NT_KIND_RETURN;

	if (walker->flow->config.sequential_jump && block->range.internal & NT_KIND_INFERABLE) {
		if (is_return || nt_block_kind(block) == NT_KIND_SWAP)
			return STEP_FAIL;
		return step_jump(walker, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
	}
	put(walker, NT_RANGE_TAKEN);
	if (is_return)
		return step_return(walker);
	walker->path.end = PATH_JUMP;
	return STEP_END;
}

static enum step step(struct walker *walker)
{
	bool told = walker->flow->config.all_jumps;

	/* HIST alone: right behind its last branch */
	if (!walker->btm && !walker->final && !walker->nr_bits)
		return STEP_END;
	switch (nt_block_kind(block_at(walker))) {
	case NT_KIND_LINEAR:
		return step_jump(walker, 0);
	case NT_KIND_BRANCH:
		return step_branch(walker, false);
	case NT_KIND_JUMP:
	case NT_KIND_CALL:
		return told ? step_branch(walker, true) : step_jump(walker, NT_RANGE_TAKEN);
	case NT_KIND_INDIRECT_JUMP:
	case NT_KIND_INDIRECT_CALL:
	case NT_KIND_RETURN:
	case NT_KIND_SWAP:
	case NT_KIND_TRAP_RETURN:
		return step_indirect(walker);
	}
	return STEP_FAIL;
}

static void set_key(struct walker *walker, uint64_t key, uint32_t top)
{
	uint32_t what = key;

	walker->path.key = key;
	walker->path.next = key >> 32;
	walker->path.top = top;
	walker->height = PATH_PUSHES;
	walker->btm = what & PATH_BTM;
	if (walker->btm) {
		walker->direct = what & PATH_DIRECT;
		walker->left = what & PATH_ICNT;
	} else {
		walker->final = what & PATH_FINAL;
		walker->bits = what & (PATH_FINAL - 1);
		walker->nr_bits = 31 - __builtin_clz(walker->bits);
		walker->left = what >> PATH_LEFT_SHIFT;
	}
}

/* Put the path where it is found, in front of the one that was there. */
static const struct nt_path *keep(struct nt_memo *memo, struct walker *walker)
{
	struct nt_path *path = path_slot(memo, walker->path.key, walker->path.top);
	struct nt_effect *effect = &walker->path.effect;

	nt_memo_make_room(memo);
	effect->drop = dropped(walker);
	nt_memo_calls(memo, effect, NULL, walker->pushed);
	walker->path.ranges = nt_memo_ranges(memo, walker->ranges, walker->path.nr_ranges);
	*path_other(memo, path) = *path;
	*path = walker->path;
	return path;
}

const struct nt_path *nt_memo_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top)
{
	struct walker walker = { .flow = flow, .src = src };
	enum step ret;

	flow->memo->misses++;
	set_key(&walker, key, top);
	do {
		ret = step(&walker);
		if (ret == STEP_FAIL || (walker.btm && walker.left < 0))
			return NULL;
	} while (ret == STEP_ON && walker.path.nr_ranges < PATH_RANGES &&
		 walker.path.effect.nr_pushes < PATH_PUSHES);
	return keep(flow->memo, &walker);
}
