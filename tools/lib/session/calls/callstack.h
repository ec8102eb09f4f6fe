/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The model of calls. It knows the open calls of a thread, which branches open and close. Users
 * of the library do not include this.
 *
 *	a call		opens a frame. A trap also opens a frame.
 *	a return	ends the newest call whose return address is the target of the return, and all
 *			calls that were made after that call. If no open call has this return address,
 *			the return is a C++ exception or longjmp(). The function that contains the
 *			address then continues, and all calls that it has made end. If several calls of
 *			the function are open, the call continues in which a function such as setjmp()
 *			has returned to this address.
 *	a jump		to the start of another function ends the call of the function that jumps. The
 *			other function returns in its place (a tail call, or a PLT entry). A jump into
 *			the middle of another function is treated as a return.
 *	a trap return	ends the trap that interrupted the program at the target of the return. If no
 *			trap did, the kernel delivers a signal. The signal handler is then a call from
 *			the interrupted address, and ends when the program continues there, or when the
 *			handler has called rt_sigreturn() and the kernel starts the next handler. If the
 *			kernel starts a new program, this program has no callers.
 *	a switch	A return or jump of code that has loaded the stack pointer can continue on
 *			another stack of the thread. A stack that is not in use waits with its open
 *			calls, and expects the return address of its newest call. If a waiting stack
 *			expects the target, this stack continues, and the current stack waits. If
 *			no stack expects the target, a new stack starts. If several stacks expect it, the
 *			stack is preferred whose callers are those to which the following code returns,
 *			then the stack that has started the current one, then a stack that the
 *			current one has started, then the stack that waits for the longest time. If
 *			the newest call of the current stack also has this return address, all these
 *			stacks switch at the same place in the code. Then the stack that waits for the
 *			longest time continues. If a stack of the thread has ever continued before one
 *			that waited longer, the calls of all these stacks are unsure. A call by code that
 *			has loaded the stack pointer runs on another stack, but belongs to its caller's
 *			stack. If this call switches, the stack also expects the return
 *			address of the function that has made the call, as goroutines of Go do. If a function
 *			contains the code of the switch, its stack expects the address behind this code. A jump
 *			inside a function, as through the table of a switch statement, starts no new stack.
 *
 *	missing code	All code that the recording lacks is treated as a single call, which ends like
 *			any other call. If execution continues in known code, at an address that no open
 *			call expects, the missing code has called the function there. This call ends when
 *			the function returns to missing code. If the function returns to the caller of the
 *			missing code, the missing code had ended with a tail call.
 *
 * Each stack counts the instructions and the time that were spent on it. The outermost known function
 * of a stack returns to a function that was open since the start of the stack's trace.
 *
 * If only user code is traced, trace stops at a trap and starts again after the trap. The stop counts as a trap. If
 * trace stops at a jump, the address at which trace starts again is the target of the jump.
 *
 * An address filter also stops the trace and starts it again. The model recognises two kinds of filters.
 *
 *	at an address	The filter starts and stops the trace at chosen addresses. The model assumes this if
 *			trace has stopped behind the first instruction of a function. If trace starts again at
 *			the entry of a function, the calls that are open at that time are unknown. All calls
 *			therefore end at the stop, and unknown code has called the function. The function
 *			returns to a function that was open since the trace started again.
 *	around ranges	The filter selects ranges of code. The model assumes this if trace has stopped at a
 *			jump, or at the entry of a function. If trace starts again at the entry of a function,
 *			the function of the newest open call has called it. If trace starts again at the return
 *			address of an open call, that call has returned. If the newest call has left the ranges
 *			in the middle of its function, and trace starts again at the entry of the same function,
 *			the call has ended where it left. If the function has a jump to its first instruction,
 *			the call may have continued there, so it is unsure.
 *
 * A thread does not count as running between the stop of a filter and the next start.
 */
#ifndef NTRACE_SESSION_CALLSTACK_H
#define NTRACE_SESSION_CALLSTACK_H

#include "session/array.h"
#include "session/flow/branch.h"

/*
 * Maximum number of open calls. If more calls are open, they can never return, so all of them are
 * dropped. A stack of 8 MiB cannot have more frames, because each frame takes at least 16 bytes.
 */
#define NS_STACK_DEPTH_MAX	(1 << 19)

/*
 * More signal handlers than this cannot interrupt each other, because there are 64 signals and a
 * handler blocks its own signal. If more handlers are open, the model has missed the start of a new
 * program.
 */
#define NS_STACK_SIGNALS_MAX	256

/* A branch, or the start or stop of trace */
struct ns_event {
	uint64_t	time;
	uint64_t	insns;		/* number of instructions that the thread has executed before the event */
	uint64_t	ran;		/* time that the thread has run before the event, ns */
	uint64_t	from, to;
	uint64_t	from_space, to_space;
	uint32_t	image;		/* number of the program that the process executes, as nt_who::image */
	uint8_t		kind, flags, length;
};

