/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* An interpreter with computed goto, of which one operation calls the interpreter. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

NOINLINE static int run(const char *code, int n)
{
	static const void *const op[] = { &&done, &&add, &&twice, &&call, &&loop };
	const char *at = code;

	goto *op[(int)*at];
add:	n++;
	goto *op[(int)*++at];
twice:	leaf(n);
	n *= 2;
	goto *op[(int)*++at];
call:	n += run("\1\2", n);
	goto *op[(int)*++at];
loop:	if (n < 200)
		at = code - 1;
	goto *op[(int)*++at];
done:	return n;
}
int main(void) { int r = 0; for (int i = 0; i < 5; i++) r += run("\1\3\2\1\4", i); return r == 1; }
