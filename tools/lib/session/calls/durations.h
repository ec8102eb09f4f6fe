/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Histogram of the durations of calls, in bounded memory. Users of the library do not include this.
 *
 * Up to NS_DURATIONS_EXACT durations are stored exactly. If there are more, they are counted in
 * buckets, 64 for each power of two, so that results are at most 1/64 too high.
 */
#ifndef NTRACE_SESSION_DURATIONS_H
#define NTRACE_SESSION_DURATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_DURATIONS_EXACT	128
#define NS_DURATIONS_OCTAVES	59

struct ns_durations;

/*
 * ns_durations_add() - add a duration, and create *@durations if it is NULL
 *
 * Return false if out of memory.
 */
bool ns_durations_add(struct ns_durations **durations, uint64_t ns);

/*
 * ns_durations_merge() - add all durations of @from, which may be NULL. Return false if out of
 * memory.
 */
bool ns_durations_merge(struct ns_durations **to, const struct ns_durations *from);

/*
 * ns_durations_quantile() - return the duration (ns) that @per_mille of 1000 durations do not exceed
 *
 * Return 0 if @durations is empty.
 */
uint64_t ns_durations_quantile(const struct ns_durations *durations, unsigned int per_mille);

/* ns_durations_each() - call @fn for each exact duration or bucket, which has @nr durations of at most @ns */
void ns_durations_each(const struct ns_durations *durations,
		       void (*fn)(void *ctx, uint64_t ns, uint64_t nr), void *ctx);

/* Return true if quantiles are exact. */
bool ns_durations_exact(const struct ns_durations *durations);

void ns_durations_free(struct ns_durations *durations);

/* ns_duration_bucket() - return the number of a duration's bucket, which is below NS_DURATIONS_OCTAVES * 64 */
unsigned int ns_duration_bucket(uint64_t ns);

#endif /* NTRACE_SESSION_DURATIONS_H */
