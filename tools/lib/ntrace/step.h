/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * nt_step_block() determines by HIST and I-CNT how one block ends (chapter 11.1, "Decoding
 * Algorithm Principles"). The files walk.c and path.c call it. The file fast-block.h calculates the
 * same without conditional jumps, because measurements show that this is faster for irregular code.
 */
#ifndef NTRACE_STEP_H
#define NTRACE_STEP_H

#include "flow.h"

/* Result of nt_step_block() without error. The first two values are indices of nt_block::link. */
enum nt_step {
	NT_STEP_PASS	= 0,	/* the flow continues at the next instruction */
	NT_STEP_TAKE	= 1,	/* the flow continues at the target of the branch or jump */
	NT_STEP_TAIL	= 2,	/* I-CNT is used up after this block, and the message has the destination */
	NT_STEP_INDIRECT = 3,	/* the block ends with an indirect jump, whose target is inferred or in the message */
};

/*
 * Determine if the conditional branch at the end of a block was taken. The caller has already subtracted the block's
 * half-words from @todo. @htm is true if HIST must have a bit for the branch. Return enum nt_step, or NT_E_HIST_SHORT.
 */
static inline int nt_step_branch(struct nt_todo *todo, bool htm)
{
	if (todo->nr_bits)
		return todo->hist >> --todo->nr_bits & 1;
	if (htm)
		return NT_E_HIST_SHORT;
	return todo->left ? NT_STEP_PASS : NT_STEP_TAIL;
}

/*
 * Check a direct jump or call that is reported like a taken branch (trTeInstEnAllJumps). @needs_bit
 * is true if HIST must have a bit for the jump. Return enum nt_step, or an error.
 */
static inline int nt_step_reported_jump(struct nt_todo *todo, bool needs_bit)
{
	bool has_bit = todo->nr_bits;
	int ret = nt_step_branch(todo, needs_bit);

	if (ret != NT_STEP_PASS)
		return ret;
	return has_bit ? NT_E_HIST_JUMP : NT_E_ICNT_LEFT;
}

/* Return true if the target of the jump at the end of @block is inferred (sequential jump). */
static inline bool nt_step_is_sequential(const struct nt_flow *flow, const struct nt_block *block)
{
	return flow->config.sequential_jump && block->range.reserved & NT_KIND_INFERABLE;
}

/*
 * Determine how @block ends. The caller has already subtracted its half-words from @todo. @lacks_bit is true if HIST
 * need not have a bit for the last branch or reported jump, after which I-CNT is used up, because the message with
 * SYNC reports its destination. Return enum nt_step, or an error.
 */
static inline int nt_step_block(const struct nt_flow *flow, const struct nt_block *block,
				struct nt_todo *todo, enum nt_mode mode, bool lacks_bit)
{
	bool needs_bit = mode == NT_MODE_HTM && (todo->left || !lacks_bit);

	switch (nt_block_kind(block)) {
	case NT_KIND_LINEAR:
		return NT_STEP_PASS;
	case NT_KIND_BRANCH:
		return nt_step_branch(todo, needs_bit);
	case NT_KIND_JUMP:
	case NT_KIND_CALL:
		return nt_jumps_are_reported(flow, mode == NT_MODE_BTM) ?
			nt_step_reported_jump(todo, needs_bit) : NT_STEP_TAKE;
	case NT_KIND_INVALID:
		return NT_E_INSN;
	case NT_KIND_NO_CODE:
		return NT_E_NO_CODE;
	}
	return NT_STEP_INDIRECT;
}

#endif /* NTRACE_STEP_H */
