/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A tree of all calls of a recording, or of the calls inside one call, with the number and duration of the calls */
#ifndef NTRACE_SESSION_STACKS_H
#define NTRACE_SESSION_STACKS_H

#include "calls.h"
#include "chains.h"
#include "tree.h"

struct nt_stacks;

/*
 * nt_stacks_new() - decode the recording twice, and count the calls in it
 * @filter: Calls to count, see nt_calls_filter()
 * @inlined: If not NULL, inlined functions from which calls were made also become nodes
 *
 * Return NULL on an error, which nt_session_error() describes, or if out of memory.
 */
struct nt_stacks *nt_stacks_new(struct nt_session *session, const struct nt_filter *filter,
				nt_inlined_fn inlined, void *inlined_ctx);

/*
 * nt_stacks_of() - decode the recording again, and count one call and the calls inside it
 * @chains: Chains of nt_chains_of(), which must stay valid
 * @call: Call of nt_calls_watched()
 *
 * If the call was found, it is the only child of the root. Return the same values as nt_stacks_new().
 */
struct nt_stacks *nt_stacks_of(struct nt_session *session, const struct nt_chains *chains, const struct nt_call *call,
			       nt_inlined_fn inlined, void *inlined_ctx);
void nt_stacks_free(struct nt_stacks *stacks);

/*
 * nt_stacks_nodes() - return the nodes
 *
 * The first node is a root whose children are the functions without a known caller.
 */
const struct nt_node *nt_stacks_nodes(const struct nt_stacks *stacks, size_t *nr);

/* nt_stacks_totals() - get the sums of all calls. @stacks must be from nt_stacks_new(), not from nt_stacks_of(). */
void nt_stacks_totals(const struct nt_stacks *stacks, struct nt_calls_totals *totals);

#endif /* NTRACE_SESSION_STACKS_H */
