/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Tail calls, direct and by a pointer. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static int last(int n) { sink = n; return n; }
NOINLINE static int middle(int n) { sink = n; return last(n + 1); }
NOINLINE static int first(int n) { sink = n; return middle(n + 1); }
static int (*volatile pointer)(int) = first;
NOINLINE static int by_pointer(int n) { sink = n; return pointer(n + 1); }
NOINLINE static int loops(int n) { sink = n; if (!n) return 0; return loops(n - 1); }
int main(void) { int r = 0; for (int i = 0; i < 20; i++) r += by_pointer(i) + first(i) + loops(i); return r == 1; }
