// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reader of truth files. Documentation/trace/ntrace-truth.rst describes the bytes of the file, and
 * this code uses the names of that page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "insn.h"
#include "truth_common.h"

struct arena {
	struct arena	*next;
	uint64_t	words[];
};

struct nb_truth_reader {
	struct nb_truth_dictionary	dict;
	struct nb_truth_entry	*cur;
	struct arena		*arena;
	/* number of blocks to return before the next token; each is the last known successor of its predecessor */
	uint32_t		run;
	bool			then_other;
	struct nb_truth_entry	*then_ref;
	bool			traced, ended;
	uint64_t		time, insns, sp, tp;
	unsigned int		version;
	const char		*error;
	int			fd;
	size_t			pos, n;
	uint8_t			buf[BUFFER];
};

/* Return the next byte, or -1 at the end of the file. */
static int get_byte(struct nb_truth_reader *r)
{
	if (r->pos == r->n) {
		ssize_t got;

		do {
			got = read(r->fd, r->buf, sizeof(r->buf));
		} while (got < 0 && errno == EINTR);
		if (got <= 0) {
			r->error = got ? "cannot be read" : "ends without an end record";
			return -1;
		}
		r->pos = 0;
		r->n = got;
	}
	return r->buf[r->pos++];
}

static int get_varint(struct nb_truth_reader *r, uint64_t *value)
{
	unsigned int shift;
	int byte;

	*value = 0;
	for (shift = 0; shift < 64; shift += 7) {
		byte = get_byte(r);
		if (byte < 0)
			return -1;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return 0;
	}
	r->error = "has a number of more than 64 bits";
	return -1;
}

static int corrupt(struct nb_truth_reader *r, const char *why)
{
	r->error = why;
	return -1;
}

static struct arena *arena_get(struct nb_truth_reader *r, size_t words)
{
	struct arena *a = calloc(1, sizeof(*a) + 8 * words);

	if (!a) {
		r->error = "needs more memory than is available";
		return NULL;
	}
	a->next = r->arena;
	r->arena = a;
	return a;
}

static const uint64_t *get_wide(struct nb_truth_reader *r, uint32_t ninsn)
{
	struct arena *a = arena_get(r, (ninsn + 63) / 64);
	uint32_t i;

	if (!a)
		return NULL;
	for (i = 0; i < ninsn; i += 8) {
		int byte = get_byte(r);

		if (byte < 0)
			return NULL;
		a->words[i / 64] |= (uint64_t)byte << i % 64;
	}
	return a->words;
}

/*
 * Read the code of a block, and compute the lengths of its instructions. Return the lengths in the form of
 * nb_ingress.wide, or NULL for an error. The code is in the same allocation after the lengths.
 */
static const uint64_t *get_code_bytes(struct nb_truth_reader *r, struct nb_ingress *blk)
{
	size_t words = (blk->ninsn + 63) / 64, len = 2 * blk->iretire, i;
	struct arena *a = arena_get(r, words + (len + 7) / 8);
	uint32_t n, len_insn;
	uint8_t *code;

	if (!a)
		return NULL;
	code = (uint8_t *)(a->words + words);
	for (i = 0; i < len; i++) {
		int byte = get_byte(r);

		if (byte < 0)
			return NULL;
		code[i] = byte;
	}
	for (i = 0, n = 0; n < blk->ninsn && i + 2 <= len; n++, i += 2 * len_insn) {
		len_insn = nb_insn_len(code[i] | code[i + 1] << 8);
		if (len_insn > 1)
			a->words[n / 64] |= 1ULL << n % 64;
	}
	blk->code = code;
	return a->words;
}

static uint32_t count_wide(const uint64_t *wide, uint32_t ninsn)
{
	uint32_t i, n = 0;

	for (i = 0; i < ninsn; i++)
		n += wide[i / 64] >> i % 64 & 1;
	return n;
}

