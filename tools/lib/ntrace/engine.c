// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file interprets each message (chapters 7 and 8).
 *
 * A message that reports instructions is decoded in three steps. engine_begin() sets up the walk by
 * its HIST and I-CNT. walk.c follows the code. engine_finish() determines at which address the flow
 * continues. A message that does not fit the code is an error. After an error, the flow continues
 * at the next message with SYNC.
 */
#include <stdlib.h>

#include "engine.h"
#include "fast/fast.h"
#include "plain.h"
#include "stack.h"
#include "state.h"
#include "counts/tally.h"
#include "walk.h"

/*
 * Store the destination of the last range of the batch, because the caller is about to change the state of
 * the source, which contains this destination. No more ranges are added to the batch.
 */
static void engine_note_dest(struct nt_flow *flow)
{
	const struct nt_source *src = flow->batch_src;

	if (flow->has_noted)
		return;
	flow->has_noted = true;
	flow->has_dest = src && src->state == NT_STATE_LIVE;
	flow->dest = flow->has_dest ? src->pc : 0;
}

/* Return whether the time of the current message is known, and whether it is exact. */
static enum nt_tstamp_kind engine_tstamp_kind(const struct nt_flow *flow,
					      const struct nt_source *src)
{
	return nt_tstamp_kind(src, flow->msg.fields & NT_FIELD_TSTAMP);
}

struct nt_item *nt_engine_event(struct nt_flow *flow, struct nt_source *src,
				enum nt_item_type type)
{
	struct nt_item *item = &flow->events[flow->nr_events++];

	memset(item, 0, sizeof(*item));
	item->type = type;
	item->offset = flow->msg.offset;
	item->tcode = flow->msg.tcode;
	item->dialect = flow->config.dialect;
	item->src = flow->msg.src;
	if (!src)
		return item;
	item->context = src->context;
	item->tstamp_kind = engine_tstamp_kind(flow, src);
	item->tstamp = nt_source_time(src);
	return item;
}

static bool engine_is_marked(const struct nt_flow *flow)
{
	return flow->nr_marks && flow->marks[flow->nr_marks - 1].range == flow->nr_ranges;
}

/*
 * Add a mark for the current message, which encodes the newest ranges of the batch. If the message
 * encodes no range, the mark shows that later ranges were executed after the time of the message.
 */
static void engine_add_mark(struct nt_flow *flow, struct nt_source *src)
{
	if (!flow->nr_ranges || (engine_is_marked(flow) && !(flow->msg.fields & NT_FIELD_TSTAMP)))
		return;
	nt_mark_put(flow, flow->nr_ranges, flow->msg.offset, flow->msg.tcode, nt_source_time(src),
		    engine_tstamp_kind(flow, src));
}

static void engine_update_time(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;

	nt_time_update(&flow->config, msg, &src->tstamp, &src->has_tstamp);
	if (!(msg->fields & NT_FIELD_TSTAMP))
		return;
	if (nt_time_is_absolute(msg))
		src->tstamp_gap = false;
	else if (nt_message_is_open(msg))
		src->tstamp_gap = true;
}

static void engine_forget_walk(struct nt_source *src)
{
	src->owed = 0;
	src->walked = 0;
	src->has_last = false;
	src->raw_length = 0;
	src->block = 0;
}

static void engine_add_lost(struct nt_flow *flow, struct nt_source *src)
{
	if (src) {
		src->lost_messages++;
		src->lost_bytes += flow->msg.length;
	}
	flow->stats.lost_messages++;
	flow->stats.lost_bytes += flow->msg.length;
}

/*
 * Set nt_source::kept, the number of entries of the decoder's return stack that were pushed before the last SYNC, to
 * 0. If a return has used one of these entries, count the deviation NT_DEV_STACK_OVER_SYNC, because the encoder should
 * have emptied its return stack at that SYNC.
 */
static void engine_end_kept(struct nt_flow *flow, struct nt_source *src)
{
	if (src->depth < src->kept)
		nt_flow_deviates(flow, NT_DEV_STACK_OVER_SYNC);
	src->kept = 0;
}

static void engine_lose(struct nt_source *src, enum nt_state state)
{
	engine_forget_walk(src);
	src->depth = 0;
	src->kept = 0;
	src->has_ref = false;
	src->return_mode = NT_RETURNS_UNKNOWN;
	src->nr_reported = 0;
	src->state = state;
}

static void engine_add_stop(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item;
	bool has_addr = src->state == NT_STATE_LIVE;
	uint32_t depth = src->depth;

	engine_note_dest(flow);
	engine_end_kept(flow, src);
	engine_lose(src, NT_STATE_STOPPED);
	/* If SYNC does not empty the encoder's return stack, the stack is only emptied when trace is disabled. */
	if (nt_flow_accepts(flow, NT_DEV_STACK_OVER_SYNC) && flow->msg.code != NT_EVCODE_DISABLED)
		src->depth = depth;
	else
		src->calls_missing = false;
	item = nt_engine_event(flow, src, NT_ITEM_STOP);
	item->stop.reason = flow->msg.code;
	item->stop.addr = src->pc;
	item->stop.has_addr = has_addr;
}

static void engine_set_problem(struct nt_flow *flow, struct nt_source *src,
			       struct nt_problem *problem, int code)
{
	problem->code = code;
	if (src && src->state == NT_STATE_LIVE) {
		problem->has_addr = true;
		problem->addr = nt_flow_mask(flow, src->pc + flow->walk.at);
	}
	flow->walk.at = 0;
}

static void engine_add_error(struct nt_flow *flow, struct nt_source *src, int code)
{
	engine_note_dest(flow);
	flow->stats.errors++;
	engine_set_problem(flow, src, &nt_engine_event(flow, src, NT_ITEM_ERROR)->error, code);
}

static void engine_add_gap(struct nt_flow *flow, struct nt_source *src, int code)
{
	engine_note_dest(flow);
	flow->stats.gaps++;
	engine_set_problem(flow, src, &nt_engine_event(flow, src, NT_ITEM_GAP)->gap, code);
}

/* ---- messages with SYNC ---- */

/* Return true if trace starts at this SYNC, so that the encoder's return stack is empty. */
static bool engine_is_first_sync(const struct nt_source *src, unsigned int sync)
{
	return sync == NT_SYNC_FIFO_OVERRUN || (src->state == NT_STATE_NEW &&
		(sync == NT_SYNC_TRACE_ENABLE || sync == NT_SYNC_EXIT_RESET));
}

/*
 * SYNC empties the return stack (chapter 8.4). Some encoders empty their stack only when trace is disabled. If SYNC is
 * 5, trace was disabled, even if no message has reported it. If the decoder did not know the flow before SYNC, it also
 * does not know the calls on the stack of such an encoder.
 */
