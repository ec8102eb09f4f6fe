// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make random programs of real machine code.
 *
 * The functions of this file first choose the kinds and sizes of all instructions, then their
 * addresses, then targets that the jumps can reach, and then the opcodes. The encodings are from the
 * Instruction Set Manual. The kinds are from table "Generating itype for different instructions"
 * (chapter 2).
 */
#include <stdlib.h>
#include <string.h>

#include "random.h"

#define PAGE	4096

struct maker {
	struct world	*world;
	struct program	*program;
	const struct options *opt;
	struct rng	rng;
};

static struct insn *add(struct maker *m, enum kind kind, uint32_t length)
{
	struct insn *insn = &VEC_ADD(&m->program->insns);

	memset(insn, 0, sizeof(*insn));
	insn->kind = kind;
	insn->length = length;
	insn->form = length == 2 ? FORM_2 : FORM_4;
	return insn;
}

static bool compressed(struct maker *m)
{
	return m->opt->compressed && rng_percent(&m->rng, 60);
}

static uint8_t link_register(struct maker *m)
{
	return rng_percent(&m->rng, 70) ? 1 : 5;
}

/* Return a random register other than x0, and other than x1 and x5, with which a jump is a call or a return */
static uint8_t other_register(struct maker *m)
{
	static const uint8_t regs[] = { 2, 3, 6, 7, 8, 10, 15, 28, 31 };

	return regs[rng_below(&m->rng, sizeof(regs))];
}

static void add_linear(struct maker *m)
{
	uint32_t what = rng_below(&m->rng, 100);
	struct insn *insn;

	if (m->opt->long_insns && what < 3) {
		insn = add(m, K_LINEAR, 6 + 2 * rng_below(&m->rng, 9));
		insn->form = FORM_LONG;
	} else if (what < 8) {
		insn = add(m, K_CONST, compressed(m) ? 2 : 4);
		insn->rd = other_register(m);
		if (insn->rd == 2)
			insn->rd = 6;	/* avoid x2, because the opcode of c.lui with x2 is that of c.addi16sp */
	} else {
		add(m, K_LINEAR, compressed(m) ? 2 : 4);
	}
}

static void add_indirect(struct maker *m, enum kind kind)
{
	struct insn *insn = add(m, kind, compressed(m) ? 2 : 4);

	switch (kind) {
	case K_IJUMP:
		insn->rs1 = other_register(m);
		insn->rd = insn->length == 4 && rng_percent(&m->rng, 20) ? other_register(m) : 0;
		break;
	case K_ICALL:
		insn->rd = insn->length == 2 ? 1 : link_register(m);
		insn->rs1 = rng_percent(&m->rng, 20) ? insn->rd : other_register(m);
		break;
	case K_RETURN:
		insn->rs1 = link_register(m);
		insn->rd = insn->length == 4 && rng_percent(&m->rng, 10) ? other_register(m) : 0;
		break;
	default:	/* K_SWAP is a jump that reads x1 or x5, and writes the other one */
		insn->rd = insn->length == 2 ? 1 : link_register(m);
		insn->rs1 = insn->rd == 1 ? 5 : 1;
		break;
	}
	insn->habit = rng_below(&m->rng, 4);
}

/* Add a pair of lui or auipc and jalr. jalr jumps to the address that both compute. */
static void add_pair(struct maker *m, bool last)
{
	static const enum kind kinds[] = { K_IJUMP, K_IJUMP, K_RETURN, K_ICALL };
	/* the last instruction must not be a call, because a call returns to the next instruction */
	enum kind kind = kinds[rng_below(&m->rng, last ? 3 : 4)];
	uint8_t reg;

	add(m, K_CONST, compressed(m) ? 2 : 4);
	add_indirect(m, kind);
	m->program->insns.v[m->program->insns.n - 1].paired = true;
	reg = m->program->insns.v[m->program->insns.n - 1].rs1;
	if (reg == 2) {
		reg = 6;
		m->program->insns.v[m->program->insns.n - 1].rs1 = 6;
	}
	m->program->insns.v[m->program->insns.n - 2].rd = reg;
}

