/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions for tests/board/cache.c and cached.c that clean and invalidate cache lines, and let a
 * sink write trace
 */
#ifndef TESTS_BOARD_CBO_H
#define TESTS_BOARD_CBO_H

#include "bare.h"

#define CONTROL	0x01000061U

/* The instructions are encoded as numbers, because the assembler may not support Zicbom */
#define CBO(what, addr)	__asm__ volatile(".insn i 0x0f, 2, x0, %0, %1" : : "r"(addr), "i"(what) : "memory")
#define INVAL	0
#define CLEAN	1
#define FLUSH	2

static inline void say(const char *what, int yes)
{
	put(what);
	put(yes ? " yes\n" : " no\n");
}

/* Trace some branches into at most @size bytes at @to */
static inline void trace(uint32_t to, uint32_t size)
{
	volatile uint32_t *te = trace_regs(0), *ram = trace_regs(1);
	volatile unsigned int i, n = 0;

	trace_start(te, ram, to, size, CONTROL);
	for (i = 0; i < 3000; i++)
		n += i % 3 ? i : 1;
	te[0] = CONTROL & ~2U;
	ram[0] = 0x111;
}

#endif /* TESTS_BOARD_CBO_H */
