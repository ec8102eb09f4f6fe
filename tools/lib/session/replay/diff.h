/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Find the differences between two threads, usually of two recordings. A difference is an instruction after which the
 * threads continued at different addresses. Addresses are compared by the name of the object and the address in its
 * file.
 *
 *	nt_diff_new() -- nt_diff_next() -- nt_diff_free()
 *
 * After a difference or missing trace, both threads are searched for NT_DIFF_CALLS equal calls in a row. Equal calls
 * are calls of the same functions, from the same places, at the same depth. The comparison continues at the equal calls
 * for which the fewest calls are skipped. The search is limited to NT_DIFF_AHEAD calls of each thread, so memory does
 * not depend on the size of the trace.
 */
#ifndef NTRACE_SESSION_DIFF_H
#define NTRACE_SESSION_DIFF_H

#include "path.h"

#define NT_DIFF_CALLS	4
#define NT_DIFF_AHEAD	65536

struct nt_diff;

enum nt_diff_kind {
	NT_DIFF_EQUAL,		/* both threads have ended */
	NT_DIFF_JUMP,		/* the instruction at nt_diff_side::at continued at different addresses */
	NT_DIFF_END,		/* the trace of one thread ends, and the other one continues */
	NT_DIFF_GAP,		/* trace is missing, and the comparison continues after the missing trace */
	NT_DIFF_LOST,		/* no equal calls were found, so the rest is not compared */
};

/* A position of one of the threads */
struct nt_diff_side {
	uint64_t	at;		/* address of the instruction */
	uint64_t	to;		/* address of the next instruction; 0: not known */
	uint64_t	space, time;	/* address space and time, see struct nt_piece */
	/* number of instructions that the thread executed up to the end of the piece of code that contains @at */
	uint64_t	insns;
	bool		gap;		/* trace is missing after @at */
	bool		ended;		/* the trace of the thread ends after @at */
	/*
	 * number of earlier executions of the instruction at @at, and number of earlier calls of the
	 * function that contains it
	 */
	uint64_t	executed, called;
};

/* One side of a comparison */
struct nt_diff_thread {
	struct nt_session *session;
	struct nt_replay *replay;
	int32_t		tid;
};

/* nt_diff_new() - compare two threads. Return NULL if out of memory. */
struct nt_diff *nt_diff_new(const struct nt_diff_thread threads[2]);
void nt_diff_free(struct nt_diff *diff);

/*
 * nt_diff_next() - find the next difference or missing trace
 *
 * Return enum nt_diff_kind, or -1 after an error. Do not call it again after NT_DIFF_EQUAL, NT_DIFF_END, NT_DIFF_LOST
 * or an error.
 */
int nt_diff_next(struct nt_diff *diff, struct nt_diff_side sides[2]);

/*
 * nt_diff_count() - read the trace again, and set nt_diff_side::executed and nt_diff_side::called for the last
 * difference
 *
 * Return false after an error.
 */
bool nt_diff_count(struct nt_diff *diff, struct nt_diff_side sides[2]);

/*
 * nt_diff_callers() - get the addresses of the instructions that made the open calls, the innermost first
 *
 * Return the number of open calls, which may exceed @max.
 */
size_t nt_diff_callers(const struct nt_diff *diff, unsigned int side, uint64_t *callers, size_t max);

#endif /* NTRACE_SESSION_DIFF_H */
