/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The state of one call of the fast path, which decodes as many messages as possible (struct run).
 * The functions of this file are used by several files of the fast path.
 *
 * Functions of the fast path are inlined, so that the compiler keeps struct hot in registers.
 */
#ifndef NTRACE_FAST_RUN_H
#define NTRACE_FAST_RUN_H

#include "../state.h"
#include "../counts/tally.h"

/* The fast path leaves a message with more ranges than this to engine.c. */
#define MAX_RUN		(FAST_SPARE - 2 * GROUP_RANGES)

/* The part of the state that changes with each message */
struct hot {
	const uint8_t		*p;		/* next byte of the trace */
	uint64_t		walked;		/* half-words that both HIST and the next I-CNT report */
	struct nt_range		*out;		/* address of the next range; fast_steps() if ranges are counted */
	uint64_t		ref;		/* address to which the next U-ADDR is relative */
	uint32_t		block;		/* block at the PC */
	uint32_t		top;		/* top of the return stack, see nt_stack_top() */
};

/*
 * A variant of the fast path. Most values are constants, and the compiler generates a separate copy
 * of the code for each variant.
 */
struct way {
	bool	single;		/* decode only one message */
	bool	timestamp;	/* messages may have timestamps */
	bool	returns;	/* implicit returns get their destination from the return stack */
	bool	explicit;	/* the source reports all returns, although the flow has a return stack */
	bool	pext;		/* use the processor's pext instruction */
	bool	by_blocks;	/* use neither groups nor paths */
	bool	dialect;	/* nt_flow::is_odd is set, so check for differences from N-Trace 1.0 */
	bool	counts;		/* count ranges instead of emitting them */
	bool	log;		/* look up no groups, only paths, see fast-log.h; only used with @counts */
};

struct run {
	struct nt_flow		*flow;
	struct nt_source	*src;
	struct nt_memo		*memo;
	struct nt_tally		*tally;		/* NULL unless ranges are counted */
	struct nt_range		*full;		/* address at or after which hot::out has no room for another message */
	uint64_t		tstamp;		/* time of the last message; 0 if not known */
	uint64_t		tstamp_mask;	/* all ones if @tstamp is known, or 0 */
	uint8_t			tstamp_kinds[2]; /* enum nt_tstamp_kind of messages without and with timestamp */
	bool			has_tstamp;	/* the last message had a timestamp */
	uint64_t		counts;		/* numbers of decoded messages, see fast_count_of() */
	const uint8_t		*last;		/* last decoded message; NULL before the first one */
	uint32_t		start;		/* SRC and trace mode, at the same bits as in nt_group::start */
	struct nt_net		net;		/* changes of the return stack since the last lookup of a group */
};

/*
 * Return the address of the next element of the log (fast-log.h). The fast path that counts ranges has
 * this address in hot::out, which it does not need for ranges. If struct hot had another member for the
 * address, gcc would keep fewer members of struct hot in registers.
 */
static __always_inline uint32_t *fast_steps(const struct hot *hot)
{
	return (uint32_t *)hot->out;
}

static __always_inline void fast_set_steps(struct hot *hot, uint32_t *steps)
{
	hot->out = (struct nt_range *)steps;
}

/*
 * The 64-bit number run::counts consists of four counters of 16 bits, one for each type of message.
 * Return the value to add to it for a message of @tcode.
 */
static __always_inline uint64_t fast_count_of(unsigned int tcode)
{
	switch (tcode) {
	case NT_TCODE_DIRECT_BRANCH:
		return 1;
	case NT_TCODE_INDIRECT_BRANCH:
		return 1 << 16;
	case NT_TCODE_INDIRECT_BRANCH_HIST:
		return 1ULL << 32;
	}
	return 1ULL << 48;
}

/* Return the sum of the four counters in @counts. The sum must be below 1 << 16. */
static __always_inline unsigned int fast_nr_counted(uint64_t counts)
{
	return counts * 0x0001000100010001ULL >> 48;
}

/*
 * Return nt_group::counts in the form of run::counts. Both have four counters, which have 4 bits each in
 * @packed, and 16 bits each in the returned value. The multiplication copies each counter to its new
 * position, and the mask removes all other copies. Adding copies does not carry, because a group has
 * at most 8 messages of at least two bytes each.
 */
static __always_inline uint64_t fast_unpack_counts(uint64_t packed)
{
	return packed * 0x0000001001001001ULL & 0x000f000f000f000fULL;
}

static __always_inline uint16_t fast_pack_counts(uint64_t counts)
{
	return (counts & 0xf) | (counts >> 12 & 0xf0) | (counts >> 24 & 0xf00) |
		(counts >> 36 & 0xf000);
}

/* Advance the time by @value, the TSTAMP of a message without SYNC. */
static __always_inline void fast_add_time(struct run *run, struct way way, uint64_t value)
{
	if (!way.timestamp)
		return;
	if (way.dialect && run->flow->dialect->xor_time)
		run->tstamp = nt_time_xor(&run->flow->config, run->tstamp, value);
	else
		run->tstamp += value;
	run->tstamp &= run->tstamp_mask;
}

