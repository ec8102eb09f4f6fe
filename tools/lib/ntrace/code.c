// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decoded code consists of straight-line blocks, which are found by address and linked to each
 * other.
 *
 * A block is decoded once and then used each time it is executed. To follow the code by HIST, the
 * decoder only follows the links between blocks, and need not decode their instructions again.
 */
#include <stdlib.h>

#include "code.h"

#define FIRST_BLOCKS	256
#define FIRST_SLOTS	512
/* Blocks use up to 8 MiB. If there is more code, all blocks are dropped and decoded again. */
#define MAX_BLOCKS	(1u << 18)
#define MAX_SPACES	1024
/*
 * Maximum number of slots that are compared to find one address. The hash table is at most half
 * full, so even 100 comparisons are unlikely. If a hostile trace exceeds this limit, all blocks are
 * dropped.
 */
#define MAX_PROBES	512

int nt_code_init(struct nt_code *code, const struct nt_config *config,
		 const struct nt_image *image)
{
	memset(code, 0, sizeof(*code));
	code->config = *config;
	code->image = image;
	code->generation = image->generation;
	code->blocks = calloc(FIRST_BLOCKS, sizeof(*code->blocks));
	if (!code->blocks)
		return NT_E_NOMEM;
	/* Index 0 means a missing block, so the links of block 0 are never set. */
	code->blocks[0].range.reserved = NT_KIND_INVALID;
	code->max_blocks = FIRST_BLOCKS;
	code->nr_blocks = 1;
	return NT_OK;
}

static void code_free_spaces(struct nt_code *code)
{
	while (code->nr_spaces)
		free(code->spaces[--code->nr_spaces].slots);
	free(code->spaces);
	code->spaces = NULL;
}

void nt_code_exit(struct nt_code *code)
{
	code_free_spaces(code);
	free(code->blocks);
}

void nt_code_flush(struct nt_code *code)
{
	code_free_spaces(code);
	code->nr_blocks = 1;
	code->generation = code->image->generation;
	code->overflow = false;
}

int nt_code_space(struct nt_code *code, uint64_t id)
{
	struct nt_space *spaces;
	uint32_t i;

	for (i = 0; i < code->nr_spaces; i++) {
		if (code->spaces[i].id == id)
			return i;
	}
	spaces = realloc(code->spaces, (i + 1) * sizeof(*spaces));
	if (!spaces)
		return NT_E_NOMEM;
	code->spaces = spaces;
	spaces[i] = (struct nt_space){ .id = id, .mask = FIRST_SLOTS - 1 };
	spaces[i].slots = calloc(FIRST_SLOTS, sizeof(*spaces[i].slots));
	if (!spaces[i].slots)
		return NT_E_NOMEM;
	code->nr_spaces++;
	if (code->nr_spaces > MAX_SPACES)
		code->overflow = true;
	return i;
}

static uint32_t code_hash_pc(uint64_t pc)
{
	return (pc >> 1) * 0x9e3779b97f4a7c15ULL >> 32;
}

static bool code_grow_blocks(struct nt_code *code)
{
	uint32_t max = code->max_blocks * 2;
	struct nt_block *blocks = realloc(code->blocks, max * sizeof(*blocks));

	if (!blocks)
		return false;
	code->blocks = blocks;
	code->max_blocks = max;
	return true;
}

static bool code_grow_slots(struct nt_code *code, struct nt_space *space)
{
	uint32_t mask = space->mask * 2 + 1;
	uint32_t *slots = calloc((size_t)mask + 1, sizeof(*slots));
	uint32_t i, at;

	if (!slots)
		return false;
	for (i = 0; i <= space->mask; i++) {
		if (!space->slots[i])
			continue;
		at = code_hash_pc(code->blocks[space->slots[i]].range.start) & mask;
		while (slots[at])
			at = (at + 1) & mask;
		slots[at] = space->slots[i];
	}
	free(space->slots);
	space->slots = slots;
	space->mask = mask;
	return true;
}

static uint64_t code_mask_pc(const struct nt_code *code, uint64_t pc)
{
	return code->config.xlen == 32 ? (uint32_t)pc : pc;
}

