/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Two coroutines of swapcontext(). */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdlib.h>
#include <ucontext.h>
static ucontext_t home, a, b;
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static void turn(ucontext_t *from, ucontext_t *to, int n) { leaf(n); swapcontext(from, to); leaf(n); }
static void fa(void) { for (int i = 0; i < 20; i++) turn(&a, &b, i); }
static void fb(void) { for (int i = 0; i < 20; i++) turn(&b, &a, i); }
static void make(ucontext_t *c, void (*f)(void))
{
	getcontext(c);
	c->uc_stack.ss_sp = malloc(1 << 18);
	c->uc_stack.ss_size = 1 << 18;
	c->uc_link = &home;
	makecontext(c, f, 0);
}
int main(void) { make(&a, fa); make(&b, fb); swapcontext(&home, &a); leaf(3); return 0; }
