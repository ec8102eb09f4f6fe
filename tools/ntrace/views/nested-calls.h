/* SPDX-License-Identifier: GPL-2.0-only */
/* Pass each call of a recording, thread by thread, together with the calls that contain it */
#ifndef NTRACE_TOOL_NESTED_CALLS_H
#define NTRACE_TOOL_NESTED_CALLS_H

#include "session/array.h"
#include "sorted-calls.h"

struct nested_call {
	struct nt_call	call;
	const struct nt_function *function;
	uint64_t	child_ns, child_insns;	/* sums of its calls, complete when it ends */
	uint32_t	thread;			/* same as nt_slice::thread */
	uint32_t	depth;			/* number of calls around it */
	uint64_t	user;			/* value for enter() */
};

struct nested_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	const struct nt_calls *calls;	/* valid when begin() is called and later */
	/* Functions as in struct sorted_calls; each may be NULL */
	int	(*begin)(void *ctx, const struct nt_calls *calls);
	int	(*enter)(void *ctx, struct nested_call *call);
	int	(*leave)(void *ctx, const struct nested_call *call);
	int	(*end)(void *ctx);
	void	*ctx;
	const char *output;	/* same as sorted_calls::output */
	bool	errors;
	/* Calls around the call that is passed to enter() or leave(), the outermost first */
	NS_ARRAY(struct nested_call) open;
};

/* Return 0, or -1 after an error, which was reported. */
int nested_calls_each(struct nested_calls *nested);

#endif /* NTRACE_TOOL_NESTED_CALLS_H */