/* Read entry @index of the jump vector table (Zcmt). Return false if it cannot be read. */
static bool code_read_table(struct nt_code *code, uint64_t space, uint64_t index, uint64_t *target)
{
	const struct nt_image_reader *reader = &code->image->reader;
	unsigned int size = code->config.xlen / 8;
	uint64_t jvt = code->config.jvt;
	uint8_t entry[8] = { 0 };

	if (reader->jvt && !reader->jvt(reader->ctx, space, &jvt))
		return false;
	if (nt_image_read(code->image, space, (jvt & ~0x3fULL) + index * size, entry, size) != size)
		return false;
	*target = load64(entry) & ~1ULL;
	return true;
}

/*
 * End the block with @insn at @pc. @before is the previous instruction in the block, or all zeros.
 * The target of @insn is inferable if @before sets the register that @insn uses (chapter 9.1).
 */
static void code_end_block(struct nt_code *code, struct nt_block *block, uint64_t space,
			   uint64_t pc, const struct nt_insn *insn, const struct nt_insn *before)
{
	struct nt_range *range = &block->range;
	uint64_t base;

	range->how = insn->klass;
	range->reserved = insn->klass;
	if (insn->klass != NT_CLASS_BRANCH)
		range->flags = NT_RANGE_TAKEN;
	if (insn->is_table_jump) {
		if (!code_read_table(code, space, insn->imm, &block->target))
			range->reserved = NT_KIND_INDIRECT_JUMP;
		return;
	}
	if (insn->klass <= NT_CLASS_CALL) {
		block->target = code_mask_pc(code, pc + insn->imm);
	} else if (insn->rs1 && before->rd == insn->rs1) {
		base = before->is_pc_relative ? pc - before->length : 0;
		block->target = code_mask_pc(code, (base + before->imm + insn->imm) & ~1ULL);
		range->reserved |= NT_KIND_INFERABLE;
	}
}

/*
 * End the block before code that cannot be executed. If the block has no instructions, set its kind
 * to @why, the reason why the code cannot be executed.
 */
static void code_stop_block(struct nt_block *block, enum nt_kind why)
{
	block->range.how = NT_END_LINEAR;
	block->range.reserved = block->range.halfwords ? NT_KIND_LINEAR : why;
}

/* Number of bytes of code that are read at once */
#define CHUNK	64

/* A block with fewer half-words than this has room for one more instruction of any length. */
#define MAX_HALFWORDS	(NT_RANGE_HALFWORDS - 11)

/*
 * End a block that has reached its maximum length. If the last instruction sets a register, move
 * this instruction to the next block. The next instruction may be a jump that takes its target from
 * the register (chapter 9.1), and then the two instructions must be in one block.
 */
static void code_cut_block(struct nt_block *block, const struct nt_insn *last,
			   unsigned int length_before)
{
	if (!last->rd)
		return;
	block->range.halfwords -= last->length / 2;
	block->range.insns--;
	block->range.last_len = length_before / 2;
}

/* Decode instructions until one may change the PC. */
static void code_decode_block(struct nt_code *code, uint64_t space, struct nt_block *block)
{
	struct nt_range *range = &block->range;
	struct nt_insn insn, before = { 0 };
	unsigned int length_before = 0;
	uint8_t buf[CHUNK];
	size_t have = 0, at = 0;
	uint64_t pc = range->start;

	while (range->halfwords < MAX_HALFWORDS) {
		if (at + 4 > have) {
			have = nt_image_read(code->image, space, pc, buf, sizeof(buf));
			at = 0;
		}
		if (!nt_insn_parse(&code->config, buf + at, have - at, &insn)) {
			code_stop_block(block, NT_KIND_NO_CODE);
			return;
		}
		if (insn.klass == NT_CLASS_INVALID) {
			code_stop_block(block, NT_KIND_INVALID);
			return;
		}
		range->halfwords += insn.length / 2;
		range->insns++;
		range->last_len = insn.length / 2;
		if (insn.klass != NT_CLASS_LINEAR) {
			code_end_block(code, block, space, pc, &insn, &before);
			return;
		}
		pc += insn.length;
		at = at + insn.length < have ? at + insn.length : have;
		length_before = before.length;
		before = insn;
	}
	code_cut_block(block, &before, length_before);
}

/*
 * Maximum number of bytes after the end of a block on which the block depends, because the block may
 * end before a truncated instruction
 */
#define INSN_BYTES	22

