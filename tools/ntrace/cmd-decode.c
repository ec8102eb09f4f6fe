// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace decode: from messages to what was executed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf-image.h"
#include "ntrace.h"
#include "options.h"
#include "pcs.h"

static const char help[] =
	"usage: ntrace decode [OPTIONS] --elf ELF [--elf ELF ...] FILE\n\n"
	"Decode FILE (- is the standard input) with the code of the ELF files. Exits 1 if\n"
	"errors were found in the trace; they are printed to the standard error.\n\n"
	"  --elf ELF[@OFFSET]     code, loaded OFFSET bytes above its addresses\n"
	"  --load-offset OFFSET   the same for the --elf options that follow\n"
	"  --ranges               one line for each range of instructions (default)\n"
	"  --branches             one line for each branch, jump and trap\n"
	"  --pcs                  one line for each instruction\n"
	"  --stats                only count\n"
	COMMON_HELP;

enum output { OUT_RANGES, OUT_BRANCHES, OUT_PCS, OUT_STATS };

enum { OPT_ELF = 1, OPT_LOAD_OFFSET, OPT_RANGES, OPT_BRANCHES, OPT_PCS, OPT_STATS, OPT_HELP };

static const struct option long_options[] = {
	COMMON_OPTIONS,
	{ "elf",	 required_argument, NULL, OPT_ELF },
	{ "load-offset", required_argument, NULL, OPT_LOAD_OFFSET },
	{ "ranges",	 no_argument, NULL, OPT_RANGES },
	{ "branches",	 no_argument, NULL, OPT_BRANCHES },
	{ "pcs",	 no_argument, NULL, OPT_PCS },
	{ "stats",	 no_argument, NULL, OPT_STATS },
	{ "help",	 no_argument, NULL, OPT_HELP },
	{ 0 }
};

struct decode {
	struct options	options;
	enum output	output;
	struct nt_image	*image;
	uint64_t	load_offset;
	bool		rv32;		/* some ELF is of 32 bits */
	unsigned int	nr_elfs;
	struct pcs	*pcs;
	uint64_t	errors;
	uint64_t	ranges;
	uint64_t	insns;
	uint64_t	hinted;		/* bit -code: its hint was printed */
};

/* "ELF" or "ELF@OFFSET"; a file of the whole name comes first. */
static bool add_elf(struct decode *decode, char *arg)
{
	uint64_t offset = decode->load_offset;
	unsigned int xlen = 64;
	char *at = strrchr(arg, '@');

	if (at) {
		FILE *file = fopen(arg, "r");

		if (file) {
			fclose(file);
		} else {
			*at = '\0';
			if (!parse_number(at + 1, UINT64_MAX, &offset))
				return false;
		}
	}
	if (!elf_image_add(decode->image, arg, offset, &xlen))
		return false;
	if (xlen == 32)
		decode->options.config.xlen = 32;
	decode->nr_elfs++;
	return true;
}

static void print_error(struct decode *decode, const struct nt_item *item)
{
	char desc[256];

	nt_item_desc(item, desc, sizeof(desc));
	fprintf(stderr, "ntrace: %s\n", desc);
	decode->errors++;
	if (item->type != NT_ITEM_ERROR || -item->error.code > 63 ||
	    decode->hinted >> -item->error.code & 1)
		return;
	decode->hinted |= 1ULL << -item->error.code;
	if (*nt_error_hint(item->error.code))
		fprintf(stderr, "ntrace: hint: %s\n", nt_error_hint(item->error.code));
}

static void print_prefix(const struct decode *decode, const struct nt_item *item)
{
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
	printf("0x%" PRIx64 " %s", item->range.how >= NT_END_TRAP ? item->range.end :
	       item->range.last, nt_end_name(item->range.how));
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

	if (item->type == NT_ITEM_RANGE) {
		decode->ranges++;
		decode->insns += item->range.insns;
	}
	if (item->type == NT_ITEM_ERROR || item->type == NT_ITEM_LOST) {
		fflush(stdout);
		print_error(decode, item);
	}
	if (decode->output == OUT_BRANCHES && item->type == NT_ITEM_RANGE) {
		print_branch(decode, item);
		return;
	}
	print_prefix(decode, item);
	nt_item_desc(item, desc, sizeof(desc));
	puts(desc);
}

/* Ranges at once, where single items are not printed */
static void take_batch(struct decode *decode, const struct nt_batch *batch)
{
	size_t i;

	if (!batch->nr) {
		if (batch->item.type == NT_ITEM_ERROR || batch->item.type == NT_ITEM_LOST)
			print_error(decode, &batch->item);
		return;
	}
	decode->ranges += batch->nr;
	for (i = 0; i < batch->nr; i++)
		decode->insns += batch->ranges[i].insns;
	if (decode->output == OUT_PCS)
		pcs_print(decode->pcs, batch->ranges, batch->nr);
}

