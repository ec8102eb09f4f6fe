/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pass each call of a recording to a function, in the order of time or of threads. If several calls
 * start at the same time, the outermost of them is passed first.
 */
#ifndef NTRACE_TOOL_SORTED_CALLS_H
#define NTRACE_TOOL_SORTED_CALLS_H

#include "session/calls/calls.h"

struct sorted_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	bool	by_thread;	/* sort by nt_slice::thread, then by nt_call::at, and not by time */
	bool	open;		/* include calls whose end was not recorded */
	/*
	 * Called before the first call. May be NULL. Return 0 to continue, or another value with
	 * errno.
	 */
	int	(*begin)(void *ctx, const struct nt_calls *calls);
	/*
	 * Called for each call. call->at is the number of instructions that the thread has executed
	 * before the call. Return the same values as begin().
	 */
	int	(*take)(void *ctx, const struct nt_call *call, const struct nt_function *function);
	int	(*end)(void *ctx);	/* called after the last call; may be NULL */
	void	*ctx;
	/* name of the file to which the functions above write, for error messages; NULL: none */
	const char *output;
};

/* Pass all calls. Return 0, or -1 after an error, which was reported. */
int sorted_calls_each(struct sorted_calls *sorted);

#endif /* NTRACE_TOOL_SORTED_CALLS_H */
