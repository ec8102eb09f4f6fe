/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace ingress port: what a hart reports to its trace encoder.
 *
 * N-Trace 1.0, chapter "Trace Ingress Port"; the signals are those of the
 * Efficient Trace for RISC-V Specification, chapter "Instruction Trace
 * Interface". The QEMU plugin and `ntrace encode` produce these blocks,
 * struct nb_encoder consumes them.
 */
#ifndef NTRACE_BOARD_INGRESS_H
#define NTRACE_BOARD_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* itype: why the block ended (4-bit values; table "Generating itype") */
enum nb_itype {
	NB_ITYPE_NONE		= 0,	/* no special type: goes on at the next address */
	NB_ITYPE_EXCEPTION	= 1,	/* exception after the last retired instruction */
	NB_ITYPE_INTERRUPT	= 2,	/* interrupt after the last retired instruction */
	NB_ITYPE_TRAP_RETURN	= 3,
	NB_ITYPE_NOT_TAKEN	= 4,
	NB_ITYPE_TAKEN		= 5,
	NB_ITYPE_INDIRECT_CALL	= 8,
	NB_ITYPE_DIRECT_CALL	= 9,
	NB_ITYPE_INDIRECT_JUMP	= 10,	/* without linkage */
	NB_ITYPE_DIRECT_JUMP	= 11,	/* without linkage */
	NB_ITYPE_SWAP		= 12,	/* co-routine swap */
	NB_ITYPE_RETURN		= 13,
	NB_ITYPE_OTHER_INDIRECT	= 14,	/* with linkage */
	NB_ITYPE_OTHER_DIRECT	= 15,	/* with linkage */
};

/* priv: the encoding of PRV and V in PROCESS, table "Fields in Messages" */
enum nb_priv {
	NB_PRIV_U  = 0,
	NB_PRIV_S  = 1,
	NB_PRIV_M  = 3,
	NB_PRIV_VU = 4,
	NB_PRIV_VS = 5,
};

/*
 * One block: @iretire half-words of straight-line code at @iaddr, all retired,
 * at privilege @priv. The last instruction, of @ilastsize half-words, is the
 * one that @itype describes. A trap with nothing retired before it is a block
 * with @iretire 0 and @iaddr the address of the instruction that trapped or
 * was interrupted.
 *
 * Blocks come in program order, the next one only after this one has ended.
 * The target of a jump is not in the block: it is the next block's @iaddr.
 *
 * @wide tells the instructions apart for the truth and for address filters
 * that begin or end within a block: bit i of wide[i / 64] is set where
 * instruction i has 32 bits. Only the first @ninsn bits count. It may be NULL
 * (then @wide_hash is 0). @code, for the truth, are the block's instructions; it
 * may be NULL. @wide_hash is nb_code_hash() of the code or, without it,
 * nb_wide_hash() of the bits, of the whole translated block even where only its
 * head retired.
 */
struct nb_ingress {
	uint64_t	iaddr;		/* virtual address of the first instruction */
	uint32_t	iretire;	/* retired, in half-words */
	uint32_t	ninsn;		/* retired, in instructions */
	uint8_t		ilastsize;	/* half-words of the last instruction, 1 or 2 */
	uint8_t		itype;		/* enum nb_itype */
	uint8_t		priv;		/* enum nb_priv */
	bool		sijump;		/* jump whose target the instruction before it set */
	uint32_t	wide_hash;
	const uint64_t	*wide;
	const uint8_t	*code;		/* 2 * iretire bytes */
};

#endif /* NTRACE_BOARD_INGRESS_H */
