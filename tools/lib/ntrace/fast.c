// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The plain case, fast: branch messages, one after the other, through code that
 * is decoded already.
 *
 * Whatever is not plain (a message of another type, anything that does not fit) is
 * left to engine.c, which begins that message anew: the functions here change
 * nothing before a message is decoded completely.
 *
 * Programs do the same over and over, so that ways are remembered, twice:
 *
 * - the path from a block on, as the next bits of HIST or the I-CNT say (memo.c);
 * - the messages in the next bytes together: where they start, and what they lead to.
 *   It is sound, as its key is all that the ranges depend on: the bytes up to the
 *   timestamp, trace mode, block, address reference, what HIST alone has walked, and the
 *   entries of the return stack that they use.
 *
 * Where the way is another each time, both only cost: then it goes from block to block.
 *
 * Functions on the way are inlined, so that the compiler keeps struct hot in registers.
 */
#include "memo.h"
#include "plain.h"

/* Longest run of ranges that one message may lead to, here */
#define MAX_RUN		(FAST_SPARE - 2 * GROUP_RANGES)

/* Messages, at least, after which it is judged whether it pays to look them up */
#define SAMPLE		6144
/* ... or whether there is no hope that it does */
#define SHORT_SAMPLE	2048
/* ... and for how many it then is not, if not */
#define PAUSE		65536
/* ... or, if nothing pays, up to this many times double */
#define MAX_PATIENCE	4

/* What changes with each message */
struct hot {
	const uint8_t		*p;
	uint64_t		walked;
	struct nt_range		*out;
	uint64_t		ref;
	uint32_t		block;
	uint32_t		top;		/* of the return stack, a call; 0: not known */
};

/* How messages are decoded: what is constant makes a copy of the code */
struct way {
	bool	single;		/* one message only */
	bool	timestamp;
	bool	returns;	/* with a return stack */
	bool	pext;
	bool	by_blocks;
};

/* How high the return stack was since messages are looked up; 0: as at their begin */
struct heights {
	int		now;
	int		low;
	int		peak;			/* behind a call */
	uint32_t	popped[GROUP_POPS];	/* from the top on, down to @low */
};

#define NO_PEAK		(-1000)
/* Something was popped that is not known, or nothing, as it was empty. */
#define EMPTY_LOW	(-1000)

struct run {
	struct nt_flow		*flow;
	struct nt_source	*src;
	struct nt_memo		*memo;
	struct nt_range		*full;		/* a message begins in front of it */
	uint64_t		tstamp;
	bool			has_tstamp;	/* the last message had one */
	uint64_t		counts;
	const uint8_t		*last;		/* last message; NULL: none yet */
	uint32_t		mode;		/* of the source, where groups have it */
	struct heights		heights;
};

/* A counter of 16 bits for each of their types, in one number */
static __always_inline uint64_t count_of(unsigned int tcode)
{
	switch (tcode) {
	case NT_DIRECT_BRANCH:
		return 1;
	case NT_INDIRECT_BRANCH:
		return 1 << 16;
	case NT_INDIRECT_BRANCH_HIST:
		return 1ULL << 32;
	}
	return 1ULL << 48;
}

/* All of them together, as long as they are less than 1 << 16 */
static __always_inline unsigned int nr_counted(uint64_t counts)
{
	return counts * 0x0001000100010001ULL >> 48;
}

/* ... of 4 bits, for those of a group */
static __always_inline uint64_t unpack_counts(uint64_t packed)
{
	return (packed & 0xf) | (packed & 0xf0) << 12 | (packed & 0xf00) << 24 |
		(packed & 0xf000) << 36;
}

static __always_inline uint16_t pack_counts(uint64_t counts)
{
	return (counts & 0xf) | (counts >> 12 & 0xf0) | (counts >> 24 & 0xf00) |
		(counts >> 36 & 0xf000);
}

/* ---- return stack ---- */

static __always_inline uint32_t get_top(const struct nt_source *src)
{
	return src->depth ? src->returns[src->top].call : 0;
}

static __always_inline void drop_return(struct run *run, struct hot *hot)
{
	struct nt_source *src = run->src;
	struct heights *heights = &run->heights;

	if (--heights->now < heights->low) {
		heights->low = heights->now;
		if (likely(heights->now >= -GROUP_POPS))
			heights->popped[-1 - heights->now] = hot->top;
	}
	src->top = nt_return_below(src->top, run->flow->config.return_depth);
	src->depth--;
	hot->top = get_top(src);
}

/* Where the return on top of the stack leads to, a block. 0: it is empty */
static __always_inline uint32_t fast_pop(struct run *run, struct hot *hot)
{
	struct nt_source *src = run->src;
	struct nt_code *code = &run->flow->code;
	const struct nt_return *ret = &src->returns[src->top];
	uint32_t link;

	if (unlikely(!src->depth))
		return 0;
	drop_return(run, hot);
	link = code->blocks[ret->call].link[0];
	if (likely(code->blocks[link].range.start == ret->pc && link))
		return link;
	link = nt_code_find(code, src->space, ret->pc);
	if (ret->call)
		code->blocks[ret->call].link[0] = link;
	return link;
}

