// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Functions that follow the code by HIST and I-CNT (chapter 11.1, "Decoding Algorithm Principles")
 */
#include "stack.h"
#include "step.h"
#include "walk.h"

/* If a walk of HIST passes this many blocks without a branch, the code is an endless loop. */
#define MAX_SPINS	(1u << 20)

static void walk_push(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	uint32_t max = nt_stack_max(flow, src);

	if (!max || (src->depth == max && flow->config.return_full == NT_RETURN_DROP_NEWEST))
		return;
	src->returns[nt_stack_advance(src, max)] = (struct nt_return){
		.pc = nt_flow_mask(flow, nt_range_end(&block->range)),
		.call = block - flow->code.blocks,
	};
}

static void walk_pop(struct nt_flow *flow, struct nt_source *src)
{
	if (src->depth)
		nt_stack_drop(src, flow->config.return_depth);
}

void nt_walk_stack(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block,
		   bool reported)
{
	unsigned int end = block->range.how;

	if (!reported && end == NT_END_RETURN && !nt_step_is_sequential(flow, block) &&
	    flow->dialect->counts_returns)
		src->return_mode = NT_RETURNS_IMPLICIT;
	if (end == NT_END_RETURN ||
	    (end == NT_END_SWAP && !(reported && flow->dialect->swap_is_call)))
		walk_pop(flow, src);
	if (end == NT_END_CALL || end == NT_END_INDIRECT_CALL || end == NT_END_SWAP)
		walk_push(flow, src, block);
}

bool nt_walk_infer(struct nt_flow *flow, struct nt_source *src, uint64_t *dest)
{
	const struct nt_block *block = &flow->code.blocks[flow->walk.tail];
	unsigned int end = block->range.how;

	if (nt_step_is_sequential(flow, block)) {
		*dest = block->target;
		return true;
	}
	if ((end == NT_END_RETURN || end == NT_END_SWAP) && src->depth) {
		*dest = src->returns[src->top].pc;
		return true;
	}
	return false;
}

void nt_walk_emit_tail(struct nt_flow *flow, unsigned int flags)
{
	struct nt_range *range = &flow->ranges[flow->nr_ranges++];

	*range = flow->code.blocks[flow->walk.tail].range;
	range->flags = flags;
	flow->walk.tail = 0;
}

/* Handle an I-CNT that ends inside the block at the PC. Return 1 or an error. */
static int walk_part(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	struct nt_range *part = &flow->ranges[flow->nr_ranges];

	if (!nt_code_split(&flow->code, src->space, src->pc, walk->todo.left, part)) {
		walk->at = 2 * part->halfwords;
		return NT_E_ICNT_INSN;
	}
	flow->nr_ranges++;
	walk->ends_linear = true;
	src->pc = nt_flow_mask(flow, src->pc + walk->todo.left * 2);
	src->block = 0;
	walk->todo.left = 0;
	return walk->todo.nr_bits ? NT_E_HIST_LEFT : 1;
}

static void walk_emit(struct nt_flow *flow, const struct nt_block *block, unsigned int flags)
{
	struct nt_range *range = &flow->ranges[flow->nr_ranges++];

	*range = block->range;
	range->flags = flags;
}

/*
 * Continue at @pc. Link @which (0 or 1) of the current block leads to the block at @pc. If memory for
 * the block at @pc cannot be allocated, set @src->block to 0, so that nt_walk_run() tries it again.
 */
static void walk_follow(struct nt_flow *flow, struct nt_source *src, uint64_t pc, int which)
{
	src->pc = pc;
	src->block = nt_code_next(&flow->code, src->space, src->block, which, pc);
}

/*
 * Step over a jump whose target is not in its opcode. If the walk ends with this jump, the message
 * reports the target. Otherwise the target must be inferred. Return 1 to continue, 0 if the walk
 * ends, or an error.
 */
static int walk_step_indirect(struct nt_flow *flow, struct nt_source *src,
			      const struct nt_block *block)
{
	struct nt_walk *walk = &flow->walk;
	unsigned int end = block->range.how;
	uint64_t dest;

	if (!walk->todo.left && !walk->todo.nr_bits)
		return 0;
	walk->tail = src->block;
	if (!nt_walk_infer(flow, src, &dest)) {
		walk->tail = 0;
		if (nt_stack_max(flow, src) && (end == NT_END_RETURN || end == NT_END_SWAP))
			return NT_E_NO_RETURN;
		return walk->todo.left && !walk->hist_only ? NT_E_ICNT_LEFT : NT_E_HIST_LEFT;
	}
	walk->tail = 0;
	walk_emit(flow, block, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
	nt_walk_stack(flow, src, block, false);
	src->pc = dest;
	src->block = nt_code_find(&flow->code, src->space, dest);
	return 1;
}

/* Follow the code through a whole block. Return 1 to continue, 0 if it is the last block, or an error. */
static int walk_step(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	struct nt_walk *walk = &flow->walk;
	unsigned int nr_bits = walk->todo.nr_bits;
	int step = nt_step_block(flow, block, &walk->todo, src->mode, walk->lacks_bit);

	if (step == NT_STEP_INDIRECT)
		return walk_step_indirect(flow, src, block);
	if (step < 0 || step == NT_STEP_TAIL)
		return step < 0 ? step : 0;
	if (walk->todo.nr_bits != nr_bits)
		walk->spins = 0;
	walk_emit(flow, block, step ? NT_RANGE_TAKEN : 0);
	if (nt_block_kind(block) == NT_KIND_LINEAR)
		walk->ends_linear = !walk->todo.left;
	nt_walk_stack(flow, src, block, true);
	walk_follow(flow, src, step ? block->target :
		    nt_flow_mask(flow, nt_range_end(&block->range)), step);
	return 1;
}

static bool walk_is_done(const struct nt_walk *walk)
{
	return walk->hist_only ? !walk->todo.nr_bits : !walk->todo.left;
}

int nt_walk_run(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	int ret;

	while (!walk_is_done(walk)) {
		const struct nt_block *block;

		if (flow->nr_ranges >= MAX_RANGES - SPARE_RANGES)
			return 0;
		if (!src->block)
			src->block = nt_code_find(&flow->code, src->space, src->pc);
		if (!src->block)
			return NT_E_NOMEM;
		block = &flow->code.blocks[src->block];
		if (walk->todo.left < block->range.halfwords)
			return walk_part(flow, src);
		if (walk->hist_only) {
			src->walked += block->range.halfwords;
			if (walk->spins++ > MAX_SPINS)
				return NT_E_ENDLESS;
		} else {
			walk->todo.left -= block->range.halfwords;
		}
		ret = walk_step(flow, src, block);
		if (ret > 0)
			continue;
		/* If the message does not fit the block, the error belongs to the block's last instruction. */
		block = &flow->code.blocks[src->block];
		walk->at = 2 * (block->range.halfwords - block->range.last_len);
		if (ret < 0)
			return ret;
		walk->tail = src->block;
		break;
	}
	return walk->todo.nr_bits ? NT_E_HIST_LEFT : 1;
}
