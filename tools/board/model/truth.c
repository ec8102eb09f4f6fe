// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writer and reader of truth files. Documentation/trace/ntrace-truth.rst describes the bytes of the
 * file, and this code uses the names of that page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "insn.h"
#include "truth.h"

#define MAGIC		"NBTRUTH\n"
#define VERSION		1
#define VERSION_STACKS	2
#define VERSION_AT	8		/* in the header */
#define HEADER_SIZE	24
#define BUFFER		(256 << 10)
#define CHUNK		4096		/* number of entries per allocation */
#define HASH_SIZE	(1U << 20)
#define ENTRIES_MAX	(4U << 20)	/* limit, after which the dictionary is reset */
#define IRETIRE_MAX	(1U << 20)

/*
 * A token has its kind in the two high bits, and in the other bits a number below 63, or 63 and a
 * varint.
 */
enum { KIND_RUN, KIND_OTHER, KIND_REF, KIND_OP };
enum { OP_DEFINE, OP_CONTEXT, OP_TIME, OP_START, OP_STOP, OP_SYNC, OP_END, OP_RESET, OP_STACK };
#define SHORT_MAX	63

/* Flags of a definition */
#define DEF_ITYPE	0x0f
#define DEF_LASTSIZE	0x30
#define DEF_SIJUMP	0x40
#define DEF_WIDE	0x80
/* Bits of the privilege byte */
#define DEF_PRIV	0x07
#define DEF_CODE	0x08

/* ---- The dictionary, which is the same in writer and reader ---- */

struct dictionary {
	struct nb_truth_entry	**chunk;
	uint32_t		n, chunks;
	struct nb_truth_entry	root;	/* before the first block */
};

static struct nb_truth_entry *entry(const struct dictionary *d, uint32_t index)
{
	return &d->chunk[index / CHUNK][index % CHUNK];
}

static struct nb_truth_entry *add_entry(struct dictionary *d, const struct nb_ingress *blk)
{
	struct nb_truth_entry *e;

	if (d->n == d->chunks * CHUNK) {
		void *grown = realloc(d->chunk, (d->chunks + 1) * sizeof(*d->chunk));

		if (!grown)
			return NULL;
		d->chunk = grown;
		d->chunk[d->chunks] = malloc(CHUNK * sizeof(struct nb_truth_entry));
		if (!d->chunk[d->chunks])
			return NULL;
		d->chunks++;
	}
	e = entry(d, d->n);
	*e = (struct nb_truth_entry){ .blk = *blk, .index = d->n++ };
	return e;
}

static void reset_dictionary(struct dictionary *d)
{
	d->n = 0;
	d->root.next[0] = NULL;
	d->root.next[1] = NULL;
}

static void free_dictionary(struct dictionary *d)
{
	uint32_t i;

	for (i = 0; i < d->chunks; i++)
		free(d->chunk[i]);
	free(d->chunk);
}

/* Record that @to followed @from, so that it is expected the next time. */
static void learn(struct nb_truth_entry *from, struct nb_truth_entry *to)
{
	if (from->next[0] == to)
		return;
	from->next[1] = from->next[0];
	from->next[0] = to;
}

static uint64_t end_of(const struct nb_truth_entry *e)
{
	return e->blk.iaddr + 2ULL * e->blk.iretire;
}

/* Zigzag encoding has the sign in bit 0. */
static uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ value >> 63;
}

static int64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

/* ---- Writer ---- */

struct nb_truth_writer {
	struct nb_truth_head	head;	/* first */
	struct dictionary	dict;
	uint32_t		*hash;	/* index + 1 of the first entry, or 0 */
	uint32_t		session, starts, syncs;
	uint64_t		time, sp, tp;
	int			fd, err;
	size_t			n;
	uint8_t			buf[BUFFER];
};

static void write_out(struct nb_truth_writer *w)
{
	size_t done = 0;

	while (done < w->n && !w->err) {
		ssize_t r = write(w->fd, w->buf + done, w->n - done);

		if (r >= 0)
			done += r;
		else if (errno != EINTR)
			w->err = errno;
	}
	w->n = 0;
}

static void put_byte(struct nb_truth_writer *w, uint8_t byte)
{
	if (w->n == BUFFER)
		write_out(w);
	w->buf[w->n++] = byte;
}

static void put_varint(struct nb_truth_writer *w, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(w, value | 0x80);
	put_byte(w, value);
}