static void engine_sync_stack(struct nt_flow *flow, struct nt_source *src)
{
	bool disabled = src->state == NT_STATE_LIVE && flow->msg.sync == NT_SYNC_TRACE_ENABLE;
	bool known = src->state == NT_STATE_LIVE || src->state == NT_STATE_STOPPED;

	engine_end_kept(flow, src);
	if (nt_flow_accepts(flow, NT_DEV_STACK_OVER_SYNC) && known && !disabled) {
		src->kept = src->depth;
		return;
	}
	src->depth = 0;
	src->calls_missing = nt_flow_accepts(flow, NT_DEV_STACK_OVER_SYNC) && !disabled &&
		!engine_is_first_sync(src, flow->msg.sync);
}

/*
 * Start or continue the flow at the address (F-ADDR) of a message with SYNC, which resets all state of the encoder
 * (chapter 8.4). @restart is true if this address does not follow the earlier instructions.
 */
static void engine_resync(struct nt_flow *flow, struct nt_source *src, bool restart)
{
	struct nt_item *item;

	engine_note_dest(flow);
	engine_sync_stack(flow, src);
	engine_forget_walk(src);
	src->pc = flow->msg.addr;
	src->ref = flow->msg.addr;
	src->state = NT_STATE_LIVE;
	item = nt_engine_event(flow, src, NT_ITEM_SYNC);
	item->sync.addr = flow->msg.addr;
	item->sync.reason = flow->msg.sync;
	item->sync.restart = restart;
	item->sync.lost_messages = src->lost_messages;
	item->sync.lost_bytes = src->lost_bytes;
	src->lost_messages = 0;
	src->lost_bytes = 0;
	flow->stats.syncs++;
	flow->stats.restarts += restart;
}

/* ---- continue after an error ---- */

/* Continue at @dest, which @act reports. Store @act, because RepeatBranch may repeat it. */
static void engine_go_on_at(struct nt_source *src, const struct nt_message *act, uint64_t dest)
{
	src->ref = dest;
	src->pc = dest;
	src->state = NT_STATE_LIVE;
	src->last = *act;
	src->has_last = true;
	src->last_dest = dest;
}

/*
 * Start a gap in the flow, because code is missing, or because the walk has reached a return from a
 * call that missing code has made. This call is on the encoder's return stack (chapter 9.2), but not on the
 * decoder's. The flow continues at the next U-ADDR, which is relative to the previous address, so
 * that no code is needed. The current message may already contain this U-ADDR.
 *
 * The decoder can infer returns to calls that are executed after the gap, because these calls are on
 * top of both stacks. Any other return starts another gap.
 */
static void engine_fail_gap(struct nt_flow *flow, struct nt_source *src,
			    const struct nt_message *act, uint64_t last_dest)
{
	bool repeat = flow->act != &flow->msg;

	src->calls_missing = true;
	src->state = NT_STATE_NO_PC;
	if (act->fields & NT_FIELD_UADDR)
		engine_go_on_at(src, act, repeat ? last_dest :
				nt_flow_dest(flow, src->ref, act->addr));
}

/*
 * Return true if a message that does not fit the flow shows that trace was disabled and enabled again. The
 * encoder need not send ProgTraceCorrelation with EVCODE 4 in between (chapter 7.12). If I-CNT is not 0, the
 * message also reports the instructions before trace was disabled. These instructions must fit the code, so
 * return false.
 */
static bool engine_is_undeclared_stop(const struct nt_flow *flow)
{
	const struct nt_message *msg = &flow->msg;

	return nt_message_is_sync(msg) && msg->sync == NT_SYNC_TRACE_ENABLE &&
		!msg->icnt;
}

static void engine_add_undeclared_stop(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item;

	engine_note_dest(flow);
	item = nt_engine_event(flow, src, NT_ITEM_STOP);
	item->stop.reason = NT_EVCODE_DISABLED;
	item->stop.has_addr = flow->msg.icnt && src->state == NT_STATE_LIVE;
	item->stop.addr = item->stop.has_addr ? src->pc : 0;
	flow->walk.at = 0;
}

/*
 * Handle a message that contradicts the flow, or that needs missing code. The flow continues at the
 * next SYNC, which may be in this message, or, if only code is missing, at the next U-ADDR.
 */
