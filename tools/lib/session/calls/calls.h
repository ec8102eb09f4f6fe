/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Calls of functions and their durations, from the branches of all stretches.
 *
 * A slice is the code that one thread executed on one CPU between two context switches. Several
 * threads of the library process slices at the same time, and count the calls that start and end in
 * one slice. Calls that started before the slice, or are still open at its end, can only be counted
 * with the neighbouring slices of the same thread. The library therefore merges slices in the order
 * of time, as soon as all earlier slices are decoded. So memory does not grow with the trace, except
 * if trace without times is from several CPUs, or if nt_calls_each() needs the slices.
 *
 * The duration of a call is wall-clock time, and includes the time for which its thread slept. The
 * self time of a function, which excludes the functions that it calls, is time in which its thread ran.
 */
#ifndef NTRACE_SESSION_CALLS_H
#define NTRACE_SESSION_CALLS_H

#include "session/flow/branch.h"

struct ns_durations;

struct nt_function {
	const char	*object, *symbol;	/* symbol is NULL if not known */
	uint64_t	address;		/* start address in the file */
	uint64_t	calls;			/* number of calls that started and ended in the trace */
	uint64_t	open;			/* number of calls whose start or end was not recorded */
	/*
	 * Sums of the calls that @calls and @open count. The members self_* are without the time and instructions of
	 * functions that these calls call. A call inside another call of the same function adds nothing to total_ns,
	 * total_ran and total_insns.
	 */
	uint64_t	total_ns;		/* wall-clock time, ns */
	uint64_t	total_ran, self_ns;	/* time in which the thread ran, ns */
	uint64_t	total_insns, self_insns;
	uint64_t	max_ns;			/* duration of the slowest call, ns */
	uint64_t	max_begin;		/* start time of the slowest call, ns */
	int32_t		max_tid;		/* thread of the slowest call */
	struct ns_durations *durations;	/* internal to the library; see nt_function_quantile() */
	bool		watched;		/* nt_calls_watch() selects the function */
};

/* A call. Its instructions and time include the calls that it made. */
struct nt_call {
	uint64_t	begin, ns;	/* start time and duration, ns */
	uint64_t	at;		/* number of instructions from the start of @slice to the call, modulo 2^64 */
	uint64_t	insns;
	uint64_t	ran;		/* time in which the thread ran during the call, ns */
	int32_t		tid;
	uint32_t	function;	/* number of the function, by which nt_calls_function() finds it */
	uint32_t	slice;		/* number of the slice, by which nt_calls_slice() finds it */
	uint8_t		kind;		/* enum nt_branch_kind of the entry */
	bool		open;		/* the end was not recorded */
	bool		trap;		/* a trap has entered the function; false for a signal handler */
};

/* The code that one thread executed on one CPU between two switches */
struct nt_slice {
	uint64_t	begin, end;
	uint64_t	at;		/* number of earlier instructions on the same stack of the thread */
	uint64_t	before;		/* number of earlier instructions on all stacks of the thread */
	uint64_t	insns;
	uint32_t	thread;		/* number of the stack, from 0; stacks of all threads are numbered together */
	int32_t		tid, cpu;
};

/* An interval in which trace of a CPU is missing, so the code that the CPU executed is unknown */
struct nt_gap {
	uint64_t	from, to;	/* @to is UINT64_MAX if no trace follows */
	int32_t		cpu;		/* -1: the gap is in the buffer of a thread, which has the trace of all CPUs */
};

struct nt_calls;

/* nt_calls_new() - create the calls of a recording. Return NULL if out of memory. */
struct nt_calls *nt_calls_new(struct nt_session *session);
void nt_calls_free(struct nt_calls *calls);

/*
 * nt_calls_filter() - count only the calls that the filter selects, and the code executed in them
 *
 * A call must start and end in the time of the filter, belong to the filter's thread, and end on the filter's CPU.
 */
void nt_calls_filter(struct nt_calls *calls, const struct nt_filter *filter);

/*
 * nt_calls_watch() - store each call of the functions with that name. Call it before nt_calls_run().
 */
void nt_calls_watch(struct nt_calls *calls, const char *symbol);

/*
 * nt_calls_each() - pass each call that has ended to @fn instead of storing it
 *
 * If nt_calls_watch() was called, @fn gets only calls of the watched functions. Calls are in no
 * particular order, and @fn never runs in two threads at once. If @fn returns a value other than 0,
 * nt_calls_run() returns that value.
 */
typedef int (*nt_call_fn)(void *ctx, const struct nt_call *call);
void nt_calls_each(struct nt_calls *calls, nt_call_fn fn, void *ctx);

