/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The model of calls. It knows the open calls of a thread, which branches open and close. Users
 * of the library do not include this.
 *
 *	a call		opens a frame, and so does a trap.
 *	a return	ends all calls down to the one that was made just before the address to which it
 *			returns. If there is none, the return is a C++ exception or longjmp(): the
 *			function that contains the address continues, and all its calls are over. If
 *			the function called something that returned to this address, such as setjmp(),
 *			that call of the function continues.
 *	a jump		to the start of another function ends the caller, and the other function
 *			returns in its place (a tail call, or a PLT entry). A jump into the middle of
 *			another function is a return.
 *	a trap return	ends the trap that interrupted the program at this address. If it goes elsewhere
 *			in the program, the kernel delivers a signal: the handler counts as called from
 *			the interrupted address, and ends when the program continues there. A new
 *			program has no callers.
 *	a switch	A return or jump of code that has loaded the stack pointer can continue on
 *			another stack. If the newest call that such code made on another stack returns
 *			to the address, that stack continues, and the current one waits with its open
 *			calls. If no stack expects the address, a new stack starts. If several stacks
 *			expect it, the current stack first goes back to the one that has started it,
 *			then to one that it has started, then to the one that waits for the longest
 *			time; between stacks that switch in the same place, only the time counts.
 *
 *	missing code	is one call, whatever it executes. It ends like any other call. If it continues
 *			at an address that no open call expects, it calls the function there, and a
 *			return of this function to missing code ends that call. If the function returns
 *			to the caller of the missing code, it was a tail call.
 *
 * Each stack counts the instructions and the time that were spent on it. The outermost known function
 * of a stack returns to one that was open all the time.
 *
 * If only user code is traced, trace stops at a trap and restarts after it, which counts as a trap. If trace stops at a jump,
 * the restart shows where the jump went.
 *
 * An address filter also stops and restarts the trace:
 *
 *	at an address	if trace has stopped behind the first instruction of a function. Trace that restarts
 *			at the entry of a function does not show what is still open. So all calls end at the
 *			stop, and the function is a call by unknown code, which returns to a function that was
 *			open since the restart.
 *	around ranges	if trace has stopped at a jump, or at the entry of a function. If it restarts at the
 *			entry of a function, the newest call has called it. If it restarts at the return address
 *			of an open call, that call has returned.
 *
 * The time from such a stop to the restart is not time in which the thread ran.
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
	uint64_t	away;		/* time of the thread on other stacks when the call started, ns */
	uint64_t	resume;		/* address to which a function that saves the stack pointer has returned */
	uint32_t	function;	/* function number, which the stack's owner assigns */
	uint32_t	image;
	uint32_t	below;		/* index + 1 of the newest trap or signal below; 0: none */
	uint8_t		kind;		/* enum nt_branch_kind of the entry */
	bool		trap;
	bool		signal;		/* the frame is a signal handler */
	bool		unseen;		/* trap into a kernel that is not traced, so it is not a call */
	bool		outer;		/* the call started before the thread's trace, or was not traced */
	bool		nested;		/* a call of the same function is open below */
	bool		saves;		/* the stack pointer was saved before a tail call to the function */
	bool		unsure;		/* longjmp() may have ended the call; so its end is not known */
	bool		hidden;		/* the call may have ended while its end could not be seen */
	bool		paused;		/* tracing was off for some time during the call */
	bool		missing;	/* code that is missing made the call, so it returns to an unknown address */
};

/* ns_frame_is_sure() - return true if the trace contains both the start and the end of a call */
static inline bool ns_frame_is_sure(const struct ns_frame *frame)
{
	return !frame->outer && !frame->unsure && !frame->hidden;
}

struct ns_stack;

struct ns_stack_ops {
	/*
	 * Called when a call starts at @event->to. @frame is the topmost frame. May be NULL. Return
	 * false if out of memory.
	 */
	bool	(*enter)(struct ns_stack *stack, struct ns_frame *frame,
			 const struct ns_event *event);
	/*
	 * Called when @frame ends, after it was removed from @stack. @seen is true if the trace
	 * contains the end, and false if the call was given up. May be NULL.
	 */
	bool	(*leave)(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *event, bool seen);
	/*
	 * Called instead of switching to another stack if this is not NULL. Return 1 if the stack was
	 * replaced, 0 if not, and -1 if out of memory.
	 */
	int	(*replay)(struct ns_stack *stack, const struct ns_event *event);
	/*
	 * Called after the stack was replaced or a new one was started. May be NULL. Return -1 if
	 * out of memory.
	 */
	int	(*switched)(struct ns_stack *stack, const struct ns_event *event);
	/*
	 * Called when the calls of the new stack are known. Those with index @nth and above end with the event. May be NULL.
	 * Return false on an error.
	 */
	bool	(*resumed)(struct ns_stack *stack, size_t nth, const struct ns_event *event);
	/* Called before all calls are given up. May be NULL. Return false if out of memory. */
	bool	(*drop)(struct ns_stack *stack, const struct ns_event *event);
};

/* Time and instructions of a thread */
struct ns_spent {
	uint64_t	time, insns, ran;
};

