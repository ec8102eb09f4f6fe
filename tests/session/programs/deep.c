/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A recursion of 100,000 calls. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static int deep(int n) { int r = n ? deep(n - 1) + 1 : 0; sink = r; return r; }
int main(void) { return deep(100000) != 100000; }
