// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let allocations of the library fail, so that a fuzzer also reaches the code that handles this. The
 * linker's option --wrap replaces malloc(), calloc() and realloc() by the functions of tests/lib/alloc.h.
 */
#include "../lib/alloc.h"
#include "nomem.h"

static unsigned int left_good, left_bad;
static bool has_failed;

void nomem_begin(unsigned int good, unsigned int bad)
{
	left_good = good;
	left_bad = bad;
	has_failed = false;
}

bool nomem_end(void)
{
	left_bad = 0;
	return has_failed;
}

static bool alloc_fails(void)
{
	if (!left_bad)
		return false;
	if (left_good) {
		left_good--;
		return false;
	}
	left_bad--;
	has_failed = true;
	return true;
}