/* @call's end is a call. False: it could not be undone any more. */
static __always_inline bool fast_push(struct run *run, struct hot *hot, uint32_t call)
{
	struct nt_source *src = run->src;
	struct nt_memo *memo = run->memo;
	struct nt_return *ret;

	if (unlikely(memo->nr_undo == MAX_UNDO))
		return false;
	src->top = src->top + 1 < run->flow->config.return_depth ? src->top + 1 : 0;
	ret = &src->returns[src->top];
	memo->undo[memo->nr_undo].slot = src->top;
	memo->undo[memo->nr_undo++].value = *ret;
	ret->pc = nt_flow_mask(run->flow, nt_range_end(&run->flow->code.blocks[call].range));
	ret->call = call;
	hot->top = call;
	if (++run->heights.now > run->heights.peak)
		run->heights.peak = run->heights.now;
	if (src->depth < run->flow->config.return_depth)
		src->depth++;
	return true;
}

/* The stack actions of a jump that was told (table "4-bit itype values") */
static __always_inline bool told_stack(struct run *run, struct hot *hot, unsigned int end)
{
	if (end == NT_END_RETURN || end == NT_END_SWAP) {
		if (likely(run->src->depth))
			drop_return(run, hot);
		else
			run->heights.low = EMPTY_LOW;
	}
	return (end != NT_END_INDIRECT_CALL && end != NT_END_SWAP) ||
		fast_push(run, hot, hot->block);
}

static void undo(struct run *run, uint32_t top, uint32_t depth)
{
	struct nt_source *src = run->src;
	struct nt_memo *memo = run->memo;

	while (memo->nr_undo) {
		memo->nr_undo--;
		src->returns[memo->undo[memo->nr_undo].slot] = memo->undo[memo->nr_undo].value;
	}
	src->top = top;
	src->depth = depth;
}

/* ---- walk ---- */

/* The top of the return stack, as keys have it */
static __always_inline uint32_t key_top(const struct hot *hot, struct way way)
{
	return way.returns ? hot->top : 0;
}

static __always_inline const struct nt_path *find_path(struct run *run,
						       const struct hot *hot,
						       struct way way, uint32_t what)
{
	uint64_t key = path_key(hot->block, what);
	uint32_t top = key_top(hot, way);
	const struct nt_path *path = path_slot(run->memo, key, top);

	if (likely(is_path(run->memo, path, key, top)))
		return path;
	path = path_other(run->memo, path);
	if (likely(is_path(run->memo, path, key, top)))
		return path;
	return nt_memo_walk(run->flow, run->src, key, top);
}

static __always_inline void put_eight(struct nt_range *out, const struct nt_range *ranges)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < 8; i++)
		out[i] = ranges[i];
}

/*
 * Copy @nr ranges, @max at most, eight at a time, of which there is room for the last ones,
 * too. Not memcpy(), of which gcc makes "rep movs".
 */
static __always_inline void put_ranges(struct nt_range *out, const struct nt_range *ranges,
				       unsigned int nr, unsigned int max)
{
	unsigned int i;

	put_eight(out, ranges);
	if (likely(nr <= 8))
		return;
	put_eight(out + 8, ranges + 8);
	if (max > 16) {
		for (i = 16; i < nr; i += 8)
			put_eight(out + i, ranges + i);
	}
}

/* What has become of the return stack. False: it could not be undone any more. */
static __always_inline bool use_effect(struct run *run, struct hot *hot,
				       const struct nt_effect *effect)
{
	struct nt_source *src = run->src;
	uint32_t most = run->flow->config.return_depth - effect->drop;
	const uint32_t *calls = &run->memo->calls[effect->calls];
	unsigned int i;

	for (i = 0; i < effect->nr_pops; i++)
		drop_return(run, hot);
	calls += nr_below(effect);
	for (i = 0; i < effect->nr_pushes; i++) {
		if (!fast_push(run, hot, calls[i]))
			return false;
	}
	if (effect->drop && run->heights.now + effect->drop > run->heights.peak)
		run->heights.peak = run->heights.now + effect->drop;
	if (src->depth > most) {
		src->depth = most;
		hot->top = get_top(src);
	}
	return true;
}

/* Go along @path. False: too many calls */
static __always_inline bool use_path(struct run *run, struct hot *hot, struct way way,
				     const struct nt_path *path)
{
	put_ranges(hot->out, ranges_of(run->memo, path->ranges), path->nr_ranges,
		   PATH_RANGES);
	hot->out += path->nr_ranges;
	hot->block = path->next;
	return !way.returns || !path->effect.any || use_effect(run, hot, &path->effect);
}

