/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pass the calls of each thread of a recording to functions, one thread after the other, together
 * with the calls that contain each call.
 */
#ifndef NTRACE_TOOL_NESTED_CALLS_H
#define NTRACE_TOOL_NESTED_CALLS_H

#include "session/array.h"
#include "sorted-calls.h"

struct nested_call {
	struct nt_call	call;
	const struct nt_function *function;
	/* sums over the calls directly inside this call, which are complete when leave() is called */
	uint64_t	child_ns, child_ran, child_insns;
	uint32_t	thread;			/* number of the thread (nt_slice::thread) */
	uint32_t	depth;			/* number of calls that contain this call */
	/* value that enter() may set, for leave() and for the calls inside this call */
	uint64_t	user;
};

struct nested_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	const struct nt_calls *calls;	/* calls of the recording; nested_calls_each() sets this before begin() */
	/*
	 * enter() is called at the start of each call, and leave() at its end. begin() and end()
	 * have the same meaning as the members of struct sorted_calls. Each function may be NULL.
	 */
	int	(*begin)(void *ctx, const struct nt_calls *calls);
	int	(*enter)(void *ctx, struct nested_call *call);
	int	(*leave)(void *ctx, const struct nested_call *call);
	int	(*end)(void *ctx);
	void	*ctx;
	const char *output;	/* file to which these functions write, for error messages; NULL: none */
	/* Calls that contain the call that is passed to enter() or leave(), the outermost first */
	NS_ARRAY(struct nested_call) open;
};

/* Pass all calls. Return 0, or -1 after an error, which was reported. */
int nested_calls_each(struct nested_calls *nested);

#endif /* NTRACE_TOOL_NESTED_CALLS_H */
