// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Move the position of a replay. nt_replay::next contains the next run of each lane. The current run is the earliest
 * of these runs, or the one on the first lane if several have the same time. The position is an instruction of the
 * current run.
 */
#include "replay-priv.h"

#define LARGE	131072	/* a segment with more runs is large, because a decoded run takes 56 bytes */

const struct ns_decoded *ns_replay_decode(struct nt_replay *replay, uint32_t lane, uint32_t segment)
{
	const struct ns_chunk *s = &replay->lanes.at[lane].segments.at[segment];
	struct ns_decoded *d, *oldest = replay->cache;
	size_t nr = NS_CACHE;

	/*
	 * a replay for nt_path_next() reads the segments of each lane only once and in order, so one entry for each
	 * lane is enough. Use no more entries, so that they fit into the processor's cache. Also keep few large segments
	 */
	if ((replay->options.paths || s->runs > LARGE) && replay->lanes.nr < nr)
		nr = replay->lanes.nr + 1;
	for (d = replay->cache; d < replay->cache + nr; d++) {
		if (d->segment == s) {
			d->used = ++replay->uses;
			return d;
		}
		if (d->used < oldest->used)
			oldest = d;
	}
	oldest->used = ++replay->uses;
	return ns_replay_segment(replay, s, oldest) ? NULL : oldest;
}

const struct ns_run *ns_replay_run(struct nt_replay *replay, uint32_t lane, struct ns_spot spot)
{
	const struct ns_decoded *d;

	/* after a failed move, the position may be after the last run */
	if (spot.segment >= replay->lanes.at[lane].segments.nr)
		return NULL;
	d = ns_replay_decode(replay, lane, spot.segment);
	return d && spot.run < d->runs.nr ? &d->runs.at[spot.run] : NULL;
}

static const struct ns_chunk *chunk_at(const struct nt_replay *replay, uint32_t lane, uint32_t segment)
{
	return &replay->lanes.at[lane].segments.at[segment];
}

/* Skip segments without runs. Return false after the last run of the lane. */
static bool settle_forwards(const struct nt_replay *replay, uint32_t lane, struct ns_spot *spot)
{
	while (spot->segment < replay->lanes.at[lane].segments.nr) {
		if (spot->run < chunk_at(replay, lane, spot->segment)->runs)
			return true;
		spot->segment++;
		spot->run = 0;
	}
	return false;
}

/* Move to the previous run. Return false before the first run of the lane. */
static bool move_back(const struct nt_replay *replay, uint32_t lane, struct ns_spot *spot)
{
	while (!spot->run) {
		if (!spot->segment)
			return false;
		spot->run = chunk_at(replay, lane, --spot->segment)->runs;
	}
	spot->run--;
	return true;
}

/* Get the time of a run. The index has the times of a segment's first and last run. Return false after an error. */
static bool time_of(struct nt_replay *replay, uint32_t lane, struct ns_spot spot, uint64_t *time)
{
	const struct ns_chunk *s = chunk_at(replay, lane, spot.segment);
	const struct ns_run *run;

	if (!spot.run || spot.run + 1 == s->runs) {
		*time = spot.run ? s->last : s->first;
		return true;
	}
	run = ns_replay_run(replay, lane, spot);
	*time = run ? run->time : 0;
	return run;
}

/* Find the first run of a lane at @time or later. Return false after an error. */
static bool spot_at(struct nt_replay *replay, uint32_t lane, uint64_t time, struct ns_spot *spot)
{
	const struct ns_lane *l = &replay->lanes.at[lane];
	const struct ns_decoded *d;

	*spot = (struct ns_spot){ .segment = ns_lower_bound(l->segments.nr, l->segments.at[i].last < time) };
	if (spot->segment >= l->segments.nr || l->segments.at[spot->segment].first >= time)
		return true;
	d = ns_replay_decode(replay, lane, spot->segment);
	if (!d)
		return false;
	spot->run = ns_lower_bound(d->runs.nr, d->runs.at[i].time < time);
	return true;
}