/* The jump at the end of a path is a return, to where the stack says. */
static __always_inline bool implicit_return(struct run *run, struct hot *hot,
					    struct way way, const struct nt_path *path)
{
	if (!way.returns || path->end != PATH_RETURN)
		return false;
	hot->out[-1].flags = NT_RANGE_TAKEN | NT_RANGE_INFERRED;
	hot->block = fast_pop(run, hot);
	return hot->block;
}

/*
 * Through HIST of @nr_bits and I-CNT of @left: the last range is a jump that the message
 * tells. Or through HIST alone (@hist_only), up to behind its last branch. False: HIST or
 * I-CNT do not fit the code.
 */
static __always_inline bool walk_htm(struct run *run, struct hot *hot, struct way way,
				     uint64_t hist, unsigned int nr_bits, int64_t left,
				     bool hist_only)
{
	const struct nt_range *end = hot->out + MAX_RUN;

	/* the next bit is the highest one */
	hist <<= 63 - nr_bits;
	hist <<= 1;
	while (hot->out < end) {
		unsigned int n = nr_bits < PATH_BITS ? nr_bits : PATH_BITS;
		uint32_t what = 1u << n | (uint32_t)(hist >> 1 >> (63 - n));
		const struct nt_path *path;

		if (!hist_only && nr_bits <= PATH_BITS) {
			what |= PATH_FINAL;
			if (way.returns) {
				if (unlikely(left > PATH_LEFT_MAX))
					return false;
				what |= (uint32_t)left << PATH_LEFT_SHIFT;
			}
		}
		path = find_path(run, hot, way, what);
		if (unlikely(!path || !use_path(run, hot, way, path)))
			return false;
		left -= path->halfwords;
		hist <<= path->nr_bits;
		nr_bits -= path->nr_bits;
		if (hist_only && !nr_bits && path->end == PATH_GOES_ON) {
			hot->walked += INT64_MAX - left;
			return true;
		}
		if (left <= 0) {
			hot->walked = 0;
			return !left && !nr_bits && path->end >= PATH_JUMP;
		}
		if (path->end >= PATH_JUMP && !implicit_return(run, hot, way, path))
			return false;
	}
	return false;
}

/*
 * The same without HIST: branches are not taken, but for one at the very end,
 * of which DirectBranch (@direct) tells.
 */
static __always_inline bool walk_btm(struct run *run, struct hot *hot, struct way way,
				     int64_t left, bool direct)
{
	const struct nt_range *end = hot->out + MAX_RUN;

	while (hot->out < end) {
		uint32_t what = PATH_BTM | (direct ? PATH_DIRECT : 0) | (uint32_t)left;
		const struct nt_path *path = find_path(run, hot, way, what);

		if (unlikely(!path || !use_path(run, hot, way, path)))
			return false;
		left -= path->halfwords;
		if (left <= 0)
			return !left && (direct ? path->end == PATH_TAKEN :
					 path->end >= PATH_JUMP);
		if (path->end >= PATH_JUMP && !implicit_return(run, hot, way, path))
			return false;
	}
	return false;
}

/* ---- walk without paths ---- */

/* What was not walked yet of a message */
struct steps {
	uint64_t	hist;		/* the next bit is the highest one */
	int		nr_bits;	/* of it; negative: there were not enough */
	int64_t		left;		/* of I-CNT */
};

enum walk_by {
	WALK_BY_BOTH,	/* HIST and I-CNT, up to a jump that the message tells */
	WALK_BY_HIST,	/* up to behind the last branch */
	WALK_BY_ICNT,	/* BTM */
};

/* What is behind the block, or at its target, was not needed before. 0: out of memory */
static noinline uint32_t link_block(struct run *run, uint32_t index, unsigned int which)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[index];
	uint64_t pc = which ? block->target :
		nt_flow_mask(run->flow, nt_range_end(&block->range));
	uint32_t link = nt_code_find(code, run->src->space, pc);

	code->blocks[index].link[which] = link;
	return link;
}

/*
 * Past a block of @kind that a direct jump may be at the end of, or a branch. Which way
 * that goes is calculated, as nobody could foresee it.
 */
static __always_inline bool step_block(struct run *run, struct hot *hot, struct way way,
				       struct steps *steps, unsigned int kind,
				       enum walk_by by)
{
	const struct nt_block *block = &run->flow->code.blocks[hot->block];
	bool branch = kind == NT_KIND_BRANCH;
	/* NT_RANGE_TAKEN, of jumps already: 0 or 1 as the links are */
	unsigned int taken = block->range.flags;
	uint32_t next;

	if (by == WALK_BY_ICNT) {
		taken |= branch & (steps->left == block->range.halfwords);
	} else {
		taken |= branch & steps->hist >> 63;
		steps->hist <<= branch;
		steps->nr_bits -= branch;
	}
	steps->left -= block->range.halfwords;
	*hot->out = block->range;
	hot->out++->flags = taken;
	next = block->link[taken];
	if (kind == NT_KIND_CALL && way.returns && !fast_push(run, hot, hot->block))
		return false;
	if (unlikely(!next))
		next = link_block(run, hot->block, taken);
	hot->block = next;
	return next;
}

