/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A function that calls itself, once and twice, and two that call each other. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static int fib(int n) { int r = n < 2 ? n : fib(n - 1) + fib(n - 2); sink = r; return r; }
NOINLINE static int even(int n);
NOINLINE static int odd(int n) { int r = n ? even(n - 1) : 0; sink = r; return r; }
NOINLINE static int even(int n) { int r = n ? odd(n - 1) : 1; sink = r; return r; }
int main(void) { return !(fib(12) == 144 && even(100)); }
