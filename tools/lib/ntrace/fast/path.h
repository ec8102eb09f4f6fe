/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions that walk a path (memo.h) for the first time, and store it.
 */
#ifndef NTRACE_PATH_H
#define NTRACE_PATH_H

#include "memo.h"

/*
 * Walk the path of @key (see struct nt_path), and store it. @top is the top of the return stack in
 * the form of nt_path::top. Return NULL if the HIST or the I-CNT of @key does not fit the code. The
 * function may move @flow->code.blocks, and may drop all other paths.
 */
const struct nt_path *nt_path_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top);

/*
 * Do the same as nt_path_walk(), but store the path as a record of steps in @flow->tally (tally.h).
 * The caller must have made room for it.
 */
const struct nt_path *nt_path_count(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				    uint32_t top);

#endif /* NTRACE_PATH_H */
