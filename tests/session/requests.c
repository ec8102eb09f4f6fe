// SPDX-License-Identifier: GPL-2.0-only
/* This program handles requests with recursion, callbacks from a library, and longjmp(). Tests replay its recording. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
static jmp_buf env; static volatile int sink;
NOINLINE int fib(int n) { int r = n < 2 ? n : fib(n - 1) + fib(n - 2); sink = r; return r; }
NOINLINE int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
NOINLINE void leave(int n) { if (n == 3) longjmp(env, 1); leave(n + 1); sink = n; }
NOINLINE int request(int n)
{
	int values[32], i;
	for (i = 0; i < 32; i++)
		values[i] = (i * 7919 + n) % 101;
	qsort(values, 32, sizeof(*values), compare);
	if (!setjmp(env))
		leave(0);
	sink = fib(n % 8);
	return values[n % 32];
}
int main(void)
{
	int i, sum = 0;
	for (i = 0; i < 60; i++)
		sum += request(i);
	printf("%d\n", sum);
	return 0;
}
