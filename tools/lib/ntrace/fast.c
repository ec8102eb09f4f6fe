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
 *   timestamp, trace mode, block and address reference. Not with a return stack.
 *
 * Functions on the way are inlined, so that the compiler keeps struct hot in registers.
 */
#include <stdlib.h>

#include "memo.h"
#include "plain.h"

/* Longest run of ranges that one message may lead to, here */
#define MAX_RUN		(FAST_SPARE - 2 * PATH_RANGES)

/* Lookups after which it is judged whether those of messages together pay */
#define SAMPLE		2048
/* ... and for how many messages there then are none, if not */
#define PAUSE		65536

/* What changes with each message */
struct hot {
	const uint8_t		*p;
	struct nt_range		*out;
	uint64_t		ref;
	uint64_t		walked;
	uint32_t		block;
};

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

/* ---- return stack ---- */

/* Where the return on top of the stack leads to, a block. 0: it is empty */
static __always_inline uint32_t fast_pop(struct run *run)
{
	struct nt_source *src = run->src;
	struct nt_code *code = &run->flow->code;
	const struct nt_return *ret = &src->returns[src->top];
	uint32_t link;

	if (unlikely(!src->depth))
		return 0;
	src->top = src->top ? src->top - 1 : run->flow->config.return_depth - 1;
	src->depth--;
	link = code->blocks[ret->call].link[0];
	if (likely(code->blocks[link].range.start == ret->pc && link))
		return link;
	link = nt_code_find(code, src->space, ret->pc);
	if (ret->call)
		code->blocks[ret->call].link[0] = link;
	return link;
}

/* @call's end is a call. False: it could not be undone any more. */
static __always_inline bool fast_push(struct run *run, uint32_t call)
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
	if (src->depth < run->flow->config.return_depth)
		src->depth++;
	return true;
}

