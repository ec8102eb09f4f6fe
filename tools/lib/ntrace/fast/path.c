// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Walk a path for the first time, and store it.
 *
 * A path depends only on the code, on its key and on the top of the return stack. Therefore a path
 * ends at an indirect jump, unless that jump is a return whose call is known.
 */
#include "path.h"
#include "../step.h"
#include "../counts/tally.h"

struct path_walker {
	struct nt_flow		*flow;
	struct nt_source	*src;
	struct nt_path		path;
	uint32_t		return_depth;	/* entries of the return stack; 0 if all returns are reported */
	uint32_t		pushed[PATH_PUSHES];
	struct nt_todo		todo;		/* the part of HIST and I-CNT that the walk has not used yet */
	bool			final;		/* the path ends where I-CNT is used up, see PATH_FINAL */
	bool			btm;
	bool			direct;		/* the message is DirectBranch */
	struct nt_net		net;
	struct nt_range		ranges[PATH_RANGES];
	uint32_t		blocks[PATH_RANGES];	/* index of the block of each range */
};

static const struct nt_block *path_block(const struct path_walker *walker)
{
	return &walker->flow->code.blocks[walker->path.next];
}

static void path_put(struct path_walker *walker, unsigned int flags)
{
	struct nt_range *range = &walker->ranges[walker->path.nr_ranges];

	walker->blocks[walker->path.nr_ranges++] = walker->path.next;
	*range = path_block(walker)->range;
	range->flags = flags;
	walker->path.halfwords += range->halfwords;
}

/*
 * Continue right after block @index if @which is 0, or at the target of its branch or jump if
 * @which is 1. Return false if out of memory.
 */
static bool path_follow(struct path_walker *walker, uint32_t index, unsigned int which)
{
	struct nt_code *code = &walker->flow->code;
	const struct nt_block *block = &code->blocks[index];
	uint64_t pc = which ? block->target :
		nt_flow_mask(walker->flow, nt_range_end(&block->range));

	walker->path.next = nt_code_next(code, walker->src->space, index, which, pc);
	return walker->path.next;
}

/* If the current block ends with a call, push this call on the return stack. */
static void path_push(struct path_walker *walker)
{
	unsigned int end = path_block(walker)->range.how;

	if (!walker->return_depth ||
	    (end != NT_END_CALL && end != NT_END_INDIRECT_CALL))
		return;
	walker->pushed[nt_net_pushes(&walker->net)] = walker->path.next;
	nt_net_push(&walker->net);
}

/*
 * Return the block of the call to which the current return belongs. Return 0 if this call is not
 * known. Then the path must end with the return.
 */
static uint32_t path_pop(struct path_walker *walker)
{
	struct nt_net *net = &walker->net;
	uint32_t call = walker->path.top;

	if (nt_net_lost(net) >= walker->return_depth)
		return 0;
	if (nt_net_pushes(net))
		call = walker->pushed[nt_net_pushes(net) - 1];
	else if (!call || net->low)
		return 0;
	nt_net_pop(net, call);
	return call;
}

enum path_step { STEP_ON, STEP_END, STEP_FAIL };

/*
 * Step over a return. If HIST or I-CNT continues after the return, it is an implicit return, and
 * the return stack has its destination. Return enum path_step.
 */
static enum path_step path_step_return(struct path_walker *walker)
{
	uint32_t call = walker->todo.nr_bits || walker->todo.left > 0 ? path_pop(walker) : 0;

	if (!call) {
		walker->path.end = PATH_RETURN;
		return STEP_END;
	}
	walker->ranges[walker->path.nr_ranges - 1].flags |= NT_RANGE_INFERRED;
	return path_follow(walker, call, 0) ? STEP_ON : STEP_FAIL;
}

static enum path_step path_step_indirect(struct path_walker *walker)
{
	const struct nt_block *block = path_block(walker);
	bool is_return = nt_block_kind(block) == NT_KIND_RETURN;

	if (nt_step_is_sequential(walker->flow, block)) {
		if (is_return || nt_block_kind(block) == NT_KIND_SWAP)
			return STEP_FAIL;
		path_put(walker, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
		path_push(walker);
		return path_follow(walker, walker->path.next, 1) ? STEP_ON : STEP_FAIL;
	}
	path_put(walker, NT_RANGE_TAKEN);
	if (is_return)
		return path_step_return(walker);
	walker->path.end = PATH_JUMP;
	return STEP_END;
}

static enum path_step path_step(struct path_walker *walker)
{
	const struct nt_block *block = path_block(walker);
	unsigned int nr_bits = walker->todo.nr_bits;
	int step;

