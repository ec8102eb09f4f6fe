/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What one call did: a tree of the functions that it called, with their times. */
#ifndef NTRACE_SESSION_CALLTREE_H
#define NTRACE_SESSION_CALLTREE_H

#include "calls.h"
#include "tree.h"

struct nt_calltree;

/*
 * nt_calltree_new() - decode the recording again, for one call
 * @call: of nt_calls_watched()
 * @symbol: its function
 * @inlined: may be NULL; inlined functions are nodes, too, if something was called from them
 *
 * Return: NULL: nt_session_error() says why, or there is no memory.
 */
struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol, nt_inlined_fn inlined, void *inlined_ctx);
void nt_calltree_free(struct nt_calltree *tree);

/*
 * nt_calltree_nodes() - the first one is no function: its only child is the call. Fewer than 2 nodes:
 * the call was not found again
 */
const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr);

#endif /* NTRACE_SESSION_CALLTREE_H */
