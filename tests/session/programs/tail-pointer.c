/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O2 */
/* Tail calls through pointers, in a state machine. */
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }

struct machine;
typedef int state(struct machine *m, int n);
struct machine { state *const *next; int sum; };
NOINLINE static int first(struct machine *m, int n) { leaf(n); m->sum += n; return n ? m->next[n % 3](m, n - 1) : m->sum; }
NOINLINE static int second(struct machine *m, int n) { m->sum ^= n; return n ? m->next[n % 3](m, n - 1) : m->sum; }
NOINLINE static int third(struct machine *m, int n) { leaf(n); return n ? m->next[(n + 1) % 3](m, n - 1) : m->sum; }
int main(void)
{
	static state *const next[] = { first, second, third };
	struct machine m = { next, 0 };

	for (int i = 0; i < 10; i++)
		leaf(first(&m, 3 * i));
	return 0;
}
