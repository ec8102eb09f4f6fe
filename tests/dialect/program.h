/* SPDX-License-Identifier: GPL-2.0-only */
/* A random program of RV64, and a hart that executes it, for tests. */
#ifndef DIALECT_PROGRAM_H
#define DIALECT_PROGRAM_H

#include "encoder.h"

#define USER		0x10000ULL
#define KERNEL		0xffffffff80200000ULL
#define MAX_HALFWORDS	(1u << 16)

struct insn {
	uint8_t		halfwords;	/* length; 0 if no instruction begins at this half-word */
	uint8_t		kind;
	uint16_t	odds;		/* Probability that a branch is taken, in units of 1/65536 */
	uint32_t	target;		/* index of a half-word in the same region */
	uint16_t	nr_targets;	/* number of possible targets of an indirect call or jump */
};

struct region {
	uint64_t	base;
	unsigned int	nr;		/* number of half-words */
	uint16_t	code[MAX_HALFWORDS];
	struct insn	insns[MAX_HALFWORDS];
	uint32_t	blocks[MAX_HALFWORDS];	/* half-words at which blocks and functions start */
	unsigned int	nr_blocks;
};

struct program {
	struct region	regions[2];	/* region of user mode, and region of the kernel */
	uint32_t	handler;	/* half-word in the kernel's region at which traps continue */
};

#define MAX_STACK	(1u << 14)

struct hart {
	const struct program *program;
	uint64_t	random;
	uint64_t	pc;
	uint64_t	interrupted;	/* address to which the handler returns, or 0 outside of a handler */
	unsigned int	depth;
	uint64_t	stack[MAX_STACK];
};

void program_make(struct program *program, uint64_t seed);
const struct insn *program_insn(const struct program *program, uint64_t pc);
void hart_start(struct hart *hart, const struct program *program, uint64_t seed);

/*
 * Execute one instruction and return true, or take a trap before the instruction and return false.
 * Report the instruction or the trap to @encoder.
 */
bool hart_step(struct hart *hart, struct encoder *encoder);

#endif /* DIALECT_PROGRAM_H */
