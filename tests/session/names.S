/* SPDX-License-Identifier: GPL-2.0-only */
/* The functions of this program have all kinds of names. _start calls each function once. */
	.option norelax
	.macro function name, kind=function
	.globl	\name
	.type	\name, @\kind
\name:	.cfi_startproc
	nop
	.endm
	.macro end name
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	function _start
	jal	_ZN3foo3barEi
	jal	_ZN3foo3bazIiEET_S1_
	jal	_RNvCs1234_7mycrate3run
	jal	_ZN4core3fmt5write17h0123456789abcdefE
	jal	outer
	jal	__libc_thing
	jal	.Lunnamed
	jal	label
	li	a7, 93
	li	a0, 0
	ecall
	end	_start

	function _ZN3foo3barEi
	end	_ZN3foo3barEi

	function _ZN3foo3bazIiEET_S1_
	end	_ZN3foo3bazIiEET_S1_

	function _RNvCs1234_7mycrate3run
	end	_RNvCs1234_7mycrate3run

	function _ZN4core3fmt5write17h0123456789abcdefE
	end	_ZN4core3fmt5write17h0123456789abcdefE

/* The function outer contains a label and the function inside. The code of outer continues after both. */
	function outer
lab:	beqz	zero, 1f
	.type	inside, @function
inside:	nop
	nop
	.size	inside, . - inside
1:	nop
	end	outer

/* One function has four names. perf prints the strong global name with the fewest underscores. */
	.globl	__libc_thing, thing
	.weak	better_thing
	.type	__libc_thing, @function
	.type	thing, @function
	.type	better_thing, @function
	.type	a_local_thing, @function
thing:
better_thing:
a_local_thing:
	function __libc_thing
	end	__libc_thing
	.size	thing, . - thing
	.size	better_thing, . - better_thing
	.size	a_local_thing, . - a_local_thing

/* This function has unwind information, but no symbol */
.Lunnamed:
	.cfi_startproc
	nop
	nop
	ret
	.cfi_endproc

/* This assembler function has a symbol without type and size */
label:	nop
	ret
