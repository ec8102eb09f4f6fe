// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check that a trace decodes to the same items by each function and in pieces of each size.
 *
 *   same [OPTIONS of ntrace decode] [--no-memory EVERY] --elf ELF TRACE
 *
 * The program feeds the whole stream at once, and gets its items by nt_flow_next(). It compares these
 * items with those from batches, from mixtures of items and batches, and from a stream that is fed in
 * pieces of several sizes. It then decodes the stream twice in a row, because the flow stores the
 * blocks to which messages led, and uses them again. If items differ, the program prints the first
 * difference and exits with 1.
 *
 * nt_flow_count() and nt_parallel_count() must count the ranges that nt_flow_next() returns. The
 * program calls nt_flow_count() alone and mixed with the other functions. nt_flow_count() must also
 * return the same items that are not ranges.
 *
 * The program also lets one memory allocation of the flow fail, and repeats this for each allocation,
 * or for every EVERYth one of a long trace. The call must return NT_E_NOMEM, and the next call must
 * continue without a loss.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "alloc.h"
#include "counted.h"
#include "code.h"
#include "items.h"
#include "cli/options.h"

#define MAX_ITEMS	200000

static unsigned long allocations, first_failing, failing;

static bool alloc_fails(void)
{
	return failing && ++allocations > first_failing && allocations <= first_failing + failing;
}

struct trace {
	uint8_t	*data;
	size_t	size;
};

static const struct items_way ways[] = {
	{ .piece = SIZE_MAX, .batches = 0xffffffff },
	{ .piece = SIZE_MAX, .batches = 0x55555555 },
	{ .piece = SIZE_MAX, .batches = 0x00ffff00 },
	{ .piece = SIZE_MAX, .batches = 0x76543210 },
	{ .piece = 1, .batches = 0 },
	{ .piece = 1, .batches = 0xffffffff },
	{ .piece = 61, .batches = 0xffffffff },
	{ .piece = 7, .batches = 0x12345678 },
	{ .piece = 3000, .batches = 0xf0f0f0f0 },
};

static void print(const char *title, bool more, const struct nt_item *item)
{
	char desc[512] = "no more";

	if (more)
		nt_item_desc(item, desc, sizeof(desc));
	printf("%s: %s", title, desc);
	if (more)
		printf(" [source %u, time %" PRIu64 " kind %u, tcode %u, offset %" PRIu64 "]",
		       item->src, item->tstamp, item->tstamp_kind, item->tcode, item->offset);
	printf("\n");
}

static bool compare(const struct nt_config *config, struct nt_image *image,
		    const struct trace *trace, struct items_way way)
{
	struct items_way plain = { .piece = SIZE_MAX, .middle = way.middle };
	struct items one, other;
	struct nt_item a, b;
	bool has_a = true, has_b = true, same = true;
	unsigned int nr = 0;

	if (!items_begin(&one, config, image, trace->data, trace->size, plain) ||
	    !items_begin(&other, config, image, trace->data, trace->size, way))
		exit(2);
	while (same && has_a && nr++ < MAX_ITEMS) {
		has_a = items_next(&one, &a);
		has_b = items_next(&other, &b);
		same = has_a == has_b && (!has_a || items_are_same(config, &a, &b));
	}
	if (!same) {
		printf("%zu bytes in pieces of %zu, batches %08" PRIx32 ": item %u differs\n",
		       trace->size, way.piece, way.batches, nr - 1);
		print("one by one", has_a, &a);
		print("otherwise ", has_b, &b);
	}
	items_end(&one);
	items_end(&other);
	return same;
}

/*
 * Decode while @nr allocations fail, of which the first is allocation number @first. Return false if
 * an item differs. Set *made to the number of allocations.
 */
