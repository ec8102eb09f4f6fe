// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program of tests/board/stall.t. Hart 1 is traced with trTeInstStallEna into a buffer of 64 KiB. The
 * sink stops when the buffer is full, and hart 0 empties the buffer 3 times. If ALONE is defined, hart 0
 * does not empty the buffer.
 */
#include "bare.h"

#define BUF	0x82000000U
#define SIZE	0x10000U

/* trTeControl with trTeActive, trTeInstMode 6, trTeInstStallEna and trTeFormat 1 */
#define CONTROL	0x01002061U

static volatile uint32_t *te, *ram;
static volatile int go, done;

static void work(void)
{
	volatile unsigned int i, n = 0;

	while (!go)
		;
	for (i = 0; i < 3000000; i++)
		n += i & 1 ? i : 1;
	done = 1;
}

int main(unsigned int hart)
{
	unsigned int i;

	if (hart) {
		work();
		return 0;
	}
	te = trace_regs(1);
	ram = trace_regs(3);
	trace_start(te, ram, BUF, SIZE, CONTROL);
	go = 1;
	for (i = 0; i < 3; i++) {
		while (ram[0] & 2)
			;
		put(te[0] >> 12 & 1 ? "full, it stalls\n" : "full, it does not stall\n");
		if (ALONE)
			while (!done)
				;
		sink_start(ram, BUF, SIZE);
	}
	te[0] = CONTROL;
	/* The rest of the trace, which is in the encoder's FIFO, fits into the buffer, so empty the buffer once more */
	sink_start(ram, BUF, SIZE);
	put(te[0] >> 3 & 1 ? "empty\n" : "not empty\n");
	ram[0] = 0x111;
	while (!done)
		;
	return 0;
}
