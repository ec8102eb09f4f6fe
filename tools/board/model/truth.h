/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The truth is a file in which the board writes each block of instructions that a hart
 * executed, in order (struct nb_ingress in ingress.h describes a block). A decoder is right
 * if it decodes the same instructions from the trace.
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
 * nb_truth_create() - create the truth file of one hart
 * @path: Name of the file, which is replaced if it exists
 * @hart: Number of the hart, or of its CPU for a decoder
 *
 * Return: The writer, or NULL with errno set.
 */
struct nb_truth_writer *nb_truth_create(const char *path, unsigned int hart);

/* Handle a block that the previous block does not predict. Only nb_truth_block() may call this function. */
void nb_truth_slow(struct nb_truth_writer *w, const struct nb_ingress *blk,
		   const struct nb_trace_state *state);

/* A block of the dictionary, which contains each block of the file once */
struct nb_truth_entry {
	struct nb_ingress	blk;
	struct nb_truth_entry	*next[2];	/* blocks that followed it most recently, the last one first */
	uint32_t		index;		/* number of the entry in the dictionary */
	uint32_t		hash_next;
};

/* Head of struct nb_truth_writer, which only nb_truth_block() may use */
struct nb_truth_head {
	struct nb_truth_entry *cur;	/* the last block */
	/* number of blocks that are not written yet; each is next[0] of the entry of the block before it */
	uint32_t	run;
	uint32_t	stamp;		/* nb_trace_state.stamp of the last state that was recorded */
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
 * nb_truth_block() - record a block that has retired
 * @w: The writer
 * @blk: The block, which the encoder has already processed
 * @state: State of the encoder (nb_encoder.state) after it processed the block
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
 * nb_truth_state() - record a stop or start of the trace without a block after it
 * @w: The writer
 * @state: State of the encoder (nb_encoder.state) after the stop or start
 */
void nb_truth_state(struct nb_truth_writer *w, const struct nb_trace_state *state);

/**
 * nb_truth_context() - record new values of scontext and hcontext
 * @w: The writer
 * @scontext: The new value of scontext
 * @hcontext: The new value of hcontext
 */
void nb_truth_context(struct nb_truth_writer *w, uint64_t scontext, uint64_t hcontext);

/**
 * nb_truth_stacks() - note that the file has stack pointers, which need a reader of version 2
 * @w: The writer, for which no other function was called since nb_truth_create()
 */
void nb_truth_stacks(struct nb_truth_writer *w);

/**
 * nb_truth_stack() - record the values of registers at the start of the next block
 * @w: The writer, after nb_truth_stacks()
 * @sp: The stack pointer
 * @tp: The thread pointer
 */
void nb_truth_stack(struct nb_truth_writer *w, uint64_t sp, uint64_t tp);

/**
 * nb_truth_time() - record the current time; calls may be at any intervals
 * @w: The writer
 * @time: Time in the unit of the timestamps. A time that is less than the last one is ignored.
 */
void nb_truth_time(struct nb_truth_writer *w, uint64_t time);

/**
 * nb_truth_insns() - return the number of recorded instructions
 * @w: The writer
 */
uint64_t nb_truth_insns(const struct nb_truth_writer *w);

/**
 * nb_truth_close() - write pending data and the end record, and free the writer
 * @w: The writer, or NULL
 *
 * Return: 0, or -1 with errno set if any write has failed.
 */
int nb_truth_close(struct nb_truth_writer *w);

/* Kinds of events. Each comment names the members of struct nb_truth_event that the kind uses. */
enum nb_truth_kind {
	NB_TRUTH_BLOCK,		/* a retired block: .blk describes it, .traced is set if it is in the trace */
	NB_TRUTH_START,		/* the trace (re)starts with the next block, for the reason in .sync */
	NB_TRUTH_STOP,		/* the trace stopped after the last block, for the reason in .evcode */
	NB_TRUTH_SYNC,		/* a message whose field SYNC is .sync has the address of the next block */
	NB_TRUTH_CONTEXT,	/* the hart wrote .scontext or .hcontext, which have the new values */
	NB_TRUTH_TIME,		/* .time is the current time */
	NB_TRUTH_STACK,		/* .sp and .tp are registers sp and tp at the start of the next block */
	NB_TRUTH_END,		/* end of a complete file with .insns instructions */
};

struct nb_truth_event {
	enum nb_truth_kind	kind;
	bool			traced;
	uint8_t			sync;		/* enum nb_sync */
	uint8_t			evcode;		/* enum nb_evcode or NB_ENDED_LOST */
	struct nb_ingress	blk;		/* .wide and .code point to memory that the reader owns */
	uint64_t		scontext, hcontext, time, insns, sp, tp;
};

/**
 * nb_truth_open() - read a truth file
 * @path: Name of the file
 * @hart: Receives the number of the hart that the file describes
 *
 * Return: The reader, or NULL with errno set, which is EINVAL if the file is not a truth file.
 */
struct nb_truth_reader *nb_truth_open(const char *path, unsigned int *hart);

/**
 * nb_truth_next() - read the next event
 * @r: The reader
 * @ev: Receives the event
 *
 * Return: 1 if there was an event, 0 after NB_TRUTH_END, -1 if the file is truncated or corrupt.
 */
int nb_truth_next(struct nb_truth_reader *r, struct nb_truth_event *ev);

/**
 * nb_truth_error() - describe the error of nb_truth_next()
 * @r: The reader
 *
 * Return: A sentence without its subject, which is the file; NULL if nb_truth_next() has not failed.
 */
const char *nb_truth_error(const struct nb_truth_reader *r);

void nb_truth_reader_close(struct nb_truth_reader *r);

#endif /* NTRACE_BOARD_TRUTH_H */
