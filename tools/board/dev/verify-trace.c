// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode a trace and compare it with the truth at the same time. The decoder reads code from the truth
 * file. In a boot of Linux, the kernel patches itself, loads modules and runs programs, so that ELF
 * files do not contain all code.
 *
 * The decoder gets no other information from the truth. When code changes, the new code replaces the
 * old code after the comparison has passed the last block that executed the old code.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw/elf-image.h"
#include "cli/options.h"
#include "session/array.h"
#include "session/hash.h"
#include "verify.h"

#define LINE_BYTES	64
#define READ_AHEAD	20000		/* number of blocks of the truth file that are read before they are compared */
#define SEARCH_AHEAD	400000		/* number of blocks that are read ahead if the decoder requests unknown code */
#define ERRORS_SHOWN	5

/* 64 bytes of code, whose half-words were read from the truth or are still unknown */
struct line {
	uint64_t	key;		/* address of the line, and the mark of a virtual machine, see line_key() */
	uint32_t	valid, asked;	/* bit maps of known half-words, and of requested unknown half-words */
	uint8_t		bytes[LINE_BYTES];
};

/*
 * A block that the truth file defines. The reader has one copy of the code for each definition, so the
 * pointer to the code identifies the block.
 */
struct seen {
	const uint8_t	*code;
	uint64_t	iaddr, last_use;	/* address, and number of the block's last occurrence in the truth */
	uint32_t	len, epoch;		/* size in bytes; value of code.epoch when learn() stored it */
	bool		guest;
};

struct code {
	struct hart	*hart;
	NS_ARRAY(struct line) lines;
	NS_ARRAY(struct seen) seen;
	struct ns_hash	line_hash, seen_hash;	/* hash tables of @lines and @seen */
	uint32_t	epoch;		/* counter that is incremented when code in @lines changes */
	/* code that learn() stores only after block number @wait_until, which executed the old code, was compared */
	const uint8_t	*waiting;
	uint64_t	wait_until;	/* number of the last block that executed the old code */
	bool		changed;	/* the decoder must drop the instructions that it has cached */
	bool		failed;
};

/* Return the key of a line. A virtual machine (@guest) and its host may have different code at the same address. */
static uint64_t line_key(bool guest, uint64_t addr)
{
	return (addr / LINE_BYTES + 1) | (uint64_t)guest << 63;
}

static bool is_guest(const struct block *b)
{
	return b->priv >= NB_PRIV_VU;
}

/* Return the line of @addr, which is created if necessary; NULL if memory is exhausted. */
static struct line *line_of(struct code *c, bool guest, uint64_t addr)
{
	const struct line new = { .key = line_key(guest, addr) };
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&c->line_hash, ns_hash_mix(new.key), c->lines.at[i].key == new.key);
	if (slot && !slot->index && ns_array_add(&c->lines, new))
		ns_hash_set(&c->line_hash, slot, c->lines.nr - 1);
	c->failed |= !slot || !slot->index;
	return slot && slot->index ? &c->lines.at[slot->index - 1] : NULL;
}

/* Return the entry of @b, which is created if necessary; NULL if memory is exhausted. */
static struct seen *seen_of(struct code *c, const struct block *b)
{
	const struct seen new = { .code = b->code, .iaddr = b->iaddr, .len = 2 * b->iretire, .guest = is_guest(b) };
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&c->seen_hash, ns_hash_mix((uintptr_t)b->code), c->seen.at[i].code == b->code);
	if (slot && !slot->index && ns_array_add(&c->seen, new))
		ns_hash_set(&c->seen_hash, slot, c->seen.nr - 1);
	c->failed |= !slot || !slot->index;
	return slot && slot->index ? &c->seen.at[slot->index - 1] : NULL;
}

/* Return the number of the last block that was read from the truth and that executed the code at @addr */
static uint64_t last_use(const struct code *c, bool guest, uint64_t addr)
{
	const struct seen *s = c->seen.at, *end = s + c->seen.nr;
	uint64_t last = 0;

	for (; s < end; s++) {
		if (s->epoch && s->guest == guest && addr - s->iaddr < s->len && s->last_use > last)
			last = s->last_use;
	}
	return last;
}

/*
 * Return true if the code of the block differs from the known code at its address, and blocks that were
 * not compared yet executed the known code.
 */