bool ns_replay_set(struct nt_replay *replay, uint32_t lane, struct ns_spot spot, uint32_t insn)
{
	uint64_t time;
	uint32_t i;

	if (!time_of(replay, lane, spot, &time))
		return false;
	for (i = 0; i < replay->lanes.nr; i++) {
		/* runs with the same time are ordered by lane */
		if (i != lane && !spot_at(replay, i, i > lane ? time : time + 1, &replay->next[i]))
			return false;
	}
	replay->next[lane] = spot;
	replay->lane = lane;
	replay->insn = insn;
	return true;
}

int ns_replay_lane_run(struct nt_replay *replay, uint32_t lane, int32_t tid, bool back, struct ns_spot *spot)
{
	const struct ns_lane *l = &replay->lanes.at[lane];
	const struct ns_decoded *d;

	for (;;) {
		if (back ? !move_back(replay, lane, spot) : !settle_forwards(replay, lane, spot))
			return 0;
		if (tid == NS_ANY_THREAD)
			return 1;
		if (!ns_chunk_may_be_of(replay, lane, &l->segments.at[spot->segment], tid)) {
			spot->segment += !back;
			spot->run = 0;
			continue;
		}
		d = ns_replay_decode(replay, lane, spot->segment);
		if (!d)
			return -1;
		while (!ns_run_is_of(replay, lane, &d->runs.at[spot->run], tid) && (back ? spot->run > 0 : spot->run + 1 < d->runs.nr))
			spot->run += back ? -1 : 1;
		if (ns_run_is_of(replay, lane, &d->runs.at[spot->run], tid))
			return 1;
		spot->run += !back;
	}
}

/* Find the next run of a thread on any lane, or the previous run if @back. Return 1, 0 if there is none, or -1. */
static int thread_run(struct nt_replay *replay, int32_t tid, bool back, uint32_t *lane, struct ns_spot *spot)
{
	bool found = false;
	uint64_t best = 0, time;
	uint32_t i;
	int ret;

	for (i = 0; i < replay->lanes.nr; i++) {
		struct ns_spot at = replay->next[i];

		ret = ns_replay_lane_run(replay, i, tid, back, &at);
		if (ret < 0 || (ret && !time_of(replay, i, at, &time)))
			return -1;
		if (!ret || (found && (back ? time < best : time >= best)))
			continue;
		found = true;
		best = time;
		*lane = i;
		*spot = at;
	}
	return found;
}

/* Choose the lane whose next run has the earliest time. Return 1; 0 after the last run; -1 after an error. */
static int choose_next(struct nt_replay *replay)
{
	struct ns_spot spot;
	uint32_t lane;
	int ret = thread_run(replay, NS_ANY_THREAD, false, &lane, &spot);

	if (ret <= 0)
		return ret;
	replay->next[lane] = spot;
	replay->lane = lane;
	return 1;
}

static const struct ns_run *current(struct nt_replay *replay)
{
	struct ns_spot spot = replay->lanes.nr ? replay->next[replay->lane] : (struct ns_spot){ 0 };

	if (!replay->insns || !settle_forwards(replay, replay->lane, &spot))
		return NULL;
	return ns_replay_run(replay, replay->lane, spot);
}

/* Move to the run after the current one. Return the same values as nt_replay_step(). */
static int next_run(struct nt_replay *replay)
{
	uint32_t lane = replay->lane;
	const struct ns_run *run;
	int ret;

	replay->next[lane].run++;
	ret = choose_next(replay);
	if (ret <= 0) {
		replay->next[lane].run--;
		replay->lane = lane;
		return ret;
	}
	replay->insn = 0;
	run = current(replay);
	return !run ? -1 : run->gap ? NT_REPLAY_GAP : NT_REPLAY_MOVED;
}

/* ---- Instructions ---- */

/* RISC-V unprivileged ISA, "Base Instruction-Length Encoding" */
static unsigned int length_of(uint16_t low)
{
	return (low & 3) != 3 ? 2 : (low & 0x1f) != 0x1f ? 4 : (low & 0x3f) == 0x1f ? 6 : 8;
}

