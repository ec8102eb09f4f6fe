/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Generators that call each other recursively, each on its own stack, by swapcontext(). */
#include <stdlib.h>
#include <ucontext.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct gen { ucontext_t self, caller; int value, done; struct gen *left; };
static struct gen *starts;
static int next(struct gen *g);
NOINLINE static void yield(struct gen *g, int n) { leaf(n); g->value = n; swapcontext(&g->self, &g->caller); leaf(n); }
static struct gen *make(int n);
static void body(void)
{
	struct gen *g = starts, *inner;
	int n = g->value;

	if (n > 0) {
		inner = make(n - 1);
		while (next(inner))
			yield(g, inner->value + 1);
	}
	yield(g, n);
	g->done = 1;
}
static struct gen *make(int n)
{
	struct gen *g = calloc(1, sizeof(*g));

	getcontext(&g->self);
	g->self.uc_stack.ss_sp = malloc(1 << 16);
	g->self.uc_stack.ss_size = 1 << 16;
	g->self.uc_link = &g->caller;
	g->value = n;
	makecontext(&g->self, body, 0);
	return g;
}
NOINLINE static int next(struct gen *g) { starts = g; swapcontext(&g->caller, &g->self); return !g->done; }
int main(void) { struct gen *g = make(4); int sum = 0; while (next(g)) sum += g->value; return sum == 0; }
