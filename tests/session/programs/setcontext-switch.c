/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Coroutines that only use getcontext() and setcontext(). */
#define NOINLINE __attribute__((noinline, noclone))
#include <ucontext.h>
static ucontext_t home, co[2];
static char stacks[2][65536];
static volatile int sink;
NOINLINE static void leaf(int n) { sink += n; }
NOINLINE static void yield_to(ucontext_t *from, ucontext_t *to)
{
	volatile int back = 0;

	getcontext(from);
	if (back)
		return;
	back = 1;
	setcontext(to);
}
NOINLINE static void work(int me, int n) { leaf(n); if (n % 3) yield_to(&co[me], &co[!me]); leaf(n); }
static void body(int me) { for (int i = 0; i < 20; i++) work(me, i); yield_to(&co[me], &home); }
int main(void)
{
	for (int i = 0; i < 2; i++) {
		getcontext(&co[i]);
		co[i].uc_stack.ss_sp = stacks[i];
		co[i].uc_stack.ss_size = sizeof(stacks[i]);
		makecontext(&co[i], (void (*)(void))body, 1, i);
	}
	yield_to(&home, &co[0]);
	leaf(4);
	return 0;
}