static void add_branch(struct maker *m)
{
	struct insn *insn = add(m, K_BRANCH, compressed(m) ? 2 : 4);

	insn->habit = rng_below(&m->rng, 4);
	insn->param = (uint32_t)rng_next(&m->rng);
}

static void add_direct(struct maker *m, enum kind kind)
{
	struct insn *insn = add(m, kind, 4);

	if (m->opt->zcmt && !m->program->kernel && rng_percent(&m->rng, 40)) {
		insn->length = 2;
		insn->form = FORM_TABLE;
		/* cm.jt uses the entries 0 to 31, and cm.jalt uses the others */
		insn->entry = kind == K_JUMP ? rng_below(&m->rng, 32) :
			      rng_range(&m->rng, 32, TABLE_ENTRIES - 1);
	} else if (kind == K_JUMP) {
		insn->rd = rng_percent(&m->rng, 20) ? other_register(m) : 0;
		if (!insn->rd && compressed(m))
			insn->length = 2, insn->form = FORM_2;
	} else {
		insn->rd = link_register(m);
		if (m->opt->xlen == 32 && insn->rd == 1 && compressed(m))
			insn->length = 2, insn->form = FORM_2;
	}
}

static void add_return(struct maker *m)
{
	if (m->opt->zcmp && rng_percent(&m->rng, 40)) {
		struct insn *insn;

		/*
		 * This instruction loads ra itself, so that a constant in ra does not make it the
		 * second instruction of a pair
		 */
		if (rng_percent(&m->rng, 20))
			add(m, K_CONST, compressed(m) ? 2 : 4)->rd = 1;
		insn = add(m, K_RETURN, 2);
		insn->form = FORM_POPRET;
	} else {
		add_indirect(m, K_RETURN);
	}
}

static void add_custom(struct maker *m)
{
	struct insn *insn = add(m, K_CUSTOM, 4);

	if (m->opt->long_insns && rng_percent(&m->rng, 20)) {
		insn->length = 6;
		insn->form = FORM_LONG;
	}
	insn->param = rng_below(&m->rng, 100);
}

static void add_block_end(struct maker *m)
{
	uint32_t what = rng_below(&m->rng, 100);

	if (rng_percent(&m->rng, m->opt->custom)) {
		add_custom(m);
	} else if (rng_percent(&m->rng, m->opt->pairs)) {
		add_pair(m, false);
	} else if (what < 58) {
		add_branch(m);
	} else if (what < 66) {
		add_direct(m, K_JUMP);
	} else if (what < 80) {
		add_direct(m, K_CALL);
	} else if (what < 84) {
		add_indirect(m, K_IJUMP);
	} else if (what < 90) {
		add_indirect(m, K_ICALL);
	} else if (what < 94) {
		add_return(m);
	} else if (what < 95) {
		add_indirect(m, K_SWAP);
	} else if (what < 97) {
		add(m, K_TRAP, compressed(m) ? 2 : 4);
	} else if (m->program->kernel) {
		add(m, rng_percent(&m->rng, 50) ? K_SCONTEXT : K_XRET, 4);
	} else {
		add_branch(m);
	}
}

/* Add the last instruction of a function. After it, the hart never continues at the next address. */
static void add_function_end(struct maker *m)
{
	uint32_t what = rng_below(&m->rng, 100);

	if (m->program->kernel && what < 40)
		add(m, K_XRET, 4);
	else if (what < 80)
		add_return(m);
	else if (what < 88)
		add_direct(m, K_JUMP);
	else if (what < 94)
		add_indirect(m, K_IJUMP);
	else if (rng_percent(&m->rng, m->opt->custom))
		add_custom(m);
	else if (rng_percent(&m->rng, m->opt->pairs))
		add_pair(m, true);
	else
		add_return(m);
	m->program->insns.v[m->program->insns.n - 1].last = true;
}

static void add_function(struct maker *m)
{
	uint32_t blocks = rng_range(&m->rng, 1, m->opt->blocks);
	uint32_t n, i;

	VEC_ADD(&m->program->functions) = m->program->insns.n;
	while (blocks--) {
		n = rng_range(&m->rng, 1, 1 + rng_below(&m->rng, 8));
		if (m->opt->block_insns > 50 && rng_percent(&m->rng, 4))
			n = rng_range(&m->rng, 1, m->opt->block_insns);
		for (i = 1; i < n; i++)
			add_linear(m);
		if (blocks)
			add_block_end(m);
	}
	add_function_end(m);
}

