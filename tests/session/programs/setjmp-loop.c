/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* setjmp() in a loop, from which longjmp() returns at different depths. */
#include <setjmp.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

static jmp_buf at;
NOINLINE static void down(int n, int to) { leaf(n); if (n == to) longjmp(at, n + 1); down(n + 1, to); leaf(n); }
int main(void)
{
	for (volatile int i = 0; i < 20; i++) {
		if (!setjmp(at))
			down(0, i % 7);
		leaf(i);
	}
	return 0;
}
