// SPDX-License-Identifier: GPL-2.0-only
/* ntrace decode - convert messages to the executed code. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw/deframer.h"
#include "raw/detect.h"
#include "raw/elf-image.h"
#include "raw/missing.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "raw/pcs.h"

static const char usage[] =
	"usage: ntrace decode [OPTIONS] --elf ELF [--elf ELF ...] FILE\n\n"
	"Decode FILE (- is the standard input) with the code of these files. Exits 1 if\n"
	"the trace has errors, or code is missing; both are printed to the standard error.\n";

enum output { OUT_NONE, OUT_RANGES, OUT_BRANCHES, OUT_PCS, OUT_STATS };

struct decode {
	struct options	options;
	enum output	output;
	struct nt_image	*image;
	struct elf_files elfs;
	bool		rv32;		/* an ELF file is for RV32 */
	unsigned int	nr_files;	/* number of files with code */
	const char	*elf;		/* the last argument of --elf */
	bool		detect;
	struct pcs	*pcs;
	uint64_t	problems;	/* number of errors, losses and gaps */
	bool		found;		/* the decoder (struct nt_flow) has returned at least one item */
	uint64_t	before_sync;	/* messages skipped before syncs, the sum that SYNC items report */
	uint64_t	ranges;
	uint64_t	insns;
	unsigned int	id;		/* ID of the current stream */
	/* decoders; with --frames, one for each trace ID (the index); otherwise only one, for the file */
	struct nt_flow	*flows[NT_FRAMES_IDS];
	uint64_t	hinted;		/* bit N is set if the hint for error code -N was already printed */
	struct missing	missing;	/* addresses without code */
};

static bool add_elf(const struct option_entry *option, const char *arg)
{
	struct decode *decode = option->to;
	unsigned int xlen = 64;

	if (!elf_image_add_arg(&decode->elfs, decode->image, arg, &xlen))
		return false;
	if (xlen == 32)
		decode->options.config.xlen = 32;
	decode->nr_files++;
	decode->elf = arg;
	return true;
}

static bool add_binary(const struct option_entry *option, const char *arg)
{
	struct decode *decode = option->to;

	decode->nr_files++;
	return elf_image_add_binary(&decode->elfs, decode->image, arg);
}

/* Print the trace ID of the current stream, if several streams are decoded. */
static void print_id(const struct decode *decode, FILE *file)
{
	if (decode->options.frames && decode->options.frame_id == DEFRAMER_ANY)
		fprintf(file, "{%u} ", decode->id);
}

/* Return true if the item reports that only a part of the trace is decoded. */
static bool is_problem(struct decode *decode, const struct nt_item *item)
{
	if (item->type == NT_ITEM_SYNC)
		decode->before_sync += item->sync.lost_messages;
	return item->type == NT_ITEM_ERROR || item->type == NT_ITEM_GAP ||
	       item->type == NT_ITEM_LOST;
}

static void print_hint(struct decode *decode, int code)
{
	if (-code > 63 || decode->hinted >> -code & 1)
		return;
	decode->hinted |= 1ULL << -code;
	if (*nt_error_hint(code))
		fprintf(stderr, "ntrace: hint: %s\n", nt_error_hint(code));
}

static void print_problem(struct decode *decode, const struct nt_item *item)
{
	char desc[256];

	decode->problems++;
	if (item->type == NT_ITEM_GAP && item->gap.code == NT_E_NO_CODE &&
	    item->gap.has_addr && !missing_add(&decode->missing, item->gap.addr))
		return;
	nt_item_desc(item, desc, sizeof(desc));
	fprintf(stderr, "ntrace: ");
	print_id(decode, stderr);
	fprintf(stderr, "%s\n", desc);
	if (item->type == NT_ITEM_ERROR)
		print_hint(decode, item->error.code);
	if (item->type == NT_ITEM_GAP)
		print_hint(decode, item->gap.code);
}

