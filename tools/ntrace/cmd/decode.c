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
#include "raw/print-counts.h"

static const char usage[] =
	"usage: ntrace decode [OPTIONS] --elf ELF [--elf ELF ...] FILE\n\n"
	"Decode FILE (- is the standard input) with the code of these files. Exits 1 if\n"
	"the trace has errors, or code is missing; both are printed to the standard error.\n";

enum output { OUT_NONE, OUT_RANGES, OUT_BRANCHES, OUT_PCS, OUT_STATS, OUT_COUNTS };

/* Stream of a trace ID with --frames, or of the whole file */
struct stream {
	struct nt_flow	*flow;		/* NULL: no bytes so far */
	uint64_t	offset;		/* offset of the next byte */
	unsigned int	breaks;
};

struct decode {
	struct options	options;
	enum output	output;
	struct nt_image	*image;
	struct elf_files elfs;
	uint64_t	load_offset;
	bool		rv32;		/* an ELF file is for RV32 */
	unsigned int	nr_files;	/* number of files with code */
	const char	*elf;		/* the last argument of --elf */
	bool		detect;
	struct pcs	*pcs;
	uint64_t	problems;	/* number of errors, losses and gaps */
	bool		found;		/* the flow had an item */
	uint64_t	before_sync;	/* messages that were not decoded, according to a later SYNC item */
	uint64_t	ranges;
	uint64_t	insns;
	unsigned int	id;		/* ID of the current stream */
	struct input	*input;
	struct stream	streams[NT_FRAMES_IDS];
	uint64_t	hinted;		/* bit mask of -code, set when the hint of an error was printed */
	struct missing	*missing;	/* addresses without code */
};

static bool add_elf(const struct option_entry *option, const char *arg)
{
	struct decode *decode = option->to;
	unsigned int xlen = 64;

	if (!elf_image_add_arg(&decode->elfs, decode->image, arg, decode->load_offset, &xlen))
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

/* Print the trace ID of the stream, if several are decoded. */
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
	    item->gap.has_addr && !missing_add(decode->missing, item->gap.addr))
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

/* Take many ranges at once, if single items are not printed */
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

/* Count ranges, and print the other items. */
static int count_flow(struct decode *decode, struct nt_flow *flow)
{
	struct nt_item item;
	int ret;

	while ((ret = nt_flow_count(flow, &item)) > 0) {
		decode->found = true;
		if (is_problem(decode, &item))
			print_problem(decode, &item);
	}
	return ret;
}

static int drain(struct decode *decode, struct nt_flow *flow)
{
	struct nt_batch batch;
	struct nt_item item;
	int ret;

	if (decode->output == OUT_COUNTS) {
		ret = count_flow(decode, flow);
	} else if (decode->output == OUT_PCS || decode->output == OUT_STATS) {
		while ((ret = nt_flow_next_batch(flow, &batch)) > 0)
			take_batch(decode, &batch);
	} else {
		while ((ret = nt_flow_next(flow, &item)) > 0)
			print_item(decode, &item);
	}
	if (ret < 0)
		fprintf(stderr, "ntrace: %s\n", nt_error_text(ret));
	return ret;
}

/* End a stream, or interrupt it. */
static int end_stream(struct decode *decode, unsigned int id)
{
	struct stream *stream = &decode->streams[id];

	decode->id = id;
	if (!stream->flow)
		return 0;
	nt_flow_end(stream->flow);
	return drain(decode, stream->flow);
}

/* Return the flow of @id at the position of its next bytes, or NULL if out of memory. */
static struct nt_flow *get_flow(struct decode *decode, unsigned int id)
{
	struct stream *stream = &decode->streams[id];
	unsigned int breaks = input_breaks(decode->input);

	if (!stream->flow) {
		stream->flow = nt_flow_new(&decode->options.config, decode->image);
		if (stream->flow && (decode->options.middle || breaks))
			nt_flow_restart(stream->flow, 0, true);
	} else if (stream->breaks != breaks) {
		if (end_stream(decode, id))
			return NULL;
		nt_flow_restart(stream->flow, stream->offset, true);
	}
	stream->breaks = breaks;
	return stream->flow;
}

