// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Search for executions of addresses. The index shows which segments need not be decoded. */
#include "replay-priv.h"

struct search {
	struct nt_replay *replay;
	int32_t		tid;
	const uint64_t	*addrs;
	size_t		nr;
	bool		back;
	/* the nearest match so far */
	bool		found, gap;
	uint32_t	lane, insn;
	struct ns_spot	spot;
	uint64_t	time;
};

/*
 * Find the first of the instructions [@from, @to) of a run that has a wanted address, or the last one in a backward
 * search. Return the number of the instruction, -1 if no instruction was found, or -2 after an error.
 */
static int64_t match(const struct search *s, uint32_t lane, const struct ns_run *run, uint32_t from, uint32_t to)
{
	uint64_t addrs[NT_RANGE_HALFWORDS], size = 2 * run->halfwords;
	size_t j, i;
	bool may = false;

	if (s->tid >= 0 && !ns_run_is_of(s->replay, lane, run, s->tid))
		return -1;
	for (j = 0; j < s->nr; j++)
		may |= s->addrs[j] - run->start < size;
	to = to < run->insns ? to : run->insns;
	if (!may || from >= to)
		return -1;
	if (!ns_run_addrs(s->replay, run, addrs))
		return -2;
	for (i = 0; i < to - from; i++) {
		size_t at = s->back ? to - 1 - i : from + i;

		for (j = 0; j < s->nr; j++) {
			if (addrs[at] == s->addrs[j])
				return at;
		}
	}
	return -1;
}

static void keep(struct search *s, uint32_t lane, struct ns_spot spot, const struct ns_run *run, uint32_t insn, bool gap)
{
	bool nearer = s->back ? run->time > s->time || (run->time == s->time && lane > s->lane) :
				run->time < s->time || (run->time == s->time && lane < s->lane);

	if (s->found && !nearer)
		return;
	s->found = true;
	s->gap = gap;
	s->lane = lane;
	s->spot = spot;
	s->insn = insn;
	s->time = run->time;
}

static bool may_have(const struct search *s, uint32_t lane, const struct ns_chunk *chunk)
{
	size_t j;

	if (!chunk->runs)
		return false;
	if (chunk->has_gap)
		return true;
	if (s->tid >= 0 && !ns_chunk_may_be_of(s->replay, lane, chunk, s->tid))
		return false;
	for (j = 0; j < s->nr; j++) {
		if (ns_chunk_may_have(chunk, s->addrs[j]))
			return true;
	}
	return false;
}

/*
 * Search the runs [@from, @to) of a segment. A backward search starts with the newest run. Its *gap is true if trace is
 * missing between the run that it has searched last and the next run that it searches, which was executed before.
 * Return 1 if a wanted address or missing trace was found, 0 if neither was found, or -1 after an error.
 */
static int search_segment(struct search *s, uint32_t lane, struct ns_spot spot, uint32_t from, uint32_t to, bool *gap)
{
	const struct ns_decoded *d = ns_replay_decode(s->replay, lane, spot.segment);
	const struct ns_run *run;
	int64_t insn;
	uint32_t i;

	if (!d)
		return -1;
	for (i = 0; i < to - from; i++) {
		spot.run = s->back ? to - 1 - i : from + i;
		run = &d->runs.at[spot.run];
		if (s->back ? *gap : run->gap) {
			keep(s, lane, spot, run, s->back ? run->insns - 1 : 0, true);
			return 1;
		}
		insn = match(s, lane, run, 0, run->insns);
		if (insn < -1)
			return -1;
		if (insn >= 0) {
			keep(s, lane, spot, run, insn, false);
			return 1;
		}
		*gap = run->gap;
	}
	return 0;
}

static bool is_too_far(const struct search *s, const struct ns_chunk *chunk)
{
	return s->found && (s->back ? chunk->last < s->time : chunk->first > s->time);
}

/*
 * Search the run at @spot and the later runs of a lane, or, in a backward search, the runs before @spot. @gap is true
 * if trace is missing before the run at @spot.
 */
static int search_lane(struct search *s, uint32_t lane, struct ns_spot spot, bool gap)
{
	const struct ns_lane *l = &s->replay->lanes.at[lane];
	const struct ns_chunk *chunk;
	int64_t i = spot.segment;
	uint32_t from, to;
	int ret = 0;

	if (s->back && i >= (int64_t)l->segments.nr) {
		i = (int64_t)l->segments.nr - 1;
		spot.run = UINT32_MAX;
	}
	for (; !ret && i >= 0 && i < (int64_t)l->segments.nr; i += s->back ? -1 : 1) {
		chunk = &l->segments.at[i];
		if (is_too_far(s, chunk))
			break;
		from = !s->back && i == (int64_t)spot.segment ? spot.run : 0;
		to = s->back && i == (int64_t)spot.segment && spot.run < chunk->runs ? spot.run : chunk->runs;
		if (from < to && (may_have(s, lane, chunk) || (s->back && gap)))
			ret = search_segment(s, lane, (struct ns_spot){ .segment = i }, from, to, &gap);
		else if (chunk->runs && from < to)
			gap = false;
	}
	return ret;
}

/* Search the rest of the current run. Return the same values as search_segment(). */
static int search_run(struct search *s, const struct ns_run *run)
{
	struct nt_replay *replay = s->replay;
	int64_t insn = s->back ? match(s, replay->lane, run, 0, replay->insn) :
				 match(s, replay->lane, run, replay->insn + 1, run->insns);

	if (insn < 0)
		return insn < -1 ? -1 : 0;
	replay->insn = insn;
	return 1;
}

int nt_replay_find(struct nt_replay *replay, int32_t tid, const uint64_t *addrs, size_t nr, bool backwards)
{
	struct search s = { .replay = replay, .tid = tid, .addrs = addrs, .nr = nr, .back = backwards };
	uint32_t lane = replay->lane, i;
	const struct ns_run *run;
	struct ns_spot spot;
	int ret;
	bool gap;

	if (!replay->insns)
		return NT_REPLAY_END;
	run = ns_replay_run(replay, lane, replay->next[lane]);
	if (!run)
		return -1;
	gap = run->gap;
	ret = search_run(&s, run);
	for (i = 0; !ret && i < replay->lanes.nr; i++) {
		spot = replay->next[i];
		if (i == lane && !backwards)
			spot.run++;
		if (search_lane(&s, i, spot, i == lane && gap) < 0)
			return -1;
	}
	if (ret)
		return ret;
	if (!s.found) {
		nt_replay_seek(replay, backwards ? 0 : UINT64_MAX);
		return NT_REPLAY_END;
	}
	if (!ns_replay_set(replay, s.lane, s.spot, s.insn))
		return -1;
	return s.gap ? NT_REPLAY_GAP : NT_REPLAY_MOVED;
}