static void engine_fail(struct nt_flow *flow, struct nt_source *src, int code)
{
	const struct nt_message *msg = &flow->msg;
	struct nt_message act = *flow->act;
	uint64_t last_dest = src->last_dest;

	if (code == NT_E_NO_RETURN && src->calls_missing)
		code = NT_E_GAP_RETURN;

	flow->walk.active = false;
	flow->walk.tail = 0;
	flow->repeat = 0;
	engine_update_time(flow, src);
	engine_add_mark(flow, src);
	if (engine_is_undeclared_stop(flow))
		engine_add_undeclared_stop(flow, src);
	else if (nt_error_is_gap(code))
		engine_add_gap(flow, src, code);
	else
		engine_add_error(flow, src, code);
	if (nt_message_is_sync(msg)) {
		engine_resync(flow, src, true);
		return;
	}
	engine_add_lost(flow, src);
	engine_lose(src, NT_STATE_LOST);
	if (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		engine_add_stop(flow, src);
	else if (nt_error_is_gap(code))
		engine_fail_gap(flow, src, &act, last_dest);
}

/* Handle an unreadable message. Each source may have lost a message here. */
static void engine_fail_all(struct nt_flow *flow, int code)
{
	uint32_t i;

	engine_note_dest(flow);
	for (i = 0; i < flow->nr_sources; i++) {
		struct nt_source *src = flow->sources[i];

		if (!src)
			continue;
		if (src->state != NT_STATE_NEW)
			engine_lose(src, NT_STATE_LOST);
		src->has_ref = false;
		src->has_tstamp = false;
		src->lost_messages++;
		src->lost_bytes += flow->msg.length;
	}
	engine_add_lost(flow, NULL);
	flow->msg.tcode = 0;
	engine_add_error(flow, NULL, code);
}

/* ---- the end of a message ---- */

static const struct nt_block *engine_tail_block(struct nt_flow *flow)
{
	return flow->walk.tail ? &flow->code.blocks[flow->walk.tail] : NULL;
}

static void engine_go_to(struct nt_flow *flow, struct nt_source *src, uint64_t pc)
{
	src->pc = nt_flow_mask(flow, pc);
	src->block = 0;
	flow->walk.at = 0;
}

/* Return true if @block ends with a jump whose destination is in a message or must be inferred. */
static bool engine_is_indirect(const struct nt_block *block)
{
	return block && nt_block_kind(block) >= NT_KIND_INDIRECT_JUMP &&
	       nt_block_kind(block) <= NT_KIND_TRAP_RETURN;
}

/* Return true if @block ends with a return that may be implicit, so that no message reports it. */
static bool engine_is_return(const struct nt_flow *flow, const struct nt_source *src,
			     const struct nt_block *block)
{
	return nt_stack_max(flow, src) &&
	       (block->range.how == NT_END_RETURN || block->range.how == NT_END_SWAP);
}

static bool engine_is_direct(const struct nt_block *block)
{
	return block && (nt_block_kind(block) == NT_KIND_JUMP ||
			 nt_block_kind(block) == NT_KIND_CALL);
}

static bool engine_is_branch(const struct nt_block *block)
{
	return block && nt_block_kind(block) == NT_KIND_BRANCH;
}

/* Emit the last block of the walk, which ends with a jump or taken branch to @dest. */
static void engine_take_tail(struct nt_flow *flow, struct nt_source *src, uint64_t dest,
			     unsigned int flags)
{
	nt_walk_stack(flow, src, engine_tail_block(flow), !(flags & NT_RANGE_INFERRED));
	nt_walk_emit_tail(flow, NT_RANGE_TAKEN | flags);
	engine_go_to(flow, src, dest);
}

/* Emit the last block of the walk, whose branch was not taken, and continue after this branch. */
static void engine_pass_tail(struct nt_flow *flow, struct nt_source *src)
{
	uint64_t end = nt_range_end(&engine_tail_block(flow)->range);

	nt_walk_emit_tail(flow, 0);
	engine_go_to(flow, src, end);
}

/* Return the opcode of the last instruction in the last emitted range. */
static uint32_t engine_last_opcode(const struct nt_flow *flow, const struct nt_source *src)
{
	const struct nt_range *range = &flow->ranges[flow->nr_ranges - 1];
	uint64_t pc = nt_flow_mask(flow, nt_range_end(range) - 2 * range->last_len);
	uint8_t buf[4] = { 0 };

	nt_image_read(flow->image, flow->code.spaces[src->space].id, pc, buf,
		      range->last_len < 2 ? 2 : 4);
	return load32(buf);
}

/* Return true if @op is a SYSTEM instruction for custom use (funct3 4, or funct12 1xxx11xxxxxx). */
static bool engine_is_custom_system(uint32_t op)
{
	unsigned int funct3 = op >> 12 & 7;

	return funct3 == 4 || (!funct3 && (op & 0x8c000000) == 0x8c000000);
}

/*
 * Return true if the last instruction is a custom instruction. A custom instruction that changes
 * the PC is reported like an indirect jump (chapter 10.1). Custom instructions are the opcodes
 * custom-0 to custom-3, all instructions longer than 32 bits, and the encodings that
 * nt_config::custom_jumps selects.
 */
static bool engine_is_custom(const struct nt_flow *flow, const struct nt_source *src)
{
	uint32_t op;

	if (!flow->walk.ends_linear)
		return false;
	op = engine_last_opcode(flow, src);
	if ((op & 3) != 3)
		return flow->config.custom_jumps & NT_CUSTOM_COMPRESSED;
	if ((op & 0x1f) == 0x1f)
		return true;
	switch (op & 0x7f) {
	case 0x0b:
	case 0x2b:
	case 0x5b:
	case 0x7b:
		return true;
	case 0x73:
		return flow->config.custom_jumps & NT_CUSTOM_SYSTEM && engine_is_custom_system(op);
	}
	return false;
}

/* Finish a message that ends with a jump to @dest, which the message reports. Return NT_OK or an error. */
static int engine_finish_jump(struct nt_flow *flow, struct nt_source *src, uint64_t dest)
{
	const struct nt_block *block = engine_tail_block(flow);
	struct nt_range *last;

	if (engine_is_indirect(block)) {
		if (block->range.reserved & NT_KIND_INFERABLE && block->target != dest)
			return NT_E_ADDR;
		engine_take_tail(flow, src, dest, 0);
		return NT_OK;
	}
	if (block || !engine_is_custom(flow, src))
		return NT_E_CLASS;
	last = &flow->ranges[flow->nr_ranges - 1];
	last->how = NT_END_INDIRECT_JUMP;
	last->flags = NT_RANGE_TAKEN;
	engine_go_to(flow, src, dest);
	return NT_OK;
}

/*
 * Infer how the last block of the walk ended. The message does not report this, because it was sent
 * for another reason, such as a trap. A branch for which HIST has no bit was not taken. Return NT_OK or an error.
 */
static int engine_settle_tail(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);
	uint64_t dest;

	if (!block)
		return NT_OK;
	if (engine_is_branch(block)) {
		engine_pass_tail(flow, src);
		return NT_OK;
	}
	if (engine_is_direct(block))
		return NT_E_CLASS;
	if (!nt_walk_infer(flow, src, &dest))
		return engine_is_return(flow, src, block) ? NT_E_NO_RETURN : NT_E_CLASS;
	engine_take_tail(flow, src, dest, NT_RANGE_INFERRED);
	return NT_OK;
}

/* Finish a message that reports a trap before the next instruction. Return NT_OK or an error. */
static int engine_finish_trap(struct nt_flow *flow, struct nt_source *src, uint64_t dest)
{
	static const uint8_t ends[] = {
		[NT_BTYPE_TRAP]		= NT_END_TRAP,
		[NT_BTYPE_EXCEPTION]	= NT_END_EXCEPTION,
		[NT_BTYPE_INTERRUPT]	= NT_END_INTERRUPT,
	};
	struct nt_range *range;
	int err = engine_settle_tail(flow, src);

	if (err)
		return err;
	if (flow->walk.ends_linear) {
		range = &flow->ranges[flow->nr_ranges - 1];
	} else {
		range = &flow->ranges[flow->nr_ranges++];
		memset(range, 0, sizeof(*range));
		range->start = src->pc;
	}
	range->how = ends[flow->act->btype];
	range->flags = NT_RANGE_TAKEN;
	engine_go_to(flow, src, dest);
	return NT_OK;
}

/* Finish DirectBranch, whose last instruction is a taken branch (chapter 7.2). Return NT_OK or an error. */
static int engine_finish_direct(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);

	if (!engine_is_branch(block) && !engine_is_direct(block))
		return NT_E_CLASS;
	engine_take_tail(flow, src, block->target, 0);
	return NT_OK;
}

/*
 * If messages have reported this number of returns to known calls, and no implicit return was found
 * before, the decoder assumes that the encoder reports all returns.
 */
#define ENOUGH_RETURNS	3

/*
 * Handle a reported return of an encoder that only counts calls. With implicit return, this encoder
 * should not report a return while its count is above 0. However, the decoder does not know which
 * instructions the encoder counts as calls. Therefore a reported return is not an error, and only
 * removes an entry from the return stack.
 */