static int get_definition(struct nb_truth_reader *r)
{
	uint64_t delta, iretire, ninsn;
	struct nb_ingress blk = { 0 };
	int flags, priv;

	if (get_varint(r, &delta) || get_varint(r, &iretire) || get_varint(r, &ninsn))
		return -1;
	flags = get_byte(r);
	priv = get_byte(r);
	if (flags < 0 || priv < 0)
		return -1;
	if (iretire > IRETIRE_MAX || ninsn > iretire || priv > (DEF_PRIV | DEF_CODE))
		return corrupt(r, "has an impossible block");
	blk.iaddr = nb_truth_end_of(r->cur) + unzigzag(delta);
	blk.iretire = iretire;
	blk.ninsn = ninsn;
	blk.itype = flags & DEF_ITYPE;
	blk.ilastsize = (flags & DEF_LASTSIZE) >> 4;
	blk.sijump = flags & DEF_SIJUMP;
	blk.priv = priv & DEF_PRIV;
	if ((flags & DEF_WIDE || priv & DEF_CODE) && ninsn) {
		blk.wide = priv & DEF_CODE ? get_code_bytes(r, &blk) : get_wide(r, ninsn);
		if (!blk.wide)
			return -1;
		blk.wide_hash = blk.code ? nb_code_hash(blk.code, 2 * iretire) :
					   nb_wide_hash(blk.wide, ninsn);
		if (ninsn + count_wide(blk.wide, ninsn) != iretire)
			return corrupt(r, "has a block whose instruction counts contradict each other");
	}
	r->then_ref = nb_truth_add_entry(&r->dict, &blk);
	return r->then_ref ? 0 : corrupt(r, "needs more memory than is available");
}

static int give_block(struct nb_truth_reader *r, struct nb_truth_entry *e,
		      struct nb_truth_event *ev)
{
	nb_truth_learn(r->cur, e);
	r->cur = e;
	ev->kind = NB_TRUTH_BLOCK;
	ev->traced = r->traced;
	ev->blk = e->blk;
	r->insns += e->blk.ninsn;
	return 1;
}

/*
 * Fill @ev with the next block of the last token. Return 1 if @ev was filled in, 0 if the token has no more blocks,
 * and -1 for an error.
 */
static int give_pending(struct nb_truth_reader *r, struct nb_truth_event *ev)
{
	struct nb_truth_entry *e;

	if (r->run) {
		r->run--;
		e = r->cur->next[0];
	} else if (r->then_other) {
		r->then_other = false;
		e = r->cur->next[1];
	} else if (r->then_ref) {
		e = r->then_ref;
		r->then_ref = NULL;
	} else {
		return 0;
	}
	return e ? give_block(r, e, ev) : corrupt(r, "refers to a block that it has not defined");
}

static int get_code(struct nb_truth_reader *r, struct nb_truth_event *ev,
		    enum nb_truth_kind kind, uint8_t *code)
{
	int byte = get_byte(r);

	if (byte < 0)
		return -1;
	ev->kind = kind;
	*code = byte;
	return 1;
}

static int get_stack(struct nb_truth_reader *r, struct nb_truth_event *ev)
{
	uint64_t sp, tp;

	if (r->version < VERSION_STACKS)
		return corrupt(r, "has a stack pointer, which its version does not allow");
	if (get_varint(r, &sp) || get_varint(r, &tp))
		return -1;
	r->sp += unzigzag(sp);
	r->tp += unzigzag(tp);
	ev->kind = NB_TRUTH_STACK;
	ev->sp = r->sp;
	ev->tp = r->tp;
	return 1;
}

static int get_end(struct nb_truth_reader *r, struct nb_truth_event *ev)
{
	if (get_varint(r, &ev->insns))
		return -1;
	if (ev->insns != r->insns)
		return corrupt(r, "has a wrong count of its instructions");
	r->ended = true;
	ev->kind = NB_TRUTH_END;
	return 1;
}

