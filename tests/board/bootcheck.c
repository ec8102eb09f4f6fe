// SPDX-License-Identifier: GPL-2.0-only
/*
 * Is what libntrace decodes of a boot trace what ran? Compares instruction by
 * instruction with the truth.
 *
 *	bootcheck [OPTIONS] TRACE CODE TRUTH
 *
 * CODE is what the board writes beside a boot trace: blocks of code, each with
 * the offset in the trace before which it had not run. A kernel patches
 * itself, so the decoder gets each block at that place and not before.
 *
 * Exits 0 if all is equal, 1 if not, 2 for usage.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ntrace/ntrace.h>

#include "../../tools/board/model/truth.h"

#define PAGE	4096
#define BUCKETS	(1 << 16)

struct page {
	struct page	*next;
	uint64_t	number;
	uint8_t		bytes[PAGE];
	bool		valid[PAGE];
};

struct code_head {
	uint64_t	offset, addr;
	uint32_t	len, zero;
};

struct check {
	struct page	*pages[BUCKETS];
	struct nt_image	*image;
	struct nt_flow	*flow;
	FILE		*trace, *code;
	struct nb_truth_reader *truth;
	uint64_t	fed;
	uint64_t	addr, left;		/* of the block of the truth that is compared */
	uint64_t	compared, truth_insns, decoded_insns, changes, errors;
	bool		differs;
};

static struct page *page_at(struct check *c, uint64_t addr, bool make)
{
	struct page **p = &c->pages[addr / PAGE % BUCKETS];

	for (; *p; p = &(*p)->next)
		if ((*p)->number == addr / PAGE)
			return *p;
	if (!make)
		return NULL;
	*p = calloc(1, sizeof(**p));
	if (!*p)
		exit(1);
	(*p)->number = addr / PAGE;
	return *p;
}

static int read_code(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	size_t n;

	(void)space;
	for (n = 0; n < size; n++) {
		struct page *p = page_at(ctx, addr + n, false);

		if (!p || !p->valid[(addr + n) % PAGE])
			break;
		buf[n] = p->bytes[(addr + n) % PAGE];
	}
	return n;
}

/* Does the block at @addr say other than what is known? */
static bool code_differs(struct check *c, uint64_t addr, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		struct page *p = page_at(c, addr + i, false);

		if (p && p->valid[(addr + i) % PAGE] && p->bytes[(addr + i) % PAGE] != bytes[i])
			return true;
	}
	return false;
}

static void code_set(struct check *c, uint64_t addr, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		struct page *p = page_at(c, addr + i, true);

		p->valid[(addr + i) % PAGE] = true;
		p->bytes[(addr + i) % PAGE] = bytes[i];
	}
}

static void differ(struct check *c, uint64_t start, uint64_t end)
{
	if (c->differs)
		return;
	c->differs = true;
	printf("first difference after %" PRIu64 " instructions: decoded %#" PRIx64 "..%#" PRIx64
	       ", but %#" PRIx64 " ran\n", c->compared, start, end, c->left ? c->addr : 0);
}

static bool next_block(struct check *c)
{
	struct nb_truth_event ev;
	int ret;

	while ((ret = nb_truth_next(c->truth, &ev)) > 0) {
		if (ev.kind != NB_TRUTH_BLOCK || !ev.traced || !ev.blk.iretire)
			continue;
		c->addr = ev.blk.iaddr;
		c->left = 2 * ev.blk.iretire;
		c->truth_insns += ev.blk.ninsn;
		return true;
	}
	if (ret < 0) {
		printf("the truth: %s\n", nb_truth_error(c->truth));
		c->errors++;
	}
	return false;
}

static void compare(struct check *c, const struct nt_range *r)
{
	uint64_t at = r->start, end = at + 2 * r->halfwords;

	while (at < end && !c->differs) {
		uint64_t step;

		if (!c->left && !next_block(c)) {
			differ(c, at, end);
			return;
		}
		if (c->addr != at) {
			differ(c, at, end);
			return;
		}
		step = end - at < c->left ? end - at : c->left;
		at += step;
		c->addr += step;
		c->left -= step;
	}
	c->compared += r->insns;
}

