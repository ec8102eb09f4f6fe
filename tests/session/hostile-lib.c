// SPDX-License-Identifier: GPL-2.0-only
/*
 * hostile.c loads this library at run time, so that calls between the program and the library use a PLT
 */
#include <stdlib.h>

int library_helper(int n);
int library_work(int n, int (*cmp)(const void *a, const void *b));

int library_helper(int n)
{
	return n * 7 % 31;
}

int library_work(int n, int (*cmp)(const void *a, const void *b))
{
	int *v = malloc(n * sizeof(*v)), i;

	for (i = 0; i < n; i++)
		v[i] = library_helper(i);
	qsort(v, n, sizeof(*v), cmp);
	i = v[n / 2];
	free(v);
	return i;
}