static void engine_note_return(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);

	if (!flow->dialect->counts_returns || !src->depth || !block ||
	    block->range.how != NT_END_RETURN || src->return_mode != NT_RETURNS_UNKNOWN)
		return;
	if (++src->nr_reported < ENOUGH_RETURNS)
		return;
	src->return_mode = NT_RETURNS_EXPLICIT;
	src->depth = 0;
}

/* Finish IndirectBranch or IndirectBranchHist. Return NT_OK or an error. */
static int engine_finish_indirect(struct nt_flow *flow, struct nt_source *src)
{
	uint64_t dest = flow->act == &flow->msg ?
		nt_flow_dest(flow, src->ref, flow->act->addr) : src->last_dest;
	int err;

	if (flow->act->btype != NT_BTYPE_INDIRECT) {
		err = engine_finish_trap(flow, src, dest);
	} else {
		engine_note_return(flow, src);
		err = engine_finish_jump(flow, src, dest);
	}
	if (err)
		return err;
	src->ref = dest;
	src->last_dest = dest;
	return NT_OK;
}

/* Return true if @dest is one of the two destinations of the branch at the end of @block. */
static bool engine_leads_to(const struct nt_flow *flow, const struct nt_block *block, uint64_t dest)
{
	return block->target == dest || nt_flow_mask(flow, nt_range_end(&block->range)) == dest;
}

/*
 * Finish a DirectBranchSync that an encoder sends instead of ProgTraceSync, although no branch was executed (note 1 of
 * the figures in chapter 8.4). The last executed jump may be an inferred return or jump. Return NT_OK or an error.
 */
static int engine_finish_inferred_sync(struct nt_flow *flow, struct nt_source *src)
{
	int err = engine_settle_tail(flow, src);

	if (err)
		return err == NT_E_NO_RETURN ? NT_E_CLASS : err;
	return src->pc == flow->act->addr ? NT_OK : NT_E_ADDR;
}

/* Count a deviation if a message with SYNC in HTM reports a branch or direct jump without HIST. */
static void engine_note_bare_sync(struct nt_flow *flow, const struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);
	bool direct = flow->act->tcode == NT_TCODE_DIRECT_BRANCH_SYNC;
	unsigned int how;

	if (src->mode != NT_MODE_HTM || flow->dialect->sync_at_branch)
		return;
	if (block) {
		nt_flow_deviates(flow, direct ? NT_DEV_DIRECT_SYNC : NT_DEV_SYNC_LACKS_BIT);
	} else if (direct && !block && flow->act->icnt && flow->nr_ranges) {
		how = flow->ranges[flow->nr_ranges - 1].how;
		if (how == NT_END_JUMP || how == NT_END_CALL)
			nt_flow_deviates(flow, NT_DEV_DIRECT_SYNC);
	}
}

/*
 * Finish a message with SYNC that reports no trap, and before which the trace was not interrupted. The walk
 * may have ended at any instruction, and F-ADDR must be the address of the next one. In BTM, only F-ADDR
 * shows whether a branch at the end of the walk was taken. Return NT_OK or an error.
 */
static int engine_finish_linear_sync(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);
	uint64_t dest = flow->act->addr;

	if (engine_is_indirect(block))
		return flow->act->tcode == NT_TCODE_DIRECT_BRANCH_SYNC ?
			engine_finish_inferred_sync(flow, src) :
			engine_finish_jump(flow, src, dest);
	if (engine_is_branch(block) && !engine_leads_to(flow, block, dest) && flow->walk.lacks_bit)
		return NT_E_ADDR;
	engine_note_bare_sync(flow, src);
	if (engine_is_branch(block) && block->target != dest)
		engine_pass_tail(flow, src);
	else if (block)
		engine_take_tail(flow, src, block->target, 0);
	if (src->pc == dest)
		return NT_OK;
	if (engine_is_custom(flow, src) && flow->act->fields & NT_FIELD_BTYPE)
		return engine_finish_jump(flow, src, dest);
	return NT_E_ADDR;
}

/*
 * Return true if the hart was in debug mode before this SYNC, or if the encoder lost messages. Then
 * the PC may have changed.
 */
static bool engine_is_gap(unsigned int sync)
{
	return sync == NT_SYNC_EXIT_DEBUG || sync == NT_SYNC_FIFO_OVERRUN;
}

/*
 * Return true if the instruction at the address of the message does not follow the previous instruction, because the
 * hart was reset, trace was disabled without a message, or the encoder only sampled the PC.
 */
static bool engine_is_cut(const struct nt_flow *flow, unsigned int sync)
{
	return sync == NT_SYNC_EXIT_RESET || sync == NT_SYNC_POWER_DOWN ||
	       sync == NT_SYNC_TRACE_ENABLE ||
	       (sync == NT_SYNC_PC_SAMPLE && flow->dialect->has_samples);
}

/* Finish a message that ends the flow. The target of an indirect jump at the end of the walk may be unknown. */
static int engine_finish_flow(struct nt_flow *flow, struct nt_source *src)
{
	int err = engine_settle_tail(flow, src);

	if (!err || !engine_is_indirect(engine_tail_block(flow)))
		return err;
	nt_walk_emit_tail(flow, NT_RANGE_TAKEN);
	src->state = NT_STATE_NO_PC;
	return NT_OK;
}

/*
 * Finish a message with SYNC whose B-TYPE reports a trap. Some encoders send this B-TYPE for a trap
 * return. If the walk ended at a trap return, handle the message as a jump to F-ADDR. Return NT_OK or an error.
 */
static int engine_finish_trap_sync(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = engine_tail_block(flow);
	int err = engine_finish_trap(flow, src, flow->msg.addr);

	if (err != NT_E_CLASS || !block || block->range.how != NT_END_TRAP_RETURN ||
	    !nt_flow_accepts(flow, NT_DEV_XRET_INTERRUPT))
		return err;
	nt_flow_deviates(flow, NT_DEV_XRET_INTERRUPT);
	return engine_finish_jump(flow, src, flow->msg.addr);
}

/*
 * Determine how the walk of a message with SYNC ends. Set *restart if the flow does not continue at
 * the end of the walk, but starts anew at F-ADDR. Return NT_OK or an error.
 */
