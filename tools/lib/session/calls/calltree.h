/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The tree of the functions that one call called, with their times. */
#ifndef NTRACE_SESSION_CALLTREE_H
#define NTRACE_SESSION_CALLTREE_H

#include "calls.h"
#include "tree.h"

struct nt_calltree;

/*
 * nt_calltree_new() - decode the recording again, for one call
 * @call: Call of nt_calls_watched()
 * @symbol: Its function
 * @inlined: If not NULL, inlined functions from which calls were made also become nodes
 *
 * Return NULL on an error, which nt_session_error() describes, or if out of memory.
 */
struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol, nt_inlined_fn inlined, void *inlined_ctx);
void nt_calltree_free(struct nt_calltree *tree);

/*
 * nt_calltree_nodes() - return the nodes
 *
 * The first node is a root whose only child is the call. There are fewer than 2 nodes if the second
 * decoding did not find the call.
 */
const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr);

#endif /* NTRACE_SESSION_CALLTREE_H */
