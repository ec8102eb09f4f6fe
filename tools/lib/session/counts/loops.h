/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Count how often the loops of functions iterate.
 *
 * The head of a loop is the destination of a jump backwards, and the loop is the code from there to the
 * last such jump. A run of a loop begins when a thread enters this code from other code of the function,
 * and ends when the thread leaves it for such code. Calls in the loop do not end it, unless they are
 * recursive. The iterations of a run are the executions of the head.
 */
#ifndef NTRACE_SESSION_LOOPS_H
#define NTRACE_SESSION_LOOPS_H

#include "session/session.h"

struct nt_loop {
	const char	*object;	/* same as in struct nt_place */
	uint64_t	head, last;	/* addresses (see struct nt_place) of the head and of the last jump */
	uint64_t	runs;		/* runs whose start and end are in the trace */
	uint64_t	iterations;	/* iterations of all these runs */
	uint64_t	least, most;	/* iterations of one of these runs */
	uint64_t	by_size[65];	/* number of runs with less than 2^n iterations, but not less than 2^(n-1) */
};

struct nt_loops;

/* nt_loops_new() - create a counter; @filter may be NULL. Return NULL if out of memory. */
struct nt_loops *nt_loops_new(struct nt_session *session, const struct nt_filter *filter);
void nt_loops_free(struct nt_loops *loops);

/*
 * nt_loops_add() - find the loops of the function that contains an instruction
 * @addr: Address of the instruction in the address space @space
 *
 * Return false if out of memory.
 */
bool nt_loops_add(struct nt_loops *loops, uint64_t space, uint64_t addr);

/* nt_loops_run() - decode the recording if there are loops. Return the same values as nt_session_decode(). */
int nt_loops_run(struct nt_loops *loops);

/* nt_loops_at() - return a loop, from @nth = 0 on; NULL after the last one */
const struct nt_loop *nt_loops_at(const struct nt_loops *loops, size_t nth);

#endif /* NTRACE_SESSION_LOOPS_H */
