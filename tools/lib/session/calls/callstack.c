// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <string.h>

#include "callstack.h"
#include "session/session-priv.h"

#define ECALL		0x00000073
#define NO_RETURN	1	/* an address at which no instruction can be */

void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns, uint64_t ran)
{
	uint32_t insn = 0;

	*event = (struct ns_event){
		.time = branch->time, .insns = insns, .ran = ran, .from = branch->from, .to = branch->to,
		.from_space = nt_who_space(who, branch->from),
		.to_space = nt_who_space(who, branch->to), .image = who->image,
		.kind = branch->kind, .flags = branch->flags, .length = branch->length,
	};
	/* if only user code is traced, trace stops before ecall retires */
	if (branch->flags & NT_BRANCH_END && branch->kind == NT_BRANCH_NONE &&
	    nt_who_read(who, branch->from, &insn, sizeof(insn)) == sizeof(insn) && insn == ECALL)
		event->kind = NT_BRANCH_SYSCALL;
}

/* ---- Functions ---- */

static bool is_user(const struct ns_stack *stack, uint64_t addr)
{
	return addr < ns_kernel_start(stack->session);
}

/*
 * Return the length of a name without ".cold", which gcc appends for the unlikely part of a
 * function.
 */
static size_t base_length(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold ? (size_t)(cold - name) : strlen(name);
}

static bool same_function(const struct nt_place *a, const struct nt_place *b)
{
	size_t n;

	if (!a->symbol || !b->symbol || a->object != b->object)
		return false;
	if (a->symbol == b->symbol)
		return true;
	n = base_length(a->linkage);
	return n == base_length(b->linkage) && !strncmp(a->linkage, b->linkage, n);
}

/*
 * Return true if a jump goes to the start of another function. For most jumps the first lookup
 * shows that it does not.
 */
static bool is_tail_call(const struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_target *target = stack->targets;
	struct nt_place from, to;

	if (target) {
		target += (e->to >> 1 ^ e->to >> 11) & (NS_TARGETS - 1);
		if (target->addr == e->to && target->space == e->to_space)
			return false;
	}
	nt_session_where(stack->session, e->to_space, e->to, &to);
	if (!to.symbol || to.offset) {
		if (target)
			*target = (struct ns_target){ e->to_space, e->to };
		return false;
	}
	nt_session_where(stack->session, e->from_space, e->from, &from);
	return !same_function(&from, &to);
}

/* ---- Begin and end ---- */

static bool is_trap_or_signal(const struct ns_frame *frame)
{
	return frame->trap || frame->signal;
}

/* Return the index + 1 of the newest trap or signal; 0: none */
static size_t newest(const struct ns_stack *stack)
{
	const struct ns_frame *top;

	if (!stack->open.nr)
		return 0;
	top = &stack->open.at[stack->open.nr - 1];
	return is_trap_or_signal(top) ? stack->open.nr : top->below;
}

bool ns_stack_add(struct ns_stack *stack, const struct ns_frame *frame)
{
	uint32_t below = newest(stack);

	if (!ns_array_add(&stack->open, *frame))
		return false;
	stack->open.at[stack->open.nr - 1].below = below;
	stack->signals += frame->signal;
	return true;
}

static bool stack_push(struct ns_stack *stack, const struct ns_frame *frame,
		       const struct ns_event *e)
{
	if (ns_stack_is_full(stack, 1) && !ns_stack_drop(stack, e))
		return false;
	if (!ns_stack_add(stack, frame))
		return false;
	return frame->unseen ||
		stack->ops->enter(stack, &stack->open.at[stack->open.nr - 1], e);
}

/* End the topmost call. @ended is true if the trace contains its end. */
static bool stack_leave(struct ns_stack *stack, const struct ns_event *e, bool ended)
{
	struct ns_frame frame = stack->open.at[--stack->open.nr], *caller;
	uint64_t ran = e->ran - frame.ran, insns = e->insns - frame.insns;

	stack->signals -= frame.signal;
	if (frame.unseen) {
		ran = frame.child_ran;
		insns = frame.child_insns;
	}
	if (stack->open.nr) {
		caller = &stack->open.at[stack->open.nr - 1];
		caller->child_ran += ran;
		caller->child_insns += insns;
	} else {
		stack->child_ran += ran;
		stack->child_insns += insns;
	}
	return frame.unseen || stack->ops->leave(stack, &frame, e, ended && !frame.outer);
}

static bool stack_pop(struct ns_stack *stack, const struct ns_event *e)
{
	return stack_leave(stack, e, true);
}

/* End the call with index @nth and all calls above it. */
static int stack_cut(struct ns_stack *stack, size_t nth, const struct ns_event *e)
{
	while (stack->open.nr > nth) {
		if (!stack_pop(stack, e))
			return -1;
	}
	return 1;
}

bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event)
{
	if (stack->ops->drop && stack->open.nr && !stack->ops->drop(stack, event))
		return false;
	while (stack->open.nr) {
		if (!stack_leave(stack, event, false))
			return false;
	}
	return true;
}

static int take_call(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame frame = {
		.ret = e->from + e->length, .ret_space = e->from_space, .begin = e->time,
		.insns = e->insns, .ran = e->ran, .image = e->image, .kind = e->kind,
	};

	/* a call to the next instruction only reads the program counter */
	if (frame.ret == e->to)
		return 1;
	return stack_push(stack, &frame, e) ? 1 : -1;
}

static int take_trap(struct ns_stack *stack, const struct ns_event *e, bool unseen)
{
	const struct ns_frame frame = {
		.ret = e->from + (e->kind == NT_BRANCH_SYSCALL ? 4 : 0),
		.ret_space = e->from_space, .begin = e->time, .insns = e->insns, .ran = e->ran,
		.image = e->image, .kind = e->kind, .trap = true, .unseen = unseen,
	};

	return stack_push(stack, &frame, e) ? 1 : -1;
}

/* ---- Returns ---- */

/* Return the index of the newest call that was made in the function that contains @to; -1: none */
static int64_t find_function(const struct ns_stack *stack, uint64_t space, uint64_t to)
{
	struct nt_place here, there;
	const struct ns_frame *f;
	int64_t i;

	nt_session_where(stack->session, space, to, &here);
	for (i = here.symbol ? (int64_t)stack->open.nr - 1 : -1; i >= 0; i--) {
		f = &stack->open.at[i];
		if (f->trap)
			return -1;
		/*
		 * f->ret may be outside the caller, if its last instruction calls a function that
		 * never returns
		 */
		nt_session_where(stack->session, f->ret_space, f->ret - !f->signal, &there);
		if (same_function(&here, &there))
			return i;
	}
	return -1;
}

/*
 * Return true at the first instruction of a kernel function. A new thread starts there, for example
 * at ret_from_fork.
 */
static bool is_new_thread(const struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_place place;

	if (is_user(stack, e->to))
		return false;
	nt_session_where(stack->session, e->to_space, e->to, &place);
	return place.symbol && !place.offset;
}

static int take_return(struct ns_stack *stack, const struct ns_event *e)
{
	bool below = stack->part;
	int64_t i;

	for (i = (int64_t)stack->open.nr - 1; i >= 0; i--) {
		/* a return instruction does not leave the kernel */
		if (stack->open.at[i].trap) {
			below = false;
			break;
		}
		if (stack->open.at[i].ret == e->to && !stack->open.at[i].signal)
			return stack_cut(stack, i, e);
	}
	if (below)
		return 0;
	i = find_function(stack, e->to_space, e->to);
	if (i >= 0)
		return stack_cut(stack, i, e);
	if (is_new_thread(stack, e))
		return ns_stack_drop(stack, e) ? 1 : -1;
	return 1;
}

/*
 * Return true if the frame returns to @to. A system call that a signal interrupted may restart at
 * its ecall.
 */
static bool goes_back_to(const struct ns_frame *f, uint64_t to)
{
	return f->ret == to || (f->kind == NT_BRANCH_SYSCALL && f->ret == to + 4);
}

/* Return the index of the newest trap, or of the newest trap from user code if @user; -1: none */
static int64_t find_trap(const struct ns_stack *stack, bool user)
{
	const struct ns_frame *frame;
	size_t at;

	for (at = newest(stack); at; at = frame->below) {
		frame = &stack->open.at[at - 1];
		if (frame->trap && (!user || is_user(stack, frame->ret)))
			break;
	}
	return (int64_t)at - 1;
}

/*
 * Start a signal handler, or cut the stack if the kernel resumes the program inside a known
 * function, which the handler chose.
 */
static int take_signal(struct ns_stack *stack, const struct ns_event *e, struct ns_frame frame)
{
	struct nt_place place;
	int64_t i;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	if (place.symbol && place.offset) {
		i = find_function(stack, e->to_space, e->to);
		return i < 0 ? 1 : stack_cut(stack, i, e);
	}
	frame.trap = frame.unseen = false;
	frame.signal = true;
	frame.begin = e->time;
	frame.insns = e->insns;
	frame.ran = e->ran;
	frame.child_ran = frame.child_insns = 0;
	return stack_push(stack, &frame, e) ? 1 : -1;
}