/* Read the rest of a record of kind KIND_OP. Return 1 if @ev was filled in, 0 if not, and -1 for an error. */
static int get_op(struct nb_truth_reader *r, unsigned int op, struct nb_truth_event *ev)
{
	uint64_t delta;

	switch (op) {
	case OP_DEFINE:
		return get_definition(r);
	case OP_CONTEXT:
		ev->kind = NB_TRUTH_CONTEXT;
		return get_varint(r, &ev->scontext) || get_varint(r, &ev->hcontext) ? -1 : 1;
	case OP_TIME:
		if (get_varint(r, &delta))
			return -1;
		r->time += delta;
		ev->kind = NB_TRUTH_TIME;
		ev->time = r->time;
		return 1;
	case OP_START:
		r->traced = true;
		return get_code(r, ev, NB_TRUTH_START, &ev->sync);
	case OP_STOP:
		r->traced = false;
		return get_code(r, ev, NB_TRUTH_STOP, &ev->evcode);
	case OP_SYNC:
		return get_code(r, ev, NB_TRUTH_SYNC, &ev->sync);
	case OP_END:
		return get_end(r, ev);
	case OP_STACK:
		return get_stack(r, ev);
	case OP_RESET:
		nb_truth_reset(&r->dict);
		r->cur = &r->dict.root;
		return 0;
	}
	return corrupt(r, "has a record of unknown kind");
}

static int get_token(struct nb_truth_reader *r, struct nb_truth_event *ev)
{
	uint64_t number, index;
	int byte = get_byte(r);

	if (byte < 0)
		return -1;
	number = byte & 63;
	if (byte >> 6 == KIND_OP)
		return get_op(r, number, ev);
	if (number == SHORT_MAX) {
		if (get_varint(r, &number))
			return -1;
		number += SHORT_MAX;
		if (number > UINT32_MAX)
			return corrupt(r, "has a count of repeated blocks that does not fit into 32 bits");
	}
	r->run = number;
	if (byte >> 6 == KIND_OTHER) {
		r->then_other = true;
	} else if (byte >> 6 == KIND_REF) {
		if (get_varint(r, &index))
			return -1;
		if (index >= r->dict.n)
			return corrupt(r, "refers to a block that it has not defined");
		r->then_ref = nb_truth_entry_at(&r->dict, index);
	}
	return 0;
}

int nb_truth_next(struct nb_truth_reader *r, struct nb_truth_event *ev)
{
	int rc;

	if (r->error)
		return -1;
	if (r->ended)
		return 0;
	do {
		rc = give_pending(r, ev);
		if (!rc)
			rc = get_token(r, ev);
	} while (!rc);
	return rc;
}

const char *nb_truth_error(const struct nb_truth_reader *r)
{
	return r->error;
}

static uint32_t word(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

struct nb_truth_reader *nb_truth_open(const char *path, unsigned int *hart)
{
	struct nb_truth_reader *r = calloc(1, sizeof(*r));
	uint8_t header[HEADER_SIZE];
	unsigned int i;
	int err, byte;

	if (!r)
		return NULL;
	r->cur = &r->dict.root;
	r->fd = open(path, O_RDONLY | O_CLOEXEC);
	err = errno;
	if (r->fd < 0)
		goto fail;
	err = EINVAL;
	for (i = 0; i < HEADER_SIZE; i++) {
		byte = get_byte(r);
		if (byte < 0)
			goto fail;
		header[i] = byte;
	}
	r->version = word(header + VERSION_AT);
	if (memcmp(header, MAGIC, 8) || r->version < VERSION || r->version > VERSION_STACKS)
		goto fail;
	*hart = word(header + 12);
	return r;

fail:
	nb_truth_reader_close(r);
	errno = err;
	return NULL;
}

void nb_truth_reader_close(struct nb_truth_reader *r)
{
	struct arena *a, *next;

	if (!r)
		return;
	for (a = r->arena; a; a = next) {
		next = a->next;
		free(a);
	}
	if (r->fd >= 0)
		close(r->fd);
	nb_truth_free(&r->dict);
	free(r);
}
