// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writer of truth files. Documentation/trace/ntrace-truth.rst describes the bytes of the
 * file, and this code uses the names of that page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "truth_common.h"

struct nb_truth_entry *nb_truth_add_entry(struct nb_truth_dictionary *d, const struct nb_ingress *blk)
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
	e = nb_truth_entry_at(d, d->n);
	*e = (struct nb_truth_entry){ .blk = *blk, .index = d->n++ };
	return e;
}

void nb_truth_free(struct nb_truth_dictionary *d)
{
	uint32_t i;

	for (i = 0; i < d->chunks; i++)
		free(d->chunk[i]);
	free(d->chunk);
}

/* ---- Writer of a truth file ---- */

struct nb_truth_writer {
	struct nb_truth_head	head;	/* must be the first member */
	struct nb_truth_dictionary	dict;
	uint32_t		*hash;	/* for each hash, 1 + index of the first entry, or 0 without an entry */
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

	while (i && !nb_truth_same(&nb_truth_entry_at(&w->dict, i - 1)->blk, blk))
		i = nb_truth_entry_at(&w->dict, i - 1)->hash_next;
	return i ? nb_truth_entry_at(&w->dict, i - 1) : NULL;
}

static void define(struct nb_truth_writer *w, const struct nb_ingress *blk)
{
	struct nb_truth_entry *e;
	int64_t delta;
	uint32_t i;

	if (w->dict.n == ENTRIES_MAX) {
		put_op(w, OP_RESET);
		nb_truth_reset(&w->dict);
		memset(w->hash, 0, HASH_SIZE * sizeof(*w->hash));
		w->head.cur = &w->dict.root;
	}
	put_op(w, OP_DEFINE);
	delta = blk->iaddr - nb_truth_end_of(w->head.cur);
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
	e = nb_truth_add_entry(&w->dict, blk);
	if (!e) {
		w->err = ENOMEM;
		return;
	}
	e->blk.wide = NULL;
	e->blk.code = NULL;
	e->hash_next = w->hash[hash_of(blk)];
	w->hash[hash_of(blk)] = e->index + 1;
	nb_truth_learn(w->head.cur, e);
	w->head.cur = e;
}

static void put_code(struct nb_truth_writer *w, unsigned int op, uint8_t code)
{
	put_op(w, op);
	put_byte(w, code);
}

static void put_state(struct nb_truth_writer *w, const struct nb_trace_state *state)
{
	/*
	 * Both the start and the end of a session may be between two blocks. The encoder has then sent the first
	 * message of the session, and lost the second one.
	 */
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
	nb_truth_learn(h->cur, e);
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
	nb_truth_free(&w->dict);
	free(w->hash);
	free(w);
	errno = err;
	return err ? -1 : 0;
}
