// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The fast path decodes plain messages, which are short branch messages with few fields (plain.h).
 *
 * engine.c decodes all other messages, and messages that do not fit the code. Because the fast path
 * changes no state before a message is decoded completely, engine.c can decode the message from its
 * first byte.
 *
 * Programs repeat themselves. Therefore the fast path stores results, and uses them again. A path
 * is the list of ranges from one block until a few bits of HIST, or the I-CNT, are used up
 * (fast-path.h). A group is the result of the next few messages (fast-group.h). In irregular code,
 * which rarely repeats, the fast path follows each block without storing anything (fast-block.h).
 * fast-judge.c measures which of the three is fastest.
 */
#include "fast.h"
#include "fast-group.h"
#include "fast-leave.h"

/* Decode the next message or group. Return false if the next message is not a plain message. */
static __always_inline bool fast_run_next(struct run *run, struct hot *hot, struct way way)
{
	struct nt_memo *memo = run->memo;
	const uint8_t *end = hot->p + 1;
	struct lookup lookup;

	lookup.group = NULL;
	if (!way.single && memo->window && !run->src->owed) {
		enum looked_up ret = fast_look_up(run, hot, way, &lookup);

		if (likely(ret != LOOKUP_MISSED))
			return ret;
		end = hot->p + lookup.length;
	}
	while (hot->p < end) {
		if (hot->out >= run->full)
			return false;
		if (*hot->p == IDLE_BYTE)
			hot->p++;
		else if (!fast_run_message(run, hot, way))
			return false;
	}
	if (lookup.group)
		fast_group_keep(run, &lookup, *hot, way);
	return true;
}

static __always_inline void fast_run_all(struct run *run, struct hot hot, struct way way)
{
	struct nt_flow *flow = run->flow;
	const uint8_t *end = flow->reader.end - 2 * WINDOW;
	bool marks = way.timestamp || way.single;

	hot.top = way.returns ? nt_stack_top(run->src) : 0;
	while (hot.p < end && hot.out < run->full) {
		if (unlikely(*hot.p == IDLE_BYTE)) {
			hot.p++;
			continue;
		}
		/*
		 * If fast_run_next() returns false, it may have decoded the first messages of a
		 * group, so @hot may have changed.
		 */
		if (way.by_blocks ? !fast_run_message(run, &hot, way) :
		    !fast_run_next(run, &hot, way))
			break;
		if (marks) {
			fast_put_mark(run, hot.out);
			if (way.single || flow->nr_marks >= MAX_MARKS - 2)
				break;
		}
	}
	fast_leave(run, &hot, false);
}

static noinline void fast_run_blocks(struct run *run, struct hot hot, struct way way)
{
	way.by_blocks = true;
	fast_run_all(run, hot, way);
}

static noinline void fast_run_returns(struct run *run, struct hot hot, struct way way)
{
	way.returns = true;
	way.pext = true;
	fast_run_all(run, hot, way);
}

/*
 * Look for an inferred return in the ranges from @range to the last range of the flow. If there is
 * one, the encoder does not report returns to known calls.
 */
static void fast_learn_returns(struct run *run, const struct nt_range *range)
{
	const struct nt_range *end = run->flow->ranges + run->flow->nr_ranges;

	for (; range < end; range++) {
		if (range->how == NT_END_RETURN && range->flags & NT_RANGE_INFERRED &&
		    !(range->reserved & NT_KIND_INFERABLE))
			run->src->return_mode = NT_RETURNS_IMPLICIT;
	}
}

/* Run the variant of the fast path that handles dialects. */
static noinline void fast_run_dialect(struct run *run, struct hot hot, struct way way)
{
	struct nt_source *src = run->src;
	const struct nt_range *first = hot.out;

	way.dialect = true;
	way.explicit = src->return_mode == NT_RETURNS_EXPLICIT;
	way.returns = way.returns && !way.explicit;
	fast_run_all(run, hot, way);
	if (src->return_mode == NT_RETURNS_UNKNOWN && run->flow->dialect->counts_returns)
		fast_learn_returns(run, first);
}

