/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The calls of one thread that are open, as its branches make them. Not for users of the library.
 *
 *	a call		opens a frame, and so does a trap
 *	a return	ends all calls down to the one that came from there. If none did, it is
 *			longjmp() or an exception of C++: the function goes on that the address is
 *			in, and all that it called is over. Else, as for a coroutine, nothing changes.
 *	a trap return	ends the trap that came from there. Elsewhere in the program, it delivers a
 *			signal: the handler is called from where the trap was taken, and is over
 *			when that goes on. A new program has no callers.
 *			The outermost function that is known returns to one that was open all the time.
 *	a jump		to the begin of another function ends the caller, and the other function
 *			returns in its stead (a tail call, an entry of a PLT).
 *
 * Where user code alone is traced, trace stops at a trap and begins after it: that is a trap, too.
 */
#ifndef NTRACE_SESSION_CALLSTACK_H
#define NTRACE_SESSION_CALLSTACK_H

#include "session/array.h"
#include "session/flow/branch.h"

/*
 * Calls beyond this depth never return, and are given up: a stack of 8 MiB has no more frames, as each
 * takes 16 bytes.
 */
#define NS_STACK_DEPTH_MAX	(1 << 19)

/*
 * More handlers of signals do not interrupt each other: there are 64 signals, and a handler's own one
 * waits. So a program with more has begun anew.
 */
#define NS_STACK_SIGNALS_MAX	256

/* A branch, or trace that begins or stops */
struct ns_event {
	uint64_t	time;
	uint64_t	insns;		/* of the thread up to here */
	uint64_t	ran;		/* ns that the thread has run up to here */
	uint64_t	from, to;
	uint64_t	from_space, to_space;
	uint32_t	image;		/* as struct nt_who has it */
	uint8_t		kind, flags, length;
};

struct ns_frame {
	uint64_t	ret, ret_space;	/* where it returns to, and whose code that is */
	uint64_t	begin;		/* ns */
	uint64_t	insns, ran;	/* the thread's counts at its begin */
	uint64_t	child_ran, child_insns;
	uint32_t	function;	/* the owner's */
	uint32_t	image;
	uint32_t	below;		/* the newest trap or signal below: its number + 1; 0: none */
	uint8_t		kind;		/* enum nt_branch_kind of its entry */
	bool		trap;
	bool		signal;		/* a handler */
	bool		unseen;		/* the kernel is not traced: nothing was called */
	bool		outer;		/* it began before the thread's trace, or unseen */
	bool		nested;		/* a call of the same function is open below */
};

struct ns_stack;

struct ns_stack_ops {
	/* A call has begun at @event->to; @frame is the topmost one. false: out of memory */
	bool	(*enter)(struct ns_stack *stack, struct ns_frame *frame,
			 const struct ns_event *event);
	/* @frame, which is no longer in @stack, is over. @seen: it ended; else it was given up */
	bool	(*leave)(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *event, bool seen);
	/* All calls are about to be given up. May be NULL. false: out of memory */
	bool	(*drop)(struct ns_stack *stack, const struct ns_event *event);
};

/* A place in the middle of a function, to which a jump went */
struct ns_target {
	uint64_t	space, addr;
};

#define NS_TARGETS	1024	/* a power of two */

struct ns_stack {
	struct nt_session *session;
	const struct ns_stack_ops *ops;
	void		*ctx;
	struct ns_target *targets;	/* NS_TARGETS of them, so that each is looked up once; may be NULL */
	bool		part;		/* calls from before may be open below */
	uint64_t	child_ran, child_insns;	/* of calls that ended with none open below */
	size_t		signals;		/* handlers that are open */
	bool		follows;	/* a function that nobody was seen to call is a call, too */
	struct ns_frame	outer;		/* its begin, which is that of what is known of the thread */
	NS_ARRAY(struct ns_frame) open;
};

/* ns_stack_add() - a call that is open on top of the others. false: out of memory */
bool ns_stack_add(struct ns_stack *stack, const struct ns_frame *frame);

/* Can it not take so many more calls? Then it has to be emptied, as those it has never return. */
static inline bool ns_stack_is_full(const struct ns_stack *stack, size_t more)
{
	return stack->open.nr + more > NS_STACK_DEPTH_MAX ||
	       stack->signals > NS_STACK_SIGNALS_MAX;
}

/* ns_stack_forget() - all calls, which are somewhere else now or of no interest */
static inline void ns_stack_forget(struct ns_stack *stack)
{
	stack->open.nr = stack->signals = 0;
}

/* ns_stack_begin() - nothing is known of the thread up to @event, at whose end it executes. false: no memory */
bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *event);

/*
 * ns_stack_take() - what an event does
 *
 * Return: 1; 0: only the calls from before can say (if @part); -1: out of memory.
 */
int ns_stack_take(struct ns_stack *stack, const struct ns_event *event);

/*
 * ns_stack_caller() - frame->function of who called the topmost call; 0: nobody is known
 *
 * Where the kernel is not traced, the trap that a signal comes from is no call.
 */
static inline uint32_t ns_stack_caller(const struct ns_stack *stack)
{
	size_t i = stack->open.nr;

	for (i -= i > 0; i > 0; i--) {
		if (!stack->open.at[i - 1].unseen)
			return stack->open.at[i - 1].function;
	}
	return 0;
}

/* ns_stack_drop() - give up all calls that are open. false: out of memory */
bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event);

/* ns_event_init() - of a branch of nt_session_branches() */
void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns, uint64_t ran);

/* Can it begin or end a call? A jump can, if it goes to the begin of another function */
static inline bool ns_branch_matters(const struct nt_branch *branch)
{
	return branch->flags || branch->kind != NT_BRANCH_CONDITIONAL;
}

#endif /* NTRACE_SESSION_CALLSTACK_H */