/* Past block @hot->block with a jump that is not direct, but inferred. False: it cannot be. */
static __always_inline bool step_inferred(struct run *run, struct hot *hot, struct way way,
					  struct steps *steps)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[hot->block];
	unsigned int kind = nt_block_kind(block);

	*hot->out = block->range;
	hot->out++->flags = NT_RANGE_TAKEN | NT_RANGE_INFERRED;
	steps->left -= block->range.halfwords;
	if (run->flow->config.sequential_jump && block->range.internal & NT_KIND_INFERABLE) {
		uint64_t dest = block->target;

		if (way.returns && !told_stack(run, hot, block->range.end))
			return false;
		hot->block = nt_code_find(code, run->src->space, dest);
	} else {
		hot->block = way.returns && kind == NT_KIND_RETURN ? fast_pop(run, hot) : 0;
	}
	return hot->block;
}

/* The walk ended right behind a branch or direct jump. */
static __always_inline bool is_taken_branch(const struct nt_range *range)
{
	return range->end == NT_END_BRANCH && range->flags & NT_RANGE_TAKEN;
}

/* As walk_htm(), or as walk_btm() for WALK_BY_ICNT */
static __always_inline bool walk_blocks(struct run *run, struct hot *hot, struct way way,
					uint64_t hist, int64_t left, bool direct,
					enum walk_by by)
{
	unsigned int nr_bits = 63 - __builtin_clzll(hist);
	const struct nt_range *end = hot->out + MAX_RUN;
	struct steps steps = {
		.hist = hist << (63 - nr_bits) << 1, .nr_bits = nr_bits, .left = left,
	};

	while (hot->out < end) {
		const struct nt_block *block = &run->flow->code.blocks[hot->block];
		unsigned int kind = nt_block_kind(block);

		if (kind <= NT_KIND_CALL) {
			if (!step_block(run, hot, way, &steps, kind, by))
				return false;
			if (by == WALK_BY_HIST && !steps.nr_bits) {
				hot->walked += INT64_MAX - steps.left;
				return true;
			}
			if (by == WALK_BY_ICNT && steps.left <= 0)
				return !steps.left && direct && is_taken_branch(hot->out - 1);
		} else if (!steps.nr_bits && steps.left == block->range.halfwords) {
			*hot->out = block->range;
			hot->out++->flags = NT_RANGE_TAKEN;
			if (by == WALK_BY_BOTH)
				hot->walked = 0;
			return kind < NT_KIND_INVALID && !direct;
		} else if (steps.nr_bits < 0 || steps.left <= 0 ||
			   !step_inferred(run, hot, way, &steps)) {
			return false;
		}
	}
	return false;
}

/* The indirect jump at the end, to where U-ADDR says */
static __always_inline bool end_indirect(struct run *run, struct hot *hot, struct way way,
					 uint64_t addr)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[hot->block];
	uint64_t dest = nt_flow_mask(run->flow, hot->ref ^ addr);
	uint32_t link = block->link[1];

	if (unlikely(block->range.internal & NT_KIND_INFERABLE && block->target != dest))
		return false;
	if (way.returns && !told_stack(run, hot, block->range.end))
		return false;
	hot->ref = dest;
	if (unlikely(code->blocks[link].range.start != dest || !link)) {
		link = nt_code_find(code, run->src->space, dest);
		code->blocks[hot->block].link[1] = link;
	}
	hot->block = link;
	return link;
}

static __always_inline bool go_htm(struct run *run, struct hot *hot, struct way way,
				   const struct plain *msg, int64_t left)
{
	unsigned int nr_bits = 63 - __builtin_clzll(msg->hist);
	bool hist_only = msg->tcode == NT_RESOURCE_FULL;

	if (!way.by_blocks)
		return walk_htm(run, hot, way, msg->hist, nr_bits, left, hist_only);
	return hist_only ? walk_blocks(run, hot, way, msg->hist, left, false, WALK_BY_HIST) :
		walk_blocks(run, hot, way, msg->hist, left, false, WALK_BY_BOTH);
}

static __always_inline bool go_btm(struct run *run, struct hot *hot, struct way way,
				   int64_t left, bool direct)
{
	return way.by_blocks ? walk_blocks(run, hot, way, 1, left, direct, WALK_BY_ICNT) :
		walk_btm(run, hot, way, left, direct);
}

