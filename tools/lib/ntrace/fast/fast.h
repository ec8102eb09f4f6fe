/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The interface of the fast path to the rest of the library.
 */
#ifndef NTRACE_FAST_H
#define NTRACE_FAST_H

#include "memo.h"

/*
 * Decode the next plain messages (plain.h) of @src. If @single is set, decode only one message.
 * Return false if no message was decoded. Then engine.c must decode the next message.
 */
bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single);

/*
 * Decode @n repetitions of the DirectBranch @msg, which RepeatBranch reports. Return the number of
 * decoded repetitions. It is below @n if paths cannot decode the next repetition, or if the batch
 * is full.
 */
uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n);

/* Do the same as nt_fast_run(), but count the ranges in @flow->tally. */
bool nt_fast_count(struct nt_flow *flow, struct nt_source *src);

/*
 * Do the same as nt_fast_repeat(), but count the ranges in @flow->tally. @msg is a DirectBranch
 * whose I-CNT fits the key of a path.
 */
uint64_t nt_fast_count_repeat(struct nt_flow *flow, struct nt_source *src,
			      const struct nt_message *msg, uint64_t n);

/*
 * Parse the last branch message of @src, whose bytes the fast path has kept, and store the result
 * in @src->last, because RepeatBranch may repeat it.
 */
void nt_fast_last(const struct nt_flow *flow, struct nt_source *src);

/*
 * Choose the strategy for the next messages, which is to use groups, paths or blocks (fast.c). The
 * choice depends on how often lookups were successful.
 */
void nt_judge(struct nt_memo *memo, const struct nt_config *config);

/* Choose the strategy for the fast path that counts ranges. */
void nt_judge_counts(struct nt_memo *memo);

#endif /* NTRACE_FAST_H */
