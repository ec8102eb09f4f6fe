/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Jumps through tables, in a loop and before a function has a frame. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int dispatch(int op, int n)
{
	switch (op) {
	case 0: leaf(1); return n + 1;
	case 1: return n * 3;
	case 2: leaf(2); leaf(3); return n - 5;
	case 3: return n ^ 0x55;
	case 4: return n ? dispatch(n % 7, n / 2) + 1 : 0;
	case 5: leaf(n); return -n;
	case 6: return n << 2;
	}
	return n;
}
NOINLINE static int interpret(const unsigned char *p, int n)
{
	static void *const ops[] = { &&add, &&call, &&sub, &&end };

	goto *ops[*p];
add:	n++; goto *ops[*++p];
call:	n = dispatch(n & 7, n); goto *ops[*++p];
sub:	n -= 3; leaf(n); goto *ops[*++p];
end:	return n;
}
int main(void) { for (int i = 0; i < 50; i++) { dispatch(i % 7, i); interpret((const unsigned char *)"\0\1\2\1\0\1\2\3", i); } return 0; }
