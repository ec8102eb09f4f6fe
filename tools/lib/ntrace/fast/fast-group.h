/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Look up several messages at once. Their stored result is a group.
 *
 * The key of a group contains everything that its ranges depend on:
 *
 * - the bytes of its messages, without their timestamps
 * - the source (SRC) and the trace mode
 * - the block at which the group starts
 * - nt_source::ref, the address to which the next U-ADDR is relative
 * - nt_source::walked, the half-words that HIST has reported and that the next I-CNT includes
 * - the entries of the return stack that the group pops
 */
#ifndef NTRACE_FAST_GROUP_H
#define NTRACE_FAST_GROUP_H

#include "fast-message.h"

static __always_inline struct nt_group *fast_group_slot(struct nt_memo *memo, const uint64_t *key,
							const struct hot *hot, struct way way)
{
	/*
	 * Do not shift by 32, because gcc would then load hot::block and hot::top with one
	 * instruction. This load would wait for the two stores that have written the two members
	 * separately.
	 */
	uint64_t top = (uint64_t)fast_path_top(hot, way) << 28;
	uint64_t h = (key[0] ^ (uint64_t)hot->block << 24) * 0x9e3779b97f4a7c15ULL;

	h ^= (key[1] ^ hot->block ^ top) * 0xc2b2ae3d27d4eb4fULL;
	return &memo->groups[h >> (64 - GROUPS_SHIFT)];
}

static __always_inline bool fast_group_matches(const struct run *run, const struct nt_group *group,
					       const struct hot *hot, struct way way,
					       const uint64_t *key)
{
	bool there = way.counts ? nt_tally_is_there(run->tally, group->ranges) :
		memo_has_ranges(run->memo, group->ranges);

	return there &&
		!((group->key[0] ^ key[0]) | (group->key[1] ^ key[1]) |
		  (group->ref ^ hot->ref) | (group->start ^ (run->start | hot->block)) |
		  (group->top ^ fast_path_top(hot, way)) | (group->walked ^ hot->walked));
}

/*
 * Return true if the calls on the return stack are those that the messages of the group return from (pop).
 * fast_group_matches() has already compared the call on top of the stack.
 */
static __always_inline bool fast_group_fits_stack(const struct run *run, struct way way,
						  const struct nt_effect *effect)
{
	const struct nt_source *src = run->src;
	const uint32_t *calls = &run->memo->calls[effect->calls];
	uint32_t slot = src->top;
	unsigned int i;

	if (effect->nr_pops > src->depth)
		return false;
	if (way.dialect && fast_is_too_deep(run, src->depth - effect->nr_pops +
					    effect->nr_pushes + effect->drop))
		return false;
	for (i = 0; i < memo_nr_below(effect); i++) {
		slot = nt_stack_below(slot, run->flow->config.return_depth);
		if (src->returns[slot].call != calls[i])
			return false;
	}
	return true;
}

/*
 * Return true if the messages with the bytes @key have occurred before. fast_group_keep() stores a
 * large group only at its second occurrence. At the first occurrence, it stores only the bytes of
 * the messages, and sets nt_group::start to 0. A group is large if it has more than PATH_RANGES
 * ranges, or, if ranges are counted, more than RECORD_SURE steps.
 */
static bool fast_group_came_before(const struct nt_group *group, const uint64_t *key)
{
	return !group->start && group->key[0] == key[0] && group->key[1] == key[1];
}

/*
 * Do the same as fast_use_effect(), if ranges are counted. The undo log (stack.h) is not filled, because all messages
 * of a group are known to fit the code. run::net need not be updated, because it is only used to store a new group,
 * and before that, the lookup that finds no stored group has cleared it.
 */
