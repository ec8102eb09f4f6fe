/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* Coroutines like boost.context, which pass the stack pointer in a register. */
#define NOINLINE __attribute__((noinline, noclone))
#include <stdlib.h>
void *jump_to(void *to, void *arg);
__asm__(".pushsection .text\n.option push\n.option norvc\n.globl jump_to\n.type jump_to, @function\njump_to:\n"
	"addi sp, sp, -112\n" "sd ra, 0(sp)\nsd s0, 8(sp)\nsd s1, 16(sp)\nsd s2, 24(sp)\nsd s3, 32(sp)\nsd s4, 40(sp)\nsd s5, 48(sp)\nsd s6, 56(sp)\nsd s7, 64(sp)\nsd s8, 72(sp)\nsd s9, 80(sp)\nsd s10, 88(sp)\nsd s11, 96(sp)\n"
	"mv a2, sp\nmv sp, a0\nld t0, 0(sp)\n" "ld s0, 8(sp)\nld s1, 16(sp)\nld s2, 24(sp)\nld s3, 32(sp)\nld s4, 40(sp)\nld s5, 48(sp)\nld s6, 56(sp)\nld s7, 64(sp)\nld s8, 72(sp)\nld s9, 80(sp)\nld s10, 88(sp)\nld s11, 96(sp)\n"
	"ld ra, 0(sp)\naddi sp, sp, 112\nmv a0, a2\njr t0\n.option pop\n.size jump_to, . - jump_to\n.popsection\n");
static volatile int sink;
NOINLINE static void leaf(int n) { sink += n; }
NOINLINE static void *visit(void *other, int n) { leaf(n); if (n & 1) other = jump_to(other, 0); leaf(n); return other; }
static void *peer;
static void body(void *from)
{
	for (int i = 0; i < 25; i++)
		from = visit(from, i);
	peer = 0;
	jump_to(from, 0);
}
int main(void)
{
	void **top = (void **)((char *)aligned_alloc(16, 1 << 16) + (1 << 15));

	top[0] = body;
	peer = top;
	for (void *other = jump_to(top, 0); peer; other = jump_to(other, 0))
		leaf(7);
	return 0;
}
