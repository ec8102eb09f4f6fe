// SPDX-License-Identifier: GPL-2.0-only
/* The options of ntrace encode. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encode.h"
#include "ntrace.h"
#include "cli/option.h"

static bool takes(const struct option_entry *option, const char *arg)
{
	fprintf(stderr, "ntrace encode: --%s expects %s, not '%s'\n", option->name, option->arg, arg);
	return false;
}

static bool number(const struct option_entry *option, const char *arg, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(arg, &end, 0);
	if (!errno && end != arg && !*end && *value <= max && *arg != '-')
		return true;
	return takes(option, arg);
}

static bool set_number(const struct option_entry *option, const char *arg)
{
	return number(option, arg, UINT32_MAX, option->to);
}

/* Set an integer field of the configuration. option->value is the largest number of the field's type. */
static bool set_field(const struct option_entry *option, const char *arg)
{
	uint64_t value;

	if (!number(option, arg, option->value, &value))
		return false;
	if (option->value == UINT8_MAX)
		*(uint8_t *)option->to = value;
	else if (option->value == UINT16_MAX)
		*(uint16_t *)option->to = value;
	else
		*(uint32_t *)option->to = value;
	return true;
}

static bool set_bits(const struct option_entry *option, const char *arg)
{
	*(unsigned int *)option->to |= option->value;
	return true;
}

static bool set_range(const struct option_entry *option, const char *arg)
{
	struct encode *e = option->to;
	const char *second;
	char *end;

	e->only_start = strtoull(arg, &end, 0);
	if (end != arg && *end == '-') {
		second = end + 1;
		e->only_end = strtoull(second, &end, 0);
		if (end != second && !*end && e->only_start < e->only_end)
			return true;
	}
	return takes(option, arg);
}

/*
 * Return the index of @arg in the names of option->arg, such as "a|b|c". If @arg is not one of the names,
 * print a message and return -1.
 */
static int choice(const struct option_entry *option, const char *arg)
{
	const char *name = option->arg;
	size_t length;
	int i;

	for (i = 0; *name; i++, name += length + (name[length] == '|')) {
		length = strcspn(name, "|");
		if (strlen(arg) == length && !strncmp(arg, name, length))
			return i;
	}
	takes(option, arg);
	return -1;
}

static bool set_mode(const struct option_entry *option, const char *arg)
{
	int mode = choice(option, arg);

	*(uint8_t *)option->to = mode ? NB_MODE_HTM : NB_MODE_BTM;
	return mode >= 0;
}

static bool set_dialect(const struct option_entry *option, const char *arg)
{
	*(const struct nb_dialect **)option->to = &nb_dialect_sifive0;
	return choice(option, arg) >= 0;
}

static bool set_privilege(const struct option_entry *option, const char *arg)
{
	static const uint8_t levels[] = { 0, 1, 3 };
	int level = choice(option, arg);

	if (level >= 0)
		((struct encode *)option->to)->blk.priv = levels[level];
	return level >= 0;
}

static bool set_trap(const struct option_entry *option, const char *arg)
{
	int trap = choice(option, arg);

	*(enum trap_kind *)option->to = trap;
	return trap >= 0;
}

static bool set_implicit_return(const struct option_entry *option, const char *arg)
{
	uint8_t *mode = option->to;

	*mode = *mode ?: 3;
	return true;
}

static bool set_context(const struct option_entry *option, const char *arg)
{
	struct encode *e = option->to;

	e->cfg.context = true;
	return number(option, arg, UINT32_MAX, &e->scontext);
}

static bool add_variant(const struct option_entry *option, const char *name)
{
#define X(id, name, text) "  " name ": " text "\n"
	static const char variants[] = NB_VARIANTS(X), deviations[] = NB_DEVIATIONS(X);
#undef X
	uint64_t bit = nb_variant_find(name);

	*(uint64_t *)option->to |= bit;
	if (bit)
		return true;
	fprintf(stderr, "ntrace encode: unknown variant '%s'. Variants are:\n%sand these deviate from the specification:\n%s",
		name, variants, deviations);
	return false;
}

static bool add_code(const struct option_entry *option, const char *arg)
{
	return !encode_add_code(option->to, arg);
}