static void lay_out(struct maker *m)
{
	struct program *p = m->program;
	uint64_t addr = p->base;
	size_t i, f = 0;

	for (i = 0; i < p->insns.n; i++) {
		if (f < p->functions.n && p->functions.v[f] == i) {
			f++;
			if (i && rng_percent(&m->rng, 25))
				addr = (addr + PAGE - 1) & -(uint64_t)PAGE;
			else if (i && rng_percent(&m->rng, 30))
				addr += 2 * rng_below(&m->rng, 20);
			if (!m->opt->compressed && !m->opt->zcmt)
				addr = (addr + 3) & ~3ULL;
		}
		p->insns.v[i].addr = addr;
		addr += p->insns.v[i].length;
	}
	p->size = addr - p->base;
	p->code = calloc(1, p->size);
	p->at = calloc(p->size / 2, sizeof(*p->at));
	for (i = 0; i < p->insns.n; i++)
		p->at[(p->insns.v[i].addr - p->base) / 2] = i + 1;
}

/* Return the range of a direct branch or jump in bytes */
static int64_t reach(const struct insn *insn)
{
	if (insn->kind == K_BRANCH)
		return insn->length == 2 ? 254 : 4094;
	return insn->length == 2 ? 2046 : 1048574;
}

static bool reaches(struct maker *m, uint32_t from, uint32_t to)
{
	const struct insn *insn = m->program->insns.v;
	int64_t offset = insn[to].addr - insn[from].addr;

	return offset <= reach(&insn[from]) && offset >= -reach(&insn[from]);
}

static uint32_t any_function(struct maker *m)
{
	return m->program->functions.v[rng_below(&m->rng, m->program->functions.n)];
}

static uint32_t any_insn(struct maker *m)
{
	return rng_below(&m->rng, m->program->insns.n);
}

/* Return the index of a random instruction near @i */
static uint32_t near_insn(struct maker *m, uint32_t i, uint32_t distance)
{
	uint32_t low = i > distance ? i - distance : 0;
	uint32_t high = i + distance;

	if (high >= m->program->insns.n)
		high = m->program->insns.n - 1;
	return rng_range(&m->rng, low, high);
}

static uint32_t direct_target(struct maker *m, uint32_t i)
{
	struct insn *insn = &m->program->insns.v[i];
	uint32_t tries, to;

	for (tries = 0; tries < 12; tries++) {
		if (insn->kind == K_BRANCH)
			to = near_insn(m, i, 8 + 8 * tries / 3);
		else if (insn->kind == K_JUMP && rng_percent(&m->rng, 50))
			to = near_insn(m, i, 40);
		else
			to = any_function(m);
		if (reaches(m, i, to))
			return to;
	}
	/* a jump must not jump to itself, because this loop would be endless */
	return insn->kind == K_BRANCH || insn->last ? i : i + 1;
}

/*
 * Return true if the pair of lui or auipc and the jump at index @i can reach @to. Set *high and *low to the
 * immediates of the two instructions.
 */
static bool pair_fits(struct maker *m, uint32_t i, uint32_t to, bool pc_relative,
		      int64_t *high, int64_t *low)
{
	const struct insn *insn = &m->program->insns.v[i];
	uint64_t addr = m->program->insns.v[to].addr;
	int64_t offset;

	offset = pc_relative ? (int64_t)(addr - insn[-1].addr) : (int64_t)addr;
	if (m->opt->xlen == 32)
		offset = (int32_t)offset;
	*high = (offset + 0x800) >> 12;
	*low = offset - *high * 4096;
	if (insn->length == 2 && *low)
		return false;
	if (insn[-1].length == 2)	/* the immediate of c.lui has 6 bits and is not 0 */
		return *high >= -32 && *high < 32 && *high;
	return m->opt->xlen == 32 || (*high >= -(1 << 19) && *high < 1 << 19);
}

