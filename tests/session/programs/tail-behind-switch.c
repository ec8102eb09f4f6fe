/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -O1 */
/* A function that can switch stacks, like systemstack() of Go. If it does not switch, it ends with a tail call. */
#define NOINLINE __attribute__((noinline, noclone))
void on_stack(void (**f)(void), void **sp);
__asm__(".pushsection .text\n.globl on_stack\n.type on_stack, @function\non_stack:\n"
	"ld t1, 0(a0)\nbeqz a1, 1f\n"
	"addi sp, sp, -16\nsd ra, 0(sp)\nsd s0, 8(sp)\nmv s0, sp\nld sp, 0(a1)\njalr t1\n"
	"mv sp, s0\nld s0, 8(sp)\nld ra, 0(sp)\naddi sp, sp, 16\nret\n"
	"1: jr t1\n.size on_stack, . - on_stack\n.popsection\n");
static volatile int sink;
NOINLINE static void leaf(void) { sink++; }
NOINLINE static void work(void) { leaf(); leaf(); }
static void (*f)(void) = work;
NOINLINE static void call(int n) { if (n) call(n - 1); on_stack(&f, 0); leaf(); }
int main(void) { for (int i = 0; i < 20; i++) call(i % 4); return 0; }