static bool compare_without(const struct nt_config *config, struct nt_image *image,
			    const struct trace *trace, struct items_way way, unsigned long first,
			    unsigned long nr, unsigned long *made)
{
	struct items_way plain = { .piece = SIZE_MAX, .middle = way.middle };
	struct items one, other;
	struct nt_item a, b;
	bool has_a = true, has_b, same = true;

	if (!items_begin(&one, config, image, trace->data, trace->size, plain) ||
	    !items_begin(&other, config, image, trace->data, trace->size, way))
		exit(2);
	allocations = 0;
	first_failing = first;
	while (same && has_a) {
		failing = 0;
		has_a = items_next(&one, &a);
		failing = nr;
		has_b = items_next(&other, &b);
		while (!has_b && other.error == NT_E_NOMEM) {
			other.error = 0;
			has_b = items_next(&other, &b);
		}
		same = has_a == has_b && (!has_a || items_are_same(config, &a, &b));
	}
	failing = 0;
	*made = allocations;
	if (!same) {
		printf("allocation %lu and the %lu after it fail, batches %08" PRIx32 "\n",
		       first, nr - 1, way.batches);
		print("one by one", has_a, &a);
		print("otherwise ", has_b, &b);
	}
	items_end(&one);
	items_end(&other);
	return same;
}

static bool sweep_allocations(const struct options *options, struct nt_image *image,
			      const struct trace *trace, unsigned long every)
{
	struct items_way way = { .piece = SIZE_MAX, .middle = options->middle };
	unsigned long first, made, ignored;
	bool same = true;

	for (way.batches = 0; same; way.batches = UINT32_MAX) {
		same = compare_without(&options->config, image, trace, way, ULONG_MAX / 2, 1, &made);
		for (first = 0; same && first < made; first += every)
			same = compare_without(&options->config, image, trace, way, first,
					       1 + first % 3, &ignored);
		if (way.batches)
			break;
	}
	if (same)
		printf("%lu allocations\n", made);
	return same;
}

/* ---- comparison of the counts of nt_flow_count() with the returned ranges ---- */

struct count_way {
	size_t		piece;		/* number of bytes that are fed at a time */
	uint32_t	counts;		/* If bit N modulo 32 is set, call N is nt_flow_count() */
	uint32_t	batches;	/* If bit N modulo 32 is set, call N gets a batch, else one item */
	uint32_t	takes;		/* number of calls before each nt_counts_take(); 0: only at the end */
};

static const struct count_way count_ways[] = {
	{ .piece = SIZE_MAX, .counts = 0xffffffff },
	{ .piece = SIZE_MAX, .counts = 0xffffffff, .takes = 1 },
	{ .piece = SIZE_MAX, .counts = 0x0f0ff00f, .batches = 0x33333333 },
	{ .piece = SIZE_MAX, .counts = 0xaaaaaaaa, .batches = 0, .takes = 7 },
	{ .piece = 1, .counts = 0xffffffff },
	{ .piece = 61, .counts = 0xffffffff, .takes = 5 },
	{ .piece = 700, .counts = 0x7fffffff, .takes = 3 },
	{ .piece = 3000, .counts = 0xff00ff00, .batches = 0xf0f0f0f0 },
};

/* A stream whose ranges are counted, except that some of them are returned as items */
struct counting {
	struct items		items;
	struct count_way	way;
	struct nt_counts	*counts;
	struct counted		given;		/* counts of the ranges that were returned as items */
	uint32_t		calls;
};

static void take_counts(struct counting *counting)
{
	while (nt_counts_take(counting->counts, counting->items.flow)) {
		if (!failing)
			abort();
	}
}

/*
 * Make the next call, which counts, gets an item or gets a batch. Return a positive value if *item is
 * filled in, 0 if the flow needs more bytes, or NT_E_NOMEM.
 */
static int count_call(struct counting *counting, struct nt_item *item)
{
	struct items *items = &counting->items;
	uint32_t bit = counting->calls++ % 32;
	unsigned long nr = failing;
	int ret;

	if (counting->way.takes && !(counting->calls % counting->way.takes))
		take_counts(counting);
	if (counting->way.counts >> bit & 1 && items->next == items->batch.nr)
		return nt_flow_count(items->flow, item);
	items->calls = bit;
	ret = items_call(items, item);
	failing = 0;
	if (ret > 0)
		counted_add_item(&counting->given, item);
	failing = nr;
	return ret;
}

/* Get the next item that is not a range. Return false at the end of the stream. */
static bool count_next(struct counting *counting, struct nt_item *item)
{
	struct items *items = &counting->items;

	for (;;) {
		int ret = count_call(counting, item);
		size_t n = items->size - items->at;

		if (ret > 0 && item->type != NT_ITEM_RANGE)
			return true;
		if (ret > 0 || (ret == NT_E_NOMEM && failing))
			continue;
		if (ret < 0)
			abort();
		if (n) {
			n = n < counting->way.piece ? n : counting->way.piece;
			nt_flow_feed(items->flow, items->data + items->at, n);
			items->at += n;
		} else if (!items->ended) {
			nt_flow_end(items->flow);
			items->ended = true;
		} else {
			return false;
		}
	}
}

