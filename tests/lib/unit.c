// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test functions of libntrace that the readable cases of tests/ntt cannot test, through the public
 * header.
 *
 * argv[1] is a folder with prog.elf and traces of it, made by lib/unit.t. Each trace is decoded in
 * several ways, which must give the same items.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <ntrace/ntrace.h>

#include "code.h"

static const char *folder;

/* ---- helpers ---- */

struct bytes {
	uint8_t	*data;
	size_t	size;
};

static struct bytes read_file(const char *name)
{
	struct bytes bytes = { 0 };
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	fseek(file, 0, SEEK_END);
	bytes.size = ftell(file);
	rewind(file);
	bytes.data = malloc(bytes.size);
	assert_int_equal(fread(bytes.data, 1, bytes.size, file), bytes.size);
	fclose(file);
	return bytes;
}

static struct nt_image *program_image(void)
{
	struct nt_image *image = nt_image_new();
	unsigned int xlen;
	char path[512];

	snprintf(path, sizeof(path), "%s/prog.elf", folder);
	assert_true(add_code(image, path, &xlen));
	assert_int_equal(xlen, 64);
	return image;
}

/* Summary of the decoded items of a stream. The hash depends on the order and the content of the items. */
struct sum {
	uint64_t	hash;
	uint64_t	insns;
	uint64_t	ranges;
	uint64_t	errors;
	uint64_t	gaps;
	uint64_t	syncs;
};

static void mix(struct sum *sum, uint64_t value)
{
	sum->hash = (sum->hash ^ value) * 0x100000001b3ULL;
}

static void add_range(struct sum *sum, uint64_t start, uint64_t halfwords, unsigned int insns,
		      unsigned int how, bool taken, bool inferred)
{
	mix(sum, start);
	mix(sum, halfwords << 40 | insns << 16 | how << 2 | taken << 1 | inferred);
	sum->insns += insns;
	sum->ranges++;
}

static void add_item(struct sum *sum, const struct nt_item *item)
{
	mix(sum, item->type);
	switch (item->type) {
	case NT_ITEM_RANGE:
		add_range(sum, item->range.start, (item->range.end_addr - item->range.start) / 2,
			  item->range.insns, item->range.how, item->range.taken,
			  item->range.inferred);
		break;
	case NT_ITEM_SYNC:
		mix(sum, item->sync.addr);
		sum->syncs++;
		break;
	case NT_ITEM_ERROR:
		mix(sum, item->error.code);
		sum->errors++;
		break;
	case NT_ITEM_GAP:
		mix(sum, item->gap.code);
		sum->gaps++;
		break;
	}
}

static int add_batch(void *ctx, const struct nt_batch *batch)
{
	struct sum *sum = ctx;
	size_t i;

	if (!batch->nr)
		add_item(sum, &batch->item);
	for (i = 0; i < batch->nr; i++) {
		const struct nt_range *r = &batch->ranges[i];

		mix(sum, NT_ITEM_RANGE);
		add_range(sum, r->start, r->halfwords, r->insns, r->how, r->flags & NT_RANGE_TAKEN,
			  !!(r->flags & NT_RANGE_INFERRED));
	}
	return 0;
}

/* Decode @bytes in pieces of @piece bytes. If @batches, get batches instead of single items. */
static struct sum decode(const struct nt_config *config, struct bytes bytes, size_t piece,
			 bool batches)
{
	struct nt_image *image = program_image();
	struct nt_flow *flow = nt_flow_new(config, image);
	struct nt_batch batch;
	struct nt_item item;
	struct sum sum = { 0 };
	uint64_t dest = 0;
	bool has_dest = false;
	size_t at;

	assert_non_null(flow);
	for (at = 0; at <= bytes.size; at += piece) {
		size_t n = bytes.size - at < piece ? bytes.size - at : piece;

		assert_int_equal(nt_flow_feed(flow, bytes.data + at, n), NT_OK);
		if (n < piece)
			nt_flow_end(flow);
		while (batches && nt_flow_next_batch(flow, &batch) > 0)
			add_batch(&sum, &batch);
		while (!batches && nt_flow_next(flow, &item) > 0) {
			add_item(&sum, &item);
			if (item.type != NT_ITEM_RANGE) {
				has_dest = false;
				continue;
			}
			if (has_dest)
				assert_int_equal(item.range.start, dest);
			has_dest = item.range.has_dest;
			dest = item.range.dest;
		}
	}
	nt_flow_free(flow);
	nt_image_free(image);
	return sum;
}

static void assert_same(const struct sum *a, const struct sum *b)
{
	assert_int_equal(a->ranges, b->ranges);
	assert_int_equal(a->insns, b->insns);
	assert_int_equal(a->errors, b->errors);
	assert_int_equal(a->hash, b->hash);
}

struct trace {
	const char	*name;
	struct nt_config config;
};

#define TRACE(...) { .size = sizeof(struct nt_config), .xlen = 64, .src_id = NT_SRC_ANY, __VA_ARGS__ }

static const struct trace traces[] = {
	{ "htm", TRACE(.mode = 0) },
	{ "btm", TRACE(.mode = NT_MODE_BTM) },
	{ "ir", TRACE(.return_depth = 32) },
	{ "ts", TRACE(.timestamp = 1, .src_bits = 4) },
	{ "rep", TRACE(.return_depth = 32) },
	{ "all", TRACE(.return_depth = 32, .sequential_jump = 1, .all_jumps = 1, .extend_addr = 1,
		       .timestamp = 1) },
};

#define NR_TRACES	(sizeof(traces) / sizeof(traces[0]))

/* ---- tests ---- */

static void pieces_agree(void **state)
{
	static const size_t pieces[] = { 1, 7, 33, 4096 };
	size_t i, j;

	(void)state;
	for (i = 0; i < NR_TRACES; i++) {
		struct bytes bytes = read_file(traces[i].name);
		struct sum whole = decode(&traces[i].config, bytes, SIZE_MAX / 2, true);
		struct sum sum;

		assert_int_equal(whole.errors, 0);
		assert_true(whole.insns > 100000);
		for (j = 0; j < 4; j++) {
			sum = decode(&traces[i].config, bytes, pieces[j], true);
			assert_same(&whole, &sum);
			sum = decode(&traces[i].config, bytes, pieces[j], false);
			assert_same(&whole, &sum);
		}
		free(bytes.data);
	}
}

