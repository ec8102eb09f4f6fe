// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script --insns and --disasm - print each instruction that retired. */
#include <inttypes.h>

#include "disasm.h"
#include "script.h"

static void add_text(struct script_part *p, uint64_t addr, const uint8_t *code, unsigned int n)
{
	char text[128];

	if (disasm(addr, code, n, text, sizeof(text)))
		lines_add(&p->lines, p->script->json ? ", \"text\": \"%s\"" : "  %s", text);
}

static void add_code(struct script_part *p, const uint8_t *code, unsigned int n)
{
	char text[16];
	unsigned int i, at = 0;

	/* print the instruction as one hexadecimal number, with its bytes reversed because it is little-endian */
	for (i = n; i-- > 0;) {
		text[at++] = "0123456789abcdef"[code[i] >> 4];
		text[at++] = "0123456789abcdef"[code[i] & 15];
	}
	lines_add_bytes(&p->lines, text, at);
}

static void add_place(struct script_part *p, const struct nt_who *who, uint64_t addr)
{
	const struct script_place *at = script_place(p, SCRIPT_FROM, who, addr);
	char *to = lines_room(&p->lines, SCRIPT_PLACE_SIZE + at->symbol_len + at->object_len);

	if (to)
		lines_done(&p->lines, script_put_place(p, to, SCRIPT_FROM, at, addr));
}

static int print_insn(struct script_part *p, const struct nt_who *who, uint64_t time,
		      uint64_t addr, const uint8_t *code, unsigned int n)
{
	if (script_line(p, who, time))
		return -1;
	if (p->script->json) {
		script_json_who(p, who, time);
		script_json_place(p, "at", SCRIPT_FROM, who, addr);
		lines_add(&p->lines, ", \"code\": \"");
		add_code(p, code, n);
		lines_add(&p->lines, "\"");
	} else {
		script_add_who(p, who, time);
		add_place(p, who, addr);
		lines_add_text(&p->lines, "  ");
		add_code(p, code, n);
	}
	if (p->script->disasm)
		add_text(p, addr, code, n);
	lines_add_text(&p->lines, p->script->json ? "}\n" : "\n");
	return lines_end(&p->lines, time);
}

/*
 * Print the instructions of a range. Read the code of the range in parts; the decoder has read the
 * same code before, so that it is available.
 */
static int print_range(struct script_part *p, const struct nt_who *who, uint64_t time,
		       const struct nt_range *range)
{
	uint64_t addr = range->start, end = addr + 2 * range->halfwords;
	struct script *script = p->script;
	uint8_t code[512];
	unsigned int n;
	size_t at = 0, got = 0;
	int err = 0;

	if (!nt_filter_passes(&script->filter, time, who->cpu, who->tid) ||
	    !nt_filter_has_code(&script->filter, nt_who_space(who, addr), addr))
		return 0;
	while (!err && addr < end) {
		if (got - at < 8 && addr + (got - at) < end) {
			got = end - addr < sizeof(code) ? end - addr : sizeof(code);
			got = nt_who_read(who, addr, code, got);
			at = 0;
		}
		if (got - at < 2)
			break;
		n = nt_code_length(code[at]);
		if (n > got - at)
			break;
		err = print_insn(p, who, time, addr, code + at, n);
		addr += n;
		at += n;
	}
	return err;
}

static int print_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct nt_range_clock clock;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < batch->nr; i++)
		err = print_range(part, who, nt_range_time(&clock, who, batch, i), &batch->ranges[i]);
	return err;
}

static int print_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	switch (item->type) {
	case NT_ITEM_LOST:
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
		return script_error(part, who, item);
	}
	return 0;
}

/* ---- Inside calls of a function ---- */

/*
 * Print the instructions from @addr up to a branch. They have consecutive addresses, because no
 * instruction jumps before the branch.
 */
static int print_until(struct script_part *p, const struct nt_who *who,
		       const struct nt_branch *branch, uint64_t addr)
{
	uint64_t left = branch->insns;
	uint8_t code[8];
	unsigned int n;
	int err = 0;

	for (; !err && left; left--, addr += n) {
		if (nt_who_read(who, addr, code, sizeof(code)) < 2)
			break;
		n = nt_code_length(code[0]);
		if (nt_who_read(who, addr, code, n) < n)
			break;
		err = print_insn(p, who, branch->time, addr, code, n);
	}
	return err;
}

static int print_inside(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	struct script_part *p = part;
	const struct nt_filter *filter = &p->script->filter;
	bool before, after;
	int err = 0;

	if (script_inside(p, who, branch, &before, &after))
		return -1;
	if (before && p->at && nt_filter_passes(filter, branch->time, who->cpu, who->tid) &&
	    nt_filter_has_code(filter, nt_who_space(who, p->at), p->at))
		err = print_until(p, who, branch, p->at);
	p->at = branch->flags & NT_BRANCH_END ? 0 : branch->to;
	return err;
}

int script_insns_inside(struct script *script)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = script_begin, .branch = print_inside,
		.error = script_error, .end = script_end,
	};

	return nt_session_branches(script->session, &sink, script);
}

/* ---- All ---- */

int script_insns(struct script *script)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = script_begin, .ranges = print_ranges,
		.item = print_item, .end = script_end, .windows = &script->filter.time,
		.nr_windows = script->filter.time.to ? 1 : 0,
	};

	return nt_session_decode(script->session, &consumer, script);
}
