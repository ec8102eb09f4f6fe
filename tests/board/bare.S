/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Start of a bare-metal program. main(hart) runs on each hart. The value that main() returns on the
 * first hart is the exit status of the machine. A trap ends the program with status 99, unless the
 * program sets mtvec.
 *
 * An access to a register of a trace component takes an access fault. The board does not let
 * the hart run the trap handler. It does the access itself, and continues the hart at an mret, which
 * returns to the program. The board uses the first mret after the address in mtvec, so the program
 * must have an mret there, even if its trap handler does not return.
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
	/* let U and S mode use all memory; floating point and vectors stay off */
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
	 * Write to the machine's test device. The value 0x5555 ends QEMU with status 0, and the value
	 * 0x3333 ends it with a given status
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
