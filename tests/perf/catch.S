/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * int catcher(void (*fn)(void)): return 1 if fn throws a C++ exception, and 0 otherwise. This is the output of a
 * compiler for try { fn(); } catch (...) { return 1; } return 0;
 */
	.option	norelax
	.text
	.globl	catcher
	.type	catcher, @function
catcher:
	.cfi_startproc
	.cfi_personality 0x9b, DW.ref.__gxx_personality_v0
	.cfi_lsda 0x1b, .Llsda
	addi	sp, sp, -16
	.cfi_def_cfa_offset 16
	sd	ra, 8(sp)
	.cfi_offset 1, -8
.Ltry:	jalr	a0
.Lend:	li	a0, 0
1:	ld	ra, 8(sp)
	addi	sp, sp, 16
	ret
.Lpad:	call	__cxa_begin_catch
	call	__cxa_end_catch
	li	a0, 1
	j	1b
	.cfi_endproc
	.size	catcher, . - catcher

	.section .gcc_except_table, "a"
.Llsda:	.byte	0xff			/* Landing pads are relative to the function */
	.byte	0x9b			/* Types are indirect, relative and have 4 bytes */
	.byte	.Ltypes - .Lt0
.Lt0:	.byte	0x03			/* Call sites have 4 bytes each */
	.byte	.Lcse - .Lcsb
.Lcsb:	.4byte	.Ltry - catcher, .Lend - .Ltry, .Lpad - catcher
	.byte	1
.Lcse:	.byte	1, 0			/* Action record, which selects the first entry of the type table */
	.balign	4
	.4byte	0			/* any type */
.Ltypes:

	.hidden	DW.ref.__gxx_personality_v0
	.weak	DW.ref.__gxx_personality_v0
	.section .data.rel.local.DW.ref.__gxx_personality_v0, "awG", @progbits, DW.ref.__gxx_personality_v0, comdat
	.align	3
	.type	DW.ref.__gxx_personality_v0, @object
	.size	DW.ref.__gxx_personality_v0, 8
DW.ref.__gxx_personality_v0:
	.dword	__gxx_personality_v0
	.section .note.GNU-stack, "", @progbits
