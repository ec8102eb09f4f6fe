// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classification of instructions, see N-Trace 1.0, table "Generating itype for different
 * instructions". The opcodes are from The RISC-V Instruction Set Manual, Volume I.
 */
#include "insn.h"

/* Return bits @hi to @lo of an opcode, moved to position @to of an immediate. */
static uint32_t bits(uint32_t op, unsigned int hi, unsigned int lo, unsigned int to)
{
	return (op >> lo & ((1U << (hi - lo + 1)) - 1)) << to;
}

static int32_t sign_extend(uint32_t value, unsigned int width)
{
	uint32_t sign = 1U << (width - 1);

	return (int32_t)((value ^ sign) - sign);
}

/* Return true if @reg is a link register ("link means register x1 or x5"). */
static bool is_link(unsigned int reg)
{
	return reg == 1 || reg == 5;
}

unsigned int nb_insn_len(uint16_t lo)
{
	if ((lo & 0x03) != 0x03)
		return 1;
	if ((lo & 0x1f) != 0x1f)
		return 2;
	if ((lo & 0x3f) == 0x1f)
		return 3;
	return (lo & 0x7f) == 0x3f ? 4 : 1;
}

static void direct(struct nb_insn *insn, unsigned int rd, int32_t offset)
{
	insn->kind = NB_INSN_DIRECT;
	insn->offset = offset;
	if (is_link(rd))
		insn->itype = NB_ITYPE_DIRECT_CALL;
	else
		insn->itype = rd ? NB_ITYPE_OTHER_DIRECT : NB_ITYPE_DIRECT_JUMP;
}

static void indirect(struct nb_insn *insn, unsigned int rd, unsigned int rs)
{
	insn->kind = NB_INSN_INDIRECT;
	insn->uses = rs;
	if (is_link(rd))
		insn->itype = is_link(rs) && rd != rs ? NB_ITYPE_SWAP : NB_ITYPE_INDIRECT_CALL;
	else if (is_link(rs))
		insn->itype = NB_ITYPE_RETURN;
	else
		insn->itype = rd ? NB_ITYPE_OTHER_INDIRECT : NB_ITYPE_INDIRECT_JUMP;
}

static void branch(struct nb_insn *insn, int32_t offset)
{
	insn->kind = NB_INSN_BRANCH;
	insn->itype = NB_ITYPE_TAKEN;
	insn->offset = offset;
}

static void trap(struct nb_insn *insn)
{
	insn->kind = NB_INSN_ECALL;
	insn->itype = NB_ITYPE_EXCEPTION;
}

static void classify_system(uint32_t op, struct nb_insn *insn)
{
	switch (op) {
	case 0x00000073:	/* opcode of ecall */
	case 0x00100073:	/* opcode of ebreak */
		trap(insn);
		break;
	case 0x10200073:	/* opcode of sret */
	case 0x30200073:	/* opcode of mret */
	case 0x70200073:	/* opcode of mnret */
		insn->kind = NB_INSN_XRET;
		insn->itype = NB_ITYPE_TRAP_RETURN;
		break;
	}
}

static void classify_32(uint32_t op, struct nb_insn *insn)
{
	unsigned int rd = op >> 7 & 31, rs1 = op >> 15 & 31, funct3 = op >> 12 & 7;

	switch (op & 0x7f) {
	case 0x17:	/* opcode of auipc */
	case 0x37:	/* opcode of lui */
		insn->sets = rd;
		break;
	case 0x63:	/* branches; funct3 2 and 3 are reserved */
		if ((funct3 & 6) != 2)
			branch(insn, sign_extend(bits(op, 31, 31, 12) | bits(op, 7, 7, 11) |
						 bits(op, 30, 25, 5) | bits(op, 11, 8, 1), 13));
		break;
	case 0x67:	/* opcode of jalr */
		if (funct3 == 0)
			indirect(insn, rd, rs1);
		break;
	case 0x6f:	/* opcode of jal */
		direct(insn, rd, sign_extend(bits(op, 31, 31, 20) | bits(op, 19, 12, 12) |
					     bits(op, 20, 20, 11) | bits(op, 30, 21, 1), 21));
		break;
	case 0x73:
		classify_system(op, insn);
		break;
	}
}

/* Return the offset of c.j and c.jal, which is imm[11|4|9:8|10|6|7|3:1|5]. */
static int32_t cj_offset(uint32_t op)
{
	return sign_extend(bits(op, 12, 12, 11) | bits(op, 11, 11, 4) | bits(op, 10, 9, 8) |
			   bits(op, 8, 8, 10) | bits(op, 7, 7, 6) | bits(op, 6, 6, 7) |
			   bits(op, 5, 3, 1) | bits(op, 2, 2, 5), 12);
}