static void put_token(struct nb_truth_writer *w, unsigned int kind, uint32_t number)
{
	uint32_t low = number < SHORT_MAX ? number : SHORT_MAX;

	put_byte(w, kind << 6 | low);
	if (low == SHORT_MAX)
		put_varint(w, number - SHORT_MAX);
}

static void put_op(struct nb_truth_writer *w, unsigned int op)
{
	if (w->head.run)
		put_token(w, KIND_RUN, w->head.run);
	w->head.run = 0;
	put_byte(w, KIND_OP << 6 | op);
}

static uint32_t hash_of(const struct nb_ingress *blk)
{
	uint64_t h = blk->iaddr ^ (uint64_t)blk->iretire << 40 ^ (uint64_t)blk->itype << 56 ^
		     (uint64_t)blk->priv << 60 ^ blk->wide_hash;

	h *= 0x9e3779b97f4a7c15ULL;
	return h >> 44 & (HASH_SIZE - 1);
}

static struct nb_truth_entry *find(const struct nb_truth_writer *w, const struct nb_ingress *blk)
{
	uint32_t i = w->hash[hash_of(blk)];

	while (i && !nb_truth_same(&entry(&w->dict, i - 1)->blk, blk))
		i = entry(&w->dict, i - 1)->hash_next;
	return i ? entry(&w->dict, i - 1) : NULL;
}

static void define(struct nb_truth_writer *w, const struct nb_ingress *blk)
{
	struct nb_truth_entry *e;
	int64_t delta;
	uint32_t i;

	if (w->dict.n == ENTRIES_MAX) {
		put_op(w, OP_RESET);
		reset_dictionary(&w->dict);
		memset(w->hash, 0, HASH_SIZE * sizeof(*w->hash));
		w->head.cur = &w->dict.root;
	}
	put_op(w, OP_DEFINE);
	delta = blk->iaddr - end_of(w->head.cur);
	put_varint(w, zigzag(delta));
	put_varint(w, blk->iretire);
	put_varint(w, blk->ninsn);
	put_byte(w, (blk->itype & 15) | (blk->ilastsize & 3) << 4 |
		    (blk->sijump ? DEF_SIJUMP : 0) | (blk->wide && !blk->code ? DEF_WIDE : 0));
	put_byte(w, blk->priv | (blk->code ? DEF_CODE : 0));
	for (i = 0; blk->code && i < 2 * blk->iretire; i++)
		put_byte(w, blk->code[i]);
	for (i = 0; blk->wide && !blk->code && i < blk->ninsn; i += 8)
		put_byte(w, blk->wide[i / 64] >> i % 64);
	e = add_entry(&w->dict, blk);
	if (!e) {
		w->err = ENOMEM;
		return;
	}
	e->blk.wide = NULL;
	e->blk.code = NULL;
	e->hash_next = w->hash[hash_of(blk)];
	w->hash[hash_of(blk)] = e->index + 1;
	learn(w->head.cur, e);
	w->head.cur = e;
}

static void put_code(struct nb_truth_writer *w, unsigned int op, uint8_t code)
{
	put_op(w, op);
	put_byte(w, code);
}

static void put_state(struct nb_truth_writer *w, const struct nb_trace_state *state)
{
	/* A session that lost the message after its first one has traced no block */
	bool empty = w->starts != state->starts && !state->session;

	if (w->session != state->session) {
		if (w->session)
			put_code(w, OP_STOP, empty ? state->evcode_before : state->evcode);
		if (state->session)
			put_code(w, OP_START, state->sync);
	} else if (state->session && w->syncs != state->syncs) {
		put_code(w, OP_SYNC, state->sync);
	}
	if (empty) {
		put_code(w, OP_START, state->sync);
		put_code(w, OP_STOP, state->evcode);
	}
	w->session = state->session;
	w->starts = state->starts;
	w->syncs = state->syncs;
	w->head.stamp = state->stamp;
}

void nb_truth_state(struct nb_truth_writer *w, const struct nb_trace_state *state)
{
	if (w->head.stamp != state->stamp && !w->err)
		put_state(w, state);
}

void nb_truth_slow(struct nb_truth_writer *w, const struct nb_ingress *blk,
		   const struct nb_trace_state *state)
{
	struct nb_truth_head *h = &w->head;
	struct nb_truth_entry *e;

	if (w->err)
		return;
	if (h->stamp != state->stamp)
		put_state(w, state);
	if (h->run >= NB_TRUTH_RUN_MAX) {
		put_token(w, KIND_RUN, h->run);
		h->run = 0;
	}
	e = h->cur->next[0];
	if (e && nb_truth_same(&e->blk, blk)) {
		h->run++;
		h->cur = e;
		return;
	}
	e = h->cur->next[1];
	if (e && nb_truth_same(&e->blk, blk)) {
		put_token(w, KIND_OTHER, h->run);
	} else {
		e = find(w, blk);
		if (!e) {
			define(w, blk);
			return;
		}
		put_token(w, KIND_REF, h->run);
		put_varint(w, e->index);
	}
	h->run = 0;
	learn(h->cur, e);
	h->cur = e;
}