bool ns_run_addrs(struct nt_replay *replay, const struct ns_run *run, uint64_t addrs[NT_RANGE_HALFWORDS])
{
	size_t size = 2 * run->halfwords, at = 0, n = 0;
	uint16_t code[NT_RANGE_HALFWORDS];

	if (run->halfwords > NT_RANGE_HALFWORDS ||
	    nt_session_read(replay->session, run->space, run->start, code, size) != size)
		return false;
	for (; at < size && n < run->insns; at += length_of(code[at / 2]))
		addrs[n++] = run->start + at;
	return n == run->insns;
}

static uint64_t insns_before(const struct nt_replay *replay, uint32_t lane, struct ns_spot spot, uint64_t in_segment)
{
	const struct ns_lane *l = &replay->lanes.at[lane];

	return spot.segment < l->segments.nr ? l->segments.at[spot.segment].before + in_segment : l->insns;
}

/* Return the number of shown instructions of all CPUs before the position; UINT64_MAX after an error. */
static uint64_t insns_at(struct nt_replay *replay)
{
	const struct ns_run *run;
	uint64_t sum = replay->insn;
	uint32_t i;

	for (i = 0; i < replay->lanes.nr; i++) {
		struct ns_spot spot = replay->next[i];

		run = NULL;
		if (settle_forwards(replay, i, &spot) && spot.run) {
			run = ns_replay_run(replay, i, spot);
			if (!run)
				return UINT64_MAX;
		}
		sum += insns_before(replay, i, spot, run ? run->before : 0);
	}
	return sum;
}

static bool fill(struct nt_replay *replay, uint32_t lane, const struct ns_run *run, uint32_t insn,
		 struct nt_replay_place *place)
{
	uint64_t addrs[NT_RANGE_HALFWORDS];

	if (!run || !ns_run_addrs(replay, run, addrs))
		return false;
	*place = (struct nt_replay_place){
		.addr = addrs[insn < run->insns ? insn : run->insns - 1], .space = run->space, .time = run->time,
		.tid = run->tid, .pid = run->pid, .cpu = replay->lanes.at[lane].cpu,
	};
	place->thread = replay->options.cpus ? place->cpu : place->tid;
	return true;
}

bool nt_replay_here(struct nt_replay *replay, struct nt_replay_place *place)
{
	if (!fill(replay, replay->lane, current(replay), replay->insn, place))
		return false;
	place->insn = insns_at(replay);
	return true;
}

/* ---- Seek ---- */

int nt_replay_seek_time(struct nt_replay *replay, uint64_t time)
{
	int32_t last = -1;
	uint64_t best = 0;
	uint32_t i;
	int ret;

	for (i = 0; i < replay->lanes.nr; i++) {
		if (!spot_at(replay, i, time, &replay->next[i]))
			return -1;
	}
	replay->insn = 0;
	ret = choose_next(replay);
	if (ret)
		return ret;
	/* all runs are before @time, so go to the last instruction of the lane that ends last */
	for (i = 0; i < replay->lanes.nr; i++) {
		if (!replay->lanes.at[i].insns || (last >= 0 && replay->lanes.at[i].last < best))
			continue;
		last = i;
		best = replay->lanes.at[i].last;
	}
	if (last < 0)
		return NT_REPLAY_END;
	replay->lane = last;
	move_back(replay, last, &replay->next[last]);
	replay->insn = current(replay) ? current(replay)->insns - 1 : 0;
	return NT_REPLAY_END;
}