struct ns_frame {
	uint64_t	ret, ret_space;	/* return address, and its address space */
	uint64_t	begin;		/* start time, ns */
	uint64_t	insns, ran;	/* ns_event::insns and ns_event::ran when the call started */
	uint64_t	child_ran, child_insns;
	uint64_t	away;		/* time that the thread had spent on other stacks at the start, ns */
	/*
	 * for a call, the address to which a function such as setjmp() has returned, and at which longjmp() may
	 * continue the call; 0: none. For code without trace (@unseen), the address at which trace has stopped. For the
	 * outermost function (@outer), the address in this function at which its trace has started.
	 */
	uint64_t	resume;
	uint32_t	function;	/* function number, which the stack's owner assigns */
	uint32_t	image;
	uint32_t	below;		/* index + 1 of the next older frame of a trap or signal handler; 0: none */
	uint8_t		kind;		/* enum nt_branch_kind of the entry */
	bool		trap;
	bool		signal;		/* the frame is a signal handler */
	bool		unseen;		/* the frame is not a call, but code without trace, such as the kernel */
	bool		outer;		/* outermost function, which was already open when its trace started */
	bool		nested;		/* an older open call is a call of the same function */
	bool		saves;		/* code that made a tail call to the function had saved the stack pointer */
	/*
	 * the end of the call is not certain, because the code may have returned to another call than the model
	 * assumes, or the trace does not contain the start of the call
	 */
	bool		unsure;
	bool		unsure_caller;	/* another call may have made this call */
	bool		hidden;		/* the call may have ended in code that is missing or that a filter excludes */
	bool		paused;		/* tracing was off for some time during the call */
	bool		missing;	/* missing code has made the call, so the return address is unknown */
};

/* ns_frame_is_sure() - return true if the trace contains both the start and the end of a call */
static inline bool ns_frame_is_sure(const struct ns_frame *frame)
{
	return !(frame->outer | frame->unsure | frame->unsure_caller | frame->hidden);
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
	 * contains the end of the call, and false if the call was dropped. May be NULL.
	 */
	bool	(*leave)(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *event, bool seen);
	/*
	 * Called when the thread may have switched to another stack. If not NULL, the function decides
	 * whether it has, and replaces the calls of the current stack by those of the other stack.
	 * Return 1 if they were replaced, 0 if not, and -1 if out of memory.
	 */
	int	(*replay)(struct ns_stack *stack, const struct ns_event *event);
	/*
	 * Called after the stack was replaced or a new one was started. May be NULL. Return -1 if
	 * out of memory.
	 */
	int	(*switched)(struct ns_stack *stack, const struct ns_event *event);
	/*
	 * Called when the calls of the new stack are known. The event ends the calls with index @nth and above. May be
	 * NULL. Return false on an error.
	 */
	bool	(*resumed)(struct ns_stack *stack, size_t nth, const struct ns_event *event);
	/*
	 * Store the targets of the returns that follow the current event, but at most @max, and return their number.
	 * Leave out the returns from calls that start after the current event. Stop at an event after which the next
	 * return is not known, such as a trap or a switch to another stack. May be NULL.
	 */
	size_t	(*ahead)(struct ns_stack *stack, uint64_t *to, size_t max);
	/* Return the name of the function of a frame. May be NULL. */
	const char *(*symbol)(const struct ns_stack *stack, const struct ns_frame *frame);
	/* Called before all calls are dropped with unknown ends. May be NULL. Return false if out of memory. */
	bool	(*drop)(struct ns_stack *stack, const struct ns_event *event);
};

/*
 * The wall-clock time (ns), the number of instructions and the running time (ns) of a thread, or of one of its stacks
 */
struct ns_spent {
	uint64_t	time, insns, ran;
};

/* One stack of a thread. If ns_stack::part is set, only @open, @child_ran, @child_insns and @signals are used. */
struct ns_one_stack {
	NS_ARRAY(struct ns_frame) open;
	uint64_t	child_ran, child_insns;	/* sums over the ended calls whose caller is not in @open */
	size_t		signals;	/* number of open signal handlers */
	/*
	 * frame of the outermost function; its start time and instructions are those at which trace of the stack
	 * started, because its call was not traced
	 */
	struct ns_frame	outer;
	struct ns_spent	away;		/* time and instructions that the thread has spent on its other stacks */
	uint32_t	number;		/* number of the stack, starting at 0 */
	uint32_t	starter;	/* number + 1 of the stack that the thread used before this one, 0: none */
	void		*data;		/* data that belongs to the user of the model; ns_stack_free() frees it */
};

struct ns_waiting {
	struct ns_one_stack stack;
	/* time and instructions of the thread up to the moment at which the stack began to wait */
	struct ns_spent	since;
	uint64_t	ret;		/* return address of the stack's newest call; 0: none */
	/*
	 * index of the newest call whose function has called code that runs on another stack, such as a scheduler, and
	 * the return address of the call; -1: none
	 */
	int64_t		left;
	uint64_t	left_ret;
	uint64_t	next;		/* address behind the jump that left, if its function contains it; else 0 */
};