static void put(struct program *p, const struct insn *insn, uint64_t opcode)
{
	uint32_t i;

	for (i = 0; i < insn->length && i < 8; i++)
		p->code[insn->addr - p->base + i] = opcode >> 8 * i;
}

static uint32_t encode_jalr(const struct insn *insn, int32_t imm)
{
	if (insn->length == 2)
		return (insn->rd ? 0x9002 : 0x8002) | insn->rs1 << 7;
	return (uint32_t)imm << 20 | insn->rs1 << 15 | insn->rd << 7 | 0x67;
}

static void put_const(struct maker *m, const struct insn *insn, int64_t high, bool pc_relative)
{
	uint32_t opcode = (uint32_t)high << 12 | insn->rd << 7 | (pc_relative ? 0x17 : 0x37);

	if (insn->length == 2)
		opcode = 0x6001 | (high & 0x20) << 7 | (high & 0x1f) << 2 | insn->rd << 7;
	put(m->program, insn, opcode);
}

/* If no target fits, make the two instructions use different registers, so that they do not form a pair */
static void settle_pair(struct maker *m, uint32_t i)
{
	struct insn *insn = &m->program->insns.v[i];
	int64_t high, low;
	uint32_t tries, to;
	bool relative;

	for (tries = 0; tries < 40; tries++) {
		to = rng_percent(&m->rng, 70) ? any_function(m) : any_insn(m);
		relative = insn[-1].length == 4 && rng_percent(&m->rng, 50);
		if (!pair_fits(m, i, to, relative, &high, &low))
			continue;
		insn->target = to;
		put_const(m, &insn[-1], high, relative);
		put(m->program, insn, encode_jalr(insn, low));
		return;
	}
	insn->paired = false;
	insn[-1].rd = insn->rs1 == 6 ? 7 : 6;
}

static void choose_targets(struct maker *m)
{
	struct program *p = m->program;
	uint32_t i, j;

	for (i = 0; i < TABLE_ENTRIES; i++)
		p->table_target[i] = any_function(m);
	for (i = 0; i < p->insns.n; i++) {
		struct insn *insn = &p->insns.v[i];

		if (insn->form == FORM_TABLE)
			insn->target = p->table_target[insn->entry];
		else if (insn->kind == K_BRANCH || insn->kind == K_JUMP || insn->kind == K_CALL)
			insn->target = direct_target(m, i);
		else if (insn->paired)
			settle_pair(m, i);
		if (insn->kind == K_IJUMP || insn->kind == K_ICALL || insn->kind == K_CUSTOM) {
			insn->nr_candidates = rng_range(&m->rng, 1, MAX_CANDIDATES);
			for (j = 0; j < insn->nr_candidates; j++)
				insn->candidates[j] = rng_percent(&m->rng, 80) ? any_function(m) :
						      any_insn(m);
		}
	}
}

/*
 * Avoid unwanted pairs. By chapter 9.1, an instruction that loads a constant and the next jump are a
 * pair if both use the same register.
 */
static void separate(struct maker *m)
{
	struct program *p = m->program;
	uint32_t i;

	for (i = 1; i < p->insns.n; i++) {
		struct insn *insn = &p->insns.v[i];

		if (insn[-1].kind == K_CONST && !insn->paired && insn->rs1 == insn[-1].rd)
			insn[-1].rd = insn->rs1 == 6 ? 7 : 6;
	}
}

static uint32_t scatter(uint32_t value, const char *bits)
{
	uint32_t result = 0, at;

	/* each pair of numbers such as "12:3" moves bit 3 of the value to bit 12 of the opcode */
	while (*bits) {
		at = strtoul(bits, (char **)&bits, 10);
		result |= (value >> strtoul(bits + 1, (char **)&bits, 10) & 1) << at;
		if (*bits == ' ')
			bits++;
	}
	return result;
}

