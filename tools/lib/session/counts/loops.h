/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Count how often the loops of functions iterate.
 *
 * The head of a loop is the destination of a jump backwards, and the loop is the code from its head
 * to the last jump to this head. A run of a loop begins when a thread enters the loop from other
 * code of the same function. The run ends when the thread continues in other code of this function,
 * or returns from it. Calls in the loop do not end the run, unless they are recursive. The number
 * of iterations of a run is the number of times that the head was executed.
 */
#ifndef NTRACE_SESSION_LOOPS_H
#define NTRACE_SESSION_LOOPS_H

#include "session/session.h"

struct nt_loop {
	const char	*object;	/* object of the loop's function (see struct nt_place) */
	uint64_t	head, last;	/* addresses of the head and of the last jump (see struct nt_place) */
	uint64_t	runs;		/* number of runs of the loop whose start and end are in the trace */
	uint64_t	iterations;	/* number of iterations of all runs that are counted in @runs */
	uint64_t	least, most;	/* minimum and maximum number of iterations of one of the runs in @runs */
	/*
	 * by_size[n] is the number of runs, of those in @runs, with at least 2^(n-1) and less than
	 * 2^n iterations; by_size[0] is the number of runs with 0 iterations
	 */
	uint64_t	by_size[65];
};

struct nt_loops;

/* nt_loops_new() - create an empty list of loops; @filter may be NULL. Return NULL if out of memory. */
struct nt_loops *nt_loops_new(struct nt_session *session, const struct nt_filter *filter);
void nt_loops_free(struct nt_loops *loops);

/*
 * nt_loops_add() - add the loops of the function that contains an instruction
 * @addr: Address of the instruction in the address space @space
 *
 * Return false if out of memory.
 */
bool nt_loops_add(struct nt_loops *loops, uint64_t space, uint64_t addr);

/*
 * nt_loops_run() - decode the recording if the list has loops, and count the runs of these loops.
 * Return the same values as nt_session_decode().
 */
int nt_loops_run(struct nt_loops *loops);

/* nt_loops_at() - return the loop with index @nth, from 0; NULL after the last loop */
const struct nt_loop *nt_loops_at(const struct nt_loops *loops, size_t nth);

#endif /* NTRACE_SESSION_LOOPS_H */
