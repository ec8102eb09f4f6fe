/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* __builtin_longjmp(), which continues by a jump through a register. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
static void *at[5];
NOINLINE static void jumps(int n) { leaf(n); if (!n) __builtin_longjmp(at, 1); jumps(n - 1); leaf(n); }
NOINLINE static void catches(int n) { leaf(n); if (!__builtin_setjmp(at)) jumps(n); leaf(7); }
int main(void) { for (int i = 0; i < 10; i++) catches(i); return 0; }
