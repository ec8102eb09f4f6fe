// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The insn layer determines the effect of an opcode on the PC, by table "Generating itype for
 * different instructions" (chapter 2).
 */
#include "internal.h"

/* Major opcodes of the 32-bit encodings */
#define OP_AUIPC	0x17
#define OP_LUI		0x37
#define OP_BRANCH	0x63
#define OP_JALR		0x67
#define OP_JAL		0x6f
#define OP_SYSTEM	0x73

#define INSN_ECALL	0x00000073
#define INSN_EBREAK	0x00100073
#define INSN_SRET	0x10200073
#define INSN_MRET	0x30200073
#define INSN_MNRET	0x70200073
#define INSN_DRET	0x7b200073

static uint32_t insn_bits(uint32_t insn, unsigned int high, unsigned int low)
{
	return insn >> low & ((2u << (high - low)) - 1);
}

static bool insn_is_link(unsigned int reg)
{
	return reg == 1 || reg == 5;
}

/* Return the class of JALR and its compressed forms, which rd and rs1 determine. */
static uint8_t insn_jalr_class(unsigned int rd, unsigned int rs)
{
	if (insn_is_link(rd))
		return insn_is_link(rs) && rd != rs ? NT_CLASS_SWAP : NT_CLASS_INDIRECT_CALL;
	return insn_is_link(rs) ? NT_CLASS_RETURN : NT_CLASS_INDIRECT_JUMP;
}

/* Return the offset of jal. Its bits 31:12 are imm[20|10:1|11|19:12]. */
static int64_t insn_imm_j(uint32_t insn)
{
	uint32_t imm = insn_bits(insn, 31, 31) << 20 | insn_bits(insn, 19, 12) << 12 |
		       insn_bits(insn, 20, 20) << 11 | insn_bits(insn, 30, 21) << 1;

	return sign_extend(imm, 21);
}

/* Return the offset of a branch. Its bits 31:7 are imm[12|10:5] rs2 rs1 funct3 imm[4:1|11]. */
static int64_t insn_imm_b(uint32_t insn)
{
	uint32_t imm = insn_bits(insn, 31, 31) << 12 | insn_bits(insn, 7, 7) << 11 |
		       insn_bits(insn, 30, 25) << 5 | insn_bits(insn, 11, 8) << 1;

	return sign_extend(imm, 13);
}

/* Return the offset of c.j or c.jal. Their bits 12:2 are imm[11|4|9:8|10|6|7|3:1|5]. */
static int64_t insn_imm_cj(uint32_t insn)
{
	uint32_t imm = insn_bits(insn, 12, 12) << 11 | insn_bits(insn, 11, 11) << 4 |
		       insn_bits(insn, 10, 9) << 8 | insn_bits(insn, 8, 8) << 10 |
		       insn_bits(insn, 7, 7) << 6 | insn_bits(insn, 6, 6) << 7 |
		       insn_bits(insn, 5, 3) << 1 | insn_bits(insn, 2, 2) << 5;

	return sign_extend(imm, 12);
}

/* Return the offset of c.beqz or c.bnez. Bits 12:10 are imm[8|4:3], and bits 6:2 are imm[7:6|2:1|5]. */
static int64_t insn_imm_cb(uint32_t insn)
{
	uint32_t imm = insn_bits(insn, 12, 12) << 8 | insn_bits(insn, 11, 10) << 3 |
		       insn_bits(insn, 6, 5) << 6 | insn_bits(insn, 4, 3) << 1 |
		       insn_bits(insn, 2, 2) << 5;

	return sign_extend(imm, 9);
}

/* Decode an instruction of quadrant 1 of the compressed encodings. */
static void insn_decode_c1(const struct nt_config *config, uint32_t op, struct nt_insn *insn)
{
	unsigned int rd = insn_bits(op, 11, 7);
	uint32_t imm;

	switch (insn_bits(op, 15, 13)) {
	case 1:		/* c.jal on RV32, c.addiw on RV64 */
		if (config->xlen != 32)
			return;
		insn->klass = NT_CLASS_CALL;
		insn->imm = insn_imm_cj(op);
		return;
	case 3:		/* c.lui, or c.addi16sp if rd is x2; an immediate of 0 is reserved */
		imm = insn_bits(op, 12, 12) << 17 | insn_bits(op, 6, 2) << 12;
		if (rd == 2 || !imm)
			return;
		insn->rd = rd;
		insn->imm = sign_extend(imm, 18);
		return;
	case 5:
		insn->klass = NT_CLASS_JUMP;
		insn->imm = insn_imm_cj(op);
		return;
	case 6:
	case 7:
		insn->klass = NT_CLASS_BRANCH;
		insn->imm = insn_imm_cb(op);
		return;
	}
}

