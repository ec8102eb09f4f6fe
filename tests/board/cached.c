// SPDX-License-Identifier: GPL-2.0-only
/*
 * Print which data survives a reset, for tests/board/cache.t. The program tests data that a hart
 * wrote and then cleaned, invalidated or left in the cache, data that a sink wrote, and data in
 * uncached memory.
 */
#include "cbo.h"

#define BUF	0x82000000UL	/* start of the cached memory, which is the option cached-from */
#define SIZE	0x1000U
#define OTHER	(BUF + 0x2000)	/* uncached memory, beyond the size in the option cached-size */

int main(unsigned int hart)
{
	volatile uint8_t *buf = (volatile uint8_t *)BUF, *other = (volatile uint8_t *)OTHER;

	/* The second hart only waits, like in the firmware, so the board calls the plugin for it only at a reset */
	while (hart)
		;
	if (!*other) {
		*other = 1;
		buf[0] = buf[1] = 1;
		CBO(CLEAN, BUF + 7);
		buf[1] = 2;
		buf[64] = 1;
		buf[128] = 1;
		CBO(FLUSH, BUF + 128);
		buf[192] = 1;
		CBO(INVAL, BUF + 192);
		say("invalidated:", buf[192]);
		buf[SIZE - 1] = 1;
		CBO(CLEAN, BUF + SIZE - 1);
		trace(BUF + 0x400, 0x800);
		*(volatile uint32_t *)0x100000 = 0x7777;
		for (;;)
			;
	}
	say("cleaned:", buf[0] == 1);
	say("after it:", buf[1] == 2);
	say("never:", buf[64]);
	say("flushed:", buf[128]);
	say("the last byte:", buf[SIZE - 1]);
	say("of a sink:", buf[0x400]);
	return 0;
}