static __always_inline void fast_group_stack(struct run *run, struct hot *hot,
					     const struct nt_effect *effect)
{
	uint32_t max = run->flow->config.return_depth, most = max - effect->drop;
	const struct nt_block *blocks = run->flow->code.blocks;
	struct nt_source *src = run->src;
	const uint32_t *calls = &run->memo->calls[effect->calls + memo_nr_below(effect)];
	uint32_t slot = src->top, depth = src->depth - effect->nr_pops;
	unsigned int i;

	slot = slot >= effect->nr_pops ? slot - effect->nr_pops : slot + max - effect->nr_pops;
	for (i = 0; i < effect->nr_pushes; i++) {
		slot = slot + 1 < max ? slot + 1 : 0;
		src->returns[slot].pc = nt_flow_mask(run->flow, nt_range_end(&blocks[calls[i]].range));
		src->returns[slot].call = calls[i];
	}
	depth += effect->nr_pushes;
	if (unlikely(depth > most))
		depth = most;
	src->top = slot;
	src->depth = depth;
	hot->top = nt_stack_top(src);
}

static __always_inline void fast_group_use(struct run *run, struct hot *hot, struct way way,
					   const struct nt_group *group)
{
	if (way.counts) {
		nt_tally_record(run->tally, group->ranges)->count++;
	} else {
		fast_put_ranges(hot->out, memo_ranges_of(run->memo, group->ranges),
				group->nr_ranges, GROUP_RANGES);
		hot->out += group->nr_ranges;
	}
	hot->block = group->next;
	hot->ref = group->next_ref;
	hot->walked = group->next_walked;
	run->counts += fast_unpack_counts(group->counts);
	run->last = hot->p + group->last;
	if (way.returns && group->effect.any) {
		if (way.counts) {
			fast_group_stack(run, hot, &group->effect);
			return;
		}
		run->memo->undo.nr = 0;
		fast_use_effect(run, hot, &group->effect);
	}
}

/* State of a lookup that did not find a stored result for its messages */
struct lookup {
	struct nt_group	*group;		/* slot in which the new group is stored */
	uint64_t	key[2];		/* bytes of the messages, see nt_group::key */
	struct hot	was;		/* state before the messages */
	uint64_t	counts;		/* run::counts before the messages */
	unsigned int	length;		/* number of bytes of the messages */
	unsigned int	body;		/* number of bytes before the timestamp, or @length without it */
};

enum looked_up { LOOKUP_NOT_PLAIN, LOOKUP_FOUND, LOOKUP_MISSED };

/*
 * Set *pushed to the calls that the messages since the lookup have pushed on the return stack and
 * not popped. Return false if a group cannot store the effect of these messages on the stack.
 */
static bool fast_group_pushed(const struct run *run, uint32_t *pushed)
{
	const struct nt_net *net = &run->net;
	const struct nt_source *src = run->src;
	int depth = run->flow->config.return_depth;
	unsigned int nr = nt_net_pushes(net);
	uint32_t slot = src->top;
	int i;

	if (net->low < -GROUP_POPS || nr > GROUP_PUSHES || net->peak - net->low >= depth)
		return false;
	for (i = 0; i < -net->low; i++) {
		if (!net->popped[i])
			return false;
	}
	while (nr--) {
		pushed[nr] = src->returns[slot].call;
		slot = nt_stack_below(slot, depth);
	}
	return true;
}

/*
 * Store what the messages since @lookup have reported. This is @nr ranges or, if ranges are counted, @nr
 * steps (tally.h) and the block @next, which is executed after the last step. Return the number of the
 * first range, or of the record of steps, for nt_group::ranges.
 */
static __always_inline uint32_t fast_group_store(struct run *run, const struct lookup *lookup,
						 struct way way, unsigned int nr, uint32_t next)
{
	if (way.counts)
		return nt_tally_store(run->tally, run->src->space, run->tally->log, nr, next, 1);
	return nt_memo_ranges(run->memo, lookup->was.out, nr);
}

/*
 * Store the result of the messages of @lookup as a group. @now is the state after these messages. Return true if the
 * group is stored. If ranges are counted, the steps of these messages are then counted as those of the group.
 */
static bool fast_group_keep(struct run *run, const struct lookup *lookup, struct hot now,
			    struct way way)
{
	struct nt_effect effect = { .any = false };
	uint32_t pushed[GROUP_PUSHES];
	struct nt_memo *memo = run->memo;
	const struct hot *was = &lookup->was;
	unsigned int nr = way.counts ? fast_steps(&now) - run->tally->log : now.out - was->out;
	uint32_t ranges;

