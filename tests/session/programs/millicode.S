/* SPDX-License-Identifier: GPL-2.0-only */
/* build: -nostdlib */
/* Calls through t0 that nest, a return through another register, and a tail call from code called through t0. */
	.globl	_start
	.type	_start, @function
_start:	li	s0, 5
1:	call	saves
	call	shared
	addi	s0, s0, -1
	bnez	s0, 1b
	li	a0, 0
	li	a7, 94
	ecall
	.size	_start, . - _start

	.type	saves, @function
saves:	call	t0, save
	call	inner
	call	inner
	tail	restore
	.size	saves, . - saves

	.type	save, @function
save:	addi	sp, sp, -32
	sd	ra, 24(sp)
	sd	s0, 16(sp)
	jr	t0
	.size	save, . - save

	.type	restore, @function
restore:
	ld	ra, 24(sp)
	ld	s0, 16(sp)
	addi	sp, sp, 32
	ret
	.size	restore, . - restore

	.type	shared, @function
shared:	addi	sp, sp, -16
	sd	ra, 8(sp)
	call	t0, part
	call	inner
	ld	t1, 8(sp)
	addi	sp, sp, 16
	jr	t1
	.size	shared, . - shared

	.type	part, @function
part:	nop
	mv	t2, t0
	jr	t2
	.size	part, . - part

	.type	inner, @function
inner:	nop
	ret
	.size	inner, . - inner