/*
 * nt_calls_open() - also pass calls whose end was not recorded to the function of nt_calls_each()
 */
void nt_calls_open(struct nt_calls *calls);

/*
 * nt_calls_slice() - return the slice with this number, which nt_call::slice contains; NULL after the last slice
 * nt_calls_gap() - get a gap. Gaps are sorted by buffer, then by time. Return false after the last gap.
 *
 * Numbers of slices and of gaps begin with 0. The functions may be called after an nt_calls_run() for
 * which nt_calls_each() was called.
 *
 * The instructions of a call are an interval of the instructions that its thread executed on the same
 * stack. The interval starts at instruction nt_slice::at + nt_call::at and has nt_call::insns
 * instructions. The interval of the caller contains this interval.
 */
const struct nt_slice *nt_calls_slice(const struct nt_calls *calls, size_t number);
bool nt_calls_gap(const struct nt_calls *calls, size_t nth, struct nt_gap *gap);

/* Result of nt_calls_watched() */
struct nt_watched {
	uint64_t	calls;		/* number of calls */
	struct nt_call	median, slow;
	uint64_t	number;		/* position of @slow among all calls in the order of their start, from 1; 0: unknown */
	bool		exact;		/* if false, @median takes up to 1/64 more or less time than the true median */
};

/*
 * nt_calls_watched() - find the median and the @nth slowest of the watched calls
 * @nth: 1 for the slowest call
 *
 * Up to 524,288 calls are stored. If there are more calls, @nth can be at most 1,024.
 *
 * Return false if there are fewer than @nth calls. In this case only found->calls and found->exact are set.
 */
bool nt_calls_watched(const struct nt_calls *calls, uint64_t nth, struct nt_watched *found);

/* nt_calls_run() - decode the recording. Return the same values as nt_session_decode(). */
int nt_calls_run(struct nt_calls *calls);

struct nt_calls_totals {
	size_t		functions;
	uint64_t	insns, branches, calls;
	uint64_t	errors, gaps, losses;	/* number of places at which callers became unknown */
	uint64_t	open;			/* number of calls whose start or end is not in the trace */
	uint64_t	ran_ns;			/* time in which threads ran, which is the sum of all self times, ns */
};
void nt_calls_totals(const struct nt_calls *calls, struct nt_calls_totals *totals);

/* Kinds of code in which threads run. The newest trap that has not returned determines the kind of kernel code. */
enum nt_where {
	NT_IN_USER,
	NT_IN_SYSCALL,
	NT_IN_EXCEPTION,
	NT_IN_INTERRUPT,
	NT_IN_KERNEL,		/* threads of the kernel, and kernel code that was entered before the recording began */
	NT_IN_IDLE,		/* the idle thread, outside of traps */
	NT_IN_UNTRACED,	/* code that the events of the recording exclude */
	NT_IN_NR,
};

/*
 * nt_calls_ran() - return the time in which traced threads ran on a CPU, ns
 * @modes: Set to the part of this time in each kind of code, ns; may be NULL
 */
uint64_t nt_calls_ran(const struct nt_calls *calls, int32_t cpu, uint64_t modes[NT_IN_NR]);

/* Sums of the code that a thread executed on one CPU */
struct nt_thread {
	int32_t		tid, cpu;
	uint64_t	end;		/* time of the last code that the thread executed on the CPU, ns */
	uint64_t	insns;
	/*
	 * time from the kernel's choice of the thread to its choice of the next thread, ns; nt_call::ran, in contrast,
	 * ends with the switch to the next thread
	 */
	uint64_t	ran;
};

/* nt_calls_threads() - return all threads after nt_calls_run(), sorted by their ids */
const struct nt_thread *nt_calls_threads(const struct nt_calls *calls, size_t *nr);

/* nt_calls_function() - return a function; @nth counts from 0, in no particular order */
const struct nt_function *nt_calls_function(const struct nt_calls *calls, size_t nth);

/*
 * nt_function_quantile() - return the duration that @per_mille of 1000 calls do not exceed, ns
 *
 * The result is exact for up to 128 calls. For more calls it is up to 1/64 too high, but never higher
 * than the duration of the slowest call.
 */
uint64_t nt_function_quantile(const struct nt_function *function, unsigned int per_mille);

/*
 * nt_function_buckets() - get the histogram of the durations of calls
 *
 * Each power of two has 16 buckets; each duration below 16 ns has its own bucket.
 */
#define NT_CALLS_BUCKETS	(61 * 16)
void nt_function_buckets(const struct nt_function *function, uint64_t buckets[NT_CALLS_BUCKETS]);

#endif /* NTRACE_SESSION_CALLS_H */