/* One message. False: it is not plain, and something may have changed. */
static __always_inline bool walk_plain(struct run *run, struct hot *hot, struct way way,
				       const struct plain *msg)
{
	unsigned int mode = run->src->mode;
	uint64_t total = run->src->owed + msg->icnt;
	bool hist_only = msg->tcode == NT_RESOURCE_FULL;
	bool direct = msg->tcode == NT_DIRECT_BRANCH;

	if (hist_only ? msg->hist == 1 : total <= hot->walked)
		return false;
	if (mode == NT_MODE_HTM) {
		int64_t left = hist_only ? INT64_MAX : (int64_t)(total - hot->walked);

		if (direct || !go_htm(run, hot, way, msg, left))
			return false;
	} else {
		/* a message with HIST, empty or not, is of the other mode */
		if (mode != NT_MODE_BTM || hist_only || total > PATH_ICNT ||
		    msg->tcode == NT_INDIRECT_BRANCH_HIST ||
		    !go_btm(run, hot, way, total, direct))
			return false;
	}
	return hist_only || direct || end_indirect(run, hot, way, msg->addr);
}

/* One message. False: engine.c is to do it; all is as it was before. */
static __always_inline bool run_message(struct run *run, struct hot *hot, struct way way)
{
	uint32_t top = run->src->top, depth = run->src->depth;
	struct hot before = *hot;
	struct plain msg = { .addr = 0 };

	if (!parse_plain(&run->flow->config, hot->p, find_ends(hot->p), run->src->id,
			 way.pext, &msg))
		return false;
	run->memo->nr_undo = 0;
	if (unlikely(!walk_plain(run, hot, way, &msg))) {
		undo(run, top, depth);
		*hot = before;
		return false;
	}
	if (msg.tcode != NT_RESOURCE_FULL)
		run->src->owed = 0;
	run->last = hot->p;
	run->counts += count_of(msg.tcode);
	run->has_tstamp = msg.has_tstamp;
	run->tstamp += msg.tstamp;
	hot->p += msg.length;
	return true;
}

/* ---- groups of messages ---- */

static __always_inline struct nt_group *group_slot(struct nt_memo *memo, const uint64_t *key,
						   const struct hot *hot, struct way way)
{
	/* not 32: block and top were one load then, which waits for the stores of both */
	uint64_t top = (uint64_t)key_top(hot, way) << 28;
	uint64_t h = (key[0] ^ (uint64_t)hot->block << 24) * 0x9e3779b97f4a7c15ULL;

	h ^= (key[1] ^ hot->block ^ top) * 0xc2b2ae3d27d4eb4fULL;
	return &memo->groups[h >> (64 - GROUPS_SHIFT)];
}

static __always_inline bool group_matches(const struct run *run, const struct nt_group *group,
					  const struct hot *hot, struct way way,
					  const uint64_t *key)
{
	return are_ranges_there(run->memo, group->ranges) &&
		!((group->key[0] ^ key[0]) | (group->key[1] ^ key[1]) |
		  (group->ref ^ hot->ref) | (group->start ^ (run->mode | hot->block)) |
		  (group->top ^ key_top(hot, way)) | (group->walked ^ hot->walked));
}

/* What the group pops below the top of the return stack, which is in its key, is there. */
static __always_inline bool stack_matches(const struct run *run, const struct nt_effect *effect)
{
	const struct nt_source *src = run->src;
	const uint32_t *calls = &run->memo->calls[effect->calls];
	uint32_t slot = src->top;
	unsigned int i;

	if (effect->nr_pops > src->depth)
		return false;
	for (i = 0; i < nr_below(effect); i++) {
		slot = nt_return_below(slot, run->flow->config.return_depth);
		if (src->returns[slot].call != calls[i])
			return false;
	}
	return true;
}

/* Long ones are kept when they come again; of one that came once there is no block. */
static bool came_before(const struct nt_group *group, const uint64_t *key)
{
	return !group->start && group->key[0] == key[0] && group->key[1] == key[1];
}

static __always_inline void use_group(struct run *run, struct hot *hot, struct way way,
				      const struct nt_group *group)
{
	put_ranges(hot->out, ranges_of(run->memo, group->ranges), group->nr_ranges,
		   GROUP_RANGES);
	hot->out += group->nr_ranges;
	hot->block = group->next;
	hot->ref = group->next_ref;
	hot->walked = group->next_walked;
	run->counts += unpack_counts(group->counts);
	run->last = hot->p + group->last;
	if (way.returns && group->effect.any) {
		run->memo->nr_undo = 0;
		use_effect(run, hot, &group->effect);
	}
}

/* One or more messages that are looked up together */
struct lookup {
	struct nt_group	*group;
	uint64_t	key[2];
	struct hot	was;
	uint64_t	counts;
	unsigned int	length;
};

enum looked_up { LOOKUP_NOT_PLAIN, LOOKUP_FOUND, LOOKUP_MISSED };

