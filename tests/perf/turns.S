/* SPDX-License-Identifier: GPL-2.0-only */
/* This program loops around a function without branches. HIST becomes full after the loop's branch in each round. */
	.option norvc
	.globl _start
	.type _start, @function
_start:
	li	s0, 2000
1:	jal	callee
	addi	s0, s0, -1
	bnez	s0, 1b
	li	a7, 93
	ecall
	.size _start, . - _start
	.type callee, @function
callee:
	.rept 20
	nop
	.endr
	ret
	.size callee, . - callee