/*
 * Decode Zcmp and Zcmt. The high bits are 101 11110 for cm.popret, 101 11100 for cm.popretz, and
 * 101 000 for cm.jt and cm.jalt. An index of 32 or more means cm.jalt, which links.
 */
static void insn_decode_zcm(const struct nt_config *config, uint32_t op, struct nt_insn *insn)
{
	if (config->isa & NT_ISA_ZCMP && (insn_bits(op, 12, 8) & 0x1d) == 0x1c)
		insn->klass = NT_CLASS_RETURN;
	if (config->isa & NT_ISA_ZCMT && insn_bits(op, 12, 10) == 0) {
		insn->is_table_jump = true;
		insn->imm = insn_bits(op, 9, 2);
		insn->klass = insn->imm < 32 ? NT_CLASS_JUMP : NT_CLASS_CALL;
	}
}

/* Decode an instruction of quadrant 2, such as c.jr, c.jalr and c.ebreak. */
static void insn_decode_c2(const struct nt_config *config, uint32_t op, struct nt_insn *insn)
{
	unsigned int rs1 = insn_bits(op, 11, 7);

	if (insn_bits(op, 15, 13) == 5)
		insn_decode_zcm(config, op, insn);
	if (insn_bits(op, 15, 13) != 4 || insn_bits(op, 6, 2))
		return;
	if (!rs1) {
		insn->is_system = insn_bits(op, 12, 12);
		return;
	}
	insn->rs1 = rs1;
	insn->klass = insn_jalr_class(insn_bits(op, 12, 12), rs1);
}

static void insn_decode_system(uint32_t op, struct nt_insn *insn)
{
	switch (op) {
	case INSN_ECALL:
	case INSN_EBREAK:
		insn->is_system = true;
		break;
	case INSN_SRET:
	case INSN_MRET:
	case INSN_MNRET:
	case INSN_DRET:
		insn->klass = NT_CLASS_TRAP_RETURN;
		break;
	}
}

static void insn_decode_32(uint32_t op, struct nt_insn *insn)
{
	unsigned int rd = insn_bits(op, 11, 7);

	switch (op & 0x7f) {
	case OP_BRANCH:
		insn->klass = NT_CLASS_BRANCH;
		insn->imm = insn_imm_b(op);
		break;
	case OP_JAL:
		insn->klass = insn_is_link(rd) ? NT_CLASS_CALL : NT_CLASS_JUMP;
		insn->imm = insn_imm_j(op);
		break;
	case OP_JALR:
		if (insn_bits(op, 14, 12))
			break;
		insn->rs1 = insn_bits(op, 19, 15);
		insn->klass = insn_jalr_class(rd, insn->rs1);
		insn->imm = sign_extend(insn_bits(op, 31, 20), 12);
		break;
	case OP_AUIPC:
		insn->is_pc_relative = true;
		/* fall through */
	case OP_LUI:
		insn->rd = rd;
		insn->imm = (int32_t)(op & 0xfffff000);
		break;
	case OP_SYSTEM:
		insn_decode_system(op, insn);
		break;
	}
}

/* Return the instruction's length in bytes, which the low bits encode, or 0 if it is reserved (192 bits and more). */
static unsigned int insn_length(uint32_t op)
{
	if ((op & 0x03) != 0x03)
		return 2;
	if ((op & 0x1f) != 0x1f)
		return 4;
	if ((op & 0x3f) == 0x1f)
		return 6;
	if ((op & 0x7f) == 0x3f)
		return 8;
	return insn_bits(op, 14, 12) == 7 ? 0 : 10 + 2 * insn_bits(op, 14, 12);
}

int nt_insn_parse(const struct nt_config *config, const uint8_t *code, size_t size,
		   struct nt_insn *insn)
{
	uint32_t op;

	memset(insn, 0, sizeof(*insn));
	if (size < 2)
		return 0;
	op = load16(code);
	insn->length = insn_length(op);
	if (!op || !insn->length) {
		insn->klass = NT_CLASS_INVALID;
		insn->length = 2;
		return 2;
	}
	if (insn->length == 2) {
		if ((op & 3) == 1)
			insn_decode_c1(config, op, insn);
		if ((op & 3) == 2)
			insn_decode_c2(config, op, insn);
		return 2;
	}
	if (insn->length == 4) {
		if (size < 4)
			return 0;
		insn_decode_32(load32(code), insn);
	}
	return insn->length;
}
