// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of tests/board/race.t. Each hart is traced from reset on. It repeatedly stops and starts
 * the encoder of the next hart, and sometimes writes its own scontext.
 */
#include "bare.h"

#define TRACING	4U

static volatile int done[HARTS];
static volatile uint64_t at[HARTS];

static void work(unsigned int hart)
{
	volatile uint32_t *te = trace_regs((hart + 1) % HARTS);
	uint32_t control = te[0];
	uint64_t i;

	for (i = 0; i < ROUNDS; i++) {
		/*
		 * Write scontext only in some rounds. The trace reports the new context, but not the
		 * instruction that wrote it, so the context is uncertain for a part of the round
		 */
		if (i % 32 == 4 * hart)
			csr_write(0x5a8, i << 2 | hart);
		/* This hart stops the encoder of the next hart. Wait until the next hart is at most 4 rounds behind */
		at[hart] = i;
		while (at[(hart + 1) % HARTS] + 4 < i)
			;
		if (i % 8 == hart) {
			te[0] = control & ~TRACING;
			te[0] = control | TRACING;
		}
		/* read registers of the next hart's encoder while it traces */
		if (i % 8 == 7)
			(void)te[i % 64];
	}
	at[hart] = ~0ULL >> 1;
	te[0] = control & ~TRACING;
}

int main(unsigned int hart)
{
	unsigned int i;

	work(hart);
	done[hart] = 1;
	if (hart)
		return 0;
	for (i = 0; i < HARTS; i++)
		while (!done[i])
			;
	return 0;
}
