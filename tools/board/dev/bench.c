// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace bench measures how fast a trace is decoded.
 *
 * Each measurement starts with a new decoder, which has not cached any code. add_batch() counts the
 * instructions of all ranges. The result is the shortest time, because other load of the machine only
 * makes decoding slower.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "raw/elf-image.h"
#include "ntrace.h"
#include "dev.h"
#include "cli/options.h"

#define MAX_THREADS	256

static const char usage[] =
	"usage: ntrace bench [OPTIONS] --elf ELF [--elf ELF ...] FILE\n\n"
	"Print how fast FILE is decoded: messages only, one thread, and --threads threads.\n";

struct bench {
	struct options	options;
	struct nt_image	*image;
	struct elf_files elfs;
	uint64_t	runs;
	uint64_t	threads;
	bool		counts;
	bool		(*only)(struct bench *bench);	/* function to call once instead of measuring, or NULL */
	uint8_t		*data;
	size_t		size;
	uint64_t	messages;
	uint64_t	insns;
	uint64_t	ranges;
	uint64_t	errors;
};

static double now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec + ts.tv_nsec * 1e-9;
}

static int add_batch(void *ctx, const struct nt_batch *batch)
{
	struct bench *bench = ctx;
	uint64_t insns = 0;
	size_t i;

	for (i = 0; i < batch->nr; i++)
		insns += batch->ranges[i].insns;
	bench->insns += insns;
	bench->ranges += batch->nr;
	bench->errors += !batch->nr && (batch->item.type == NT_ITEM_ERROR ||
					batch->item.type == NT_ITEM_GAP);
	return 0;
}

static bool run_messages(struct bench *bench)
{
	struct nt_reader *reader = nt_reader_new(&bench->options.config);
	struct nt_message msg;

	if (!reader)
		return false;
	bench->messages = 0;
	nt_reader_feed(reader, bench->data, bench->size);
	while (nt_reader_next(reader, &msg))
		bench->messages++;
	nt_reader_free(reader);
	return true;
}

static bool run_flow(struct bench *bench)
{
	struct nt_flow *flow = nt_flow_new(&bench->options.config, bench->image);
	struct nt_batch batch;

	if (!flow)
		return false;
	nt_flow_feed(flow, bench->data, bench->size);
	while (nt_flow_next_batch(flow, &batch) > 0)
		add_batch(bench, &batch);
	nt_flow_free(flow);
	return true;
}

/* Add the numbers of instructions and ranges from a table of counts */
static void add_counts(struct bench *bench, const struct nt_counts *counts)
{
	struct nt_count count;
	uint64_t at = 0;

	while (nt_counts_next(counts, &at, &count)) {
		if (count.type != NT_COUNT_BLOCK)
			continue;
		bench->insns += count.insns;
		bench->ranges += count.count;
	}
}

/* Decode, and count blocks, branches and edges. The time includes the creation of the table of counts. */
static bool run_counts(struct bench *bench)
{
	struct nt_flow *flow = nt_flow_new(&bench->options.config, bench->image);
	struct nt_counts *counts = nt_counts_new();
	bool ok = flow && counts;
	struct nt_item item;

	if (ok) {
		nt_flow_feed(flow, bench->data, bench->size);
		while (nt_flow_count(flow, &item) > 0)
			bench->errors += item.type == NT_ITEM_ERROR;
		ok = !nt_counts_take(counts, flow);
		add_counts(bench, counts);
	}
	nt_counts_free(counts);
	nt_flow_free(flow);
	return ok;
}

static bool run_parallel(struct bench *bench)
{
	return !nt_parallel_decode(&bench->options.config, bench->image, bench->data, bench->size,
				   bench->threads, add_batch, bench, NULL);
}

static int add_part(void *ctx, uint64_t part, const struct nt_batch *batch)
{
	return add_batch(ctx, batch);
}

/* Decode with several threads, each of which counts the ranges that it decodes. Add up the counts at the end. */
static bool run_unordered(struct bench *bench)
{
	struct bench *each = calloc(bench->threads, sizeof(*each));
	void *ctxs[MAX_THREADS];
	bool ok = each;
	uint64_t i;

	for (i = 0; ok && i < bench->threads; i++)
		ctxs[i] = &each[i];
	ok = ok && !nt_parallel_decode_unordered(&bench->options.config, bench->image, bench->data,
						 bench->size, bench->threads, add_part, ctxs, NULL);
	for (i = 0; ok && i < bench->threads; i++) {
		bench->insns += each[i].insns;
		bench->ranges += each[i].ranges;
		bench->errors += each[i].errors;
	}
	free(each);
	return ok;
}