static int decode_all(struct decode *decode)
{
	const uint8_t *data;
	unsigned int id;
	int ret = 0;
	long n;

	while ((n = input_read(decode->input, &data)) > 0) {
		struct nt_flow *flow;

		id = input_id(decode->input);
		flow = get_flow(decode, id);
		if (!flow)
			return EXIT_USAGE;
		decode->id = id;
		nt_flow_feed(flow, data, n);
		decode->streams[id].offset += n;
		if (drain(decode, flow))
			return EXIT_USAGE;
	}
	for (id = 0; id < NT_FRAMES_IDS; id++)
		ret |= end_stream(decode, id);
	if (ret || n < 0)
		return EXIT_USAGE;
	return decode->problems || input_has_errors(decode->input) ? EXIT_TRACE : EXIT_CLEAN;
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

		if (!decode->streams[id].flow)
			continue;
		nt_flow_stats(decode->streams[id].flow, &stats, sizeof(stats));
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

/*
 * Print the sums of the counts of all streams. Return false if out of memory, which was reported.
 */
static bool print_all_counts(const struct decode *decode)
{
	struct nt_counts *counts = nt_counts_new();
	bool ok = counts;
	unsigned int id;

	for (id = 0; ok && id < NT_FRAMES_IDS; id++) {
		if (decode->streams[id].flow)
			ok = !nt_counts_take(counts, decode->streams[id].flow);
	}
	ok = ok && print_counts(counts);
	if (!ok)
		fprintf(stderr, "ntrace: out of memory\n");
	nt_counts_free(counts);
	return ok;
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
 * Report skipped vendor messages, which may move the PC. If the encoder is not known, only errors
 * show that they do.
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
 * Report messages of a source that were not decoded, unless an item reported them. Return false if
 * there are any.
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

static int decode_input(struct decode *decode)
{
	unsigned int id;
	int status;

	if (decode->output == OUT_PCS)
		decode->pcs = pcs_new(&decode->options.config, decode->image);
	status = decode_all(decode);
	if (!are_all_decoded(decode))
		status = EXIT_TRACE;
	if (decode->output == OUT_STATS)
		print_stats(decode);
	if (decode->output == OUT_COUNTS && !print_all_counts(decode))
		status = EXIT_TRACE;
	if (decode->pcs && !pcs_free(decode->pcs))
		status = EXIT_TRACE;
	missing_report(decode->missing);
	for (id = 0; id < NT_FRAMES_IDS; id++)
		nt_flow_free(decode->streams[id].flow);
	return status;
}

static int run(struct decode *decode, const char *path)
{
	int status = EXIT_USAGE;
	struct detected found;

	if (decode->detect && !decode->options.recording) {
		if (!detect(&decode->options, decode->image, path, &found))
			return EXIT_USAGE;
		detect_print(&decode->options, &found, "ntrace decode", decode->elf ?: "ELF", path, stderr);
	}
	if (nt_config_check(&decode->options.config))
		return usage_error("these options contradict each other");
	decode->input = input_open(path, &decode->options);
	if (!decode->input)
		return EXIT_USAGE;
	decode->missing = missing_new();
	if (decode->missing)
		status = decode_input(decode);
	else
		fprintf(stderr, "ntrace: out of memory\n");
	input_close(decode->input);
	if (status == EXIT_CLEAN && !decode->found)
		status = nothing_of_source(&decode->options, path);
	return status;
}

static bool set_offset(const struct option_entry *option, const char *arg)
{
	return parse_number(arg, UINT64_MAX, option->to);
}

static bool set_output(const struct option_entry *option, const char *arg)
{
	enum output *output = option->to;

	if (*output && *output != option->value)
		return refuse("--ranges, --branches, --pcs, --stats and --counts exclude each other");
	*output = option->value;
	return true;
}

static int parse_and_run(struct decode *decode, int argc, char **argv)
{
	const struct option_entry options[] = {
		OPTION_CALL(0, "elf", "ELF[@OFFSET]", add_elf, decode, "code, loaded OFFSET bytes above its addresses"),
		OPTION_CALL(0, "load-offset", "OFFSET", set_offset, &decode->load_offset,
			    "the same for the --elf options that follow"),
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
		OPTION_KIND("counts", NULL, set_output, &decode->output, OUT_COUNTS,
			    "how often each block, branch and edge was executed"),
		COMMON_OPTIONS(&decode->options), CPU_OPTION(&decode->options), { 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (!decode->output)
		decode->output = OUT_RANGES;
	if (!options_are_before_one_file(argv[0], argc, argv))
		return EXIT_USAGE;
	if (!decode->nr_files)
		return usage_error("decode needs the code: --elf ELF");
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
