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
 *	a jump		to the begin of another function ends the caller, and the other function
 *			returns in its stead (a tail call, an entry of a PLT).
 *
 * Where user code alone is traced, trace stops at a trap and begins after it: that is a trap, too.
 */
#ifndef NTRACE_SESSION_CALLSTACK_H
#define NTRACE_SESSION_CALLSTACK_H

#include "array.h"
#include "branch.h"

/* A branch, or trace that begins or stops */
struct ns_event {
	uint64_t	time;
	uint64_t	insns;		/* of the thread up to here */
	uint64_t	from, to;
	uint64_t	from_space, to_space;
	uint32_t	image;		/* as struct nt_who has it */
	uint8_t		kind, flags, length;
};

struct ns_frame {
	uint64_t	ret, ret_space;	/* where it returns to, and whose code that is */
	uint64_t	begin;		/* ns */
	uint64_t	insns;		/* the thread's count at its begin */
	uint64_t	child_ns, child_insns;
	uint32_t	function;	/* the owner's */
	uint32_t	image;
	uint8_t		kind;		/* enum nt_branch_kind of its entry */
	bool		trap;
	bool		signal;		/* a handler */
	bool		unseen;		/* the kernel is not traced: nothing was called */
};

struct ns_stack;

struct ns_stack_ops {
	/* A call has begun at @event->to; @frame is the topmost one. false: out of memory */
	bool	(*enter)(struct ns_stack *stack, struct ns_frame *frame,
			 const struct ns_event *event);
	/* @frame, which is no longer in @stack, is over. @seen: it ended; else it was given up */
	bool	(*leave)(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *event, bool seen);
};

struct ns_stack {
	struct nt_session *session;
	const struct ns_stack_ops *ops;
	void		*ctx;
	bool		part;		/* calls from before may be open below */
	uint64_t	child_ns, child_insns;	/* of calls that ended with none open below */
	NS_ARRAY(struct ns_frame) open;
};

/*
 * ns_stack_take() - what an event does
 *
 * Return: 1; 0: only the calls from before can say (if @part); -1: out of memory.
 */
int ns_stack_take(struct ns_stack *stack, const struct ns_event *event);

/* ns_stack_drop() - give up all calls that are open. false: out of memory */
bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event);

/* ns_event_init() - of a branch of nt_session_branches() */
void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns);

/* Can it begin or end a call? A jump can, if it goes to the begin of another function */
static inline bool ns_branch_matters(const struct nt_branch *branch)
{
	return branch->flags || branch->kind != NT_BRANCH_CONDITIONAL;
}

#endif /* NTRACE_SESSION_CALLSTACK_H */
