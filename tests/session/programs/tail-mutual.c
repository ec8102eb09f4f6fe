/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Functions that call each other by tail calls, until one of them returns to the first caller. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static int (*volatile step)(int);
NOINLINE static int a(int n);
NOINLINE static int b(int n) { leaf(n); return n > 0 ? a(n - 1) : 0; }
NOINLINE static int a(int n) { sink = n; return n > 0 ? step(n - 1) : 1; }
NOINLINE static int calls(int n) { int r = a(n); leaf(r); return r + b(n); }
int main(void) { step = b; for (int i = 0; i < 10; i++) calls(i); return 0; }
