/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Walk the code of one message block by block, without stored paths.
 *
 * The fast path decodes irregular code in this way. Paths through such code rarely repeat, so
 * storing a path would take more time than using it later would save.
 */
#ifndef NTRACE_FAST_BLOCK_H
#define NTRACE_FAST_BLOCK_H

#include "fast-run.h"

/* The part of a message that is still to be walked */
struct steps {
	uint64_t	hist;		/* rest of HIST; its highest bit is the next to be used */
	int		nr_bits;	/* number of bits left of @hist; negative if HIST had too few bits */
	int64_t		left;		/* number of half-words left of I-CNT */
};

enum walk_by {
	WALK_BY_BOTH,	/* walk by HIST and I-CNT, up to a jump whose target is in the message */
	WALK_BY_HIST,	/* walk by HIST alone, up to the instruction after its last branch */
	WALK_BY_ICNT,	/* walk by I-CNT alone (BTM) */
};

/*
 * Find the block right after block @index if @which is 0, or the block at the target of block
 * @index if @which is 1. Store it in nt_block::link, and return it. Return 0 if out of memory.
 */
static noinline uint32_t fast_block_link(struct run *run, uint32_t index, unsigned int which)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[index];
	uint64_t pc = which ? block->target :
		nt_flow_mask(run->flow, nt_range_end(&block->range));

	return nt_code_link(code, run->src->space, index, which, pc);
}

/*
 * Step over a block that ends with linear code, a direct jump or a branch. The index of
 * nt_block::link is calculated without a conditional jump, because the processor cannot predict the
 * HIST bits of irregular code. Return false if engine.c must decode the message.
 */
static __always_inline bool fast_step_block(struct run *run, struct hot *hot, struct way way,
					    struct steps *steps, unsigned int kind,
					    enum walk_by by)
{
	const struct nt_block *block = &run->flow->code.blocks[hot->block];
	bool branch = kind == NT_KIND_BRANCH;
	/*
	 * NT_RANGE_TAKEN is 1, which is also the index in nt_block::link of the target's block. The
	 * ranges of direct jumps already have this flag.
	 */
	unsigned int taken = block->range.flags;
	uint32_t next;

	if (by == WALK_BY_ICNT) {
		taken |= branch & (steps->left == block->range.halfwords);
	} else {
		taken |= branch & steps->hist >> 63;
		steps->hist <<= branch;
		steps->nr_bits -= branch;
	}
	steps->left -= block->range.halfwords;
	*hot->out = block->range;
	hot->out++->flags = taken;
	next = block->link[taken];
	if (kind == NT_KIND_CALL && way.returns && !fast_push(run, hot, hot->block))
		return false;
	if (unlikely(!next))
		next = fast_block_link(run, hot->block, taken);
	hot->block = next;
	return next;
}

/*
 * Step over a block that ends with a jump or return whose destination must be inferred. Return
 * false if it cannot be inferred.
 */
static __always_inline bool fast_step_inferred(struct run *run, struct hot *hot, struct way way,
					       struct steps *steps)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[hot->block];
	unsigned int kind = nt_block_kind(block);

	*hot->out = block->range;
	hot->out++->flags = NT_RANGE_TAKEN | NT_RANGE_INFERRED;
	steps->left -= block->range.halfwords;
	if (run->flow->config.sequential_jump && block->range.reserved & NT_KIND_INFERABLE) {
		uint64_t dest = block->target;

		if (way.returns && !fast_stack_jump(run, hot, way, block->range.how))
			return false;
		hot->block = nt_code_find(code, run->src->space, dest);
	} else {
		hot->block = way.returns && kind == NT_KIND_RETURN ? fast_pop(run, hot) : 0;
	}
	return hot->block;
}

/* Return true if @range ends with a taken branch. The last range of each DirectBranch must do so. */
static __always_inline bool fast_is_taken_branch(const struct nt_range *range)
{
	return range->how == NT_END_BRANCH && range->flags & NT_RANGE_TAKEN;
}

/*
 * Do the same as fast_path_walk_htm(), or as fast_path_walk_btm() for WALK_BY_ICNT, but without
 * stored paths.
 */
static __always_inline bool fast_block_walk(struct run *run, struct hot *hot, struct way way,
					    uint64_t hist, int64_t left, bool direct,
					    enum walk_by by)
{
	unsigned int nr_bits = 63 - __builtin_clzll(hist);
	const struct nt_range *end = hot->out + MAX_RUN;
	struct steps steps = {
		.hist = hist << (63 - nr_bits) << 1, .nr_bits = nr_bits, .left = left,
	};

	while (hot->out < end) {
		const struct nt_block *block = &run->flow->code.blocks[hot->block];
		unsigned int kind = nt_block_kind(block);

		if (kind <= NT_KIND_CALL) {
			if (!fast_step_block(run, hot, way, &steps, kind, by))
				return false;
			if (by == WALK_BY_HIST && !steps.nr_bits) {
				hot->walked += INT64_MAX - steps.left;
				return true;
			}
			if (by == WALK_BY_ICNT && steps.left <= 0)
				return !steps.left && direct && fast_is_taken_branch(hot->out - 1);
		} else if (!steps.nr_bits && steps.left == block->range.halfwords) {
			*hot->out = block->range;
			hot->out++->flags = NT_RANGE_TAKEN;
			if (by == WALK_BY_BOTH)
				hot->walked = 0;
			return kind < NT_KIND_INVALID && !direct;
		} else if (steps.nr_bits < 0 || steps.left <= 0 ||
			   !fast_step_inferred(run, hot, way, &steps)) {
			return false;
		}
	}
	return false;
}

#endif /* NTRACE_FAST_BLOCK_H */
