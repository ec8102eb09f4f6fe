// SPDX-License-Identifier: GPL-2.0-only
/*
 * random [--seeds FIRST COUNT] [--flips N] [--zoo] [--all] [--allow NAME] [--plain] [--shrink]
 *        [--dump FILE] [NAME=VALUE]...
 *
 * Make a trace for each seed, decode it in each way, and compare the results. The exit status is 1 if
 * results differ. README.rst explains the options.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "random.h"

#define MOST_ITEMS	400000		/* maximum number of items of a damaged stream */
#define MOST_SHOWN	8		/* number of wrong seeds whose details are printed */
#define TIME_LIMIT	120		/* maximum processor time of a seed in seconds */

struct totals {
	uint64_t	seeds, wrong, insns, messages, bytes, items;
	uint64_t	flips, noticed, harmless, silent;
	struct unknown	unknown;
};

struct command {
	uint64_t	first, count;
	uint32_t	flips;
	bool		all, shrink, quiet, zoo;
	const char	*dump;
	const char	*allow;		/* option that options_exclude() must not switch off, or NULL */
	int		nr_sets;
	const char	*sets[64];
};

static struct command command = { .first = 1, .count = 1 };
static struct totals totals;
static uint64_t running;
static char running_text[64];

static void out_of_time(int signal)
{
	static const char text[] = "\n# no end: ";

	if (write(1, text, sizeof(text) - 1) < 0 ||
	    write(1, running_text, strlen(running_text)) < 0)
		_exit(3);
	_exit(signal ? 2 : 3);
}

/* ------------------------------------------------------------------- one stream */

static bool has_way(const struct options *opt, enum way way)
{
	if (way == WAY_MIXED)
		return opt->mixed;
	return way != WAY_PARALLEL || (opt->parallel && opt->harts == 1);
}

static bool run_way(struct library *library, const uint8_t *data, size_t size, enum way way,
		    items_t *items, size_t most)
{
	const char *wrong = library_run(library, data, size, way, running, items, most);

	if (wrong)
		printf("# %s: %s\n", way_name(way), wrong);
	return !wrong;
}

/* Compare the items of each way to decode with @first, the items of the first way */
static bool compare_ways(struct library *library, const struct options *opt, const uint8_t *data,
			 size_t size, const items_t *first, size_t most)
{
	items_t items = { 0 };
	bool right = true;
	int way;

	for (way = WAY_NEXT + 1; way < NR_WAYS && right; way++) {
		if (!has_way(opt, way))
			continue;
		right = run_way(library, data, size, way, &items, most);
		if (items.n > first->n && first->n >= most)
			items.n = first->n;
		else if (items.n >= most)
			items.n = first->n < most ? items.n : first->n;
		right = right && check_same(way_name(way), first, &items);
	}
	free(items.v);
	return right && library_counts(library, data, size, running, most);
}

/* Decode one source alone. The items must equal those of this source when all sources are decoded. */
static bool compare_filtered(const struct world *world, const struct trace *trace,
			     const items_t *all)
{
	items_t items = { 0 }, own = { 0 };
	struct library *library;
	bool right = true;
	uint32_t i;
	int way;

	for (i = 0; i < world->opt.harts && world->opt.src_bits && right; i++) {
		uint16_t src = trace->encoders[i].src;

		library = library_new(world, trace, src);
		items_filter(&own, all, src);
		for (way = WAY_NEXT; way < NR_WAYS && right; way++) {
			if (way != WAY_NEXT && way != WAY_BATCH &&
			    (way != WAY_PARALLEL || !world->opt.parallel))
				continue;
			right = run_way(library, trace->stream.v, trace->stream.n, way, &items,
					SIZE_MAX) &&
				check_same("one source alone", &own, &items);
		}
		library_free(library);
	}
	free(items.v);
	free(own.v);
	return right;
}

/* Return true if the ranges of both lists describe the same execution */
static bool same_flow(const items_t *a, const items_t *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a->n && !item_is_range(&a->v[i]))
			i++;
		while (j < b->n && !item_is_range(&b->v[j]))
			j++;
		if (i == a->n || j == b->n)
			return i == a->n && j == b->n;
		if (a->v[i].a != b->v[j].a || a->v[i].b != b->v[j].b ||
		    a->v[i].src != b->v[j].src || a->v[i].taken != b->v[j].taken)
			return false;
		i++;
		j++;
	}
}