enum ns_jump {
	NS_JUMP_INSIDE,		/* the target is in the same function */
	/* the same, but the code has loaded the stack pointer, so the thread switches if a waiting stack expects the target */
	NS_JUMP_SWITCH,
	NS_JUMP_TAIL,		/* the target is the start of another function */
	NS_JUMP_MIDDLE,		/* the target is inside another function, or the source or the target has no symbol */
};

/*
 * Entry of a cache. It has properties of three independent addresses, which are the target @addr of a jump, the address
 * @leaves of a jump or return out of a function, and the start @entry of a function.
 */
struct ns_target {
	uint64_t	space, addr;
	uint64_t	start, end;	/* a jump to @addr from an address in [@start, @end) is of the kind @jump */
	enum ns_jump	jump;
	uint64_t	leaves_space, leaves;
	bool		loads, saves;	/* the code of the function up to @leaves loads, or saves, the stack pointer */
	bool		repeats;	/* the function that starts at @entry has a direct jump or call to @entry */
	uint64_t	entry_space, entry;
	uint64_t	stays_space, stays;	/* a jump from @stays inside its function never switches to another stack */
};

#define NS_TARGETS	1024	/* entries of the cache of targets; a power of two */

struct ns_stack {
	struct nt_session *session;
	const struct ns_stack_ops *ops;
	void		*ctx;
	/* cache with NS_TARGETS entries, so that each address is seldom looked up twice */
	struct ns_target *targets;
	bool		part;		/* the stack has only the calls that started in one slice, and no older ones */
	bool		drops;		/* ns_stack_ops::leave() is called because all calls are dropped */
	bool		may_switch;	/* @part is set, and the last event may have switched to another stack */
	/* the outermost function, whose call was not traced, is in the list of open calls */
	bool		follows;
	struct ns_one_stack cur;
	/* The members below are not used if @part is set. */
	NS_ARRAY(struct ns_waiting) waiting;	/* waiting stacks, in the order in which they began to wait */
	uint32_t	switches;	/* number of events of the slice that could switch to another stack */
	uint32_t	nr_stacks;	/* number of stacks that were started, without the first one */
	bool		unordered;	/* a stack has continued before another one that waited for a longer time */
};

/*
 * ns_stack_counts() - return a copy of the event, whose ns_event::insns and ns_event::ran are the instructions and the
 * time of the current stack only, without the thread's other stacks
 */
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
 * Return true if the stack has no room for @more further calls, of which @signals are signal handlers. The caller must
 * then empty the stack, because such deep calls never return.
 */
static inline bool ns_stack_is_full(const struct ns_stack *stack, size_t more, size_t signals)
{
	return stack->cur.open.nr + more > NS_STACK_DEPTH_MAX || stack->cur.signals + signals > NS_STACK_SIGNALS_MAX;
}

/* ns_stack_forget() - remove all calls from the stack. The caller has copied them, or does not need them. */
static inline void ns_stack_forget(struct ns_stack *stack)
{
	stack->cur.open.nr = stack->cur.signals = 0;
}

/*
 * ns_stack_begin() - start the calls of a thread at @event->to. Earlier calls of the thread are unknown.
 *
 * Return false if out of memory.
 */
bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *event);

/* ns_stack_restore() - continue with the calls that the caller has added to an empty stack */
void ns_stack_restore(struct ns_stack *stack);

/*
 * ns_stack_take() - apply an event to the stack
 *
 * Return: 1; 0 if ns_stack::part is set and the effect depends on older calls than those of the stack; -1
 * if out of memory.
 */
int ns_stack_take(struct ns_stack *stack, const struct ns_event *event);

/* ns_stack_take_part() - do the work of ns_stack_take() for a stack that has ns_stack::part set */
int ns_stack_take_part(struct ns_stack *stack, const struct ns_event *event);

/*
 * ns_stack_caller() - return frame->function of the caller of the topmost call; 0 if the caller is
 * unknown
 *
 * The caller of a signal handler is the interrupted function, if the kernel is not traced.
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

/* ns_stack_drop() - drop the open calls of all stacks, with unknown ends. Return false if out of memory. */
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
 * ns_code_before() - find out whether user code that ends at @e->from loads or saves the stack pointer
 *
 * Return the cache's entry, in which ns_target::loads and ns_target::saves are set.
 */
const struct ns_target *ns_code_before(const struct ns_stack *stack, const struct ns_event *e);

/*
 * ns_find_function() - return the index of the newest call that was made by the function that contains @to
 *
 * Return -1 if no open call was found. Also return -1 if @to is the first instruction of a function, because a new call
 * starts there.
 */
int64_t ns_find_function(const struct ns_stack *stack, uint64_t space, uint64_t to);

/* ns_event_init() - make an event from a branch of nt_session_branches() */
void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns, uint64_t ran);

/*
 * Return true if the branch can start or end a call. A jump to the start of a function also can.
 */
static inline bool ns_branch_matters(const struct nt_branch *branch)
{
	return branch->flags || branch->kind != NT_BRANCH_CONDITIONAL;
}

#endif /* NTRACE_SESSION_CALLSTACK_H */