/* The stack actions of a jump that was told (table "4-bit itype values") */
static __always_inline bool told_stack(struct run *run, uint32_t block, unsigned int end)
{
	struct nt_source *src = run->src;

	if ((end == NT_END_RETURN || end == NT_END_SWAP) && src->depth) {
		src->top = src->top ? src->top - 1 : run->flow->config.return_depth - 1;
		src->depth--;
	}
	return (end != NT_END_INDIRECT_CALL && end != NT_END_SWAP) || fast_push(run, block);
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

static __always_inline const struct nt_path *find_path(struct run *run, uint32_t block,
						       uint32_t what)
{
	uint64_t key = path_key(block, what);
	const struct nt_path *path = path_slot(run->memo, key);

	if (likely(path->key == key))
		return path;
	path = path_other(run->memo, path);
	if (likely(path->key == key))
		return path;
	return nt_memo_walk(run->flow, run->src, key);
}

/*
 * Copy @nr ranges. There is room for PATH_RANGES, so that the first half needs no count. Not
 * memcpy(), of which gcc makes "rep movs".
 */
static __always_inline void put_ranges(struct nt_range *out, const struct nt_range *ranges,
				       unsigned int nr)
{
	unsigned int i;

#pragma GCC unroll 8
	for (i = 0; i < PATH_RANGES / 2; i++)
		out[i] = ranges[i];
	if (likely(nr <= PATH_RANGES / 2))
		return;
#pragma GCC unroll 8
	for (i = PATH_RANGES / 2; i < PATH_RANGES; i++)
		out[i] = ranges[i];
}

/* Go along @path. False: too many calls */
static __always_inline bool use_path(struct run *run, struct hot *hot,
				     const struct nt_path *path)
{
	unsigned int i;

	put_ranges(hot->out, &run->memo->ranges[path->ranges], path->nr_ranges);
	hot->out += path->nr_ranges;
	hot->block = path->next;
	for (i = 0; i < path->nr_calls; i++) {
		if (!fast_push(run, path->calls[i]))
			return false;
	}
	return true;
}

/* The jump at the end of a path is a return, to where the stack says. */
static __always_inline bool implicit_return(struct run *run, struct hot *hot,
					    const struct nt_path *path)
{
	if (path->end != PATH_RETURN)
		return false;
	hot->out[-1].flags = NT_RANGE_TAKEN | NT_RANGE_INFERRED;
	hot->block = fast_pop(run);
	return hot->block;
}

/*
 * Through HIST of @nr_bits and I-CNT of @left: the last range is a jump that the message
 * tells. Or through HIST alone (@hist_only), up to behind its last branch. False: HIST or
 * I-CNT do not fit the code.
 */
static __always_inline bool walk_htm(struct run *run, struct hot *hot, uint64_t hist,
				     unsigned int nr_bits, int64_t left, bool hist_only)
{
	const struct nt_range *end = hot->out + MAX_RUN;

	/* the next bit is the highest one */
	hist <<= 63 - nr_bits;
	hist <<= 1;
	while (hot->out < end) {
		unsigned int n = nr_bits < PATH_BITS ? nr_bits : PATH_BITS;
		uint32_t what = 1u << n | (uint32_t)(hist >> 1 >> (63 - n));
		const struct nt_path *path;

		if (!hist_only && nr_bits <= PATH_BITS)
			what |= PATH_FINAL;
		path = find_path(run, hot->block, what);
		if (unlikely(!path || !use_path(run, hot, path)))
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
		if (path->end >= PATH_JUMP && !implicit_return(run, hot, path))
			return false;
	}
	return false;
}

/*
 * The same without HIST: branches are not taken, but for one at the very end,
 * of which DirectBranch (@direct) tells.
 */
static __always_inline bool walk_btm(struct run *run, struct hot *hot, int64_t left,
				     bool direct)
{
	const struct nt_range *end = hot->out + MAX_RUN;

	while (hot->out < end) {
		uint32_t what = PATH_BTM | (direct ? PATH_DIRECT : 0) | (uint32_t)left;
		const struct nt_path *path = find_path(run, hot->block, what);

		if (unlikely(!path || !use_path(run, hot, path)))
			return false;
		left -= path->halfwords;
		if (left <= 0)
			return !left && (direct ? path->end == PATH_TAKEN :
					 path->end >= PATH_JUMP);
		if (path->end >= PATH_JUMP && !implicit_return(run, hot, path))
			return false;
	}
	return false;
}

/* The indirect jump at the end, to where U-ADDR says */
static __always_inline bool end_indirect(struct run *run, struct hot *hot, uint64_t addr)
{
	struct nt_code *code = &run->flow->code;
	const struct nt_block *block = &code->blocks[hot->block];
	uint64_t dest = nt_flow_mask(run->flow, hot->ref ^ addr);
	uint32_t link = block->link[1];

	if (unlikely(block->range.internal & NT_KIND_INFERABLE && block->target != dest))
		return false;
	if (run->flow->config.return_depth && !told_stack(run, hot->block, block->range.end))
		return false;
	hot->ref = dest;
	if (unlikely(code->blocks[link].range.start != dest || !link)) {
		link = nt_code_find(code, run->src->space, dest);
		code->blocks[hot->block].link[1] = link;
	}
	hot->block = link;
	return link;
}

/* One message. False: it is not plain, and something may have changed. */
static __always_inline bool walk_plain(struct run *run, struct hot *hot,
				       const struct plain *msg)
{
	unsigned int nr_bits = 63 - __builtin_clzll(msg->hist);
	unsigned int mode = run->src->mode;
	uint64_t total = run->src->owed + msg->icnt;
	bool hist_only = msg->tcode == NT_RESOURCE_FULL;
	bool direct = msg->tcode == NT_DIRECT_BRANCH;

	if (hist_only ? !nr_bits : total <= hot->walked)
		return false;
	if (mode == NT_MODE_HTM) {
		int64_t left = hist_only ? INT64_MAX : (int64_t)(total - hot->walked);

		if (direct || !walk_htm(run, hot, msg->hist, nr_bits, left, hist_only))
			return false;
	} else {
		/* a message with HIST, empty or not, is of the other mode */
		if (mode != NT_MODE_BTM || hist_only || total > PATH_ICNT ||
		    msg->tcode == NT_INDIRECT_BRANCH_HIST ||
		    !walk_btm(run, hot, total, direct))
			return false;
	}
	return hist_only || direct || end_indirect(run, hot, msg->addr);
}

/* One message. False: engine.c is to do it; all is as it was before. */
static __always_inline bool run_message(struct run *run, struct hot *hot, bool pext)
{
	uint32_t top = run->src->top, depth = run->src->depth;
	struct hot before = *hot;
	struct plain msg = { .addr = 0 };

	if (!parse_plain(&run->flow->config, hot->p, find_ends(hot->p), run->src->id, pext,
			 &msg))
		return false;
	run->memo->nr_undo = 0;
	if (unlikely(!walk_plain(run, hot, &msg))) {
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
						   uint32_t block)
{
	uint64_t h = (key[0] ^ (uint64_t)block << 24) * 0x9e3779b97f4a7c15ULL;

	h ^= (key[1] ^ block) * 0xc2b2ae3d27d4eb4fULL;
	return &memo->groups[h >> (64 - GROUPS_SHIFT)];
}

static __always_inline bool group_matches(const struct run *run, const struct nt_group *group,
					  const struct hot *hot, const uint64_t *key)
{
	return !((group->key[0] ^ key[0]) | (group->key[1] ^ key[1]) |
		 (group->ref ^ hot->ref) | (group->start ^ (run->mode | hot->block)));
}

static __always_inline void use_group(struct run *run, struct hot *hot,
				      const struct nt_group *group)
{
	put_ranges(hot->out, &run->memo->ranges[group->ranges], group->nr_ranges);
	hot->out += group->nr_ranges;
	hot->block = group->next;
	hot->ref = group->next_ref;
	run->counts += group->counts;
	run->last = hot->p + group->last;
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

/* What they lead to was found out: up to @now. */
static void keep_group(struct run *run, const struct lookup *lookup, struct hot now)
{
	struct nt_memo *memo = run->memo;
	const struct hot *was = &lookup->was;
	unsigned int nr = now.out - was->out;
	uint32_t ranges;

	if (nr > PATH_RANGES || now.walked)
		return;
	ranges = nt_memo_alloc(memo, nr);
	memcpy(&memo->ranges[ranges], was->out, nr * sizeof(*was->out));
	*lookup->group = (struct nt_group){
		.key = { lookup->key[0], lookup->key[1] }, .ref = was->ref,
		.next_ref = now.ref, .counts = run->counts - lookup->counts,
		.start = run->mode | was->block, .next = now.block,
		.ranges = ranges, .nr_ranges = nr, .last = run->last - was->p,
	};
}

/*
 * Does it pay? Looking up many messages together is best where the program
 * repeats itself exactly; else fewer, else none for a while.
 */
static void judge(struct nt_memo *memo)
{
	if (!memo->window) {
		memo->window = WINDOW;
	} else if (memo->hits < SAMPLE / 8 * 5) {
		memo->window = memo->window == WINDOW ? WINDOW / 2 : 0;
		memo->pause = PAUSE;
	}
	memo->lookups = 0;
	memo->hits = 0;
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
static __always_inline enum looked_up look_up(struct run *run, struct hot *hot, bool timestamp,
					      bool pext, struct lookup *lookup)
{
	struct ends ends = find_ends(hot->p);
	unsigned int body, length;
	uint64_t tstamp = 0;
	struct nt_group *group;
	uint64_t key[2];

	if (timestamp) {
		if (!split_timestamp(hot->p, ends, pext, &length, &body, &tstamp))
			return LOOKUP_NOT_PLAIN;
	} else {
		body = group_length(ends, run->memo->window);
		length = body;
		if (unlikely(!body))
			return LOOKUP_NOT_PLAIN;
	}
	key[0] = first_bytes(hot->p, body);
	key[1] = first_bytes(hot->p + 8, body > 8 ? body - 8 : 0);
	group = group_slot(run->memo, key, hot->block);
	if (unlikely(++run->memo->lookups == SAMPLE))
		judge(run->memo);
	if (unlikely(!group_matches(run, group, hot, key))) {
		*lookup = (struct lookup){
			.group = group, .key = { key[0], key[1] }, .was = *hot,
			.counts = run->counts, .length = length,
		};
		return LOOKUP_MISSED;
	}
	run->memo->hits++;
	use_group(run, hot, group);
	hot->p += length;
	run->has_tstamp = length != body;
	run->tstamp += tstamp;
	return LOOKUP_FOUND;
}

/* ---- run ---- */

/* The next message, or messages if not @alone. False: they are not plain. */
static __always_inline bool run_next(struct run *run, struct hot *hot, bool alone,
				     bool timestamp, bool pext)
{
	struct nt_memo *memo = run->memo;
	const uint8_t *end = hot->p + 1;
	struct lookup lookup;

	lookup.group = NULL;
	if (!alone && memo->window && !hot->walked && !run->src->owed) {
		enum looked_up ret = look_up(run, hot, timestamp, pext, &lookup);

		if (likely(ret != LOOKUP_MISSED))
			return ret;
		end = hot->p + lookup.length;
	} else if (!alone && !memo->window && !--memo->pause) {
		judge(memo);
	}
	while (hot->p < end) {
		if (hot->out >= run->full)
			return false;
		if (*hot->p == IDLE_BYTE)
			hot->p++;
		else if (!run_message(run, hot, pext))
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
	flow->msg.offset = reader->offset + (run->last - reader->data);
	reader->offset += hot->p - reader->data;
	reader->data = hot->p;
}

static __always_inline void run_all(struct run *run, struct hot hot, bool single, bool timestamp,
				    bool pext)
{
	struct nt_flow *flow = run->flow;
	const uint8_t *end = flow->reader.end - 2 * WINDOW;
	bool alone = single || flow->config.return_depth;
	bool marks = timestamp || single;

	while (hot.p < end && hot.out < run->full) {
		if (unlikely(*hot.p == IDLE_BYTE)) {
			hot.p++;
			continue;
		}
		/* messages of a group in front of one that is not plain do count */
		if (!run_next(run, &hot, alone, timestamp, pext))
			break;
		if (marks) {
			put_mark(run, hot.out);
			if (single || flow->nr_marks >= MAX_MARKS - 2)
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

/* What is constant for the compiler makes a copy of its own. */
static void run_plain(struct run *run, struct hot hot, bool single)
{
	bool timestamp = run->flow->config.timestamp;

	if (single || !has_pext())
		run_all(run, hot, single, timestamp, false);
	else if (timestamp)
		run_all(run, hot, false, true, true);
	else
		run_all(run, hot, false, false, true);
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
	if (!flow->memo)
		flow->memo = calloc(1, sizeof(*flow->memo));
	run.memo = flow->memo;
	if (!run.memo)
		return false;
	if (!run.memo->window && !run.memo->pause)
		run.memo->window = WINDOW;
	if (!hot.block)
		hot.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!hot.block)
		return false;
	run_plain(&run, hot, single);
	return run.last;
}
