// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that tests trace. It calls functions, loops, sorts by a function pointer, recurses, and
 * prints by the C library. argv[1] is the number of times that the program repeats this.
 */
#include <stdio.h>
#include <stdlib.h>

static unsigned int seed = 1;

static unsigned int next_random(void)
{
	seed = seed * 1664525 + 1013904223;
	return seed >> 8;
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static int fibonacci(int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 100;
	int *values = malloc(n * sizeof(*values));
	unsigned long hash = 0;
	char text[64];
	int i;

	for (i = 0; i < n; i++)
		values[i] = next_random();
	qsort(values, n, sizeof(*values), compare);
	for (i = 0; i < n; i++) {
		char *p;

		snprintf(text, sizeof(text), "%d:%x", i, values[i]);
		for (p = text; *p; p++)
			hash = hash * 31 + *p;
	}
	printf("%lx %d\n", hash, fibonacci(15));
	free(values);
	return 0;
}
