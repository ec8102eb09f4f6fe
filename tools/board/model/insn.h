/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instruction classes, as the hart's ingress port reports them: N-Trace 1.0,
 * table "Generating itype for different instructions".
 */
#ifndef NTRACE_BOARD_INSN_H
#define NTRACE_BOARD_INSN_H

#include <stddef.h>
#include <stdint.h>

#include "ingress.h"

enum nb_insn_kind {
	NB_INSN_LINEAR,		/* goes on at the next instruction */
	NB_INSN_BRANCH,		/* direct, conditional: taken it goes to pc + offset */
	NB_INSN_DIRECT,		/* jal, c.j, c.jal: goes to pc + offset */
	NB_INSN_TABLE,		/* cm.jt, cm.jalt: direct, the target is in a table */
	NB_INSN_INDIRECT,	/* jalr, c.jr, c.jalr, cm.popret */
	NB_INSN_XRET,		/* mret, sret, mnret */
	NB_INSN_ECALL,		/* ecall, ebreak, c.ebreak: always traps, never retires */
};

/* flags of nb_insn_classify() */
#define NB_INSN_RV32	(1U << 0)	/* c.jal where RV64 has c.addiw */
#define NB_INSN_ZCMP	(1U << 1)	/* cm.popret where Zcd has c.fsdsp */
#define NB_INSN_ZCMT	(1U << 2)	/* cm.jt, cm.jalt */

/*
 * @itype is what the block has that ends with this instruction, when it
 * retired: NB_ITYPE_TAKEN for a branch (the caller makes it NB_ITYPE_NOT_TAKEN
 * where it was not), NB_ITYPE_NONE for linear code, NB_ITYPE_EXCEPTION for
 * ecall and ebreak (the block ends before them).
 *
 * "Sequential Jump Optimization": a jump with @uses == @sets of the
 * instruction that retired immediately before it, not 0, is sequentially
 * inferable (struct nb_ingress, sijump).
 */
struct nb_insn {
	uint8_t	len;	/* half-words: 1, 2, or more for the reserved longer formats */
	uint8_t	kind;	/* enum nb_insn_kind */
	uint8_t	itype;	/* enum nb_itype */
	uint8_t	sets;	/* register that lui, c.lui or auipc loads with a constant, 0 none */
	uint8_t	uses;	/* register that holds the target of an indirect jump, 0 none */
	int32_t	offset;	/* of a branch or direct jump, from its own address, in bytes */
};

/**
 * nb_insn_len() - length of an instruction
 * @lo: its first 16 bits
 *
 * Return: half-words, 1 to 4; the reserved formats of 80 bits and more count 1.
 */
unsigned int nb_insn_len(uint16_t lo);

/**
 * nb_insn_classify() - what an instruction does to the flow
 * @opcode: the instruction, little endian in the low bits; bits beyond its length are ignored
 * @flags: NB_INSN_*
 * @insn: filled in, whatever the opcode is
 */
void nb_insn_classify(uint32_t opcode, unsigned int flags, struct nb_insn *insn);

/**
 * nb_ingress_part() - one instruction of a block as a block of its own
 * @blk: with @wide
 * @i: which; count up from 0
 * @one: the part before it, and then this one
 */
void nb_ingress_part(const struct nb_ingress *blk, uint32_t i, struct nb_ingress *one);

/**
 * nb_wide_hash() - value for struct nb_ingress, wide_hash
 * @wide: bit i set where instruction i has 32 bits
 * @ninsn: number of instructions
 *
 * Return: never 0.
 */
uint32_t nb_wide_hash(const uint64_t *wide, size_t ninsn);

/**
 * nb_code_hash() - value for struct nb_ingress, wide_hash, where there is code
 * @code: the instructions of the block
 * @len: bytes
 *
 * Return: never 0.
 */
uint32_t nb_code_hash(const uint8_t *code, size_t len);

#endif /* NTRACE_BOARD_INSN_H */