/* What has become of the return stack: @effect, @pushed. False: that is too much to remember */
static bool get_effect(const struct run *run, struct nt_effect *effect, uint32_t *pushed)
{
	const struct heights *heights = &run->heights;
	const struct nt_source *src = run->src;
	int depth = run->flow->config.return_depth;
	int nr = heights->now - heights->low;
	uint32_t slot = src->top;
	int i;

	if (nr > GROUP_PUSHES || heights->low < -GROUP_POPS ||
	    heights->peak - heights->low >= depth)
		return false;
	for (i = 0; i < -heights->low; i++) {
		if (!heights->popped[i])
			return false;
	}
	effect->nr_pops = -heights->low;
	effect->nr_pushes = nr;
	while (nr--) {
		pushed[nr] = src->returns[slot].call;
		slot = nt_return_below(slot, depth);
	}
	if (heights->peak > heights->now)
		effect->drop = heights->peak - heights->now;
	return true;
}

/* What they lead to was found out: up to @now. */
static void keep_group(struct run *run, const struct lookup *lookup, struct hot now)
{
	struct nt_effect effect = { .any = false };
	uint32_t pushed[GROUP_PUSHES];
	struct nt_memo *memo = run->memo;
	const struct hot *was = &lookup->was;
	unsigned int nr = now.out - was->out;
	uint32_t ranges;

	memo->missed += nr_counted(run->counts - lookup->counts);
	if (nr > GROUP_RANGES || was->walked > UINT16_MAX || now.walked > UINT16_MAX ||
	    (run->flow->config.return_depth && !get_effect(run, &effect, pushed)))
		return;
	if (nr > PATH_RANGES && !came_before(lookup->group, lookup->key)) {
		lookup->group->start = 0;
		lookup->group->key[0] = lookup->key[0];
		lookup->group->key[1] = lookup->key[1];
		return;
	}
	nt_memo_make_room(memo);
	nt_memo_calls(memo, &effect, run->heights.popped + 1, pushed);
	ranges = nt_memo_ranges(memo, was->out, nr);
	*lookup->group = (struct nt_group){
		.key = { lookup->key[0], lookup->key[1] }, .ref = was->ref,
		.next_ref = now.ref, .counts = pack_counts(run->counts - lookup->counts),
		.start = run->mode | was->block, .next = now.block, .top = was->top,
		.walked = was->walked, .next_walked = now.walked, .effect = effect,
		.ranges = ranges, .nr_ranges = nr, .last = run->last - was->p,
	};
}

/* Bytes of the messages that are looked up together; 0: none ends in the window */
static __always_inline unsigned int group_length(struct ends ends, unsigned int window)
{
	unsigned int end = ends.field & ends.high;
	unsigned int in = end & ((1u << window) - 1);

	if (likely(in))
		return 32 - __builtin_clz(in);
	return end ? __builtin_ctz(end) + 1 : 0;
}

/* The timestamp of a message: *body is where it begins. False: the message is not plain. */
static __always_inline bool split_timestamp(const uint8_t *p, struct ends ends, bool pext,
					    unsigned int *length, unsigned int *body,
					    uint64_t *tstamp)
{
	unsigned int end = ends.field & ends.high;
	unsigned int nr = nr_vars[p[0] >> 2];
	unsigned int fields;

	if (unlikely(!end || !nr))
		return false;
	*length = __builtin_ctz(end) + 1;
	fields = ends.field & ((2u << (*length - 1)) - 1);
	if ((ends.high & ~ends.field) & ((2u << (*length - 1)) - 1))
		return false;
	while (--nr)
		fields &= fields - 1;
	if (!fields)
		return false;
	*body = __builtin_ctz(fields) + 1;
	*tstamp = 0;
	if (*body == *length)
		return true;
	fields &= fields - 1;
	if (fields & (fields - 1) || *length - *body > 8)
		return false;
	*tstamp = gather(first_bytes(p + *body, *length - *body), pext);
	return true;
}

/*
 * Look up what the messages at hand lead to; with timestamps one, all but that. *lookup is
 * for what is not found.
 */
static __always_inline enum looked_up look_up(struct run *run, struct hot *hot, struct way way,
					      struct lookup *lookup)
{
	struct ends ends = find_ends(hot->p);
	unsigned int body, length;
	uint64_t tstamp = 0;
	struct nt_group *group;
	uint64_t key[2];

	if (way.timestamp) {
		if (!split_timestamp(hot->p, ends, way.pext, &length, &body, &tstamp))
			return LOOKUP_NOT_PLAIN;
	} else {
		body = group_length(ends, run->memo->window);
		length = body;
		if (unlikely(!body))
			return LOOKUP_NOT_PLAIN;
	}
	key[0] = first_bytes(hot->p, body);
	key[1] = first_bytes(hot->p + 8, body > 8 ? body - 8 : 0);
	group = group_slot(run->memo, key, hot, way);
	if (unlikely(!group_matches(run, group, hot, way, key) ||
		     (way.returns && !stack_matches(run, &group->effect)))) {
		*lookup = (struct lookup){
			.group = group, .key = { key[0], key[1] }, .was = *hot,
			.counts = run->counts, .length = length,
		};
		run->heights = (struct heights){ .peak = NO_PEAK };
		return LOOKUP_MISSED;
	}
	use_group(run, hot, way, group);
	hot->p += length;
	run->has_tstamp = length != body;
	run->tstamp += tstamp;
	return LOOKUP_FOUND;
}

