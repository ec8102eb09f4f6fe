// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The model of calls, which finds the open calls of a thread from its branches (callstack.h). */
#include <string.h>

#include "callstack.h"
#include "session/session-priv.h"
#include "session/flow/worker.h"

#define LI_A7_SIGRETURN	0x08b00893	/* "li a7, 139", before the ecall of rt_sigreturn() */
#define NO_RETURN	1	/* an odd address, at which no instruction can be */
#define SWITCH_CODE	256	/* maximum number of bytes from the load of the stack pointer to the jump or return */
#define WAITING_MAX	4096	/* maximum number of waiting stacks of a thread; above this the oldest is dropped */
#define LEFT_DEPTH	16	/* number of the newest calls that are searched for a call which uses another stack */
#define AHEAD_MAX	1024	/* maximum number of following returns that decide which of several calls continues */
#define COMPARE_MAX	(1 << 20)	/* maximum number of comparisons with these returns for one event */
#define RESUME_DEPTH	64	/* number of the newest calls of a waiting stack that are searched for an address */

void ns_event_init(struct ns_event *event, const struct nt_who *who, const struct nt_branch *branch,
		   uint64_t insns, uint64_t ran)
{
	*event = (struct ns_event){
		.time = branch->time, .insns = insns, .ran = ran, .from = branch->from, .to = branch->to,
		.from_space = ns_who_space(who, branch->from),
		.to_space = ns_who_space(who, branch->to), .image = who->image,
		.kind = branch->kind, .flags = branch->flags, .length = branch->length,
	};
	/* if only user code is traced, the encoder stops before the ecall retires, and does not report the ecall */
	if (branch->flags & NT_BRANCH_END && branch->kind == NT_BRANCH_NONE && ns_is_ecall(who, branch->from))
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

bool ns_same_function(const struct nt_place *a, const struct nt_place *b)
{
	size_t n;

	if (!a->symbol || !b->symbol || a->object != b->object)
		return false;
	if (a->symbol == b->symbol)
		return true;
	n = base_length(a->linkage);
	return n == base_length(b->linkage) && !strncmp(a->linkage, b->linkage, n);
}

/* Return true if the recording lacks the code at the address. */
static bool is_missing(const struct ns_stack *stack, uint64_t space, uint64_t addr)
{
	uint16_t code;

	return !nt_session_read(stack->session, space, addr, &code, sizeof(code));
}

static struct ns_target *target_of(const struct ns_stack *stack, uint64_t addr)
{
	return &stack->targets[(addr >> 1 ^ addr >> 11) & (NS_TARGETS - 1)];
}

/* Return the enum nt_class of the jump at @e->from, or 0 if it is not known. */
static unsigned int class_of(const struct ns_stack *stack, const struct ns_event *e)
{
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;

	return nt_session_read(stack->session, e->from_space, e->from, code, e->length) == e->length &&
	       nt_insn_decode(NULL, code, e->length, &insn) ? insn.klass : 0;
}

bool ns_is_indirect(const struct ns_stack *stack, const struct ns_event *e)
{
	unsigned int klass = class_of(stack, e);

	return klass >= NT_CLASS_INDIRECT_JUMP && klass <= NT_CLASS_SWAP;
}

static enum ns_jump find_jump(const struct ns_stack *stack, const struct ns_event *e, const struct nt_place *from,
			      const struct nt_place *to)
{
	if (to->symbol ? ns_same_function(from, to) : !from->symbol && !ns_is_indirect(stack, e))
		return NS_JUMP_INSIDE;
	return to->symbol && !to->offset ? NS_JUMP_TAIL : NS_JUMP_MIDDLE;
}

/* Return true if a jump inside a function may be a switch to another stack, whose code the function then contains. */
static bool may_switch_inside(const struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_target *source = target_of(stack, e->from);

	if (source->stays == e->from && source->stays_space == e->from_space)
		return false;
	if (ns_is_indirect(stack, e) && ns_code_before(stack, e)->loads)
		return true;
	source->stays = e->from;
	source->stays_space = e->from_space;
	return false;
}

static enum ns_jump jump_to(const struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_target *target = target_of(stack, e->to);
	struct nt_place from, to;
	bool all;

	if (target->addr == e->to && target->space == e->to_space && e->from >= target->start &&
	    e->from < target->end)
		return target->jump;
	nt_session_where(stack->session, e->to_space, e->to, &to);
	nt_session_where(stack->session, e->from_space, e->from, &from);
	target->jump = find_jump(stack, e, &from, &to);
	/* a jump to @e->to has the same result from all addresses of the function, so cache it for all of them */
	all = target->jump == NS_JUMP_INSIDE && to.offset && from.symbol;
	target->space = e->to_space;
	target->addr = e->to;
	target->start = all ? from.start : e->from;
	target->end = all ? from.end : e->from + 1;
	return target->jump;
}

enum ns_jump ns_jump_to(const struct ns_stack *stack, const struct ns_event *e)
{
	enum ns_jump jump = jump_to(stack, e);

	return jump == NS_JUMP_INSIDE && may_switch_inside(stack, e) ? NS_JUMP_SWITCH : jump;
}

/*
 * "ld sp, N(REG)", its compressed form, or "addi sp, REG, N" and "c.mv sp, REG" with another register than the stack
 * pointer and the frame pointer
 */
static bool loads_sp(uint32_t insn)
{
	return (insn & 0x6fff) == 0x2103 || (insn & 0xcf83) == 0x4102 ||
	       ((insn & 0x7fff) == 0x0113 && (insn >> 15 & 31) != 2 && (insn >> 15 & 31) != 8) ||
	       ((insn & 0xff83) == 0x8102 && insn & 0x7c && (insn & 0x7c) != 8 << 2);
}

/* "sd sp, N(REG)", unless REG is the stack pointer */
static bool saves_sp(uint32_t insn)
{
	return (insn & 0x01f0607f) == 0x00202023 && (insn >> 15 & 31) != 2;
}

/* "jr REG", or its compressed form */
static bool is_jump_to_register(uint32_t insn)
{
	return (insn & 0x7fff) == 0x0067 || ((insn & 0xf07f) == 0x8002 && insn & 0xf80);
}

/*
 * Find out whether code in [@addr, @leaves) loads or saves the stack pointer. A jump through a register does not
 * continue at @leaves, so look only at the code after the last one. If @starts is false, no function starts at @addr,
 * so an instruction may start at each half-word, and compressed instructions are not recognised.
 */
static void look_at_code(const struct ns_stack *stack, struct ns_target *target, uint64_t addr, uint64_t leaves,
			 bool starts)
{
	uint16_t code[SWITCH_CODE];
	size_t nr = 0, at = 0;
	uint32_t insn;

	while (addr < leaves) {
		if (at + 2 > nr) {
			nr = nt_session_read(stack->session, target->leaves_space, addr, code, sizeof(code)) / 2;
			at = 0;
			if (nr < 2)
				break;
		}
		insn = code[at];
		if ((insn & 3) == 3)
			insn |= (uint32_t)code[at + 1] << 16;
		if (leaves - addr <= SWITCH_CODE && (starts || (insn & 3) == 3)) {
			target->loads = !is_jump_to_register(insn) && (target->loads || loads_sp(insn));
			target->saves = !is_jump_to_register(insn) && (target->saves || saves_sp(insn));
		}
		at += starts && (insn & 3) == 3 ? 2 : 1;
		addr += starts && (insn & 3) == 3 ? 4 : 2;
	}
}

static noinline struct ns_target *learn_code(const struct ns_stack *stack, struct ns_target *target, uint64_t space,
					     uint64_t leaves)
{
	struct nt_place place;

	target->leaves = leaves;
	target->leaves_space = space;
	target->loads = target->saves = false;
	if (!is_user(stack, leaves))
		return target;
	nt_session_where(stack->session, space, leaves, &place);
	look_at_code(stack, target, place.symbol ? place.start : leaves - SWITCH_CODE, leaves, place.symbol);
	return target;
}

inline const struct ns_target *ns_code_before(const struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_target *target = target_of(stack, e->from);

	if (target->leaves == e->from && target->leaves_space == e->from_space)
		return target;
	return learn_code(stack, target, e->from_space, e->from);
}

/* ---- Begin and end ---- */

static bool is_jump(uint8_t kind)
{
	return kind == NT_BRANCH_CALL || kind == NT_BRANCH_JUMP || kind == NT_BRANCH_RETURN;
}

static bool is_trap_or_signal(const struct ns_frame *frame)
{
	return frame->trap || frame->signal;
}

/* Return the index + 1 of the frame of the newest trap or signal handler. Return 0 if there is none. */
static size_t newest(const struct ns_stack *stack)
{
	const struct ns_frame *top;

	if (!stack->cur.open.nr)
		return 0;
	top = &stack->cur.open.at[stack->cur.open.nr - 1];
	return is_trap_or_signal(top) ? stack->cur.open.nr : top->below;
}

const struct ns_frame *ns_stack_trap(const struct ns_stack *stack)
{
	size_t at = newest(stack);

	while (at && !stack->cur.open.at[at - 1].trap)
		at = stack->cur.open.at[at - 1].below;
	return at ? &stack->cur.open.at[at - 1] : NULL;
}

inline bool ns_stack_add(struct ns_stack *stack, const struct ns_frame *frame)
{
	struct ns_frame *added;

	if (!ns_array_grow(&stack->cur.open))
		return false;
	added = &stack->cur.open.at[stack->cur.open.nr];
	*added = *frame;
	added->below = newest(stack);
	added->unsure_caller |= stack->cur.open.nr++ && added[-1].unsure;
	stack->cur.signals += frame->signal;
	return true;
}

static bool stack_push(struct ns_stack *stack, const struct ns_frame *frame,
		       const struct ns_event *e)
{
	if (ns_stack_is_full(stack, 1, frame->signal) && !ns_stack_drop(stack, e))
		return false;
	if (!ns_stack_add(stack, frame))
		return false;
	return frame->unseen || !stack->ops->enter ||
		stack->ops->enter(stack, &stack->cur.open.at[stack->cur.open.nr - 1], e);
}

/* End the topmost call. @ended is true if the trace contains the end of the call. */
static bool stack_leave(struct ns_stack *stack, const struct ns_event *e, bool ended)
{
	const struct ns_frame *frame = &stack->cur.open.at[--stack->cur.open.nr];
	uint64_t ran = e->ran - frame->ran, insns = e->insns - frame->insns;
	struct ns_frame *caller;

	stack->cur.signals -= frame->signal;
	if (frame->unseen) {
		ran = frame->child_ran;
		insns = frame->child_insns;
	}
	if (stack->cur.open.nr) {
		caller = &stack->cur.open.at[stack->cur.open.nr - 1];
		caller->child_ran += ran;
		caller->child_insns += insns;
	} else {
		stack->cur.child_ran += ran;
		stack->cur.child_insns += insns;
	}
	return frame->unseen || !stack->ops->leave ||
	       stack->ops->leave(stack, frame, e, ended && ns_frame_is_sure(frame));
}

int ns_stack_cut(struct ns_stack *stack, size_t nth, const struct ns_event *e)
{
	while (stack->cur.open.nr > nth) {
		if (!stack_leave(stack, e, true))
			return -1;
	}
	return 1;
}

static bool drop_calls(struct ns_stack *stack, const struct ns_event *event)
{
	bool ok = true;

	if (stack->ops->drop && stack->cur.open.nr && !stack->ops->drop(stack, event))
		return false;
	stack->drops = true;
	while (ok && stack->cur.open.nr)
		ok = stack_leave(stack, event, false);
	stack->drops = stack->cur.outer.outer = false;
	return ok;
}

/* Set the start time of a frame, and the counts at its start, to those of @e. The frame may be a copy of another. */
static void start_frame(const struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	frame->begin = e->time;
	frame->insns = e->insns;
	frame->ran = e->ran;
	frame->away = stack->cur.away.time;
	frame->resume = 0;
	frame->child_ran = frame->child_insns = 0;
}

static int take_call(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame frame = {
		.ret = e->from + e->length, .ret_space = e->from_space, .begin = e->time,
		.insns = e->insns, .ran = e->ran, .image = e->image, .kind = e->kind, .away = stack->cur.away.time,
	};

	/* a call to the next instruction calls no function, because it is used to read the program counter */
	if (frame.ret == e->to)
		return 1;
	return stack_push(stack, &frame, e) ? 1 : -1;
}

/*
 * Push a frame for a trap. If its code is not traced (@unseen), set ns_frame::resume to the address at which trace
 * stopped.
 */
static int take_trap(struct ns_stack *stack, const struct ns_event *e, bool unseen)
{
	const struct ns_frame frame = {
		.ret = e->from + (e->kind == NT_BRANCH_SYSCALL ? 4 : 0),
		.ret_space = e->from_space, .begin = e->time, .insns = e->insns, .ran = e->ran,
		.image = e->image, .kind = e->kind, .trap = true, .unseen = unseen, .away = stack->cur.away.time,
		.resume = unseen ? e->from : 0,
	};

	return stack_push(stack, &frame, e) ? 1 : -1;
}

/* ---- Missing code ---- */

/* Return the index of the newest open call that missing code (code that the recording lacks) has made, or -1. */
static int64_t find_missing(const struct ns_stack *stack)
{
	int64_t i = (int64_t)stack->cur.open.nr - 1;

	while (i >= 0 && !stack->cur.open.at[i].missing)
		i = stack->cur.open.at[i].trap ? -1 : i - 1;
	return i;
}

/*
 * Push a frame for a call by missing code (code that the recording lacks), or for a trap if @trap is set. The called
 * function, or the trap handler, executes at @e->to. If @e->to is not the first instruction of the function, the start
 * of the call is not in the trace.
 */
static int call_from_missing(struct ns_stack *stack, const struct ns_event *e, bool trap)
{
	struct ns_frame frame = {
		.ret = NO_RETURN, .ret_space = e->to_space, .image = e->image, .missing = true, .trap = trap,
		.kind = trap ? NT_BRANCH_INTERRUPT : NT_BRANCH_CALL,
	};
	struct nt_place place;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	frame.unsure = place.offset && !trap;
	start_frame(stack, &frame, e);
	return stack_push(stack, &frame, e) ? 1 : -1;
}

/*
 * Handle a return to @e->to, which is not the return address of an open call. The caller of the returning function is
 * missing code, which the recording lacks, so end the newest call that missing code has made. If the recording has the
 * code at @e->to, assume that missing code called the function at @e->to after the return, and start this call. Return
 * 2 if no open call was made by missing code, 1 on success, and -1 if out of memory.
 */
static int return_to_missing(struct ns_stack *stack, const struct ns_event *e)
{
	int64_t i = e->kind == NT_BRANCH_RETURN ? find_missing(stack) : -1;

	if (i < 0)
		return 2;
	if (ns_stack_cut(stack, i, e) < 0)
		return -1;
	return !stack->cur.open.nr || is_missing(stack, e->to_space, e->to) ? 1 : call_from_missing(stack, e, false);
}

/*
 * Prepare for the return from the call with index @nth to its caller. If missing code (code that the recording lacks)
 * has made the next newer call, call @nth was a call of this missing code, and ended with a tail call to the function
 * of the newer call. Therefore end call @nth at the time at which the newer call started.
 */
static bool end_tail_call(struct ns_stack *stack, size_t nth, const struct ns_event *e)
{
	struct ns_frame *frame = &stack->cur.open.at[nth], *next = frame + 1;
	struct ns_event then = *e;
	size_t nr = stack->cur.open.nr, i;
	bool ok;

	if (e->kind != NT_BRANCH_RETURN || nth + 1 >= nr || !next->missing || nt_session_is_filtered(stack->session))
		return true;
	then.time = next->begin;
	then.insns = next->insns;
	then.ran = next->ran;
	frame->away += stack->cur.away.time - next->away;
	stack->cur.open.nr = nth + 1;
	ok = stack_leave(stack, &then, true);
	for (i = nth + 1; i < nr && stack->cur.open.at[i].function != frame->function; i++)
		;
	if (i < nr)
		stack->cur.open.at[i].nested = frame->nested;
	memmove(frame, next, (nr - nth - 1) * sizeof(*next));
	stack->cur.open.nr = nr - 1;
	return ok;
}

/* ---- Returns ---- */

/*
 * Return true if @f is a call of _Unwind_Resume() or __pthread_unwind_next(), with which a function passes an exception
 * or a cancellation to its callers
 */
static bool passes_exception(const struct ns_stack *stack, const struct ns_frame *f)
{
	struct nt_insn auipc, call;
	struct nt_place place;
	const char *name;
	uint8_t code[8];
	uint64_t to;

	name = stack->ops->symbol && !f->unseen ? stack->ops->symbol(stack, f) : NULL;
	/* the C library has several names of a function, which differ in the underscores before it */
	if (name && !strcmp(name + strspn(name, "_"), "pthread_unwind_next"))
		return true;
	if (nt_session_read(stack->session, f->ret_space, f->ret - 8, code, 8) != 8 ||
	    !nt_insn_decode(NULL, code + 4, 4, &call))
		return false;
	to = f->ret - 4 + call.imm;
	if (call.klass != NT_CLASS_CALL && nt_insn_decode(NULL, code, 4, &auipc))
		to += auipc.imm - 4;
	nt_session_where(stack->session, f->ret_space, to, &place);
	return place.symbol && !place.offset && !strcmp(place.symbol, "_Unwind_Resume");
}

int64_t ns_find_function(const struct ns_stack *stack, uint64_t space, uint64_t to)
{
	struct nt_place here, there;
	const struct ns_frame *f;
	int64_t i;

	nt_session_where(stack->session, space, to, &here);
	for (i = here.symbol && here.offset ? (int64_t)stack->cur.open.nr - 1 : -1; i >= 0; i--) {
		f = &stack->cur.open.at[i];
		if (f->trap)
			return -1;
		/*
		 * Look for the caller at the byte before f->ret, because f->ret is outside the caller if the caller's
		 * last instruction calls a function that never returns. The outermost function has no known return
		 * address, so use f->resume.
		 */
		nt_session_where(stack->session, f->ret_space, f->outer ? f->resume : f->ret - !f->signal, &there);
		if (ns_same_function(&here, &there) && (f->outer || f->signal || !passes_exception(stack, f)))
			return i + f->outer;
	}
	return -1;
}

/* The targets of the returns that follow the current event, if they are known, but at most AHEAD_MAX */
struct returns {
	uint64_t	to[AHEAD_MAX];
	size_t		nr, compared;
};

static void look_ahead(struct ns_stack *stack, struct returns *next)
{
	next->compared = 0;
	next->nr = stack->ops->ahead ? stack->ops->ahead(stack, next->to, AHEAD_MAX) : 0;
}

/*
 * Return true if the calls in @open with an index less than @nth expect the returns @next, or if this is not known
 * because COMPARE_MAX is reached.
 */
static bool fits(struct returns *next, const struct ns_frame *open, int64_t nth)
{
	size_t i;

	for (i = 0; nth > 0 && i < next->nr && next->compared++ < COMPARE_MAX; i++) {
		nth--;
		if (open[nth].outer || open[nth].trap || open[nth].signal || open[nth].missing)
			break;
		if (open[nth].ret != next->to[i])
			return false;
	}
	return true;
}

/*
 * Return the index of the newest call that may continue at @to with longjmp(), because a function such as setjmp()
 * has returned to @to in this call. If @next is not NULL, consider only calls that expect these returns. Return -1 if
 * there is none. Set *oldest to the index of the oldest such call.
 */
static int64_t choose_resume(struct ns_stack *stack, uint64_t to, struct returns *next, int64_t *oldest)
{
	int64_t i, newest = -1;
	struct ns_frame *f;

	for (i = (int64_t)stack->cur.open.nr - 1; i >= 0; i--) {
		f = &stack->cur.open.at[i];
		if (f->trap)
			break;
		if (f->resume != to || f->outer || (next && !fits(next, stack->cur.open.at, i + 1)) ||
		    (i + 1 < (int64_t)stack->cur.open.nr && passes_exception(stack, f + 1)))
			continue;
		*oldest = i;
		if (newest < 0)
			newest = i;
	}
	return newest;
}

/*
 * Return the index of the call that continues at @to with longjmp(), or -1. If longjmp() may also continue older calls,
 * mark all calls from the oldest of these to the returned one as unsure, and also still older calls that have the same
 * return address because of a recursion.
 */
static int64_t find_resume(struct ns_stack *stack, uint64_t to)
{
	int64_t i, oldest = -1, newest = choose_resume(stack, to, NULL, &oldest), fit;
	struct returns next;

	if (oldest == newest)
		return newest;
	look_ahead(stack, &next);
	fit = choose_resume(stack, to, &next, &i);
	if (fit >= 0) {
		newest = fit;
		oldest = i;
	}
	if (oldest == newest)
		return newest;
	while (oldest > 1 && stack->cur.open.at[oldest - 1].ret == stack->cur.open.at[oldest].ret)
		oldest--;
	for (i = oldest ? oldest - 1 : 0; i <= newest; i++)
		stack->cur.open.at[i].unsure = true;
	return newest;
}

/*
 * Return true if @e->to is the first instruction of a kernel function. A new thread starts at such an
 * address, for example at ret_from_fork.
 */
static bool is_new_thread(const struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_place place;

	if (is_user(stack, e->to))
		return false;
	nt_session_where(stack->session, e->to_space, e->to, &place);
	return place.symbol && !place.offset;
}

/* Note that longjmp() may later continue the topmost function at @to, to which setjmp() has returned. */
static void note_resume(struct ns_stack *stack, uint64_t to)
{
	if (stack->cur.open.nr)
		stack->cur.open.at[stack->cur.open.nr - 1].resume = to;
}

/*
 * End the open calls that a return instruction with the target @e->to ends. @saves is true if the code before this
 * instruction has saved the stack pointer. Return the same values as ns_stack_take(): 0 if @stack has only calls that
 * started in the current slice (ns_stack::part), and the instruction may end an older call. Return 2 if no open call
 * continues at @e->to.
 */
static int return_to(struct ns_stack *stack, const struct ns_event *e, bool saves)
{
	bool below = stack->part;
	const struct ns_frame *f;
	int64_t i;

	for (i = (int64_t)stack->cur.open.nr - 1; i >= 0; i--) {
		f = &stack->cur.open.at[i];
		/* calls older than a trap do not end, because only sret, and not a return, leaves the kernel */
		if (f->trap) {
			below = false;
			break;
		}
		if (f->ret != e->to || f->signal)
			continue;
		saves |= f->saves;
		if (saves && !i && stack->part)
			return 0;
		if (!end_tail_call(stack, i, e) || ns_stack_cut(stack, i, e) < 0)
			return -1;
		if (saves)
			note_resume(stack, e->to);
		return 1;
	}
	i = find_resume(stack, e->to);
	if (i >= 0)
		return ns_stack_cut(stack, i + 1, e);
	if (below)
		return 0;
	i = ns_find_function(stack, e->to_space, e->to);
	return i >= 0 ? ns_stack_cut(stack, i, e) : 2;
}

/* ---- Several stacks ---- */

/* Exchange the current stack with a waiting stack. */
static void exchange(struct ns_stack *stack, struct ns_waiting *w)
{
	const struct ns_one_stack old = stack->cur;

	stack->cur = w->stack;
	w->stack = old;
}

/* Remove a waiting stack from the list, and return the stack. */
static struct ns_waiting take_waiting(struct ns_stack *stack, size_t nth)
{
	struct ns_waiting w = stack->waiting.at[nth];

	memmove(stack->waiting.at + nth, stack->waiting.at + nth + 1,
		(--stack->waiting.nr - nth) * sizeof(w));
	return w;
}

static void free_waiting(struct ns_stack *stack, size_t nth)
{
	struct ns_waiting w = take_waiting(stack, nth);

	free(w.stack.open.at);
	free(w.stack.data);
}

void ns_stack_free(struct ns_stack *stack)
{
	while (stack->waiting.nr)
		free_waiting(stack, stack->waiting.nr - 1);
	free(stack->waiting.at);
	free(stack->cur.open.at);
	free(stack->cur.data);
}

/* Drop the calls of a waiting stack. The calls end at the time at which the stack began to wait. */
static bool drop_waiting(struct ns_stack *stack, size_t nth)
{
	struct ns_waiting *w = &stack->waiting.at[nth];
	const struct ns_event since = { .time = w->since.time, .insns = w->since.insns, .ran = w->since.ran };
	struct ns_event e;
	bool ok;

	exchange(stack, w);
	e = ns_stack_counts(stack, &since);
	ok = drop_calls(stack, &e);
	exchange(stack, w);
	free_waiting(stack, nth);
	return ok;
}

bool ns_stack_drop(struct ns_stack *stack, const struct ns_event *event)
{
	bool ok = true;

	while (stack->waiting.nr)
		ok = drop_waiting(stack, 0) && ok;
	stack->unordered = false;
	return drop_calls(stack, event) && ok;
}

/* Return the index of the call that ends if the waiting stack continues at @to. Return -1 if no call expects @to. */
static int64_t expected(const struct ns_waiting *w, uint64_t to)
{
	int64_t i = (int64_t)w->stack.open.nr - 1, end = i > RESUME_DEPTH ? i - RESUME_DEPTH : 0;

	if (w->ret == to)
		return i;
	if (w->left >= 0 && w->left_ret == to)
		return w->left;
	if (w->next && w->next == to)
		return i + 1;
	for (; i >= end && !w->stack.open.at[i].trap; i--) {
		if (w->stack.open.at[i].resume == to && !w->stack.open.at[i].outer)
			return i + 1;
	}
	return -1;
}

/*
 * Return the index of the waiting stack that continues at @to, by the rules in callstack.h. If @next is not NULL,
 * consider only stacks that expect these returns. Set *nr to their number. Return -1 if no stack continues there.
 */
static int64_t choose_stack(struct ns_stack *stack, uint64_t to, bool symmetric, struct returns *next,
			    size_t *nr)
{
	int64_t i, call, starter = -1, oldest = -1, started = -1;
	const struct ns_waiting *w;

	for (i = 0; i < (int64_t)stack->waiting.nr; i++) {
		w = &stack->waiting.at[i];
		call = expected(w, to);
		if (call < 0 || (next && !fits(next, w->stack.open.at, call)))
			continue;
		++*nr;
		if (starter < 0 && !symmetric && stack->cur.starter && w->stack.number + 1 == stack->cur.starter)
			starter = i;
		if (oldest < 0)
			oldest = i;
		if (started < 0 && w->stack.starter == stack->cur.number + 1)
			started = i;
	}
	return starter >= 0 ? starter : symmetric || started < 0 ? oldest : started;
}

static void make_unsure(struct ns_one_stack *one, int64_t nth)
{
	while (nth-- > 0)
		one->open.at[nth].unsure = true;
}

/*
 * Choose the stack that continues at @to, like choose_stack(). If a call of the current stack also has the return
 * address @to, @own is its index, otherwise -1. Mark the calls of all stacks that may continue as unsure if their order
 * is not known.
 */
static int64_t find_stack(struct ns_stack *stack, uint64_t to, bool symmetric, int64_t own)
{
	size_t all = 0, nr = 0;
	int64_t first = choose_stack(stack, to, symmetric, NULL, &all), chosen, i, call;
	struct returns next;

	if (first < 0 || all + (own >= 0) < 2)
		return first;
	look_ahead(stack, &next);
	chosen = choose_stack(stack, to, symmetric, &next, &nr);
	if (own >= 0 && fits(&next, stack->cur.open.at, own))
		nr++;
	else
		own = -1;
	if (!nr)
		return first;
	stack->unordered |= chosen != first;
	if (nr < 2 || !stack->unordered)
		return chosen;
	make_unsure(&stack->cur, own);
	for (i = 0; i < (int64_t)stack->waiting.nr; i++) {
		call = expected(&stack->waiting.at[i], to);
		if (call >= 0 && fits(&next, stack->waiting.at[i].stack.open.at, call))
			make_unsure(&stack->waiting.at[i].stack, call);
	}
	return chosen;
}

/* Return true if the code that made the call @f has loaded the stack pointer before, so that @f uses another stack. */
static bool uses_other_stack(const struct ns_stack *stack, const struct ns_frame *f)
{
	struct ns_event call = { .from = f->ret - 4, .from_space = f->ret_space };
	struct nt_insn insn;
	uint8_t code[4];

	if (f->kind != NT_BRANCH_CALL || f->missing ||
	    nt_session_read(stack->session, call.from_space, call.from, code, sizeof(code)) != sizeof(code))
		return false;
	if (nt_insn_decode(NULL, code, 4, &insn) != 4 || (insn.klass != NT_CLASS_CALL && insn.klass != NT_CLASS_INDIRECT_CALL))
		call.from += 2;
	return ns_code_before(stack, &call)->loads;
}

/* Return the index of the newest call whose function has called code that runs on another stack. Return -1 for none. */
static int64_t find_left(const struct ns_stack *stack)
{
	int64_t i = (int64_t)stack->cur.open.nr - 1, end = i > LEFT_DEPTH ? i - LEFT_DEPTH : 0;

	for (; i > end && !is_trap_or_signal(&stack->cur.open.at[i]); i--) {
		if (uses_other_stack(stack, &stack->cur.open.at[i]))
			return i - 1;
	}
	return -1;
}

/* Return the address behind the instruction that leaves. Return 0 if it is in another function. */
static uint64_t find_next(const struct ns_stack *stack, const struct ns_event *e)
{
	uint64_t next = e->from + e->length;
	struct nt_place from, to;

	nt_session_where(stack->session, e->from_space, e->from, &from);
	nt_session_where(stack->session, e->from_space, next, &to);
	return ns_same_function(&from, &to) ? next : 0;
}

/* Add the current stack to the waiting stacks, and make a new stack the current one. Return false if out of memory. */
static bool wait_on(struct ns_stack *stack, const struct ns_event *e, const struct ns_spent *now)
{
	struct ns_waiting w = { .stack = { .number = stack->nr_stacks + 1, .away = *now } };
	const struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;

	if (stack->waiting.nr >= WAITING_MAX && !drop_waiting(stack, 0))
		return false;
	w.next = find_next(stack, e);
	w.left = find_left(stack);
	w.left_ret = w.left >= 0 ? stack->cur.open.at[w.left].ret : 0;
	exchange(stack, &w);
	w.since = *now;
	w.ret = top ? w.stack.open.at[w.stack.open.nr - 1].ret : 0;
	return ns_array_add(&stack->waiting, w);
}

/* Continue on the waiting stack with index @nth. */
static int continue_stack(struct ns_stack *stack, size_t nth, const struct ns_event *e, const struct ns_spent *now)
{
	struct ns_waiting w = take_waiting(stack, nth);
	int64_t call = expected(&w, e->to);
	uint32_t before = stack->cur.number + 1, starter = stack->cur.starter;
	struct ns_event event;

	w.stack.away.time += now->time - w.since.time;
	w.stack.away.insns += now->insns - w.since.insns;
	w.stack.away.ran += now->ran - w.since.ran;
	if (starter != w.stack.number + 1)
		w.stack.starter = before;
	if (!wait_on(stack, e, now))
		return -1;
	exchange(stack, &w);
	event = *e;
	event.insns = now->insns - stack->cur.away.insns;
	event.ran = now->ran - stack->cur.away.ran;
	if ((stack->ops->switched && stack->ops->switched(stack, &event) < 0) ||
	    (stack->ops->resumed && !stack->ops->resumed(stack, call, &event)))
		return -1;
	return ns_stack_cut(stack, call, &event);
}

static int start_stack(struct ns_stack *stack, const struct ns_event *e, const struct ns_spent *now)
{
	uint32_t before = stack->cur.number + 1;
	struct ns_event event = *e;

	if (!wait_on(stack, e, now))
		return -1;
	stack->nr_stacks++;
	stack->cur.starter = before;
	event.insns = event.ran = 0;
	if (stack->ops->switched && stack->ops->switched(stack, &event) < 0)
		return -1;
	if (!ns_stack_begin(stack, &event) || (stack->ops->resumed && !stack->ops->resumed(stack, stack->cur.open.nr, &event)))
		return -1;
	return 1;
}

/*
 * Handle a jump by code that has loaded the stack pointer. If @inside is set, it goes to an address of the same function.
 * Return 2 if the thread stays on the same stack. Otherwise return the same values as ns_stack_take().
 */
static int take_switch(struct ns_stack *stack, const struct ns_event *e, bool inside)
{
	const struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;
	const struct ns_spent now = {
		.time = e->time, .insns = e->insns + stack->cur.away.insns, .ran = e->ran + stack->cur.away.ran,
	};
	int64_t i, own;
	int ret;

	stack->switches++;
	if (stack->ops->replay)
		return stack->ops->replay(stack, e) ?: 2;
	own = stack->waiting.nr ? find_left(stack) : -1;
	if (top && top->ret == e->to)
		own = (int64_t)stack->cur.open.nr - 1;
	else if (own >= 0 && stack->cur.open.at[own].ret != e->to)
		own = -1;
	i = find_stack(stack, e->to, own >= 0, own);
	if (i >= 0)
		return continue_stack(stack, i, e, &now);
	if (inside)
		return 2;
	ret = return_to(stack, e, ns_code_before(stack, e)->saves);
	return ret == 2 ? start_stack(stack, e, &now) : ret;
}

/* Find the call that continues after a return, or after a jump into the middle of another function. */
static int find_return(struct ns_stack *stack, const struct ns_event *e, const struct ns_target *code)
{
	bool saves = code->saves;
	int ret = 2;

	if (code->loads) {
		stack->may_switch = stack->part;
		if (stack->part)
			return 0;
		ret = take_switch(stack, e, false);
	}
	if (ret == 2)
		ret = return_to(stack, e, saves);
	if (ret == 2)
		ret = return_to_missing(stack, e);
	if (ret == 2 && is_new_thread(stack, e))
		return ns_stack_drop(stack, e) ? 1 : -1;
	return ret == 2 ? 1 : ret;
}

static noinline int take_return(struct ns_stack *stack, const struct ns_event *e)
{
	const struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;
	const struct ns_target *code = ns_code_before(stack, e);

	/* most returns end the newest call, so that no search is necessary */
	if (top && top->ret == e->to && !(top->trap | top->signal | top->saves | code->saves | code->loads))
		return stack_leave(stack, e, true) ? 1 : -1;
	return find_return(stack, e, code);
}

/*
 * Return true if the trap or signal handler @f may return to @to. A system call that a signal interrupted
 * may return to its ecall, which restarts the call.
 */
static bool goes_back_to(const struct ns_frame *f, uint64_t to)
{
	return f->ret == to || (f->kind == NT_BRANCH_SYSCALL && f->ret == to + 4);
}

/* Return the index of the newest trap, or of the newest trap from user code if @user is set. Return -1 for none. */
static int64_t find_trap(const struct ns_stack *stack, bool user)
{
	const struct ns_frame *frame;
	size_t at;

	for (at = newest(stack); at; at = frame->below) {
		frame = &stack->cur.open.at[at - 1];
		if (frame->trap && (!user || is_user(stack, frame->ret)))
			break;
	}
	return (int64_t)at - 1;
}

/* Return the index + 1 of the newest trap or signal that has interrupted the program at @to. Return 0 if none has. */
static size_t find_interrupted(const struct ns_stack *stack, uint64_t to)
{
	size_t at = newest(stack);

	while (at && !goes_back_to(&stack->cur.open.at[at - 1], to))
		at = stack->cur.open.at[at - 1].below;
	return at;
}

/*
 * Mark open calls as paused, because tracing was off. If @kernel is set, only mark the calls in the kernel and the trap
 * that entered the kernel.
 */
static void pause_calls(struct ns_stack *stack, bool kernel)
{
	struct ns_frame *frame = stack->cur.open.at + stack->cur.open.nr;

	while (frame-- > stack->cur.open.at) {
		frame->paused = true;
		if (kernel && is_user(stack, frame->ret))
			break;
	}
}

/*
 * Drop all open calls of the thread, and make the function at @e->to its outermost function. Trace has stopped at
 * @stop and starts again at @e->to, and the calls in between are unknown. The thread ran for some time without trace.
 * If calls are open, they get this time and end after it, because their ends were not traced. If no call is open, the
 * function at @e->to gets this time.
 */
static int begin_anew(struct ns_stack *stack, const struct ns_frame *stop, const struct ns_event *e)
{
	struct ns_event then = *e, begin = *e;
	uint64_t untraced = e->ran - stop->ran;

	then.time = stop->begin + untraced;
	if (!stack->cur.open.nr) {
		begin.time -= untraced;
		begin.ran = stop->ran;
	}
	return drop_calls(stack, &then) && ns_stack_begin(stack, &begin) ? 1 : -1;
}

/* Reason for which the trace has stopped */
enum filter_stop {
	STOP_NONE,		/* no filter has stopped the trace, but a trap */
	STOP_ADDRESS,		/* a filter has stopped the trace behind the first instruction of a function */
	STOP_RANGE,		/* the code has left the ranges of a filter */
};

static enum filter_stop filter_stop(const struct ns_stack *stack, const struct ns_frame *stop)
{
	struct nt_place place;
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;

	if (!nt_session_is_filtered(stack->session) || stop->kind == NT_BRANCH_SYSCALL)
		return STOP_NONE;
	nt_session_where(stack->session, stop->ret_space, stop->resume, &place);
	if (is_jump(stop->kind) || (place.symbol && !place.offset))
		return STOP_RANGE;
	return place.symbol && place.offset <= sizeof(code) &&
	       nt_session_read(stack->session, stop->ret_space, place.start, code, place.offset) == place.offset &&
	       nt_insn_decode(NULL, code, place.offset, &insn) == (int)place.offset ? STOP_ADDRESS : STOP_NONE;
}

/* Return true if the code of the function @place has a direct jump, branch or call to its first instruction. */
static bool jumps_to_start(const struct ns_stack *stack, uint64_t space, const struct nt_place *place)
{
	struct ns_target *target = target_of(stack, place->start);
	uint64_t addr = place->start, to, before = 0;
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;
	int n;

	if (target->entry == addr && target->entry_space == space)
		return target->repeats;
	target->entry = addr;
	target->entry_space = space;
	target->repeats = false;
	for (; addr < place->end && !target->repeats; addr += n > 0 ? n : 2) {
		n = nt_session_read(stack->session, space, addr, code, sizeof(code));
		n = n > 0 ? nt_insn_decode(NULL, code, n, &insn) : 0;
		if (n <= 0)
			continue;
		/* the target of auipc and jalr is the sum of their constants and the address of auipc */
		to = addr + insn.imm + (insn.klass > NT_CLASS_CALL ? before - 4 : 0);
		before = insn.imm;
		target->repeats = insn.klass >= NT_CLASS_BRANCH && insn.klass <= NT_CLASS_INDIRECT_CALL && to == place->start;
	}
	return target->repeats;
}

/*
 * Return true if the newest call has left the ranges of a filter in the middle of its function, so that trace stopped at
 * @stop, and trace starts at @e->to in the same function without a return of the call. Set *to to the place of @e->to.
 */
static bool has_left(const struct ns_stack *stack, const struct ns_frame *stop, const struct ns_event *e, struct nt_place *to)
{
	const struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;
	struct nt_place from;

	if (!top || top->trap | top->signal | top->unseen || top->ret == e->to || !stop->unseen || stop->kind != NT_BRANCH_NONE || !nt_session_is_filtered(stack->session))
		return false;
	nt_session_where(stack->session, stop->ret_space, stop->resume, &from);
	nt_session_where(stack->session, e->to_space, e->to, to);
	return ns_same_function(&from, to);
}

/*
 * If the newest call has left the ranges of a filter, and trace starts again at the entry of its function, end this
 * call at the time at which it left. If the function has a jump to its start, the call may instead have continued
 * there, so mark it as unsure. Return 2 if the call has not left the ranges.
 */
static int end_left_call(struct ns_stack *stack, const struct ns_frame *stop, const struct ns_event *e)
{
	struct ns_event left = *e;
	struct nt_place to;

	if (!has_left(stack, stop, e, &to))
		return 2;
	left.time = stop->begin;
	stack->cur.open.at[stack->cur.open.nr - 1].unsure |= jumps_to_start(stack, e->to_space, &to);
	if (!stack_leave(stack, &left, true))
		return -1;
	return stack->cur.open.nr ? call_from_missing(stack, e, false) : begin_anew(stack, stop, e);
}

/*
 * Handle the start of trace at the entry @e->to of a function that code without trace has called. @stop is the frame
 * for that code, which was pushed when the trace stopped, and which the caller of this C function has removed. If a
 * filter that starts and stops the trace at addresses has stopped it (STOP_ADDRESS), the open calls are unknown. If a
 * filter of ranges has stopped it (STOP_RANGE), the newest open call has called the code without trace. Return 2 if a
 * trap had stopped the trace, so that the function at @e->to is a signal handler.
 */
static int call_from_untraced(struct ns_stack *stack, const struct ns_frame *stop, const struct ns_event *e)
{
	switch (filter_stop(stack, stop)) {
	case STOP_ADDRESS:
		return begin_anew(stack, stop, e);
	case STOP_RANGE:
		/* the newest call may have ended in code that the filter excludes, so end it at an unknown time */
		if (stack->cur.open.nr && stack->cur.open.at[stack->cur.open.nr - 1].hidden && !stack_leave(stack, e, false))
			return -1;
		return stack->cur.open.nr ? call_from_missing(stack, e, false) : begin_anew(stack, stop, e);
	case STOP_NONE:
		break;
	}
	return end_left_call(stack, stop, e);
}

/*
 * Handle a return from the kernel to a user address @e->to that no trap has interrupted. If a function starts there, it
 * is a signal handler, so push a frame for its call. If the address is inside a function, a signal handler has set it
 * before it ended, for example as the saved PC. In that case, end all calls above the open call of the function. @frame
 * is the frame of the trap, which was removed from the stack.
 */
static int take_signal(struct ns_stack *stack, const struct ns_event *e, struct ns_frame frame)
{
	struct nt_place place;
	int64_t i;

	if (is_missing(stack, e->to_space, e->to)) {
		i = find_missing(stack);
		if (i >= 0 || frame.missing)
			return frame.missing ? 1 : ns_stack_cut(stack, i, e);
	}
	nt_session_where(stack->session, e->to_space, e->to, &place);
	if (place.symbol && place.offset) {
		pause_calls(stack, false);
		if (has_left(stack, &frame, e, &place))
			return 1;
		i = nt_session_is_filtered(stack->session) ? return_to(stack, e, false) : 2;
		if (i != 2)
			return i;
		i = ns_find_function(stack, e->to_space, e->to);
		if (i < 0 && (frame.unseen || frame.paused))
			return begin_anew(stack, &frame, e);
		return i < 0 ? 1 : ns_stack_cut(stack, i, e);
	}
	i = frame.unseen ? call_from_untraced(stack, &frame, e) : 2;
	if (i != 2)
		return i;
	frame.trap = frame.unseen = false;
	frame.signal = true;
	/* the kind of a trap from before the trace is unknown, so assume an interrupt */
	if (frame.kind == NT_BRANCH_NONE)
		frame.kind = NT_BRANCH_INTERRUPT;
	start_frame(stack, &frame, e);
	return stack_push(stack, &frame, e) ? 1 : -1;
}

/*
 * If @trap is the system call rt_sigreturn(), with which a signal handler ends, and the kernel continues at the start
 * of another function, at @e->to, this function is the handler of another signal. End the newest handler. The new one
 * will also return to the interrupted program, so set the return address of @trap to this program.
 */
static int end_handler(struct ns_stack *stack, const struct ns_event *e, struct ns_frame *trap)
{
	const struct ns_frame *handler;
	struct nt_place place;
	uint32_t insn = 0;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	if (place.offset || !newest(stack) || !stack->cur.open.at[newest(stack) - 1].signal || trap->kind != NT_BRANCH_SYSCALL ||
	    nt_session_read(stack->session, trap->ret_space, trap->ret - 8, &insn, sizeof(insn)) != sizeof(insn) ||
	    insn != LI_A7_SIGRETURN)
		return 1;
	handler = &stack->cur.open.at[newest(stack) - 1];
	trap->ret = handler->ret;
	trap->ret_space = handler->ret_space;
	trap->kind = handler->kind;
	return ns_stack_cut(stack, newest(stack) - 1, e);
}

static int take_trap_return(struct ns_stack *stack, const struct ns_event *e)
{
	bool user = is_user(stack, e->to);
	int64_t trap = find_trap(stack, user);
	struct ns_frame frame;
	size_t at;

	if (trap >= 0 && user && stack->cur.open.at[trap].image != e->image) {
		if (stack->part)
			return 0;
		/* exec started a new program, so the kernel never returns to the old one */
		return ns_stack_cut(stack, trap, e) > 0 && ns_stack_drop(stack, e) ? 1 : -1;
	}
	at = find_interrupted(stack, e->to);
	if (at)
		return ns_stack_cut(stack, at - 1, e);
	if (stack->part)
		return 0;
	if (trap < 0)
		return 1;
	frame = stack->cur.open.at[trap];
	if (ns_stack_cut(stack, trap, e) < 0 || (user && end_handler(stack, e, &frame) < 0))
		return -1;
	if (user && frame.paused)
		pause_calls(stack, false);
	/* if a fault has interrupted the kernel itself, the kernel has handled it and continues at another address */
	return user ? take_signal(stack, e, frame) : 1;
}

static int take_jump(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame frame, outer, *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;
	enum ns_jump jump = ns_jump_to(stack, e);
	const struct ns_target *code;
	bool saves;
	int ret;

	if (jump == NS_JUMP_INSIDE)
		return 1;
	if (jump == NS_JUMP_SWITCH) {
		stack->may_switch = stack->part;
		ret = stack->part ? 0 : take_switch(stack, e, true);
		return ret == 2 ? 1 : ret;
	}
	code = ns_code_before(stack, e);
	if (jump == NS_JUMP_MIDDLE || code->loads)
		return find_return(stack, e, code);
	saves = code->saves;
	/*
	 * if the outermost function makes a tail call, the called function returns to the unknown caller of the
	 * outermost function
	 */
	if (top && top->outer && nt_session_is_filtered(stack->session)) {
		outer = stack->cur.outer;
		if (!drop_calls(stack, e))
			return -1;
		stack->cur.outer = outer;
		stack->cur.outer.resume = 0;
		return call_from_missing(stack, e, false);
	}
	if (top ? top->trap || top->outer : !stack->part)
		return 1;
	if (!stack->cur.open.nr)
		return 0;
	frame = stack->cur.open.at[stack->cur.open.nr - 1];
	frame.saves |= saves;
	if (!stack_leave(stack, e, true))
		return -1;
	start_frame(stack, &frame, e);
	return stack_push(stack, &frame, e) ? 1 : -1;
}

/* ---- All ---- */

/*
 * Handle the stop of the trace. Trace stops in user code because the kernel executes, or in any code because of a
 * filter. If trace stops at a jump, the address at which trace starts again is the target of the jump.
 */
static noinline int take_stop(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;
	bool filtered = nt_session_is_filtered(stack->session), ends;
	uint64_t ret = NO_RETURN;
	struct ns_frame *stop;

	if (e->kind == NT_BRANCH_TRAP_RETURN || !(is_user(stack, e->from) || filtered))
		return 1;
	if (!top && stack->part && (filtered || is_jump(e->kind)))
		return 0;
	if (filtered && top && top->missing && top->insns == e->insns)
		top->hidden = true;
	if (!is_jump(e->kind))
		return take_trap(stack, e, true) ? 1 : -1;
	ends = e->kind == NT_BRANCH_RETURN && top && !(top->trap | top->signal | top->outer | top->unseen) &&
	       !ns_code_before(stack, e)->loads;
	if (ends)
		ret = top->ret;
	else if (e->kind == NT_BRANCH_CALL)
		ret = e->from + e->length;
	if ((ends && !stack_leave(stack, e, true)) || !take_trap(stack, e, true))
		return -1;
	stop = &stack->cur.open.at[stack->cur.open.nr - 1];
	stop->ret = ret;
	/*
	 * if trace stopped at a call that left the ranges of a filter, the frame is for the called code, and not for a
	 * trap
	 */
	stop->trap = !(filtered && e->kind == NT_BRANCH_CALL);
	return 1;
}

/*
 * Apply the jump at which trace stopped, because its target @e->to is known when trace starts again. Trace stopped
 * because a trap followed the jump, or because the jump left the ranges of a filter.
 */
static int take_cut_jump(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame stop = stack->cur.open.at[stack->cur.open.nr - 1];
	struct ns_event jump = *e;
	struct nt_place from, to;
	int ret;

	jump.kind = stop.kind;
	jump.flags = 0;
	jump.from = stop.resume;
	jump.from_space = stop.ret_space;
	jump.length = stop.kind == NT_BRANCH_CALL ? stop.ret - stop.resume : 0;
	nt_session_where(stack->session, jump.from_space, jump.from, &from);
	nt_session_where(stack->session, e->to_space, e->to, &to);
	/* a swap to the middle of a function keeps the depth, as in flow/branch.c, which did not know the target */
	if (jump.kind == NT_BRANCH_CALL && to.symbol && to.offset && class_of(stack, &jump) == NT_CLASS_SWAP)
		jump.kind = NT_BRANCH_JUMP;
	stack->cur.open.nr--;
	if (!nt_session_is_filtered(stack->session) || (stop.kind == NT_BRANCH_JUMP && to.offset && ns_same_function(&from, &to)))
		return jump.kind == NT_BRANCH_CALL ? take_call(stack, &jump) : take_jump(stack, &jump);
	if (stop.kind == NT_BRANCH_JUMP && stack->cur.open.nr && !stack->cur.open.at[stack->cur.open.nr - 1].outer) {
		stop.ret = stack->cur.open.at[stack->cur.open.nr - 1].ret;
		jump.time = stop.begin;
		if (!stack_leave(stack, &jump, true))
			return -1;
		if (stop.ret == e->to)
			return 1;
	}
	if (to.symbol && to.offset) {
		ret = return_to(stack, e, false);
		return ret == 2 ? begin_anew(stack, &stop, e) : ret;
	}
	if (stop.kind == NT_BRANCH_CALL)
		stack->cur.open.nr++;
	return call_from_untraced(stack, &stop, e);
}

/* Handle trace that starts again in the kernel. The topmost frame contains the address at which trace has stopped. */
static int take_begin_in_kernel(struct ns_stack *stack, const struct ns_event *e)
{
	const struct ns_frame stop = stack->cur.open.at[stack->cur.open.nr - 1];
	struct nt_place place;
	bool was_user;
	size_t at;
	int ret;

	if (stop.unseen && nt_session_is_filtered(stack->session)) {
		at = find_interrupted(stack, e->to);
		if (at || stack->part)
			return at ? ns_stack_cut(stack, at - 1, e) : 0;
		nt_session_where(stack->session, e->to_space, e->to, &place);
		was_user = is_user(stack, stop.resume);
		if (!was_user && !stop.trap && stop.ret == e->to)
			return ns_stack_cut(stack, stack->cur.open.nr - 1, e);
		if (!was_user && (stop.kind == NT_BRANCH_CALL || stop.kind == NT_BRANCH_JUMP))
			return take_cut_jump(stack, e);
		stack->cur.open.nr -= !was_user;
		if (place.symbol && !place.offset)
			ret = call_from_untraced(stack, &stop, e);
		else
			ret = was_user ? 2 : has_left(stack, &stop, e, &place) ? 1 : return_to(stack, e, false);
		if (ret != 2)
			return ret;
	}
	pause_calls(stack, true);
	return 1;
}

/* Handle the end of a gap with missing code. Execution continues at @e->to. */
static int take_missing(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_frame *frame = stack->cur.open.at, *end = frame + stack->cur.open.nr;
	bool user = is_user(stack, e->to), was_user;
	size_t at;
	int ret;

	if (stack->part)
		return 0;
	for (; e->flags & NT_BRANCH_HIDDEN && frame < end; frame++)
		frame->hidden = true;
	if (!stack->cur.open.nr || is_missing(stack, e->to_space, e->to))
		return 1;
	frame = end - 1;
	was_user = is_user(stack, frame->outer ? frame->resume : frame->ret);
	if (user && !was_user)
		return take_trap_return(stack, e);
	if (!user && was_user)
		return call_from_missing(stack, e, true);
	at = find_interrupted(stack, e->to);
	ret = at ? ns_stack_cut(stack, at - 1, e) : return_to(stack, e, false);
	return ret == 2 ? call_from_missing(stack, e, false) : ret;
}

static noinline int take_begin(struct ns_stack *stack, const struct ns_event *e)
{
	const struct ns_frame *top;

	if (e->flags & NT_BRANCH_MISSING)
		return take_missing(stack, e);
	if (!stack->cur.open.nr)
		return !stack->part;
	if (!is_user(stack, e->to))
		return take_begin_in_kernel(stack, e);
	top = &stack->cur.open.at[stack->cur.open.nr - 1];
	if (!top->unseen)
		return 1;
	if (!top->trap && top->ret == e->to)
		return ns_stack_cut(stack, stack->cur.open.nr - 1, e);
	if ((top->kind == NT_BRANCH_CALL || top->kind == NT_BRANCH_JUMP) && top->ret != e->to && top->image == e->image)
		return stack->part ? 0 : take_cut_jump(stack, e);
	return take_trap_return(stack, e);
}

static bool push_outer(struct ns_stack *stack, const struct ns_event *e)
{
	return stack_push(stack, &stack->cur.outer, e);
}

bool ns_stack_begin(struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_place place;

	stack->cur.outer = (struct ns_frame){
		.ret = NO_RETURN, .begin = e->time, .insns = e->insns, .ran = e->ran,
		.kind = NT_BRANCH_NONE, .outer = true, .resume = e->to, .ret_space = e->to_space,
		.away = stack->cur.away.time,
	};
	/* if a filter has started the trace at the entry of a function, unknown code has called the function */
	nt_session_where(stack->session, e->to_space, e->to, &place);
	if (!nt_session_is_filtered(stack->session) || !place.symbol || place.offset)
		return push_outer(stack, e);
	stack->cur.outer.resume = 0;
	return call_from_missing(stack, e, false) > 0;
}

void ns_stack_restore(struct ns_stack *stack)
{
	const struct ns_frame *first = stack->cur.open.at;

	if (!stack->cur.open.nr || !(first->outer || first->missing))
		return;
	stack->cur.outer = *first;
	if (!first->outer)
		stack->cur.outer.resume = 0;
	stack->cur.outer.outer = true;
	stack->cur.outer.missing = false;
}

/* Make the function at @e->to the new outermost function. It has called the old one before the trace began. */
static bool continue_outer(struct ns_stack *stack, const struct ns_event *e)
{
	stack->cur.outer.outer = true;
	stack->cur.outer.resume = e->to;
	stack->cur.outer.ret_space = e->to_space;
	stack->cur.outer.child_ran = e->ran - stack->cur.outer.ran;
	stack->cur.outer.child_insns = e->insns - stack->cur.outer.insns;
	return push_outer(stack, e);
}

/* If the outermost known function returns to another function, make the latter the outermost function. */
static bool return_outer(struct ns_stack *stack, const struct ns_event *e)
{
	struct nt_place from, to;

	nt_session_where(stack->session, e->from_space, e->from, &from);
	nt_session_where(stack->session, e->to_space, e->to, &to);
	if (ns_same_function(&from, &to))
		return true;
	return drop_calls(stack, e) && continue_outer(stack, e);
}

/*
 * Update the frame of the outermost function after an event. @before is the number of calls that were open
 * before the event.
 */
static bool follow_outer(struct ns_stack *stack, const struct ns_event *e, size_t before)
{
	if (!stack->follows || !e->to || stack->cur.open.nr > 1)
		return true;
	if (!stack->cur.open.nr && stack->cur.outer.outer && !stack->cur.outer.resume)
		return continue_outer(stack, e);
	if (!stack->cur.open.nr)
		return ns_stack_begin(stack, e);
	if (before != 1 || !stack->cur.open.at[0].outer || (e->kind != NT_BRANCH_RETURN && e->kind != NT_BRANCH_TRAP_RETURN))
		return true;
	return return_outer(stack, e);
}

int ns_stack_take_part(struct ns_stack *stack, const struct ns_event *event)
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
	size_t before = stack->cur.open.nr;
	uint32_t number = stack->cur.number;
	struct ns_event counts;
	int ret;

	if (stack->nr_stacks) {
		counts = ns_stack_counts(stack, event);
		event = &counts;
	}
	ret = ns_stack_take_part(stack, event);
	return ret <= 0 || number != stack->cur.number || follow_outer(stack, event, before) ? ret : -1;
}
