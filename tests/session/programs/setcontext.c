/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A recursive function restores a context that its outermost caller has saved. */
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static ucontext_t at;
static volatile int round;
NOINLINE static void jumps(int n) { leaf(n); if (!n) setcontext(&at); jumps(n - 1); leaf(n); }
NOINLINE static void tries(int n) { round = 0; getcontext(&at); leaf(n); if (!round++) jumps(n); leaf(round); }
int main(void) { for (int i = 0; i < 10; i++) tries(i); return 0; }
