/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -fno-omit-frame-pointer */
/* Functions whose frame grows while they run. */
#include <alloca.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int fill(char *p, int n) { memset(p, n, n); leaf(n); return p[n / 2]; }
NOINLINE static int grows(int n) { int r = 0; for (int i = 1; i < n; i++) r += fill(alloca(i * 8), i * 8); return r; }
NOINLINE static int vla(int n) { char a[n]; int r = fill(a, n); return n > 16 ? r + vla(n / 2) : r; }
int main(void) { for (int i = 0; i < 10; i++) { grows(i); vla(i * 100 + 16); } return 0; }
