/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions that follow the code by HIST and I-CNT
 */
#ifndef NTRACE_WALK_H
#define NTRACE_WALK_H

#include "flow.h"

/*
 * Continue the walk. Return 1 if the walk is complete, in which case nt_walk::tail may be set; 0 if
 * the batch is full; or NT_E_NOMEM, in which case the caller may repeat the call. Any other error
 * belongs to the instruction that is nt_walk::at bytes after the PC.
 */
int nt_walk_run(struct nt_flow *flow, struct nt_source *src);

/* Add the last block of the walk to the batch, as a range with @flags. */
void nt_walk_emit_tail(struct nt_flow *flow, unsigned int flags);

/*
 * Infer the destination of the jump at the end of the walk (chapters 9.1 and 9.2). Return false if it
 * cannot be inferred.
 */
bool nt_walk_infer(struct nt_flow *flow, struct nt_source *src, uint64_t *dest);

/*
 * Pop or push the return stack for the jump at the end of @block, as table "4-bit itype values"
 * defines. @reported is false if the destination of the jump was inferred.
 */
void nt_walk_stack(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block,
		   bool reported);

#endif /* NTRACE_WALK_H */