static uint32_t encode_branch(struct maker *m, const struct insn *insn, int32_t offset)
{
	static const uint8_t funct3[] = { 0, 1, 4, 5, 6, 7 };
	uint32_t r = (uint32_t)rng_next(&m->rng);

	if (insn->length == 2)
		return (r & 1 ? 0xe001 : 0xc001) | (r >> 1 & 7) << 7 |
		       scatter(offset, "12:8 11:4 10:3 6:7 5:6 4:2 3:1 2:5");
	return 0x63 | funct3[r % 6] << 12 | (r >> 3 & 31) << 15 | (r >> 8 & 31) << 20 |
	       scatter(offset, "31:12 30:10 29:9 28:8 27:7 26:6 25:5 11:4 10:3 9:2 8:1 7:11");
}

static uint32_t encode_jump(const struct insn *insn, int32_t offset)
{
	if (insn->form == FORM_TABLE)
		return 0xa002 | insn->entry << 2;
	if (insn->length == 2)
		return (insn->rd ? 0x2001 : 0xa001) |
		       scatter(offset, "12:11 11:4 10:9 9:8 8:10 7:6 6:7 5:3 4:2 3:1 2:5");
	return 0x6f | insn->rd << 7 |
	       scatter(offset, "31:20 30:10 29:9 28:8 27:7 26:6 25:5 24:4 23:3 22:2 21:1 20:11 "
			       "19:19 18:18 17:17 16:16 15:15 14:14 13:13 12:12");
}

static uint32_t linear_16(struct maker *m)
{
	uint32_t r = (uint32_t)rng_next(&m->rng);
	uint32_t rd = 8 + (r >> 16 & 7), rs2 = 8 + (r >> 19 & 7);

	switch (r % 12) {
	case 0: return 0x0001;						/* c.nop */
	case 1: return 0x0001 | rd << 7 | (r >> 24 & 31) << 2;		/* c.addi */
	case 2: return 0x4001 | rd << 7 | (r >> 24 & 31) << 2;		/* c.li */
	case 3: return 0x8002 | rd << 7 | rs2 << 2;			/* c.mv */
	case 4: return 0x9002 | rd << 7 | rs2 << 2;			/* c.add */
	case 5: return 0x4002 | rd << 7 | (r >> 24 & 31) << 2;		/* c.lwsp */
	case 6: return 0xc002 | (r >> 24 & 63) << 7 | rs2 << 2;		/* c.swsp */
	case 7: return 0x4000 | (r >> 16 & 0x7ff) << 2;			/* c.lw */
	case 8: return 0x8c61 | (r >> 24 & 7) << 7;			/* c.and */
	case 9:	/* the opcode of c.addiw is that of c.jal in RV32 */
		return m->opt->xlen == 64 ? 0x2001 | rd << 7 | (r >> 24 & 31) << 2 : 0x0001;
	case 10: /* the opcode of c.fsdsp is that of cm.mva01s with Zcmp */
		if (m->opt->zcmp)
			return 0xac62;
		return m->opt->zcmt ? 0x0001 : 0xa002 | (r >> 24 & 63) << 7 | rs2 << 2;
	default: return 0x6101 | 1 << 12;				/* c.addi16sp */
	}
}

static uint32_t linear_32(struct maker *m)
{
	static const uint8_t opcodes[] = {
		0x13, 0x33, 0x03, 0x23, 0x53, 0x07, 0x27, 0x43, 0x2f, 0x0f, 0x57, 0x13, 0x33,
	};
	static const uint32_t others[] = {
		0x10500073,	/* wfi */
		0x12000073,	/* sfence.vma */
		0x0000100f,	/* fence.i */
		0x0ff0000f,	/* fence */
		0x34051073,	/* csrw mscratch, a0 */
		0xc0102573,	/* rdtime a0 */
		0x60004073,	/* hlv.b */
	};
	uint32_t r = (uint32_t)rng_next(&m->rng);

	if (rng_percent(&m->rng, 10))
		return others[rng_below(&m->rng, 7)];
	if (m->opt->xlen == 64 && rng_percent(&m->rng, 10))
		return 0x3b | (r & ~0x7fU);
	return (r & ~0x7fU) | opcodes[rng_below(&m->rng, sizeof(opcodes))];
}

