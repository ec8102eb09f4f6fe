/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Flow layer: its structures. Each file knows those before it:
 *
 *   stack.h	the return stack
 *   walk.c	from one message to the next, through code
 *   memo.c	storage of what walks have found
 *   tally.c	what is counted of them
 *   path.c	walks that are stored
 *   fast.c	messages that were seen before, and other plain ones; fast-count.c counts them
 *   engine.c	every message: what each type means
 *   flow.c	what the caller sees: items and batches
 */
#ifndef NTRACE_FLOW_H
#define NTRACE_FLOW_H

#include "code.h"
#include "dialect.h"

/*
 * Ranges of one batch: few enough to stay in the first-level cache. fast.c begins no message
 * after FAST_RANGES, and leaves a message that needs more than the spare ones to engine.c.
 */
#define MAX_RANGES	1536
#define FAST_SPARE	512
#define FAST_RANGES	(MAX_RANGES - FAST_SPARE)
/* The end of a message adds at most so many ranges to those that were walked. */
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

/* How an encoder that counts calls reports returns to them (dialect) */
enum nt_returns {
	NT_RETURNS_UNKNOWN,	/* no return was seen since the flow is known */
	NT_RETURNS_EXPLICIT,	/* a message reports each return: there is no return stack */
	NT_RETURNS_IMPLICIT,
};

/* An entry of the return stack: an address that a return may go to */
struct nt_return {
	uint64_t	pc;
	uint32_t	call;	/* the block that ends there with a call; 0: not known */
};

/* The state of one trace source */
struct nt_source {
	uint16_t		id;
	uint8_t			state;		/* enum nt_state */
	uint8_t			mode;		/* enum nt_mode */
	uint8_t			other_mode;	/* messages of the other mode, while that may be wrong */
	uint64_t		pc;		/* of the next instruction */
	uint32_t		block;		/* at @pc; 0: not known */
	int			space;		/* index; -1: not known */
	uint64_t		ref;		/* of the next U-ADDR (chapter 8.1) */
	bool			has_ref;	/* ... by an event, though the PC is not known */
	uint64_t		owed;		/* I-CNT of ResourceFull, not walked yet */
	uint64_t		walked;		/* half-words walked by HIST, not in an I-CNT yet */
	struct nt_context	context;
	uint64_t		tstamp;
	bool			has_tstamp;
	bool			tstamp_gap;	/* until SYNC, @tstamp is a lower bound */
	bool			overrun;	/* Error left the flow; SYNC 7 would end it */
	bool			has_last;
	struct nt_message	last;		/* branch message that RepeatBranch repeats */
	uint8_t			raw[16];	/* ... or its bytes, if @raw_length */
	uint8_t			raw_length;
	uint64_t		last_dest;
	uint64_t		lost_messages;
	uint64_t		lost_bytes;
	/* return stack: see stack.h */
	uint8_t			return_mode;	/* enum nt_returns */
	uint8_t			nr_reported;	/* returns to known calls, none of them implicit */
	bool			calls_missing;	/* there may be more calls, which are not known */
	uint32_t		top;
	uint32_t		depth;
	uint32_t		kept;		/* entries from before the last SYNC (deviation) */
	struct nt_return	returns[];
};

/* HIST and I-CNT of a message, as far as they are not used up */
struct nt_todo {
	uint64_t	hist;
	unsigned int	nr_bits;	/* of HIST: the next one is the highest of them */
	int64_t		left;		/* of I-CNT, half-words */
};

/*
 * From the PC through the code, until HIST and I-CNT are used up. It can be
 * suspended at any block, when the batch is full.
 */
struct nt_walk {
	bool		active;
	bool		ready;		/* the code of its address space is at hand */
	bool		hist_only;	/* HIST without I-CNT: ends with its last branch */
	bool		ends_linear;	/* no jump or branch ends the last range given out */
	uint32_t	tail;		/* last block, if the message says where it leads */
	uint32_t	at;		/* of the instruction of an error, from the PC on */
	struct nt_todo	todo;
	bool		lacks_bit;	/* HIST may not have the branch at the end (dialect) */
	uint64_t	again;		/* times that HIST is to be walked again (HREPEAT) */
	uint32_t	spins;		/* blocks since the last branch */
};

struct nt_flow {
	struct nt_reader	reader;
	struct nt_code		code;
	struct nt_memo		*memo;
	struct nt_tally		*tally;		/* NULL: nothing was counted yet */
	bool			counting;	/* ranges are counted, and not given out */
	struct nt_image		*image;
	struct nt_config	config;
	const struct nt_dialect_table *dialect;
	uint32_t		accepted;	/* bits of enum nt_deviation */
	bool			is_odd;		/* the fast path has to ask for differences */
	unsigned int		addr_bits;	/* that are sent; 64: all */
	struct nt_source	**sources;	/* by SRC */
	uint32_t		nr_sources;
	bool			ending;
	bool			has_msg;	/* @msg is read and not begun */
	struct nt_message	msg;
	const struct nt_message	*act;		/* what to decode: @msg, or what it repeats */
	uint64_t		repeat;		/* times left (B-CNT, R-CNT) */
	struct nt_message	again;		/* the instruction that RepeatInstruction repeats */
	struct nt_source	*src;		/* of @msg */
	struct nt_walk		walk;

