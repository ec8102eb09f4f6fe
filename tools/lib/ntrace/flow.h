/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * This file has the structures of the flow layer. Each file uses only the files above it:
 *
 *   stack.h	the return stack
 *   walk.c	follows the code from one message to the next
 *   memo.c	stores the results of walks
 *   tally.c	counts the results of walks
 *   path.c	walks a path for the first time
 *   fast.c	decodes plain messages; fast-count.c counts their ranges
 *   engine.c	interprets every type of message
 *   flow.c	returns items and batches to the caller
 */
#ifndef NTRACE_FLOW_H
#define NTRACE_FLOW_H

#include "code.h"
#include "dialect.h"

/*
 * Maximum number of ranges of one batch, so that a batch stays in the first-level cache. fast.c
 * begins a message only if the batch has fewer than FAST_RANGES ranges. The message may then add up
 * to FAST_SPARE ranges. engine.c decodes longer messages.
 */
#define MAX_RANGES	1536
#define FAST_SPARE	512
#define FAST_RANGES	(MAX_RANGES - FAST_SPARE)
/* Maximum number of ranges that are added after the walk, when a message is finished */
#define SPARE_RANGES	4
/* Maximum numbers of marks and events of one batch */
#define MAX_MARKS	512
#define MAX_EVENTS	4

enum nt_state {
	NT_STATE_NEW,		/* before the first message */
	NT_STATE_LIVE,		/* the PC is known */
	NT_STATE_NO_PC,		/* code was missing; only the address to which the next U-ADDR is relative is known */
	NT_STATE_STOPPED,	/* ProgTraceCorrelation has stopped the trace */
	NT_STATE_LOST,		/* the flow is not known before the next message with SYNC */
};

/* How an encoder reports returns, if its dialect has nt_dialect_table::counts_returns */
enum nt_returns {
	NT_RETURNS_UNKNOWN,	/* no return was decoded since the last loss of trace */
	NT_RETURNS_EXPLICIT,	/* a message reports each return, so the return stack is not used */
	NT_RETURNS_IMPLICIT,	/* no message reports a return from a call that the encoder has counted */
};

/* An entry of the return stack */
struct nt_return {
	uint64_t	pc;	/* destination of the return */
	uint32_t	call;	/* block that ends at @pc with a call; 0 if not known */
};

/* The state of one trace source */
struct nt_source {
	uint16_t		id;
	uint8_t			state;		/* enum nt_state */
	uint8_t			mode;		/* enum nt_mode */
	uint8_t			other_mode;	/* number of messages that contradict @mode */
	bool			was_off;	/* trace stopped; no message since then had SYNC or showed the mode */
	uint64_t		pc;		/* address of the next instruction */
	uint32_t		block;		/* block at @pc; 0 if not known */
	int			space;		/* index of the address space; -1 if not known */
	uint64_t		ref;		/* address to which the next U-ADDR is relative (chapter 8.1) */
	bool			has_ref;	/* @ref is known, from a message of in-circuit trace, but @pc is not */
	uint64_t		owed;		/* half-words (code) that ResourceFull reported, still to be walked */
	uint64_t		walked;		/* half-words that both HIST and the next I-CNT report */
	struct nt_context	context;
	uint64_t		tstamp;
	bool			has_tstamp;
	bool			tstamp_gap;	/* before the next SYNC, @tstamp is only a lower bound */
	bool			overrun;	/* Error was received, so the next SYNC 7 means that trace is lost */
	bool			has_last;
	struct nt_message	last;		/* branch message that RepeatBranch repeats */
	uint8_t			raw[16];	/* bytes of the message for @last, if it is not yet parsed */
	uint8_t			raw_length;	/* length of @raw; 0 if @raw is not used */
	uint64_t		last_dest;	/* destination that the message @last (or @raw) reported */
	uint64_t		lost_messages;
	uint64_t		lost_bytes;
	/* the return stack, see stack.h */
	uint8_t			return_mode;	/* enum nt_returns */
	uint8_t			nr_reported;	/* number of reported returns whose call was on the return stack */
	bool			calls_missing;	/* the encoder's stack may have calls that the decoder does not know */
	uint32_t		top;		/* index of the newest entry of @returns */
	uint32_t		depth;		/* number of entries */
	uint32_t		kept;		/* number of entries that were pushed before the last SYNC */
	struct nt_return	returns[];
};

/* The part of a message's HIST and I-CNT that is not yet walked */
struct nt_todo {
	uint64_t	hist;
	unsigned int	nr_bits;	/* number of bits left in @hist, the highest of which is next */
	int64_t		left;		/* number of half-words left of I-CNT */
};

/*
 * A walk from the PC through the code, until HIST and I-CNT are used up. It can be suspended at any
 * block when the batch is full.
 */
struct nt_walk {
	bool		active;
	bool		ready;		/* the decoded code of the address space is up to date */
	bool		hist_only;	/* walk HIST without I-CNT, and end at its last branch */
	bool		ends_linear;	/* the last emitted range ends without jump or branch */
	/* index of the last block, if the message reports the destination of its branch or jump; else 0 */
	uint32_t	tail;
	uint32_t	at;		/* offset of a faulty instruction from the PC, in bytes */
	struct nt_todo	todo;
	bool		lacks_bit;	/* HIST may lack the bit of the last branch */
	uint64_t	again;		/* number of times that HIST must still be repeated (HREPEAT) */
	uint32_t	spins;		/* number of blocks since the last branch */
};