/* Return the offset of c.beqz and c.bnez, which is imm[8|4:3] and imm[7:6|2:1|5]. */
static int32_t cb_offset(uint32_t op)
{
	return sign_extend(bits(op, 12, 12, 8) | bits(op, 11, 10, 3) | bits(op, 6, 5, 6) |
			   bits(op, 4, 3, 1) | bits(op, 2, 2, 5), 9);
}

static void classify_quadrant1(uint32_t op, unsigned int flags, struct nb_insn *insn)
{
	unsigned int rd = op >> 7 & 31;

	switch (op >> 13) {
	case 1:		/* c.jal on RV32, c.addiw on RV64 */
		if (flags & NB_INSN_RV32)
			direct(insn, 1, cj_offset(op));
		break;
	case 3:		/* c.lui; the opcode is c.mop if the immediate is 0, and c.addi16sp if rd is x2 */
		if (rd != 2 && op & 0x107c)
			insn->sets = rd;
		break;
	case 5:
		direct(insn, 0, cj_offset(op));
		break;
	case 6:
	case 7:
		branch(insn, cb_offset(op));
		break;
	}
}

static void classify_quadrant2(uint32_t op, unsigned int flags, struct nb_insn *insn)
{
	unsigned int rs1 = op >> 7 & 31, rs2 = op >> 2 & 31;

	if (op == 0x9002) {
		trap(insn);	/* the instruction is c.ebreak */
	} else if (op >> 13 == 4 && rs1 && !rs2) {
		indirect(insn, op >> 12 & 1, rs1);	/* the instruction is c.jr or c.jalr */
	} else if (flags & NB_INSN_ZCMP && (op >> 8 == 0xbc || op >> 8 == 0xbe)) {
		indirect(insn, 0, 1);	/* cm.popretz, cm.popret; the target is loaded from memory */
		insn->uses = 0;
	} else if (flags & NB_INSN_ZCMT && op >> 10 == 0x28) {
		direct(insn, op >> 2 & 0xe0 ? 1 : 0, 0);	/* cm.jt if the index is below 32, otherwise cm.jalt */
		insn->kind = NB_INSN_TABLE;
	}
}

void nb_insn_classify(uint32_t opcode, unsigned int flags, struct nb_insn *insn)
{
	*insn = (struct nb_insn){ .len = nb_insn_len(opcode) };
	if (insn->len == 2) {
		classify_32(opcode, insn);
		return;
	}
	if (insn->len > 2)
		return;
	if ((opcode & 3) == 1)
		classify_quadrant1(opcode & 0xffff, flags, insn);
	else if ((opcode & 3) == 2)
		classify_quadrant2(opcode & 0xffff, flags, insn);
}

uint32_t nb_wide_hash(const uint64_t *wide, size_t ninsn)
{
	uint64_t h = 0x9e3779b97f4a7c15ULL ^ ninsn;
	size_t i, words = (ninsn + 63) / 64;

	for (i = 0; i < words; i++) {
		uint64_t w = wide[i];

		if (i == words - 1 && ninsn % 64)
			w &= (1ULL << ninsn % 64) - 1;
		h = (h ^ w) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return (uint32_t)h | 1;
}

uint32_t nb_code_hash(const uint8_t *code, size_t len)
{
	uint64_t h = 0xc2b2ae3d27d4eb4fULL ^ len;
	size_t i;

	for (i = 0; i + 2 <= len; i += 2) {
		h = (h ^ (code[i] | code[i + 1] << 8)) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	return (uint32_t)h | 1;
}

void nb_ingress_part(const struct nb_ingress *blk, uint32_t i, struct nb_ingress *one)
{
	static const uint64_t one_wide[1] = { 1 }, one_narrow[1];
	bool wide = blk->wide[i / 64] >> i % 64 & 1, last = i == blk->ninsn - 1;

	if (!i) {
		*one = *blk;
	} else {
		one->iaddr += 2 * one->iretire;
		if (one->code)
			one->code += 2 * one->iretire;
	}
	one->iretire = 1 + wide;
	one->ilastsize = 1 + wide;
	one->ninsn = 1;
	one->itype = last ? blk->itype : NB_ITYPE_NONE;
	one->sijump = last && blk->sijump;
	one->wide = wide ? one_wide : one_narrow;
	one->wide_hash = one->code ? nb_code_hash(one->code, 2 * one->iretire) :
				     nb_wide_hash(one->wide, 1);
}