static bool code_is_touched(const struct nt_code *code, const struct nt_block *block,
			    const struct nt_change *change)
{
	uint64_t last = block->range.start + 2 * block->range.halfwords + INSN_BYTES - 1;

	/*
	 * If a block ends with a table jump (Zcmt), it also depends on the jump vector table, so
	 * treat each change as a change of the block.
	 */
	if (code->config.isa & NT_ISA_ZCMT || last < block->range.start)
		return true;
	return block->range.start <= change->last && last >= change->addr;
}

static void code_update_block(struct nt_code *code, const struct nt_space *space,
			      struct nt_block *block)
{
	uint64_t start = block->range.start;

	memset(block, 0, sizeof(*block));
	block->range.start = start;
	code_decode_block(code, space->id, block);
}

static void code_apply_change(struct nt_code *code, const struct nt_change *change)
{
	uint32_t i, at;

	for (i = 0; i < code->nr_spaces; i++) {
		const struct nt_space *space = &code->spaces[i];

		for (at = 0; at <= space->mask; at++) {
			struct nt_block *block = &code->blocks[space->slots[at]];

			if (space->slots[at] && code_is_touched(code, block, change))
				code_update_block(code, space, block);
		}
	}
}

bool nt_code_update(struct nt_code *code)
{
	const struct nt_image *image = code->image;
	uint64_t behind = image->generation - code->generation;
	bool changed = false;
	uint64_t i;

	if (behind > NR_CHANGES) {
		nt_code_flush(code);
		return true;
	}
	for (i = code->generation + 1; i <= image->generation; i++) {
		const struct nt_change *change = &image->changes[i % NR_CHANGES];

		if (!change->addr && change->last == UINT64_MAX) {
			nt_code_flush(code);
			return true;
		}
		if (change->last < change->addr)
			continue;
		changed = true;
		code_apply_change(code, change);
	}
	code->generation = image->generation;
	return changed;
}

static uint32_t code_add_block(struct nt_code *code, struct nt_space *space, uint64_t pc,
			       uint32_t slot)
{
	struct nt_block *block;
	uint32_t index;

	if (code->nr_blocks == code->max_blocks && !code_grow_blocks(code))
		return 0;
	if (space->nr * 2 > space->mask) {
		if (!code_grow_slots(code, space))
			return 0;
		slot = code_hash_pc(pc) & space->mask;
		while (space->slots[slot])
			slot = (slot + 1) & space->mask;
	}
	index = code->nr_blocks++;
	if (code->nr_blocks > MAX_BLOCKS)
		code->overflow = true;
	block = &code->blocks[index];
	memset(block, 0, sizeof(*block));
	block->range.start = pc;
	code_decode_block(code, space->id, block);
	space->slots[slot] = index;
	space->nr++;
	return index;
}

uint32_t nt_code_find(struct nt_code *code, uint32_t space_index, uint64_t pc)
{
	struct nt_space *space = &code->spaces[space_index];
	uint32_t slot = code_hash_pc(pc) & space->mask, probes = 0;

	while (space->slots[slot]) {
		if (code->blocks[space->slots[slot]].range.start == pc)
			return space->slots[slot];
		slot = (slot + 1) & space->mask;
		probes++;
	}
	if (probes > MAX_PROBES)
		code->overflow = true;
	return code_add_block(code, space, pc, slot);
}

uint32_t nt_code_link(struct nt_code *code, uint32_t space, uint32_t index, unsigned int which,
		      uint64_t pc)
{
	uint32_t next = nt_code_find(code, space, pc);

	if (index)
		code->blocks[index].link[which] = next;
	return next;
}

bool nt_code_split(struct nt_code *code, uint32_t space_index, uint64_t start,
		   unsigned int halfwords, struct nt_range *part)
{
	uint64_t space = code->spaces[space_index].id;
	unsigned int at = 0;
	struct nt_insn insn;
	uint8_t buf[4];

	memset(part, 0, sizeof(*part));
	part->start = start;
	while (at < halfwords) {
		size_t have = nt_image_read(code->image, space, start + at * 2ULL, buf, 4);

		part->halfwords = at;
		if (!nt_insn_parse(&code->config, buf, have, &insn))
			return false;
		part->last_len = insn.length / 2;
		part->insns++;
		at += part->last_len;
	}
	if (at != halfwords)
		return false;
	part->halfwords = halfwords;
	return true;
}
