/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -nostdlib */
/* Labels in a function, a function within another one, and a jump to a label. */
	.globl	_start
	.type	_start, @function
_start:	li	s0, 5
1:	jal	outer
	jal	twice
	addi	s0, s0, -1
	bnez	s0, 1b
	li	a0, 0
	li	a7, 94
	ecall
	.size	_start, . - _start

	.type	outer, @function
outer:	addi	sp, sp, -16
	sd	ra, 0(sp)
	j	label
	nop
label:	jal	inner
	.type	nested, @function
nested:	nop
	jal	inner
	.size	nested, . - nested
other:	ld	ra, 0(sp)
	addi	sp, sp, 16
	ret
	.size	outer, . - outer

	.type	twice, @function
twice:	addi	sp, sp, -16
	sd	ra, 0(sp)
	auipc	t2, 0
	jalr	t0, 12(t2)
	j	3f
	nop
	jr	t0
3:	jal	inner
	ld	ra, 0(sp)
	addi	sp, sp, 16
	ret
	.size	twice, . - twice

	.type	inner, @function
inner:	nop
	ret
	.size	inner, . - inner