static size_t count_wrong(const items_t *items)
{
	size_t i, n = 0;

	for (i = 0; i < items->n; i++)
		n += item_says_wrong(&items->v[i]);
	return n;
}

static void judge_flip(const items_t *good, const items_t *bad)
{
	totals.flips++;
	if (count_wrong(good) != count_wrong(bad))
		totals.noticed++;
	else if (same_flow(good, bad))
		totals.harmless++;
	else
		totals.silent++;
}

static bool flip(struct library *library, const struct world *world, const struct trace *trace,
		 const items_t *good, struct rng *rng)
{
	size_t size = trace->stream.n, n;
	uint8_t *data = malloc(size);
	items_t items = { 0 };
	bool right;

	memcpy(data, trace->stream.v, size);
	for (n = rng_percent(rng, 60) ? 1 : rng_range(rng, 2, 6); n; n--)
		data[rng_below(rng, size)] ^= 1 << rng_below(rng, 8);
	right = run_way(library, data, size, WAY_NEXT, &items, MOST_ITEMS);
	if (right) {
		judge_flip(good, &items);
		right = compare_ways(library, &world->opt, data, size, &items, MOST_ITEMS);
	}
	if (!right)
		printf("# (after flips)\n");
	free(items.v);
	free(data);
	return right;
}

static bool flip_all(struct library *library, const struct world *world, const struct trace *trace,
		     const items_t *good)
{
	struct rng rng = rng_new(running, 700);
	bool right = true;
	uint32_t i;

	for (i = 0; i < command.flips && right && trace->stream.n; i++)
		right = flip(library, world, trace, good, &rng);
	return right;
}

static void dump_bytes(const char *what, const void *data, size_t size)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s%s", command.dump, what);
	file = fopen(path, "wb");
	if (!file || fwrite(data, 1, size, file) != size)
		exit(2);
	fclose(file);
}

/*
 * Write files with the trace, the code, and the options of `ntrace decode` for the code and the encoder.
 * With these options, `ntrace decode` uses the code of the first process for all processes.
 */
static void dump(const struct world *world, const struct trace *trace)
{
	const struct options *opt = &world->opt;
	char text[8192];
	int n;

	dump_bytes("", trace->stream.v, trace->stream.n);
	dump_bytes(".kernel", world->kernel->code, world->kernel->size);
	dump_bytes(".program", world->programs[0].code, world->programs[0].size);
	dump_bytes(".table", world->programs[0].table, TABLE_ENTRIES * opt->xlen / 8);
	n = snprintf(text, sizeof(text), "--binary %s.kernel@0x%" PRIx64 " --binary %s.program@0x%" PRIx64 "%s%s",
		     command.dump, world->kernel->base, command.dump, world->programs[0].base,
		     opt->xlen == 32 ? " --rv32" : "", opt->zcmp ? " --zcmp" : "");
	if (opt->zcmt)
		n += snprintf(text + n, sizeof(text) - n, " --zcmt 0x%" PRIx64 " --binary %s.table@0x%" PRIx64,
			      world->jvt, command.dump, world->jvt);
	dump_bytes(".code", text, n);
	n = snprintf(text, sizeof(text), "--src-bits %u%s%s%s%s", opt->src_bits, opt->ts ? " --timestamp" : "",
		     opt->seq ? " --sequential-jump" : "", opt->all_jumps ? " --all-jumps" : "",
		     opt->ext ? " --extend-addr" : "");
	if (opt->ir_mode)
		n += snprintf(text + n, sizeof(text) - n, " --implicit-return=%u%s",
			      opt->ir_reject ? opt->ir_depth : opt->ir_decoder,
			      opt->ir_reject ? " --return-drop-newest" : "");
	dump_bytes(".options", text, n);
}

