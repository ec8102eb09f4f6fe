/* SPDX-License-Identifier: GPL-2.0-only */
/* The calls of a recording, thread by thread, each with those that are around it */
#ifndef NTRACE_TOOL_NESTED_CALLS_H
#define NTRACE_TOOL_NESTED_CALLS_H

#include "session/array.h"
#include "sorted-calls.h"

struct nested_call {
	struct nt_call	call;
	const struct nt_function *function;
	uint64_t	child_ns, child_insns;	/* of calls from it; known when it ends */
	uint32_t	thread;			/* as struct nt_slice has it */
	uint32_t	depth;			/* 0: none is around it */
	uint64_t	user;			/* what enter() wants to keep */
};

struct nested_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	const struct nt_calls *calls;	/* from begin() on */
	/* As in struct sorted_calls; each may be NULL */
	int	(*begin)(void *ctx, const struct nt_calls *calls);
	int	(*enter)(void *ctx, struct nested_call *call);
	int	(*leave)(void *ctx, const struct nested_call *call);
	int	(*end)(void *ctx);
	void	*ctx;
	const char *output;	/* as in struct sorted_calls */
	bool	errors;
	/* Those around the call that enter() or leave() is called for, the outermost first */
	NS_ARRAY(struct nested_call) open;
};

/* 0; -1: it failed, and was reported */
int nested_calls_each(struct nested_calls *nested);

#endif /* NTRACE_TOOL_NESTED_CALLS_H */
