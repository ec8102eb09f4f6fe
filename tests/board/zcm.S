/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test Zcmp and Zcmt, for tests/board/modes.t. Each of 1,000 rounds calls functions by cm.jalt, which
 * return by cm.popret and cm.popretz, and jumps by cm.jt. The instructions are encoded as numbers,
 * because not every assembler supports them.
 */
	.text
	.globl	main
main:	.half	0xb842		/* cm.push {ra}, -16 */
	la	t0, table
	csrw	0x017, t0	/* jvt */
	li	t2, 1000
1:	call	one
	.half	0xa082		/* cm.jalt 32: two */
	li	t4, 3
	beq	a0, t4, 2f
	li	a0, 1
	j	end
2:	.half	0xa002		/* cm.jt 0: three */
	ebreak
back:	addi	t2, t2, -1
	bnez	t2, 1b
	li	a0, 0
	.half	0xbe42		/* cm.popret {ra}, 16 */
one:	.half	0xb842
	.half	0xbc42		/* cm.popretz {ra}, 16 */
two:	.half	0xb842
	addi	a0, a0, 3
	.half	0xbe42
three:	j	back

	.balign	64
table:	.dword	three
	.fill	31, 8, 0
	.dword	two
