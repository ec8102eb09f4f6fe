// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests/board/cache.t: what a sink wrote is seen line by line, when the hart has invalidated
 * the line (cbo.inval, cbo.flush); cbo.clean does not do it, and a store to such a line is lost.
 */
#include "bare.h"

#define BUF	0x82000000UL
#define SIZE	0x1000U
#define CONTROL	0x01000061U

/* as numbers: the assembler may not know Zicbom */
#define CBO(what, addr)	__asm__ volatile(".insn i 0x0f, 2, x0, %0, %1" : : "r"(addr), "i"(what) : "memory")
#define INVAL	0
#define CLEAN	1
#define FLUSH	2

static unsigned int seen(volatile uint8_t *p, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += p[i] != 0;
	return sum;
}

static void say(const char *what, int yes)
{
	put(what);
	put(yes ? " yes\n" : " no\n");
}

static void trace(void)
{
	volatile uint32_t *te = trace_regs(0), *ram = trace_regs(1);
	volatile unsigned int i, n = 0;

	te[0] = 1;
	ram[0] = 1;
	te[2] = 0;
	te[3] = 0;
	te[0x40 / 4] = 0;
	sink_start(ram, BUF, SIZE);
	te[0] = CONTROL;
	te[0] = CONTROL | 6;
	for (i = 0; i < 3000; i++)
		n += i % 3 ? i : 1;
	te[0] = CONTROL & ~2U;
	ram[0] = 0x111;
}

int main(unsigned int hart)
{
	volatile uint8_t *buf = (volatile uint8_t *)BUF;

	(void)hart;
	trace();
	say("at once:", seen(buf, 256));
	CBO(CLEAN, BUF);
	say("cleaned:", seen(buf, 64));
	CBO(INVAL, BUF);
	say("invalidated:", seen(buf, 64));
	say("the next line:", seen(buf + 64, 64));
	CBO(FLUSH, BUF + 64);
	say("flushed:", seen(buf + 64, 64));
	buf[128] = 0;
	buf[130] = 0;
	CBO(INVAL, BUF + 128);
	say("after a store:", seen(buf + 128, 1) && seen(buf + 130, 1));
	return 0;
}
