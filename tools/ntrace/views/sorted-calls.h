/* SPDX-License-Identifier: GPL-2.0-only */
/* Each call of a recording, in order; of those that begin at once the outer one first */
#ifndef NTRACE_TOOL_SORTED_CALLS_H
#define NTRACE_TOOL_SORTED_CALLS_H

#include "session/calls/calls.h"

struct sorted_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	bool	by_thread;	/* by nt_slice::thread, then nt_call::at; else by time */
	bool	open;		/* those, too, of which no end was recorded */
	/* Before the first call. May be NULL. 0 to go on; else errno says what failed */
	int	(*begin)(void *ctx, const struct nt_calls *calls);
	/* call->at counts the instructions of the thread. 0 to go on; else as above */
	int	(*take)(void *ctx, const struct nt_call *call, const struct nt_function *function);
	int	(*end)(void *ctx);	/* after the last one. May be NULL */
	void	*ctx;
	const char *output;	/* what those functions write, for messages; may be NULL */
	bool	errors;		/* the trace or the code had some */
};

/* 0; -1: it failed, and was reported */
int sorted_calls_each(struct sorted_calls *sorted);

#endif /* NTRACE_TOOL_SORTED_CALLS_H */