static void *decode_apart(void *arg)
{
	struct bench copy = *(const struct bench *)arg;

	return run_flow(&copy) ? arg : NULL;
}

/*
 * Decode the whole trace in each thread, without shared data. The result is the highest speed that this
 * number of threads can have on the machine.
 */
static bool run_apart(struct bench *bench)
{
	pthread_t threads[MAX_THREADS];
	bool ok = true;
	uint64_t i, n;
	void *result;

	for (n = 0; n < bench->threads; n++)
		if (pthread_create(&threads[n], NULL, decode_apart, bench))
			break;
	for (i = 0; i < n; i++)
		ok &= !pthread_join(threads[i], &result) && result;
	return ok && n == bench->threads;
}

/* Return the seconds that @run takes, or a negative value if it fails. */
static double seconds(struct bench *bench, clockid_t clock, bool (*run)(struct bench *bench))
{
	double t = now(clock);

	bench->insns = 0;
	bench->ranges = 0;
	bench->errors = 0;
	return run(bench) ? now(clock) - t : -1;
}

/*
 * Call @run once. If it takes less than *least seconds, store its time in *least. Return false if it
 * fails.
 */
static bool run_once(struct bench *bench, clockid_t clock, bool (*run)(struct bench *bench),
		     double *least)
{
	double t = seconds(bench, clock, run);

	if (t >= 0 && t < *least)
		*least = t;
	return t >= 0;
}

/*
 * Call @run several times. Return the shortest time in seconds, or a negative value if @run fails.
 */
static double best(struct bench *bench, clockid_t clock, bool (*run)(struct bench *bench))
{
	double least = HUGE_VAL;
	uint64_t i;

	for (i = 0; i < bench->runs; i++)
		if (!run_once(bench, clock, run, &least))
			return -1;
	return least;
}

/*
 * Measure decoding with several threads, by elapsed time and by processor time. Processor time shows how
 * much more work several threads do than one thread, and does not depend on other programs. Alternate
 * between the functions that are compared, because the speed of a machine changes every second.
 */
static bool measure_threads(struct bench *bench, double one)
{
	double cpu = best(bench, CLOCK_PROCESS_CPUTIME_ID, run_parallel);
	double unordered_cpu = best(bench, CLOCK_PROCESS_CPUTIME_ID, run_unordered);
	double alone = HUGE_VAL, threads = HUGE_VAL, unordered = HUGE_VAL, apart = HUGE_VAL;
	uint64_t insns = 0, i;

	if (cpu < 0 || unordered_cpu < 0)
		return false;
	for (i = 0; i < bench->runs; i++) {
		if (!run_once(bench, CLOCK_MONOTONIC, run_flow, &alone) ||
		    !run_once(bench, CLOCK_MONOTONIC, run_parallel, &threads) ||
		    !run_once(bench, CLOCK_MONOTONIC, run_unordered, &unordered))
			return false;
		insns = bench->insns;
		if (!run_once(bench, CLOCK_MONOTONIC, run_apart, &apart))
			return false;
	}
	printf("%" PRIu64 " threads  %8.1f M instructions/s, %.2f times one thread; "
	       "%.2f by processor time\n", bench->threads,
	       insns / threads / 1e6, alone / threads, bench->threads * one / cpu);
	printf("%" PRIu64 " unordered threads %7.1f M instructions/s, %.2f times one thread; "
	       "%.2f by processor time\n", bench->threads, insns / unordered / 1e6,
	       alone / unordered, bench->threads * one / unordered_cpu);
	printf("%" PRIu64 " apart    %8.1f M instructions/s, %.2f times one, for separate "
	       "decoders of the whole trace\n", bench->threads,
	       bench->threads * insns / apart / 1e6, bench->threads * alone / apart);
	return true;
}

/*
 * Measure the speed of counts and ranges. Alternate between them, because the speed of a machine changes
 * every second.
 */
static bool measure_counts(struct bench *bench)
{
	double ranges = HUGE_VAL, counts = HUGE_VAL;
	uint64_t i;

	for (i = 0; i < bench->runs; i++) {
		if (!run_once(bench, CLOCK_PROCESS_CPUTIME_ID, run_flow, &ranges) ||
		    !run_once(bench, CLOCK_PROCESS_CPUTIME_ID, run_counts, &counts))
			return false;
	}
	printf("counts     %8.1f M instructions/s, %.2f times the speed of ranges, %.1f M instructions/s\n",
	       bench->insns / counts / 1e6, ranges / counts, bench->insns / ranges / 1e6);
	return true;
}