static void threads_agree(void **state)
{
	unsigned int threads;
	size_t i;

	(void)state;
	for (i = 0; i < NR_TRACES; i++) {
		struct bytes bytes = read_file(traces[i].name);
		struct sum whole = decode(&traces[i].config, bytes, SIZE_MAX / 2, true);

		for (threads = 1; threads <= 3; threads++) {
			struct nt_image *image = program_image();
			struct nt_stats stats;
			struct sum sum = { 0 };

			assert_int_equal(nt_parallel_decode(&traces[i].config, image, bytes.data,
							    bytes.size, threads, add_batch, &sum,
							    &stats), NT_OK);
			assert_int_equal(sum.insns, whole.insns);
			assert_int_equal(sum.errors, 0);
			assert_int_equal(sum.syncs, whole.syncs);
			nt_image_free(image);
		}
		free(bytes.data);
	}
}

static int stop_at_once(void *ctx, const struct nt_batch *batch)
{
	(void)ctx;
	(void)batch;
	return 77;
}

static void parallel_stops(void **state)
{
	struct bytes bytes = read_file("htm");
	struct nt_image *image = program_image();
	struct nt_config config = NT_CONFIG_INIT;

	(void)state;
	assert_int_equal(nt_parallel_decode(&config, image, bytes.data, bytes.size, 2,
					    stop_at_once, NULL, NULL), 77);
	assert_int_equal(nt_parallel_decode(&config, image, bytes.data, bytes.size, 0,
					    stop_at_once, NULL, NULL), NT_E_INVALID);
	nt_image_free(image);
	free(bytes.data);
}

/*
 * Start to decode at each SYNC of a stream. The items must equal the items after the same SYNC
 * when the whole stream is decoded.
 */
static void sync_is_found(void **state)
{
	struct bytes bytes = read_file("htm"), rest;
	struct nt_config config = NT_CONFIG_INIT;
	struct sum all = decode(&config, bytes, SIZE_MAX / 2, true), sum;
	size_t offset, first;

	(void)state;
	assert_int_equal(nt_sync_find(&config, bytes.data, bytes.size, false, 0, &first), NT_OK);
	assert_int_equal(first, 0);
	assert_int_equal(nt_sync_find(&config, bytes.data, bytes.size, true, 3, &offset), NT_OK);
	assert_true(offset > 0);
	rest.data = bytes.data + offset;
	rest.size = bytes.size - offset;
	sum = decode(&config, rest, SIZE_MAX / 2, true);
	assert_int_equal(sum.errors, 0);
	assert_int_equal(sum.syncs, all.syncs - 4);
	assert_int_equal(nt_sync_find(&config, bytes.data, bytes.size, false, all.syncs, &offset),
			 NT_E_NOT_FOUND);
	config.xlen = 31;
	assert_int_equal(nt_sync_find(&config, bytes.data, bytes.size, false, 0, &offset),
			 NT_E_INVALID);
	free(bytes.data);
}

static void config_is_checked(void **state)
{
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_config small;
	struct { struct nt_config config; uint64_t unknown; } newer = { .config = config };

	(void)state;
	assert_int_equal(nt_config_check(&config), NT_OK);
	assert_int_equal(nt_config_check(NULL), NT_OK);
#define BAD(field, value)	do {					\
		struct nt_config bad = config;				\
		bad.field = value;					\
		assert_int_equal(nt_config_check(&bad), NT_E_INVALID);	\
		assert_string_equal(nt_config_bad_member(&bad), #field);	\
		assert_null(nt_flow_new(&bad, image));			\
		assert_null(nt_reader_new(&bad));			\
	} while (0)
	BAD(xlen, 0);
	BAD(xlen, 128);
	BAD(src_bits, 13);
	BAD(src_id, 1);
	BAD(mode, 1);
	BAD(tstamp_bits, 65);
	BAD(return_depth, NT_RETURN_DEPTH_MAX + 1);
	BAD(return_full, NT_RETURN_DROP_NEWEST + 1);
	BAD(custom_jumps, NT_CUSTOM_COMPRESSED << 1);
	BAD(size, 4);
	BAD(size, NT_CONFIG_SIZE_MAX + 1);
	BAD(timestamp, 2);
	BAD(sequential_jump, 2);
	BAD(all_jumps, 77);
	BAD(extend_addr, UINT32_MAX);
	BAD(isa, ~0u);
	BAD(dialect, NT_DIALECT_MICROBLAZE_V + 1);
	BAD(flow_only, 2);
	BAD(strict, 2);
	BAD(accept, 1u << 31);
	BAD(accept, NT_DEV_BIT(NT_DEV_ADDR_BITS) << 1);
	BAD(addr_bits, NT_ADDR_BITS_MIN - 1);
	BAD(addr_bits, 65);
	small = config;
	small.xlen = 32;
	small.addr_bits = 64;
	assert_string_equal(nt_config_bad_member(&small), "addr_bits");
	assert_null(nt_config_bad_member(&config));
	/* Imitate a program that was built with a newer header */
	newer.config.size = sizeof(newer);
	assert_int_equal(nt_config_check(&newer.config), NT_OK);
	newer.unknown = 1;
	assert_int_equal(nt_config_check(&newer.config), NT_E_INVALID);
	small = config;
	small.accept = NT_DEV_BIT(NT_DEV_ADDR_BITS);
	assert_int_equal(nt_config_check(&small), NT_OK);
	/* Imitate a program that was built with an older header, whose struct nt_config ended before the member isa */
	nt_config_init(&small, offsetof(struct nt_config, isa));
	assert_int_equal(small.size, offsetof(struct nt_config, isa));
	assert_int_equal(nt_config_check(&small), NT_OK);
	nt_image_free(image);
}

