// SPDX-License-Identifier: GPL-2.0-only
/*
 * A random program of RV64, and a hart that executes it, for tests.
 *
 * The program has two regions, one for user mode and one for the kernel. A region consists of a main
 * loop and functions. A function calls only functions that follow it in the region. One function
 * calls itself, sometimes very deeply. Direct and indirect jumps go forward, so that each function
 * ends.
 */
#include <stdlib.h>
#include <string.h>

#include "program.h"

#define NR_FUNCTIONS	60

struct maker {
	struct region	*region;
	uint64_t	random;
	uint32_t	functions[NR_FUNCTIONS + 2];
};

static unsigned int pick(uint64_t *random, unsigned int n)
{
	return next_random(random) % n;
}

/* ---- instructions ---- */

static struct insn *add(struct maker *m, uint32_t code, unsigned int halfwords, enum kind kind)
{
	struct region *r = m->region;
	struct insn *insn = &r->insns[r->nr];

	if (r->nr + 2 >= MAX_HALFWORDS)
		abort();
	insn->halfwords = halfwords;
	insn->kind = kind;
	r->code[r->nr++] = code;
	if (halfwords == 2)
		r->code[r->nr++] = code >> 16;
	return insn;
}

static void add_linear(struct maker *m)
{
	switch (pick(&m->random, 4)) {
	case 0:
		add(m, 0x00b50533, 2, LINEAR);	/* add a0, a0, a1 */
		break;
	case 1:
		add(m, 0x00053583, 2, LINEAR);	/* ld a1, 0(a0) */
		break;
	case 2:
		add(m, 0x0505, 1, LINEAR);	/* addi a0, a0, 1 */
		break;
	default:
		add(m, 0x0001, 1, LINEAR);	/* nop */
	}
}