static void put_long(struct maker *m, const struct insn *insn)
{
	uint8_t *code = &m->program->code[insn->addr - m->program->base];
	uint32_t i;

	for (i = 0; i < insn->length; i++)
		code[i] = rng_next(&m->rng);
	if (insn->length == 6) {
		code[0] = (code[0] & 0xc0) | 0x1f;
	} else if (insn->length == 8) {
		code[0] = (code[0] & 0x80) | 0x3f;
	} else {	/* the length is 80 + 16 * nnn bits, and nnn is in bits 14:12 */
		code[0] = (code[0] & 0x80) | 0x7f;
		code[1] = (code[1] & 0x8f) | (insn->length - 10) / 2 << 4;
	}
}

static uint32_t encode_trap(struct maker *m, const struct insn *insn)
{
	if (insn->length == 2)
		return rng_percent(&m->rng, 50) ? 0x9002 : 0x0000;	/* c.ebreak, c.unimp */
	return rng_percent(&m->rng, 50) ? 0x00000073 : 0x00100073;	/* ecall, ebreak */
}

static uint32_t encode_xret(struct maker *m)
{
	static const uint32_t xret[] = { 0x30200073, 0x10200073 };	/* mret, sret */

	return xret[rng_below(&m->rng, 2)];
}

static void put_opcode(struct maker *m, const struct insn *insn)
{
	static const uint8_t custom[] = { 0x0b, 0x2b, 0x5b, 0x7b };
	struct program *p = m->program;
	int32_t offset = p->insns.v[insn->target].addr - insn->addr;
	uint32_t r = (uint32_t)rng_next(&m->rng);

	if (insn->form == FORM_LONG) {
		put_long(m, insn);
		return;
	}
	switch (insn->kind) {
	case K_LINEAR:
		put(p, insn, insn->length == 2 ? linear_16(m) : linear_32(m));
		break;
	case K_CONST:
		put_const(m, insn, rng_range(&m->rng, 1, 31), insn->length == 4 && r & 1);
		break;
	case K_BRANCH:
		put(p, insn, encode_branch(m, insn, offset));
		break;
	case K_JUMP: case K_CALL:
		put(p, insn, encode_jump(insn, offset));
		break;
	case K_XRET:
		put(p, insn, encode_xret(m));
		break;
	case K_TRAP:
		put(p, insn, encode_trap(m, insn));
		break;
	case K_CUSTOM:
		put(p, insn, (r & ~0x7fU) | custom[rng_below(&m->rng, 4)]);
		break;
	case K_SCONTEXT:
		put(p, insn, 0x5a851073);	/* csrw scontext, a0 */
		break;
	default:
		if (insn->form == FORM_POPRET)
			put(p, insn, (r & 1 ? 0xbe02 : 0xbc02) | rng_range(&m->rng, 4, 15) << 4);
		else
			put(p, insn, encode_jalr(insn, (int32_t)(r % 4096) - 2048));
		break;
	}
}

static void put_opcodes(struct maker *m)
{
	struct program *p = m->program;
	uint32_t i;

	for (i = 0; i < p->insns.n; i++) {
		/* The two instructions of a pair already have their opcodes */
		if (p->insns.v[i].paired || (i + 1 < p->insns.n && p->insns.v[i + 1].paired))
			continue;
		put_opcode(m, &p->insns.v[i]);
	}
	for (i = 0; i < TABLE_ENTRIES; i++) {
		uint64_t addr = p->insns.v[p->table_target[i]].addr;
		uint32_t size = m->opt->xlen / 8;

		/* The low bit of an entry in the jump table is not part of the address */
		addr |= rng_percent(&m->rng, 10);
		memcpy(&p->table[i * size], &addr, size);
	}
}

void program_make(struct world *world, struct program *program, uint64_t base, uint32_t nr)
{
	struct maker m = { world, program, &world->opt, rng_new(world->seed, 100 + nr) };
	uint32_t i;

	program->base = base;
	program->kernel = program == world->kernel;
	for (i = 0; i < world->opt.functions; i++)
		add_function(&m);
	lay_out(&m);
	choose_targets(&m);
	separate(&m);
	put_opcodes(&m);
}

void program_free(struct program *program)
{
	free(program->code);
	free(program->at);
	free(program->insns.v);
	free(program->functions.v);
	memset(program, 0, sizeof(*program));
}
