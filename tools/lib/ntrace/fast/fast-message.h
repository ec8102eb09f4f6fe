/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Decode one plain message (plain.h defines which messages are plain).
 */
#ifndef NTRACE_FAST_MESSAGE_H
#define NTRACE_FAST_MESSAGE_H

#include "fast-block.h"
#include "fast-path.h"
#include "../plain.h"

/*
 * Return true if @block ends with a return that no message should report. An encoder with
 * nt_dialect_table::counts_returns counts the open calls, and should not report a return to a call that it
 * has counted. If a message reports such a return, engine.c decodes the message.
 */
static __always_inline bool fast_is_odd_return(const struct run *run, const struct nt_block *block)
{
	return run->src->depth && block->range.how == NT_END_RETURN &&
		run->flow->dialect->counts_returns;
}

/*
 * Follow the indirect jump that a message reports, to the destination that its U-ADDR @addr
 * encodes. Return false if engine.c must decode the message.
 */
static __always_inline bool fast_end_indirect(struct run *run, struct hot *hot, struct way way,
					      uint64_t addr)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[hot->block];
	uint64_t dest = way.dialect ? nt_flow_dest(run->flow, hot->ref, addr) :
		nt_flow_mask(run->flow, hot->ref ^ addr);
	bool edge = way.log && block->range.how >= NT_END_INDIRECT_JUMP;
	uint32_t from = hot->block;

	if (way.dialect && (!nt_addr_fits(addr, run->flow->addr_bits) ||
			    fast_is_odd_return(run, block)))
		return false;
	if (unlikely(block->range.reserved & NT_KIND_INFERABLE && block->target != dest))
		return false;
	if (way.returns && !fast_stack_jump(run, hot, way, block->range.how))
		return false;
	hot->ref = dest;
	hot->block = nt_code_next(code, run->src->space, hot->block, 1, dest);
	if (edge)
		fast_log_edge(hot, from, hot->block);
	return hot->block;
}

static __always_inline bool fast_walk_htm(struct run *run, struct hot *hot, struct way way,
					  const struct plain *msg, int64_t left)
{
	unsigned int nr_bits = 63 - __builtin_clzll(msg->hist);
	bool hist_only = msg->tcode == NT_TCODE_RESOURCE_FULL;

	if (!way.by_blocks)
		return fast_path_walk_htm(run, hot, way, msg->hist, nr_bits, left, hist_only);
	return hist_only ? fast_block_walk(run, hot, way, msg->hist, left, false, WALK_BY_HIST) :
		fast_block_walk(run, hot, way, msg->hist, left, false, WALK_BY_BOTH);
}

static __always_inline bool fast_walk_btm(struct run *run, struct hot *hot, struct way way,
					  int64_t left, bool direct)
{
	return way.by_blocks ? fast_block_walk(run, hot, way, 1, left, direct, WALK_BY_ICNT) :
		fast_path_walk_btm(run, hot, way, left, direct);
}

/*
 * Walk the code of one message. Return false if the fast path cannot decode the message, for
 * example because HIST or I-CNT does not fit the code. Then the caller must restore the state.
 */
static __always_inline bool fast_walk_message(struct run *run, struct hot *hot, struct way way,
					      const struct plain *msg)
{
	unsigned int mode = run->src->mode;
	uint64_t total = run->src->owed + msg->icnt;
	bool hist_only = msg->tcode == NT_TCODE_RESOURCE_FULL;
	bool direct = msg->tcode == NT_TCODE_DIRECT_BRANCH;

	if (hist_only ? msg->hist == 1 : total <= hot->walked)
		return false;
	if (mode == NT_MODE_HTM) {
		int64_t left = hist_only ? INT64_MAX : (int64_t)(total - hot->walked);

		if (direct || !fast_walk_htm(run, hot, way, msg, left))
			return false;
	} else {
		/* Only HTM has messages with HIST. */
		if (mode != NT_MODE_BTM || hist_only || total > PATH_ICNT ||
		    msg->tcode == NT_TCODE_INDIRECT_BRANCH_HIST ||
		    !fast_walk_btm(run, hot, way, total, direct))
			return false;
	}
	return hist_only || direct || fast_end_indirect(run, hot, way, msg->addr);
}

/* Decode one message. If engine.c must decode it, change nothing and return false. */
static __always_inline bool fast_run_message(struct run *run, struct hot *hot, struct way way)
{
	uint32_t top = run->src->top, depth = run->src->depth;
	struct hot before = *hot;
	struct plain msg = { .addr = 0 };

	if (!plain_parse(&run->flow->config, hot->p, plain_find_ends(hot->p), run->src->id,
			 way.pext, &msg))
		return false;
	run->memo->undo.nr = 0;
	if (unlikely(!fast_walk_message(run, hot, way, &msg))) {
		nt_undo_all(&run->memo->undo, run->src, top, depth);
		*hot = before;
		return false;
	}
	if (msg.tcode != NT_TCODE_RESOURCE_FULL)
		run->src->owed = 0;
	run->last = hot->p;
	run->counts += fast_count_of(msg.tcode);
	run->has_tstamp = msg.has_tstamp;
	fast_add_time(run, way, msg.tstamp);
	hot->p += msg.length;
	return true;
}

#endif /* NTRACE_FAST_MESSAGE_H */