static bool must_wait(struct code *c, const struct block *b)
{
	uint64_t now = hart_index(c->hart), last;
	uint32_t i;

	if (c->waiting == b->code && c->wait_until >= now)
		return true;
	for (i = 0; i < 2 * b->iretire; i += 2) {
		uint64_t addr = b->iaddr + i;
		struct line *l = line_of(c, is_guest(b), addr);
		unsigned int at = addr % LINE_BYTES;

		if (!l || !(l->valid >> at / 2 & 1) || !memcmp(l->bytes + at, b->code + i, 2))
			continue;
		last = last_use(c, is_guest(b), addr);
		if (last < now)
			continue;
		c->waiting = b->code;
		c->wait_until = last;
		return true;
	}
	return false;
}

static void take_code(struct code *c, const struct block *b)
{
	uint32_t i;

	for (i = 0; i < 2 * b->iretire; i += 2) {
		uint64_t addr = b->iaddr + i;
		struct line *l = line_of(c, is_guest(b), addr);
		unsigned int at = addr % LINE_BYTES;
		uint32_t bit = 1U << at / 2;

		if (!l)
			return;
		if (l->valid & bit && memcmp(l->bytes + at, b->code + i, 2)) {
			c->changed = true;
			c->epoch++;
		}
		c->changed |= l->asked & bit;
		memcpy(l->bytes + at, b->code + i, 2);
		l->valid |= bit;
		l->asked &= ~bit;
	}
}

static bool learn(void *ctx, const struct block *b, uint64_t index, bool force)
{
	struct code *c = ctx;
	struct seen *s = b->code ? seen_of(c, b) : NULL;

	if (!s)
		return true;
	if (s->epoch != c->epoch) {
		if (!force && must_wait(c, b))
			return false;
		take_code(c, b);
		s->epoch = c->epoch;
	}
	s->last_use = index;
	return true;
}

static bool known(struct code *c, bool guest, uint64_t addr)
{
	struct line *l = line_of(c, guest, addr);

	return l && l->valid >> addr % LINE_BYTES / 2 & 1;
}

static uint64_t code_space(void *ctx, const struct nt_context *context)
{
	return context->has_priv && context->priv >= NT_PRIV_VU;
}

static int read_code(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	struct code *c = ctx;
	size_t n = 0;

	addr &= ~1ULL;
	if (!known(c, space, addr))
		hart_read_ahead(c->hart, SEARCH_AHEAD);
	/* Without Ownership messages, the decoder does not know whether a virtual machine or the host runs */
	if (!space && !known(c, false, addr))
		space = known(c, true, addr);
	while (n + 2 <= size && known(c, space, addr + n)) {
		struct line *l = line_of(c, space, addr + n);

		memcpy(buf + n, l->bytes + (addr + n) % LINE_BYTES, 2);
		n += 2;
	}
	if (n + 2 <= size) {
		struct line *l = line_of(c, space, addr + n);

		if (l)
			l->asked |= 1U << (addr + n) % LINE_BYTES / 2;
	}
	return n;
}

static void say_error(struct hart *h, const struct nt_item *it)
{
	char text[256];

	if (h->errors++ >= ERRORS_SHOWN)
		return;
	nt_item_desc(it, text, sizeof(text));
	fprintf(stderr, "ntrace verify: %s\n", text);
}

/* Offsets at which trace is missing according to the recording, in ascending order */
struct losses {
	uint64_t	*at;
	size_t		n, passed;
};

/* Return false if memory is exhausted, or if @f contains anything but ascending numbers. */
static bool losses_read(struct losses *l, FILE *f)
{
	unsigned long long at;
	size_t size = 0;
	int n;

	while ((n = fscanf(f, "%llu", &at)) == 1) {
		uint64_t *grown = l->at;

		if (l->n == size) {
			size = 2 * size + 64;
			grown = realloc(l->at, size * sizeof(*grown));
			if (!grown)
				return false;
			l->at = grown;
		}
		if (l->n && at < l->at[l->n - 1])
			return false;
		l->at[l->n++] = at;
	}
	return n == EOF && !ferror(f);
}

static bool losses_open(struct losses *l, const char *path)
{
	FILE *f = path ? fopen(path, "r") : NULL;
	bool ok = !path || (f && losses_read(l, f));

	if (!ok)
		fprintf(stderr, "ntrace verify: '%s': %s\n", path,
			f ? "not a list of ascending offsets" : strerror(errno));
	if (f)
		fclose(f);
	return ok;
}