	/* If the key has only HIST, the path ends right after the last branch. */
	if (!walker->btm && !walker->final && !nr_bits)
		return STEP_END;
	walker->todo.left -= block->range.halfwords;
	step = nt_step_block(walker->flow, block, &walker->todo,
			     walker->btm ? NT_MODE_BTM : NT_MODE_HTM, false);
	if (step == NT_STEP_INDIRECT)
		return path_step_indirect(walker);
	if (step == NT_STEP_TAIL && walker->direct) {
		walker->path.end = PATH_TAKEN;
		step = NT_STEP_TAKE;
	}
	if (step < 0 || step == NT_STEP_TAIL)
		return STEP_FAIL;
	walker->path.nr_bits += nr_bits - walker->todo.nr_bits;
	path_put(walker, step ? NT_RANGE_TAKEN : 0);
	path_push(walker);
	if (!path_follow(walker, walker->path.next, step))
		return STEP_FAIL;
	return walker->path.end == PATH_TAKEN ? STEP_END : STEP_ON;
}

static void path_set_key(struct path_walker *walker, uint64_t key, uint32_t top)
{
	uint32_t what = key;

	walker->path.key = key;
	walker->path.next = key >> 32;
	walker->path.top = top;
	walker->return_depth = top == MEMO_TOP_EXPLICIT ? 0 : walker->flow->config.return_depth;
	nt_net_begin(&walker->net);
	walker->btm = what & PATH_BTM;
	if (walker->btm) {
		walker->direct = what & PATH_DIRECT;
		walker->todo.left = what & PATH_ICNT;
	} else {
		walker->final = what & PATH_FINAL;
		walker->todo.hist = what & (PATH_FINAL - 1);
		walker->todo.nr_bits = 63 - __builtin_clzll(walker->todo.hist);
		walker->todo.left = what >> PATH_LEFT_SHIFT;
	}
}

static const struct nt_path *path_keep(struct nt_memo *memo, struct path_walker *walker)
{
	struct nt_path *path = &walker->path;

	nt_memo_make_room(memo);
	if (walker->return_depth)
		nt_memo_calls(memo, &path->effect, &walker->net, walker->pushed);
	path->ranges = nt_memo_ranges(memo, walker->ranges, path->nr_ranges);
	return nt_memo_keep_path(memo, path);
}

/*
 * Do the same as path_keep(), but store the steps of the path as a record (tally.h) and not its
 * ranges.
 */
static const struct nt_path *path_keep_steps(struct nt_tally *tally, struct path_walker *walker)
{
	const struct nt_block *blocks = walker->flow->code.blocks;
	struct nt_path *path = &walker->path;
	uint32_t steps[PATH_RANGES];
	unsigned int i;

	if (walker->return_depth)
		nt_memo_calls(tally->memo, &path->effect, &walker->net, walker->pushed);
	for (i = 0; i < path->nr_ranges; i++)
		steps[i] = nt_step_of(blocks, walker->blocks[i], walker->ranges[i].flags);
	path->ranges = nt_tally_store(tally, walker->src->space, steps, path->nr_ranges,
				      path->end < PATH_JUMP ? path->next : 0, 0);
	return nt_memo_keep_path(tally->memo, path);
}

/* Walk the path of @key. Return false if the HIST or the I-CNT of @key does not fit the code. */
static bool path_walk(struct path_walker *walker, uint64_t key, uint32_t top)
{
	enum path_step ret;

	path_set_key(walker, key, top);
	do {
		ret = path_step(walker);
		if (ret == STEP_FAIL || (walker->btm && walker->todo.left < 0))
			return false;
	} while (ret == STEP_ON && walker->path.nr_ranges < PATH_RANGES &&
		 nt_net_pushes(&walker->net) < PATH_PUSHES);
	return true;
}

const struct nt_path *nt_path_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top)
{
	struct path_walker walker = { .flow = flow, .src = src };

	flow->memo->misses++;
	return path_walk(&walker, key, top) ? path_keep(flow->memo, &walker) : NULL;
}

const struct nt_path *nt_path_count(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				    uint32_t top)
{
	struct path_walker walker = { .flow = flow, .src = src };

	flow->tally->memo->misses++;
	return path_walk(&walker, key, top) ? path_keep_steps(flow->tally, &walker) : NULL;
}