static int engine_finish_way_to_sync(struct nt_flow *flow, struct nt_source *src, bool *restart)
{
	const struct nt_message *msg = &flow->msg;
	int err;

	if (msg->fields & NT_FIELD_BTYPE && msg->btype != NT_BTYPE_INDIRECT)
		return engine_finish_trap_sync(flow, src);
	if (engine_is_cut(flow, msg->sync)) {
		*restart = true;
		return engine_finish_flow(flow, src);
	}
	err = engine_finish_linear_sync(flow, src);
	/*
	 * In some dialects, HIST of a message with SYNC may lack the bit of the last branch. In this case, the address
	 * in the message is not the destination of the branch.
	 */
	if (err == NT_E_ADDR && flow->dialect->sync_at_branch && flow->walk.lacks_bit &&
	    flow->walk.tail) {
		flow->walk.tail = 0;
		*restart = true;
		return NT_OK;
	}
	return err == NT_E_ADDR && engine_is_gap(msg->sync) ? NT_E_RESTART : err;
}

static int engine_finish_sync(struct nt_flow *flow, struct nt_source *src)
{
	bool restart = false;
	int err = engine_finish_way_to_sync(flow, src, &restart);

	if (err)
		return err;
	engine_update_time(flow, src);
	engine_add_mark(flow, src);
	src->other_mode = 0;
	if (restart && flow->msg.sync == NT_SYNC_TRACE_ENABLE)
		engine_add_undeclared_stop(flow, src);
	engine_resync(flow, src, restart);
	return NT_OK;
}

static int engine_finish_correlation(struct nt_flow *flow, struct nt_source *src)
{
	int err = engine_finish_flow(flow, src);

	if (err)
		return err;
	engine_update_time(flow, src);
	engine_add_mark(flow, src);
	engine_add_stop(flow, src);
	return NT_OK;
}

/* ---- trace mode, and the start of the flow ---- */

/* The decoder changes the trace mode that it detected after this number of messages of the other mode. */
#define ENOUGH_OTHERS	2

/* Return true if the encoder may send HIST in BTM too, so that HIST does not prove that the mode is HTM. */
static bool engine_is_hist_unsure(const struct nt_flow *flow)
{
	return (flow->dialect->deviations | flow->config.accept) & NT_DEV_BIT(NT_DEV_HIST_IN_BTM);
}

/*
 * Detect or check the trace mode. One message alone does not change the mode, because it may be
 * damaged. Return NT_OK, or NT_E_MODE if the mode differs from that of the previous messages.
 */
static int engine_check_mode(const struct nt_flow *flow, struct nt_source *src)
{
	enum nt_mode mode = nt_message_mode(&flow->msg);
	bool is_sure = nt_message_shows_mode(&flow->msg);

	if (is_sure)
		src->was_off = false;
	if (!mode || (!is_sure && (src->mode || engine_is_hist_unsure(flow))))
		return NT_OK;
	if (!src->mode || src->mode == mode) {
		src->mode = mode;
		if (src->other_mode && src->state != NT_STATE_LIVE)
			src->other_mode--;
		return NT_OK;
	}
	if (flow->config.mode || ++src->other_mode < ENOUGH_OTHERS)
		return NT_E_MODE;
	src->mode = mode;
	src->other_mode = 0;
	return NT_OK;
}

static void engine_set_hist(struct nt_walk *walk, uint64_t hist)
{
	walk->todo.hist = hist;
	walk->todo.nr_bits = 63 - __builtin_clzll(hist);
}

void nt_source_forget_blocks(const struct nt_flow *flow, struct nt_source *src)
{
	uint32_t i;

	src->space = -1;
	src->block = 0;
	for (i = 0; i < flow->config.return_depth; i++)
		src->returns[i].call = 0;
}

/*
 * Drop decoded code because the image has changed, or because the cache is full. Return NT_OK or
 * NT_E_NOMEM.
 */
static int engine_update_code(struct nt_flow *flow)
{
	bool changed = true;
	uint32_t i;

	if (flow->tally && nt_tally_flush(flow->tally, &flow->code))
		return NT_E_NOMEM;
	if (flow->code.overflow)
		nt_code_flush(&flow->code);
	else
		changed = nt_code_update(&flow->code);
	if (flow->memo && changed)
		nt_memo_clear(flow->memo);
	if (flow->tally && changed)
		nt_tally_clear(flow->tally);
	for (i = 0; i < flow->nr_sources; i++) {
		if (flow->sources[i])
			nt_source_forget_blocks(flow, flow->sources[i]);
	}
	return NT_OK;
}

static int engine_update_space(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_image_reader *reader = &flow->image->reader;
	uint64_t id = 0;

	if ((flow->code.generation != flow->image->generation || flow->code.overflow) &&
	    engine_update_code(flow))
		return NT_E_NOMEM;
	if (src->space < 0) {
		if (reader->space)
			id = reader->space(reader->ctx, &src->context);
		src->space = nt_code_space(&flow->code, id);
		src->block = 0;
	}
	if (src->space < 0)
		return NT_E_NOMEM;
	flow->batch_space = flow->code.spaces[src->space].id;
	return NT_OK;
}

/*
 * Return true if the message repeats a branch more often than I-CNT can count. Each branch has at
 * least one half-word. I-CNT is the sum of earlier ResourceFull messages (nt_source::owed), and of
 * a field with at most 22 bits (table "Maximum Field Sizes"). Without this check, the decoder would
 * walk a damaged message for minutes.
 */
static bool engine_is_run_too_long(const struct nt_source *src, const struct nt_message *msg)
{
	return nt_dialect_tables[msg->dialect].has_runs && msg->fields & NT_FIELD_HREPEAT &&
		msg->value + src->walked > src->owed + (1u << 22);
}

/* Check that HIST fits the trace mode. Return NT_OK or an error. */
static int engine_check_hist(struct nt_flow *flow, const struct nt_source *src)
{
	bool has_hist = flow->act->fields & NT_FIELD_HIST;
	bool stops = flow->act->tcode == NT_TCODE_PROG_TRACE_CORRELATION;
	enum nt_deviation deviation;

	if (src->mode == NT_MODE_BTM && has_hist)
		deviation = NT_DEV_HIST_IN_BTM;
	else if (src->mode == NT_MODE_HTM && stops && !has_hist && !flow->dialect->empty_cdf)
		deviation = NT_DEV_NO_HIST;
	else
		return NT_OK;
	if (!nt_flow_accepts(flow, deviation))
		return NT_E_DEVIATION;
	nt_flow_deviates(flow, deviation);
	return NT_OK;
}

/*
 * Return true if HIST of a message with SYNC may lack the bit of the last branch before this message, because
 * some encoders report this branch only by F-ADDR, which must be one of its destinations.
 */
static bool engine_may_lack_bit(const struct nt_flow *flow, const struct nt_source *src)
{
	const struct nt_message *act = flow->act;

	if ((src->mode != NT_MODE_HTM || engine_is_cut(flow, act->sync)) && !flow->dialect->sync_at_branch)
		return false;
	return nt_message_is_sync(act) && act->btype == NT_BTYPE_INDIRECT &&
		nt_flow_accepts(flow, act->tcode == NT_TCODE_DIRECT_BRANCH_SYNC ?
				NT_DEV_DIRECT_SYNC : NT_DEV_SYNC_LACKS_BIT);
}