/* ---- run ---- */

/* The next message, or messages. False: they are not plain. */
static __always_inline bool run_next(struct run *run, struct hot *hot, struct way way)
{
	struct nt_memo *memo = run->memo;
	const uint8_t *end = hot->p + 1;
	struct lookup lookup;

	lookup.group = NULL;
	if (!way.single && memo->window && !run->src->owed) {
		enum looked_up ret = look_up(run, hot, way, &lookup);

		if (likely(ret != LOOKUP_MISSED))
			return ret;
		end = hot->p + lookup.length;
	}
	while (hot->p < end) {
		if (hot->out >= run->full)
			return false;
		if (*hot->p == IDLE_BYTE)
			hot->p++;
		else if (!run_message(run, hot, way))
			return false;
	}
	if (lookup.group)
		keep_group(run, &lookup, *hot);
	return true;
}

static void add_counts(struct nt_flow *flow, uint64_t counts)
{
	struct nt_stats *stats = &flow->stats;
	static const uint8_t tcodes[] = {
		NT_DIRECT_BRANCH, NT_INDIRECT_BRANCH, NT_INDIRECT_BRANCH_HIST, NT_RESOURCE_FULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tcodes); i++) {
		uint64_t n = counts >> (16 * i) & 0xffff;

		stats->by_tcode[tcodes[i]] += n;
		stats->messages += n;
	}
}

static __always_inline void put_mark(const struct run *run, const struct nt_range *out)
{
	struct nt_flow *flow = run->flow;
	struct nt_mark *mark;
	uint32_t nr = out - flow->ranges;

	mark = &flow->marks[flow->nr_marks];
	if (flow->nr_marks && mark[-1].range == nr)
		return;
	flow->nr_marks++;
	mark->offset = flow->reader.offset + (run->last - flow->reader.data);
	mark->tcode = run->last[0] >> 2;
	mark->range = nr;
	mark->tstamp = run->tstamp;
	mark->tstamp_kind = NT_TSTAMP_NONE;
	if (run->src->has_tstamp)
		mark->tstamp_kind = run->has_tstamp ? NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
}

/* RepeatBranch may come later: it repeats the message at @run->last. */
static void keep_last(struct run *run, const struct hot *hot)
{
	struct nt_source *src = run->src;

	src->has_last = false;
	src->raw_length = hot->p - run->last < WINDOW ? hot->p - run->last : WINDOW;
	memcpy(src->raw, run->last, sizeof(src->raw));
	src->last_dest = hot->ref;
}

void nt_fast_last(const struct nt_flow *flow, struct nt_source *src)
{
	struct nt_message msg;

	if (!src->raw_length)
		return;
	src->has_last = nt_message_decode(&flow->config, src->raw, src->raw_length, &msg) == 1 &&
		msg.tcode != NT_RESOURCE_FULL;
	src->last = msg;
	src->raw_length = 0;
}

/*
 * Paths, if enough of them are found again; else blocks. Those do not know of jumps that
 * are told like branches.
 */
static void judge_paths(struct nt_memo *memo, const struct nt_config *config)
{
	memo->trying = false;
	memo->by_blocks = memo->misses > memo->messages / 8 * 5 && !config->all_jumps;
	if (!memo->by_blocks)
		memo->patience = 0;
	memo->until = PAUSE << memo->patience;
	if (memo->by_blocks && memo->patience < MAX_PATIENCE)
		memo->patience++;
}

/* Groups in so many bytes, or paths alone: 0 */
static void try_window(struct nt_memo *memo, unsigned int window)
{
	memo->window = window;
	memo->by_blocks = false;
	memo->trying = !window;
	memo->until = SHORT_SAMPLE;
}

/* Nearly nothing that was looked up was remembered. */
static bool is_hopeless(const struct nt_memo *memo)
{
	if (memo->window)
		return memo->missed > memo->messages / 16 * 15;
	return memo->trying && memo->misses > memo->messages / 4 * 3;
}

/*
 * Does it pay? Looking up many messages together is best where the program repeats itself
 * exactly; else fewer; else paths; else, where each way is another, blocks alone.
 */
static noinline void judge(struct nt_memo *memo, const struct nt_config *config)
{
	bool hopeless = is_hopeless(memo);

	if (memo->until == SHORT_SAMPLE && !hopeless) {
		memo->until = SAMPLE;
		return;
	}
	if (memo->window && memo->missed > memo->messages / 8 * 3)
		try_window(memo, memo->window == WINDOW && !hopeless ? WINDOW / 2 : 0);
	else if (memo->trying)
		judge_paths(memo, config);
	else if (!memo->window)
		try_window(memo, WINDOW);
	memo->messages = 0;
	memo->missed = 0;
	memo->misses = 0;
}