static int no_resources(void)
{
	return usage_error("not enough memory, or a thread cannot be started");
}

static int measure(struct bench *bench)
{
	uint64_t errors;
	double one, t;

	if (!options_fit(&bench->options))
		return EXIT_USAGE;
	if (bench->only)
		return bench->only(bench) ? EXIT_CLEAN : no_resources();
	t = best(bench, CLOCK_PROCESS_CPUTIME_ID, run_messages);
	if (t < 0)
		return no_resources();
	printf("messages   %8.1f M/s, %.2f GB/s\n", bench->messages / t / 1e6,
	       bench->size / t / 1e9);
	one = best(bench, CLOCK_PROCESS_CPUTIME_ID, run_flow);
	if (one < 0)
		return no_resources();
	printf("1 thread   %8.1f M instructions/s (%" PRIu64 " instructions, %" PRIu64 " ranges, %.3f bits/instruction)\n",
	       bench->insns / one / 1e6, bench->insns, bench->ranges,
	       bench->insns ? 8.0 * bench->size / bench->insns : 0);
	errors = bench->errors;
	if (bench->counts && !measure_counts(bench))
		return no_resources();
	if (bench->threads > 1 && !bench->options.config.src_bits && !measure_threads(bench, one))
		return no_resources();
	if (errors)
		fprintf(stderr, "ntrace: %" PRIu64 " errors in the trace\n", errors);
	return errors ? EXIT_TRACE : EXIT_CLEAN;
}

static bool read_all(struct bench *bench, const char *path)
{
	struct input *input = input_open(path, &bench->options);
	const uint8_t *data;
	long n;

	if (!input)
		return false;
	while ((n = input_read(input, &data)) > 0) {
		uint8_t *all = realloc(bench->data, bench->size + n);

		if (!all) {
			fprintf(stderr, "ntrace: out of memory\n");
			n = -1;
			break;
		}
		bench->data = all;
		memcpy(all + bench->size, data, n);
		bench->size += n;
	}
	input_close(input);
	return n == 0;
}

static bool add_elf(const struct option_entry *option, const char *arg)
{
	struct bench *bench = option->to;
	unsigned int xlen = 64;

	if (!elf_image_add_arg(&bench->elfs, bench->image, arg, &xlen))
		return false;
	bench->options.config.xlen = xlen;
	return true;
}

static bool set_only(const struct option_entry *option, const char *arg)
{
	((struct bench *)option->to)->only = option->value ? run_counts : run_flow;
	return true;
}

static bool set_number(const struct option_entry *option, const char *arg)
{
	uint64_t *number = option->to;

	return parse_number(arg, option->value, number) && *number;
}

static int parse_and_run(struct bench *bench, int argc, char **argv)
{
	const struct option_entry options[] = {
		OPTION_CALL(0, "elf", "ELF", add_elf, bench, "code"),
		OPTION_KIND("runs", "N", set_number, &bench->runs, 1000, "the best of N runs (7)"),
		OPTION_KIND("threads", "N", set_number, &bench->threads, MAX_THREADS, "(2)"),
		OPTION_FLAG(0, "counts", &bench->counts, "also count blocks, branches and edges"),
		OPTION_KIND("only-ranges", NULL, set_only, bench, 0,
			    "decode ranges once without measuring, for use with a profiler"),
		OPTION_KIND("only-counts", NULL, set_only, bench, 1, "the same for counts"),
		COMMON_OPTIONS(&bench->options), CPU_OPTION(&bench->options), { 0 }
	};
	int status = options_parse(argc, argv, "", usage, options);

	if (status >= 0)
		return status;
	if (!options_are_before_one_file(argv[0], argc, argv))
		return EXIT_USAGE;
	if (!options_are_of_one_stream(&bench->options))
		return EXIT_USAGE;
	status = options_take_recording(&bench->options, argv[optind]) == EXIT_CLEAN &&
		 read_all(bench, argv[optind]) ? measure(bench) : EXIT_USAGE;
	options_end(&bench->options);
	return status;
}

int cmd_bench(int argc, char **argv)
{
	struct bench bench = { .runs = 7, .threads = 2 };
	int status;

	options_init(&bench.options);
	bench.image = nt_image_new();
	if (!bench.image)
		return EXIT_TRACE;
	status = parse_and_run(&bench, argc, argv);
	nt_image_free(bench.image);
	elf_files_close(&bench.elfs);
	free(bench.data);
	return status;
}
