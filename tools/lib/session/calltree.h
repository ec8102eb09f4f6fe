/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What one call did: a tree of the functions that it called, with their times. */
#ifndef NTRACE_SESSION_CALLTREE_H
#define NTRACE_SESSION_CALLTREE_H

#include "calls.h"

/* Calls of one function from one place in the tree */
struct nt_node {
	const char	*object, *symbol;	/* symbol may be NULL */
	uint64_t	space, addr;		/* that it was entered at first */
	uint64_t	calls, ns, insns;	/* with all that it called */
	uint32_t	parent, depth;
	uint32_t	first, next;	/* child and sibling, in the order of time; 0: none */
	uint8_t		kind;			/* enum nt_branch_kind of its entry */
};

struct nt_calltree;

/*
 * nt_calltree_new() - decode the recording again, for one call
 * @call: of nt_calls_watched()
 * @symbol: its function
 *
 * Return: NULL: nt_session_error() says why, or there is no memory.
 */
struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol);
void nt_calltree_free(struct nt_calltree *tree);

/* nt_calltree_nodes() - the root is the first; 0 nodes: the call was not found again */
const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr);

#endif /* NTRACE_SESSION_CALLTREE_H */
