/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -Wl,-z,execstack */
/* A nested function, which is called by a trampoline on the stack. */
/* record: implicit_return=0 */
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int apply(int (*f)(int), int n) { int r = 0; for (int i = 0; i < n; i++) r += f(i); return r; }
NOINLINE static int outer(int n)
{
	int calls = 0;
	NOINLINE int inner(int x) { leaf(x); return calls++ + x; }

	return apply(inner, n) + inner(n);
}
int main(void) { for (int i = 0; i < 10; i++) outer(i); return 0; }