/*
 * Return true if the message has HIST that reports branches. In BTM, some encoders send a HIST with at most one bit,
 * which is not used. The bit is 0 if no DirectBranch has shown the mode yet. If the mode is HTM, this HIST
 * reports no taken branch, so the flow is the same without HIST.
 */
static bool engine_has_hist(const struct nt_flow *flow, const struct nt_source *src)
{
	const struct nt_message *act = flow->act;

	if (!src->mode && act->tcode == NT_TCODE_PROG_TRACE_CORRELATION && act->hist <= 2)
		return false;
	return act->fields & NT_FIELD_HIST && src->mode != NT_MODE_BTM;
}

/* Set up the walk by I-CNT and HIST of the message nt_flow::act. Return NT_OK or an error. */
static int engine_begin_walk(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *act = flow->act;
	struct nt_walk *walk = &flow->walk;
	uint64_t total = src->owed + act->icnt;
	int err = engine_check_hist(flow, src);

	if (err)
		return err;
	if (engine_is_run_too_long(src, act))
		return NT_E_ICNT_SHORT;
	memset(walk, 0, sizeof(*walk));
	walk->active = true;
	engine_set_hist(walk, engine_has_hist(flow, src) ? act->hist : 1);
	if (act->tcode == NT_TCODE_RESOURCE_FULL) {
		walk->hist_only = true;
		walk->todo.left = INT64_MAX;
		walk->again = act->fields & NT_FIELD_HREPEAT ? act->value : 1;
		if (!walk->again)
			walk->todo.nr_bits = 0;
		/* A HIST without branches has no effect, even if it is repeated. */
		else if (walk->todo.nr_bits)
			walk->again--;
		else
			walk->again = 0;
		return NT_OK;
	}
	if (total < src->walked)
		return NT_E_ICNT_SHORT;
	walk->todo.left = total - src->walked;
	walk->lacks_bit = engine_may_lack_bit(flow, src);
	src->owed = 0;
	src->walked = 0;
	return NT_OK;
}

/*
 * Begin to decode ResourceFull (chapter 7.8), which reports that I-CNT or HIST is full. The encoder then resets only
 * the one that is full. Return NT_OK or an error.
 */
static int engine_begin_resource(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;

	src->has_last = false;
	src->raw_length = 0;
	if (msg->fields & NT_FIELD_HIST)
		return engine_begin_walk(flow, src);
	switch (msg->code) {
	case NT_RCODE_ICNT:
		src->owed += msg->icnt;
		engine_update_time(flow, src);
		engine_add_mark(flow, src);
		return NT_OK;
	}
	return NT_E_RESERVED;
}

/* Begin to decode RepeatBranch (chapter 7.11). Return NT_OK or an error. */
static int engine_begin_repeat(struct nt_flow *flow, struct nt_source *src)
{
	nt_fast_last(flow, src);
	if (!src->has_last)
		return NT_E_NO_REPEAT;
	if (!flow->msg.value) {
		engine_update_time(flow, src);
		engine_add_mark(flow, src);
		return NT_OK;
	}
	flow->repeat = flow->msg.value - 1;
	flow->act = &src->last;
	return engine_begin_walk(flow, src);
}

/* Begin to decode a message that reports instructions, while the PC is known. Return NT_OK or an error. */
static int engine_begin_live(struct nt_flow *flow, struct nt_source *src)
{
	int err = engine_check_mode(flow, src);

	if (err)
		return err;
	switch (flow->msg.tcode) {
	case NT_TCODE_RESOURCE_FULL:
		return engine_begin_resource(flow, src);
	case NT_TCODE_REPEAT_BRANCH:
		return engine_begin_repeat(flow, src);
	case NT_TCODE_REPEAT_INSN:
	case NT_TCODE_REPEAT_INSN_SYNC:
		if (!nt_flow_accepts(flow, NT_DEV_REPEAT_INSN))
			return NT_E_DEVIATION;
		nt_flow_deviates(flow, NT_DEV_REPEAT_INSN);
		src->has_last = false;
		src->raw_length = 0;
	}
	return engine_begin_walk(flow, src);
}

/*
 * Return true if the message reports a trap while trace is disabled. This deviation is counted. The
 * message has no other effect.
 */
static bool engine_is_trap_in_gap(const struct nt_flow *flow, const struct nt_source *src)
{
	return src->state == NT_STATE_STOPPED && flow->msg.fields & NT_FIELD_BTYPE &&
		flow->msg.btype != NT_BTYPE_INDIRECT &&
		nt_flow_accepts(flow, NT_DEV_TRAP_IN_GAP);
}

/*
 * Handle a message while the PC is not known. The flow continues at the next SYNC, or, after
 * missing code, at the next U-ADDR.
 */
static void engine_begin_lost(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;

	if (nt_message_is_sync(msg)) {
		/* Detect the trace mode again if the encoder was off, because its settings may have changed. */
		if (src->was_off) {
			src->was_off = false;
			src->mode = flow->config.mode;
			src->other_mode = 0;
		}
		engine_update_time(flow, src);
		engine_resync(flow, src, true);
		return;
	}
	engine_update_time(flow, src);
	if (engine_is_trap_in_gap(flow, src)) {
		nt_flow_deviates(flow, NT_DEV_TRAP_IN_GAP);
		return;
	}
	engine_check_mode(flow, src);
	/* If trace was switched on and off without any executed instruction, nothing is lost. */
	if (msg->tcode != NT_TCODE_PROG_TRACE_CORRELATION || msg->icnt ||
	    (msg->fields & NT_FIELD_HIST && msg->hist != 1)) {
		engine_add_lost(flow, src);
		if (src->state == NT_STATE_STOPPED)
			engine_add_error(flow, src, NT_E_RESTART);
	}
	if (msg->tcode == NT_TCODE_PROG_TRACE_CORRELATION) {
		engine_add_stop(flow, src);
		return;
	}
	if (src->state == NT_STATE_STOPPED)
		src->state = NT_STATE_LOST;
	if (src->state == NT_STATE_NO_PC && msg->fields & NT_FIELD_UADDR)
		engine_go_on_at(src, msg, nt_flow_dest(flow, src->ref, msg->addr));
}

/* Handle Ownership (chapter 7.1). */
static void engine_do_ownership(struct nt_flow *flow, struct nt_source *src)
{
	int err = nt_context_update(&src->context, &flow->msg);

	if (err && flow->dialect->opaque_owner) {
		nt_event_owner(flow, src);
		return;
	}
	if (err) {
		engine_add_error(flow, src, err);
		return;
	}
	nt_source_forget_blocks(flow, src);
	nt_engine_event(flow, src, NT_ITEM_CONTEXT);
}