static bool next_other(struct items *items, struct counted *counted, struct nt_item *item)
{
	while (items_next(items, item)) {
		if (item->type != NT_ITEM_RANGE)
			return true;
		counted_add_item(counted, item);
	}
	return false;
}

/* Return true if the counts and ranges that the decoder returned are together the same as @one. */
static bool has_counted(struct counting *counting, struct counted *one)
{
	struct nt_count count;
	uint64_t at = 0;

	take_counts(counting);
	failing = 0;
	while (nt_counts_next(counting->counts, &at, &count))
		*counted_add(&counting->given) = count;
	counted_fold(&counting->given);
	counted_fold(one);
	for (at = 0; at < one->n && at < counting->given.n; at++) {
		if (!counted_is_same(&one->v[at], &counting->given.v[at]))
			break;
	}
	if (at == one->n && at == counting->given.n)
		return true;
	printf("entry %" PRIu64 " of %zu and %zu differs\n", at, one->n, counting->given.n);
	if (at < one->n)
		counted_print("ranges ", &one->v[at]);
	if (at < counting->given.n)
		counted_print("counted", &counting->given.v[at]);
	return false;
}

/*
 * Count the instructions of the trace while @nr allocations fail, beginning with allocation number @first.
 * Return false if a count or an item differs. Set *made to the number of allocations.
 */
static bool compare_counts(const struct nt_config *config, struct nt_image *image,
			   const struct trace *trace, bool middle, struct count_way way,
			   unsigned long first, unsigned long nr, unsigned long *made)
{
	struct items_way plain = { .piece = SIZE_MAX, .middle = middle };
	struct items_way other = { .piece = SIZE_MAX, .middle = middle, .batches = way.batches };
	struct counting counting = { .way = way, .counts = nt_counts_new() };
	struct counted counted = { 0 };
	struct items one;
	struct nt_item a, b;
	bool has_a = true, has_b, same = true;

	if (!items_begin(&one, config, image, trace->data, trace->size, plain) ||
	    !items_begin(&counting.items, config, image, trace->data, trace->size, other))
		exit(2);
	allocations = 0;
	first_failing = first;
	while (same && has_a) {
		failing = 0;
		has_a = next_other(&one, &counted, &a);
		failing = nr;
		has_b = count_next(&counting, &b);
		same = has_a == has_b && (!has_a || (items_hash(0, &a) == items_hash(0, &b) &&
						      a.offset == b.offset));
	}
	if (!same) {
		print("one by one", has_a, &a);
		print("counted   ", has_b, &b);
	}
	*made = allocations;
	same = same && has_counted(&counting, &counted);
	failing = 0;
	if (!same)
		printf("%zu bytes in pieces of %zu, counts %08" PRIx32 " batches %08" PRIx32
		       " taken every %u, allocation %lu and %lu more fail\n", trace->size,
		       way.piece, way.counts, way.batches, way.takes, first, nr - 1);
	items_end(&one);
	items_end(&counting.items);
	nt_counts_free(counting.counts);
	counted_free(&counting.given);
	counted_free(&counted);
	return same;
}

static bool compare_parallel(const struct nt_config *config, struct nt_image *image,
			     const struct trace *trace, unsigned int threads)
{
	struct items_way plain = { .piece = SIZE_MAX };
	struct nt_counts *counts = nt_counts_new();
	struct counted counted = { 0 };
	struct nt_stats stats, parallel;
	struct nt_item item;
	struct items one;
	bool same;

	if (!items_begin(&one, config, image, trace->data, trace->size, plain))
		exit(2);
	while (next_other(&one, &counted, &item))
		;
	counted_fold(&counted);
	nt_flow_stats(one.flow, &stats, sizeof(stats));
	same = !nt_parallel_count(config, image, trace->data, trace->size, threads, counts,
				  &parallel) &&
		!memcmp(&stats, &parallel, sizeof(stats)) && counted_is(&counted, counts);
	if (!same)
		printf("%u threads: counts, or statistics, differ\n", threads);
	items_end(&one);
	nt_counts_free(counts);
	counted_free(&counted);
	return same;
}

