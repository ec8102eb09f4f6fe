/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What others of the session library do with call chains; not for users of it. */
#ifndef NTRACE_SESSION_CHAINS_PRIV_H
#define NTRACE_SESSION_CHAINS_PRIV_H

#include "calls-priv.h"
#include "chains.h"

struct nt_chain {
	const struct nt_chains *chains;
	uint64_t	stretch, nth;	/* nth: of the next slice */
	/*
	 * As ns_stack_take() leaves it. Frames that a slice begins with have the functions of
	 * ns_chains_calls(), and all of them are complete.
	 */
	struct ns_stack	stack;
	bool		(*begun)(struct ns_stack *stack);	/* a slice has; may be NULL */
	int32_t		tid, cpu;
	uint64_t	insns;		/* that the thread has executed */
	bool		inside;		/* a slice has begun, and goes on */
};

/* ns_chains_new() - as nt_chains_new(); @filter, which may be NULL, is that of the calls */
struct nt_chains *ns_chains_new(struct nt_session *session, const struct nt_filter *filter);
const struct nt_calls *ns_chains_calls(const struct nt_chains *chains);

#endif /* NTRACE_SESSION_CHAINS_PRIV_H */
