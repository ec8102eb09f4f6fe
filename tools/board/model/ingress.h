/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace ingress port, through which a hart reports retired instructions to its trace
 * encoder.
 *
 * See N-Trace 1.0, chapter "Trace Ingress Port". The signals are those of the Efficient
 * Trace for RISC-V Specification, chapter "Instruction Trace Interface". The QEMU plugin
 * and `ntrace encode` produce these blocks, and struct nb_encoder consumes them.
 */
#ifndef NTRACE_BOARD_INGRESS_H
#define NTRACE_BOARD_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* Reason for the end of a block (4-bit itype values; table "Generating itype") */
enum nb_itype {
	NB_ITYPE_NONE		= 0,	/* no special type; continues at the next address */
	NB_ITYPE_EXCEPTION	= 1,	/* exception after the last retired instruction */
	NB_ITYPE_INTERRUPT	= 2,	/* interrupt after the last retired instruction */
	NB_ITYPE_TRAP_RETURN	= 3,
	NB_ITYPE_NOT_TAKEN	= 4,
	NB_ITYPE_TAKEN		= 5,
	NB_ITYPE_INDIRECT_CALL	= 8,
	NB_ITYPE_DIRECT_CALL	= 9,
	NB_ITYPE_INDIRECT_JUMP	= 10,	/* jump that saves no return address */
	NB_ITYPE_DIRECT_JUMP	= 11,	/* jump that saves no return address */
	NB_ITYPE_SWAP		= 12,	/* co-routine swap, which is a return and a call */
	NB_ITYPE_RETURN		= 13,
	NB_ITYPE_OTHER_INDIRECT	= 14,	/* jump that saves its return address in another register than a call */
	NB_ITYPE_OTHER_DIRECT	= 15,	/* jump that saves its return address in another register than a call */
};

/* Privilege mode, encoded like PRV and V in PROCESS, table "Fields in Messages" */
enum nb_priv {
	NB_PRIV_U  = 0,
	NB_PRIV_S  = 1,
	NB_PRIV_M  = 3,
	NB_PRIV_VU = 4,
	NB_PRIV_VS = 5,
};

/*
 * A block contains @iretire half-words of straight-line code at @iaddr, which have all
 * retired in privilege mode @priv. @itype describes the last instruction, which has
 * @ilastsize half-words. A trap without a retired instruction before it is a block in
 * which @iretire is 0 and @iaddr is the address of the instruction that trapped or was
 * interrupted.
 *
 * Blocks arrive in program order. A block arrives when it has ended. It does not contain
 * the target of a jump at its end, which is @iaddr of the next block.
 *
 * @wide contains the lengths of the instructions, for the truth and for address filters
 * that begin or end within a block. Bit i % 64 of wide[i / 64] is set if instruction i has
 * 32 bits. Only the first @ninsn bits are used. @wide may be NULL, in which case
 * @wide_hash is 0. @code contains the instructions of the block, for the truth; it may be
 * NULL. @wide_hash is nb_code_hash() of the code or, if @code is NULL, nb_wide_hash() of
 * the bits. If only the start of a QEMU translation block has retired, @wide_hash is still
 * the hash of the whole translation block.
 */
struct nb_ingress {
	uint64_t	iaddr;		/* virtual address of the first instruction */
	uint32_t	iretire;	/* number of retired half-words */
	uint32_t	ninsn;		/* number of retired instructions */
	uint8_t		ilastsize;	/* half-words of the last instruction, 1 or 2 */
	uint8_t		itype;		/* enum nb_itype */
	uint8_t		priv;		/* enum nb_priv */
	bool		sijump;		/* the block ends with a jump whose target the instruction before it has set */
	uint32_t	wide_hash;
	const uint64_t	*wide;
	const uint8_t	*code;		/* instructions of the block, which have 2 * iretire bytes */
};

#endif /* NTRACE_BOARD_INGRESS_H */
