// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any messages through any code: the flow in pieces and in batches, or in a mixture of both
 * calls, has to give the same items as the whole stream does item by item. All that an item
 * has is compared. The stream is repeated, as the flow remembers what messages led to.
 *
 * Input: four bytes that choose the options, a byte with the size of the code
 * in units of 8 bytes, the code (at 0x1000), then the stream.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "../unit/items.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A few bytes can tell of billions of instructions: that is no hang, but takes long. */
#define MAX_ITEMS	20000

#define REPEAT		4

static void describe(const struct nt_item *item)
{
	char text[256];

	if (nt_item_desc(item, text, sizeof(text)) < 0)
		abort();
}

/* The same stream in two ways, in step */
static void compare(const struct nt_config *config, struct nt_image *image, const uint8_t *data,
		    size_t size, struct items_way way)
{
	struct items_way plain = { .piece = SIZE_MAX };
	struct items one, other;
	struct nt_item a, b;
	unsigned int nr = 0;
	bool more = true;

	if (!items_begin(&one, config, image, data, size, plain) ||
	    !items_begin(&other, config, image, data, size, way))
		abort();
	while (more && nr++ < MAX_ITEMS) {
		more = items_next(&one, &a);
		if (items_next(&other, &b) != more)
			abort();
		if (!more)
			break;
		describe(&a);
		if (!items_are_same(config, &a, &b))
			abort();
	}
	items_end(&one);
	items_end(&other);
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
}

/* Batches, pieces, or a mixture: each mutation of an input takes its chance. */
static struct items_way choose_way(const uint8_t *data, size_t size)
{
	uint32_t sum = 0;
	size_t i;

	for (i = 0; i < size; i++)
		sum = sum * 31 + data[i];
	switch (sum >> 16 & 3) {
	case 0:
		return (struct items_way){ .piece = 1 + data[3] };
	case 1:
		return (struct items_way){ .piece = 1 + 12 * data[3], .batches = sum };
	}
	return (struct items_way){ .piece = SIZE_MAX, .batches = UINT32_MAX };
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
	compare(&config, image, all + 1, size, choose_way(data, 5 + code + size / REPEAT));
	free(all);
	nt_image_free(image);
	return 0;
}