static void print_prefix(const struct decode *decode, const struct nt_item *item)
{
	print_id(decode, stdout);
	if (decode->options.config.src_bits)
		printf("[%u] ", item->src);
	if (decode->options.config.timestamp && item->tstamp_kind)
		printf("%c%" PRIu64 " ", item->tstamp_kind == NT_TSTAMP_EXACT ? '=' : '>',
		       item->tstamp);
}

static void print_branch(const struct decode *decode, const struct nt_item *item)
{
	if (item->range.how == NT_END_LINEAR)
		return;
	print_prefix(decode, item);
	printf("0x%" PRIx64 " %s", item->range.how >= NT_END_TRAP ? item->range.end_addr :
	       item->range.last_addr, nt_end_name(item->range.how));
	if (item->range.how == NT_END_BRANCH && !item->range.taken)
		printf(" not taken\n");
	else if (item->range.has_dest)
		printf(" -> 0x%" PRIx64 "\n", item->range.dest);
	else
		printf(" -> ?\n");
}

static void print_item(struct decode *decode, const struct nt_item *item)
{
	char desc[256];

	decode->found = true;
	if (item->type == NT_ITEM_RANGE) {
		decode->ranges++;
		decode->insns += item->range.insns;
	}
	if (is_problem(decode, item)) {
		fflush(stdout);
		print_problem(decode, item);
	}
	if (decode->output == OUT_BRANCHES && item->type == NT_ITEM_RANGE) {
		print_branch(decode, item);
		return;
	}
	print_prefix(decode, item);
	nt_item_desc(item, desc, sizeof(desc));
	puts(desc);
}

/* Take many ranges at once. This is possible if the output does not contain single items. */
static void take_batch(struct decode *decode, const struct nt_batch *batch)
{
	size_t i;

	decode->found = true;
	if (!batch->nr) {
		if (is_problem(decode, &batch->item))
			print_problem(decode, &batch->item);
		return;
	}
	decode->ranges += batch->nr;
	for (i = 0; i < batch->nr; i++)
		decode->insns += batch->ranges[i].insns;
	if (decode->output == OUT_PCS)
		pcs_print(decode->pcs, batch->ranges, batch->nr);
}

static bool drain(struct decode *decode, unsigned int id)
{
	struct nt_flow *flow = decode->flows[id];
	struct nt_batch batch;
	struct nt_item item;
	int ret;

	decode->id = id;
	if (decode->output == OUT_PCS || decode->output == OUT_STATS) {
		while ((ret = nt_flow_next_batch(flow, &batch)) > 0)
			take_batch(decode, &batch);
	} else {
		while ((ret = nt_flow_next(flow, &item)) > 0)
			print_item(decode, &item);
	}
	return !ret || refuse("%s", nt_error_text(ret));
}

static bool begin(void *ctx, unsigned int id, uint64_t offset, bool middle)
{
	struct decode *decode = ctx;

	if (!decode->nr_files)
		return refuse("decode needs the code: --elf ELF");
	if (!decode->flows[id])
		decode->flows[id] = nt_flow_new(&decode->options.config, decode->image);
	if (!decode->flows[id])
		return refuse("out of memory");
	if (middle)
		nt_flow_restart(decode->flows[id], offset, true);
	return true;
}

static bool decode_bytes(void *ctx, unsigned int id, const uint8_t *data, size_t size)
{
	struct decode *decode = ctx;

	nt_flow_feed(decode->flows[id], data, size);
	return drain(decode, id);
}

static bool end(void *ctx, unsigned int id)
{
	struct decode *decode = ctx;

	nt_flow_end(decode->flows[id]);
	return drain(decode, id);
}