static void take_item(struct hart *h, const struct nt_item *it, struct losses *losses, bool *gap)
{
	struct item item = { 0 };

	h->where = it->offset;
	for (; losses->passed < losses->n && it->offset >= losses->at[losses->passed]; losses->passed++)
		h->may_skip = true;
	switch (it->type) {
	case NT_ITEM_RANGE:
		if (!it->range.insns)
			return;
		item.kind = ITEM_RANGE;
		item.start = it->range.start;
		item.end = it->range.end_addr;
		item.ninsn = it->range.insns;
		item.detailed = true;
		item.how = it->range.how;
		item.taken = it->range.taken;
		item.to_next = it->range.has_dest && it->range.dest == it->range.end_addr;
		item.has_priv = it->context.has_priv;
		item.priv = it->context.priv;
		item.has_scontext = it->context.has_scontext;
		item.scontext = it->context.scontext;
		item.has_time = it->tstamp_kind == NT_TSTAMP_EXACT;
		item.time = it->tstamp;
		break;
	case NT_ITEM_SYNC:
		if (!it->sync.restart)
			return;
		/*
		 * If no gap precedes this message, the encoder has started here. After a gap, it may be a
		 * periodic message, which is not a restart.
		 */
		if (*gap) {
			*gap = false;
			return;
		}
		item.kind = ITEM_START;
		item.start = it->sync.addr;
		break;
	case NT_ITEM_LOST:
		item.kind = ITEM_LOST;
		break;
	case NT_ITEM_STOP:
		if (it->tcode == NT_TCODE_PROG_TRACE_CORRELATION || hart_ends_silently(h))
			return;
		item.kind = ITEM_GAP;
		*gap = true;
		break;
	case NT_ITEM_ERROR:
	case NT_ITEM_GAP:
		say_error(h, it);
		item.kind = ITEM_GAP;
		*gap = true;
		break;
	default:
		return;
	}
	hart_take(h, &item);
}

static bool decode(struct hart *h, struct nt_flow *flow, struct nt_image *image, struct code *c,
		   struct input *in, struct losses *losses)
{
	struct nt_item item;
	const uint8_t *data;
	bool gap = false;
	long n;
	int rc = 0;

	while ((n = input_read(in, &data)) > 0) {
		nt_flow_feed(flow, data, n);
		while ((rc = nt_flow_next(flow, &item)) > 0) {
			take_item(h, &item, losses, &gap);
			hart_read_ahead(h, READ_AHEAD);
			if (c->changed)
				nt_image_invalidate(image);
			c->changed = false;
		}
		if (rc < 0)
			return false;
	}
	nt_flow_end(flow);
	while (nt_flow_next(flow, &item) > 0)
		take_item(h, &item, losses, &gap);
	/* If the recording reports losses after the last item, sessions may be missing at the end */
	h->may_skip |= losses->passed < losses->n;
	return n == 0;
}

static bool add_elf(struct elf_files *elfs, struct nt_image *image, struct nt_config *config,
		    const char *arg)
{
	unsigned int xlen = 64;
	bool ok = elf_image_add_arg(elfs, image, arg, &xlen);

	config->xlen = xlen;
	return ok;
}

bool verify_trace(struct hart *h, const char *path, const char *lost, const struct options *options,
		  const char *const *elf, unsigned int n_elf)
{
	struct nt_config config = options->config;
	struct nt_image *image = nt_image_new();
	struct code code = { .hart = h, .epoch = 1 };
	struct nt_image_reader reader = { .space = code_space, .read = read_code, .ctx = &code };
	struct input *in = input_open(path, options);
	struct elf_files elfs = { 0 };
	struct nt_flow *flow = NULL;
	struct losses losses = { 0 };
	bool ok = losses_open(&losses, lost) && image && in;
	unsigned int i;

	h->unit = "offset";
	h->strict = true;
	for (i = 0; ok && i < n_elf; i++)
		ok = add_elf(&elfs, image, &config, elf[i]);
	/* Also read code from the truth, which may contain code that is in no ELF file, such as the reset vector */
	if (ok) {
		nt_image_set_reader(image, &reader);
		h->learn = learn;
		h->learn_ctx = &code;
		hart_read_ahead(h, READ_AHEAD);
		code.changed = false;
	}
	if (ok) {
		flow = nt_flow_new(&config, image);
		ok = flow && decode(h, flow, image, &code, in, &losses) && !code.failed;
		if (!ok)
			fprintf(stderr, "ntrace verify: '%s': %s\n", path,
				"cannot be read, or memory is not sufficient");
	}
	h->learn = NULL;
	nt_flow_free(flow);
	nt_image_free(image);
	elf_files_close(&elfs);
	input_close(in);
	free(losses.at);
	free(code.lines.at);
	free(code.seen.at);
	free(code.line_hash.slots);
	free(code.seen_hash.slots);
	return ok;
}
