// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace encode is a software encoder. It creates an N-Trace stream from a list of PCs and the code at
 * these addresses.
 *
 * This file converts the list to the blocks that a hart's ingress port would report, and the
 * encoder model of the board (tools/board/model) encodes them.
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "ntrace.h"
#include "dev.h"
#include "cli/output.h"
#include "session/file/whole-file.h"

#define WFI		0x10500073U

/* ---- Read and decode the instructions of ELF files ---- */

static int add_segment(struct code *code, const struct nt_elf_segment *from, uint64_t base)
{
	struct segment *s = &code->segment[code->n_segments];

	if (code->n_segments == SEGMENTS_MAX)
		return -1;
	s->start = from->addr + base;
	s->end = s->start + from->size;
	s->bytes = from->data;
	s->insn = calloc(from->size / 2 + 1, sizeof(*s->insn));
	if (!s->insn)
		return -1;
	code->n_segments++;
	return 0;
}

int encode_add_code(struct code *code, const char *arg)
{
	struct nt_elf_segment segment;
	struct nt_elf_info info;
	uint64_t base = 0;
	struct nt_elf *elf;
	size_t i;

	if (code->n_images == IMAGES_MAX) {
		fprintf(stderr, "ntrace: there are more than %u ELF files\n", IMAGES_MAX);
		return -1;
	}
	elf = elf_open_arg(arg, &base);
	if (!elf)
		return -1;
	code->elf[code->n_images++] = elf;
	nt_elf_info(elf, &info, sizeof(info));
	if (info.xlen == 32)
		code->flags |= NB_INSN_RV32;
	for (i = 0; !nt_elf_segment(elf, i, &segment, sizeof(segment)); i++) {
		if (!(segment.flags & PF_X) || !add_segment(code, &segment, base))
			continue;
		fprintf(stderr, "ntrace: %s: the code is too large\n", arg);
		return -1;
	}
	return 0;
}

static void code_free(struct code *code)
{
	unsigned int i;

	for (i = 0; i < code->n_segments; i++)
		free(code->segment[i].insn);
	for (i = 0; i < code->n_images; i++)
		nt_elf_close(code->elf[i]);
}

static struct segment *find_segment(struct code *code, uint64_t pc)
{
	unsigned int i;

	for (i = 0; i < code->n_segments; i++) {
		struct segment *s = &code->segment[i];

		if (pc >= s->start && s->end - pc >= 2 && pc < s->end)
			return code->last = s;
	}
	return NULL;
}

