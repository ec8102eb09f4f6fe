/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef NTRACE_JOIN_H
#define NTRACE_JOIN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Sort the @nr elements of @size bytes at @at, and join equal elements by adding up their uint64_t
 * at offset @count. Return the number of remaining elements.
 */
static inline size_t join_equal(void *at, size_t nr, size_t size, size_t count,
				int (*cmp)(const void *a, const void *b))
{
	char *last = at, *next = at;
	uint64_t *sum;

	if (!nr)
		return 0;
	qsort(at, nr, size, cmp);
	while (--nr) {
		next += size;
		if (cmp(last, next)) {
			last += size;
			memmove(last, next, size);
		} else {
			sum = (uint64_t *)(last + count);
			*sum += *(uint64_t *)(next + count);
		}
	}
	return (last - (char *)at) / size + 1;
}

#endif /* NTRACE_JOIN_H */
