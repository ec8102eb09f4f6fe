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
	struct ns_running running;	/* of the slice */
	int32_t		tid, cpu;
	uint64_t	insns;		/* that the thread has executed */
	uint64_t	ran;		/* ns that it had run when the slice began */
	bool		inside;		/* a slice has begun, and goes on */
};

/* The calls of a thread that are open in @stack are about to be given up */
typedef bool (*ns_chains_drop_fn)(void *ctx, const struct nt_chains *chains,
				  const struct ns_stack *stack, const struct ns_event *event,
				  int32_t tid, int32_t cpu);

/* ns_chains_new() - as nt_chains_new(); @filter and @drop may be NULL */
struct nt_chains *ns_chains_new(struct nt_session *session, const struct nt_filter *filter,
				ns_chains_drop_fn drop, void *drop_ctx);
const struct nt_calls *ns_chains_calls(const struct nt_chains *chains);

#endif /* NTRACE_SESSION_CHAINS_PRIV_H */