struct nt_flow {
	struct nt_reader	reader;
	struct nt_code		code;
	struct nt_memo		*memo;
	struct nt_tally		*tally;		/* counts of ranges; NULL before the caller first counts */
	bool			counting;	/* ranges are counted, and not returned */
	struct nt_image		*image;
	struct nt_config	config;
	const struct nt_dialect_table *dialect;
	uint32_t		accepted;	/* tolerated deviations, 1 << enum nt_deviation */
	bool			is_odd;		/* the fast path must check for differences from N-Trace 1.0 */
	unsigned int		addr_bits;	/* number of address bits that are sent */
	struct nt_source	**sources;	/* indexed by SRC */
	uint32_t		nr_sources;
	bool			ending;
	bool			has_msg;	/* @msg is read, but decoding it has not begun */
	struct nt_message	msg;
	const struct nt_message	*act;		/* message to decode, which is @msg or a message that @msg repeats */
	uint64_t		repeat;		/* number of times to decode @act again (from B-CNT or R-CNT) */
	struct nt_message	again;		/* instruction that RepeatInstruction repeats */
	struct nt_source	*src;		/* source of @msg */
	struct nt_walk		walk;

	/*
	 * The batch, which has the ranges, marks and events that the caller of the library gets next. All
	 * of its ranges are of @batch_src.
	 */
	struct nt_source	*batch_src;
	struct nt_context	batch_context;
	uint64_t		batch_space;	/* address space of the ranges */
	uint64_t		batch_tstamp;	/* time at the start of the batch */
	bool			batch_has_tstamp;
	bool			has_noted;	/* @dest and @has_dest are set; if not, use the PC of @batch_src */
	bool			has_dest;
	uint64_t		dest;		/* destination of the last range, valid if @has_dest */
	uint32_t		at;		/* number of ranges returned to the caller */
	uint32_t		nr_ranges;
	uint32_t		nr_marks;
	uint32_t		at_mark;	/* index in @marks of the mark for range number @at */
	uint32_t		nr_events;
	uint32_t		at_event;	/* number of events returned to the caller */
	struct nt_range		*ranges;	/* array of MAX_RANGES */
	struct nt_mark		*marks;		/* array of MAX_MARKS */
	struct nt_item		events[MAX_EVENTS];
	struct nt_stats		stats;
	/* @ranges and @marks point here, unless nt_flow_set_buffer() set another buffer */
	struct nt_range		own_ranges[MAX_RANGES];
	struct nt_mark		own_marks[MAX_MARKS];
};

/*
 * Return whether the time of a message of @src is known, and whether it is exact. @exact is true if
 * the message has a timestamp.
 */
static inline enum nt_tstamp_kind nt_tstamp_kind(const struct nt_source *src, bool exact)
{
	if (!src->has_tstamp)
		return NT_TSTAMP_NONE;
	return exact && !src->tstamp_gap ? NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
}

/* Return the time of @src for a mark or item, or 0 if the time is not known. */
static inline uint64_t nt_source_time(const struct nt_source *src)
{
	return src->has_tstamp ? src->tstamp : 0;
}

/* Add a mark for the message at @offset, which reported the ranges from the previous mark up to index @range - 1. */
static inline void nt_mark_put(struct nt_flow *flow, uint32_t range, uint64_t offset,
			       uint8_t tcode, uint64_t tstamp, enum nt_tstamp_kind kind)
{
	flow->marks[flow->nr_marks++] = (struct nt_mark){
		.range = range, .offset = offset, .tcode = tcode,
		.tstamp = tstamp, .tstamp_kind = kind,
	};
}

/* Forget the blocks of @src, because its address space or the code may have changed. */
void nt_source_forget_blocks(const struct nt_flow *flow, struct nt_source *src);

/* Return the source with SRC @id, which is created if it is new; NULL if out of memory. */
struct nt_source *nt_flow_source(struct nt_flow *flow, uint32_t id);

static inline uint64_t nt_flow_mask(const struct nt_flow *flow, uint64_t pc)
{
	return flow->config.xlen == 32 ? (uint32_t)pc : pc;
}

/* Return the destination, which is the XOR of U-ADDR @addr and the previous address @ref (chapter 8.1). */
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

/* Return true if the encoder reports direct jumps like taken branches. */
static inline bool nt_jumps_are_reported(const struct nt_flow *flow, bool btm)
{
	return flow->config.all_jumps || (btm && flow->dialect->btm_all_jumps);
}

static inline uint64_t nt_range_end(const struct nt_range *range)
{
	return range->start + range->halfwords * 2ULL;
}

/* The state right after a decoded message with SYNC, from which a flow can continue */
struct nt_entry {
	uint64_t		offset;		/* offset of the first byte after the message */
	uint64_t		addr;		/* address in the message (F-ADDR), at which the flow continues */
	uint16_t		src;
	bool			has_tstamp;
	uint8_t			mode;		/* enum nt_mode; NT_MODE_AUTO if the next messages show the mode */
	uint64_t		tstamp;
	struct nt_context	context;
};

/* Do the work of nt_flow_next() and nt_flow_next_batch(), see api.c. */
int nt_flow_take_item(struct nt_flow *flow, struct nt_item *item);
int nt_flow_take_batch(struct nt_flow *flow, struct nt_batch *batch);

/* Do the work of nt_flow_count(), see api.c. */
int nt_flow_take_counted(struct nt_flow *flow, struct nt_item *item);

/* Count and drop the ranges that were not returned. Return NT_OK or NT_E_NOMEM. */
int nt_flow_count_ranges(struct nt_flow *flow);

/* Store the next ranges in @ranges, an array of MAX_RANGES. NULL means the flow's own array. */
void nt_flow_set_buffer(struct nt_flow *flow, struct nt_range *ranges);

/* Restart like nt_flow_restart(), but continue from @entry. Return NT_OK or NT_E_NOMEM. */
int nt_flow_enter(struct nt_flow *flow, const struct nt_entry *entry);

#endif /* NTRACE_FLOW_H */
