/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Calls of functions, with how long each took: from the branches of all stretches.
 *
 * A slice is what one thread executed on one CPU without a switch. Slices are looked at by
 * several threads at once: calls that begin and end in a slice are counted there. What is left
 * of it, returns to callers before it and calls that are still open, is put together when all
 * slices of a thread are known, in the order of time.
 *
 * Time is that of a clock on the wall: a call that sleeps goes on.
 */
#ifndef NTRACE_SESSION_CALLS_H
#define NTRACE_SESSION_CALLS_H

#include "branch.h"

#define NT_CALLS_BUCKETS	(60 * 16)

struct nt_function {
	const char	*object, *symbol;	/* symbol may be NULL: not known */
	uint64_t	calls;			/* that began and ended in the trace */
	uint64_t	total_ns, self_ns;	/* of those; self is without calls from it */
	uint64_t	total_insns, self_insns;
	uint64_t	max_ns;			/* the slowest of them ... */
	uint64_t	max_begin;		/* ... when it began, and by whom */
	int32_t		max_tid;
	uint32_t	*buckets;		/* durations, see nt_function_quantile() */
	bool		watched;		/* by nt_calls_watch() */
};

/* A call that began and ended in the trace */
struct nt_call {
	uint64_t	begin, ns;
	uint64_t	insns;		/* with those of what it called */
	int32_t		tid;
	uint32_t	function;	/* for nt_calls_function() */
};

struct nt_calls;

/* nt_calls_new() - NULL: out of memory */
struct nt_calls *nt_calls_new(struct nt_session *session);
void nt_calls_free(struct nt_calls *calls);

/*
 * nt_calls_filter() - count only calls that began and ended in the time, by the thread, and ended on
 * the CPU; and what was executed so
 */
void nt_calls_filter(struct nt_calls *calls, const struct nt_filter *filter);

/* nt_calls_watch() - keep each call of the functions with that name; before nt_calls_run() */
void nt_calls_watch(struct nt_calls *calls, const char *symbol);

/*
 * nt_calls_each() - give each call that has ended to @fn, or only those of nt_calls_watch(), in no
 * order, instead of keeping them. nt_calls_run() returns what is not 0.
 */
typedef int (*nt_call_fn)(void *ctx, const struct nt_call *call);
void nt_calls_each(struct nt_calls *calls, nt_call_fn fn, void *ctx);

/* nt_calls_watched() - those calls, the quickest first; they stay as long as @calls */
const struct nt_call *nt_calls_watched(const struct nt_calls *calls, size_t *nr);

/* nt_calls_run() - decode the recording. Return: as nt_session_decode() */
int nt_calls_run(struct nt_calls *calls);

struct nt_calls_totals {
	size_t		functions;
	uint64_t	insns, branches, calls;
	uint64_t	errors, gaps, losses;	/* places at which the callers became unknown */
	uint64_t	open;			/* calls that did not end in the trace */
};
void nt_calls_totals(const struct nt_calls *calls, struct nt_calls_totals *totals);

/* nt_calls_function() - @nth from 0, in no order */
const struct nt_function *nt_calls_function(const struct nt_calls *calls, size_t nth);

/*
 * nt_function_quantile() - ns that @per_mille of 1000 calls do not exceed, up to 1/16 too high,
 * and never more than the slowest call
 */
uint64_t nt_function_quantile(const struct nt_function *function, unsigned int per_mille);

#endif /* NTRACE_SESSION_CALLS_H */