/* Return the latest time before which the CPUs executed at most @insn instructions. */
static uint64_t time_before(const struct nt_replay *replay, uint64_t insn)
{
	uint64_t low = 0, high = UINT64_MAX - 1, mid, sum;
	const struct ns_lane *l;

	while (low < high) {
		mid = low + (high - low) / 2 + 1;
		sum = 0;
		for (l = replay->lanes.at; l < replay->lanes.at + replay->lanes.nr; l++) {
			size_t nth = ns_lower_bound(l->segments.nr, l->segments.at[i].last < mid);

			/* add all instructions of the segment at the time @mid, so that the sum is an upper limit */
			sum += nth >= l->segments.nr ? l->insns :
			       l->segments.at[nth].before + (l->segments.at[nth].first < mid ? l->segments.at[nth].insns : 0);
		}
		if (sum <= insn)
			low = mid;
		else
			high = mid - 1;
	}
	return low;
}

/* Go to the segment that contains instruction @insn, if there is only one lane. */
static int seek_segment(struct nt_replay *replay, uint64_t insn)
{
	const struct ns_lane *l = replay->lanes.at;

	replay->lane = 0;
	replay->next[0] = (struct ns_spot){
		.segment = ns_lower_bound(l->segments.nr, l->segments.at[i].before + l->segments.at[i].insns <= insn),
	};
	return NT_REPLAY_MOVED;
}

int nt_replay_seek(struct nt_replay *replay, uint64_t insn)
{
	const struct ns_run *run;
	uint64_t at, insns;
	int ret;

	if (!replay->insns || insn >= replay->insns)
		return nt_replay_seek_time(replay, UINT64_MAX);
	ret = replay->lanes.nr == 1 ? seek_segment(replay, insn) :
	      nt_replay_seek_time(replay, time_before(replay, insn));
	if (ret < 0)
		return ret;
	replay->insn = 0;
	at = insns_at(replay);
	for (; ret >= 0 && at <= insn; at += insns) {
		run = current(replay);
		if (!run || at == UINT64_MAX)
			return -1;
		if (insn - at < run->insns) {
			replay->insn = insn - at;
			return NT_REPLAY_MOVED;
		}
		insns = run->insns;	/* next_run() may remove the run from the cache */
		ret = next_run(replay);
	}
	return -1;
}

/* ---- Threads ---- */

int ns_replay_thread_spot(struct nt_replay *replay, int32_t tid, uint32_t *lane, struct ns_spot *spot, uint32_t *insn)
{
	const struct ns_run *run = current(replay);
	int ret;

	*insn = 0;
	if (run && ns_run_is_of(replay, replay->lane, run, tid)) {
		*lane = replay->lane;
		*spot = replay->next[replay->lane];
		settle_forwards(replay, *lane, spot);
		*insn = replay->insn;
		return 1;
	}
	ret = thread_run(replay, tid, false, lane, spot);
	if (ret)
		return ret;
	ret = thread_run(replay, tid, true, lane, spot);
	run = ret > 0 ? ns_replay_run(replay, *lane, *spot) : NULL;
	*insn = run ? run->insns - 1 : 0;
	return ret;
}

bool nt_replay_where(struct nt_replay *replay, int32_t tid, struct nt_replay_place *place)
{
	struct ns_spot spot;
	uint32_t lane, insn;

	if (ns_replay_thread_spot(replay, tid, &lane, &spot, &insn) <= 0 ||
	    !fill(replay, lane, ns_replay_run(replay, lane, spot), insn, place))
		return false;
	place->insn = insns_at(replay);
	return true;
}

/* ---- Steps ---- */

/*
 * If @backwards is set, move to the thread's previous run. Otherwise move to the next run, which may be of another
 * thread; but if trace is missing before the next run of the thread @tid, move to that run.
 */