	memo->missed += fast_nr_counted(run->counts - lookup->counts);
	/* If another process has changed the trace since the lookup, the messages may be longer or shorter now. */
	if (now.p != was->p + lookup->length || nr > (way.counts ? RECORD_STEPS : GROUP_RANGES) ||
	    was->walked > UINT16_MAX || now.walked > UINT16_MAX ||
	    (way.returns && !fast_group_pushed(run, pushed)))
		return false;
	if (nr > (way.counts ? RECORD_SURE : PATH_RANGES) && !fast_group_came_before(lookup->group, lookup->key)) {
		lookup->group->start = 0;
		lookup->group->key[0] = lookup->key[0];
		lookup->group->key[1] = lookup->key[1];
		return false;
	}
	if (!way.counts)
		nt_memo_make_room(memo);
	if (way.returns)
		nt_memo_calls(memo, &effect, &run->net, pushed);
	ranges = fast_group_store(run, lookup, way, nr, now.block);
	*lookup->group = (struct nt_group){
		.key = { lookup->key[0], lookup->key[1] }, .ref = was->ref,
		.next_ref = now.ref, .counts = fast_pack_counts(run->counts - lookup->counts),
		.start = run->start | was->block, .next = now.block, .top = fast_path_top(was, way),
		.walked = was->walked, .next_walked = now.walked, .effect = effect,
		.ranges = ranges, .last = run->last - was->p,
		.nr_ranges = way.counts ? lookup->body : nr,
	};
	return true;
}

/*
 * Return the number of bytes up to the end of the last message that ends in the next @window bytes.
 * If no message ends there, return the length of the next message, or 0 if this message has more
 * than WINDOW bytes.
 */
static __always_inline unsigned int fast_group_length(struct ends ends, unsigned int window)
{
	unsigned int end = ends.field & ends.high;
	unsigned int in = end & ((1u << window) - 1);

	if (likely(in))
		return 32 - __builtin_clz(in);
	return end ? __builtin_ctz(end) + 1 : 0;
}

/*
 * Set *length to the length of the message at @p, *body to the number of its bytes before the
 * timestamp, and *tstamp to the timestamp. Return false if the message is not plain.
 */
static __always_inline bool fast_split_timestamp(const uint8_t *p, struct ends ends, bool pext,
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
	*tstamp = plain_gather(plain_first_bytes(p + *body, *length - *body), pext);
	return true;
}

/*
 * Look up the group of the next messages, and use it. If messages have timestamps, a group has only
 * one message, without its timestamp. If no group is found, fill in *lookup, so that
 * fast_group_keep() can store the group later. Return enum looked_up.
 */
static __always_inline enum looked_up fast_look_up(struct run *run, struct hot *hot, struct way way,
						   struct lookup *lookup)
{
	struct ends ends = plain_find_ends(hot->p);
	unsigned int body, length;
	uint64_t tstamp = 0;
	struct nt_group *group;
	uint64_t key[2];

	if (way.timestamp) {
		if (!fast_split_timestamp(hot->p, ends, way.pext, &length, &body, &tstamp))
			return LOOKUP_NOT_PLAIN;
	} else {
		body = fast_group_length(ends, run->memo->window);
		length = body;
		if (unlikely(!body))
			return LOOKUP_NOT_PLAIN;
	}
	key[0] = plain_first_bytes(hot->p, body);
	key[1] = plain_first_bytes(hot->p + 8, body > 8 ? body - 8 : 0);
	group = fast_group_slot(run->memo, key, hot, way);
	if (unlikely(!fast_group_matches(run, group, hot, way, key) ||
		     (way.returns && !fast_group_fits_stack(run, way, &group->effect)))) {
		*lookup = (struct lookup){
			.group = group, .key = { key[0], key[1] }, .was = *hot,
			.counts = run->counts, .length = length, .body = body,
		};
		nt_net_begin(&run->net);
		return LOOKUP_MISSED;
	}
	fast_group_use(run, hot, way, group);
	hot->p += length;
	run->has_tstamp = length != body;
	fast_add_time(run, way, tstamp);
	return LOOKUP_FOUND;
}

#endif /* NTRACE_FAST_GROUP_H */