/* Remove the end of the last message. All items before this message must be unchanged. */
static bool compare_cut(struct library *library, const struct world *world, struct trace *trace)
{
	items_t items = { 0 };
	bool right;

	trace->stream.n--;
	right = run_way(library, trace->stream.v, trace->stream.n, WAY_NEXT, &items, SIZE_MAX) &&
		compare_ways(library, &world->opt, trace->stream.v, trace->stream.n, &items,
			     SIZE_MAX);
	trace->stream.n++;
	free(items.v);
	return right;
}

/*
 * Decode a stream whose deviations from the specification are not named to the decoder, and count the instructions.
 * RepeatInstruction is not tested, because a decoder that does not know this message must skip it.
 */
static bool run_unknown(const struct world *world, const struct trace *trace)
{
	struct unknown unknown = { 0 };
	struct world other = *world;
	struct library *library;
	items_t items = { 0 };
	bool right;

	other.opt.named = 0;
	library = library_new(&other, trace, -1);
	right = run_way(library, trace->stream.v, trace->stream.n, WAY_NEXT, &items, MOST_ITEMS);
	check_unknown(&other, trace, &items, &unknown);
	totals.unknown.executed += unknown.executed;
	totals.unknown.decoded += unknown.decoded;
	totals.unknown.silent += !!unknown.silent;
	library_free(library);
	free(items.v);
	return right;
}

static bool run_trace(const struct world *world, struct trace *trace)
{
	struct library *library = library_new(world, trace, -1);
	items_t items = { 0 };
	bool right;

	if (command.dump)
		dump(world, trace);
	right = run_way(library, trace->stream.v, trace->stream.n, WAY_NEXT, &items, SIZE_MAX) &&
		check_executed(world, trace, &items) &&
		compare_ways(library, &world->opt, trace->stream.v, trace->stream.n, &items,
			     SIZE_MAX) &&
		compare_filtered(world, trace, &items) &&
		(!world->opt.cut || !trace->stream.n || compare_cut(library, world, trace)) &&
		flip_all(library, world, trace, &items) &&
		(!command.zoo || world->opt.dev_self || run_unknown(world, trace));
	totals.items += items.n;
	free(items.v);
	library_free(library);
	return right;
}

static bool run_options(uint64_t seed, const struct options *opt)
{
	/* The limit is processor time, because other programs may use the machine */
	struct itimerval limit = { .it_value.tv_sec = TIME_LIMIT };
	struct world world;
	struct trace trace;
	bool right;
	uint32_t i;

	running = seed;
	snprintf(running_text, sizeof(running_text), "--seeds %" PRIu64 " 1\n", seed);
	setitimer(ITIMER_PROF, &limit, NULL);
	world_make(&world, seed, opt);
	trace_make(&trace, &world);
	right = run_trace(&world, &trace);
	totals.insns += trace.executed;
	totals.bytes += trace.stream.n;
	for (i = 0; i < opt->harts; i++)
		totals.messages += trace.encoders[i].messages.n;
	trace_free(&trace);
	world_free(&world);
	return right;
}

/* ------------------------------------ run of one seed, which determines the whole test */

static void set_options(struct options *opt)
{
	uint32_t *value;
	int i;

	for (i = 0; i < command.nr_sets; i++) {
		const char *equals = strchr(command.sets[i], '=');

		value = equals ? options_find(opt, command.sets[i], equals - command.sets[i]) : NULL;
		if (!value) {
			fprintf(stderr, "no such option: %s\n", command.sets[i]);
			exit(2);
		}
		*value = strtoul(equals + 1, NULL, 0);
	}
}

static void print_again(uint64_t seed, const struct options *opt)
{
	printf("# seed %" PRIu64 ":", seed);
	options_print(opt);
	printf("\n# again: build/random/random --seeds %" PRIu64 " 1%s", seed,
	       command.all ? " --all" : command.zoo ? " --zoo" : "");
	if (command.allow)
		printf(" --allow %s", command.allow);
	if (command.flips)
		printf(" --flips %u", command.flips);
}