/* Handle Error (chapter 7.4). All state of the encoder is lost, unless ECODE limits the loss. */
static void engine_do_error(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item;

	engine_note_dest(flow);
	/* Later timestamps may be relative to the timestamps of lost messages. */
	src->tstamp_gap = true;
	src->overrun = true;
	if (nt_error_loses_flow(&flow->msg) && src->state != NT_STATE_NEW)
		engine_lose(src, NT_STATE_LOST);
	if (nt_error_loses_context(&flow->msg)) {
		nt_context_lose(&src->context, &flow->msg);
		nt_source_forget_blocks(flow, src);
	}
	item = nt_engine_event(flow, src, NT_ITEM_LOST);
	item->lost.etype = flow->msg.code;
	item->lost.ecode = flow->msg.value;
}

/*
 * Skip a message that is vendor defined or reserved. Such a message may end with a timestamp, to
 * which later timestamps are relative (chapter 8.5). If the fields of the message are not known,
 * the time is not exact before the next SYNC.
 */
static void engine_do_other(struct nt_flow *flow, struct nt_source *src)
{
	bool moves_pc = flow->dialect->moves_pc >> flow->msg.tcode & 1;
	struct nt_item *item;

	if (flow->msg.fields & NT_FIELD_TSTAMP)
		engine_update_time(flow, src);
	else
		src->tstamp_gap = flow->config.timestamp;
	item = nt_engine_event(flow, src, NT_ITEM_SKIPPED);
	item->skipped.tcode = flow->msg.tcode;
	item->skipped.length = flow->msg.length;
	flow->stats.skipped++;
	if (!moves_pc || (src->state != NT_STATE_LIVE && src->state != NT_STATE_NO_PC))
		return;
	engine_add_error(flow, src, NT_E_SKIPPED);
	engine_add_lost(flow, src);
	engine_lose(src, NT_STATE_LOST);
}

static void engine_count_deviations(struct nt_flow *flow)
{
	uint32_t left = flow->msg.deviations;

	for (; left; left &= left - 1)
		nt_flow_deviates(flow, __builtin_ctz(left));
}

/*
 * SYNC 7 restarts trace after an overrun (chapter 8.4), whatever ECODE of the previous Error
 * message reported. The trace since the last message is lost, and I-CNT may include lost code.
 */
static void engine_check_overrun(struct nt_flow *flow, struct nt_source *src)
{
	if (!src->overrun || !nt_message_is_sync(&flow->msg))
		return;
	src->overrun = false;
	if (flow->msg.sync != NT_SYNC_FIFO_OVERRUN || src->state != NT_STATE_LIVE)
		return;
	engine_note_dest(flow);
	engine_lose(src, NT_STATE_LOST);
}