/* Add up the counts of all streams. Each field of struct nt_stats is a number of the same type. */
static void add_up(const struct decode *decode, struct nt_stats *sum)
{
	uint64_t *to = (uint64_t *)sum;
	unsigned int id;
	size_t i;

	memset(sum, 0, sizeof(*sum));
	for (id = 0; id < NT_FRAMES_IDS; id++) {
		struct nt_stats stats;

		if (!decode->flows[id])
			continue;
		nt_flow_stats(decode->flows[id], &stats, sizeof(stats));
		for (i = 0; i < sizeof(stats) / sizeof(*to); i++)
			to[i] += ((const uint64_t *)&stats)[i];
	}
}

static void print_stats(const struct decode *decode)
{
	struct nt_stats stats;
	unsigned int i;

	add_up(decode, &stats);
	printf("bytes            %12" PRIu64 "\n", stats.bytes);
	printf("messages         %12" PRIu64 "\n", stats.messages);
	for (i = 0; i < 64; i++) {
		if (stats.by_tcode[i])
			printf("  %2u %-23s %10" PRIu64 "\n", i,
			       nt_dialect_tcode_name(decode->options.config.dialect, i),
			       stats.by_tcode[i]);
	}
	printf("ranges           %12" PRIu64 "\n", decode->ranges);
	printf("instructions     %12" PRIu64 "\n", decode->insns);
	if (decode->insns)
		printf("bits/instruction %12.3f\n", 8.0 * stats.bytes / decode->insns);
	printf("syncs            %12" PRIu64 "\n", stats.syncs);
	printf("restarts         %12" PRIu64 "\n", stats.restarts);
	printf("errors           %12" PRIu64 "\n", stats.errors);
	printf("gaps in the code %12" PRIu64 "\n", stats.gaps);
	printf("messages lost    %12" PRIu64 "\n", stats.lost_messages);
	printf("bytes lost       %12" PRIu64 "\n", stats.lost_bytes);
	printf("messages skipped %12" PRIu64 "\n", stats.skipped);
	for (i = 0; i < NT_DEV_MAX; i++) {
		if (stats.deviations[i])
			printf("  %-26s %10" PRIu64 "\n", nt_deviation_name(i), stats.deviations[i]);
	}
}

/* List how the encoder deviates from the specification. */
static void print_deviations(const struct nt_stats *stats)
{
	unsigned int i;

	for (i = 0; i < NT_DEV_MAX; i++) {
		if (stats->deviations[i])
			fprintf(stderr, "ntrace: deviation %s: %s, %" PRIu64 " time%s; chapter %s of N-Trace 1.0\n",
				nt_deviation_name(i), nt_deviation_text(i), stats->deviations[i],
				stats->deviations[i] == 1 ? "" : "s", nt_deviation_chapter(i));
	}
}

/*
 * Report skipped vendor messages, because these messages may change the PC. If the encoder is not known, the
 * decoder notices the change of the PC only by later errors.
 */
static void print_skipped(const struct decode *decode, const struct nt_stats *stats)
{
	uint64_t vendor = 0;
	unsigned int i;

	for (i = NT_TCODE_VENDOR_FIRST; i <= NT_TCODE_VENDOR_LAST; i++)
		vendor += stats->by_tcode[i];
	vendor += stats->by_tcode[NT_TCODE_REPEAT_INSN] + stats->by_tcode[NT_TCODE_REPEAT_INSN_SYNC];
	if (stats->skipped)
		fprintf(stderr, "ntrace: skipped messages of reserved types or of a vendor: %" PRIu64 "\n",
			stats->skipped);
	if (vendor && !decode->options.config.dialect)
		fprintf(stderr, "ntrace: if these messages change the PC, instructions are missing; --encoder NAME decodes those of a known encoder\n");
}

/*
 * Report messages that were not decoded because no message with SYNC of their source follows. Leave out messages
 * that were already reported by an item of the decoder. Return false if messages were reported.
 */
