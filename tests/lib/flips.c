// SPDX-License-Identifier: GPL-2.0-only
/*
 * Flip single bits of a real trace, and check whether the library notices.
 *
 *   flips ELF TRACE FLIPS SEED btm|htm|ir|ts [ENCODER]
 *
 * A flip is detected (an item reports an error or a loss), harmless (the same ranges), or silently
 * wrong. In each case, the ranges after the next SYNC must equal those of the undamaged trace. No
 * decoder can detect some flips. For example, if both directions of a branch lead to the same address
 * after code of the same length, a flip of the bit of HIST for this branch is always silently wrong.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "code.h"

#define MAX_SYNCS	100000

struct segment {
	uint64_t	offset;		/* offset of the message with SYNC at which this part begins */
	uint64_t	hash;		/* hash of the ranges up to the next message with SYNC */
};

struct result {
	struct segment	*segments;
	size_t		nr;
	uint64_t	noticed;	/* number of items that report an error or a loss */
	uint64_t	hash;		/* hash of all ranges */
	uint64_t	ranges;
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3ULL;
}

static void add_ranges(struct result *result, const struct nt_batch *batch)
{
	struct segment *segment = &result->segments[result->nr ? result->nr - 1 : 0];
	size_t i;

	for (i = 0; i < batch->nr; i++) {
		const struct nt_range *r = &batch->ranges[i];
		uint64_t value = r->start ^ (uint64_t)r->halfwords << 48 ^
				 (uint64_t)(r->flags & NT_RANGE_TAKEN) << 47;

		result->hash = mix(result->hash, value);
		segment->hash = mix(segment->hash, value);
	}
	result->ranges += batch->nr;
}

static void add_item(struct result *result, const struct nt_item *item)
{
	switch (item->type) {
	case NT_ITEM_SYNC:
		if (result->nr < MAX_SYNCS)
			result->segments[result->nr++] = (struct segment){ item->offset, 0 };
		break;
	case NT_ITEM_STOP:
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
	case NT_ITEM_LOST:
	case NT_ITEM_SKIPPED:
		result->noticed++;
		break;
	}
}

static void decode(struct nt_flow *flow, const uint8_t *data, size_t size, struct result *result)
{
	struct segment *segments = result->segments;
	struct nt_batch batch;

	memset(result, 0, sizeof(*result));
	result->segments = segments;
	segments[0].hash = 0;
	nt_flow_restart(flow, 0, false);
	nt_flow_feed(flow, data, size);
	nt_flow_end(flow);
	while (nt_flow_next_batch(flow, &batch) > 0) {
		if (batch.nr)
			add_ranges(result, &batch);
		else
			add_item(result, &batch.item);
	}
}

/*
 * Return true if all ranges from the second SYNC after the offset @flip to the last SYNC are unchanged.
 */
static int is_contained(const struct result *good, const struct result *bad, size_t flip)
{
	size_t i = 0, j;

	while (i < good->nr && good->segments[i].offset <= flip)
		i++;
	/* The flip may have joined the first message with SYNC to the one before, so begin with the second SYNC */
	for (i++; i < good->nr; i++) {
		for (j = 0; j < bad->nr; j++) {
			if (bad->segments[j].offset == good->segments[i].offset)
				break;
		}
		if (j == bad->nr || bad->segments[j].hash != good->segments[i].hash)
			return 0;
	}
	return 1;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static uint8_t *read_trace(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(1 << 24);

	if (!file || !data)
		return NULL;
	*size = fread(data, 1, 1 << 24, file);
	fclose(file);
	return data;
}

static int run(struct nt_flow *flow, uint8_t *data, size_t size, unsigned long flips,
	       uint64_t seed, const char *name)
{
	struct result good = { .segments = calloc(MAX_SYNCS, sizeof(struct segment)) };
	struct result bad = { .segments = calloc(MAX_SYNCS, sizeof(struct segment)) };
	unsigned long detected = 0, harmless = 0, silent = 0, escaped = 0, i;

	decode(flow, data, size, &good);
	for (i = 0; i < flips; i++) {
		uint64_t r = next_random(&seed);
		size_t at = r % size;
		uint8_t bit = 1 << (r >> 60 & 7);

		data[at] ^= bit;
		decode(flow, data, size, &bad);
		data[at] ^= bit;
		if (bad.noticed != good.noticed)
			detected++;
		else if (bad.hash == good.hash && bad.ranges == good.ranges)
			harmless++;
		else
			silent++;
		if (!is_contained(&good, &bad, at))
			escaped++;
	}
	printf("%s: %lu flips: %lu detected, %lu harmless, %lu silently wrong (%.2f %%), %lu beyond the next SYNC\n",
	       name, flips, detected, harmless, silent, 100.0 * silent / flips, escaped);
	return escaped || good.noticed > 1;
}

int main(int argc, char **argv)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_flow *flow;
	unsigned int xlen;
	uint8_t *data;
	size_t size;

	if (argc < 6 || !add_code(image, argv[1], &xlen))
		return 2;
	config.timestamp = !strcmp(argv[5], "ts");
	if (argc > 6 && nt_encoder_find(argv[6], &config.dialect))
		return 2;
	config.return_depth = strcmp(argv[5], "ir") ? 0 : nt_encoder_return_depth(config.dialect);
	config.mode = strcmp(argv[5], "btm") ? NT_MODE_HTM : NT_MODE_BTM;
	flow = nt_flow_new(&config, image);
	data = read_trace(argv[2], &size);
	if (!flow || !data)
		return 2;
	return run(flow, data, size, strtoul(argv[3], NULL, 0), strtoull(argv[4], NULL, 0), argv[5]);
}
