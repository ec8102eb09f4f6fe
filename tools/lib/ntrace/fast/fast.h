/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The interface of the fast path to the rest of the library.
 */
#ifndef NTRACE_FAST_H
#define NTRACE_FAST_H

#include "memo.h"

/*
 * Decode the next plain branch messages of @src, or only one if @single is set. Return false if the
 * next message is not plain.
 */
bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single);

/*
 * Repeat DirectBranch @msg up to @n times (B-CNT). Return the number of repetitions, which is below
 * @n if the next repetition is not plain, or if there is no room.
 */
uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n);

/* Do the same as nt_fast_run(), but count the ranges in @flow->tally. */
bool nt_fast_count(struct nt_flow *flow, struct nt_source *src);

/* Do the same as nt_fast_repeat(), but count. @msg is a DirectBranch whose I-CNT fits a path. */
uint64_t nt_fast_count_repeat(struct nt_flow *flow, struct nt_source *src,
			      const struct nt_message *msg, uint64_t n);

/*
 * Parse the last branch message of @src, whose bytes the fast path has kept, and store the result
 * in @src->last, because RepeatBranch may repeat it.
 */
void nt_fast_last(const struct nt_flow *flow, struct nt_source *src);

/* Choose between groups, paths and blocks, by how often lookups were successful. */
void nt_judge(struct nt_memo *memo, const struct nt_config *config);

/* Do the same for the fast path that counts ranges. */
void nt_judge_counts(struct nt_memo *memo);

#endif /* NTRACE_FAST_H */