	/* ranges, marks and events that the caller gets next */
	struct nt_source	*batch_src;
	struct nt_context	batch_context;
	uint64_t		batch_space;	/* of its ranges */
	uint64_t		batch_tstamp;	/* at its begin */
	bool			batch_has_tstamp;
	bool			has_noted;	/* where the last range led to: @dest */
	bool			has_dest;
	uint64_t		dest;
	uint32_t		at;		/* ranges that the caller has got */
	uint32_t		nr_ranges;
	uint32_t		nr_marks;
	uint32_t		at_mark;
	uint32_t		nr_events;
	uint32_t		at_event;
	struct nt_range		*ranges;	/* MAX_RANGES */
	struct nt_mark		*marks;		/* MAX_MARKS */
	struct nt_item		events[MAX_EVENTS];
	struct nt_stats		stats;
	/* @ranges and @marks point here, unless the caller gave others */
	struct nt_range		own_ranges[MAX_RANGES];
	struct nt_mark		own_marks[MAX_MARKS];
};

/* How sure is the time of a message of @src, which has a timestamp if @exact? */
static inline enum nt_tstamp_kind nt_tstamp_kind(const struct nt_source *src, bool exact)
{
	if (!src->has_tstamp)
		return NT_TSTAMP_NONE;
	return exact && !src->tstamp_gap ? NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
}

/* The time that a mark or item has: 0 if it is not known */
static inline uint64_t nt_source_time(const struct nt_source *src)
{
	return src->has_tstamp ? src->tstamp : 0;
}

/* The message at @offset encodes the ranges up to, not including, number @range. */
static inline void nt_mark_put(struct nt_flow *flow, uint32_t range, uint64_t offset,
			       uint8_t tcode, uint64_t tstamp, enum nt_tstamp_kind kind)
{
	flow->marks[flow->nr_marks++] = (struct nt_mark){
		.range = range, .offset = offset, .tcode = tcode,
		.tstamp = tstamp, .tstamp_kind = kind,
	};
}

/* From now on, the source may execute in another address space, or code that has changed. */
void nt_source_forget_blocks(const struct nt_flow *flow, struct nt_source *src);

/* The source with that SRC, made if it is new. NULL: out of memory */
struct nt_source *nt_flow_source(struct nt_flow *flow, uint32_t id);

static inline uint64_t nt_flow_mask(const struct nt_flow *flow, uint64_t pc)
{
	return flow->config.xlen == 32 ? (uint32_t)pc : pc;
}

/* U-ADDR is the XOR with the address before (chapter 8.1). */
static inline uint64_t nt_flow_dest(const struct nt_flow *flow, uint64_t ref, uint64_t addr)
{
	return nt_addr_extend(nt_flow_mask(flow, ref ^ addr), flow->addr_bits);
}

static inline bool nt_flow_accepts(const struct nt_flow *flow, enum nt_deviation deviation)
{
	return flow->accepted >> deviation & 1;
}

static inline void nt_flow_deviates(struct nt_flow *flow, enum nt_deviation deviation)
{
	flow->stats.deviations[deviation]++;
}

/* Are direct jumps reported like taken branches? */
static inline bool nt_jumps_are_reported(const struct nt_flow *flow, bool btm)
{
	return flow->config.all_jumps || (btm && flow->dialect->btm_all_jumps);
}

static inline uint64_t nt_range_end(const struct nt_range *range)
{
	return range->start + range->halfwords * 2ULL;
}

/* The state right after a message with SYNC that was decoded: flow goes on from here. */
struct nt_entry {
	uint64_t		offset;		/* of the first byte after the message */
	uint64_t		addr;		/* F-ADDR */
	uint16_t		src;
	bool			has_tstamp;
	uint64_t		tstamp;
	struct nt_context	context;
};

/* nt_flow_next(), nt_flow_next_batch() */
int nt_flow_take_item(struct nt_flow *flow, struct nt_item *item);
int nt_flow_take_batch(struct nt_flow *flow, struct nt_batch *batch);

/* nt_flow_count() */
int nt_flow_take_counted(struct nt_flow *flow, struct nt_item *item);

/* Count the ranges that were not given out, and drop them. NT_OK; NT_E_NOMEM */
int nt_flow_count_ranges(struct nt_flow *flow);

/* Put the next ranges to @ranges, MAX_RANGES of them; NULL: to memory of the flow's own. */
void nt_flow_set_buffer(struct nt_flow *flow, struct nt_range *ranges);

/* As nt_flow_restart(), but the flow goes on from @entry. NT_OK; NT_E_NOMEM */
int nt_flow_enter(struct nt_flow *flow, const struct nt_entry *entry);

#endif /* NTRACE_FLOW_H */
