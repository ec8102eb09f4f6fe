/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Trees of calls: who called whom, how often, and how long it took. */
#ifndef NTRACE_SESSION_TREE_H
#define NTRACE_SESSION_TREE_H

#include "session/session.h"

/* Calls of one function from one place in the tree */
struct nt_node {
	const char	*object, *symbol;	/* symbol may be NULL */
	uint64_t	calls, ns, insns;	/* with all that it called */
	uint64_t	self_ns, self_insns;	/* without; self_ns is the time in which its thread ran */
	uint32_t	parent, depth;
	uint32_t	first, last, next;	/* children and sibling, as they came; 0: none */
	uint8_t		kind;		/* enum nt_branch_kind of its entry */
	/*
	 * The function is a part of the one that called it. Nobody knows how often it was executed, so
	 * @ns and @insns are those of the calls that it made, and @calls is how many these are.
	 */
	bool		inlined;
};

#define NT_INLINED_MAX	16

/*
 * Who knows which functions were inlined, as nt_lines_at() does
 * @address: of an instruction, as the file has it
 *
 * Return: how many, at most @max; names[0] is the outermost one. Names stay as long as the tree.
 */
typedef size_t (*nt_inlined_fn)(void *ctx, const char *object, uint64_t address,
				const char **names, size_t max);

#endif /* NTRACE_SESSION_TREE_H */