static int step_thread(struct nt_replay *replay, int32_t tid, bool backwards)
{
	uint32_t lane = replay->lane;
	struct ns_spot at = replay->next[lane], spot;
	const struct ns_run *run;
	bool gap;
	int ret;

	settle_forwards(replay, lane, &at);
	replay->next[lane] = at;
	run = current(replay);
	gap = run && run->gap && ns_run_is_of(replay, lane, run, tid);
	if (!backwards)
		replay->next[lane].run++;
	ret = thread_run(replay, tid, backwards, &lane, &spot);
	if (!backwards)
		replay->next[replay->lane] = at;
	if (ret <= 0)
		return ret;
	/*
	 * @gap is true if trace of this CPU is missing before the current run. Do not report this if the step is
	 * through all threads (NS_ANY_THREAD) and leads to a run on another CPU
	 */
	gap &= tid != NS_ANY_THREAD || lane == replay->lane;
	run = ns_replay_run(replay, lane, spot);
	if (run && !backwards && !run->gap)
		return next_run(replay) < 0 ? -1 : NT_REPLAY_MOVED;
	/* a step forwards to a run without missing trace before it has returned above */
	if (!run || !ns_replay_set(replay, lane, spot, backwards ? run->insns - 1 : 0))
		return -1;
	gap |= !backwards;
	return gap ? NT_REPLAY_GAP : NT_REPLAY_MOVED;
}

/* Go to the next instruction of a thread. Return the same values as nt_replay_step(). */
static int go_to_thread(struct nt_replay *replay, int32_t tid)
{
	struct ns_spot spot;
	uint32_t lane;
	int ret = thread_run(replay, tid, false, &lane, &spot);

	return ret > 0 && !ns_replay_set(replay, lane, spot, 0) ? -1 : ret;
}

/*
 * If no instruction of a thread follows, go to its last one, where nt_replay_where() shows the thread. Return 0 if an
 * instruction follows, or if the thread has none. Otherwise return the same values as nt_replay_step().
 */
static int go_to_last(struct nt_replay *replay, int32_t tid)
{
	const struct ns_run *run;
	struct ns_spot spot;
	uint32_t lane;
	int ret = thread_run(replay, tid, false, &lane, &spot);

	if (ret)
		return ret < 0 ? -1 : 0;
	ret = thread_run(replay, tid, true, &lane, &spot);
	if (ret <= 0)
		return ret;
	run = ns_replay_run(replay, lane, spot);
	return run && ns_replay_set(replay, lane, spot, run->insns - 1) ? NT_REPLAY_MOVED : -1;
}

int nt_replay_step(struct nt_replay *replay, int32_t tid, bool backwards)
{
	const struct ns_run *run = current(replay);
	int ret = replay->insns ? -1 : NT_REPLAY_END;

	tid = tid < 0 ? NS_ANY_THREAD : tid;
	if (run && backwards && !ns_run_is_of(replay, replay->lane, run, tid)) {
		ret = go_to_last(replay, tid);
		run = ret < 0 ? NULL : current(replay);
	}
	if (run && !backwards && !ns_run_is_of(replay, replay->lane, run, tid)) {
		ret = go_to_thread(replay, tid);
		run = ret > 0 ? current(replay) : NULL;
	}
	if (!run)
		return ret > 0 ? -1 : ret;
	if (!ns_run_is_of(replay, replay->lane, run, tid) || (backwards ? !replay->insn : replay->insn + 1 >= run->insns))
		return tid == NS_ANY_THREAD && !backwards ? next_run(replay) : step_thread(replay, tid, backwards);
	replay->insn += backwards ? -1 : 1;
	return NT_REPLAY_MOVED;
}

uint64_t nt_replay_insns(const struct nt_replay *replay)
{
	return replay->insns;
}

/* Set *cpu to the next larger number of a CPU. Return false after the last CPU. */
static bool next_cpu(const struct nt_replay *replay, int32_t *cpu)
{
	const struct ns_lane *l = replay->lanes.at, *end = l + replay->lanes.nr;
	int32_t next = INT32_MAX;

	for (; l < end; l++) {
		if (l->insns && l->cpu > *cpu && l->cpu < next)
			next = l->cpu;
	}
	*cpu = next;
	return next != INT32_MAX;
}

bool nt_replay_thread(const struct nt_replay *replay, size_t nth, int32_t *tid)
{
	if (replay->options.cpus) {
		for (*tid = -1; next_cpu(replay, tid) && nth; nth--)
			;
		return *tid != INT32_MAX;
	}
	if (nth >= replay->tids.nr)
		return false;
	*tid = replay->tids.at[nth];
	return true;
}
