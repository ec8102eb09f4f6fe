/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions that replace malloc(), calloc() and realloc(), and fail if alloc_fails() returns true. Link
 * the test with -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc, and include this file in one source
 * only.
 */
#ifndef TESTS_LIB_ALLOC_H
#define TESTS_LIB_ALLOC_H

#include <stdbool.h>
#include <stdlib.h>

/* Return true if this allocation must fail. The file that includes this header defines the function. */
static bool alloc_fails(void);

void *__real_malloc(size_t size);
void *__real_calloc(size_t nr, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t nr, size_t size);
void *__wrap_realloc(void *old, size_t size);

void *__wrap_malloc(size_t size)
{
	return alloc_fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t nr, size_t size)
{
	return alloc_fails() ? NULL : __real_calloc(nr, size);
}

void *__wrap_realloc(void *old, size_t size)
{
	return alloc_fails() ? NULL : __real_realloc(old, size);
}

#endif /* TESTS_LIB_ALLOC_H */
