// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that counting is exact while the code and the address space of the traced program change.
 *
 *   counts ELF TRACE [--timestamp] [--implicit-return] [--src-bits N] ...
 *
 * Two flows decode the trace in pieces. One flow returns ranges, and the other flow counts. After
 * each piece, the test changes the code or the address space of both flows in the same way. The
 * counts must equal the sums of the returned ranges. The test prints how many times it decoded the
 * program, and exits with 1 if anything differs.
 */
#include <stdio.h>

#include "counted.h"
#include "code.h"
#include "cli/options.h"

static uint64_t space_now;

static uint64_t current_space(void *ctx, const struct nt_context *context)
{
	(void)ctx;
	(void)context;
	return space_now;
}

/* Code that temporarily replaces a part of the program. It consists of c.nop instructions, and ends with c.jr ra. */
static uint8_t other_code[64];

static void make_other_code(void)
{
	size_t i;

	for (i = 0; i < sizeof(other_code); i += 2)
		other_code[i] = 1;
	other_code[62] = 0x82;
	other_code[63] = 0x80;
}

struct pair {
	struct nt_config	config;
	struct nt_image		*image;
	struct nt_flow		*ranges;
	struct nt_flow		*counting;
	struct counted		counted;
	struct nt_counts	*counts;
	uint64_t		hot;		/* recently executed address, at which change() changes the code */
	uint64_t		patched;	/* address at which other_code replaces the program, or 0 */
	uint64_t		nr_ranges;
	unsigned int		pieces;
};

static void fail(const char *what)
{
	printf("# %s\n", what);
	exit(1);
}

static void decode_piece(struct pair *pair, const uint8_t *data, size_t size, bool last)
{
	struct nt_item item;

	if (nt_flow_feed(pair->ranges, data, size) || nt_flow_feed(pair->counting, data, size))
		fail("a piece was not taken");
	if (last) {
		nt_flow_end(pair->ranges);
		nt_flow_end(pair->counting);
	}
	while (nt_flow_next(pair->ranges, &item) > 0) {
		counted_add_item(&pair->counted, &item);
		pair->nr_ranges += item.type == NT_ITEM_RANGE;
		if (item.type == NT_ITEM_RANGE)
			pair->hot = item.range.start;
	}
	while (nt_flow_count(pair->counting, &item) > 0)
		;
}

static void unpatch(struct pair *pair)
{
	if (pair->patched && nt_image_remove(pair->image, 0, pair->patched, sizeof(other_code)))
		fail("a section was not removed");
	pair->patched = 0;
}

/* Make one of eight changes to the code or the address space. Each call makes the next one in a fixed order. */
static void change(struct pair *pair)
{
	switch (pair->pieces++ % 8) {
	case 1:
		nt_image_invalidate(pair->image);
		break;
	case 2:
		space_now = pair->pieces % 3;
		nt_image_remap(pair->image);
		break;
	case 3:
		nt_image_invalidate_range(pair->image, pair->hot, 100);
		break;
	case 4:
		pair->patched = pair->hot;
		if (nt_image_add(pair->image, 0, pair->hot, other_code, sizeof(other_code)))
			fail("out of memory");
		break;
	case 5:
		unpatch(pair);
		break;
	case 6:
		if (nt_counts_take(pair->counts, pair->counting))
			fail("out of memory");
		break;
	case 7:
		nt_flow_restart(pair->ranges, 0, true);
		nt_flow_restart(pair->counting, 0, true);
		break;
	}
}

/*
 * Split the count of each entry into two parts, and add both parts to a new set. Return true if the new
 * set equals the old one.
 */
static bool copy_is(const struct pair *pair)
{
	struct nt_counts *copy = nt_counts_new();
	struct nt_count count, half;
	uint64_t at = 0;
	bool same;

	while (copy && nt_counts_next(pair->counts, &at, &count)) {
		half = count;
		half.count /= 2;
		half.insns /= 2;
		half.not_taken /= 2;
		count.count -= half.count;
		count.insns -= half.insns;
		count.not_taken -= half.not_taken;
		if (nt_counts_add(copy, &half) || nt_counts_add(copy, &count))
			fail("out of memory");
	}
	same = copy && counted_is(&pair->counted, copy);
	nt_counts_free(copy);
	return same;
}

static void compare(struct pair *pair, const uint8_t *data, size_t size, size_t piece)
{
	struct nt_image_reader reader = { .space = current_space };
	size_t at = 0, n;

	space_now = 0;
	nt_image_set_reader(pair->image, &reader);
	pair->ranges = nt_flow_new(&pair->config, pair->image);
	pair->counting = nt_flow_new(&pair->config, pair->image);
	pair->counts = nt_counts_new();
	if (!pair->ranges || !pair->counting || !pair->counts)
		fail("out of memory");
	for (; at < size; at += n) {
		n = size - at < piece ? size - at : piece;
		decode_piece(pair, data + at, n, at + n == size);
		if (piece < size)
			change(pair);
	}
	unpatch(pair);
	counted_fold(&pair->counted);
	if (nt_counts_take(pair->counts, pair->counting) || !counted_is(&pair->counted, pair->counts))
		fail("counts differ from those of the ranges");
	if (!copy_is(pair))
		fail("the sum of the entries of a set differs from the set");
	nt_flow_free(pair->ranges);
	nt_flow_free(pair->counting);
	nt_counts_free(pair->counts);
	counted_free(&pair->counted);
}

static uint8_t *read_all(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(8 << 20);

	if (!file || !data)
		exit(2);
	*size = fread(data, 1, 8 << 20, file);
	fclose(file);
	return data;
}

int main(int argc, char **argv)
{
	static const size_t pieces[] = { 100, 3000, 20000, SIZE_MAX };
	struct pair pair = { .image = nt_image_new() };
	struct options options;
	unsigned int xlen;
	uint8_t *data;
	size_t size, i;
	const struct option_entry entries[] = { COMMON_OPTIONS(&options), { 0 } };

	options_init(&options);
	if (options_parse(argc, argv, "", "", entries) >= 0)
		return 2;
	if (optind + 2 != argc || !add_code(pair.image, argv[optind], &xlen))
		return 2;
	pair.config = options.config;
	data = read_all(argv[optind + 1], &size);
	make_other_code();
	for (i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		compare(&pair, data, size, pieces[i]);
	printf("# figure: %" PRIu64 " ranges and their counts compared\n", pair.nr_ranges);
	nt_image_free(pair.image);
	free(data);
	return 0;
}
