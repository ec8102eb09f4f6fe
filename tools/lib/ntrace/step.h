/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How one block is stepped: which way HIST and I-CNT say that it ends (chapter 11.1, "Decoding
 * Algorithm Principles"). Each first walk decides by this, whoever does it; fast-block.h
 * calculates the same without branches, for walks that are done again.
 */
#ifndef NTRACE_STEP_H
#define NTRACE_STEP_H

#include "flow.h"

/* What a block does if it is not an error: go on right after it, go to its target, or ... */
enum nt_step {
	NT_STEP_PASS	= 0,
	NT_STEP_TAKE	= 1,
	NT_STEP_TAIL	= 2,	/* I-CNT ends with it, and the message says where it leads */
};

/*
 * The conditional branch at the end of a block, whose half-words @todo has not any more.
 * enum nt_step, or NT_E_HIST_SHORT
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
 * A direct jump or call that is reported like a taken branch (trTeInstEnAllJumps). enum nt_step,
 * or an error
 */
static inline int nt_step_reported_jump(struct nt_todo *todo, bool htm)
{
	bool has_bit = todo->nr_bits;
	int ret = nt_step_branch(todo, htm);

	if (ret != NT_STEP_PASS)
		return ret;
	return has_bit ? NT_E_HIST_JUMP : NT_E_ICNT_LEFT;
}

/* Does the jump at the end of @block take its target from the instruction before? */
static inline bool nt_step_is_sequential(const struct nt_flow *flow, const struct nt_block *block)
{
	return flow->config.sequential_jump && block->range.reserved & NT_KIND_INFERABLE;
}

#endif /* NTRACE_STEP_H */
