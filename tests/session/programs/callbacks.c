/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 -fomit-frame-pointer */
/* Calls by pointers from the C library, and a large stack frame. */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdlib.h>
#include <string.h>
static volatile int sink;
NOINLINE static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
NOINLINE static int frame(int n) { char big[3000]; memset(big, n, sizeof(big)); sink = big[n]; return n ? frame(n - 1) + big[n] : 0; }
int main(void)
{
	int v[50];

	for (int i = 0; i < 50; i++)
		v[i] = i * 37 % 50;
	qsort(v, 50, sizeof(*v), compare);
	return frame(5) == 1;
}
