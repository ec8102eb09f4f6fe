/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* longjmp() to an outer call of a function that calls itself. */
#define NOINLINE __attribute__((noinline, noclone))
#include <setjmp.h>
static jmp_buf at[8];
static volatile int sink;
NOINLINE static void after(int n) { sink = n; }
NOINLINE static int self(int n)
{
	int r = 0;

	if (n && setjmp(at[n])) {
		after(n);
		return n;
	}
	if (n < 7)
		r = self(n + 1);
	else
		longjmp(at[3], 1);
	after(n);
	return r;
}
int main(void) { self(0); self(1); return 0; }