static void names_are_complete(void **state)
{
#define NAMED(name, number, text, hint)	do {				\
		assert_string_equal(nt_error_name(name), #name);	\
		assert_string_equal(nt_error_text(number), text);	\
		assert_string_equal(nt_error_hint(number), hint);	\
	} while (0);
	unsigned int i;

	(void)state;
	assert_int_equal(nt_encoder_return_depth(NT_DIALECT_SPACEMIT_K3), NT_RETURN_DEPTH);
	assert_int_equal(nt_encoder_return_depth(NT_DIALECT_MICROBLAZE_V), 0);
	assert_int_equal(nt_encoder_return_depth(UINT32_MAX), NT_RETURN_DEPTH);
	NT_ERRORS(NAMED)
	assert_true(nt_error_is_gap(NT_E_NO_CODE) && nt_error_is_gap(NT_E_GAP_RETURN));
	assert_false(nt_error_is_gap(NT_E_INSN) || nt_error_is_gap(NT_OK));
	assert_string_equal(nt_error_name(0), "NT_OK");
	assert_string_equal(nt_error_name(-99), "NT_E_UNKNOWN");
	assert_string_equal(nt_error_hint(-99), "");
	assert_string_equal(nt_error_text(12345), "unknown error");
	assert_string_equal(nt_version(), "1.0");
	for (i = 0; i < 300; i++) {
		assert_non_null(nt_tcode_name(i));
		assert_non_null(nt_sync_name(i));
		assert_non_null(nt_btype_name(i));
		assert_non_null(nt_etype_name(i));
		assert_non_null(nt_rcode_name(i));
		assert_non_null(nt_evcode_name(i));
		assert_non_null(nt_priv_name(i));
		assert_non_null(nt_class_name(i));
		assert_non_null(nt_end_name(i));
	}
}

static void text_fits_or_says_so(void **state)
{
	static const uint8_t message[] = { 0x70, 0xd0, 0x1d, 0x1d, 0xf8, 0xff };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_item item = { .type = NT_ITEM_STOP };
	struct nt_message msg;
	char full[128], buf[128];
	int len, size;

	(void)state;
	assert_int_equal(nt_message_decode(&config, message, sizeof(message), &msg), 1);
	len = nt_message_desc(&msg, full, sizeof(full));
	assert_int_equal(len, strlen(full));
	for (size = 0; size < (int)sizeof(buf); size++) {
		int ret;

		memset(buf, 'x', sizeof(buf));
		ret = nt_message_desc(&msg, buf, size);
		assert_int_equal(ret, size > len ? len : NT_E_SPACE);
		if (size > 0)
			assert_memory_equal(buf, full, size > len ? len + 1 : size - 1);
		assert_int_equal(buf[size], 'x');
	}
	assert_int_equal(nt_item_desc(&item, buf, 3), NT_E_SPACE);
	assert_true(nt_item_desc(&item, buf, sizeof(buf)) > 0);
}

/* The rows are from the specification's table "Generating itype for different instructions". */
static void instructions_have_their_class(void **state)
{
	static const struct {
		uint32_t	opcode;
		unsigned int	klass;
		uint32_t	xlen;
		unsigned int	isa;
		int64_t		imm;
	} rows[] = {
		{ 0x00000073, NT_CLASS_LINEAR, 64, 0, 0 },		/* ecall */
		{ 0x00100073, NT_CLASS_LINEAR, 64, 0, 0 },		/* ebreak */
		{ 0x9002, NT_CLASS_LINEAR, 64, 0, 0 },			/* c.ebreak */
		{ 0x30200073, NT_CLASS_TRAP_RETURN, 64, 0, 0 },		/* mret */
		{ 0x10200073, NT_CLASS_TRAP_RETURN, 64, 0, 0 },		/* sret */
		{ 0x70200073, NT_CLASS_TRAP_RETURN, 64, 0, 0 },		/* mnret */
		{ 0x10500073, NT_CLASS_LINEAR, 64, 0, 0 },		/* wfi */
		{ 0x5a859073, NT_CLASS_LINEAR, 64, 0, 0 },		/* csrw scontext, a1 */
		{ 0xfe000ee3, NT_CLASS_BRANCH, 64, 0, -4 },		/* beqz . - 4 */
		{ 0x80000063, NT_CLASS_BRANCH, 64, 0, -4096 },
		{ 0x7e000fe3, NT_CLASS_BRANCH, 64, 0, 4094 },
		{ 0xdffd, NT_CLASS_BRANCH, 64, 0, -2 },			/* c.beqz . - 2 */
		{ 0xe001, NT_CLASS_BRANCH, 64, 0, 0 },			/* c.bnez . */
		{ 0x0000006f, NT_CLASS_JUMP, 64, 0, 0 },		/* j */
		{ 0x8000006f, NT_CLASS_JUMP, 64, 0, -1048576 },
		{ 0x7ffff0ef, NT_CLASS_CALL, 64, 0, 1048574 },		/* jal ra */
		{ 0x000002ef, NT_CLASS_CALL, 64, 0, 0 },		/* jal t0 */
		{ 0x0000036f, NT_CLASS_JUMP, 64, 0, 0 },		/* jal t1 */
		{ 0xa001, NT_CLASS_JUMP, 64, 0, 0 },			/* c.j . */
		{ 0xbffd, NT_CLASS_JUMP, 64, 0, -2 },			/* c.j . - 2 */
		{ 0x2001, NT_CLASS_CALL, 32, 0, 0 },			/* c.jal . */
		{ 0x2505, NT_CLASS_LINEAR, 64, 0, 0 },			/* c.addiw */
		{ 0x000500e7, NT_CLASS_INDIRECT_CALL, 64, 0, 0 },	/* jalr ra, a0 */
		{ 0x000502e7, NT_CLASS_INDIRECT_CALL, 64, 0, 0 },	/* jalr t0, a0 */
		{ 0x000080e7, NT_CLASS_INDIRECT_CALL, 64, 0, 0 },	/* jalr ra, ra */
		{ 0x000280e7, NT_CLASS_SWAP, 64, 0, 0 },		/* jalr ra, t0 */
		{ 0x000082e7, NT_CLASS_SWAP, 64, 0, 0 },		/* jalr t0, ra */
		{ 0x00008067, NT_CLASS_RETURN, 64, 0, 0 },		/* ret */
		{ 0x00028567, NT_CLASS_RETURN, 64, 0, 0 },		/* jalr a0, t0 */
		{ 0x00050067, NT_CLASS_INDIRECT_JUMP, 64, 0, 0 },	/* jr a0 */
		{ 0x00050567, NT_CLASS_INDIRECT_JUMP, 64, 0, 0 },	/* jalr a0, a0 */
		{ 0x00051067, NT_CLASS_LINEAR, 64, 0, 0 },		/* funct3 1: reserved */
		{ 0x9282, NT_CLASS_SWAP, 64, 0, 0 },			/* c.jalr t0 */
		{ 0x9082, NT_CLASS_INDIRECT_CALL, 64, 0, 0 },		/* c.jalr ra */
		{ 0x9502, NT_CLASS_INDIRECT_CALL, 64, 0, 0 },		/* c.jalr a0 */
		{ 0x8082, NT_CLASS_RETURN, 64, 0, 0 },			/* c.jr ra */
		{ 0x8282, NT_CLASS_RETURN, 64, 0, 0 },			/* c.jr t0 */
		{ 0x8502, NT_CLASS_INDIRECT_JUMP, 64, 0, 0 },		/* c.jr a0 */
		{ 0x852e, NT_CLASS_LINEAR, 64, 0, 0 },			/* c.mv */
		{ 0x952e, NT_CLASS_LINEAR, 64, 0, 0 },			/* c.add */
		{ 0xbe42, NT_CLASS_RETURN, 64, NT_ISA_ZCMP, 0 },	/* cm.popret */
		{ 0xbc42, NT_CLASS_RETURN, 64, NT_ISA_ZCMP, 0 },	/* cm.popretz */
		{ 0xba42, NT_CLASS_LINEAR, 64, NT_ISA_ZCMP, 0 },	/* cm.pop */
		{ 0xb842, NT_CLASS_LINEAR, 64, NT_ISA_ZCMP, 0 },	/* cm.push */
		{ 0xbe42, NT_CLASS_LINEAR, 64, 0, 0 },
		{ 0xa07e, NT_CLASS_JUMP, 64, NT_ISA_ZCMT, 31 },		/* cm.jt 31 */
		{ 0xa082, NT_CLASS_CALL, 64, NT_ISA_ZCMT, 32 },		/* cm.jalt 32 */
		{ 0xa082, NT_CLASS_LINEAR, 64, 0, 0 },
		{ 0x0000, NT_CLASS_INVALID, 64, 0, 0 },
		{ 0xffffffff, NT_CLASS_INVALID, 64, 0, 0 },
	};
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_insn insn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t code[4] = { rows[i].opcode, rows[i].opcode >> 8, rows[i].opcode >> 16,
				    rows[i].opcode >> 24 };

		config.xlen = rows[i].xlen;
		config.isa = rows[i].isa;
		assert_true(nt_insn_decode(&config, code, 4, &insn) > 0);
		if (insn.klass != rows[i].klass)
			fail_msg("opcode 0x%x is %s", rows[i].opcode, nt_class_name(insn.klass));
		if (rows[i].imm)
			assert_int_equal(insn.imm, rows[i].imm);
	}
}

