/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The log lists the code that the current messages report as executed, until this code is counted.
 * Only the fast path that counts ranges has a log.
 *
 * The log is the array nt_tally::log. Its contents depend on way::log.
 *
 * - If way::log is not set, the fast path looks up groups, and the log is a list of steps (tally.h).
 *   A new group is stored from these steps.
 * - If way::log is set, the fast path looks up only paths. The log then has one element for each
 *   executed path, which is the number of the path's record of steps (tally.h). If only a message
 *   shows which block follows the path, the next two elements are the last block of the path, with
 *   the flag LOG_EDGE, and the block that follows.
 */
#ifndef NTRACE_FAST_LOG_H
#define NTRACE_FAST_LOG_H

#include "fast-run.h"

/* Flag of a log entry that is the block before an edge. The next entry is the block after the edge. */
#define LOG_EDGE	(1u << 31)

/* Return the highest address to which decoding one message may advance hot::out. */
static __always_inline const struct nt_range *fast_log_end(const struct hot *hot, struct way way)
{
	return way.counts ? (struct nt_range *)(fast_steps(hot) + MESSAGE_STEPS) :
		hot->out + MAX_RUN;
}

/*
 * Add @path to the log. Its steps are already stored as a record (tally.h). If way::log is set, add the
 * number of this record. Otherwise copy the steps, because a record of several paths (a group) may be
 * made from them later.
 */
static __always_inline void fast_log_path(struct run *run, struct hot *hot, struct way way,
					  const struct nt_path *path)
{
	const struct nt_record *record = nt_tally_record(run->tally, path->ranges);

	uint32_t *steps = fast_steps(hot);

	if (way.log) {
		*steps = path->ranges % NR_WORDS;
		fast_set_steps(hot, steps + 1);
		return;
	}
	memcpy(steps, record->steps, PATH_RANGES * sizeof(*steps));
	fast_set_steps(hot, steps + path->nr_ranges);
}

static __always_inline void fast_log_edge(struct hot *hot, uint32_t from, uint32_t to)
{
	uint32_t *steps = fast_steps(hot);

	steps[0] = LOG_EDGE | from;
	steps[1] = to;
	fast_set_steps(hot, steps + 2);
}

/* Count all entries of the log. */
static __always_inline void fast_log_count(struct run *run, const struct hot *hot)
{
	struct nt_tally *tally = run->tally;
	const uint32_t *entry = tally->log;

	while (entry < fast_steps(hot)) {
		uint32_t what = *entry++;

		if (what & LOG_EDGE)
			nt_tally_add_edge(tally, nt_edge_key(run->src->space, what & ~LOG_EDGE,
							     *entry++), 1);
		else
			nt_tally_record(tally, what)->count++;
	}
}

#endif /* NTRACE_FAST_LOG_H */
