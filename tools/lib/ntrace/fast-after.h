/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The fast path where ranges are counted: the group that came after another one the last time
 * often comes again. It is compared with the messages at hand without a look-up.
 */
#ifndef NTRACE_FAST_AFTER_H
#define NTRACE_FAST_AFTER_H

#include "fast-group.h"

static __always_inline uint32_t fast_after_index(const struct run *run, const struct nt_group *group)
{
	return group - run->memo->groups;
}

/* Group @index came after group *at. */
static __always_inline void fast_after_note(struct run *run, uint32_t *at, uint32_t index)
{
	run->tally->after[*at] = index;
	*at = index;
}

/*
 * The timestamp at @p, which follows the other fields of a message: *value. Returns its bytes;
 * 0: it is not plain
 */
static __always_inline unsigned int fast_after_time(const uint8_t *p, bool pext, uint64_t *value)
{
	uint64_t bytes = load64(p);
	uint64_t field = bytes & 0x0101010101010101ULL, high = bytes >> 1 & 0x0101010101010101ULL;
	unsigned int length;

	if (unlikely(!field))
		return 0;
	length = (__builtin_ctzll(field) >> 3) + 1;
	/* the field ends the message, and no byte before has the reserved MSEO */
	if (unlikely((high & -high) != (field & -field)))
		return 0;
	*value = gather(first_bytes(p, length), pext);
	return length;
}

/* Go on by the group that came after group *at. False: it is another one, or there is none. */
static __always_inline bool fast_after_follow(struct run *run, struct hot *hot, struct way way,
					      uint32_t *at)
{
	uint32_t index = run->tally->after[*at];
	const struct nt_group *group = &run->memo->groups[index];
	unsigned int n = group->length, time = 0;
	uint64_t tstamp = 0;
	uint64_t key[2] = {
		first_bytes(hot->p, n), first_bytes(hot->p + 8, n > 8 ? n - 8 : 0),
	};

	if (!fast_group_matches(run, group, hot, way, key) ||
	    (way.returns && !fast_group_fits_stack(run, &group->effect)))
		return false;
	if (way.timestamp && mseo(hot->p[n - 1]) == MSEO_FIELD) {
		time = fast_after_time(hot->p + n, way.pext, &tstamp);
		if (!time)
			return false;
	}
	fast_group_use(run, hot, way, group);
	hot->p += n + time;
	run->has_tstamp = time;
	fast_add_time(run, way, tstamp);
	*at = index;
	return true;
}

#endif /* NTRACE_FAST_AFTER_H */