static void fast_run_plain(struct run *run, struct hot hot, bool single)
{
	struct way way = {
		.single = single, .timestamp = run->flow->config.timestamp,
		.returns = run->flow->config.return_depth, .pext = fast_has_pext(),
	};

	if (run->flow->is_odd)
		fast_run_dialect(run, hot, way);
	else if (run->memo->by_blocks && !single)
		fast_run_blocks(run, hot, way);
	else if (single || !way.pext)
		fast_run_all(run, hot, way);
	else if (way.returns)
		fast_run_returns(run, hot, way);
	else if (way.timestamp)
		fast_run_all(run, hot, (struct way){ .timestamp = true, .pext = true });
	else
		fast_run_all(run, hot, (struct way){ .pext = true });
}

void nt_fast_last(const struct nt_flow *flow, struct nt_source *src)
{
	struct nt_message msg;

	if (!src->raw_length)
		return;
	src->has_last = nt_message_parse(&flow->config, src->raw, src->raw_length, &msg) == 1 &&
		msg.tcode != NT_TCODE_RESOURCE_FULL;
	src->last = msg;
	src->raw_length = 0;
}

static struct nt_memo *fast_memo(struct nt_flow *flow)
{
	if (!flow->memo)
		flow->memo = nt_memo_new();
	return flow->memo;
}

/* Return true if nt_fast_repeat() can repeat the message with paths. */
static bool fast_can_repeat(const struct nt_flow *flow, const struct nt_source *src,
			    const struct nt_message *msg)
{
	return flow->config.return_full != NT_RETURN_DROP_NEWEST && src->mode == NT_MODE_BTM &&
		msg->tcode == NT_TCODE_DIRECT_BRANCH && msg->icnt <= PATH_ICNT;
}

uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n)
{
	const struct nt_range *last = flow->ranges + MAX_RANGES - PATH_RANGES;
	struct run run = { .flow = flow, .src = src };
	struct hot hot = {
		.out = flow->ranges + flow->nr_ranges, .block = src->block,
		.top = nt_stack_top(src),
	};
	struct way way = { .returns = flow->config.return_depth };
	uint32_t what = PATH_BTM | PATH_DIRECT | (uint32_t)msg->icnt;
	uint64_t done = 0;

	if (!fast_can_repeat(flow, src, msg))
		return 0;
	if (flow->counting)
		return nt_fast_count_repeat(flow, src, msg, n);
	run.memo = fast_memo(flow);
	if (!run.memo)
		return 0;
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return 0;
	while (done < n && hot.out <= last) {
		const struct nt_path *path = fast_path_find(&run, &hot, way, what);

		if (!path || path->halfwords != msg->icnt || path->end != PATH_TAKEN)
			break;
		/*
		 * A path pushes at most PATH_PUSHES calls, so the undo log (stack.h) cannot
		 * overflow.
		 */
		run.memo->undo.nr = 0;
		fast_path_use(&run, &hot, way, path);
		done++;
	}
	src->block = hot.block;
	src->pc = flow->code.blocks[hot.block].range.start;
	flow->nr_ranges = hot.out - flow->ranges;
	return done;
}

bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single)
{
	struct nt_reader *reader = &flow->reader;
	struct run run = {
		.flow = flow, .src = src, .full = flow->ranges + FAST_RANGES,
		.tstamp = nt_source_time(src), .tstamp_mask = -(uint64_t)src->has_tstamp,
		.tstamp_kinds = { nt_tstamp_kind(src, false), nt_tstamp_kind(src, true) },
		.start = group_start(0, src->id, src->mode == NT_MODE_HTM),
	};
	struct hot hot = {
		.p = reader->data, .out = flow->ranges + flow->nr_ranges,
		.ref = src->ref, .block = src->block, .walked = src->walked,
	};

	if (reader->end - reader->data < 2 * WINDOW || reader->nr_carry || reader->skip ||
	    src->state != NT_STATE_LIVE || src->mode == NT_MODE_AUTO ||
	    flow->nr_ranges >= FAST_RANGES)
		return false;
	run.memo = fast_memo(flow);
	if (!run.memo)
		return false;
	if (run.memo->messages >= run.memo->until)
		nt_judge(run.memo, &flow->config);
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return false;
	fast_run_plain(&run, hot, single);
	return run.last;
}
