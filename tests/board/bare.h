/* SPDX-License-Identifier: GPL-2.0-only */
/* Definitions for bare-metal programs that bare.S starts. */
#ifndef TESTS_BOARD_BARE_H
#define TESTS_BOARD_BARE_H

#include <stdint.h>

#define UART		0x10000000UL
#define TRACE		0x18000000UL	/* address of the first component; each component has 4 KiB of registers */

#define csr_read(csr)		({ uint64_t _v; __asm__ volatile("csrr %0, " #csr : "=r"(_v)); _v; })
#define csr_write(csr, value)	__asm__ volatile("csrw " #csr ", %0" : : "r"(value))
#define csr_set(csr, value)	__asm__ volatile("csrs " #csr ", %0" : : "r"(value))

static inline volatile uint32_t *trace_regs(unsigned int component)
{
	return (volatile uint32_t *)(TRACE + 0x1000 * component);
}

/* Indices of the registers of a RAM sink in 32-bit words */
#define RAM_CONTROL	(0x00 / 4)
#define RAM_START	(0x10 / 4)
#define RAM_LIMIT	(0x18 / 4)
#define RAM_WP		(0x20 / 4)

/* Start a sink that writes @size bytes at @buf, which is below 4 GiB, and then stops */
static inline void sink_start(volatile uint32_t *ram, uint32_t buf, uint32_t size)
{
	ram[RAM_CONTROL] = 0x111;
	ram[RAM_START + 1] = 0;
	ram[RAM_LIMIT + 1] = 0;
	ram[RAM_WP + 1] = 0;
	ram[RAM_START] = buf;
	ram[RAM_LIMIT] = buf + size - 64;
	ram[RAM_WP] = buf;
	ram[RAM_CONTROL] = 0x113;
}

/* Start to trace into @size bytes at @buf. @control is the value of trTeControl that does not enable trace. */
static inline void trace_start(volatile uint32_t *te, volatile uint32_t *ram, uint32_t buf, uint32_t size,
			       uint32_t control)
{
	te[0] = 1;
	ram[0] = 1;
	te[2] = 0;
	te[3] = 0;
	te[0x40 / 4] = 0;
	sink_start(ram, buf, size);
	te[0] = control;
	te[0] = control | 6;
}

static inline void put(const char *s)
{
	while (*s)
		*(volatile uint8_t *)UART = *s++;
}

static inline void put_number(uint64_t n)
{
	char text[24], *p = text + sizeof(text);

	*--p = 0;
	do
		*--p = '0' + n % 10;
	while (n /= 10);
	put(p);
}

#endif /* TESTS_BOARD_BARE_H */
