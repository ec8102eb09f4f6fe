// SPDX-License-Identifier: GPL-2.0-only
/* Reset the machine once while it is traced, for tests/board/modes.t */
#include "bare.h"

#define BEEN_HERE	(*(volatile uint32_t *)0x82000000)

int main(void)
{
	volatile unsigned int i, n = 0;

	for (i = 0; i < 1000; i++)
		n += i;
	if (BEEN_HERE == 0x600df00d)
		return 0;
	BEEN_HERE = 0x600df00d;
	*(volatile uint32_t *)0x100000 = 0x7777;
	for (;;)
		;
}
