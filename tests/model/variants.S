/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program whose trace depends on each variant of the encoder. It contains wfi, a branch to the next
 * instruction, calls that are deeper than a return stack, loops that fill HIST, and traps. It is
 * linked to the upper half of the address space, whose addresses have a sign. No hart executes the
 * program. tests/model/walk.py prints the PCs of a random walk through it.
 */
	.option	norelax
	.globl	_start
_start:	wfi
	beq	a0, a1, 1f
1:	nop
	jal	f1
	bnez	a0, 2f
	nop
2:	addi	a0, a0, 1
	bnez	a0, 2b
3:	addi	a0, a0, 1
	beqz	a0, 4f
	bnez	a1, 3b
4:	ecall
	jalr	a2
	j	_start
f1:	jal	f2
	bltz	a0, f2
	ret
f2:	jal	f3
	nop
	ret
f3:	jal	f4
	beqz	a1, 5f
5:	ret
f4:	jal	f5
	ret
f5:	.rept	20
	nop
	.endr
	ret
