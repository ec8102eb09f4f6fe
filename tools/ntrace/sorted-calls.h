/* SPDX-License-Identifier: GPL-2.0-only */
/* Each call that began and ended in a recording, by its begin; of equal ones the outer one first */
#ifndef NTRACE_TOOL_SORTED_CALLS_H
#define NTRACE_TOOL_SORTED_CALLS_H

#include "session/calls.h"

struct sorted_calls {
	struct nt_session *session;
	const struct nt_filter *filter;
	/* 0 to go on; else errno says what failed */
	int	(*take)(void *ctx, const struct nt_call *call, const struct nt_function *function);
	void	*ctx;
	bool	errors;		/* the trace or the code had some */
};

/* 0; -1: it failed, and was reported */
int sorted_calls_each(struct sorted_calls *sorted);

#endif /* NTRACE_TOOL_SORTED_CALLS_H */