static bool are_all_decoded(const struct decode *decode)
{
	struct nt_stats stats;

	add_up(decode, &stats);
	print_skipped(decode, &stats);
	print_deviations(&stats);
	if (decode->problems || stats.lost_messages <= decode->before_sync)
		return true;
	return refuse("messages that were not decoded, because no message with SYNC of their source follows: %" PRIu64 "",
		      stats.lost_messages - decode->before_sync);
}

static int decode_input(struct decode *decode, const char *path)
{
	static const struct input_streams streams = { begin, decode_bytes, end };
	unsigned int id;
	int status;

	if (decode->output == OUT_PCS)
		decode->pcs = pcs_new(&decode->options.config, decode->image);
	status = input_each(path, &decode->options, &streams, decode);
	if (status != EXIT_USAGE) {
		if (!are_all_decoded(decode) || decode->problems)
			status = EXIT_TRACE;
		if (decode->output == OUT_STATS)
			print_stats(decode);
	}
	if (decode->pcs && !pcs_free(decode->pcs))
		status = EXIT_TRACE;
	missing_report(&decode->missing);
	for (id = 0; id < NT_FRAMES_IDS; id++)
		nt_flow_free(decode->flows[id]);
	return status;
}

static int run(struct decode *decode, const char *path)
{
	struct detected found;
	int status;

	if (decode->detect && decode->options.recording)
		return usage_error("--detect is for raw trace: a recording contains the settings of the encoder");
	if (decode->detect && decode->nr_files) {
		if (!detect(&decode->options, decode->image, path, &found))
			return EXIT_USAGE;
		detect_print(&decode->options, &found, "ntrace decode", decode->elf ?: "ELF", path, stderr);
	}
	if (!options_fit(&decode->options))
		return EXIT_USAGE;
	status = decode_input(decode, path);
	if (status == EXIT_CLEAN && !decode->found)
		status = nothing_of_source(&decode->options, path);
	return status;
}

static bool set_output(const struct option_entry *option, const char *arg)
{
	enum output *output = option->to;

	if (*output && *output != option->value)
		return refuse("--ranges, --branches, --pcs and --stats exclude each other");
	*output = option->value;
	return true;
}

static int parse_and_run(struct decode *decode, int argc, char **argv)
{
	const struct option_entry options[] = {
		OPTION_CALL(0, "elf", "ELF[@OFFSET]", add_elf, decode, "code, loaded OFFSET bytes above its addresses"),
		OPTION_CALL(0, "binary", "FILE@ADDRESS", add_binary, decode,
			    "code that is not in an ELF file: a page of memory, firmware"),
		OPTION_KIND("ranges", NULL, set_output, &decode->output, OUT_RANGES,
			    "one line for each range of instructions (default)"),
		OPTION_KIND("branches", NULL, set_output, &decode->output, OUT_BRANCHES,
			    "one line for each branch, jump and trap"),
		OPTION_KIND("pcs", NULL, set_output, &decode->output, OUT_PCS, "one line for each instruction"),
		OPTION_FLAG(0, "detect", &decode->detect,
			    "find the options of the encoder, print the command with them, and decode"),
		OPTION_KIND("stats", NULL, set_output, &decode->output, OUT_STATS, "only count"),
		COMMON_OPTIONS(&decode->options), CPU_OPTION(&decode->options), { 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (!decode->output)
		decode->output = OUT_RANGES;
	if (!options_are_before_one_file(argv[0], argc, argv))
		return EXIT_USAGE;
	status = options_take_recording(&decode->options, argv[optind]);
	if (status == EXIT_CLEAN)
		status = run(decode, argv[optind]);
	options_end(&decode->options);
	return status;
}

int cmd_decode(int argc, char **argv)
{
	struct decode decode = { 0 };
	int status;

	options_init(&decode.options);
	decode.image = nt_image_new();
	if (!decode.image)
		return EXIT_USAGE;
	status = parse_and_run(&decode, argc, argv);
	nt_image_free(decode.image);
	elf_files_close(&decode.elfs);
	return status;
}
