/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Each slot has two instructions of two bytes, and so has a size of four bytes. All slots contain the same code, and
 * can be told apart only by their addresses.
 */
	.globl	_start
_start:
	.rept	1 << 14
	c.nop
	c.jr	ra
	.endr
