/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Functions of call chains for other files of the session library. Users of the library do not
 * include this.
 */
#ifndef NTRACE_SESSION_CHAINS_PRIV_H
#define NTRACE_SESSION_CHAINS_PRIV_H

#include "calls-priv.h"
#include "chains.h"

struct nt_chain {
	const struct nt_chains *chains;
	uint64_t	stretch, nth;	/* @nth is the number of the next slice */
	/*
	 * The open calls after the last ns_stack_take(). Frames that were open at the start of the slice
	 * have all members set, and their function numbers are those of nt_chains_calls().
	 */
	struct ns_stack	stack;
	/* called after a slice has started and its open calls were added to the stack; may be NULL */
	bool		(*begun)(struct ns_stack *stack);
	struct ns_running running;	/* thread, CPU and times of the slice */
	int32_t		tid, cpu;
	uint64_t	insns;		/* number of instructions that the thread has executed */
	/* time that the thread had run at the start of the slice, ns */
	uint64_t	ran;
	bool		inside;		/* a slice has started and continues */
	/* number of the stack among those of all threads, in the order in which nt_chains_new() found them */
	uint32_t	thread;
	uint32_t	outermost;	/* index + 1 in nt_calls::outermost of the outermost known call, 0: none */
};

/* Function that ns_chains_new() calls before the calls of a stack are dropped, like ns_stack_ops::drop */
typedef bool (*ns_chains_drop_fn)(void *ctx, const struct nt_chains *chains, const struct ns_thread_calls *thread,
				  const struct ns_event *event);

/* ns_chains_new() - decode the recording like nt_chains_of(); @filter, @symbol and @drop may be NULL */
struct nt_chains *ns_chains_new(struct nt_session *session, const struct nt_filter *filter, const char *symbol,
				ns_chains_drop_fn drop, void *drop_ctx);

/*
 * ns_chain_replay() - replace the calls in nt_chain::stack if the event switches to another stack
 *
 * This is the function ns_stack_ops::replay of nt_chain::stack. Return 1 if the calls were replaced, 0 if not, and
 * -1 if out of memory.
 */
int ns_chain_replay(struct ns_stack *stack, const struct ns_event *event);

/* ns_audit() - set *audit for an event, before ns_stack_take() applies the event to the stack */
void ns_audit(const struct ns_stack *stack, const struct ns_event *event, struct nt_audit *audit);

#endif /* NTRACE_SESSION_CHAINS_PRIV_H */
