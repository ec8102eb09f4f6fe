// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode any messages with any code. One flow decodes the whole stream item by item. Another flow gets
 * the stream in pieces, or returns batches, or a mixture of items and batches. Both must return the
 * same items with the same fields. nt_flow_count() must return the counts of the same ranges. The input
 * contains the stream only once, but the target repeats it, because a flow stores the blocks to which
 * messages led, and uses them again. The image may change between the repetitions, and allocations of
 * one or both flows may fail.
 *
 * The input consists of four bytes that choose the options, a byte with the size of the code in
 * units of 8 bytes, the code (at 0x1000), and the stream. All other
 * choices depend on a sum of all bytes, so that each mutation of an input leads to different choices.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "../lib/counted.h"
#include "../lib/items.h"
#include "nomem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * maximum number of decoded items. A few bytes can report billions of instructions, whose decoding
 * would take too long.
 */
#define MAX_ITEMS	20000

#define REPEAT		4

static void describe(const struct nt_item *item)
{
	char text[256];

	if (nt_item_desc(item, text, sizeof(text)) < 0)
		abort();
}

#define CODE		0x1000

/* The decoded input and its options */
struct input {
	struct nt_config	config;
	struct nt_image		*image;
	const uint8_t		*code;
	size_t			code_size;
	uint8_t			*stream;
	size_t			size;		/* size of one repetition in bytes */
	uint32_t		chance;
	bool			flip;		/* exchange the address spaces of even and odd values of scontext */
};

/* Return the next random number below @n */
static uint32_t choose(struct input *input, uint32_t n)
{
	input->chance = input->chance * 1664525 + 1013904223;
	return (input->chance >> 16) % n;
}

static uint64_t space_of(void *ctx, const struct nt_context *context)
{
	const struct input *input = ctx;

	return (context->scontext & 1) ^ input->flip;
}

/* Change the image, which both flows use. */
static void change_image(struct input *input)
{
	struct nt_image_reader reader = { .space = space_of, .ctx = input };
	size_t half = input->code_size / 2;

	switch (choose(input, 6)) {
	case 0:
		nt_image_invalidate(input->image);
		break;
	case 1:
		nt_image_remove(input->image, 0, CODE, input->code_size);
		break;
	case 2:
		if (half)
			nt_image_add(input->image, choose(input, 2), CODE + 2 * choose(input, 8),
				     input->code + half, half);
		break;
	case 3:
		nt_image_set_reader(input->image, &reader);
		break;
	case 4:
		input->flip = !input->flip;
		nt_image_remap(input->image);
		break;
	}
}

/* Get the next item while some allocations fail. The flow must report the failure and then continue. */
static bool next_or_nomem(struct input *input, struct items *items, struct nt_item *item)
{
	bool more;

	if (choose(input, 8))
		return items_next(items, item);
	nomem_begin(choose(input, 4), 1 + choose(input, 3));
	more = items_next(items, item);
	if (!nomem_end() || more)
		return more;
	if (items->error && items->error != NT_E_NOMEM)
		abort();
	items->error = NT_OK;
	/* the failed call has lost no trace, so the next call must succeed */
	return items_next(items, item);
}

/*
 * Decode the same stream in two ways, and compare each item. Return false if there are more than
 * MAX_ITEMS items.
 */
static bool compare(struct input *input, struct items *one, struct items *other, unsigned int *nr)
{
	struct nt_item a, b;

	while ((*nr)++ < MAX_ITEMS) {
		bool more = items_next(one, &a);

		if (next_or_nomem(input, other, &b) != more)
			abort();
		if (!more)
			return true;
		describe(&a);
		if (!items_are_same(&input->config, &a, &b))
			abort();
	}
	return false;
}

static void compare_all(struct input *input, struct items_way way)
{
	struct items_way plain = { .piece = SIZE_MAX };
	struct items one, other;
	unsigned int i, nr = 0;
	bool more = true;

	if (!items_begin(&one, &input->config, input->image, input->stream, REPEAT * input->size,
			 plain) ||
	    !items_begin(&other, &input->config, input->image, input->stream,
			 REPEAT * input->size, way))
		abort();
	for (i = 1; i <= REPEAT && more; i++) {
		one.limit = i * input->size;
		other.limit = one.limit;
		more = compare(input, &one, &other, &nr);
		if (i > 1 && more)
			change_image(input);
	}
	items_end(&one);
	items_end(&other);
}

