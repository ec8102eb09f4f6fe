/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Call trees, which contain callers and callees, the number of calls and their durations. */
#ifndef NTRACE_SESSION_TREE_H
#define NTRACE_SESSION_TREE_H

#include "session/session.h"

/* Calls of one function with the same callers */
struct nt_node {
	const char	*object, *symbol;	/* @symbol is FILE+0xADDRESS if the function has no symbol */
	uint64_t	address;		/* start address of the function in the file; 0 if it was inlined */
	uint64_t	calls;			/* number of calls that started and ended in the trace */
	uint64_t	open;			/* number of calls whose start or end was not recorded */
	/*
	 * Sums of the calls in @calls and @open, including the functions that they called. @ns is wall-clock
	 * time. @ran is the time in which the thread ran, ns.
	 */
	uint64_t	ns, ran, insns;
	uint64_t	longest, longest_ran;	/* maximum of the times @ns and @ran of these calls, ns */
	/* sums without the called functions; @self_ns is the time in which the thread ran */
	uint64_t	self_ns, self_insns;
	uint32_t	parent, depth;
	/* first and last child, and next sibling, in the order of their first calls; 0: none */
	uint32_t	first, last, next;
	uint8_t		trap;		/* NT_BRANCH_SYSCALL, _EXCEPTION or _INTERRUPT if a trap has entered the function, else 0 */
	/*
	 * The function was inlined into its parent. The number of its executions is not known, so
	 * @ns, @ran and @insns are sums of the calls that the function made, and @calls and @open are the numbers
	 * of these calls.
	 */
	bool		inlined;
};

#define NT_INLINED_MAX	16

/*
 * Function that finds inlined functions, such as nt_lines_at()
 * @address: Address of an instruction in the file
 *
 * Return the number of inlined functions, which is at most @max. names[0] is the outermost one. The
 * names must stay valid until the call tree is freed.
 */
typedef size_t (*nt_inlined_fn)(void *ctx, const char *object, uint64_t address,
				const char **names, size_t max);

#endif /* NTRACE_SESSION_TREE_H */
