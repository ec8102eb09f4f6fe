/* SPDX-License-Identifier: GPL-2.0-only */
/* A call of a function in another file, which goes through the PLT. names.t lists what is executed. */
	.option norelax
	.globl	_start
	.type	_start, @function
_start:	call	other@plt
	ecall
	.size	_start, . - _start
	.type	landing, @function
landing: ret
	.size	landing, . - landing