static void instructions_have_their_length(void **state)
{
	static const struct { uint16_t low; int length; } rows[] = {
		{ 0x0001, 2 }, { 0x0013, 4 }, { 0x001f, 6 }, { 0x003f, 8 }, { 0x007f, 10 },
		{ 0x107f, 12 }, { 0x607f, 22 },
	};
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_insn insn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t code[4] = { rows[i].low, rows[i].low >> 8 };

		assert_int_equal(nt_insn_decode(&config, code, 4, &insn), rows[i].length);
		assert_int_equal(nt_insn_decode(&config, code, 1, &insn), 0);
		assert_int_equal(nt_insn_decode(&config, code, 2, &insn),
				 rows[i].length == 4 ? 0 : rows[i].length);
	}
}

static void image_sections_overlap(void **state)
{
	static const uint8_t low[16] = "aaaaaaaaaaaaaaa", high[4] = "bbb", other[8] = "ccccccc";
	struct nt_image *image = nt_image_new();
	char buf[32];

	(void)state;
	assert_int_equal(nt_image_add(image, 0, 0x100, low, 16), NT_OK);
	assert_int_equal(nt_image_add(image, 0, 0x104, high, 3), NT_OK);
	assert_int_equal(nt_image_add(image, 7, 0x108, other, 4), NT_OK);
	assert_int_equal(nt_image_read(image, 0, 0x100, buf, 12), 12);
	assert_memory_equal(buf, "aaaabbbaaaaa", 12);
	assert_int_equal(nt_image_read(image, 7, 0x106, buf, 12), 10);
	assert_memory_equal(buf, "baccccaaa", 9);
	assert_int_equal(nt_image_read(image, 0, 0xff, buf, 4), 0);
	assert_int_equal(nt_image_read(image, 0, 0x10e, buf, 4), 2);
	assert_int_equal(nt_image_add(image, 0, UINT64_MAX - 1, low, 4), NT_E_INVALID);
	assert_int_equal(nt_image_add(image, 0, UINT64_MAX - 3, low, 4), NT_OK);
	assert_int_equal(nt_image_add(image, 0, 0, low, 0), NT_E_INVALID);
	nt_image_free(image);
	nt_image_free(NULL);
}

struct added {
	uint64_t	space;
	uint64_t	addr;
	size_t		size;
	uint8_t		byte;
};

/*
 * Read the byte at @addr from the sections of @space. If none contains this address, use the sections
 * of space 0. If several sections contain the address, use the last added section. Return 0 if no section
 * contains the address.
 */
static uint8_t naive_byte(const struct added *added, size_t nr, uint64_t space, uint64_t addr)
{
	size_t i;

	for (i = nr; i-- > 0;)
		if (added[i].space == space && addr - added[i].addr < added[i].size)
			return added[i].byte;
	return space ? naive_byte(added, nr, 0, addr) : 0;
}