static int take_trap_return(struct ns_stack *stack, const struct ns_event *e)
{
	bool user = is_user(stack, e->to);
	int64_t trap = find_trap(stack, user);
	struct ns_frame frame;
	size_t at;

	if (trap >= 0 && user && stack->open.at[trap].image != e->image) {
		if (stack->part)
			return 0;
		/* exec started a new program, so the kernel never returns to the old one */
		return stack_cut(stack, trap, e) > 0 && ns_stack_drop(stack, e) ? 1 : -1;
	}
	for (at = newest(stack); at; at = stack->open.at[at - 1].below) {
		if (goes_back_to(&stack->open.at[at - 1], e->to))
			return stack_cut(stack, at - 1, e);
	}
	if (stack->part)
		return 0;
	if (trap < 0)
		return 1;
	frame = stack->open.at[trap];
	if (stack_cut(stack, trap, e) < 0)
		return -1;
	/* the kernel continues at another address after it handled a fault in its own code */
	return user ? take_signal(stack, e, frame) : 1;
}

static int take_jump(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame frame, *top = stack->open.nr ? &stack->open.at[stack->open.nr - 1] : NULL;

	if (top ? top->trap || top->outer : !stack->part)
		return 1;
	if (!is_tail_call(stack, e))
		return 1;
	if (!stack->open.nr)
		return 0;
	frame = stack->open.at[stack->open.nr - 1];
	if (!stack_pop(stack, e))
		return -1;
	frame.begin = e->time;
	frame.insns = e->insns;
	frame.ran = e->ran;
	frame.child_ran = frame.child_insns = 0;
	return stack_push(stack, &frame, e) ? 1 : -1;
}

/* ---- All ---- */

/* Trace stops in user code because the kernel executes, unless @e gives another reason. */
static int take_stop(struct ns_stack *stack, const struct ns_event *e)
{
	switch (e->kind) {
	case NT_BRANCH_SYSCALL:
	case NT_BRANCH_EXCEPTION:
	case NT_BRANCH_INTERRUPT:
	case NT_BRANCH_NONE:
		return is_user(stack, e->from) ? take_trap(stack, e, true) : 1;
	}
	return 1;
}

static int take_begin(struct ns_stack *stack, const struct ns_event *e)
{
	if (!is_user(stack, e->to))
		return 1;
	if (!stack->open.nr)
		return !stack->part;
	return stack->open.at[stack->open.nr - 1].unseen ? take_trap_return(stack, e) : 1;
}

static bool push_outer(struct ns_stack *stack, const struct ns_event *e)
{
	return stack_push(stack, &stack->outer, e);
}

bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *e)
{
	stack->outer = (struct ns_frame){
		.ret = NO_RETURN, .begin = e->time, .insns = e->insns, .ran = e->ran,
		.kind = NT_BRANCH_NONE, .outer = true,
	};
	return push_outer(stack, e);
}

/*
 * Replace the outermost known function if it has returned to a function that was open all the time.
 */
static bool return_outer(struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_place from, to;

	nt_session_where(stack->session, e->from_space, e->from, &from);
	nt_session_where(stack->session, e->to_space, e->to, &to);
	if (same_function(&from, &to))
		return true;
	if (!ns_stack_drop(stack, e))
		return false;
	stack->outer.child_ran = e->ran - stack->outer.ran;
	stack->outer.child_insns = e->insns - stack->outer.insns;
	return push_outer(stack, e);
}

/* Follow the outermost function. @before is the number of calls that were open before the event. */
static bool follow_outer(struct ns_stack *stack, const struct ns_event *e, size_t before)
{
	if (!stack->follows || !e->to || stack->open.nr > 1)
		return true;
	if (!stack->open.nr)
		return ns_stack_begin(stack, e);
	if (before != 1 || !stack->open.at[0].outer || (e->kind != NT_BRANCH_RETURN && e->kind != NT_BRANCH_TRAP_RETURN))
		return true;
	return return_outer(stack, e);
}

static int take(struct ns_stack *stack, const struct ns_event *event)
{
	if (event->flags & NT_BRANCH_BEGIN)
		return take_begin(stack, event);
	if (event->flags & NT_BRANCH_END)
		return take_stop(stack, event);
	switch (event->kind) {
	case NT_BRANCH_CALL:
		return take_call(stack, event);
	case NT_BRANCH_SYSCALL:
	case NT_BRANCH_EXCEPTION:
	case NT_BRANCH_INTERRUPT:
		return take_trap(stack, event, false);
	case NT_BRANCH_RETURN:
		return take_return(stack, event);
	case NT_BRANCH_TRAP_RETURN:
		return take_trap_return(stack, event);
	case NT_BRANCH_JUMP:
		return take_jump(stack, event);
	}
	return 1;
}

int ns_stack_take(struct ns_stack *stack, const struct ns_event *event)
{
	size_t before = stack->open.nr;
	int ret = take(stack, event);

	return ret <= 0 || follow_outer(stack, event, before) ? ret : -1;
}
