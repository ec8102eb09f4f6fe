/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Classification of instructions for the hart's ingress port, see N-Trace 1.0, table
 * "Generating itype for different instructions".
 */
#ifndef NTRACE_BOARD_INSN_H
#define NTRACE_BOARD_INSN_H

#include <stddef.h>
#include <stdint.h>

#include "ingress.h"

enum nb_insn_kind {
	NB_INSN_LINEAR,		/* continues at the next instruction */
	NB_INSN_BRANCH,		/* conditional branch, which jumps to pc + offset if it is taken */
	NB_INSN_DIRECT,		/* jal, c.j, c.jal; jumps to pc + offset */
	NB_INSN_TABLE,		/* cm.jt, cm.jalt; direct jump whose target is in a table */
	NB_INSN_INDIRECT,	/* jalr, c.jr, c.jalr, cm.popret */
	NB_INSN_XRET,		/* mret, sret, mnret */
	NB_INSN_ECALL,		/* ecall, ebreak, c.ebreak; always traps, never retires */
};

/* Flags of nb_insn_classify() */
#define NB_INSN_RV32	(1U << 0)	/* RV32, in which c.jal has the opcode that c.addiw has in RV64 */
#define NB_INSN_ZCMP	(1U << 1)	/* Zcmp, in which cm.popret has an opcode that c.fsdsp has in Zcd */
#define NB_INSN_ZCMT	(1U << 2)	/* Zcmt, which has cm.jt and cm.jalt */

/*
 * Properties of an instruction. @itype is the itype of a block that ends with this
 * instruction. @itype is NB_ITYPE_TAKEN for a branch, and the caller changes it to
 * NB_ITYPE_NOT_TAKEN if the branch was not taken. @itype is NB_ITYPE_NONE for linear code.
 * @itype is NB_ITYPE_EXCEPTION for ecall and ebreak, which never retire, so that the block
 * ends before them.
 *
 * A jump is sequentially inferable (nb_ingress.sijump, chapter "Sequential Jump
 * Optimization") if its @uses is not 0 and equals @sets of the instruction that retired
 * immediately before it.
 */
struct nb_insn {
	uint8_t	len;	/* length in half-words, 1, 2, or more for the reserved formats */
	uint8_t	kind;	/* enum nb_insn_kind */
	uint8_t	itype;	/* enum nb_itype */
	uint8_t	sets;	/* register that lui, c.lui or auipc sets to a constant, or 0 */
	uint8_t	uses;	/* register with the target of an indirect jump, or 0 */
	int32_t	offset;	/* offset in bytes of the target of a branch or direct jump */
};

/**
 * nb_insn_len() - return the length of an instruction
 * @lo: First 16 bits of the instruction
 *
 * Return: 1 to 4 half-words. The reserved formats of 80 bits and more count as 1.
 */
unsigned int nb_insn_len(uint16_t lo);

/**
 * nb_insn_classify() - determine the effect of an instruction on the flow of the program
 * @opcode: The instruction, little endian in the low bits; bits beyond its length are
 *	ignored
 * @flags: NB_INSN_*
 * @insn: The result, which is valid for any opcode
 */
void nb_insn_classify(uint32_t opcode, unsigned int flags, struct nb_insn *insn);

/**
 * nb_ingress_part() - return one instruction of a block as a separate block
 * @blk: The block, whose @wide is not NULL
 * @i: Number of the instruction; call this function for 0, 1, 2 ...
 * @one: On entry, the block of instruction @i - 1, or any content if @i is 0. On return, the block of
 *	instruction @i.
 */
void nb_ingress_part(const struct nb_ingress *blk, uint32_t i, struct nb_ingress *one);

/**
 * nb_wide_hash() - compute nb_ingress.wide_hash of a block whose code is not known
 * @wide: Bit i is set if instruction i has 32 bits
 * @ninsn: Number of instructions
 *
 * Return: A value that is never 0.
 */
uint32_t nb_wide_hash(const uint64_t *wide, size_t ninsn);

/**
 * nb_code_hash() - compute nb_ingress.wide_hash of a block whose code is known
 * @code: Instructions of the block
 * @len: Size of the block in bytes
 *
 * Return: A value that is never 0.
 */
uint32_t nb_code_hash(const uint8_t *code, size_t len);

#endif /* NTRACE_BOARD_INSN_H */
