// SPDX-License-Identifier: GPL-2.0-only
#include "put-text.h"

static const char pairs[] =
	"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
	"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
	"8081828384858687888990919293949596979899";

char *put_unsigned(char *at, uint64_t number)
{
	char digits[PUT_NUMBER_MAX], *first = digits + sizeof(digits);

	for (; number >= 100; number /= 100) {
		first -= 2;
		memcpy(first, pairs + 2 * (number % 100), 2);
	}
	if (number >= 10) {
		first -= 2;
		memcpy(first, pairs + 2 * number, 2);
	} else {
		*--first = '0' + number;
	}
	return put_bytes(at, first, digits + sizeof(digits) - first);
}

char *put_number(char *at, int64_t number)
{
	if (number >= 0)
		return put_unsigned(at, number);
	*at++ = '-';
	return put_unsigned(at, -(uint64_t)number);
}

char *put_filled(char *at, uint64_t number, unsigned int width, char fill)
{
	char digits[PUT_NUMBER_MAX];
	size_t size = put_unsigned(digits, number) - digits;

	for (; width > size; width--)
		*at++ = fill;
	return put_bytes(at, digits, size);
}

char *put_digits(char *at, uint32_t number)
{
	unsigned int i;

	at[0] = '0' + number / 100000000;
	number %= 100000000;
	for (i = 7; i < 9; i -= 2, number /= 100)
		memcpy(at + i, pairs + 2 * (number % 100), 2);
	return at + 9;
}
