/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Who called whom in all of a recording, how often, and how long it took: one tree. */
#ifndef NTRACE_SESSION_STACKS_H
#define NTRACE_SESSION_STACKS_H

#include "calls.h"
#include "tree.h"

struct nt_stacks;

/*
 * nt_stacks_new() - decode the recording, twice, and count the calls in it
 * @filter: of the calls, as nt_calls_filter() has it
 * @inlined: may be NULL; inlined functions are nodes, too, if something was called from them
 *
 * Return: NULL: nt_session_error() says why, or there is no memory.
 */
struct nt_stacks *nt_stacks_new(struct nt_session *session, const struct nt_filter *filter,
				nt_inlined_fn inlined, void *inlined_ctx);
void nt_stacks_free(struct nt_stacks *stacks);

/*
 * nt_stacks_nodes() - the first one is no function: its children are those that nobody called
 *
 * Calls whose begin or end is not in the trace are no part of nt_node::calls, but of all else.
 */
const struct nt_node *nt_stacks_nodes(const struct nt_stacks *stacks, size_t *nr);

void nt_stacks_totals(const struct nt_stacks *stacks, struct nt_calls_totals *totals);

#endif /* NTRACE_SESSION_STACKS_H */
