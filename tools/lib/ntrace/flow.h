/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Flow layer: what its files share.
 *
 *   flow.c	what the caller sees: items and batches
 *   engine.c	messages: what each type means
 *   walk.c	code: from one message to the next
 */
#ifndef NTRACE_FLOW_H
#define NTRACE_FLOW_H

#include "code.h"

/*
 * Ranges of one batch: few enough to stay in the first-level cache. fast.c begins no
 * message behind FAST_RANGES, and leaves those of one that does not fit to engine.c.
 */
#define MAX_RANGES	1536
#define FAST_SPARE	512
#define FAST_RANGES	(MAX_RANGES - FAST_SPARE)
/* A message that ends adds no more than these to what was walked. */
#define SPARE_RANGES	4
#define MAX_MARKS	512
#define MAX_EVENTS	4

enum nt_state {
	NT_STATE_NEW,		/* nothing came yet */
	NT_STATE_LIVE,		/* the PC is known */
	NT_STATE_NO_PC,		/* it is not, as code was missing; the address reference is */
	NT_STATE_STOPPED,	/* by ProgTraceCorrelation */
	NT_STATE_LOST,		/* waits for a message with SYNC */
};

/* An address that a return may go to */
struct nt_return {
	uint64_t	pc;
	uint32_t	call;	/* block in front of it; 0: not known */
};

/* The slot of the return stack, a ring of @depth, that is below @slot */
static inline uint32_t nt_return_below(uint32_t slot, uint32_t depth)
{
	return slot ? slot - 1 : depth - 1;
}

/* One trace source: all that the messages before have left behind */
struct nt_source {
	uint16_t		id;
	uint8_t			state;		/* enum nt_state */
	uint8_t			mode;		/* enum nt_mode */
	uint64_t		pc;		/* of the next instruction */
	uint32_t		block;		/* at @pc; 0: not known */
	int			space;		/* index; -1: not known */
	uint64_t		ref;		/* of the next U-ADDR (chapter 8.1) */
	uint64_t		owed;		/* I-CNT of ResourceFull, not walked yet */
	uint64_t		walked;		/* half-words walked by HIST, not in an I-CNT yet */
	struct nt_context	context;
	uint64_t		tstamp;
	bool			has_tstamp;
	bool			has_last;
	struct nt_message	last;		/* branch message that RepeatBranch repeats */
	uint8_t			raw[16];	/* ... or its bytes, if @raw_length */
	uint8_t			raw_length;
	uint64_t		last_dest;
	uint64_t		lost_messages;
	uint64_t		lost_bytes;
	/* return stack (chapter 9.2): a ring, the oldest is dropped */
	bool			calls_missing;	/* there may be more, which are not known */
	uint32_t		top;
	uint32_t		depth;
	struct nt_return	returns[];
};

/*
 * From the PC through the code, until HIST and I-CNT are used up. It can be
 * suspended at any block, when the batch is full.
 */
struct nt_walk {
	bool		active;
	bool		hist_only;	/* HIST without I-CNT: stops behind its last branch */
	bool		partial;	/* the last range given out ends inside a block */
	uint32_t	opcode;		/* of the last instruction then */
	uint32_t	tail;		/* block at the end, its outcome is the message's to tell */
	uint32_t	at;		/* behind the PC: the instruction that an error is about */
	uint64_t	hist;
	unsigned int	nr_bits;	/* of HIST, not used yet */
	int64_t		left;		/* of I-CNT, half-words */
	uint64_t	again;		/* times that HIST is to be walked again (HREPEAT) */
	uint32_t	spins;		/* blocks since the last branch */
};

struct nt_flow {
	struct nt_reader	reader;
	struct nt_code		code;
	struct nt_memo		*memo;
	struct nt_image		*image;
	struct nt_config	config;
	struct nt_source	**sources;	/* by SRC */
	uint32_t		nr_sources;
	bool			ending;
	bool			has_msg;	/* @msg is read and not begun */
	struct nt_message	msg;
	const struct nt_message	*act;		/* what is done: @msg, or what it repeats */
	uint64_t		repeat;		/* times left (B-CNT) */
	struct nt_source	*src;		/* of @msg */
	struct nt_walk		walk;

	/* what is given out */
	struct nt_source	*batch_src;
	struct nt_context	batch_context;
	uint64_t		batch_tstamp;	/* at its begin */
	bool			batch_has_tstamp;
	uint64_t		error_pc;	/* where the flow had come to at an error */
	uint32_t		at;		/* ranges given to the caller already */
	uint32_t		nr_ranges;
	uint32_t		nr_marks;
	uint32_t		at_mark;
	uint32_t		nr_events;
	uint32_t		at_event;
	struct nt_range		*ranges;	/* MAX_RANGES */
	struct nt_mark		*marks;		/* MAX_MARKS */
	struct nt_item		events[MAX_EVENTS];
	struct nt_stats		stats;
	/* @ranges and @marks, if nobody gave others */
	struct nt_range		own_ranges[MAX_RANGES];
	struct nt_mark		own_marks[MAX_MARKS];
};

/* walk.c */

/*
 * Walk on. Returns 1: done, @walk.tail may be set; 0: the batch is full; or
 * an error, which is @walk.at behind the PC.
 */
int nt_walk_run(struct nt_flow *flow, struct nt_source *src);

/* The block that the walk ended with: give it out, as @flags say */
void nt_walk_emit_tail(struct nt_flow *flow, unsigned int flags);

/*
 * Where a jump at the end of the walk goes to, if that can be inferred
 * (chapters 9.1 and 9.2).
 */
bool nt_walk_infer(struct nt_flow *flow, struct nt_source *src, uint64_t *dest);

/* The stack action of the jump at the end of the walk (table "4-bit itype values") */
void nt_walk_stack(struct nt_flow *flow, struct nt_source *src, const struct nt_block *block);

static inline uint64_t nt_flow_mask(const struct nt_flow *flow, uint64_t pc)
{
	return flow->config.xlen == 32 ? (uint32_t)pc : pc;
}

static inline uint64_t nt_range_end(const struct nt_range *range)
{
	return range->start + range->halfwords * 2ULL;
}

/* fast.c */

/*
 * Decode plain branch messages of @src, as many as there are, or @single, one. Returns
 * false if the next one is not plain.
 */
bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single);

/*
 * DirectBranch @msg again, up to @n times (B-CNT). Returns how many times it was; the next is not
 * plain, or there is no room.
 */
uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n);

/* The last branch message, of which only the bytes were kept: @src->last */
void nt_fast_last(const struct nt_flow *flow, struct nt_source *src);

/* engine.c */

/*
 * Decode until something is to be given out: @single, one message at a time, or
 * as much as fits. Returns false: no more bytes.
 */
bool nt_engine_run(struct nt_flow *flow, bool single, int *error);

#endif /* NTRACE_FLOW_H */
