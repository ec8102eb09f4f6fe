/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Call a function in another file through the procedure linkage table (PLT). The test names.t has the list of
 * executed instructions.
 */
	.option norelax
	.globl	_start
	.type	_start, @function
_start:	call	other@plt
	ecall
	.size	_start, . - _start
	.type	landing, @function
landing: ret
	.size	landing, . - landing
