/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Format text of millions of lines at a tenth of the cost of printf(). Each function writes its
 * text to @at, which must have enough bytes, and returns the end of the text.
 */
#ifndef NTRACE_TOOL_PUT_TEXT_H
#define NTRACE_TOOL_PUT_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define PUT_NUMBER_MAX	20	/* maximum size in bytes of the text of a number */
#define PUT_HEX_SIZE	16	/* number of bytes that put_hex() writes */

static inline char *put_bytes(char *at, const void *bytes, size_t size)
{
	memcpy(at, bytes, size);
	return at + size;
}
#define PUT(at, literal) put_bytes(at, literal, sizeof(literal) - 1)

/*
 * put_unsigned(), put_number() - write a number, which has up to PUT_NUMBER_MAX bytes. put_filled()
 * - write a number with at least @width characters; @fill precedes a shorter number.
 */
char *put_unsigned(char *at, uint64_t number);
char *put_number(char *at, int64_t number);
char *put_filled(char *at, uint64_t number, unsigned int width, char fill);

/* put_digits() - write the nine digits of a number below 10^9 */
char *put_digits(char *at, uint32_t number);

/*
 * Return the eight hexadecimal digits of @value as bytes, with the first digit at the lowest
 * address. The first @spaces of them are spaces; @spaces may be more than 8.
 */
static inline uint64_t put_hex_word(uint32_t value, unsigned int spaces)
{
	uint64_t x = (uint64_t)value >> 16 | (uint64_t)(value & 0xffff) << 32, letters;
	uint64_t blank = spaces < 8 ? (UINT64_C(1) << 8 * spaces) - 1 : ~UINT64_C(0);

	x = (x >> 8 & 0x000000ff000000ff) | (x & 0x000000ff000000ff) << 16;
	x = (x >> 4 & 0x000f000f000f000f) | (x & 0x000f000f000f000f) << 8;
	letters = (x + 0x0606060606060606) >> 4 & 0x0101010101010101;
	x += 0x3030303030303030 + letters * ('a' - '0' - 10);
	return htole64((x & ~blank) | (0x2020202020202020 & blank));
}

/*
 * Cache of the first eight digits of the previous address, because most addresses of a program have
 * the same first digits. Initialise it with zeros.
 */
struct put_high {
	uint32_t	value;
	bool		known;
	uint64_t	text;
};

/* put_hex() - write the same text as "%16x" */
static inline char *put_hex(char *at, uint64_t value, struct put_high *high)
{
	unsigned int spaces = __builtin_clzll(value | 1) / 4;
	uint64_t low;

	if (!high->known || high->value != value >> 32)
		*high = (struct put_high){ value >> 32, true, put_hex_word(value >> 32, spaces) };
	low = put_hex_word(value, spaces > 8 ? spaces - 8 : 0);
	memcpy(at, &high->text, sizeof(high->text));
	memcpy(at + sizeof(high->text), &low, sizeof(low));
	return at + PUT_HEX_SIZE;
}

#endif /* NTRACE_TOOL_PUT_TEXT_H */
