// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * What each message means: chapters 7 and 8.
 *
 * A message that tells of instructions is begun (what is to be walked), walked
 * (walk.c) and finished (what its end says). Whatever does not fit is an
 * error; the flow then waits for a message with SYNC.
 */
#include <stdlib.h>

#include "memo.h"

static struct nt_item *add_event(struct nt_flow *flow, struct nt_source *src,
				 enum nt_item_type type)
{
	struct nt_item *item = &flow->events[flow->nr_events++];

	memset(item, 0, sizeof(*item));
	item->type = type;
	item->offset = flow->msg.offset;
	item->tcode = flow->msg.tcode;
	item->src = flow->msg.src;
	if (!src)
		return item;
	item->context = src->context;
	item->tstamp = src->tstamp;
	if (src->has_tstamp)
		item->tstamp_kind = flow->msg.fields & NT_FIELD_TSTAMP ?
			NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
	return item;
}

/* The message at hand has ended: ranges up to here were told by it. */
static void add_mark(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_mark *mark;

	if (flow->nr_marks && flow->marks[flow->nr_marks - 1].range == flow->nr_ranges)
		return;
	if (!flow->nr_ranges)
		return;
	mark = &flow->marks[flow->nr_marks++];
	mark->offset = flow->msg.offset;
	mark->tcode = flow->msg.tcode;
	mark->range = flow->nr_ranges;
	mark->tstamp = src->tstamp;
	mark->tstamp_kind = NT_TSTAMP_NONE;
	if (src->has_tstamp)
		mark->tstamp_kind = flow->msg.fields & NT_FIELD_TSTAMP ?
			NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
}

/*
 * TSTAMP, chapter 8.5: absolute with SYNC, else relative to the last one. A
 * counter of less than 64 bits wraps; time goes on.
 */
static void update_time(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;
	unsigned int bits = flow->config.tstamp_bits;
	uint64_t period = bits && bits < 64 ? 1ULL << bits : 0;

	if (!(msg->fields & NT_FIELD_TSTAMP))
		return;
	if (!nt_message_is_sync(msg)) {
		src->tstamp += msg->tstamp;
		return;
	}
	if (period) {
		uint64_t tstamp = (src->tstamp & ~(period - 1)) | (msg->tstamp & (period - 1));

		src->tstamp = tstamp < src->tstamp ? tstamp + period : tstamp;
	} else {
		src->tstamp = msg->tstamp;
	}
	src->has_tstamp = true;
}

static void forget_walk(struct nt_source *src)
{
	src->owed = 0;
	src->walked = 0;
	src->depth = 0;
	src->has_last = false;
	src->raw_length = 0;
	src->block = 0;
}

static void add_lost(struct nt_flow *flow, struct nt_source *src)
{
	if (src) {
		src->lost_messages++;
		src->lost_bytes += flow->msg.length;
	}
	flow->stats.lost_messages++;
	flow->stats.lost_bytes += flow->msg.length;
}

static void lose(struct nt_source *src, enum nt_state state)
{
	forget_walk(src);
	src->state = state;
}

static void add_stop(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item;
	bool has_addr = src->state == NT_STATE_LIVE;

	lose(src, NT_STATE_STOPPED);
	item = add_event(flow, src, NT_ITEM_STOP);
	item->stop.reason = flow->msg.code;
	item->stop.addr = src->pc;
	item->stop.has_addr = has_addr;
}

static void add_error(struct nt_flow *flow, struct nt_source *src, int code)
{
	struct nt_item *item = add_event(flow, src, NT_ITEM_ERROR);

	item->error.code = code;
	flow->stats.errors++;
	if (src && src->state == NT_STATE_LIVE) {
		item->error.has_addr = true;
		item->error.addr = nt_flow_mask(flow, src->pc + flow->walk.at);
		flow->error_pc = src->pc;
	}
	flow->walk.at = 0;
}

/* ---- messages with SYNC ---- */

