// SPDX-License-Identifier: GPL-2.0-only
/*
 * For tests/board/race.t. Each hart, which is traced from reset on, writes its scontext now and
 * then, and stops and starts the encoder of the next hart, which does the same.
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
		 * Do this only in some rounds, because a trace reports that the context has
		 * changed, but not at which instruction
		 */
		if (i % 32 == 4 * hart)
			csr_write(0x5a8, i << 2 | hart);
		/* Wait until no hart is more than a few rounds ahead of the hart that it stops */
		at[hart] = i;
		while (at[(hart + 1) % HARTS] + 4 < i)
			;
		if (i % 8 == hart) {
			te[0] = control & ~TRACING;
			te[0] = control | TRACING;
		}
		/* Read registers of that encoder while it traces */
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
