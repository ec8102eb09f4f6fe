/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of the session library know of calls; not for others. */
#ifndef NTRACE_SESSION_CALLS_PRIV_H
#define NTRACE_SESSION_CALLS_PRIV_H

#include "calls.h"
#include "callstack.h"

/*
 * ns_calls_each_slice() - call @fn with the calls that are open when each slice begins
 * @nth: which one it is of its stretch, counting those only that begin with another thread or CPU,
 *	or after an error
 *
 * nt_calls_run() returns what is not 0.
 */
typedef int (*ns_slice_fn)(void *ctx, uint64_t stretch, uint64_t nth,
			   const struct ns_stack *stack);
void ns_calls_each_slice(struct nt_calls *calls, ns_slice_fn fn, void *ctx);

#endif /* NTRACE_SESSION_CALLS_PRIV_H */