/* Flow starts, or goes on, at F-ADDR: all encoder state is reset (chapter 8.4). */
static void resync(struct nt_flow *flow, struct nt_source *src, bool restart)
{
	struct nt_item *item;

	forget_walk(src);
	src->calls_missing = false;
	src->pc = flow->msg.addr;
	src->ref = flow->msg.addr;
	src->state = NT_STATE_LIVE;
	item = add_event(flow, src, NT_ITEM_SYNC);
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

/* ---- errors ---- */

/* The PC is where the last address led to. RepeatBranch may repeat @act. */
static void go_on_at(struct nt_source *src, const struct nt_message *act, uint64_t dest)
{
	src->ref = dest;
	src->pc = dest;
	src->state = NT_STATE_LIVE;
	src->last = *act;
	src->has_last = true;
	src->last_dest = dest;
}

/*
 * Code is missing; or the flow returns to what was called in missing code or before it,
 * which the encoder's stack has still (chapter 9.2). It has a gap up to the next address,
 * which may be in this very message: it refers to the address before, not to code.
 *
 * What is called from there on is on top of the encoder's stack: a return to it is certain
 * again. Any other needs what is below, and is another gap, up to the address after that.
 */
static void fail_gap(struct nt_flow *flow, struct nt_source *src, const struct nt_message *act,
		     uint64_t last_dest)
{
	bool repeat = flow->act != &flow->msg;

	src->calls_missing = true;
	src->state = NT_STATE_NO_PC;
	if (act->fields & NT_FIELD_UADDR)
		go_on_at(src, act, repeat ? last_dest : nt_flow_mask(flow, src->ref ^ act->addr));
}

/* The flow does not fit the message: it goes on at the next SYNC, which may be this one. */
static void fail(struct nt_flow *flow, struct nt_source *src, int code)
{
	const struct nt_message *msg = &flow->msg;
	struct nt_message act = *flow->act;
	uint64_t last_dest = src->last_dest;

	if (code == NT_E_NO_RETURN && src->calls_missing)
		code = NT_E_GAP_RETURN;

	flow->walk.active = false;
	flow->walk.tail = 0;
	flow->repeat = 0;
	update_time(flow, src);
	add_mark(flow, src);
	add_error(flow, src, code);
	if (nt_message_is_sync(msg)) {
		resync(flow, src, true);
		return;
	}
	add_lost(flow, src);
	lose(src, NT_STATE_LOST);
	if (msg->tcode == NT_PROG_TRACE_CORRELATION)
		add_stop(flow, src);
	else if (code == NT_E_NO_CODE || code == NT_E_GAP_RETURN)
		fail_gap(flow, src, &act, last_dest);
}

/* A message cannot be read: any source may have lost one by it. */
static void fail_all(struct nt_flow *flow, int code)
{
	uint32_t i;

	for (i = 0; i < flow->nr_sources; i++) {
		struct nt_source *src = flow->sources[i];

		if (!src)
			continue;
		if (src->state != NT_STATE_NEW)
			lose(src, NT_STATE_LOST);
		src->has_tstamp = false;
		src->lost_messages++;
		src->lost_bytes += flow->msg.length;
	}
	add_lost(flow, NULL);
	flow->msg.tcode = 0;
	add_error(flow, NULL, code);
}

/* ---- how a message ends ---- */

static const struct nt_block *tail_block(struct nt_flow *flow)
{
	return flow->walk.tail ? &flow->code.blocks[flow->walk.tail] : NULL;
}

static void go_to(struct nt_flow *flow, struct nt_source *src, uint64_t pc)
{
	src->pc = nt_flow_mask(flow, pc);
	src->block = 0;
	flow->walk.at = 0;
}

/* Needs an address, unless that can be inferred */
static bool is_indirect(const struct nt_block *block)
{
	return block && nt_block_kind(block) >= NT_KIND_INDIRECT_JUMP &&
	       nt_block_kind(block) <= NT_KIND_TRAP_RETURN;
}

/* Is not told, where the call was (chapter 9.2) */
static bool is_return(const struct nt_flow *flow, const struct nt_block *block)
{
	return flow->config.return_depth &&
	       (block->range.end == NT_END_RETURN || block->range.end == NT_END_SWAP);
}

static bool is_direct(const struct nt_block *block)
{
	return block && (nt_block_kind(block) == NT_KIND_JUMP ||
			 nt_block_kind(block) == NT_KIND_CALL);
}

static bool is_branch(const struct nt_block *block)
{
	return block && nt_block_kind(block) == NT_KIND_BRANCH;
}

/* Give out the block at the end as jumping to @dest. */
static void take_tail(struct nt_flow *flow, struct nt_source *src, uint64_t dest,
		      unsigned int flags)
{
	nt_walk_stack(flow, src, tail_block(flow));
	nt_walk_emit_tail(flow, NT_RANGE_TAKEN | flags);
	go_to(flow, src, dest);
}

static void pass_tail(struct nt_flow *flow, struct nt_source *src)
{
	uint64_t end = nt_range_end(&tail_block(flow)->range);

	nt_walk_emit_tail(flow, 0);
	go_to(flow, src, end);
}

/*
 * A custom instruction that changes the PC is told like an indirect jump
 * (chapter 10.1): opcodes custom-0 to custom-3, and whatever is longer than 32 bit.
 */
static bool is_custom(const struct nt_flow *flow)
{
	uint32_t op = flow->walk.opcode;

	if (!flow->walk.partial || (op & 3) != 3)
		return false;
	if ((op & 0x1f) == 0x1f)
		return true;
	switch (op & 0x7f) {
	case 0x0b:
	case 0x2b:
	case 0x5b:
	case 0x7b:
		return true;
	}
	return false;
}

/* The jump at the end goes to @dest, which the message tells. */
static int finish_jump(struct nt_flow *flow, struct nt_source *src, uint64_t dest)
{
	const struct nt_block *block = tail_block(flow);
	struct nt_range *last;

	if (is_indirect(block)) {
		if (block->range.internal & NT_KIND_INFERABLE && block->target != dest)
			return NT_E_ADDR;
		take_tail(flow, src, dest, 0);
		return NT_OK;
	}
	if (block || !is_custom(flow))
		return NT_E_CLASS;
	last = &flow->ranges[flow->nr_ranges - 1];
	last->end = NT_END_INDIRECT_JUMP;
	last->flags = NT_RANGE_TAKEN;
	go_to(flow, src, dest);
	return NT_OK;
}

/*
 * Something else than the instruction at the end ended the message: make up
 * what that instruction did. A branch with no bit of HIST was not taken.
 */
static int settle_tail(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = tail_block(flow);
	uint64_t dest;

	if (!block)
		return NT_OK;
	if (is_branch(block)) {
		pass_tail(flow, src);
		return NT_OK;
	}
	if (is_direct(block))
		return NT_E_CLASS;
	if (!nt_walk_infer(flow, src, &dest))
		return is_return(flow, block) ? NT_E_NO_RETURN : NT_E_CLASS;
	take_tail(flow, src, dest, NT_RANGE_INFERRED);
	return NT_OK;
}

/* Exception or interrupt before the next instruction */
static int finish_trap(struct nt_flow *flow, struct nt_source *src, uint64_t dest)
{
	static const uint8_t ends[] = {
		[NT_BTYPE_TRAP]		= NT_END_TRAP,
		[NT_BTYPE_EXCEPTION]	= NT_END_EXCEPTION,
		[NT_BTYPE_INTERRUPT]	= NT_END_INTERRUPT,
	};
	struct nt_range *range;
	int err = settle_tail(flow, src);

	if (err)
		return err;
	if (flow->walk.partial) {
		range = &flow->ranges[flow->nr_ranges - 1];
	} else {
		range = &flow->ranges[flow->nr_ranges++];
		memset(range, 0, sizeof(*range));
		range->start = src->pc;
	}
	range->end = ends[flow->act->btype];
	range->flags = NT_RANGE_TAKEN;
	go_to(flow, src, dest);
	return NT_OK;
}

/* DirectBranch: the last instruction is a taken branch (chapter 7.2). */
static int finish_direct(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = tail_block(flow);

	if (!is_branch(block) && !is_direct(block))
		return NT_E_CLASS;
	take_tail(flow, src, block->target, 0);
	return NT_OK;
}

/* IndirectBranch, IndirectBranchHist */
static int finish_indirect(struct nt_flow *flow, struct nt_source *src)
{
	uint64_t dest = flow->act == &flow->msg ?
		nt_flow_mask(flow, src->ref ^ flow->act->addr) : src->last_dest;
	int err;

	if (flow->act->btype == NT_BTYPE_INDIRECT)
		err = finish_jump(flow, src, dest);
	else
		err = finish_trap(flow, src, dest);
	if (err)
		return err;
	src->ref = dest;
	src->last_dest = dest;
	return NT_OK;
}

/*
 * A message with SYNC on straight code, or behind an instruction that it does
 * not tell of: F-ADDR is where the walk has come to. F-ADDR alone says which
 * way a branch at the end went in BTM.
 */
static int finish_linear_sync(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_block *block = tail_block(flow);
	uint64_t dest = flow->act->addr;

	if (is_indirect(block) && flow->act->tcode != NT_DIRECT_BRANCH_SYNC)
		return finish_jump(flow, src, dest);
	if (is_branch(block) && block->target != dest) {
		pass_tail(flow, src);
	} else if (block) {
		if (is_indirect(block))
			return NT_E_CLASS;
		take_tail(flow, src, block->target, 0);
	}
	if (src->pc == dest)
		return NT_OK;
	if (is_custom(flow) && flow->act->fields & NT_FIELD_BTYPE)
		return finish_jump(flow, src, dest);
	return NT_E_ADDR;
}

/* Reasons for which the PC may be another: trace, or the hart, was off before. */
static bool is_gap(unsigned int sync)
{
	return sync == NT_SYNC_EXIT_DEBUG || sync == NT_SYNC_TRACE_ENABLE ||
	       sync == NT_SYNC_FIFO_OVERRUN;
}

static bool is_reset(unsigned int sync)
{
	return sync == NT_SYNC_EXIT_RESET || sync == NT_SYNC_POWER_DOWN;
}

static int finish_sync(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;
	bool restart = false;
	int err;

	if (msg->fields & NT_FIELD_BTYPE && msg->btype != NT_BTYPE_INDIRECT)
		err = finish_trap(flow, src, msg->addr);
	else
		err = finish_linear_sync(flow, src);
	if (err == NT_E_ADDR && is_reset(msg->sync)) {
		restart = true;
		err = NT_OK;
	}
	if (err == NT_E_ADDR && is_gap(msg->sync))
		err = NT_E_RESTART;
	if (err)
		return err;
	update_time(flow, src);
	add_mark(flow, src);
	resync(flow, src, restart);
	return NT_OK;
}

/* ProgTraceCorrelation. A jump at the very end may go anywhere. */
static int finish_correlation(struct nt_flow *flow, struct nt_source *src)
{
	int err;

	if (is_indirect(tail_block(flow)) && settle_tail(flow, src)) {
		nt_walk_emit_tail(flow, NT_RANGE_TAKEN);
		src->state = NT_STATE_NO_PC;
	} else {
		err = settle_tail(flow, src);
		if (err)
			return err;
	}
	update_time(flow, src);
	add_mark(flow, src);
	add_stop(flow, src);
	return NT_OK;
}

/* ---- begin ---- */

static int set_mode(struct nt_source *src, enum nt_mode mode)
{
	if (src->mode && src->mode != mode)
		return NT_E_MODE;
	src->mode = mode;
	return NT_OK;
}

/* BTM or HTM: table "Fields in Messages", last column of chapters 7.2 to 7.12 */
static int check_mode(struct nt_source *src, const struct nt_message *msg)
{
	switch (msg->tcode) {
	case NT_DIRECT_BRANCH:
	case NT_DIRECT_BRANCH_SYNC:
		return set_mode(src, NT_MODE_BTM);
	case NT_PROG_TRACE_CORRELATION:
		return set_mode(src, msg->cdf ? NT_MODE_HTM : NT_MODE_BTM);
	}
	return msg->fields & NT_FIELD_HIST ? set_mode(src, NT_MODE_HTM) : NT_OK;
}

static void set_hist(struct nt_walk *walk, uint64_t hist)
{
	walk->hist = hist;
	walk->nr_bits = 63 - __builtin_clzll(hist);
}

/* The source may go on in another address space, or in code that has changed. */
static void forget_blocks(struct nt_flow *flow, struct nt_source *src)
{
	uint32_t i;

	src->space = -1;
	src->block = 0;
	for (i = 0; i < flow->config.return_depth; i++)
		src->returns[i].call = 0;
}

/* The image has changed, or there is more code than is kept. */
static void update_code(struct nt_flow *flow)
{
	bool changed = true;
	uint32_t i;

	if (flow->code.overflow)
		nt_code_flush(&flow->code);
	else
		changed = nt_code_update(&flow->code);
	if (flow->memo && changed)
		nt_memo_clear(flow->memo);
	for (i = 0; i < flow->nr_sources; i++) {
		if (flow->sources[i])
			forget_blocks(flow, flow->sources[i]);
	}
}

static int update_space(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_image_reader *reader = &flow->image->reader;
	uint64_t id = 0;

	if (flow->code.generation != flow->image->generation || flow->code.overflow)
		update_code(flow);
	if (src->space >= 0)
		return NT_OK;
	if (reader->space)
		id = reader->space(reader->ctx, &src->context);
	src->space = nt_code_space(&flow->code, id);
	src->block = 0;
	return src->space < 0 ? NT_E_NOMEM : NT_OK;
}

/* Set up the walk of I-CNT and HIST of @act. */
static int begin_walk(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *act = flow->act;
	struct nt_walk *walk = &flow->walk;
	uint64_t total = src->owed + act->icnt;
	int err = update_space(flow, src);

	if (err)
		return err;
	memset(walk, 0, sizeof(*walk));
	walk->active = true;
	set_hist(walk, act->fields & NT_FIELD_HIST ? act->hist : 1);
	if (act->tcode == NT_RESOURCE_FULL) {
		walk->hist_only = true;
		walk->left = INT64_MAX;
		walk->again = act->fields & NT_FIELD_HREPEAT ? act->value : 1;
		if (!walk->again)
			walk->nr_bits = 0;
		else
			walk->again--;
		return NT_OK;
	}
	if (total < src->walked)
		return NT_E_ICNT_SHORT;
	walk->left = total - src->walked;
	src->owed = 0;
	src->walked = 0;
	return NT_OK;
}

/* ResourceFull, chapter 7.8: neither counter resets the other. */
static int begin_resource(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;

	src->has_last = false;
	src->raw_length = 0;
	switch (msg->code) {
	case NT_RCODE_ICNT:
		src->owed += msg->icnt;
		update_time(flow, src);
		return NT_OK;
	case NT_RCODE_HIST:
	case NT_RCODE_HIST_REPEAT:
		return begin_walk(flow, src);
	}
	return NT_E_RESERVED;
}

/* RepeatBranch, chapter 7.11 */
static int begin_repeat(struct nt_flow *flow, struct nt_source *src)
{
	nt_fast_last(flow, src);
	if (!src->has_last)
		return NT_E_NO_REPEAT;
	if (!flow->msg.value) {
		update_time(flow, src);
		return NT_OK;
	}
	flow->repeat = flow->msg.value - 1;
	flow->act = &src->last;
	return begin_walk(flow, src);
}

/* The flow is known: what does the message say of it? */
static int begin_live(struct nt_flow *flow, struct nt_source *src)
{
	int err = check_mode(src, &flow->msg);

	if (err)
		return err;
	switch (flow->msg.tcode) {
	case NT_RESOURCE_FULL:
		return begin_resource(flow, src);
	case NT_REPEAT_BRANCH:
		return begin_repeat(flow, src);
	}
	return begin_walk(flow, src);
}

/* The flow is not known: only a SYNC, or an address behind missing code, helps. */
static void begin_lost(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;

	if (nt_message_is_sync(msg)) {
		/* the encoder may have been set up anew while it was off */
		if (src->state == NT_STATE_STOPPED || check_mode(src, msg))
			src->mode = flow->config.mode;
		update_time(flow, src);
		resync(flow, src, true);
		return;
	}
	update_time(flow, src);
	if (msg->tcode == NT_PROG_TRACE_CORRELATION) {
		if (msg->icnt || (msg->fields & NT_FIELD_HIST && msg->hist != 1))
			add_lost(flow, src);
		add_stop(flow, src);
		return;
	}
	add_lost(flow, src);
	if (src->state == NT_STATE_STOPPED) {
		add_error(flow, src, NT_E_RESTART);
		src->state = NT_STATE_LOST;
	}
	if (src->state == NT_STATE_NO_PC && msg->fields & NT_FIELD_UADDR)
		go_on_at(src, msg, nt_flow_mask(flow, src->ref ^ msg->addr));
}

/* Ownership, chapter 7.1 */
static void do_ownership(struct nt_flow *flow, struct nt_source *src)
{
	const struct nt_message *msg = &flow->msg;
	struct nt_context *context = &src->context;

	if (msg->format == 1 || msg->priv == 2 || msg->priv > NT_PRIV_VS) {
		add_error(flow, src, msg->format == 1 ? NT_E_RESERVED : NT_E_PRIV);
		return;
	}
	context->priv = msg->priv;
	context->has_priv = true;
	if (msg->format == NT_FORMAT_SCONTEXT) {
		context->scontext = msg->context;
		context->has_scontext = true;
	} else if (msg->format == NT_FORMAT_HCONTEXT) {
		context->hcontext = msg->context;
		context->has_hcontext = true;
	}
	forget_blocks(flow, src);
	add_event(flow, src, NT_ITEM_CONTEXT);
}

/* Error, chapter 7.4: what the encoder knew at that time is gone. */
static void do_error(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item;

	if (src->state != NT_STATE_NEW)
		lose(src, NT_STATE_LOST);
	memset(&src->context, 0, sizeof(src->context));
	forget_blocks(flow, src);
	item = add_event(flow, src, NT_ITEM_LOST);
	item->lost.etype = flow->msg.code;
	item->lost.ecode = flow->msg.value;
}

static void do_other(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_item *item = add_event(flow, src, NT_ITEM_SKIPPED);

	item->skipped.tcode = flow->msg.tcode;
	item->skipped.length = flow->msg.length;
	flow->stats.skipped++;
}

/* Messages that tell of instructions */
#define BRANCH_TCODES							\
	(1ULL << NT_DIRECT_BRANCH | 1ULL << NT_INDIRECT_BRANCH |	\
	 1ULL << NT_PROG_TRACE_SYNC | 1ULL << NT_DIRECT_BRANCH_SYNC |	\
	 1ULL << NT_INDIRECT_BRANCH_SYNC | 1ULL << NT_RESOURCE_FULL |	\
	 1ULL << NT_INDIRECT_BRANCH_HIST |				\
	 1ULL << NT_INDIRECT_BRANCH_HIST_SYNC |				\
	 1ULL << NT_REPEAT_BRANCH | 1ULL << NT_PROG_TRACE_CORRELATION)

static void begin(struct nt_flow *flow)
{
	struct nt_source *src = flow->src;
	int err;

	flow->act = &flow->msg;
	flow->repeat = 0;
	switch (flow->msg.tcode) {
	case NT_OWNERSHIP:
		update_time(flow, src);
		do_ownership(flow, src);
		return;
	case NT_ERROR:
		update_time(flow, src);
		do_error(flow, src);
		return;
	}
	if (!(BRANCH_TCODES >> flow->msg.tcode & 1)) {
		do_other(flow, src);
		return;
	}
	if (src->state != NT_STATE_LIVE) {
		begin_lost(flow, src);
		return;
	}
	err = begin_live(flow, src);
	if (err)
		fail(flow, src, err);
}

/* ---- run ---- */

static int finish_act(struct nt_flow *flow, struct nt_source *src)
{
	switch (flow->act->tcode) {
	case NT_DIRECT_BRANCH:
		return finish_direct(flow, src);
	case NT_INDIRECT_BRANCH:
	case NT_INDIRECT_BRANCH_HIST:
		return finish_indirect(flow, src);
	case NT_PROG_TRACE_CORRELATION:
		return finish_correlation(flow, src);
	case NT_RESOURCE_FULL:
		return NT_OK;
	}
	return finish_sync(flow, src);
}

/* The walk is done. More to do for this message, or is it finished? */
static void finish(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_walk *walk = &flow->walk;
	int err;

	if (walk->hist_only && walk->again) {
		walk->again--;
		set_hist(walk, flow->act->hist);
		return;
	}
	walk->active = false;
	err = finish_act(flow, src);
	if (!err && flow->repeat)
		flow->repeat -= nt_fast_repeat(flow, src, flow->act, flow->repeat);
	if (!err && flow->repeat) {
		flow->repeat--;
		err = begin_walk(flow, src);
		if (!err)
			return;
	}
	if (err) {
		fail(flow, src, err);
		return;
	}
	if (nt_message_is_sync(&flow->msg) || flow->msg.tcode == NT_PROG_TRACE_CORRELATION)
		return;
	update_time(flow, src);
	add_mark(flow, src);
	if (flow->act == &flow->msg && flow->msg.tcode != NT_RESOURCE_FULL) {
		src->last = flow->msg;
		src->has_last = true;
		src->raw_length = 0;
	}
}

static struct nt_source *get_source(struct nt_flow *flow, uint32_t id)
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

/* Read the next message. 1: there is one; 0: there is none; NT_E_NOMEM */
static int read_message(struct nt_flow *flow)
{
	int ret;

	for (;;) {
		ret = nt_reader_next(&flow->reader, &flow->msg);
		if (!ret && flow->ending) {
			flow->ending = false;
			ret = nt_reader_end(&flow->reader, &flow->msg);
		}
		if (!ret)
			return 0;
		if (ret < 0) {
			fail_all(flow, ret);
			return 1;
		}
		flow->stats.messages++;
		flow->stats.by_tcode[flow->msg.tcode]++;
		if (flow->config.src_id != NT_SRC_ANY && flow->msg.src != flow->config.src_id)
			continue;
		flow->src = get_source(flow, flow->msg.src);
		if (!flow->src)
			return NT_E_NOMEM;
		flow->has_msg = true;
		return 1;
	}
}

static bool is_full(const struct nt_flow *flow)
{
	return flow->nr_events || flow->nr_ranges >= MAX_RANGES - SPARE_RANGES ||
	       flow->nr_marks >= MAX_MARKS - 1;
}

/* Suspended in the middle of a message: what it told so far */
static void add_open_mark(struct nt_flow *flow)
{
	struct nt_mark *mark;

	if (flow->nr_marks && flow->marks[flow->nr_marks - 1].range == flow->nr_ranges)
		return;
	mark = &flow->marks[flow->nr_marks++];
	mark->offset = flow->msg.offset;
	mark->tcode = flow->msg.tcode;
	mark->range = flow->nr_ranges;
	mark->tstamp = flow->src->tstamp;
	mark->tstamp_kind = flow->src->has_tstamp ? NT_TSTAMP_CARRIED : NT_TSTAMP_NONE;
}

/* A message of another source, or context, must not join ranges given out together. */
static bool must_wait(const struct nt_flow *flow)
{
	return flow->nr_ranges && flow->src != flow->batch_src;
}

static void begin_batch(struct nt_flow *flow)
{
	if (flow->nr_ranges || flow->nr_events)
		return;
	flow->batch_src = flow->src;
	flow->batch_context = flow->src->context;
	flow->batch_tstamp = flow->src->tstamp;
	flow->batch_has_tstamp = flow->src->has_tstamp;
}

/* Plain messages of the source at hand. Returns false if there is none. */
static bool run_fast(struct nt_flow *flow, bool single)
{
	struct nt_source *src = flow->src;

	if (!src || src->state != NT_STATE_LIVE || must_wait(flow))
		return false;
	if (update_space(flow, src))
		return false;
	begin_batch(flow);
	return nt_fast_run(flow, src, single);
}

bool nt_engine_run(struct nt_flow *flow, bool single, int *error)
{
	int ret;

	while (!is_full(flow)) {
		if (flow->walk.active) {
			begin_batch(flow);
			ret = nt_walk_run(flow, flow->src);
			if (ret < 0)
				fail(flow, flow->src, ret);
			else if (ret)
				finish(flow, flow->src);
			else
				add_open_mark(flow);
			continue;
		}
		if (single && flow->nr_ranges)
			return true;
		if (!flow->has_msg && run_fast(flow, single))
			continue;
		if (!flow->has_msg && flow->nr_ranges >= FAST_RANGES)
			return true;
		if (!flow->has_msg) {
			ret = read_message(flow);
			if (ret <= 0) {
				*error = ret;
				return false;
			}
			continue;
		}
		if (must_wait(flow))
			return true;
		begin_batch(flow);
		flow->has_msg = false;
		begin(flow);
	}
	return true;
}
