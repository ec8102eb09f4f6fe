/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Paths that are not stored yet.
 */
#ifndef NTRACE_PATH_H
#define NTRACE_PATH_H

#include "memo.h"

/*
 * Walk the path of that key, and store it. NULL: some block on the way does not fit. May move
 * @flow->code.blocks, and forget every other path.
 */
const struct nt_path *nt_path_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top);

/* The same for @flow->tally: the path is stored as a record, for which there is room. */
const struct nt_path *nt_path_count(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				    uint32_t top);

#endif /* NTRACE_PATH_H */