static int drain(struct decode *decode, struct nt_flow *flow)
{
	struct nt_batch batch;
	struct nt_item item;
	int ret;

	if (decode->output == OUT_PCS || decode->output == OUT_STATS) {
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

static int decode_all(struct decode *decode, struct nt_flow *flow, struct input *input)
{
	const uint8_t *data;
	long n;

	while ((n = input_read(input, &data)) > 0) {
		nt_flow_feed(flow, data, n);
		if (drain(decode, flow))
			return EXIT_TRACE;
	}
	nt_flow_end(flow);
	if (drain(decode, flow) || n < 0)
		return EXIT_TRACE;
	return decode->errors ? EXIT_TRACE : EXIT_CLEAN;
}

static void print_stats(const struct decode *decode, const struct nt_flow *flow)
{
	struct nt_stats stats;
	unsigned int i;

	nt_flow_stats(flow, &stats, sizeof(stats));
	printf("bytes            %12" PRIu64 "\n", stats.bytes);
	printf("messages         %12" PRIu64 "\n", stats.messages);
	for (i = 0; i < 64; i++) {
		if (stats.by_tcode[i])
			printf("  %2u %-23s %10" PRIu64 "\n", i, nt_tcode_name(i), stats.by_tcode[i]);
	}
	printf("ranges           %12" PRIu64 "\n", decode->ranges);
	printf("instructions     %12" PRIu64 "\n", decode->insns);
	if (decode->insns)
		printf("bits/instruction %12.3f\n", 8.0 * stats.bytes / decode->insns);
	printf("syncs            %12" PRIu64 "\n", stats.syncs);
	printf("restarts         %12" PRIu64 "\n", stats.restarts);
	printf("errors           %12" PRIu64 "\n", stats.errors);
	printf("messages lost    %12" PRIu64 "\n", stats.lost_messages);
	printf("bytes lost       %12" PRIu64 "\n", stats.lost_bytes);
	printf("messages skipped %12" PRIu64 "\n", stats.skipped);
}

static int run(struct decode *decode, const char *path)
{
	struct nt_flow *flow = nt_flow_new(&decode->options.config, decode->image);
	struct input *input;
	int status;

	if (!flow) {
		fprintf(stderr, "ntrace: these options do not go together\n");
		return EXIT_USAGE;
	}
	input = input_open(path, decode->options.pins);
	if (!input) {
		nt_flow_free(flow);
		return EXIT_USAGE;
	}
	if (decode->options.middle)
		nt_flow_restart(flow, 0, true);
	if (decode->output == OUT_PCS)
		decode->pcs = pcs_new(&decode->options.config, decode->image);
	status = decode_all(decode, flow, input);
	if (decode->output == OUT_STATS)
		print_stats(decode, flow);
	if (decode->pcs && !pcs_free(decode->pcs))
		status = EXIT_TRACE;
	if (fflush(stdout) || ferror(stdout)) {
		perror("ntrace: standard output");
		status = EXIT_TRACE;
	}
	input_close(input);
	nt_flow_free(flow);
	return status;
}

/* Returns the exit status, or -1 to go on. */
static int parse_option(struct decode *decode, int opt, char *arg)
{
	switch (opt) {
	case OPT_HELP:
		fputs(help, stdout);
		return EXIT_CLEAN;
	case OPT_ELF:
		return add_elf(decode, arg) ? -1 : EXIT_USAGE;
	case OPT_LOAD_OFFSET:
		return parse_number(arg, UINT64_MAX, &decode->load_offset) ? -1 : EXIT_USAGE;
	case OPT_RANGES:
	case OPT_BRANCHES:
	case OPT_PCS:
	case OPT_STATS:
		decode->output = opt - OPT_RANGES;
		return -1;
	case '?':
		return EXIT_USAGE;
	}
	return options_set(&decode->options, opt, arg) ? -1 : EXIT_USAGE;
}

static int parse_and_run(struct decode *decode, int argc, char **argv)
{
	int opt, status;

	while ((opt = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		status = parse_option(decode, opt, optarg);
		if (status >= 0)
			return status;
	}
	if (optind + 1 != argc) {
		fputs(help, stderr);
		return EXIT_USAGE;
	}
	if (!decode->nr_elfs) {
		fprintf(stderr, "ntrace: decode needs the code: --elf ELF\n");
		return EXIT_USAGE;
	}
	return run(decode, argv[optind]);
}

int cmd_decode(int argc, char **argv)
{
	struct decode decode = { .output = OUT_RANGES };
	int status;

	options_init(&decode.options);
	decode.image = nt_image_new();
	if (!decode.image)
		return EXIT_TRACE;
	status = parse_and_run(&decode, argc, argv);
	nt_image_free(decode.image);
	return status;
}
