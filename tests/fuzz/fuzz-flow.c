// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any messages through any code: the flow in pieces, item by item, has to be
 * what it is as a whole, in batches. All three times over, as what messages led to
 * is remembered.
 *
 * Input: four bytes that choose the options, a byte with the size of the code
 * in units of 8 bytes, the code (at 0x1000), then the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can tell of billions of instructions: that is no hang, but takes long. */
#define MAX_RANGES	20000

#define REPEAT		3

struct sum {
	uint64_t	hash;
	uint64_t	ranges;
};

static void add(struct sum *sum, uint64_t a, uint64_t b)
{
	sum->hash = ((sum->hash ^ a) * 0x100000001b3ULL ^ b) * 0x100000001b3ULL;
}

static void add_range(struct sum *sum, uint64_t start, uint64_t end, unsigned int insns,
		      unsigned int how, unsigned int flags)
{
	if (sum->ranges++ < MAX_RANGES)
		add(sum, start, end ^ (uint64_t)insns << 32 ^ (uint64_t)how << 56 ^
		    (uint64_t)flags << 62);
}

static void add_event(struct sum *sum, const struct nt_item *item)
{
	char text[256];

	if (nt_item_desc(item, text, sizeof(text)) < 0)
		abort();
	if (sum->ranges < MAX_RANGES)
		add(sum, item->type, item->type == NT_ITEM_ERROR ? (uint64_t)item->error.code :
		    item->offset);
}

static struct sum by_items(const struct nt_config *config, struct nt_image *image,
			   const uint8_t *data, size_t size, size_t piece)
{
	struct nt_flow *flow = nt_flow_new(config, image);
	struct sum sum = { 0 };
	struct nt_item item;
	size_t at = 0, n;
	int ended = 0;

	while (sum.ranges < MAX_RANGES) {
		if (nt_flow_next(flow, &item) > 0) {
			if (item.type == NT_ITEM_RANGE)
				add_range(&sum, item.range.start, item.range.end, item.range.insns,
					  item.range.how,
					  (item.range.taken ? NT_RANGE_TAKEN : 0) |
					  (item.range.inferred ? NT_RANGE_INFERRED : 0));
			else
				add_event(&sum, &item);
			continue;
		}
		if (at < size) {
			n = size - at < piece ? size - at : piece;
			nt_flow_feed(flow, data + at, n);
			at += n;
		} else if (!ended) {
			nt_flow_end(flow);
			ended = 1;
		} else {
			break;
		}
	}
	nt_flow_free(flow);
	return sum;
}

static struct sum by_batches(const struct nt_config *config, struct nt_image *image,
			     const uint8_t *data, size_t size)
{
	struct nt_flow *flow = nt_flow_new(config, image);
	uint64_t mask = config->xlen == 32 ? UINT32_MAX : UINT64_MAX;
	struct sum sum = { 0 };
	struct nt_batch batch;
	size_t i;

	nt_flow_feed(flow, data, size);
	nt_flow_end(flow);
	while (sum.ranges < MAX_RANGES && nt_flow_next_batch(flow, &batch) > 0) {
		for (i = 0; i < batch.nr; i++) {
			const struct nt_range *r = &batch.ranges[i];

			add_range(&sum, r->start, (r->start + 2ULL * r->halfwords) & mask,
				  r->insns, r->end, r->flags);
		}
		if (!batch.nr)
			add_event(&sum, &batch.item);
	}
	nt_flow_free(flow);
	return sum;
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
}

/* A copy of exactly that size, so that reading beyond it is noticed */
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
	struct nt_image *image;
	struct sum a, b;
	uint8_t *all;
	size_t code;

	if (size < 5)
		return 0;
	set_config(&config, data);
	code = data[4] * 8;
	if (nt_config_check(&config) || size < 5 + code)
		return 0;
	size -= 5 + code;
	image = nt_image_new();
	if (code)
		nt_image_add(image, 0, 0x1000, data + 5, code);
	all = repeat(data + 5 + code, size);
	size *= REPEAT;
	a = by_items(&config, image, all + 1, size, 1 + data[3]);
	b = by_batches(&config, image, all + 1, size);
	if (a.ranges < MAX_RANGES && a.hash != b.hash)
		abort();
	free(all);
	nt_image_free(image);
	return 0;
}
