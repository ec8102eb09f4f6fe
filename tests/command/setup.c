// SPDX-License-Identifier: GPL-2.0-only
/*
 * This program is for tests/command/setup.t. Hart 1 starts its work when gdb has set `go`. Hart 0 waits at the labels
 * below, and executes gdb's loads and stores there. A real debugger executes them in the program buffer of the hart.
 */
#include "../board/bare.h"

volatile int go;
static volatile unsigned int sum;

__asm__(".text\n"
	".globl debug_store, debug_load, debug_done, debug_wait\n"
	"debug_store: sw a1, 0(a0)\n"
	"j debug_done\n"
	"debug_load: lw a1, 0(a0)\n"
	"debug_done: j debug_done\n"
	"debug_wait: j debug_wait\n");

/*
 * gdb stops the machine at ready() and finished(). The last hart to start calls ready(), so that hart 0 has left the
 * boot ROM by then. The last of harts 1 and 2 to finish its work calls finished().
 */
__attribute__((noinline)) void ready(void)
{
	__asm__ volatile("");
}

__attribute__((noinline)) void finished(void)
{
	__asm__ volatile("");
}

static int is_last(int *count, int harts)
{
	return __atomic_add_fetch(count, 1, __ATOMIC_SEQ_CST) == harts;
}

__attribute__((noinline)) static unsigned int step(unsigned int i)
{
	return i % 7 == 3 ? sum ^ i : sum + i;
}

int main(unsigned int hart)
{
	static int here, done;
	unsigned int i;

	if (is_last(&here, 3))
		ready();
	if (hart) {
		while (!go)
			;
		for (i = 0; i < ROUNDS; i++)
			sum = step(i);
		if (is_last(&done, 2))
			finished();
	}
	for (;;)
		;
}
