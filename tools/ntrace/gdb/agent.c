// SPDX-License-Identifier: GPL-2.0-only
/*
 * Evaluate conditions of breakpoints, which gdb sends as bytecode ("Agent Expressions" in the
 * manual of gdb).
 */
#include <string.h>

#include "stub.h"

#define DEPTH	64
#define STEPS	10000	/* maximum number of operations, so that each condition ends */

enum {
	OP_ADD = 0x02, OP_SUB, OP_MUL, OP_DIV_SIGNED, OP_DIV_UNSIGNED, OP_REM_SIGNED, OP_REM_UNSIGNED, OP_LSH,
	OP_RSH_SIGNED, OP_RSH_UNSIGNED, OP_LOG_NOT = 0x0e, OP_BIT_AND, OP_BIT_OR, OP_BIT_XOR, OP_BIT_NOT, OP_EQUAL,
	OP_LESS_SIGNED, OP_LESS_UNSIGNED, OP_EXT, OP_IF_GOTO = 0x20, OP_GOTO, OP_CONST8, OP_CONST16, OP_CONST32,
	OP_CONST64, OP_REG, OP_END, OP_DUP, OP_POP, OP_ZERO_EXT, OP_SWAP,
};

struct agent {
	struct stub	*stub;
	int32_t		tid;
	const uint8_t	*code;
	size_t		size, at;
	uint64_t	stack[DEPTH];
	size_t		nr;
};

/* Read a number of @bytes, big endian. Return false at the end of the code. */
static bool operand(struct agent *a, unsigned int bytes, uint64_t *value)
{
	if (bytes > a->size - a->at)
		return false;
	for (*value = 0; bytes--; a->at++)
		*value = *value << 8 | a->code[a->at];
	return true;
}

static bool push(struct agent *a, uint64_t value)
{
	if (a->nr == DEPTH)
		return false;
	a->stack[a->nr++] = value;
	return true;
}

static uint64_t extend(uint64_t value, uint64_t bits, bool is_signed)
{
	uint64_t mask = bits >= 64 ? UINT64_MAX : (1ULL << bits) - 1;

	value &= mask;
	return is_signed && bits && bits < 64 && value >> (bits - 1) ? value | ~mask : value;
}

/* Apply a binary operation to the two topmost values. Return false if @op is not a binary operation. */
static bool binary(struct agent *a, uint8_t op)
{
	uint64_t x, y, *to;

	if (a->nr < 2)
		return false;
	y = a->stack[--a->nr];
	to = &a->stack[a->nr - 1];
	x = *to;
	switch (op) {
	case OP_ADD: *to = x + y; break;
	case OP_SUB: *to = x - y; break;
	case OP_MUL: *to = x * y; break;
	case OP_DIV_UNSIGNED: *to = y ? x / y : 0; return y;
	case OP_REM_UNSIGNED: *to = y ? x % y : 0; return y;
	case OP_LSH: *to = y < 64 ? x << y : 0; break;
	case OP_RSH_UNSIGNED: *to = y < 64 ? x >> y : 0; break;
	case OP_RSH_SIGNED: *to = (int64_t)x >> (y < 64 ? y : 63); break;
	case OP_BIT_AND: *to = x & y; break;
	case OP_BIT_OR: *to = x | y; break;
	case OP_BIT_XOR: *to = x ^ y; break;
	case OP_EQUAL: *to = x == y; break;
	case OP_LESS_SIGNED: *to = (int64_t)x < (int64_t)y; break;
	case OP_LESS_UNSIGNED: *to = x < y; break;
	default: return false;
	}
	return true;
}

static bool take_register(struct agent *a)
{
	uint64_t number, value;
	size_t size;

	return operand(a, 2, &number) && stub_register(a->stub, a->tid, number, &value, &size) && push(a, value);
}

static bool jump(struct agent *a, bool always)
{
	uint64_t to;

	if (!operand(a, 2, &to) || (!always && !a->nr))
		return false;
	if (always || a->stack[--a->nr])
		a->at = to;
	return a->at <= a->size;
}

/* Execute an operation that is not binary. Return false if it cannot be executed. */
static bool execute(struct agent *a, uint8_t op)
{
	uint64_t value, *top = a->nr ? &a->stack[a->nr - 1] : NULL;

	switch (op) {
	case OP_CONST8: case OP_CONST16: case OP_CONST32: case OP_CONST64:
		return operand(a, 1 << (op - OP_CONST8), &value) && push(a, value);
	case OP_REG: return take_register(a);
	case OP_GOTO: return jump(a, true);
	case OP_IF_GOTO: return jump(a, false);
	}
	if (!top)
		return false;
	switch (op) {
	case OP_EXT:
	case OP_ZERO_EXT:
		if (!operand(a, 1, &value))
			return false;
		*top = extend(*top, value, op == OP_EXT);
		return true;
	case OP_LOG_NOT: *top = !*top; return true;
	case OP_BIT_NOT: *top = ~*top; return true;
	case OP_DUP: return push(a, *top);
	case OP_POP: a->nr--; return true;
	case OP_SWAP:
		if (a->nr < 2)
			return false;
		value = *top;
		*top = top[-1];
		top[-1] = value;
		return true;
	}
	return binary(a, op);
}

bool agent_true(struct stub *stub, int32_t tid, const uint8_t *code, size_t size)
{
	struct agent a = { .stub = stub, .tid = tid, .code = code, .size = size };
	unsigned int steps;

	/*
	 * Return true if the condition cannot be evaluated. gdb then evaluates the condition itself, and reports why
	 * this fails.
	 */
	for (steps = 0; steps < STEPS && a.at < size; steps++) {
		uint8_t op = code[a.at++];

		if (op == OP_END)
			return !a.nr || a.stack[a.nr - 1];
		if (!execute(&a, op))
			return true;
	}
	return true;
}
