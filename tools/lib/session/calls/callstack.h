/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The open calls of one thread, which its branches open and close. Users of the library do not
 * include this.
 *
 *	a call		opens a frame, and so does a trap.
 *	a return	ends all calls down to the one that was made just before the returned-to address.
 *			If there is none, the return is longjmp() or a C++ exception: the function that
 *			contains the address continues, and all its calls are over. If no open function
 *			contains it either, such as with a coroutine, nothing changes.
 *	a trap return	ends the trap that interrupted the program at this address. If it goes elsewhere
 *			in the program, the kernel delivers a signal: the handler counts as called from
 *			the interrupted address, and ends when the program continues there. A new
 *			program has no callers.
 *			The outermost known function returns to one that was open all the time.
 *	a jump		to the start of another function ends the caller, and the other function
 *			returns in its place (a tail call, or a PLT entry).
 *
 * If only user code is traced, trace stops at a trap and restarts after it, which counts as a trap.
 */
#ifndef NTRACE_SESSION_CALLSTACK_H
#define NTRACE_SESSION_CALLSTACK_H

#include "session/array.h"
#include "session/flow/branch.h"

/*
 * Calls beyond this depth are given up because they never return. A stack of 8 MiB has no more
 * frames, since each takes at least 16 bytes.
 */
#define NS_STACK_DEPTH_MAX	(1 << 19)

/*
 * More signal handlers than this cannot interrupt each other, because there are 64 signals and a
 * handler blocks its own signal. A program with more open handlers has started anew.
 */
#define NS_STACK_SIGNALS_MAX	256

/* A branch, or the start or stop of trace */
struct ns_event {
	uint64_t	time;
	uint64_t	insns;		/* instructions of the thread up to here */
	uint64_t	ran;		/* time that the thread has run up to here, ns */
	uint64_t	from, to;
	uint64_t	from_space, to_space;
	uint32_t	image;		/* same as nt_who::image */
	uint8_t		kind, flags, length;
};

struct ns_frame {
	uint64_t	ret, ret_space;	/* return address, and its address space */
	uint64_t	begin;		/* start time, ns */
	uint64_t	insns, ran;	/* the thread's counts when the call started */
	uint64_t	child_ran, child_insns;
	uint32_t	function;	/* function number, which the stack's owner assigns */
	uint32_t	image;
	uint32_t	below;		/* index + 1 of the newest trap or signal below; 0: none */
	uint8_t		kind;		/* enum nt_branch_kind of the entry */
	bool		trap;
	bool		signal;		/* the frame is a signal handler */
	bool		unseen;		/* trap into a kernel that is not traced, so it is not a call */
	bool		outer;		/* the call started before the thread's trace, or was not traced */
	bool		nested;		/* a call of the same function is open below */
};

struct ns_stack;

struct ns_stack_ops {
	/*
	 * Called when a call starts at @event->to. @frame is the topmost frame. Return false if out
	 * of memory.
	 */
	bool	(*enter)(struct ns_stack *stack, struct ns_frame *frame,
			 const struct ns_event *event);
	/*
	 * Called when @frame ends, after it was removed from @stack. @seen is true if the trace
	 * contains the end, and false if the call was given up.
	 */
	bool	(*leave)(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *event, bool seen);
	/* Called before all calls are given up. May be NULL. Return false if out of memory. */
	bool	(*drop)(struct ns_stack *stack, const struct ns_event *event);
};

/* An address in the middle of a function that was the target of a jump */
struct ns_target {
	uint64_t	space, addr;
};

#define NS_TARGETS	1024	/* a power of two */

struct ns_stack {
	struct nt_session *session;
	const struct ns_stack_ops *ops;
	void		*ctx;
	/* NS_TARGETS entries, so that each target is looked up once; may be NULL */
	struct ns_target *targets;
	bool		part;		/* calls from before this part may be open below */
	uint64_t	child_ran, child_insns;	/* sums of the calls that ended with no open call below */
	size_t		signals;		/* number of open signal handlers */
	/* count the outermost function as a call even though its call was not traced */
	bool		follows;
	/* frame of the outermost function, which starts when the thread's trace starts */
	struct ns_frame	outer;
	NS_ARRAY(struct ns_frame) open;
};

/* ns_stack_add() - add an open call on top of the others. Return false if out of memory. */
bool ns_stack_add(struct ns_stack *stack, const struct ns_frame *frame);

/*
 * Return true if @more further calls do not fit. The stack must then be emptied, because calls that
 * deep never return.
 */
static inline bool ns_stack_is_full(const struct ns_stack *stack, size_t more)
{
	return stack->open.nr + more > NS_STACK_DEPTH_MAX ||
	       stack->signals > NS_STACK_SIGNALS_MAX;
}

/* ns_stack_forget() - drop all calls, which the caller has copied or does not need */
static inline void ns_stack_forget(struct ns_stack *stack)
{
	stack->open.nr = stack->signals = 0;
}

/*
 * ns_stack_begin() - start with a thread that is unknown before @event and executes at @event->to
 *
 * Return false if out of memory.
 */
bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *event);

/*
 * ns_stack_take() - apply an event to the stack
 *
 * Return: 1; 0 if the effect depends on calls from before the part (only if @part); -1 if out of
 * memory.
 */
int ns_stack_take(struct ns_stack *stack, const struct ns_event *event);

/*
 * ns_stack_caller() - return frame->function of the caller of the topmost call; 0 if the caller is
 * unknown
 *
 * If the kernel is not traced, the trap that delivers a signal is not a call.
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

/* ns_stack_drop() - give up all open calls. Return false if out of memory. */
bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event);

/* ns_event_init() - make an event from a branch of nt_session_branches() */
void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns, uint64_t ran);

/*
 * Return true if the branch can start or end a call. A jump can if it goes to the start of a
 * function.
 */
static inline bool ns_branch_matters(const struct nt_branch *branch)
{
	return branch->flags || branch->kind != NT_BRANCH_CONDITIONAL;
}

#endif /* NTRACE_SESSION_CALLSTACK_H */