/* Set options to their plain values, as long as the result stays wrong. */
static void shrink(uint64_t seed, struct options *opt)
{
	struct options plainer;
	bool changed = true;
	uint32_t step;

	while (changed) {
		changed = false;
		for (step = 0; ; step++) {
			plainer = *opt;
			if (!options_shrink(&plainer, step))
				break;
			options_settle(&plainer);
			if (!memcmp(&plainer, opt, sizeof(plainer)) || run_options(seed, &plainer))
				continue;
			*opt = plainer;
			changed = true;
		}
	}
	printf("# shrunk to:\n");
	run_options(seed, opt);
	print_again(seed, opt);
	printf(" --plain");
	options_print(opt);
	printf("\n");
}

static bool plain_first;

/*
 * If @on, discard all later output of this program, otherwise print output again. After MOST_SHOWN wrong
 * seeds, the details of more seeds are discarded.
 */
static void hush(bool on)
{
	static int before = -1;
	int null;

	fflush(stdout);
	if (on) {
		before = dup(1);
		null = open("/dev/null", O_WRONLY);
		dup2(null, 1);
		close(null);
	} else if (before >= 0) {
		dup2(before, 1);
	}
}

static void run_seed(uint64_t seed)
{
	struct options opt;
	uint32_t step;

	options_draw(&opt, seed);
	if (command.zoo)
		options_deviate(&opt, seed);
	if (!command.all)
		options_exclude(&opt, command.allow);
	for (step = 0; plain_first && options_shrink(&opt, step); step += 3)
		;
	set_options(&opt);
	options_settle(&opt);
	totals.seeds++;
	if (run_options(seed, &opt))
		return;
	totals.wrong++;
	print_again(seed, &opt);
	printf("\n");
	if (command.shrink)
		shrink(seed, &opt);
	if (totals.wrong == MOST_SHOWN)
		hush(true);
	fflush(stdout);
}

static bool parse(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--seeds") && i + 2 < argc) {
			command.first = strtoull(argv[++i], NULL, 0);
			command.count = strtoull(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--flips") && i + 1 < argc) {
			command.flips = strtoul(argv[++i], NULL, 0);
		} else if (!strcmp(argv[i], "--dump") && i + 1 < argc) {
			command.dump = argv[++i];
		} else if (!strcmp(argv[i], "--allow") && i + 1 < argc) {
			command.allow = argv[++i];
		} else if (!strcmp(argv[i], "--zoo")) {
			command.zoo = true;
		} else if (!strcmp(argv[i], "--all")) {
			command.all = true;
		} else if (!strcmp(argv[i], "--plain")) {
			plain_first = true;
		} else if (!strcmp(argv[i], "--shrink")) {
			command.shrink = true;
		} else if (strchr(argv[i], '=') && command.nr_sets < 64) {
			command.sets[command.nr_sets++] = argv[i];
		} else {
			return false;
		}
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t i;

	if (!parse(argc, argv)) {
		fprintf(stderr, "usage: random [--seeds FIRST COUNT] [--flips N] [--zoo] [--all] "
			"[--allow NAME] [--plain] [--shrink] [--dump FILE] [NAME=VALUE]...\n");
		return 2;
	}
	signal(SIGPROF, out_of_time);
	for (i = 0; i < command.count; i++)
		run_seed(command.first + i);
	hush(false);
	if (!command.all && !command.shrink)
		options_list_exclusions();
	printf("# figure: %" PRIu64 " seeds, %" PRIu64 " instructions, %" PRIu64 " messages, %"
	       PRIu64 " bytes, %" PRIu64 " items: %" PRIu64 " wrong\n", totals.seeds, totals.insns,
	       totals.messages, totals.bytes, totals.items, totals.wrong);
	if (totals.flips)
		printf("# figure: %" PRIu64 " streams with flips: %" PRIu64 " noticed, %" PRIu64
		       " harmless, %" PRIu64 " silently wrong\n", totals.flips, totals.noticed,
		       totals.harmless, totals.silent);
	if (command.zoo)
		printf("# figure: without the names of the deviations: %" PRIu64 " of %" PRIu64
		       " instructions decoded, %" PRIu64 " seeds silently wrong\n", totals.unknown.decoded,
		       totals.unknown.executed, totals.unknown.silent);
	return totals.wrong || totals.unknown.decoded * 10 < totals.unknown.executed * 9 ||
	       totals.unknown.silent * 1000 > totals.seeds;
}
