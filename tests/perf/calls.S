/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This program has a loop of three rounds, in which _start calls outer, and outer calls inner. A system call ends the
 * program.
 */
	.option norelax
	.globl	_start
	.type	_start, @function
_start:	li	a0, 3
1:	jal	outer
	addi	a0, a0, -1
	bnez	a0, 1b
	j	done
	.size	_start, . - _start

	.type	outer, @function
outer:	addi	sp, sp, -16
	sd	ra, 0(sp)
	jal	inner
	ld	ra, 0(sp)
	addi	sp, sp, 16
	ret
	.size	outer, . - outer

	.type	inner, @function
inner:	ret
	.size	inner, . - inner

	.type	done, @function
done:	nop
	ecall
	nop
	.size	done, . - done
