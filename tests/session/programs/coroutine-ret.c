/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Hand-made coroutines that switch by ret. */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdlib.h>
struct coro { void *sp; };
void switch_to(struct coro *from, struct coro *to);
__asm__(".pushsection .text\n.globl switch_to\n.type switch_to, @function\nswitch_to:\n"
	"addi sp, sp, -112\nsd ra, 0(sp)\nsd s0, 8(sp)\nsd s1, 16(sp)\nsd s2, 24(sp)\nsd s3, 32(sp)\nsd s4, 40(sp)\n"
	"sd s5, 48(sp)\nsd s6, 56(sp)\nsd s7, 64(sp)\nsd s8, 72(sp)\nsd s9, 80(sp)\nsd s10, 88(sp)\nsd s11, 96(sp)\n"
	"sd sp, 0(a0)\nld sp, 0(a1)\n"
	"ld ra, 0(sp)\nld s0, 8(sp)\nld s1, 16(sp)\nld s2, 24(sp)\nld s3, 32(sp)\nld s4, 40(sp)\n"
	"ld s5, 48(sp)\nld s6, 56(sp)\nld s7, 64(sp)\nld s8, 72(sp)\nld s9, 80(sp)\nld s10, 88(sp)\nld s11, 96(sp)\n"
	"addi sp, sp, 112\njr ra\n.size switch_to, . - switch_to\n.popsection\n");
static struct coro home, co[3];
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
NOINLINE static int work(int n, int next) { leaf(n); if (n & 1) switch_to(&co[(next + 2) % 3], &co[next]); leaf(n); return n; }
NOINLINE static void body(int me) { for (int i = 0; i < 20; i++) work(i, (me + 1) % 3); }
static void f0(void) { body(0); switch_to(&co[0], &home); }
static void f1(void) { body(1); switch_to(&co[1], &home); }
static void f2(void) { body(2); switch_to(&co[2], &home); }
static void make(struct coro *c, void (*f)(void))
{
	void **top = (void **)((char *)aligned_alloc(16, 1 << 18) + (1 << 17));

	c->sp = top;
	top[0] = f;
}
int main(void) { make(&co[0], f0); make(&co[1], f1); make(&co[2], f2); switch_to(&home, &co[0]); leaf(3); return 0; }
