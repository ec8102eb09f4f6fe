/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program with a function whose calls mkslow.py makes slow, and a kernel. Both are in one file, which is linked once
 * at the addresses of the program and once at those of the kernel. All instructions have 4 bytes, and each function
 * jumps indirectly where mkslow.py lets the trace continue elsewhere.
 */
	.option norelax
	.option norvc
	.globl	_start, _stext

	.macro	function name
	.type	\name, @function
\name:
	.endm

	.macro	end name
	.size	\name, . - \name
	.endm

function _stext
	nop
end _stext

function _start
	nop
	jal	work
	bnez	a0, _start
end _start

function work
	nop
	jalr	ra, t2
	ret
end work

function usual
	nop
1:	bnez	a0, 1b
	nop
	ret
end usual

function extra
	nop
1:	bnez	a0, 1b
	nop
	ret
end extra

/* Call deep until a0 is 0. mkslow.py decides the value of a0 */
function deep
	beqz	a0, 1f
	jal	deep
1:	ret
end deep

function handle_exception
	nop
	jalr	ra, t2
	sret
end handle_exception

function do_page_fault
	nop
	nop
	ret
end do_page_fault

function sleep
	nop
	jal	__switch_to
	ret
end sleep

function do_trap_insn_illegal
	nop
	nop
	ret
end do_trap_insn_illegal

function do_irq
	nop
	nop
	ret
end do_irq

function __switch_to
	ret
end __switch_to
