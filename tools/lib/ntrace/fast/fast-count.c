// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The fast path for ranges that are counted and not returned.
 *
 * If a group or path (see fast.c) was stored before, the code of this file counts one more use of
 * its record of steps (tally.h), instead of each of its ranges. If groups rarely repeat, only paths
 * are looked up. If the code is irregular, paths have fewer bits of HIST, because shorter paths
 * repeat more often.
 */
#include "fast.h"
#include "fast-group.h"
#include "fast-leave.h"

/*
 * Maximum number of bytes that one call of the fast path decodes. With this limit, the message
 * counters of struct run do not overflow, and fast-judge.c can often choose another strategy.
 */
#define RUN_SIZE	8192

/* Maximum number of entries of nt_memo::calls that are used if all paths of one message and one group are stored */
#define MESSAGE_CALLS	(TALLY_PATHS * (PATH_PUSHES + NT_NET_POPS) + GROUP_POPS + GROUP_PUSHES)

/*
 * Return true if there is room for all edges, blocks, records of steps and calls that one message
 * may add.
 */
static __always_inline bool count_has_room(struct run *run)
{
	if (!nt_tally_has_room(run->tally, &run->flow->code) ||
	    run->memo->nr_calls + MESSAGE_CALLS > NR_CALLS)
		return false;
	nt_tally_make_words(run->tally);
	return true;
}

/*
 * Decode the messages up to @end. Return false if one of them is not plain (see plain.h), or if
 * there is no room for its results.
 */
static __always_inline bool count_run_to(struct run *run, struct hot *hot, struct way way,
					 const uint8_t *end)
{
	const uint32_t *full = run->tally->log + TALLY_STEPS;

	while (hot->p < end) {
		if (*hot->p == IDLE_BYTE) {
			hot->p++;
			continue;
		}
		if (fast_steps(hot) > full || !count_has_room(run) ||
		    !fast_run_message(run, hot, way))
			return false;
	}
	return true;
}

/*
 * Decode the next group of messages. Return false if the next message is not a plain message
 * (plain.h), or if its results do not fit.
 */
static __always_inline bool count_next_group(struct run *run, struct hot *hot, struct way way)
{
	struct nt_tally *tally = run->tally;
	struct lookup lookup;
	enum looked_up found = fast_look_up(run, hot, way, &lookup);
	bool done;

	if (likely(found != LOOKUP_MISSED))
		return found;
	fast_set_steps(hot, tally->log);
	done = count_run_to(run, hot, way, hot->p + lookup.length);
	if (done && fast_group_keep(run, &lookup, *hot, way))
		return true;
	*fast_steps(hot) = hot->block << STEP_SHIFT;
	nt_tally_add_steps(tally, run->src->space, tally->log, fast_steps(hot) - tally->log, 1);
	return done;
}

/*
 * Decode the next message with stored paths, and store the paths that are missing. Return false if it is not a plain
 * message (plain.h), or if its results do not fit.
 */
static __always_inline bool count_next_message(struct run *run, struct hot *hot, struct way way)
{
	fast_set_steps(hot, run->tally->log);
	if (!count_has_room(run) || !fast_run_message(run, hot, way))
		return false;
	fast_log_count(run, hot);
	return true;
}

static __always_inline void count_run_all(struct run *run, struct hot hot, struct way way)
{
	const uint8_t *end = run->flow->reader.end - 2 * WINDOW;

	if (end - hot.p > RUN_SIZE)
		end = hot.p + RUN_SIZE;
	/*
	 * No group is used for a message whose I-CNT an earlier ResourceFull has partly reported.
	 * Decode only this message, so that the next call can use groups.
	 */
	if (way.log && run->memo->window)
		end = hot.p + 1;
	hot.top = way.returns ? nt_stack_top(run->src) : 0;
	while (hot.p < end) {
		if (unlikely(*hot.p == IDLE_BYTE))
			hot.p++;
		else if (way.log ? !count_next_message(run, &hot, way) :
			 !count_next_group(run, &hot, way))
			break;
	}
	fast_leave(run, &hot, true);
}

static __always_inline void count_run_way(struct run *run, struct hot hot, struct way way)
{
	way.counts = true;
	/*
	 * Use no groups after a ResourceFull that has reported a part of the next I-CNT, because
	 * the key of a group does not contain this part.
	 */
	if (run->memo->window && !run->src->owed) {
		count_run_all(run, hot, way);
		return;
	}
	way.log = true;
	count_run_all(run, hot, way);
}

static noinline void count_run_plain(struct run *run, struct hot hot)
{
	count_run_way(run, hot, (struct way){ .pext = true });
}

