/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Walk the code of a message with paths, which are the stored results of earlier walks (memo.h).
 */
#ifndef NTRACE_FAST_PATH_H
#define NTRACE_FAST_PATH_H

#include "fast-log.h"
#include "path.h"

/*
 * Return the top of the return stack for the key of a path or group. Return 0 if returns are not
 * inferred from a return stack.
 */
static __always_inline uint32_t fast_path_top(const struct hot *hot, struct way way)
{
	if (way.explicit)
		return MEMO_TOP_EXPLICIT;
	return way.returns ? hot->top : 0;
}

static __always_inline bool fast_is_path(const struct run *run, struct way way,
					 const struct nt_path *path, uint64_t key, uint32_t top)
{
	if (way.counts)
		return path->key == key && path->top == top &&
			nt_tally_is_there(run->tally, path->ranges);
	return memo_is_path(run->memo, path, key, top);
}

static __always_inline const struct nt_path *fast_path_find(struct run *run,
							    const struct hot *hot,
							    struct way way, uint32_t what)
{
	uint64_t key = path_key(hot->block, what);
	uint32_t top = fast_path_top(hot, way);
	const struct nt_path *path = memo_path_slot(run->memo, key, top);

	if (likely(fast_is_path(run, way, path, key, top)))
		return path;
	path = memo_other_slot(run->memo, path);
	if (likely(fast_is_path(run, way, path, key, top)))
		return path;
	return way.counts ? nt_path_count(run->flow, run->src, key, top) :
		nt_path_walk(run->flow, run->src, key, top);
}

/*
 * Emit or log the ranges of @path, and apply its effect to the return stack. Return false if the
 * effect cannot be applied, for example because the undo log (stack.h) is full.
 */
static __always_inline bool fast_path_use(struct run *run, struct hot *hot, struct way way,
					  const struct nt_path *path)
{
	if (way.counts) {
		fast_log_path(run, hot, way, path);
	} else {
		fast_put_ranges(hot->out, memo_ranges_of(run->memo, path->ranges), path->nr_ranges,
				PATH_RANGES);
		hot->out += path->nr_ranges;
	}
	hot->block = path->next;
	return !way.returns || !path->effect.any || fast_use_effect(run, hot, &path->effect);
}

/*
 * If the path ends with a return, infer its destination from the return stack. Return false if the
 * path does not end with a return, or if the stack is empty.
 */
static __always_inline bool fast_path_return(struct run *run, struct hot *hot,
					     struct way way, const struct nt_path *path)
{
	uint32_t from = hot->block;

	if (!way.returns || path->end != PATH_RETURN)
		return false;
	if (!way.counts)
		hot->out[-1].flags = NT_RANGE_TAKEN | NT_RANGE_INFERRED;
	hot->block = fast_pop(run, hot);
	if (way.log)
		fast_log_edge(hot, from, hot->block);
	return hot->block;
}

/*
 * Walk @nr_bits bits of @hist and @left half-words of I-CNT. The last range ends with a jump whose
 * target is in the message. If @hist_only is set, walk HIST alone, and stop right after its last
 * branch. Return false if HIST or I-CNT do not fit the code.
 */
static __always_inline bool fast_path_walk_htm(struct run *run, struct hot *hot, struct way way,
					       uint64_t hist, unsigned int nr_bits, int64_t left,
					       bool hist_only)
{
	unsigned int bits = way.counts ? run->memo->path_bits : PATH_BITS;
	const struct nt_range *end = fast_log_end(hot, way);
	unsigned int paths = 0;

	/* Shift the next HIST bit to the highest bit. */
	hist <<= 63 - nr_bits;
	hist <<= 1;
	while (hot->out < end && (!way.counts || paths++ < TALLY_PATHS)) {
		unsigned int n = nr_bits < bits ? nr_bits : bits;
		uint32_t what = 1u << n | (uint32_t)(hist >> 1 >> (63 - n));
		const struct nt_path *path;

		if (!hist_only && nr_bits <= bits) {
			what |= PATH_FINAL;
			if (way.returns) {
				if (unlikely(left > PATH_LEFT_MAX))
					return false;
				what |= (uint32_t)left << PATH_LEFT_SHIFT;
			}
		}
		path = fast_path_find(run, hot, way, what);
		if (unlikely(!path || !fast_path_use(run, hot, way, path)))
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
		if (path->end >= PATH_JUMP && !fast_path_return(run, hot, way, path))
			return false;
	}
	return false;
}

/*
 * Walk @left half-words of I-CNT without HIST (BTM). @direct is true if the message is
 * DirectBranch. In this case, the last instruction is a taken branch. No other branch is taken.
 */
static __always_inline bool fast_path_walk_btm(struct run *run, struct hot *hot, struct way way,
					       int64_t left, bool direct)
{
	const struct nt_range *end = fast_log_end(hot, way);
	unsigned int paths = 0;

	while (hot->out < end && (!way.counts || paths++ < TALLY_PATHS)) {
		uint32_t what = PATH_BTM | (direct ? PATH_DIRECT : 0) | (uint32_t)left;
		const struct nt_path *path = fast_path_find(run, hot, way, what);

		if (unlikely(!path || !fast_path_use(run, hot, way, path)))
			return false;
		left -= path->halfwords;
		if (left <= 0)
			return !left && (direct ? path->end == PATH_TAKEN :
					 path->end >= PATH_JUMP);
		if (path->end >= PATH_JUMP && !fast_path_return(run, hot, way, path))
			return false;
	}
	return false;
}

#endif /* NTRACE_FAST_PATH_H */