/* Add and remove sections in random order, and compare reads with a search in a list. */
static void image_sections_come_and_go(void **state)
{
	static uint8_t data[256][64];
	struct nt_image *image = nt_image_new();
	struct added added[40];
	unsigned int step, i, seed = 1;
	size_t nr = 0;

	(void)state;
	for (i = 0; i < 256; i++)
		memset(data[i], i, sizeof(data[i]));
	for (step = 0; step < 4000; step++) {
		uint64_t space, addr, base = step % 3 ? 0x100 : UINT64_MAX - 80;
		uint8_t buf[100];

		seed = seed * 1103515245 + 12345;
		if (nr == 40 || (nr && seed >> 16 & 1)) {
			i = (seed >> 17) % nr;
			/*
			 * if several sections are equal, find the last added section, because the library removes it
			 */
			for (size_t k = i + 1; k < nr; k++)
				if (added[k].space == added[i].space && added[k].addr == added[i].addr &&
				    added[k].size == added[i].size)
					i = k;
			assert_int_equal(nt_image_remove(image, added[i].space, added[i].addr,
							 added[i].size), NT_OK);
			memmove(&added[i], &added[i + 1], (--nr - i) * sizeof(added[0]));
		} else {
			added[nr] = (struct added){
				.space = (seed >> 17) % 3, .addr = base + (seed >> 19) % 40,
				.size = 1 + (seed >> 25) % 40, .byte = 1 + step % 255,
			};
			assert_int_equal(nt_image_add(image, added[nr].space, added[nr].addr,
						      data[added[nr].byte], added[nr].size), NT_OK);
			nr++;
		}
		for (space = 0; space < 4; space++)
			for (addr = base - 2; addr != base + 81; addr++) {
				size_t n = nt_image_read(image, space, addr, buf, sizeof(buf)), k;

				for (k = 0; k < n; k++)
					assert_int_equal(buf[k], naive_byte(added, nr, space, addr + k));
				assert_true(n == sizeof(buf) ||
					    !naive_byte(added, nr, space, addr + n));
			}
	}
	assert_int_equal(nt_image_remove(image, 0, 0x100, 1000), NT_E_NOT_FOUND);
	nt_image_free(image);
}

/* Two address spaces with different code at the same address. The context selects the space. */
struct two {
	uint8_t		code[2][64];
	unsigned int	reads;
};

static uint64_t two_space(void *ctx, const struct nt_context *context)
{
	(void)ctx;
	return context->has_scontext ? context->scontext : 99;
}

static int two_read(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	struct two *two = ctx;

	two->reads++;
	if (space > 1 || addr < 0x1000 || addr >= 0x1040)
		return 0;
	/* return at most three bytes, because the callback may return fewer bytes than the library requests */
	if (size > 3)
		size = 3;
	if (size > 0x1040 - addr)
		size = 0x1040 - addr;
	memcpy(buf, two->code[space] + (addr - 0x1000), size);
	return size;
}

/* Fill @code with c.nop instructions, and write c.jr ra as instruction number @index. */
static void fill(uint8_t *code, unsigned int index)
{
	unsigned int i;

	for (i = 0; i < 64; i += 2) {
		code[i] = i == index ? 0x82 : 0x01;
		code[i + 1] = i == index ? 0x80 : 0x00;
	}
}

static unsigned int next_how(struct nt_flow *flow, const uint8_t *data, size_t size,
			     unsigned int *insns)
{
	struct nt_item item;
	unsigned int how = 255;

	assert_int_equal(nt_flow_feed(flow, data, size), NT_OK);
	while (nt_flow_next(flow, &item) > 0) {
		if (item.type == NT_ITEM_RANGE) {
			how = item.range.how;
			*insns = item.range.insns;
		} else if (item.type == NT_ITEM_ERROR) {
			how = 100 - item.error.code;
		} else if (item.type == NT_ITEM_GAP) {
			how = 100 - item.gap.code;
		}
	}
	return how;
}

static uint64_t own_space(void *ctx, const struct nt_context *context)
{
	(void)ctx;
	return context->scontext;
}

/* Each space has its own jump table. */
static bool own_jvt(void *ctx, uint64_t space, uint64_t *jvt)
{
	(void)ctx;
	*jvt = 0x2000 + space * 0x1000;
	return true;
}

/* Return the target of cm.jt in address space @space, or 0 if the target is unknown. */
static uint64_t table_target(struct nt_flow *flow, unsigned int space)
{
	/* ProgTraceSync with address 0x1000, Ownership, and ProgTraceCorrelation with I-CNT=2 */
	uint8_t trace[] = { 0x24, 0x0d, 0x00, 0x83, 0x08, 0x0b | space << 7, 0x84, 0x10, 0x0b };
	struct nt_item item;
	uint64_t target = 0;

	assert_int_equal(nt_flow_feed(flow, trace, sizeof(trace)), NT_OK);
	while (nt_flow_next(flow, &item) > 0) {
		if (item.type == NT_ITEM_RANGE && item.range.start != 0x1000)
			target = item.range.start;
	}
	return target;
}

static void each_space_has_its_jump_table(void **state)
{
	static const uint8_t code[64] = {
		[0x00] = 0x02, 0xa0, [0x10] = 0x01, 0x00, [0x20] = 0x01, 0x00,
	};
	static const uint8_t table0[8] = { 0x10, 0x10 }, table1[8] = { 0x20, 0x10 };
	struct nt_image_reader reader = { .space = own_space, .jvt = own_jvt };
	struct nt_image *image = nt_image_new();
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_flow *flow;

	(void)state;
	config.isa = NT_ISA_ZCMT;
	assert_int_equal(nt_image_add(image, 0, 0x1000, code, sizeof(code)), NT_OK);
	assert_int_equal(nt_image_add(image, 0, 0x2000, table0, sizeof(table0)), NT_OK);
	assert_int_equal(nt_image_add(image, 0, 0x3000, table1, sizeof(table1)), NT_OK);
	nt_image_set_reader(image, &reader);
	flow = nt_flow_new(&config, image);
	assert_int_equal(table_target(flow, 0), 0x1010);
	assert_int_equal(table_target(flow, 1), 0x1020);
	assert_int_equal(table_target(flow, 0), 0x1010);
	nt_flow_free(flow);
	nt_image_free(image);
}

static void spaces_and_invalidation(void **state)
{
	/*
	 * ProgTraceSync with address 0x1000, Ownership with scontext 0 and 1, and IndirectBranch with
	 * I-CNT=3 to 0x1000
	 */
	static const uint8_t sync[] = { 0x24, 0x0d, 0x00, 0x83 };
	static const uint8_t own0[] = { 0x08, 0x0b }, own1[] = { 0x08, 0x8b };
	static const uint8_t jump[] = { 0x10, 0x31, 0x03 };
	struct nt_image *image = nt_image_new();
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_flow *flow = nt_flow_new(&config, image);
	struct two two = { .reads = 0 };
	struct nt_image_reader reader = { two_space, two_read, &two };
	unsigned int insns, reads;

	(void)state;
	fill(two.code[0], 4);
	fill(two.code[1], 8);
	nt_image_set_reader(image, &reader);
	next_how(flow, sync, sizeof(sync), &insns);
	next_how(flow, own0, sizeof(own0), &insns);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	assert_int_equal(insns, 3);
	reads = two.reads;
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	assert_int_equal(two.reads, reads);
	/* instruction c.jr ra is at another address in the second address space, where context own1 executes */
	next_how(flow, own1, sizeof(own1), &insns);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), 100 - NT_E_CLASS);
	next_how(flow, sync, sizeof(sync), &insns);
	next_how(flow, own0, sizeof(own0), &insns);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	/* the code changes, but the flow must use the old code until nt_image_invalidate() */
	fill(two.code[0], 8);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	nt_image_invalidate(image);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), 100 - NT_E_CLASS);
	nt_flow_free(flow);
	nt_image_free(image);
}