void nb_truth_context(struct nb_truth_writer *w, uint64_t scontext, uint64_t hcontext)
{
	put_op(w, OP_CONTEXT);
	put_varint(w, scontext);
	put_varint(w, hcontext);
}

void nb_truth_stacks(struct nb_truth_writer *w)
{
	w->buf[VERSION_AT] = VERSION_STACKS;
}

void nb_truth_stack(struct nb_truth_writer *w, uint64_t sp, uint64_t tp)
{
	put_op(w, OP_STACK);
	put_varint(w, zigzag(sp - w->sp));
	put_varint(w, zigzag(tp - w->tp));
	w->sp = sp;
	w->tp = tp;
}

void nb_truth_time(struct nb_truth_writer *w, uint64_t time)
{
	if (time <= w->time)
		return;
	put_op(w, OP_TIME);
	put_varint(w, time - w->time);
	w->time = time;
}

uint64_t nb_truth_insns(const struct nb_truth_writer *w)
{
	return w->head.insns;
}

static void put_header(struct nb_truth_writer *w, unsigned int hart)
{
	unsigned int i;

	for (i = 0; i < 8; i++)
		put_byte(w, MAGIC[i]);
	for (i = 0; i < 4; i++)
		put_byte(w, VERSION >> 8 * i);
	for (i = 0; i < 4; i++)
		put_byte(w, hart >> 8 * i);
	for (i = 0; i < 8; i++)
		put_byte(w, 0);
}

struct nb_truth_writer *nb_truth_create(const char *path, unsigned int hart)
{
	struct nb_truth_writer *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->hash = calloc(HASH_SIZE, sizeof(*w->hash));
	w->fd = w->hash ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
	if (w->fd < 0) {
		int err = errno;

		free(w->hash);
		free(w);
		errno = err;
		return NULL;
	}
	w->head.cur = &w->dict.root;
	put_header(w, hart);
	return w;
}

int nb_truth_close(struct nb_truth_writer *w)
{
	int err;

	if (!w)
		return 0;
	put_op(w, OP_END);
	put_varint(w, w->head.insns);
	write_out(w);
	if (close(w->fd) && !w->err)
		w->err = errno;
	err = w->err;
	free_dictionary(&w->dict);
	free(w->hash);
	free(w);
	errno = err;
	return err ? -1 : 0;
}

/* ---- Reader ---- */

struct arena {
	struct arena	*next;
	uint64_t	words[];
};

struct nb_truth_reader {
	struct dictionary	dict;
	struct nb_truth_entry	*cur;
	struct arena		*arena;
	uint32_t		run;		/* expected blocks that are not yet returned */
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
 * Read the code, and compute the lengths of its instructions. Return the lengths, which the code
 * follows in memory.
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
	blk.iaddr = end_of(r->cur) + unzigzag(delta);
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
			return corrupt(r, "has a block with contradicting instruction counts");
	}
	r->then_ref = add_entry(&r->dict, &blk);
	return r->then_ref ? 0 : corrupt(r, "needs more memory than is available");
}

static int give_block(struct nb_truth_reader *r, struct nb_truth_entry *e,
		      struct nb_truth_event *ev)
{
	learn(r->cur, e);
	r->cur = e;
	ev->kind = NB_TRUTH_BLOCK;
	ev->traced = r->traced;
	ev->blk = e->blk;
	r->insns += e->blk.ninsn;
	return 1;
}

/* Return the next block that the last token represents. The result is 0 if no block is left. */
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

/* Return 1 if @ev was filled in, 0 if there is no event yet, and -1 for an error */
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
		reset_dictionary(&r->dict);
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
			return corrupt(r, "has an impossible run");
	}
	r->run = number;
	if (byte >> 6 == KIND_OTHER) {
		r->then_other = true;
	} else if (byte >> 6 == KIND_REF) {
		if (get_varint(r, &index))
			return -1;
		if (index >= r->dict.n)
			return corrupt(r, "refers to a block that it has not defined");
		r->then_ref = entry(&r->dict, index);
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
	free_dictionary(&r->dict);
	free(r);
}