/* Count the ranges of the stream. Return false if there are too many. */
static bool count_ranges(struct input *input, struct counted *counted)
{
	struct items_way plain = { .piece = SIZE_MAX };
	struct items items;
	struct nt_item item;
	unsigned int nr = 0;

	if (!items_begin(&items, &input->config, input->image, input->stream,
			 REPEAT * input->size, plain))
		abort();
	while (nr < MAX_ITEMS && items_next(&items, &item)) {
		counted_add_item(counted, &item);
		nr++;
	}
	items_end(&items);
	counted_fold(counted);
	return nr < MAX_ITEMS;
}

/* Count the ranges of the stream, which is fed in pieces, and take the counts after some of the pieces. */
static void compare_counts(struct input *input)
{
	struct nt_counts *counts = nt_counts_new();
	struct nt_flow *flow = nt_flow_new(&input->config, input->image);
	size_t all = REPEAT * input->size, at = 0, n;
	struct counted counted = { .n = 0 };
	struct nt_item item;

	if (!counts || !flow)
		abort();
	if (count_ranges(input, &counted)) {
		do {
			n = choose(input, 2) ? all : choose(input, 100);
			n = n < all - at ? n : all - at;
			nt_flow_feed(flow, input->stream + at, n);
			at += n;
			while (nt_flow_count(flow, &item) > 0)
				describe(&item);
			if (!choose(input, 4) && nt_counts_take(counts, flow))
				abort();
		} while (at < all);
		nt_flow_end(flow);
		while (nt_flow_count(flow, &item) > 0)
			describe(&item);
		if (nt_counts_take(counts, flow) || !counted_is(&counted, counts))
			abort();
	}
	counted_free(&counted);
	nt_counts_free(counts);
	nt_flow_free(flow);
}

static void set_config(struct nt_config *config, const uint8_t *data)
{
	config->src_bits = data[0] & 3;
	config->timestamp = data[0] >> 2 & 1;
	config->xlen = data[0] >> 3 & 1 ? 32 : 64;
	config->extend_addr = data[0] >> 4 & 1;
	config->sequential_jump = data[0] >> 5 & 1;
	config->all_jumps = data[0] >> 6 & 1;
	config->mode = data[1] & 3 ? NT_MODE_AUTO : data[1] & 4 ? NT_MODE_BTM : NT_MODE_HTM;
	config->return_depth = data[1] >> 3;
	config->isa = data[2] & 3;
	config->tstamp_bits = data[2] >> 2;
	config->jvt = 0x1000;
	if ((data[1] & 3) == 2)
		config->dialect = NT_DIALECT_SIFIVE0;
	if ((data[1] & 3) == 3)
		config->addr_bits = 32 + config->return_depth;
	config->return_full = data[3] >> 7;
	config->custom_jumps = data[3] >> 5 & 3;
}

/* Choose the size of the pieces that the flow gets, and the calls that return batches. */
static struct items_way choose_way(struct input *input, uint8_t byte)
{
	switch (choose(input, 4)) {
	case 0:
		return (struct items_way){ .piece = 1 + byte };
	case 1:
		return (struct items_way){ .piece = 1 + 12 * byte, .batches = input->chance };
	}
	return (struct items_way){ .piece = SIZE_MAX, .batches = UINT32_MAX };
}

static uint32_t sum_of(const uint8_t *data, size_t size)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	return sum;
}

/* Return the repeated stream in a buffer of exactly its size, so that the sanitizer detects reads beyond its end. */
static uint8_t *repeat(const uint8_t *data, size_t size)
{
	uint8_t *all = malloc(REPEAT * size + 1);
	unsigned int i;

	for (i = 0; i < REPEAT; i++)
		memcpy(all + 1 + i * size, data, size);
	return all;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct input input = { .config = config, .chance = sum_of(data, size) };
	uint8_t *all;

	if (size < 5)
		return 0;
	set_config(&input.config, data);
	input.code_size = data[4] * 8;
	if (nt_config_check(&input.config) || size < 5 + input.code_size)
		return 0;
	input.code = data + 5;
	input.size = size - 5 - input.code_size;
	input.image = nt_image_new();
	if (input.code_size)
		nt_image_add(input.image, 0, CODE, input.code, input.code_size);
	all = repeat(data + 5 + input.code_size, input.size);
	input.stream = all + 1;
	compare_all(&input, choose_way(&input, data[3]));
	compare_counts(&input);
	free(all);
	nt_image_free(input.image);
	return 0;
}
