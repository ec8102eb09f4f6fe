/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -Os -msave-restore */
/* Functions that save registers by calls through t0. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static int leaf(int n) { sink = n; return n; }
NOINLINE static int some(int a, int b, int c) { int x = leaf(a), y = leaf(b), z = leaf(c); return x + y + z; }
NOINLINE static int many(int a, int b, int c, int d, int e, int f)
{
	int r = some(a, b, c) * some(d, e, f);

	return some(r, a + b, c) + leaf(d) + leaf(e) + leaf(f) + some(a, r, f);
}
NOINLINE static int recursive(int n) { int r = some(n, n, n); return n ? r + recursive(n - 1) + leaf(n) : r; }
int main(void) { int r = 0; for (int i = 0; i < 10; i++) r += many(i, 1, 2, 3, 4, 5) + recursive(i); return r == 1; }
