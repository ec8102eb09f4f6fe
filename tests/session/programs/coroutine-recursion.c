/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Coroutines of one recursive function, all of which wait at the same address. */
#include <stdlib.h>
#define NOINLINE __attribute__((noinline, noclone))
static volatile int sink;
NOINLINE static void leaf(int n) { sink = n; }
struct coro { void *sp; };
void switch_to(struct coro *from, struct coro *to);
__asm__(".pushsection .text\n.globl switch_to\n.type switch_to, @function\nswitch_to:\n"
	"addi sp, sp, -112\nsd ra, 0(sp)\nsd s0, 8(sp)\nsd s1, 16(sp)\nsd s2, 24(sp)\nsd s3, 32(sp)\nsd s4, 40(sp)\n"
	"sd s5, 48(sp)\nsd s6, 56(sp)\nsd s7, 64(sp)\nsd s8, 72(sp)\nsd s9, 80(sp)\nsd s10, 88(sp)\nsd s11, 96(sp)\n"
	"sd sp, 0(a0)\nld sp, 0(a1)\n"
	"ld ra, 0(sp)\nld s0, 8(sp)\nld s1, 16(sp)\nld s2, 24(sp)\nld s3, 32(sp)\nld s4, 40(sp)\n"
	"ld s5, 48(sp)\nld s6, 56(sp)\nld s7, 64(sp)\nld s8, 72(sp)\nld s9, 80(sp)\nld s10, 88(sp)\nld s11, 96(sp)\n"
	"addi sp, sp, 112\nret\n.size switch_to, . - switch_to\n.popsection\n");
static struct coro home, co[4];
static int now;
NOINLINE static void pass(void) { int me = now; now = (now + 1) % 4; switch_to(&co[me], &co[now]); }
NOINLINE static int walk(int n) { int r = 1; pass(); if (n) r += walk(n - 1); leaf(r); if (n & 1) pass(); return r; }
static void body(void) { for (int i = 0; i < 6; i++) walk(i); for (;;) { if (!now) switch_to(&co[0], &home); pass(); } }
int main(void)
{
	for (int i = 0; i < 4; i++) {
		void **top = (void **)((char *)aligned_alloc(16, 1 << 18) + (1 << 17));

		co[i].sp = top;
		top[0] = body;
	}
	switch_to(&home, &co[0]);
	leaf(3);
	return 0;
}