/* Skip a trace whose few messages report billions of ranges, because decoding takes too long. */
static bool has_few_items(const struct options *options, struct nt_image *image,
			  const struct trace *trace)
{
	struct items_way plain = { .piece = SIZE_MAX, .middle = options->middle };
	struct items items;
	struct nt_item item;
	unsigned int nr = 0;

	if (!items_begin(&items, &options->config, image, trace->data, trace->size, plain))
		exit(2);
	while (nr < MAX_ITEMS && items_next(&items, &item))
		nr++;
	items_end(&items);
	return nr < MAX_ITEMS;
}

static bool compare_all_counts(const struct options *options, struct nt_image *image,
			       const struct trace *trace)
{
	bool same = true;
	unsigned long made;
	unsigned int threads;
	size_t i;

	if (!has_few_items(options, image, trace))
		return true;
	for (i = 0; i < sizeof(count_ways) / sizeof(count_ways[0]); i++)
		same &= compare_counts(&options->config, image, trace, options->middle,
				       count_ways[i], 0, 0, &made);
	for (threads = 1; threads <= 5 && !options->middle; threads++)
		same &= compare_parallel(&options->config, image, trace, threads);
	return same;
}

static bool sweep_counts(const struct options *options, struct nt_image *image,
			 const struct trace *trace, unsigned long every)
{
	struct count_way way = { .piece = SIZE_MAX, .counts = UINT32_MAX, .takes = 2 };
	unsigned long first, made, ignored;
	bool same;

	if (!has_few_items(options, image, trace))
		return true;
	same = compare_counts(&options->config, image, trace, options->middle, way, ULONG_MAX / 2,
			      1, &made);
	for (first = 0; same && first < made; first += every)
		same = compare_counts(&options->config, image, trace, options->middle, way, first,
				      1 + first % 3, &ignored);
	if (same)
		printf("%lu allocations of counting\n", made);
	return same;
}

static struct trace read_trace(const char *path, const struct options *options)
{
	struct input *input = input_open(path, options);
	struct trace trace = { 0 };
	const uint8_t *data;
	long n;

	if (!input)
		exit(2);
	while ((n = input_read(input, &data)) > 0) {
		trace.data = realloc(trace.data, trace.size + n);
		if (!trace.data)
			exit(2);
		memcpy(trace.data + trace.size, data, n);
		trace.size += n;
	}
	input_close(input);
	return trace;
}

static struct trace repeat(struct trace trace, unsigned int times)
{
	struct trace all = { .data = malloc(trace.size * times + 1), .size = trace.size * times };
	unsigned int i;

	for (i = 0; trace.size && i < times; i++)
		memcpy(all.data + i * trace.size, trace.data, trace.size);
	return all;
}

static bool compare_all(const struct options *options, struct nt_image *image,
			const struct trace *trace)
{
	bool same = true;
	size_t i;

	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		struct items_way way = ways[i];

		way.middle = options->middle;
		same &= compare(&options->config, image, trace, way);
	}
	return same;
}

static struct nt_image *image;
static struct options options;

static bool add_elf(const struct option_entry *option, const char *arg)
{
	unsigned int xlen;

	(void)option;
	if (!add_code(image, arg, &xlen))
		return false;
	if (xlen == 32)
		options.config.xlen = 32;
	return true;
}

int main(int argc, char **argv)
{
	struct trace once, often;
	unsigned long every = 1;
	const struct option_entry entries[] = {
		COMMON_OPTIONS(&options),
		OPTION_CALL(0, "elf", "ELF", add_elf, NULL, ""),
		OPTION_NUMBER(0, "no-memory", "EVERY", &every, 0, ""),
		{ 0 }
	};
	bool same;

	image = nt_image_new();
	options_init(&options);
	if (options_parse(argc, argv, "", "", entries) >= 0)
		return 2;
	if (optind + 1 != argc)
		return 2;
	once = read_trace(argv[optind], &options);
	often = repeat(once, 40);
	same = compare_all(&options, image, &once);
	same &= compare_all_counts(&options, image, &once);
	if (once.size < 4000) {
		same &= compare_all(&options, image, &often);
		same &= compare_all_counts(&options, image, &often);
	}
	same &= sweep_allocations(&options, image, &once, every);
	same &= sweep_counts(&options, image, &once, every);
	free(once.data);
	free(often.data);
	nt_image_free(image);
	return !same;
}