/* Put back what has changed. */
static void leave(struct run *run, const struct hot *hot)
{
	struct nt_flow *flow = run->flow;
	struct nt_source *src = run->src;
	struct nt_reader *reader = &flow->reader;

	if (!run->last)
		return;
	src->pc = flow->code.blocks[hot->block].range.start;
	src->ref = hot->ref;
	src->block = hot->block;
	src->walked = hot->walked;
	src->tstamp = run->tstamp;
	flow->nr_ranges = hot->out - flow->ranges;
	put_mark(run, hot->out);
	keep_last(run, hot);
	add_counts(flow, run->counts);
	run->memo->messages += nr_counted(run->counts);
	flow->msg.offset = reader->offset + (run->last - reader->data);
	reader->offset += hot->p - reader->data;
	reader->data = hot->p;
}

static __always_inline void run_all(struct run *run, struct hot hot, struct way way)
{
	struct nt_flow *flow = run->flow;
	const uint8_t *end = flow->reader.end - 2 * WINDOW;
	bool marks = way.timestamp || way.single;

	hot.top = way.returns ? get_top(run->src) : 0;
	while (hot.p < end && hot.out < run->full) {
		if (unlikely(*hot.p == IDLE_BYTE)) {
			hot.p++;
			continue;
		}
		/* messages of a group in front of one that is not plain do count */
		if (way.by_blocks ? !run_message(run, &hot, way) : !run_next(run, &hot, way))
			break;
		if (marks) {
			put_mark(run, hot.out);
			if (way.single || flow->nr_marks >= MAX_MARKS - 2)
				break;
		}
	}
	leave(run, &hot);
}

/*
 * Instructions that the compiler may not take for granted. Those processors are left out
 * on which pext is slower than what it replaces.
 */
static bool has_pext(void)
{
#if defined(__x86_64__)
	return __builtin_cpu_supports("bmi2") && !__builtin_cpu_is("znver1") &&
		!__builtin_cpu_is("znver2");
#else
	return false;
#endif
}

static noinline void run_blocks(struct run *run, struct hot hot, struct way way)
{
	way.by_blocks = true;
	run_all(run, hot, way);
}

static noinline void run_returns(struct run *run, struct hot hot, struct way way)
{
	way.returns = true;
	way.pext = true;
	run_all(run, hot, way);
}

static void run_plain(struct run *run, struct hot hot, bool single)
{
	struct way way = {
		.single = single, .timestamp = run->flow->config.timestamp,
		.returns = run->flow->config.return_depth, .pext = has_pext(),
	};

	if (run->memo->by_blocks && !single)
		run_blocks(run, hot, way);
	else if (single || !way.pext)
		run_all(run, hot, way);
	else if (way.returns)
		run_returns(run, hot, way);
	else if (way.timestamp)
		run_all(run, hot, (struct way){ .timestamp = true, .pext = true });
	else
		run_all(run, hot, (struct way){ .pext = true });
}

static struct nt_memo *get_memo(struct nt_flow *flow)
{
	if (!flow->memo)
		flow->memo = nt_memo_new();
	return flow->memo;
}

uint64_t nt_fast_repeat(struct nt_flow *flow, struct nt_source *src, const struct nt_message *msg,
			uint64_t n)
{
	const struct nt_range *last = flow->ranges + MAX_RANGES - PATH_RANGES;
	struct run run = { .flow = flow, .src = src, .memo = get_memo(flow) };
	struct hot hot = {
		.out = flow->ranges + flow->nr_ranges, .block = src->block, .top = get_top(src),
	};
	struct way way = { .returns = flow->config.return_depth };
	uint32_t what = PATH_BTM | PATH_DIRECT | (uint32_t)msg->icnt;
	uint64_t done = 0;

	if (msg->tcode != NT_DIRECT_BRANCH || msg->icnt > PATH_ICNT || src->mode != NT_MODE_BTM ||
	    !run.memo)
		return 0;
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return 0;
	while (done < n && hot.out <= last) {
		const struct nt_path *path = find_path(&run, &hot, way, what);

		if (!path || path->halfwords != msg->icnt || path->end != PATH_TAKEN)
			break;
		/* of so few calls it can remember */
		run.memo->nr_undo = 0;
		use_path(&run, &hot, way, path);
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
		.tstamp = src->tstamp, .mode = (uint32_t)src->mode << GROUP_MODE_SHIFT,
	};
	struct hot hot = {
		.p = reader->data, .out = flow->ranges + flow->nr_ranges,
		.ref = src->ref, .block = src->block, .walked = src->walked,
	};

	if (reader->end - reader->data < 2 * WINDOW || reader->nr_carry || reader->skip ||
	    src->state != NT_STATE_LIVE || flow->nr_ranges >= FAST_RANGES)
		return false;
	run.memo = get_memo(flow);
	if (!run.memo)
		return false;
	if (run.memo->messages >= run.memo->until)
		judge(run.memo, &flow->config);
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return false;
	run_plain(&run, hot, single);
	return run.last;
}
