/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Walk through the code as HIST and I-CNT say.
 */
#ifndef NTRACE_WALK_H
#define NTRACE_WALK_H

#include "flow.h"

/*
 * Walk on. Returns 1: done, @walk.tail may be set; 0: the batch is full; NT_E_NOMEM: call it
 * again; or another error, which is about the instruction @walk.at bytes after the PC.
 */
int nt_walk_run(struct nt_flow *flow, struct nt_source *src);

/* The block that the walk ended with: give it out, as @flags say */
void nt_walk_emit_tail(struct nt_flow *flow, unsigned int flags);

/*
 * Where a jump at the end of the walk goes to, if that can be inferred
 * (chapters 9.1 and 9.2).
 */
bool nt_walk_infer(struct nt_flow *flow, struct nt_source *src, uint64_t *dest);

/*
 * The stack action of the jump at the end of the walk (table "4-bit itype values"). @reported: its
 * destination was in a message.
 */
void nt_walk_stack(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block,
		   bool reported);

#endif /* NTRACE_WALK_H */
