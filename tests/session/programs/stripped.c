/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -s */
/* A program without symbols. */
#define NOINLINE __attribute__((noinline, noclone))
#include <setjmp.h>
static jmp_buf at;
static volatile int sink;
NOINLINE static int leaf(int n) { sink = n; return n; }
NOINLINE static int fib(int n) { int r = n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); sink = r; return r; }
NOINLINE static void jumps(int n) { leaf(n); if (!n) longjmp(at, 1); jumps(n - 1); leaf(n); }
NOINLINE static void catches(int n) { if (!setjmp(at)) jumps(n); leaf(n); }
int main(void) { for (int i = 0; i < 5; i++) catches(i); return fib(10) != 55; }