/*
 * The decoder can first read only the first half of an instruction. After the decoder has used this half, the test
 * also makes the other half readable.
 */
static void image_gets_the_rest(void **state)
{
	static const uint8_t sync[] = { 0x24, 0x0d, 0x00, 0x83 };
	static const uint8_t jump[] = { 0x10, 0x41, 0x03 };	/* IndirectBranch after 4 half-words */
	static const uint8_t code[] = { 1, 0, 1, 0, 0x67, 0x80, 0, 0 };	/* c.nop twice, jalr zero, 0(ra) */
	struct nt_image *image = nt_image_new();
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_flow *flow = nt_flow_new(&config, image);
	unsigned int insns;

	(void)state;
	assert_int_equal(nt_image_add(image, 0, 0x1000, code, 6), NT_OK);
	next_how(flow, sync, sizeof(sync), &insns);
	assert_int_not_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	assert_int_equal(nt_image_add(image, 0, 0x1006, code + 6, 2), NT_OK);
	next_how(flow, sync, sizeof(sync), &insns);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	assert_int_equal(insns, 3);
	nt_flow_free(flow);
	nt_image_free(image);
}

/* If code in a range changes, for example by a JIT compiler, the library must reread only that code. */
static void image_invalidates_a_range(void **state)
{
	static const uint8_t sync[] = { 0x24, 0x0d, 0x00, 0x83 };
	static const uint8_t jump[] = { 0x10, 0x31, 0x03 };
	struct nt_image *image = nt_image_new();
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_flow *flow = nt_flow_new(&config, image);
	struct two two = { .reads = 0 };
	struct nt_image_reader reader = { NULL, two_read, &two };
	unsigned int insns, reads, i;

	(void)state;
	fill(two.code[0], 4);
	nt_image_set_reader(image, &reader);
	next_how(flow, sync, sizeof(sync), &insns);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	/* Invalidate ranges after and before the code, and an empty range */
	reads = two.reads;
	nt_image_invalidate_range(image, 0x2000, 0x1000);
	nt_image_invalidate_range(image, 0x1000 + 6 + 22, UINT64_MAX);
	nt_image_invalidate_range(image, 0, 0x1000);
	nt_image_invalidate_range(image, 0x1000, 0);
	nt_image_remap(image);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	assert_int_equal(two.reads, reads);
	/* Invalidate the last byte of the code, and later more ranges than the image can store */
	fill(two.code[0], 8);
	nt_image_invalidate_range(image, 0x1005, 1);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), 100 - NT_E_CLASS);
	assert_true(two.reads > reads);
	fill(two.code[0], 4);
	next_how(flow, sync, sizeof(sync), &insns);
	for (i = 0; i < 100; i++)
		nt_image_invalidate_range(image, 0x8000, 1);
	assert_int_equal(next_how(flow, jump, sizeof(jump), &insns), NT_END_RETURN);
	nt_flow_free(flow);
	nt_image_free(image);
}

/* This trace starts at address 0x1000, which has no code. Its last message is invalid. */
static const uint8_t gap_and_error[] = { 0x24, 0x0d, 0x00, 0x83, 0x10, 0x31, 0x03, 0x10, 0x07 };

static void missing_code_is_no_error(void **state)
{
	struct nt_image *image = nt_image_new();
	struct nt_flow *flow = nt_flow_new(NULL, image);
	struct nt_stats stats;
	struct nt_item item;

	(void)state;
	assert_int_equal(nt_flow_feed(flow, gap_and_error, sizeof(gap_and_error)), NT_OK);
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.type, NT_ITEM_SYNC);
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.type, NT_ITEM_GAP);
	assert_int_equal(item.gap.code, NT_E_NO_CODE);
	assert_true(item.gap.has_addr);
	assert_int_equal(item.gap.addr, 0x1000);
	nt_flow_stats(flow, &stats, sizeof(stats));
	assert_int_equal(stats.gaps, 1);
	assert_int_equal(stats.errors, 0);
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.type, NT_ITEM_ERROR);
	nt_flow_stats(flow, &stats, sizeof(stats));
	assert_int_equal(stats.gaps, 1);
	assert_int_equal(stats.errors, 1);
	nt_flow_free(flow);
	nt_image_free(image);
}

static int take_nothing(void *ctx, const struct nt_batch *batch)
{
	(void)ctx;
	(void)batch;
	return 0;
}

static int take_no_part(void *ctx, uint64_t part, const struct nt_batch *batch)
{
	(void)part;
	return take_nothing(ctx, batch);
}

static int decode_counting(bool ordered, void *stats, size_t size)
{
	struct nt_image *image = nt_image_new();
	void *ctxs[] = { NULL, NULL };
	int ret;

	if (ordered)
		ret = nt_parallel_decode_sized(NULL, image, gap_and_error, sizeof(gap_and_error),
					       2, take_nothing, NULL, stats, size);
	else
		ret = nt_parallel_decode_unordered_sized(NULL, image, gap_and_error,
							 sizeof(gap_and_error), 2, take_no_part,
							 ctxs, stats, size);
	nt_image_free(image);
	return ret;
}

/* A program that was built with another version of the header passes a shorter or longer nt_stats. */
static void statistics_may_grow(void **state)
{
	struct { struct nt_stats stats; uint64_t more; } grown;
	uint64_t old[3];
	int ordered;

	(void)state;
	for (ordered = 0; ordered < 2; ordered++) {
		memset(old, 0xa5, sizeof(old));
		memset(&grown, 0xa5, sizeof(grown));
		assert_int_equal(decode_counting(ordered, old, 16), NT_OK);
		assert_int_equal(old[0], sizeof(gap_and_error));
		assert_int_equal(old[2], 0xa5a5a5a5a5a5a5a5ULL);
		assert_int_equal(decode_counting(ordered, &grown, sizeof(grown)), NT_OK);
		assert_int_equal(grown.stats.gaps, 1);
		assert_int_equal(grown.more, 0);
	}
}

