/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 -fno-omit-frame-pointer */
/* Functions whose frame grows while they run, and shrinks before a jump through a table. */
#include <alloca.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int fill(char *p, int n) { memset(p, n, n); leaf(n); return p[n / 2]; }
NOINLINE static int grows(int n) { int r = 0; for (int i = 1; i < n; i++) r += fill(alloca(i * 8), i * 8); return r; }
NOINLINE static int vla(int n) { char a[n]; int r = fill(a, n); return n > 16 ? r + vla(n / 2) : r; }
NOINLINE static void scope(int op, int n)
{
	{ char a[n]; op += !fill(a, n); }
	switch (op) {
	case 0: leaf(n); break;
	case 1: fill((char[32]){ 0 }, 32); break;
	case 2: leaf(1); leaf(2); break;
	case 3: sink = vla(n); break;
	case 4: sink ^= n; break;
	case 5: scope(op - 1, n); leaf(3); break;
	case 6: sink *= 3; break;
	}
	leaf(op);
}
int main(void) { for (int i = 0; i < 10; i++) { grows(i); vla(i * 100 + 16); scope(i % 7, i * 8 + 8); } return 0; }