static __always_inline void fast_drop_return(struct run *run, struct hot *hot)
{
	struct nt_source *src = run->src;

	nt_net_pop(&run->net, hot->top);
	nt_stack_drop(src, run->flow->config.return_depth);
	hot->top = nt_stack_top(src);
}

/*
 * Pop the return stack. Return the block right after the popped call, to which a return goes, or 0
 * if the stack is empty.
 */
static __always_inline uint32_t fast_pop(struct run *run, struct hot *hot)
{
	struct nt_source *src = run->src;
	const struct nt_return *ret = &src->returns[src->top];

	if (unlikely(!src->depth))
		return 0;
	fast_drop_return(run, hot);
	return nt_code_next(&run->flow->code, src->space, ret->call, 0, ret->pc);
}

/*
 * Return true if the return stack has no room for @depth entries, and if the encoder ignores a call
 * when its stack is full. engine.c decodes such messages, because stored paths and groups assume
 * that the newest call overwrites the oldest.
 */
static __always_inline bool fast_is_too_deep(const struct run *run, uint32_t depth)
{
	return unlikely(depth > run->flow->config.return_depth) &&
		run->flow->config.return_full == NT_RETURN_DROP_NEWEST;
}

/*
 * Push the call at the end of block @call on the return stack. Return false if the undo log
 * (stack.h) is full, or if fast_is_too_deep() returns true.
 */
static __always_inline bool fast_push(struct run *run, struct hot *hot, uint32_t call)
{
	struct nt_source *src = run->src;
	uint32_t slot;

	if (unlikely(nt_undo_is_full(&run->memo->undo)) || fast_is_too_deep(run, src->depth + 1))
		return false;
	slot = nt_stack_advance(src, run->flow->config.return_depth);
	nt_undo_note(&run->memo->undo, src, slot);
	src->returns[slot].pc =
		nt_flow_mask(run->flow, nt_range_end(&run->flow->code.blocks[call].range));
	src->returns[slot].call = call;
	hot->top = call;
	nt_net_push(&run->net);
	return true;
}

/*
 * Pop or push the return stack for a jump of type @end (enum nt_end), as table "4-bit itype values"
 * defines. The destination of the jump is in a message, or is inferred by sequential jump. Return
 * false if engine.c must decode the message.
 */
static __always_inline bool fast_stack_jump(struct run *run, struct hot *hot, struct way way,
					    unsigned int end)
{
	if (way.dialect && end == NT_END_SWAP)
		return false;
	if (end == NT_END_RETURN || end == NT_END_SWAP) {
		if (likely(run->src->depth))
			fast_drop_return(run, hot);
		else
			run->net.low = NT_NET_EMPTY;
	}
	return (end != NT_END_INDIRECT_CALL && end != NT_END_SWAP) ||
		fast_push(run, hot, hot->block);
}

static __always_inline void fast_put_eight(struct nt_range *out, const struct nt_range *ranges)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		out[i] = ranges[i];
}

/*
 * Copy @nr ranges, eight at a time. @max is the largest possible @nr. Up to seven ranges after the
 * last one are also copied, so both arrays must have room for them. memcpy() is not used, because
 * gcc would compile it to "rep movs", which takes long to begin.
 */
static __always_inline void fast_put_ranges(struct nt_range *out, const struct nt_range *ranges,
					    unsigned int nr, unsigned int max)
{
	unsigned int i;

	fast_put_eight(out, ranges);
	if (likely(nr <= 8))
		return;
	fast_put_eight(out + 8, ranges + 8);
	if (max > 16) {
		for (i = 16; i < nr; i += 8)
			fast_put_eight(out + i, ranges + i);
	}
}

/*
 * Apply the effect of a path or group to the return stack. Return false if the undo log (stack.h)
 * is full, or if fast_is_too_deep() returns true.
 */
static __always_inline bool fast_use_effect(struct run *run, struct hot *hot,
					    const struct nt_effect *effect)
{
	struct nt_source *src = run->src;
	uint32_t most = run->flow->config.return_depth - effect->drop;
	const uint32_t *calls = &run->memo->calls[effect->calls];
	unsigned int i;

	for (i = 0; i < effect->nr_pops; i++)
		fast_drop_return(run, hot);
	calls += memo_nr_below(effect);
	for (i = 0; i < effect->nr_pushes; i++) {
		if (!fast_push(run, hot, calls[i]))
			return false;
	}
	if (effect->drop)
		nt_net_raise(&run->net, effect->drop);
	if (src->depth > most) {
		if (fast_is_too_deep(run, src->depth + effect->drop))
			return false;
		src->depth = most;
		hot->top = nt_stack_top(src);
	}
	return true;
}

#endif /* NTRACE_FAST_RUN_H */
