/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decoded code consists of straight-line blocks, which are found by address and linked to each
 * other.
 */
#ifndef NTRACE_CODE_H
#define NTRACE_CODE_H

#include "image.h"

/* How a block of code ends, stored in nt_block::range.reserved. The first values are those of enum nt_class. */
enum nt_kind {
	/* the block has no jump at its end, and the flow continues in the next block */
	NT_KIND_LINEAR		= NT_CLASS_LINEAR,
	NT_KIND_BRANCH		= NT_CLASS_BRANCH,
	NT_KIND_JUMP		= NT_CLASS_JUMP,
	NT_KIND_CALL		= NT_CLASS_CALL,
	NT_KIND_INDIRECT_JUMP	= NT_CLASS_INDIRECT_JUMP,
	NT_KIND_INDIRECT_CALL	= NT_CLASS_INDIRECT_CALL,
	NT_KIND_RETURN		= NT_CLASS_RETURN,
	NT_KIND_SWAP		= NT_CLASS_SWAP,
	NT_KIND_TRAP_RETURN	= NT_CLASS_TRAP_RETURN,
	NT_KIND_INVALID		= NT_CLASS_INVALID,	/* empty block before an invalid opcode */
	NT_KIND_NO_CODE,				/* empty block before missing code */

	NT_KIND_MASK		= 0x1f,
	/* flag of an indirect jump whose target the previous instruction sets (chapter 9.1) */
	NT_KIND_INFERABLE	= 0x20,
};

/*
 * A block has the instructions from @range.start to the first instruction that may change the PC.
 * No block has the index 0. @link is filled in when the linked block is first reached.
 */
struct nt_block {
	struct nt_range	range;		/* range to emit for the block, if the branch at its end is not taken */
	uint64_t	target;		/* target of a direct jump, branch or inferable jump */
	uint32_t	link[2];	/* index of the next block, and of the block at @target; 0 if not known */
};

/* An address space. The hash table @slots finds a block by its address. */
struct nt_space {
	uint64_t	id;
	uint32_t	*slots;	/* index of a block in nt_code::blocks; 0: the slot is free */
	uint32_t	mask;	/* number of @slots minus 1 */
	uint32_t	nr;	/* number of blocks */
};

static inline unsigned int nt_block_kind(const struct nt_block *block)
{
	return block->range.reserved & NT_KIND_MASK;
}

struct nt_code {
	struct nt_config	config;
	const struct nt_image	*image;
	uint64_t		generation;	/* value of nt_image::generation for which the code was decoded */
	struct nt_block		*blocks;
	uint32_t		nr_blocks;
	uint32_t		max_blocks;
	struct nt_space		*spaces;
	uint32_t		nr_spaces;
	/* there are too many blocks, so drop all of them before the next message */
	bool			overflow;
};

int nt_code_init(struct nt_code *code, const struct nt_config *config,
		 const struct nt_image *image);
void nt_code_exit(struct nt_code *code);
void nt_code_flush(struct nt_code *code);

/*
 * Decode again the code that has changed in the image. Blocks keep their index, unless there
 * are more changes than the image stores. Return false if no code has changed.
 */
bool nt_code_update(struct nt_code *code);

/* Return the index of address space @id, or NT_E_NOMEM, which is negative. */
int nt_code_space(struct nt_code *code, uint64_t id);

/*
 * Return the index of the block at @pc, or 0 if out of memory. The function may move @code->blocks.
 * It sets @code->overflow if there are too many blocks.
 */
uint32_t nt_code_find(struct nt_code *code, uint32_t space, uint64_t pc);

/* Do the work of nt_code_next() if the link is not set, or leads to another address than @pc. */
uint32_t nt_code_link(struct nt_code *code, uint32_t space, uint32_t index, unsigned int which,
		      uint64_t pc);

/*
 * Return the index of the block at @pc, or 0 if out of memory. Link @which (0 or 1) of block @index
 * leads to that block. @index is 0 if the previous block is not known. The function may move
 * @code->blocks.
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
 * Set *part to the first @halfwords half-words of the block at @start. Return true if the last of
 * these half-words ends an instruction. Otherwise, return false, and end *part before the instruction
 * that contains the last of these half-words.
 */
bool nt_code_split(struct nt_code *code, uint32_t space, uint64_t start,
		   unsigned int halfwords, struct nt_range *part);

#endif /* NTRACE_CODE_H */
