// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Check that returns go to the instruction after the call, and that calls and jumps through pointers go to the start of
 * a function.
 */
#include <string.h>

#include "chains-priv.h"
#include "session/session-priv.h"

static size_t read_code(const struct ns_stack *stack, uint64_t space, uint64_t addr, void *buf, size_t size)
{
	return nt_session_read(stack->session, space, addr, buf, size);
}

/*
 * Return true if the event is the return with which libgcc's unwinder continues in a function that catches an
 * exception. Right before this return, the unwinder adds a register to the stack pointer.
 */
static bool is_exception(const struct ns_stack *stack, const struct ns_event *e)
{
	uint16_t code[2];
	uint32_t insn;

	if (read_code(stack, e->from_space, e->from - sizeof(code), code, sizeof(code)) != sizeof(code))
		return false;
	insn = code[0] | (uint32_t)code[1] << 16;
	/* c.add sp, REG or add sp, sp, REG */
	return (((code[1] & 0xff83) == 0x9102 && code[1] & 0x7c) || (insn & 0xfe0fffff) == 0x00010133) &&
		ns_find_function(stack, e->to_space, e->to) >= 0;
}

/* Return the newest call, or NULL if its return address is not known for certain. */
static const struct ns_frame *certain_call(const struct ns_stack *stack)
{
	const struct ns_frame *top = stack->cur.open.nr ? &stack->cur.open.at[stack->cur.open.nr - 1] : NULL;

	return top && !(top->outer | top->trap | top->unseen | top->unsure | top->hidden | top->paused | top->missing) ? top : NULL;
}

static void audit_return(const struct ns_stack *stack, const struct ns_event *e, struct nt_audit *audit)
{
	const struct ns_frame *top = certain_call(stack);
	struct nt_place from;

	if (!top || top->signal || top->ret == e->to)
		return;
	/*
	 * do not report the return from __switch_to(). With this return, the kernel continues another thread, so it
	 * does not go to the return address of the newest call.
	 */
	nt_session_where(stack->session, e->from_space, e->from, &from);
	if (from.symbol && !strcmp(from.symbol, "__switch_to"))
		return;
	/*
	 * do not report returns of longjmp(), coroutines and unwinders, all of which load the stack pointer, so they
	 * may correctly return to another address than that of the newest call
	 */
	if (ns_code_before(stack, e)->loads || is_exception(stack, e))
		return;
	audit->alarm = NT_ALARM_RETURN;
	audit->expected = top->ret;
	audit->expected_space = top->ret_space;
}

/*
 * Set *audit for a call or jump through a register: whether the instruction lpad (landing pad) must be at its target,
 * and an alarm if the target is inside of a function and not at its start.
 */
static void audit_pointer(const struct ns_stack *stack, const struct ns_event *e, struct nt_audit *audit)
{
	const struct ns_frame *top = certain_call(stack);
	struct nt_place from, to;
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;

	if (!ns_is_indirect(stack, e))
		return;
	read_code(stack, e->from_space, e->from, code, e->length);
	/* Zicfilp requires no lpad at the target of a jump through x1, x5 or x7 */
	audit->needs_pad = nt_insn_decode(NULL, code, e->length, &insn) && insn.rs1 != 1 && insn.rs1 != 5 && insn.rs1 != 7;
	nt_session_where(stack->session, e->to_space, e->to, &to);
	if (!to.symbol || !to.offset)
		return;
	if (e->kind == NT_BRANCH_CALL) {
		audit->alarm = NT_ALARM_CALL;
		return;
	}
	nt_session_where(stack->session, e->from_space, e->from, &from);
	if (!ns_same_function(&from, &to) && !(top && top->ret == e->to) && !ns_code_before(stack, e)->loads)
		audit->alarm = NT_ALARM_JUMP;
}

void ns_audit(const struct ns_stack *stack, const struct ns_event *e, struct nt_audit *audit)
{
	audit->from_space = e->from_space;
	audit->to_space = e->to_space;
	if (e->flags)
		return;
	if (e->kind == NT_BRANCH_RETURN)
		audit_return(stack, e, audit);
	else if (e->kind == NT_BRANCH_CALL || e->kind == NT_BRANCH_JUMP)
		audit_pointer(stack, e, audit);
}
