/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Coroutines whose switch is inlined into the functions that switch, and that sometimes jump over it. */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdlib.h>
struct coro { void *sp, *pc; };
static inline __attribute__((always_inline)) void switch_to(struct coro *from, struct coro *to, long stay)
{
	register struct coro *a __asm__("a0") = from, *b __asm__("a1") = to;
	register long c __asm__("a2") = stay;

	__asm__ volatile("addi sp, sp, -16\nsd s0, 0(sp)\nbeqz %2, 2f\nj 1f\n2:\nlla t0, 1f\nsd t0, 8(%0)\nsd sp, 0(%0)\nld sp, 0(%1)\nld t1, 8(%1)\njr t1\n1:\nld s0, 0(sp)\naddi sp, sp, 16\n"
		: "+r"(a), "+r"(b), "+r"(c) : : "memory", "ra", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "a3", "a4", "a5", "a6", "a7",
		"s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11");
}
static struct coro home, co[2];
static volatile int sink;
NOINLINE static void leaf(int n) { sink += n; }
NOINLINE static void work(int me, int n) { leaf(n); switch_to(&co[me], &co[!me], !(n & 1)); leaf(n); }
NOINLINE static void deeper(int me, int n) { work(me, n); leaf(n); }
NOINLINE static void body(int me) { for (int i = 0; i < 20; i++) (me ? deeper : work)(me, i); switch_to(&co[me], &home, 0); }
static void f0(void) { body(0); }
static void f1(void) { body(1); }
static void make(struct coro *c, void (*f)(void)) { c->sp = (char *)aligned_alloc(16, 1 << 16) + (1 << 15); c->pc = f; }
int main(void) { make(&co[0], f0); make(&co[1], f1); switch_to(&home, &co[0], 0); leaf(3); return 0; }
