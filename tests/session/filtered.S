/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of this program call each other in loops, recursively, by pointers and by tail calls, in all depths. */
	.option norelax
	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm
	.macro	enter
	addi	sp, sp, -32
	sd	ra, 0(sp)
	sd	s0, 8(sp)
	sd	s1, 16(sp)
	.endm
	.macro	leave
	ld	ra, 0(sp)
	ld	s0, 8(sp)
	ld	s1, 16(sp)
	addi	sp, sp, 32
	.endm

	function _start
	li	s0, 3
1:	mv	a0, s0
	jal	serve
	li	a0, 3
	jal	again
	jal	log
	addi	s0, s0, -1
	bnez	s0, 1b
	li	a7, 93
	ecall
	.size	_start, . - _start

	function serve
	enter
	mv	s0, a0
	la	s1, handle
	jalr	s1
1:	jal	handle
	jal	reply
	addi	s0, s0, -1
	bnez	s0, 1b
	li	a0, 2
	jal	walk
	leave
	ret
	.size	serve, . - serve

	function handle
	enter
	jal	parse
	jal	work
	jal	parse
	leave
	j	reply
	.size	handle, . - handle

	function parse
	enter
	jal	scan
	nop
	la	s1, scan
	jalr	s1
	leave
	ret
	.size	parse, . - parse

	function scan
	li	t0, 3
1:	addi	t0, t0, -1
	bnez	t0, 1b
	ret
	.size	scan, . - scan

	function work
	enter
	la	s0, log
	jal	scan
	leave
	la	t1, log
	jr	t1
	.size	work, . - work

	function walk
	enter
	mv	s0, a0
	beqz	s0, 1f
	addi	a0, s0, -1
	jal	walk
	jal	scan
	addi	a0, s0, -1
	jal	walk
1:	jal	parse
	leave
	ret
	.size	walk, . - walk

	function reply
	enter
	jal	log
	leave
	ret
	.size	reply, . - reply

	function again
	addi	a0, a0, -1
	nop
	nop
	bgtz	a0, again
	ret
	.size	again, . - again

	function log
	nop
	nop
	ret
	.size	log, . - log

	function signal
	nop
	nop
	ret
	.size	signal, . - signal