static void engine_begin(struct nt_flow *flow)
{
	struct nt_source *src = flow->src;
	int err;

	flow->act = &flow->msg;
	flow->repeat = 0;
	if (unlikely(flow->msg.deviations))
		engine_count_deviations(flow);
	switch (flow->msg.tcode) {
	case NT_TCODE_OWNERSHIP:
		engine_update_time(flow, src);
		engine_do_ownership(flow, src);
		return;
	case NT_TCODE_ERROR:
		engine_update_time(flow, src);
		engine_do_error(flow, src);
		return;
	}
	if (flow->dialect->has_events && nt_event_begin(flow, src))
		return;
	if (!(NT_BRANCH_TCODES >> flow->msg.tcode & 1) || nt_message_has_others(&flow->msg)) {
		engine_do_other(flow, src);
		return;
	}
	if (flow->msg.tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		src->was_off = true;
	engine_check_overrun(flow, src);
	if (src->state != NT_STATE_LIVE) {
		engine_begin_lost(flow, src);
		return;
	}
	err = engine_begin_live(flow, src);
	if (err)
		engine_fail(flow, src, err);
}

/* ---- decode the next messages ---- */

/*
 * Finish RepeatInstruction (IEEE-ISTO 5001). I-CNT and HIST end with an instruction that jumps to
 * itself, and that was executed R-CNT more times. Return NT_OK or an error.
 */
static int engine_finish_repeated(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block;
	int err;

	if (flow->walk.tail) {
		err = engine_finish_direct(flow, src);
		if (err)
			return err;
	}
	src->block = nt_code_find(&flow->code, src->space, src->pc);
	if (!src->block)
		return NT_E_NOMEM;
	block = &flow->code.blocks[src->block];
	if (block->range.how > NT_END_CALL || block->range.insns != 1 || block->target != src->pc)
		return NT_E_CLASS;
	if (flow->act != &flow->msg || !flow->msg.value)
		return NT_OK;
	flow->again = (struct nt_message){
		.tcode = NT_TCODE_REPEAT_INSN, .fields = NT_FIELD_ICNT | NT_FIELD_HIST,
		.icnt = block->range.last_len,
		.hist = block->range.how == NT_END_BRANCH || nt_jumps_are_reported(flow, false) ? 3 : 1,
	};
	flow->act = &flow->again;
	flow->repeat = flow->msg.value;
	return NT_OK;
}

static int engine_finish_act(struct nt_flow *flow, struct nt_source *src)
{
	switch (flow->act->tcode) {
	case NT_TCODE_DIRECT_BRANCH:
		return engine_finish_direct(flow, src);
	case NT_TCODE_INDIRECT_BRANCH:
	case NT_TCODE_INDIRECT_BRANCH_HIST:
		return engine_finish_indirect(flow, src);
	case NT_TCODE_PROG_TRACE_CORRELATION:
		return engine_finish_correlation(flow, src);
	case NT_TCODE_RESOURCE_FULL:
		return NT_OK;
	case NT_TCODE_REPEAT_INSN:
	case NT_TCODE_REPEAT_INSN_SYNC:
		return engine_finish_repeated(flow, src);
	}
	return engine_finish_sync(flow, src);
}

/* Handle the end of a walk. If the message repeats HIST, begin another walk. Otherwise finish the message. */
static void engine_finish(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	int err;

	if (walk->hist_only && walk->again) {
		walk->again--;
		engine_set_hist(walk, flow->act->hist);
		return;
	}
	walk->active = false;
	err = engine_finish_act(flow, src);
	if (!err && flow->repeat)
		flow->repeat -= nt_fast_repeat(flow, src, flow->act, flow->repeat);
	if (!err && flow->repeat) {
		flow->repeat--;
		err = engine_begin_walk(flow, src);
		if (!err)
			return;
	}
	if (!err && flow->msg.tcode == NT_TCODE_REPEAT_INSN_SYNC) {
		flow->act = &flow->msg;
		err = engine_finish_sync(flow, src);
	}
	if (err) {
		engine_fail(flow, src, err);
		return;
	}
	if (nt_message_is_sync(&flow->msg) || flow->msg.tcode == NT_TCODE_PROG_TRACE_CORRELATION)
		return;
	engine_update_time(flow, src);
	engine_add_mark(flow, src);
	if (flow->act == &flow->msg && flow->msg.tcode != NT_TCODE_RESOURCE_FULL &&
	    flow->msg.tcode != NT_TCODE_REPEAT_INSN) {
		src->last = flow->msg;
		src->has_last = true;
		src->raw_length = 0;
	}
}

struct nt_source *nt_flow_source(struct nt_flow *flow, uint32_t id)
{
	struct nt_source *src = flow->sources[id];

	if (src)
		return src;
	src = calloc(1, sizeof(*src) + flow->config.return_depth * sizeof(src->returns[0]));
	if (!src)
		return NULL;
	src->id = id;
	src->space = -1;
	src->mode = flow->config.mode;
	flow->sources[id] = src;
	return src;
}

/* Return true if the current message is from a source that is not decoded. */
static bool engine_is_other(const struct nt_flow *flow)
{
	return flow->config.src_id != NT_SRC_ANY && flow->msg.fields & NT_FIELD_SRC &&
		flow->msg.src != flow->config.src_id;
}

/*
 * Skip plain messages (see plain.h) of sources that are not decoded. Most messages are plain. The
 * caller reads all messages that are not plain, from any source, because an invalid message is an
 * error of every source.
 */
static void engine_skip_others(struct nt_flow *flow)
{
	struct nt_reader *reader = &flow->reader;
	struct plain msg = { .addr = 0 };
	uint16_t src;

	while (!reader->skip && !reader->nr_carry && reader->end - reader->data >= WINDOW) {
		nt_message_source(&flow->config, reader->data, WINDOW, &src);
		if (src == flow->config.src_id ||
		    !plain_parse(&flow->config, reader->data, plain_find_ends(reader->data), src,
				 false, &msg) ||
		    !nt_addr_fits(msg.addr, flow->addr_bits))
			return;
		flow->stats.messages++;
		flow->stats.by_tcode[msg.tcode]++;
		reader->data += msg.length;
		reader->offset += msg.length;
	}
}

/* Read the next message, or handle an unreadable message. Return false if no message is complete. */
static bool engine_read_message(struct nt_flow *flow)
{
	int ret;

	for (;;) {
		if (flow->config.src_bits && flow->config.src_id != NT_SRC_ANY)
			engine_skip_others(flow);
		ret = nt_reader_read(&flow->reader, &flow->msg);
		if (!ret && flow->ending) {
			flow->ending = false;
			ret = nt_reader_finish(&flow->reader, &flow->msg);
			/* A truncated last message is an error only of the source that sent it. */
			if (engine_is_other(flow))
				ret = 0;
		}
		if (!ret)
			return false;
		if (ret < 0) {
			engine_fail_all(flow, ret);
			return true;
		}
		flow->stats.messages++;
		flow->stats.by_tcode[flow->msg.tcode]++;
		if (engine_is_other(flow))
			continue;
		flow->has_msg = true;
		return true;
	}
}

static bool engine_is_full(const struct nt_flow *flow)
{
	return flow->nr_events || flow->nr_ranges >= MAX_RANGES - SPARE_RANGES ||
	       flow->nr_marks >= MAX_MARKS - 1;
}

/* If the batch is full before the end of a message, mark its ranges with the offset and time of the message. */
static void engine_add_open_mark(struct nt_flow *flow)
{
	if (flow->nr_ranges && !engine_is_marked(flow))
		nt_mark_put(flow, flow->nr_ranges, flow->msg.offset, flow->msg.tcode,
			    nt_source_time(flow->src), nt_tstamp_kind(flow->src, false));
}

/* Return true if the message belongs to the next batch, because a batch has ranges of one source. */
static bool engine_must_wait(const struct nt_flow *flow)
{
	return flow->nr_ranges && flow->src != flow->batch_src;
}

static void engine_begin_batch(struct nt_flow *flow)
{
	if (flow->nr_ranges || flow->nr_events)
		return;
	flow->batch_src = flow->src;
	flow->batch_context = flow->src->context;
	flow->batch_tstamp = flow->src->tstamp;
	flow->batch_has_tstamp = flow->src->has_tstamp;
}

/* Decode plain messages of the current source. Return false if no message was decoded. */
static bool engine_run_fast(struct nt_flow *flow, bool single)
{
	struct nt_source *src = flow->src;

	if (!src || src->state != NT_STATE_LIVE || engine_must_wait(flow))
		return false;
	if (engine_update_space(flow, src))
		return false;
	engine_begin_batch(flow);
	return flow->counting ? nt_fast_count(flow, src) : nt_fast_run(flow, src, single);
}

/*
 * Continue the walk of the current message. Return 1 if the caller must call again, 0 if the batch
 * is full, or NT_E_NOMEM.
 */
static int engine_continue_walk(struct nt_flow *flow)
{
	struct nt_walk *walk = &flow->walk;
	int ret;

	engine_begin_batch(flow);
	if (!walk->ready && engine_update_space(flow, flow->src))
		return NT_E_NOMEM;
	walk->ready = true;
	ret = nt_walk_run(flow, flow->src);
	if (ret == NT_E_NOMEM)
		return ret;
	if (ret < 0)
		engine_fail(flow, flow->src, ret);
	else if (ret)
		engine_finish(flow, flow->src);
	return 1;
}

/*
 * Read a message, begin to decode it, or decode plain messages. Return 1 if the caller must call
 * again, 0 if nothing more can be decoded now, or NT_E_NOMEM.
 */
static int engine_next_message(struct nt_flow *flow, bool single)
{
	if (single && flow->nr_ranges)
		return 0;
	if (!flow->has_msg) {
		if (engine_run_fast(flow, single))
			return 1;
		return flow->nr_ranges < FAST_RANGES && engine_read_message(flow);
	}
	flow->src = nt_flow_source(flow, flow->msg.src);
	if (!flow->src)
		return NT_E_NOMEM;
	if (engine_must_wait(flow))
		return 0;
	engine_begin_batch(flow);
	flow->has_msg = false;
	engine_begin(flow);
	return 1;
}

int nt_engine_run(struct nt_flow *flow, bool single)
{
	int ret = 1;

	while (ret > 0 && !engine_is_full(flow))
		ret = flow->walk.active ? engine_continue_walk(flow) :
			engine_next_message(flow, single);
	if (flow->walk.active)
		engine_add_open_mark(flow);
	return ret < 0 ? ret : NT_OK;
}