static void drain(struct check *c)
{
	struct nt_batch batch;
	char text[256];

	while (nt_flow_next_batch(c->flow, &batch) > 0) {
		if (!batch.nr && (batch.item.type == NT_ITEM_ERROR || batch.item.type == NT_ITEM_LOST)) {
			nt_item_desc(&batch.item, text, sizeof(text));
			if (c->errors++ < 10)
				printf("%s\n", text);
		}
		for (size_t i = 0; i < batch.nr && !c->differs; i++) {
			c->decoded_insns += batch.ranges[i].insns;
			compare(c, &batch.ranges[i]);
		}
	}
}

static void feed_to(struct check *c, uint64_t offset)
{
	static uint8_t buf[1 << 20];

	while (c->fed < offset && !c->differs) {
		size_t n = offset - c->fed < sizeof(buf) ? offset - c->fed : sizeof(buf);

		n = fread(buf, 1, n, c->trace);
		if (!n)
			return;
		nt_flow_feed(c->flow, buf, n);
		drain(c);
		c->fed += n;
	}
}

static void run(struct check *c)
{
	static uint8_t bytes[1 << 16];
	struct code_head head;

	while (fread(&head, sizeof(head), 1, c->code) == 1 && head.len <= sizeof(bytes) &&
	       fread(bytes, 1, head.len, c->code) == head.len && !c->differs) {
		if (code_differs(c, head.addr, bytes, head.len)) {
			feed_to(c, head.offset);
			nt_image_invalidate(c->image);
			c->changes++;
		}
		code_set(c, head.addr, bytes, head.len);
	}
	nt_image_invalidate(c->image);
	feed_to(c, UINT64_MAX);
	nt_flow_end(c->flow);
	drain(c);
	/* what was traced and not decoded */
	while (!c->differs && (c->left || next_block(c))) {
		printf("%#" PRIx64 " ran, and was not decoded\n", c->addr);
		c->differs = true;
	}
	if (!c->differs && c->truth_insns != c->decoded_insns) {
		printf("%" PRIu64 " instructions ran, %" PRIu64 " were decoded\n", c->truth_insns, c->decoded_insns);
		c->differs = true;
	}
}

static void options(struct nt_config *config, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "implicit-return", no_argument, NULL, 'r' }, { "sequential-jump", no_argument, NULL, 's' },
		{ "all-jumps", no_argument, NULL, 'a' }, { "extend-addr", no_argument, NULL, 'e' },
		{ "timestamp", no_argument, NULL, 't' }, { "src-bits", required_argument, NULL, 'b' }, { 0 }
	};
	int opt;

	while ((opt = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (opt) {
		case 'r': config->return_depth = NT_RETURN_DEPTH; break;
		case 's': config->sequential_jump = 1; break;
		case 'a': config->all_jumps = 1; break;
		case 'e': config->extend_addr = 1; break;
		case 't': config->timestamp = 1; break;
		case 'b': config->src_bits = strtoul(optarg, NULL, 0); break;
		default: exit(2);
		}
	}
	if (optind + 3 != argc) {
		fprintf(stderr, "usage: bootcheck [OPTIONS] TRACE CODE TRUTH\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct check c;
	struct nt_config config = NT_CONFIG_INIT;
	struct nt_image_reader reader = { .read = read_code, .ctx = &c };
	unsigned int hart;

	options(&config, argc, argv);
	c.trace = fopen(argv[optind], "rb");
	c.code = fopen(argv[optind + 1], "rb");
	c.truth = nb_truth_open(argv[optind + 2], &hart);
	c.image = nt_image_new();
	if (!c.trace || !c.code || !c.truth || !c.image) {
		fprintf(stderr, "bootcheck: a file cannot be read\n");
		return 2;
	}
	nt_image_set_reader(c.image, &reader);
	c.flow = nt_flow_new(&config, c.image);
	if (!c.flow)
		return 2;
	run(&c);
	printf("%" PRIu64 " instructions compared, %d differences, %" PRIu64 " errors, %" PRIu64
	       " changes of code\n", c.compared, c.differs, c.errors, c.changes);
	return c.differs || c.errors || !c.compared;
}