static uint32_t opcode_at(const struct segment *s, uint64_t pc)
{
	const uint8_t *p = s->bytes + (pc - s->start);
	uint32_t op = p[0] | p[1] << 8;

	if (s->end - pc >= 4)
		op |= (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
	return op;
}

/* Return the instruction at @pc, or NULL if its code is missing. */
static const struct nb_insn *insn_at(struct code *code, uint64_t pc)
{
	struct segment *s = code->last;
	struct nb_insn *insn;

	if (!s || pc < s->start || pc >= s->end || s->end - pc < 2)
		s = find_segment(code, pc);
	if (!s || pc & 1)
		return NULL;
	insn = &s->insn[(pc - s->start) / 2];
	if (!insn->len)
		nb_insn_classify(opcode_at(s, pc), code->flags, insn);
	return insn;
}

static uint32_t opcode_of(struct code *code, uint64_t pc)
{
	struct segment *s = find_segment(code, pc);

	return s ? opcode_at(s, pc) : 0;
}

/*
 * Return the target of a sequentially inferable jump at @pc after a lui, c.lui or auipc at @before
 * ("Sequential Jump Optimization").
 */
static uint64_t constant_target(struct code *code, uint64_t before, uint64_t pc)
{
	uint32_t load = opcode_of(code, before), jump = opcode_of(code, pc);
	int64_t target;

	if ((load & 3) == 3)
		target = (int32_t)(load & 0xfffff000);
	else	/* c.lui has imm[17] and imm[16:12] */
		target = (int32_t)((load & 0x7c) << 10 | (load & 0x1000 ? 0xfffe0000U : 0));
	if ((load & 0x7f) == 0x17)
		target += before;
	if ((jump & 3) == 3)
		target += (int32_t)jump >> 20;
	target &= ~1LL;
	return code->flags & NB_INSN_RV32 ? (uint32_t)target : (uint64_t)target;
}

/* ---- Give blocks to the encoder ---- */

static void give_whole(struct encode *e, const struct nb_ingress *blk)
{
	e->time += blk->ninsn * e->step;
	nb_encoder_ingress(&e->enc, blk);
	if (e->truth)
		nb_truth_block(e->truth, blk, &e->enc.state);
}

static void give(struct encode *e, const struct nb_ingress *blk)
{
	struct nb_ingress one;
	uint32_t i;

	if (!(e->cfg.variant & NB_VARIANT_SPLIT) || blk->ninsn < 2) {
		give_whole(e, blk);
		return;
	}
	for (i = 0; i < blk->ninsn; i++) {
		nb_ingress_part(blk, i, &one);
		give_whole(e, &one);
	}
}

static void end_block(struct encode *e, enum nb_itype itype)
{
	struct nb_ingress *blk = &e->blk;
	struct segment *s;

	if (!blk->ninsn)
		return;
	blk->itype = itype;
	blk->wide = e->wide;
	s = find_segment(&e->code, blk->iaddr);
	blk->code = s->bytes + (blk->iaddr - s->start);
	if (e->truth) {
		blk->wide_hash = nb_code_hash(blk->code, 2 * blk->iretire);
	}
	give(e, blk);
	memset(e->wide, 0, (blk->ninsn + 63) / 64 * 8);
	blk->ninsn = 0;
	blk->iretire = 0;
	blk->sijump = false;
}

static void add_insn(struct encode *e, uint64_t pc, const struct nb_insn *insn)
{
	struct nb_ingress *blk = &e->blk;

	if (blk->ninsn == BLOCK_MAX)
		end_block(e, NB_ITYPE_NONE);
	if (!blk->ninsn)
		blk->iaddr = pc;
	if (insn->len > 1)
		e->wide[blk->ninsn / 64] |= 1ULL << blk->ninsn % 64;
	blk->ninsn++;
	blk->iretire += insn->len;
	blk->ilastsize = insn->len;
}

/*
 * Return the type of a trap at @pc. The list of PCs does not contain traps, so the caller assumes a trap if the code
 * does not lead to the next PC.
 */
static enum nb_itype trap_itype(struct encode *e, uint64_t pc)
{
	const struct nb_insn *insn;

	e->n_traps++;
	if (e->trap != TRAP_AUTO)
		return e->trap == TRAP_EXCEPTION ? NB_ITYPE_EXCEPTION : NB_ITYPE_INTERRUPT;
	insn = insn_at(&e->code, pc);
	return !insn || insn->kind == NB_INSN_ECALL ? NB_ITYPE_EXCEPTION : NB_ITYPE_INTERRUPT;
}

/* Report a trap at @pc without a retired instruction before it. */
static void give_trap(struct encode *e, uint64_t pc)
{
	struct nb_ingress blk = { .iaddr = pc, .priv = e->blk.priv };

	blk.itype = trap_itype(e, pc);
	give(e, &blk);
}

struct step {
	uint64_t		pc;
	const struct nb_insn	*insn;
};

static void after_indirect(struct encode *e, const struct step *prev, const struct step *cur,
			   uint64_t next)
{
	uint64_t target;

	e->blk.sijump = prev->insn && cur->insn->uses && prev->insn->sets == cur->insn->uses &&
			prev->pc + 2 * prev->insn->len == cur->pc;
	if (!e->blk.sijump) {
		end_block(e, cur->insn->itype);
		return;
	}
	target = constant_target(&e->code, prev->pc, cur->pc);
	end_block(e, cur->insn->itype);
	if (next != target)
		give_trap(e, target);
}

/* Process instruction @cur, which has retired. @next is the next PC. End the block if @cur ends a block. */
static void step(struct encode *e, const struct step *prev, const struct step *cur, uint64_t next)
{
	uint64_t fall = cur->pc + 2 * cur->insn->len;
	uint64_t target = cur->pc + (int64_t)cur->insn->offset;

	if (e->code.flags & NB_INSN_RV32) {
		fall = (uint32_t)fall;
		target = (uint32_t)target;
	}
	switch (cur->insn->kind) {
	case NB_INSN_BRANCH:
		if (next == fall && fall == target && e->cfg.variant & NB_VARIANT_BRANCH_NEXT && e->n_pcs & 1) {
			end_block(e, NB_ITYPE_TAKEN);
		} else if (next == fall) {
			end_block(e, NB_ITYPE_NOT_TAKEN);
		} else if (next == target) {
			end_block(e, NB_ITYPE_TAKEN);
		} else {
			end_block(e, NB_ITYPE_NOT_TAKEN);
			give_trap(e, fall);
		}
		break;
	case NB_INSN_DIRECT:
		end_block(e, cur->insn->itype);
		if (next != target)
			give_trap(e, target);
		break;
	case NB_INSN_INDIRECT:
		after_indirect(e, prev, cur, next);
		break;
	case NB_INSN_TABLE:
	case NB_INSN_XRET:
		end_block(e, cur->insn->itype);
		break;
	default:
		if (next != fall)
			end_block(e, trap_itype(e, fall));
		else if (e->cfg.variant & NB_VARIANT_WFI && opcode_of(&e->code, cur->pc) == WFI)
			end_block(e, NB_ITYPE_NONE);
	}
}

/* End the block after @cur, which is the last instruction of the list or the last one before a gap. */
static void last_step(struct encode *e, const struct step *cur)
{
	if (!cur->insn)
		return;
	if (cur->insn->kind == NB_INSN_BRANCH)
		end_block(e, NB_ITYPE_NOT_TAKEN);
	else if (cur->insn->kind == NB_INSN_LINEAR || cur->insn->kind == NB_INSN_ECALL)
		end_block(e, NB_ITYPE_NONE);
	else
		end_block(e, cur->insn->itype);
}

/* ---- Read the list of PCs, and encode it ---- */

static int hex_digit(int c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int skip_line(FILE *list, int c)
{
	while (c != EOF && c != '\n')
		c = getc_unlocked(list);
	return c;
}

enum item { ITEM_PC, ITEM_GAP, ITEM_END, ITEM_BAD };

/*
 * Parse the next item. A line is "0x1234", "-" (stop and restart the trace), "# comment" or empty.
 */
static enum item next_item(FILE *list, uint64_t *pc, uint64_t *line)
{
	int c, digit, digits = 0;

	for (;;) {
		c = getc_unlocked(list);
		if (c == EOF)
			return ITEM_END;
		++*line;
		if (c == '#')
			c = skip_line(list, c);
		else if (c != '\n')
			break;
	}
	if (c == '-') {
		skip_line(list, c);
		return ITEM_GAP;
	}
	if (c != '0' || (getc_unlocked(list) | 0x20) != 'x')
		return ITEM_BAD;
	*pc = 0;
	for (c = getc_unlocked(list); (digit = hex_digit(c)) >= 0; c = getc_unlocked(list)) {
		*pc = *pc << 4 | digit;
		digits++;
	}
	if (c == '\r')
		c = getc_unlocked(list);
	return digits && digits <= 16 && (c == '\n' || c == EOF) ? ITEM_PC : ITEM_BAD;
}

static void gap(struct encode *e)
{
	nb_encoder_stop(&e->enc, NB_EVCODE_DISABLED);
	nb_encoder_start(&e->enc, NB_SYNC_TRACE_ENABLE);
}

static int take_pc(struct encode *e, struct step *prev, struct step *cur, uint64_t pc)
{
	struct step next = { .pc = pc, .insn = insn_at(&e->code, pc) };

	if (!next.insn) {
		fprintf(stderr, "ntrace encode: %s:%llu: no code at 0x%llx\n", e->pcs,
			(unsigned long long)e->line, (unsigned long long)pc);
		return -1;
	}
	if (cur->insn)
		step(e, prev, cur, pc);
	add_insn(e, pc, next.insn);
	e->n_pcs++;
	*prev = *cur;
	*cur = next;
	return 0;
}

static int encode_list(struct encode *e, FILE *list)
{
	struct step prev = { 0 }, cur = { 0 };
	uint64_t pc = 0;

	for (;;) {
		switch (next_item(list, &pc, &e->line)) {
		case ITEM_PC:
			if (take_pc(e, &prev, &cur, pc))
				return EXIT_USAGE;
			break;
		case ITEM_GAP:
			last_step(e, &cur);
			gap(e);
			prev.insn = NULL;
			cur.insn = NULL;
			break;
		case ITEM_END:
			last_step(e, &cur);
			return EXIT_CLEAN;
		case ITEM_BAD:
			fprintf(stderr, "ntrace encode: %s:%llu: expected a PC (0x...) or a gap (-)\n",
				e->pcs, (unsigned long long)e->line);
			return EXIT_USAGE;
		}
	}
}

static bool write_message(void *opaque, const uint8_t *bytes, size_t len)
{
	struct encode *e = opaque;

	if (fwrite(bytes, 1, len, e->out_file) != len)
		e->failed = true;
	return true;
}

static uint64_t now(void *opaque)
{
	return ((struct encode *)opaque)->time;
}

static bool in_range(void *opaque, const struct nb_ingress *blk)
{
	const struct encode *e = opaque;

	return blk->iaddr >= e->only_start && blk->iaddr < e->only_end;
}

/* ---- The command "encode" ---- */

static void print_stats(const struct encode *e)
{
	const struct nb_encoder_stats *s = &e->enc.stats;
	uint64_t messages = 0;
	unsigned int i;

	for (i = 0; i < 64; i++)
		messages += s->messages[i];
	printf("%llu PCs, %llu traps, ", (unsigned long long)e->n_pcs,
	       (unsigned long long)e->n_traps);
	printf("%llu bytes, %llu messages, %.3f bits an instruction, %llu overflows\n",
	       (unsigned long long)s->bytes, (unsigned long long)messages,
	       e->n_pcs ? 8.0 * s->bytes / e->n_pcs : 0.0, (unsigned long long)s->overflows);
	for (i = 0; i < 64; i++)
		if (s->messages[i])
			printf("  TCODE %2u: %llu\n", i, (unsigned long long)s->messages[i]);
}

static int run(struct encode *e, FILE *list)
{
	int rc;

	e->cfg.xlen = e->code.flags & NB_INSN_RV32 ? 32 : 64;
	nb_encoder_init(&e->enc, &e->cfg, write_message, e);
	e->enc.now = now;
	e->enc.now_opaque = e;
	if (e->only_end) {
		e->enc.qualify = in_range;
		e->enc.qualify_opaque = e;
	}
	nb_encoder_context(&e->enc, e->scontext, 0);
	if (e->truth && e->cfg.context)
		nb_truth_context(e->truth, e->scontext, 0);
	nb_encoder_start(&e->enc, NB_SYNC_TRACE_ENABLE);
	rc = encode_list(e, list);
	nb_encoder_stop(&e->enc, NB_EVCODE_DISABLED);
	if (e->truth)
		nb_truth_state(e->truth, &e->enc.state);
	if (ferror(list)) {
		fprintf(stderr, "ntrace encode: '%s' cannot be read\n", e->pcs);
		rc = EXIT_USAGE;
	}
	return rc;
}

static int open_and_run(struct encode *e)
{
	FILE *list = strcmp(e->pcs, "-") ? fopen(e->pcs, "r") : stdin;
	struct whole_file whole, truth = { 0 };
	const char *path = NULL;
	int rc;

	if (!list) {
		fprintf(stderr, "ntrace encode: '%s': %s\n", e->pcs, strerror(errno));
		return EXIT_USAGE;
	}
	whole_file_input(fileno(list));
	if (e->truth_path)
		path = whole_file_begin(&truth, e->truth_path, 0666);
	e->truth = path ? nb_truth_create(path, 0) : NULL;
	e->out_file = e->truth_path && !e->truth ? NULL : whole_file_open(&whole, e->out);
	rc = e->out_file ? run(e, list) : output_failed(e->truth_path && !e->truth ? e->truth_path : e->out);
	if (nb_truth_close(e->truth) && rc == EXIT_CLEAN)
		rc = output_failed(e->truth_path);
	if (e->out_file && whole_file_close(&whole, e->out_file, !e->failed && rc == EXIT_CLEAN))
		rc = output_failed(e->out);
	if (whole_file_end(&truth, rc == EXIT_CLEAN))
		rc = output_failed(e->truth_path);
	if (list != stdin)
		fclose(list);
	return rc;
}

int cmd_encode(int argc, char **argv)
{
	struct encode *e = calloc(1, sizeof(*e));
	int rc;

	if (!e)
		return EXIT_USAGE;
	e->cfg.mode = NB_MODE_HTM;
	e->step = 1;
	rc = encode_parse(e, argc, argv);
	if (rc < 0) {
		rc = open_and_run(e);
		if (e->stats && rc == EXIT_CLEAN)
			print_stats(e);
	}
	code_free(&e->code);
	free(e);
	return rc;
}