static void flow_is_busy_until_drained(void **state)
{
	static const uint8_t sync[] = { 0x24, 0x0d, 0x00, 0x83, 0x24, 0x0d, 0x00, 0x83 };
	struct nt_image *image = nt_image_new();
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_flow *flow = nt_flow_new(&config, image);
	struct nt_reader *reader = nt_reader_new(&config);
	struct nt_message msg;
	struct nt_item item;
	struct nt_stats stats;

	(void)state;
	assert_int_equal(nt_flow_feed(flow, sync, sizeof(sync)), NT_OK);
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(nt_flow_feed(flow, sync, sizeof(sync)), NT_E_BUSY);
	nt_flow_restart(flow, 1000, false);
	assert_int_equal(nt_flow_feed(flow, sync, sizeof(sync)), NT_OK);
	assert_int_equal(nt_flow_next(flow, &item), 1);
	assert_int_equal(item.offset, 1000);
	assert_true(item.sync.restart);
	nt_flow_stats(flow, &stats, sizeof(stats));
	assert_int_equal(stats.syncs, 2);
	stats.by_tcode[0] = 7;
	nt_flow_stats(flow, &stats, 16);
	assert_int_equal(stats.by_tcode[0], 7);
	assert_int_equal(nt_reader_feed(reader, sync, sizeof(sync)), NT_OK);
	assert_int_equal(nt_reader_feed(reader, sync, sizeof(sync)), NT_E_BUSY);
	assert_int_equal(nt_reader_next(reader, &msg), 1);
	assert_int_equal(nt_reader_next(reader, &msg), 1);
	assert_int_equal(nt_reader_next(reader, &msg), 0);
	nt_reader_free(reader);
	nt_reader_free(NULL);
	nt_flow_free(flow);
	nt_flow_free(NULL);
	nt_image_free(image);
}

static void pins_are_checked(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct nt_pins *pins = nt_pins_new(i);

		if (i == 1 || i == 2 || i == 4 || i == 8 || i == 16)
			assert_non_null(pins);
		else
			assert_null(pins);
		nt_pins_free(pins);
	}
}

/* ---- structures of other versions; seeking in a stream; clones of a decoder; decoding of instructions ---- */

/* Check that @size bytes of @buf were written, and that the bytes after them were not. */
static void assert_written(const uint8_t *buf, const void *full, size_t full_size, size_t size)
{
	size_t n = size < full_size ? size : full_size;

	assert_memory_equal(buf, full, n);
	for (; n < size; n++)
		assert_int_equal(buf[n], 0);
	assert_int_equal(buf[size], 0x55);
}

/* Imitate programs that were built with other versions of the header, whose structures are shorter or longer. */
static void structures_have_any_size(void **state)
{
	static const uint8_t data[] = { 0x24, 0x0d, 0x00, 0x83, 0x10, 0x31, 0x03 };
	static const uint8_t ret[] = { 0x82, 0x80 };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_message msg;
	struct nt_insn insn;
	struct nt_item item;
	uint8_t buf[600];
	char one[100], other[100];
	size_t size;

	(void)state;
	assert_int_equal(nt_message_decode(&config, data, sizeof(data), &msg), 1);
	assert_int_equal(nt_insn_decode(&config, ret, 2, &insn), 2);
	for (size = 1; size < sizeof(buf) - 1; size += 13) {
		struct nt_reader *reader = nt_reader_new(&config);
		struct nt_flow *flow = nt_flow_new(&config, image);
		struct nt_flow *full = nt_flow_new(&config, image);

		memset(buf, 0x55, sizeof(buf));
		assert_int_equal(nt_message_decode_sized(&config, data, sizeof(data), (void *)buf, size), 1);
		assert_written(buf, &msg, sizeof(msg), size);
		memset(buf, 0x55, sizeof(buf));
		nt_reader_feed(reader, data, sizeof(data));
		assert_int_equal(nt_reader_next_sized(reader, (void *)buf, size), 1);
		assert_written(buf, &msg, sizeof(msg), size);
		memset(buf, 0x55, sizeof(buf));
		assert_int_equal(nt_insn_decode_sized(&config, ret, 2, (void *)buf, size), 2);
		assert_written(buf, &insn, sizeof(insn), size);
		memset(buf, 0x55, sizeof(buf));
		nt_flow_feed(flow, data, 4);
		nt_flow_feed(full, data, 4);
		assert_int_equal(nt_flow_next_sized(flow, (void *)buf, size), 1);
		assert_int_equal(nt_flow_next(full, &item), 1);
		assert_written(buf, &item, sizeof(item), size);
		nt_reader_free(reader);
		nt_flow_free(flow);
		nt_flow_free(full);
	}
	/* The library must treat fields that are missing in the caller's structure as absent */
	assert_true(nt_message_desc(&msg, one, sizeof(one)) > 0);
	assert_true(nt_message_desc_sized(&msg, offsetof(struct nt_message, tstamp), other,
					  sizeof(other)) > 0);
	assert_string_equal(one, other);
	nt_image_free(image);
}

static void wrong_configurations_are_refused(void **state)
{
	static const uint8_t data[] = { 0x24, 0x0d, 0x00, 0x83 };
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = nt_image_new();
	struct nt_message msg;
	struct nt_insn insn;

	(void)state;
	config.src_bits = 40;
	assert_int_equal(nt_message_decode(&config, data, 4, &msg), NT_E_INVALID);
	assert_int_equal(nt_insn_decode(&config, data, 4, &insn), NT_E_INVALID);
	errno = 0;
	assert_null(nt_flow_new(&config, image));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(nt_reader_new(&config));
	assert_int_equal(errno, EINVAL);
	errno = 0;
	assert_null(nt_pins_new(3));
	assert_int_equal(errno, EINVAL);
	/*
	 * The library must read only the fields that the older header defines, because the bytes after
	 * these fields are not valid values
	 */
	nt_config_init(&config, offsetof(struct nt_config, mode));
	memset(&config.mode, 0xff, sizeof(config) - offsetof(struct nt_config, mode));
	assert_int_equal(nt_message_decode(&config, data, 4, &msg), 1);
	assert_int_equal(msg.addr, 0x1000);
	assert_int_equal(nt_message_decode(NULL, data, 4, &msg), 1);
	nt_image_free(image);
}