static uint32_t branch_code(int offset)
{
	uint32_t o = offset;

	return 0x00b50063 | (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | (o >> 1 & 15) << 8 |
		(o >> 11 & 1) << 7;		/* beq a0, a1 */
}

static uint32_t jump_code(int offset, unsigned int link)
{
	uint32_t o = offset;

	return 0x6f | link << 7 | (o >> 20 & 1) << 31 | (o >> 1 & 0x3ff) << 21 |
		(o >> 11 & 1) << 20 | (o >> 12 & 0xff) << 12;
}

/* Write the targets into the instructions. They are known only when all instructions have an address. */
static void set_targets(struct region *r)
{
	uint32_t at, code;

	for (at = 0; at < r->nr; at++) {
		const struct insn *insn = &r->insns[at];
		int offset = ((int)insn->target - (int)at) * 2;

		if (!insn->halfwords || (insn->kind != BRANCH && insn->kind != JUMP &&
					 insn->kind != CALL))
			continue;
		code = insn->kind == BRANCH ? branch_code(offset) :
			jump_code(offset, insn->kind == CALL);
		r->code[at] = code;
		r->code[at + 1] = code >> 16;
	}
}

/* ---- functions ---- */

static void begin_block(struct maker *m)
{
	struct region *r = m->region;
	unsigned int n = pick(&m->random, 5);

	r->blocks[r->nr_blocks++] = r->nr;
	while (n--)
		add_linear(m);
}

static uint16_t random_odds(struct maker *m, bool back)
{
	static const uint16_t back_odds[] = { 32768, 50000, 62000, 65000, 65500 };
	static const uint16_t odds[] = { 32768, 100, 65400, 10000, 50000 };

	return back ? back_odds[pick(&m->random, 5)] : odds[pick(&m->random, 5)];
}

/*
 * Write the last instruction of block @nr of a function, which has @blocks blocks. Its first block is
 * region->blocks[@first]. The targets are numbers of blocks. resolve() replaces them by addresses.
 */
static void end_block(struct maker *m, unsigned int nr, unsigned int first, unsigned int blocks,
		      unsigned int function)
{
	bool can_call = function < NR_FUNCTIONS - 1;
	struct insn *insn;
	unsigned int to;

	switch (pick(&m->random, 12)) {
	case 0:
		insn = add(m, 0, 2, JUMP);
		insn->target = first + nr + 1 + pick(&m->random, blocks - nr - 1);
		break;
	case 1:
		/* a jump like that of a switch statement */
		insn = pick(&m->random, 2) ? add(m, 0x8782, 1, INDIRECT_JUMP) :
			add(m, 0x00078067, 2, INDIRECT_JUMP);
		insn->target = first + nr + 1;
		insn->nr_targets = blocks - nr - 1;
		break;
	case 2:
		if (!can_call)
			break;
		insn = add(m, 0, 2, CALL);
		insn->target = function + 1 + pick(&m->random, NR_FUNCTIONS - 1 - function);
		break;
	case 3:
		if (!can_call || pick(&m->random, 3))
			break;
		insn = add(m, 0x9782, 1, INDIRECT_CALL);
		insn->target = function + 1;
		insn->nr_targets = NR_FUNCTIONS - 1 - function;
		break;
	default:
		to = pick(&m->random, blocks);
		insn = add(m, 0, 2, BRANCH);
		insn->target = first + to;
		insn->odds = random_odds(m, to <= nr);
	}
}

static void make_function(struct maker *m, unsigned int function)
{
	struct region *r = m->region;
	unsigned int first = r->nr_blocks, blocks = 2 + pick(&m->random, 8), i;

	m->functions[function] = r->nr;
	for (i = 0; i < blocks - 1; i++) {
		begin_block(m);
		end_block(m, i, first, blocks, function);
	}
	begin_block(m);
	if (function && !pick(&m->random, 30))
		add(m, 0x000082e7, 2, SWAP);		/* jalr t0, ra */
	if (pick(&m->random, 2))
		add(m, 0x8082, 1, RETURN);
	else
		add(m, 0x00008067, 2, RETURN);
}

/* Make a function that calls itself, unless its branch skips the call. */
static void make_deep(struct maker *m)
{
	struct region *r = m->region;
	struct insn *insn;

	m->functions[NR_FUNCTIONS] = r->nr;
	begin_block(m);
	insn = add(m, 0, 2, BRANCH);
	insn->target = r->nr_blocks + 1;
	insn->odds = 60;
	begin_block(m);
	insn = add(m, 0, 2, CALL);
	insn->target = NR_FUNCTIONS;
	begin_block(m);
	add(m, 0x8082, 1, RETURN);
}

/*
 * Make the main code, which calls all functions. In user mode, it repeats the calls for ever. In the
 * kernel, it makes the calls once, and returns from the trap.
 */
static void make_main(struct maker *m, bool kernel)
{
	struct region *r = m->region;
	unsigned int first = r->nr_blocks, i;
	struct insn *insn;

	m->functions[NR_FUNCTIONS + 1] = r->nr;
	for (i = 0; i < (kernel ? 3 : 12); i++) {
		begin_block(m);
		insn = add(m, 0, 2, CALL);
		insn->target = pick(&m->random, NR_FUNCTIONS);
		if (kernel)
			insn->target = NR_FUNCTIONS - 1 - pick(&m->random, 3);
		else if (i == 5)
			insn->target = NR_FUNCTIONS;
	}
	begin_block(m);
	if (kernel) {
		add(m, 0x10200073, 2, TRAP_RETURN);
		return;
	}
	insn = add(m, 0, 2, JUMP);
	insn->target = first;
}

/* Replace numbers of targets by addresses */
static void resolve(struct maker *m)
{
	struct region *r = m->region;
	uint32_t at;

	for (at = 0; at < r->nr; at++) {
		struct insn *insn = &r->insns[at];

		if (!insn->halfwords)
			continue;
		if (insn->kind == CALL)
			insn->target = m->functions[insn->target];
		else if (insn->kind == BRANCH || insn->kind == JUMP)
			insn->target = r->blocks[insn->target];
		else if (insn->kind == INDIRECT_CALL)
			insn->target += MAX_HALFWORDS;
	}
	/*
	 * Store the start addresses of functions after the start addresses of blocks in @blocks, because indirect
	 * calls choose their targets from the starts of functions
	 */
	for (at = 0; at < NR_FUNCTIONS; at++)
		r->blocks[r->nr_blocks + at] = m->functions[at];
	for (at = 0; at < r->nr; at++) {
		if (r->insns[at].halfwords && r->insns[at].kind == INDIRECT_CALL)
			r->insns[at].target += r->nr_blocks - MAX_HALFWORDS;
	}
	set_targets(r);
}

static uint32_t make_region(struct region *region, uint64_t *random, bool kernel)
{
	struct maker m = { .region = region, .random = next_random(random) | 1 };
	unsigned int i;

	for (i = 0; i < NR_FUNCTIONS; i++)
		make_function(&m, i);
	make_deep(&m);
	make_main(&m, kernel);
	resolve(&m);
	return m.functions[NR_FUNCTIONS + 1];
}

void program_make(struct program *program, uint64_t seed)
{
	uint64_t random = seed * 2654435761u + 1;

	memset(program, 0, sizeof(*program));
	program->regions[0].base = USER;
	program->regions[1].base = KERNEL;
	/* store the start of the main loop, at which the hart enters the program */
	program->regions[0].blocks[MAX_HALFWORDS - 1] =
		make_region(&program->regions[0], &random, false);
	program->handler = make_region(&program->regions[1], &random, true);
}

static const struct region *region_of(const struct program *program, uint64_t pc)
{
	return &program->regions[pc >= KERNEL];
}

const struct insn *program_insn(const struct program *program, uint64_t pc)
{
	const struct region *r = region_of(program, pc);

	return &r->insns[(pc - r->base) / 2];
}

/* ---- the hart ---- */

void hart_start(struct hart *hart, const struct program *program, uint64_t seed)
{
	hart->program = program;
	hart->random = seed * 0x9e3779b97f4a7c15ULL | 1;
	hart->pc = USER + 2 * program->regions[0].blocks[MAX_HALFWORDS - 1];
	hart->interrupted = 0;
	hart->depth = 0;
}

static uint64_t pop(struct hart *hart, uint64_t otherwise)
{
	return hart->depth ? hart->stack[--hart->depth] : otherwise;
}

static void push(struct hart *hart, uint64_t link)
{
	if (hart->depth == MAX_STACK)
		abort();
	hart->stack[hart->depth++] = link;
}

static bool is_taken(struct hart *hart, const struct insn *insn)
{
	return hart->depth > MAX_STACK - 100 || pick(&hart->random, 65536) < insn->odds;
}

static uint64_t trap_return(struct hart *hart)
{
	uint64_t to = hart->interrupted;

	hart->interrupted = 0;
	/*
	 * A swap (jalr t0, ra) may have overwritten the return address of the handler. In this case,
	 * restart the program.
	 */
	return to ? to : USER + 2 * hart->program->regions[0].blocks[MAX_HALFWORDS - 1];
}

static uint64_t next_pc(struct hart *hart, const struct insn *insn, bool *taken)
{
	const struct region *r = region_of(hart->program, hart->pc);
	uint64_t link = hart->pc + 2 * insn->halfwords, to;

	*taken = insn->kind != LINEAR;
	switch (insn->kind) {
	case LINEAR:
		return link;
	case BRANCH:
		*taken = is_taken(hart, insn);
		return *taken ? r->base + 2 * insn->target : link;
	case RETURN:
		return pop(hart, USER + 2 * hart->program->regions[0].blocks[MAX_HALFWORDS - 1]);
	case TRAP_RETURN:
		return trap_return(hart);
	case SWAP:
		to = pop(hart, link);
		push(hart, link);
		return to;
	case CALL:
	case INDIRECT_CALL:
		push(hart, link);
	}
	if (!insn->nr_targets)
		return r->base + 2 * insn->target;
	return r->base + 2 * r->blocks[insn->target + pick(&hart->random, insn->nr_targets)];
}

bool hart_step(struct hart *hart, struct encoder *encoder)
{
	const struct insn *insn = program_insn(hart->program, hart->pc);
	uint64_t pc = hart->pc;
	bool taken;

	if (!hart->interrupted && !pick(&hart->random, 3000)) {
		hart->interrupted = pc;
		hart->pc = KERNEL + 2 * hart->program->handler;
		encoder_trap(encoder, hart->pc);
		return false;
	}
	hart->pc = next_pc(hart, insn, &taken);
	encoder_retire(encoder, pc, insn->kind, insn->halfwords, taken, hart->pc);
	return true;
}
