/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* longjmp() from a recursion to an outer function, and within the function that called setjmp(). */
#define NOINLINE __attribute__((noinline, noclone))
#include <setjmp.h>
static jmp_buf outer;
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void jumps(int n) { leaf(n); if (!n) longjmp(outer, 1); jumps(n - 1); leaf(n); }
NOINLINE static int once(int n) { if (!setjmp(outer)) jumps(n); leaf(7); return n; }
NOINLINE static int again(void) { volatile int n = 0; if (setjmp(outer) < 3) { n++; leaf(n); longjmp(outer, n); } return n; }
int main(void) { for (int i = 0; i < 10; i++) once(i); return again() != 3; }