/* Searches for a SYNC forwards and backwards must find the same messages, from any offset. */
static void syncs_are_found_both_ways(void **state)
{
	struct bytes bytes = read_file("htm");
	struct nt_config config = NT_CONFIG_INIT;
	size_t size = bytes.size < 60000 ? bytes.size : 60000, nth, at, next, last = SIZE_MAX;
	size_t from = 0;

	(void)state;
	for (nth = 0; !nt_sync_find(&config, bytes.data, size, false, nth, &at); nth++) {
		for (; from <= at; from += 1 + (at - from) / 3) {
			assert_int_equal(nt_sync_next(&config, bytes.data, size, false, from, &next),
					 NT_OK);
			assert_int_equal(next, at);
		}
		from = at + 1;
		if (last != SIZE_MAX) {
			assert_int_equal(nt_sync_previous(&config, bytes.data, size, false, at, &next),
					 NT_OK);
			assert_int_equal(next, last);
			assert_int_equal(nt_sync_previous(&config, bytes.data, size, true, last + 1,
							  &next), last ? NT_OK : NT_E_NOT_FOUND);
		}
		last = at;
	}
	assert_true(nth > 5);
	assert_int_equal(nt_sync_next(&config, bytes.data, size, false, last + 1, &next),
			 NT_E_NOT_FOUND);
	assert_int_equal(nt_sync_previous(&config, bytes.data, size, false, 0, &next),
			 NT_E_NOT_FOUND);
	config.xlen = 31;
	assert_int_equal(nt_sync_next(&config, bytes.data, size, false, 0, &next), NT_E_INVALID);
	free(bytes.data);
}

static struct sum rest_of(struct nt_flow *flow, struct bytes bytes, size_t at)
{
	struct sum sum = { 0 };
	struct nt_item item;

	assert_int_equal(nt_flow_feed(flow, bytes.data + at, bytes.size - at), NT_OK);
	while (nt_flow_next(flow, &item) > 0)
		add_item(&sum, &item);
	return sum;
}

/* A clone that is made at any byte of a message must return the same items as the flow. */
static void a_clone_goes_on(void **state)
{
	size_t i, at;

	(void)state;
	for (i = 0; i < NR_TRACES; i++) {
		struct bytes bytes = read_file(traces[i].name);

		for (at = 1; at < bytes.size && at < 5000; at += 777) {
			struct nt_image *image = program_image();
			struct nt_flow *flow = nt_flow_new(&traces[i].config, image), *clone;
			struct sum one, other;
			struct nt_item item;

			nt_flow_feed(flow, bytes.data, at);
			errno = 0;
			clone = nt_flow_clone(flow);
			assert_null(clone);
			assert_int_equal(errno, EBUSY);
			while (nt_flow_next(flow, &item) > 0)
				;
			clone = nt_flow_clone(flow);
			assert_non_null(clone);
			other = rest_of(clone, bytes, at);
			nt_flow_free(clone);
			one = rest_of(flow, bytes, at);
			assert_same(&one, &other);
			assert_int_equal(one.errors, 0);
			nt_flow_free(flow);
			nt_image_free(image);
		}
		free(bytes.data);
	}
}

/*
 * Read the instructions of each range one by one. Their number and the end of the last one must equal
 * the number and the end that the range reports.
 */
static void ranges_have_their_instructions(void **state)
{
	struct bytes bytes = read_file("htm");
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image *image = program_image();
	struct nt_flow *flow = nt_flow_new(&config, image);
	uint8_t code[NT_INSN_MAX];
	struct nt_insn insn;
	struct nt_item item;
	unsigned int nr = 0;

	(void)state;
	nt_flow_feed(flow, bytes.data, bytes.size);
	while (nr < 20000 && nt_flow_next(flow, &item) > 0) {
		uint64_t addr = item.range.start, last = addr;
		unsigned int n = 0;

		if (item.type != NT_ITEM_RANGE)
			continue;
		for (; addr < item.range.end_addr; n++) {
			last = addr;
			addr += nt_insn_read(&config, image, item.space, addr, code, &insn);
			assert_true(addr > last);
		}
		assert_int_equal(addr, item.range.end_addr);
		assert_int_equal(last, item.range.last_addr);
		assert_int_equal(n, item.range.insns);
		if (item.range.how != NT_END_LINEAR)
			assert_int_equal(insn.klass, item.range.how);
		nr++;
	}
	assert_true(nr > 1000);
	assert_int_equal(nt_insn_read(&config, image, 0, 1, code, &insn), 0);
	nt_flow_free(flow);
	nt_image_free(image);
	free(bytes.data);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(structures_have_any_size),
		cmocka_unit_test(wrong_configurations_are_refused),
		cmocka_unit_test(syncs_are_found_both_ways),
		cmocka_unit_test(a_clone_goes_on),
		cmocka_unit_test(ranges_have_their_instructions),
		cmocka_unit_test(pieces_agree),
		cmocka_unit_test(threads_agree),
		cmocka_unit_test(parallel_stops),
		cmocka_unit_test(sync_is_found),
		cmocka_unit_test(config_is_checked),
		cmocka_unit_test(names_are_complete),
		cmocka_unit_test(text_fits_or_says_so),
		cmocka_unit_test(instructions_have_their_class),
		cmocka_unit_test(instructions_have_their_length),
		cmocka_unit_test(image_sections_overlap),
		cmocka_unit_test(image_sections_come_and_go),
		cmocka_unit_test(spaces_and_invalidation),
		cmocka_unit_test(each_space_has_its_jump_table),
		cmocka_unit_test(image_gets_the_rest),
		cmocka_unit_test(image_invalidates_a_range),
		cmocka_unit_test(missing_code_is_no_error),
		cmocka_unit_test(statistics_may_grow),
		cmocka_unit_test(flow_is_busy_until_drained),
		cmocka_unit_test(pins_are_checked),
	};

	if (argc < 2) {
		fprintf(stderr, "usage: unit FOLDER\n");
		return 2;
	}
	folder = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
