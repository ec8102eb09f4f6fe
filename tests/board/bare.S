/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start of a bare-metal program. main(hart) runs on each hart, and the result of the first hart is
 * the exit status of the machine. A trap ends the run with status 99, unless the program sets
 * mtvec. When the board serves a register access, it lets QEMU execute an mret of the program that
 * is after the address in mtvec.
 */
	.section .text.start, "ax"
	.globl _start
_start:
	la	t0, trapped
	csrw	mtvec, t0
	csrr	a0, mhartid
	la	sp, stacks
	addi	t0, a0, 1
	slli	t0, t0, 16
	add	sp, sp, t0
	/* Floating point and vectors stay off; U and S mode may use all memory */
	li	t0, -1
	csrw	pmpaddr0, t0
	li	t0, 0x1f
	csrw	pmpcfg0, t0
	call	main
	csrr	t0, mhartid
	beqz	t0, end
1:	wfi
	j	1b

	.balign	4
trapped:
	li	a0, 99
	/*
	 * The machine's test device: 0x5555 ends the run with status 0, 0x3333 with a given status
	 */
	.globl end
end:
	li	t0, 0x100000
	li	t1, 0x5555
	beqz	a0, 1f
	slli	t1, a0, 16
	li	t2, 0x3333
	or	t1, t1, t2
1:	sw	t1, 0(t0)
	j	1b
	mret
