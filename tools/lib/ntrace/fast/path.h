/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions that walk new paths, and store them.
 */
#ifndef NTRACE_PATH_H
#define NTRACE_PATH_H

#include "memo.h"

/*
 * Walk the path of @key, and store it. Return NULL if HIST or I-CNT in the key do not fit a block.
 * This may move @flow->code.blocks, and may drop all other paths.
 */
const struct nt_path *nt_path_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top);

/* Walk the path of @key, and store it as a record of @flow->tally, which must have room for it. */
const struct nt_path *nt_path_count(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				    uint32_t top);

#endif /* NTRACE_PATH_H */
