/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The truth: every block that a hart retired, in order, written beside the
 * trace so that a decode of the trace can be compared with what ran.
 * Documentation/trace/ntrace-truth.rst describes the file.
 */
#ifndef NTRACE_BOARD_TRUTH_H
#define NTRACE_BOARD_TRUTH_H

#include <stddef.h>

#include "encoder.h"
#include "ingress.h"

struct nb_truth_writer;
struct nb_truth_reader;

/**
 * nb_truth_create() - begin the truth file of one hart
 * @path: replaced if it exists
 * @hart: number of the hart, or of the CPU that a decoder calls it by
 *
 * Return: the writer, or NULL with errno set.
 */
struct nb_truth_writer *nb_truth_create(const char *path, unsigned int hart);

/* The uncommon case of nb_truth_block(); not to be called otherwise. */
void nb_truth_slow(struct nb_truth_writer *w, const struct nb_ingress *blk,
		   const struct nb_trace_state *state);

/* A block of the dictionary. */
struct nb_truth_entry {
	struct nb_ingress	blk;
	struct nb_truth_entry	*next[2];	/* what came next, the most recent first */
	uint32_t		index;
	uint32_t		hash_next;
};

/* The head of struct nb_truth_writer, for nb_truth_block() alone. */
struct nb_truth_head {
	struct nb_truth_entry *cur;	/* the last block */
	uint32_t	run;		/* blocks in a row that came next the last time too */
	uint32_t	stamp;		/* of the trace state */
	uint64_t	insns;
};

#define NB_TRUTH_RUN_MAX	(1U << 30)

static inline bool nb_truth_same(const struct nb_ingress *a, const struct nb_ingress *b)
{
	return a->iaddr == b->iaddr && a->iretire == b->iretire && a->ninsn == b->ninsn &&
	       a->itype == b->itype && a->priv == b->priv && a->ilastsize == b->ilastsize &&
	       a->sijump == b->sijump && a->wide_hash == b->wide_hash;
}

/**
 * nb_truth_block() - one block has retired
 * @w: the writer
 * @blk: the block, after it was given to the encoder
 * @state: &encoder.state
 */
static inline void nb_truth_block(struct nb_truth_writer *w, const struct nb_ingress *blk,
				  const struct nb_trace_state *state)
{
	struct nb_truth_head *h = (struct nb_truth_head *)w;
	struct nb_truth_entry *next = h->cur->next[0];

	h->insns += blk->ninsn;
	if (NB_LIKELY(next && nb_truth_same(&next->blk, blk) && h->stamp == state->stamp &&
		      h->run < NB_TRUTH_RUN_MAX)) {
		h->run++;
		h->cur = next;
		return;
	}
	nb_truth_slow(w, blk, state);
}

/**
 * nb_truth_state() - the trace has ended, or begun, and no block follows at once
 * @w: the writer
 * @state: &encoder.state
 */
void nb_truth_state(struct nb_truth_writer *w, const struct nb_trace_state *state);

/**
 * nb_truth_context() - scontext or hcontext has a new value from here on
 * @w: the writer
 * @scontext: value now
 * @hcontext: value now
 */
void nb_truth_context(struct nb_truth_writer *w, uint64_t scontext, uint64_t hcontext);

/**
 * nb_truth_stacks() - the file has stack pointers, so that only readers of version 2 take it
 * @w: the writer, to which nothing was given yet
 */
void nb_truth_stacks(struct nb_truth_writer *w);

/**
 * nb_truth_stack() - the next block begins with these values of registers
 * @w: the writer, after nb_truth_stacks()
 * @sp: the stack pointer
 * @tp: the thread pointer
 */
void nb_truth_stack(struct nb_truth_writer *w, uint64_t sp, uint64_t tp);

/**
 * nb_truth_time() - the time is known here; call it now and then
 * @w: the writer
 * @time: in the unit of the timestamps, never going back
 */
void nb_truth_time(struct nb_truth_writer *w, uint64_t time);

/**
 * nb_truth_insns() - instructions written so far
 * @w: the writer
 */
uint64_t nb_truth_insns(const struct nb_truth_writer *w);

/**
 * nb_truth_close() - write what is held back, and the end record; frees @w
 * @w: the writer, or NULL
 *
 * Return: 0, or -1 with errno set where any write has failed.
 */
int nb_truth_close(struct nb_truth_writer *w);

enum nb_truth_kind {
	NB_TRUTH_BLOCK,		/* .blk, .traced */
	NB_TRUTH_START,		/* the trace (re)starts with the next block; .sync */
	NB_TRUTH_STOP,		/* it stopped after the last block; .evcode */
	NB_TRUTH_SYNC,		/* a sync message has the next block's address; .sync */
	NB_TRUTH_CONTEXT,	/* .scontext, .hcontext */
	NB_TRUTH_TIME,		/* .time */
	NB_TRUTH_STACK,		/* the next block begins with .sp and .tp */
	NB_TRUTH_END,		/* the file is complete; .insns */
};

struct nb_truth_event {
	enum nb_truth_kind	kind;
	bool			traced;
	uint8_t			sync;		/* enum nb_sync */
	uint8_t			evcode;		/* enum nb_evcode or NB_ENDED_LOST */
	struct nb_ingress	blk;		/* .wide and .code live as long as the reader */
	uint64_t		scontext, hcontext, time, insns, sp, tp;
};

/**
 * nb_truth_open() - read a truth file
 * @path: of the file
 * @hart: its hart is put here
 *
 * Return: the reader, or NULL with errno set: EINVAL where it is no truth file.
 */
struct nb_truth_reader *nb_truth_open(const char *path, unsigned int *hart);

/**
 * nb_truth_next() - the next event
 * @r: the reader
 * @ev: filled in
 *
 * Return: 1, 0 after NB_TRUTH_END, -1 where the file is truncated or corrupt.
 */
int nb_truth_next(struct nb_truth_reader *r, struct nb_truth_event *ev);

/**
 * nb_truth_error() - why nb_truth_next() returned -1
 * @r: the reader
 *
 * Return: a sentence without its subject, the file; NULL where all is well.
 */
const char *nb_truth_error(const struct nb_truth_reader *r);

void nb_truth_reader_close(struct nb_truth_reader *r);

#endif /* NTRACE_BOARD_TRUTH_H */