int encode_parse(struct encode *e, int argc, char **argv)
{
#define FIELD(name, arg, field, help)	\
	{ 0, name, arg, set_field, &e->cfg.field, (1ULL << 8 * sizeof(e->cfg.field)) - 1, help }
	const struct option_entry options[] = {
		OPTION_CALL(0, "elf", "FILE[@BASE]", add_code, &e->code, "code, loaded at BASE; may be repeated"),
		OPTION_TEXT(0, "pcs", "LIST", &e->pcs, "retired PCs, one 0x... in a line; '-' is a gap"),
		OPTION_TEXT('o', "output", "FILE", &e->out, "the trace"),
		OPTION_CALL(0, "mode", "btm|htm", set_mode, &e->cfg.mode, "trTeInstMode (htm)"),
		FIELD("src-bits", "N", src_bits, "width of SRC (0)"),
		FIELD("src", "ID", src_id, "SRC"),
		OPTION_FLAG(0, "timestamp", &e->cfg.timestamp, "TSTAMP counts instructions"),
		OPTION_CALL(0, "timestamp-step", "N", set_number, &e->step, "... by N for each"),
		OPTION_CALL(0, "context", "SCONTEXT", set_context, e, "Ownership messages with this context"),
		OPTION_CALL(0, "priv", "u|s|m", set_privilege, e, "privilege of all code (u)"),
		OPTION_CALL(0, "only", "START-END", set_range, e, "trace only these addresses"),
		FIELD("sync-mode", "0..3", sync_mode, "sync after messages, cycles or half-words"),
		FIELD("sync-max", "0..15", sync_max, "... after 2^(N+4) of them"),
		OPTION_FLAG(0, "sync-delayed", &e->cfg.sync_delayed, "... with a branch message"),
		OPTION_CALL(0, "implicit-return", NULL, set_implicit_return, &e->cfg.implicit_return,
			    "trTeInstEnImplicitReturn"),
		FIELD("return-mode", "1..3", implicit_return, "mode of implicit return (3)"),
		FIELD("return-depth", "1..32", stack_depth, "return stack (32)"),
		OPTION_FLAG(0, "sequential-jump", &e->cfg.sequential_jump, "trTeInstEnSequentialJump"),
		OPTION_FLAG(0, "repeated-history", &e->cfg.repeated_history, "RCODE=2 (HTM)"),
		OPTION_FLAG(0, "repeat-branch", &e->cfg.repeat_branch, "RepeatBranch (BTM)"),
		OPTION_FLAG(0, "all-jumps", &e->cfg.all_jumps, "trTeInstEnAllJumps"),
		OPTION_FLAG(0, "extend-addr", &e->cfg.extend_addr, "trTeInstExtendAddrMSB"),
		OPTION_FLAG(0, "btype-extended", &e->cfg.btype_extended, "B-TYPE 2 and 3"),
		OPTION_FLAG(0, "hist-always", &e->cfg.hist_always, "also send an empty HIST (HTM)"),
		OPTION_FLAG(0, "icnt-sync", &e->cfg.icnt_sync, "SYNC=4 (BTM)"),
		FIELD("icnt-bits", "4..22", icnt_bits, "width of I-CNT (22)"),
		FIELD("hist-bits", "2..32", hist_bits, "width of HIST (32)"),
		FIELD("fifo-depth", "BYTES", fifo_depth, "FIFO before the sink"),
		FIELD("fifo-rate", "BYTES", fifo_rate, "... of which this much drains in 256 instructions"),
		OPTION_FLAG(0, "stall", &e->cfg.stall, "trTeInstStallEna, stall instead of losing trace"),
		OPTION_CALL(0, "dialect", "sifive", set_dialect, &e->cfg.dialect, "messages of SiFive encoders of version 0"),
		OPTION_FLAG(0, "runs", &e->cfg.runs, "... with RCODE 8 and 9"),
		OPTION_CALL(0, "variant", "NAME", add_variant, &e->cfg.variant,
			    "a variant that encoders may have; may be repeated"),
		FIELD("seed", "N", seed, "... seed for random choices (0)"),
		OPTION_CALL(0, "trap", "auto|exception|interrupt", set_trap, &e->trap, "cause of an unexpected jump"),
		OPTION_KIND("zcmp", NULL, set_bits, &e->code.flags, NB_INSN_ZCMP, "the code has Zcmp (no Zcd)"),
		OPTION_KIND("zcmt", NULL, set_bits, &e->code.flags, NB_INSN_ZCMT, "the code has Zcmt (no Zcd)"),
		OPTION_TEXT(0, "truth", "FILE", &e->truth_path, "also write a truth file, as hart 0"),
		OPTION_FLAG(0, "stats", &e->stats, "print counts of the trace"),
		{ 0 }
	};
#undef FIELD
	int status = options_parse(argc, argv, "", "usage: ntrace encode --elf ELF --pcs LIST -o FILE [OPTIONS]\n", options);

	if (status >= 0)
		return status;
	if (optind == argc && e->code.n_segments && e->pcs && e->out)
		return -1;
	fputs("ntrace encode: give --elf, --pcs and -o, and no other arguments\n", stderr);
	return EXIT_USAGE;
}
