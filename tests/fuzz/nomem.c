// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocations of the library that fail, by the linker's --wrap.
 */
#include <stdlib.h>

#include "nomem.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *old, size_t size);

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

static bool is_failing(void)
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

void *__wrap_malloc(size_t size)
{
	return is_failing() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return is_failing() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return is_failing() ? NULL : __real_realloc(old, size);
}
