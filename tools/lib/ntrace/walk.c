// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Walk through the code as HIST and I-CNT say: chapter 11.1, "Decoding
 * Algorithm Principles".
 */
#include "flow.h"

/* Blocks without a conditional branch between two bits of HIST */
#define MAX_SPINS	(1u << 20)

static void push(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	uint32_t max = flow->config.return_depth;
	struct nt_return *ret;

	if (!max)
		return;
	src->top = src->top + 1 < max ? src->top + 1 : 0;
	ret = &src->returns[src->top];
	ret->pc = nt_flow_mask(flow, nt_range_end(&block->range));
	ret->call = block - flow->code.blocks;
	if (src->depth < max)
		src->depth++;
}

static void pop(struct nt_flow *flow, struct nt_source *src)
{
	if (!src->depth)
		return;
	src->top = nt_return_below(src->top, flow->config.return_depth);
	src->depth--;
}

void nt_walk_stack(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	unsigned int end = block->range.end;

	if (end == NT_END_RETURN || end == NT_END_SWAP)
		pop(flow, src);
	if (end == NT_END_CALL || end == NT_END_INDIRECT_CALL || end == NT_END_SWAP)
		push(flow, src, block);
}

bool nt_walk_infer(struct nt_flow *flow, struct nt_source *src, uint64_t *dest)
{
	const struct nt_block *block = &flow->code.blocks[flow->walk.tail];
	unsigned int end = block->range.end;

	if (flow->config.sequential_jump && block->range.internal & NT_KIND_INFERABLE) {
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

/* The I-CNT ends inside the block at the PC. */
static int walk_part(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	struct nt_range *part = &flow->ranges[flow->nr_ranges];

	if (!nt_code_split(&flow->code, src->space, src->pc, walk->left, part, &walk->opcode)) {
		walk->at = 2 * part->halfwords;
		return NT_E_ICNT_INSN;
	}
	flow->nr_ranges++;
	walk->partial = true;
	src->pc = nt_flow_mask(flow, src->pc + walk->left * 2);
	src->block = 0;
	walk->left = 0;
	return walk->nr_bits ? NT_E_HIST_LEFT : 1;
}

static void emit(struct nt_flow *flow, const struct nt_block *block, unsigned int flags)
{
	struct nt_range *range = &flow->ranges[flow->nr_ranges++];

	*range = block->range;
	range->flags = flags;
}

/* Go on at @pc, along link @which of the block at hand. False: out of memory */
static bool follow(struct nt_flow *flow, struct nt_source *src, uint64_t pc, int which)
{
	uint32_t index = src->block;
	uint32_t next = flow->code.blocks[index].link[which];

	src->pc = pc;
	if (!next) {
		next = nt_code_find(&flow->code, src->space, pc);
		if (!next)
			return false;
		flow->code.blocks[index].link[which] = next;
	}
	src->block = next;
	return true;
}

/* Block ends with a conditional branch. 1: done with it; 0: it is the tail. */
static int step_branch(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	struct nt_walk *walk = &flow->walk;
	unsigned int taken = 0;

	if (walk->nr_bits)
		taken = walk->hist >> --walk->nr_bits & 1;
	else if (src->mode == NT_MODE_HTM)
		return NT_E_HIST_SHORT;
	else if (!walk->left)
		return 0;
	walk->spins = 0;
	emit(flow, block, taken ? NT_RANGE_TAKEN : 0);
	if (taken)
		return follow(flow, src, block->target, 1) ? 1 : NT_E_NOMEM;
	return follow(flow, src, nt_flow_mask(flow, nt_range_end(&block->range)), 0) ?
		1 : NT_E_NOMEM;
}

/* Direct jump or call. With trTeInstEnAllJumps it is told like a taken branch. */
static int step_jump(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	struct nt_walk *walk = &flow->walk;

	if (flow->config.all_jumps) {
		if (walk->nr_bits) {
			if (!(walk->hist >> --walk->nr_bits & 1))
				return NT_E_HIST_JUMP;
		} else if (src->mode == NT_MODE_HTM) {
			return NT_E_HIST_SHORT;
		} else {
			return walk->left ? NT_E_ICNT_LEFT : 0;
		}
		walk->spins = 0;
	}
	emit(flow, block, NT_RANGE_TAKEN);
	nt_walk_stack(flow, src, block);
	return follow(flow, src, block->target, 1) ? 1 : NT_E_NOMEM;
}

/* Any other jump: needs an address, or can be inferred if the walk goes on. */
static int step_indirect(struct nt_flow *flow, struct nt_source *src,
			 const struct nt_block *block)
{
	struct nt_walk *walk = &flow->walk;
	unsigned int end = block->range.end;
	uint64_t dest;

	if (!walk->left && !walk->nr_bits)
		return 0;
	walk->tail = src->block;
	if (!nt_walk_infer(flow, src, &dest)) {
		walk->tail = 0;
		if (flow->config.return_depth && (end == NT_END_RETURN || end == NT_END_SWAP))
			return NT_E_NO_RETURN;
		return walk->left && !walk->hist_only ? NT_E_ICNT_LEFT : NT_E_HIST_LEFT;
	}
	walk->tail = 0;
	emit(flow, block, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
	nt_walk_stack(flow, src, block);
	src->pc = dest;
	src->block = nt_code_find(&flow->code, src->space, dest);
	return src->block ? 1 : NT_E_NOMEM;
}

/* One block, all of it. Returns 1: go on; 0: it is the tail; or an error */
static int step(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block)
{
	switch (nt_block_kind(block)) {
	case NT_KIND_BRANCH:
		return step_branch(flow, src, block);
	case NT_KIND_JUMP:
	case NT_KIND_CALL:
		return step_jump(flow, src, block);
	case NT_KIND_LINEAR:
		emit(flow, block, 0);
		return follow(flow, src, nt_flow_mask(flow, nt_range_end(&block->range)), 0) ?
			1 : NT_E_NOMEM;
	case NT_KIND_INVALID:
		return NT_E_INSN;
	case NT_KIND_NO_CODE:
		return NT_E_NO_CODE;
	}
	return step_indirect(flow, src, block);
}

static bool is_done(const struct nt_walk *walk)
{
	return walk->hist_only ? !walk->nr_bits : !walk->left;
}

int nt_walk_run(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	int ret;

	while (!is_done(walk)) {
		const struct nt_block *block;

		if (flow->nr_ranges >= MAX_RANGES - SPARE_RANGES)
			return 0;
		if (!src->block)
			src->block = nt_code_find(&flow->code, src->space, src->pc);
		if (!src->block)
			return NT_E_NOMEM;
		block = &flow->code.blocks[src->block];
		if (walk->left < block->range.halfwords)
			return walk_part(flow, src);
		if (walk->hist_only) {
			src->walked += block->range.halfwords;
			if (walk->spins++ > MAX_SPINS)
				return NT_E_ENDLESS;
		} else {
			walk->left -= block->range.halfwords;
		}
		ret = step(flow, src, block);
		if (ret > 0)
			continue;
		/* the last instruction is what it is about */
		block = &flow->code.blocks[src->block];
		walk->at = 2 * (block->range.halfwords - block->range.last);
		if (ret < 0)
			return ret;
		walk->tail = src->block;
		break;
	}
	return walk->nr_bits ? NT_E_HIST_LEFT : 1;
}