/* One stack of a thread. Only the first three members are used in a part. */
struct ns_one_stack {
	NS_ARRAY(struct ns_frame) open;
	uint64_t	child_ran, child_insns;	/* sums of the calls that ended with no open call below */
	size_t		signals;	/* number of open signal handlers */
	/* frame of the outermost function, which starts when the thread's trace starts */
	struct ns_frame	outer;
	struct ns_spent	away;		/* time and instructions on other stacks */
	uint32_t	number;		/* number of the stack, from 0 on */
	uint32_t	starter;	/* number + 1 of the stack that has switched to this one, 0: none */
	void		*data;		/* data of this model's user; ns_stack_free() frees it */
};

struct ns_waiting {
	struct ns_one_stack stack;
	struct ns_spent	since;		/* counts of the thread when the stack began to wait */
	uint64_t	ret;		/* return address of the stack's newest call; 0: none */
};

enum ns_jump {
	NS_JUMP_INSIDE,		/* the target is in the same function */
	NS_JUMP_TAIL,		/* the target is the start of another function */
	NS_JUMP_MIDDLE,		/* the target is inside another function, or the code of one of the two has no symbol */
};

/*
 * Cached properties of an address, which are the last jump to it and the code before it that
 * leaves a function
 */
struct ns_target {
	uint64_t	space, addr;
	uint64_t	start, end;	/* a jump to @addr from an address in [@start, @end) is of the kind @jump */
	enum ns_jump	jump;
	uint64_t	leaves_space, leaves;
	bool		loads, saves;	/* the code that ends at @leaves loads, or saves, the stack pointer */
};

#define NS_TARGETS	1024	/* entries of the cache of targets; a power of two */

struct ns_stack {
	struct nt_session *session;
	const struct ns_stack_ops *ops;
	void		*ctx;
	struct ns_target *targets;	/* NS_TARGETS entries, so that each address is looked up once */
	bool		part;		/* calls from before this part may be open below */
	bool		drops;		/* ns_stack_ops::leave() is called because calls are given up */
	bool		may_switch;	/* the last event in the part may continue on another stack */
	/* count the outermost function as a call even though its call was not traced */
	bool		follows;
	struct ns_one_stack cur;
	/* The members below are not used in a part. */
	NS_ARRAY(struct ns_waiting) waiting;	/* in the order in which they began to wait */
	uint32_t	switches;	/* number of times that it could switch to another stack */
	uint32_t	nr_stacks;	/* number of stacks that were started, without the first one */
};

/* ns_stack_counts() - Return an event with the counts of the current stack instead of its thread */
static inline struct ns_event ns_stack_counts(const struct ns_stack *stack, const struct ns_event *event)
{
	struct ns_event e = *event;

	e.insns -= stack->cur.away.insns;
	e.ran -= stack->cur.away.ran;
	return e;
}

/* ns_stack_add() - add an open call on top of the others. Return false if out of memory. */
bool ns_stack_add(struct ns_stack *stack, const struct ns_frame *frame);

/*
 * Return true if @more further calls, of which @signals are of signal handlers, do not fit. The stack must then
 * be emptied, because calls that deep never return.
 */
static inline bool ns_stack_is_full(const struct ns_stack *stack, size_t more, size_t signals)
{
	return stack->cur.open.nr + more > NS_STACK_DEPTH_MAX || stack->cur.signals + signals > NS_STACK_SIGNALS_MAX;
}

/* ns_stack_forget() - drop all calls, which the caller has copied or does not need */
static inline void ns_stack_forget(struct ns_stack *stack)
{
	stack->cur.open.nr = stack->cur.signals = 0;
}

/*
 * ns_stack_begin() - start the calls of a thread at @event->to; its earlier calls are unknown
 *
 * Return false if out of memory.
 */
bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *event);

/* ns_stack_restore() - continue with the calls that the caller has added to an empty stack */
void ns_stack_restore(struct ns_stack *stack);

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
	size_t i = stack->cur.open.nr;

	for (i -= i > 0; i > 0; i--) {
		if (!stack->cur.open.at[i - 1].unseen)
			return stack->cur.open.at[i - 1].function;
	}
	return 0;
}

/* ns_stack_cut() - end the call with index @nth and all calls above it. Return the same values as ns_stack_take(). */
int ns_stack_cut(struct ns_stack *stack, size_t nth, const struct ns_event *event);

/* ns_stack_drop() - give up all open calls, also of stacks that wait. Return false if out of memory. */
bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event);

/* ns_stack_free() - free the calls of all stacks and their data, but not @stack and its targets */
void ns_stack_free(struct ns_stack *stack);

/* ns_stack_trap() - return the newest trap of the current stack, or NULL */
const struct ns_frame *ns_stack_trap(const struct ns_stack *stack);

/* ns_same_function() - return true if two places belong to one function, whose parts may have several symbols */
bool ns_same_function(const struct nt_place *a, const struct nt_place *b);

/* ns_jump_to() - find the kind of a jump */
enum ns_jump ns_jump_to(const struct ns_stack *stack, const struct ns_event *e);

/* ns_is_indirect() - return true if the instruction at @e->from jumps through a register */
bool ns_is_indirect(const struct ns_stack *stack, const struct ns_event *e);

/*
 * ns_code_before() - return the entry for the code of user space that ends at @e->from, which has @loads
 *	and @saves of the stack pointer
 */
const struct ns_target *ns_code_before(const struct ns_stack *stack, const struct ns_event *e);

/*
 * ns_find_function() - return the index of the newest call that was made in the function around @to; -1: none
 *
 * Return -1 if @to is the first instruction of a function, where a new call starts.
 */
int64_t ns_find_function(const struct ns_stack *stack, uint64_t space, uint64_t to);

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
