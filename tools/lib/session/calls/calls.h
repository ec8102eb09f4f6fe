/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Calls of functions, with how long each took: from the branches of all stretches.
 *
 * A slice is what one thread executed on one CPU without a switch. Slices are looked at by
 * several threads at once: calls that begin and end in a slice are counted there. What is left
 * of it, returns to callers before it and calls that are still open, is put together in the order of
 * time, as soon as nothing earlier can come. So memory does not grow with the trace, unless trace
 * without times is of several CPUs, or nt_calls_each() asks for slices.
 *
 * The time of a call is that of a clock on the wall, as a call that sleeps goes on. The time of a function
 * without its calls is that in which its thread ran.
 */
#ifndef NTRACE_SESSION_CALLS_H
#define NTRACE_SESSION_CALLS_H

#include "session/flow/branch.h"

struct ns_durations;

struct nt_function {
	const char	*object, *symbol;	/* symbol may be NULL: not known */
	uint64_t	address;		/* of its begin, as the file has it */
	uint64_t	calls;			/* that began and ended in the trace */
	uint64_t	open;			/* whose begin or end was not recorded */
	/*
	 * Of all these, self without the calls from them. What a call of the function does inside another one
	 * counts once in total_ns, total_ran and total_insns.
	 */
	uint64_t	total_ns;		/* by the clock on the wall */
	uint64_t	total_ran, self_ns;	/* in which the thread ran */
	uint64_t	total_insns, self_insns;
	uint64_t	max_ns;			/* the slowest of them ... */
	uint64_t	max_begin;		/* ... when it began, and by whom */
	int32_t		max_tid;
	struct ns_durations *durations;	/* of the library: see nt_function_quantile() */
	bool		watched;		/* by nt_calls_watch() */
};

/* A call, with the instructions and the time of what it called */
struct nt_call {
	uint64_t	begin, ns;
	uint64_t	at;		/* instructions of its slice before it, modulo 2^64 */
	uint64_t	insns, self_insns;	/* self is without what it called */
	uint64_t	ran;		/* ns in which its thread ran */
	int32_t		tid;
	uint32_t	function;	/* for nt_calls_function() */
	uint32_t	slice;		/* for nt_calls_slice() */
	uint8_t		kind;		/* enum nt_branch_kind of its entry */
	bool		open;		/* its end was not recorded */
};

/* What one thread executed on one CPU without a switch */
struct nt_slice {
	uint64_t	begin, end;
	uint64_t	at;		/* instructions of its thread before it */
	uint64_t	insns;
	uint32_t	thread;		/* from 0: by tid, and the idle thread of each CPU apart */
	int32_t		tid, cpu;
};

/* Trace of a CPU is missing: what ran then is unknown. */
struct nt_gap {
	uint64_t	from, to;	/* @to is UINT64_MAX if no trace follows */
	int32_t		cpu;		/* -1: the buffer is that of a thread */
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
 * order, instead of keeping them. One thread at a time calls @fn. nt_calls_run() returns what is
 * not 0.
 */
typedef int (*nt_call_fn)(void *ctx, const struct nt_call *call);
void nt_calls_each(struct nt_calls *calls, nt_call_fn fn, void *ctx);

/* nt_calls_open() - give those to nt_calls_each()'s function, too, of which no end was recorded */
void nt_calls_open(struct nt_calls *calls);

/*
 * After nt_calls_run() with nt_calls_each(): nt_calls_slice() of @number, as the calls have it, and nt_calls_gap(), by
 * buffer, then time. Both from 0; NULL or false: no more.
 *
 * The calls of a thread are intervals, nt_slice::at + nt_call::at and nt_call::insns, each inside
 * that of its caller.
 */
const struct nt_slice *nt_calls_slice(const struct nt_calls *calls, size_t number);
bool nt_calls_gap(const struct nt_calls *calls, size_t nth, struct nt_gap *gap);

/* What nt_calls_watched() finds */
struct nt_watched {
	uint64_t	calls;		/* how many there are */
	struct nt_call	median, slow;
	bool		exact;		/* else the median call takes up to 1/64 more or less */
};

/*
 * nt_calls_watched() - the median one of those calls, and the @nth slowest one, from 1 on. Up to
 * 524,288 calls it finds all; of more, the 1,024 slowest.
 *
 * Return: false: there are fewer, and only found->calls and found->exact are set.
 */
bool nt_calls_watched(const struct nt_calls *calls, uint64_t nth, struct nt_watched *found);

/* nt_calls_run() - decode the recording. Return: as nt_session_decode() */
int nt_calls_run(struct nt_calls *calls);

struct nt_calls_totals {
	size_t		functions;
	uint64_t	insns, branches, calls;
	uint64_t	errors, gaps, losses;	/* places at which the callers became unknown */
	uint64_t	open;			/* calls whose begin or end is not in the trace */
	uint64_t	ran_ns;			/* in which threads ran, and self times add up to it */
};
void nt_calls_totals(const struct nt_calls *calls, struct nt_calls_totals *totals);

/*
 * What is missing of the trace of one CPU. Instructions and bytes are estimates: the CPU executes as many
 * instructions in this time as in the rest of the recording, and each takes as many bytes as in all trace.
 */
struct nt_missing {
	int32_t		cpu;
	uint64_t	all_ns;		/* from the first to the last trace of any CPU */
	uint64_t	ns, insns, bytes;
	uint64_t	ran_ns;		/* in which threads ran that were traced */
};

/* nt_calls_missing() - by CPU, from @nth = 0; false: no more */
bool nt_calls_missing(const struct nt_calls *calls, size_t nth, struct nt_missing *missing);

/* nt_calls_function() - @nth from 0, in no order */
const struct nt_function *nt_calls_function(const struct nt_calls *calls, size_t nth);

/*
 * nt_function_quantile() - ns that @per_mille of 1000 calls do not exceed: exact up to 128 calls, of
 * more up to 1/64 too high, and never more than the slowest call
 */
uint64_t nt_function_quantile(const struct nt_function *function, unsigned int per_mille);

/*
 * nt_function_buckets() - how many calls took how long: @buckets[i] of them, by 16 for each power of
 * two; durations below 16 ns have one each
 */
#define NT_CALLS_BUCKETS	(61 * 16)
void nt_function_buckets(const struct nt_function *function, uint64_t buckets[NT_CALLS_BUCKETS]);

#endif /* NTRACE_SESSION_CALLS_H */
