// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test memory that is not coherent, for tests/board/cache.t. A hart sees data that a sink wrote only
 * after the hart has invalidated the cache line with cbo.inval or cbo.flush. cbo.clean does not
 * invalidate. If the hart did not invalidate a line, its store to this line is lost.
 */
#include "cbo.h"

#define BUF	0x82000000UL
#define SIZE	0x1000U

static unsigned int seen(volatile uint8_t *p, unsigned int n)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += p[i] != 0;
	return sum;
}

int main(unsigned int hart)
{
	volatile uint8_t *buf = (volatile uint8_t *)BUF;

	(void)hart;
	trace(BUF, SIZE);
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
