/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decoded code: straight-line blocks, found by address and linked to each other.
 */
#ifndef NTRACE_CODE_H
#define NTRACE_CODE_H

#include "image.h"

/* nt_block::range.reserved: what its end needs. The first are enum nt_class. */
enum nt_kind {
	NT_KIND_LINEAR		= NT_CLASS_LINEAR,	/* the next block goes on */
	NT_KIND_BRANCH		= NT_CLASS_BRANCH,
	NT_KIND_JUMP		= NT_CLASS_JUMP,
	NT_KIND_CALL		= NT_CLASS_CALL,
	NT_KIND_INDIRECT_JUMP	= NT_CLASS_INDIRECT_JUMP,
	NT_KIND_INDIRECT_CALL	= NT_CLASS_INDIRECT_CALL,
	NT_KIND_RETURN		= NT_CLASS_RETURN,
	NT_KIND_SWAP		= NT_CLASS_SWAP,
	NT_KIND_TRAP_RETURN	= NT_CLASS_TRAP_RETURN,
	NT_KIND_INVALID		= NT_CLASS_INVALID,	/* no instruction; empty */
	NT_KIND_NO_CODE,				/* no code; empty */

	NT_KIND_MASK		= 0x1f,
	/* flag of an indirect jump: the instruction before sets its target (chapter 9.1) */
	NT_KIND_INFERABLE	= 0x20,
};

/*
 * From @range.start to the first instruction that may change the PC. Index 0
 * is no block. @link is filled in as blocks are reached.
 */
struct nt_block {
	struct nt_range	range;		/* as it is given out; flags without a branch taken */
	uint64_t	target;		/* of a direct jump, branch or inferable jump */
	uint32_t	link[2];	/* block right after, block at target; 0: not known yet */
};

/* One address space: a hash table from address to block. */
struct nt_space {
	uint64_t	id;
	uint32_t	*slots;
	uint32_t	mask;
	uint32_t	nr;
};

static inline unsigned int nt_block_kind(const struct nt_block *block)
{
	return block->range.reserved & NT_KIND_MASK;
}

struct nt_code {
	struct nt_config	config;
	const struct nt_image	*image;
	uint64_t		generation;	/* of the image, that the blocks are of */
	struct nt_block		*blocks;
	uint32_t		nr_blocks;
	uint32_t		max_blocks;
	struct nt_space		*spaces;
	uint32_t		nr_spaces;
	bool			overflow;	/* flush it before the next message */
};

int nt_code_init(struct nt_code *code, const struct nt_config *config,
		 const struct nt_image *image);
void nt_code_exit(struct nt_code *code);
void nt_code_flush(struct nt_code *code);

/*
 * Decode again the code that has changed in the image. Blocks keep their index, unless there
 * are more changes than the image remembers. Returns false if no code has changed.
 */
bool nt_code_update(struct nt_code *code);

/* Index of the address space; negative: NT_E_NOMEM */
int nt_code_space(struct nt_code *code, uint64_t id);

/*
 * Index of the block at @pc; 0: out of memory. May move @code->blocks. Sets @code->overflow if
 * there are more blocks than are kept.
 */
uint32_t nt_code_find(struct nt_code *code, uint32_t space, uint64_t pc);

/* The slow part of nt_code_next(): the link is not set yet, or leads somewhere else */
uint32_t nt_code_link(struct nt_code *code, uint32_t space, uint32_t index, unsigned int which,
		      uint64_t pc);

/*
 * The block at @pc, which block @index leads to by link @which; 0: out of memory. @index 0: the
 * block before is not known. May move @code->blocks.
 */
static inline uint32_t nt_code_next(struct nt_code *code, uint32_t space, uint32_t index,
				    unsigned int which, uint64_t pc)
{
	uint32_t next = code->blocks[index].link[which];

	if (likely(code->blocks[next].range.start == pc && next))
		return next;
	return nt_code_link(code, space, index, which, pc);
}

/*
 * Do the first @halfwords of a block end between two instructions? Sets *part to them; if not,
 * to those before the instruction that they end in.
 */
bool nt_code_split(struct nt_code *code, uint32_t space, uint64_t start,
		   unsigned int halfwords, struct nt_range *part);

#endif /* NTRACE_CODE_H */