static noinline void count_run_times(struct run *run, struct hot hot)
{
	count_run_way(run, hot, (struct way){ .timestamp = true, .pext = true });
}

static noinline void count_run_returns(struct run *run, struct hot hot)
{
	count_run_way(run, hot, (struct way){
		.timestamp = run->flow->config.timestamp, .returns = true, .pext = true });
}

/* Handle uncommon cases, such as encoders that differ from N-Trace 1.0 (dialects), and processors without pext. */
static noinline void count_run_other(struct run *run, struct hot hot)
{
	bool explicit = run->src->return_mode == NT_RETURNS_EXPLICIT;

	count_run_way(run, hot, (struct way){
		.timestamp = run->flow->config.timestamp, .explicit = explicit,
		.returns = run->flow->config.return_depth && !explicit, .dialect = true });
}

static void count_run(struct run *run, struct hot hot)
{
	const struct nt_config *config = &run->flow->config;

	if (run->flow->is_odd || !fast_has_pext())
		count_run_other(run, hot);
	else if (config->return_depth)
		count_run_returns(run, hot);
	else if (config->timestamp)
		count_run_times(run, hot);
	else
		count_run_plain(run, hot);
}

/*
 * Make room for counts. Drop all records of steps before their numbers can overflow. Return false
 * if out of memory.
 */
static bool count_prepare(struct nt_flow *flow)
{
	struct nt_tally *tally = flow->tally;
	struct nt_memo *memo = tally->memo;

	if (nt_tally_reserve(tally, &flow->code))
		return false;
	if (memo->nr_ranges < LAST_RECORD && memo->nr_calls + 2 * MESSAGE_CALLS <= NR_CALLS)
		return true;
	if (nt_tally_flush(tally, &flow->code))
		return false;
	nt_tally_clear(tally);
	return !nt_tally_reserve(tally, &flow->code);
}

bool nt_fast_count(struct nt_flow *flow, struct nt_source *src)
{
	struct nt_reader *reader = &flow->reader;
	struct run run = {
		.flow = flow, .src = src, .tally = flow->tally, .memo = flow->tally->memo,
		.tstamp = nt_source_time(src), .tstamp_mask = -(uint64_t)src->has_tstamp,
		.start = group_start(0, src->id, src->mode == NT_MODE_HTM),
	};
	struct hot hot = {
		.p = reader->data, .ref = src->ref, .block = src->block, .walked = src->walked,
	};

	if (reader->end - reader->data < 2 * WINDOW || reader->nr_carry || reader->skip ||
	    src->mode == NT_MODE_AUTO)
		return false;
	/*
	 * It is not known yet whether this encoder reports returns. fast_learn_returns() finds this
	 * out from ranges, so emit ranges here, which are counted later.
	 */
	if (src->return_mode == NT_RETURNS_UNKNOWN && flow->dialect->counts_returns)
		return nt_fast_run(flow, src, false);
	if (nt_flow_count_ranges(flow) || !count_prepare(flow))
		return false;
	if (run.memo->messages >= run.memo->until)
		nt_judge_counts(run.memo);
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return false;
	count_run(&run, hot);
	return run.last;
}

uint64_t nt_fast_count_repeat(struct nt_flow *flow, struct nt_source *src,
			      const struct nt_message *msg, uint64_t n)
{
	struct run run = {
		.flow = flow, .src = src, .tally = flow->tally, .memo = flow->tally->memo,
	};
	struct hot hot = { .block = src->block, .top = nt_stack_top(src) };
	struct way way = { .returns = flow->config.return_depth, .counts = true, .log = true };
	uint32_t what = PATH_BTM | PATH_DIRECT | (uint32_t)msg->icnt;
	uint64_t done = 0, times;

	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block || nt_flow_count_ranges(flow))
		return 0;
	while (done < n && count_prepare(flow) && count_has_room(&run)) {
		const struct nt_path *path = fast_path_find(&run, &hot, way, what);

		if (!path || path->halfwords != msg->icnt || path->end != PATH_TAKEN)
			break;
		/*
		 * If a path ends at the block at which it begins, all repetitions use this path, so
		 * count all of them at once.
		 */
		times = path->next == hot.block && !path->effect.any ? n - done : 1;
		nt_tally_record(run.tally, path->ranges)->count += times;
		done += times;
		run.memo->undo.nr = 0;
		fast_set_steps(&hot, run.tally->log);
		fast_path_use(&run, &hot, way, path);
	}
	src->block = hot.block;
	src->pc = flow->code.blocks[hot.block].range.start;
	return done;
}
