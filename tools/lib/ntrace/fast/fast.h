/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The fast path, as the rest of the library sees it.
 */
#ifndef NTRACE_FAST_H
#define NTRACE_FAST_H

#include "memo.h"

/*
 * Decode plain branch messages of @src, as many as there are, or @single, one. Returns
 * false if the next one is not plain.
 */
bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single);

/*
 * Repeat DirectBranch @msg up to @n times (B-CNT). Returns the number of repetitions; it stops
 * early if the next one is not plain, or if there is no room.
 */
uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n);

/* As nt_fast_run(), but ranges are counted in @flow->tally. */
bool nt_fast_count(struct nt_flow *flow, struct nt_source *src);

/* As nt_fast_repeat(), but ranges are counted. @msg is DirectBranch whose I-CNT fits a path. */
uint64_t nt_fast_count_repeat(struct nt_flow *flow, struct nt_source *src,
			      const struct nt_message *msg, uint64_t n);

/* The last branch message, of which only the bytes were kept: @src->last */
void nt_fast_last(const struct nt_flow *flow, struct nt_source *src);

/* Choose a strategy by how often the last one succeeded. */
void nt_judge(struct nt_memo *memo, const struct nt_config *config);

/* The same where ranges are counted */
void nt_judge_counts(struct nt_memo *memo);

#endif /* NTRACE_FAST_H */
