// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare a replay with one pass over the whole recording. A replay can go to any position of a recording. The
 * comparison is made at random positions, step by step, and for each execution of an address.
 *
 *	replay RECORDING SEGMENT [SYMFS]	SEGMENT is the minimum size of a segment in bytes of trace
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/array.h"
#include "session/calls/chains.h"
#include "session/replay/replay-priv.h"

#define DEPTH	64
#define PLACES	400

struct insn {
	uint64_t	pc, time;
	int32_t		tid;
	uint32_t	lane, nth;	/* index of the trace of a CPU (lane), and index in this lane */
	bool		has_callers;
	uint16_t	nr;		/* number of callers */
	uint32_t	callers;	/* hash of the return addresses of all callers */
};

struct lane {
	uint32_t	buffer;
	int32_t		cpu;
	uint64_t	insns, last;
	size_t		start;		/* index of the lane's first instruction if instructions are sorted by lane */
};

static struct {
	NS_ARRAY(struct lane) lanes;
	NS_ARRAY(struct insn) insns;
	struct nt_session *session;
	struct nt_chains *chains;
} all;

struct part {
	NS_ARRAY(struct insn) insns;
	struct nt_chain	*chain;
	uint64_t	time, at;
	uint32_t	lane;
};

static uint32_t lane_of(const struct nt_who *who)
{
	size_t i;

	for (i = 0; i < all.lanes.nr; i++) {
		if (all.lanes.at[i].buffer == who->buffer && all.lanes.at[i].cpu == who->cpu)
			return i;
	}
	if (!ns_array_add(&all.lanes, ((struct lane){ .buffer = who->buffer, .cpu = who->cpu })))
		exit(2);
	return all.lanes.nr - 1;
}

static unsigned int length(uint16_t low)
{
	return (low & 3) != 3 ? 2 : 4;
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (ctx)
		p->chain = nt_chain_new(all.chains, stretch);
	return p;
}

static int ranges(void *part, const struct nt_who *who, const struct nt_batch *b)
{
	struct part *p = part;
	size_t i, m = 0;
	uint64_t addr;
	uint16_t code;

	addr = nt_who_time(who, b->tstamp, b->tstamp_kind);
	p->time = addr > p->time ? addr : p->time;
	for (i = 0; i < b->nr; i++) {
		while (m < b->nr_marks && b->marks[m].range <= i)
			m++;
		if (m < b->nr_marks && b->marks[m].range == i + 1) {
			addr = nt_who_time(who, b->marks[m].tstamp, b->marks[m].tstamp_kind);
			p->time = addr > p->time ? addr : p->time;
		}
		for (addr = b->ranges[i].start; addr < b->ranges[i].start + 2 * b->ranges[i].halfwords; addr += length(code)) {
			if (nt_who_read(who, addr, &code, 2) != 2 ||
			    !ns_array_add(&p->insns, ((struct insn){ .pc = addr, .time = p->time, .tid = who->tid })))
				return -1;
		}
	}
	return 0;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct part *p = part;
	uint32_t lane = lane_of(who);
	struct lane *l = &all.lanes.at[lane];
	size_t i;

	for (i = 0; i < p->insns.nr; i++) {
		struct insn *insn = &p->insns.at[i];

		insn->lane = lane;
		insn->nth = l->insns++;
		insn->time = l->last = insn->time > l->last ? insn->time : l->last;
		if (!ns_array_add(&all.insns, *insn))
			return -1;
	}
	free(p->insns.at);
	free(p);
	return 0;
}

/* ---- Callers of the instructions, from one pass over all branches ---- */

static uint32_t hash_of(const uint64_t *returns, size_t nr)
{
	uint64_t h = nr;
	size_t i;

	for (i = 0; i < nr; i++)
		h = (h ^ returns[i]) * 0x9e3779b97f4a7c15ULL;
	return h >> 32;
}

/* Note the callers of the first instruction after a branch. */
static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	uint32_t lane = lane_of(who);
	uint64_t returns[DEPTH];
	size_t nr, at;

	if (nt_chain_branch(p->chain, who, b))
		return -1;
	p->at += b->insns;
	nr = nt_chain_get(p->chain, returns, DEPTH);
	if (b->flags & NT_BRANCH_END)
		return 0;
	/* the instructions are still sorted by lane (trace of a CPU). straight_pass() sorts them by time later */
	at = all.lanes.at[lane].start + all.lanes.at[lane].insns + p->at;
	if (at < all.insns.nr && all.insns.at[at].lane == lane && all.insns.at[at].pc == b->to) {
		all.insns.at[at].has_callers = true;
		all.insns.at[at].nr = nr;
		all.insns.at[at].callers = hash_of(returns, nr);
	}
	return 0;
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	nt_chain_error(((struct part *)part)->chain, item);
	return 0;
}

static int end_branches(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct part *p = part;

	all.lanes.at[lane_of(who)].insns += p->at;
	nt_chain_free(p->chain);
	free(p);
	return 0;
}

static int by_lane(const void *a, const void *b)
{
	const struct insn *x = a, *y = b;

	return ns_order(x->lane, y->lane) ?: ns_order(x->nth, y->nth);
}

static int by_time(const void *a, const void *b)
{
	const struct insn *x = a, *y = b;

	return ns_order(x->time, y->time) ?: ns_order(x->lane, y->lane) ?: ns_order(x->nth, y->nth);
}

static int straight_pass(void)
{
	const struct nt_consumer consumer = { .size = sizeof(consumer), .begin = begin, .ranges = ranges, .end = end };
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error, .end = end_branches,
	};
	size_t i, start = 0;

	if (nt_session_decode(all.session, &consumer, NULL))
		return -1;
	all.chains = nt_chains_new(all.session);
	if (!all.chains)
		return -1;
	ns_array_sort(&all.insns, by_lane);
	for (i = 0; i < all.lanes.nr; i++) {
		all.lanes.at[i].start = start;
		start += all.lanes.at[i].insns;
	}
	for (i = 0; i < all.lanes.nr; i++)
		all.lanes.at[i].insns = 0;
	if (nt_session_branches(all.session, &sink, &all))
		return -1;
	ns_array_sort(&all.insns, by_time);
	return 0;
}

/* ---- Comparison of the replay with the instructions that straight_pass() decoded ---- */

static unsigned int wrong, compared, with_callers;

static void fail(const char *what, size_t at, uint64_t got, uint64_t wanted)
{
	if (wrong++ < 10)
		printf("# %s at instruction %zu: %#" PRIx64 ", not %#" PRIx64 "\n", what, at, got, wanted);
}

static void compare(struct nt_replay *replay, size_t at)
{
	struct nt_replay_caller callers[DEPTH + 1];
	const struct insn *insn = &all.insns.at[at];
	struct nt_replay_place place = { 0 };
	uint64_t returns[DEPTH];
	size_t i, nr;

	compared++;
	if (!nt_replay_here(replay, &place) || place.addr != insn->pc)
		fail("the PC", at, place.addr, insn->pc);
	if (place.insn != at)
		fail("the number", at, place.insn, at);
	if (place.time != insn->time)
		fail("the time", at, place.time, insn->time);
	if (place.tid != insn->tid)
		fail("the thread", at, place.tid, insn->tid);
	if (!insn->has_callers)
		return;
	with_callers++;
	nr = nt_replay_callers(replay, insn->tid, callers, DEPTH + 1);
	if (!nr || callers[0].addr != insn->pc)
		fail("the innermost function", at, nr, 1);
	for (i = 1; i < nr && i <= DEPTH; i++)
		returns[i - 1] = callers[i].addr;
	if (nr && (nr - 1 > DEPTH ? DEPTH : nr - 1) != insn->nr)
		fail("the number of callers", at, nr - 1, insn->nr);
	else if (nr && hash_of(returns, insn->nr) != insn->callers)
		fail("the callers", at, hash_of(returns, insn->nr), insn->callers);
}

static void random_places(struct nt_replay *replay)
{
	size_t i, at;

	for (i = 0; i < PLACES; i++) {
		at = ((uint64_t)rand() << 31 | rand()) % all.insns.nr;
		/* callers are known only for the first instruction after a branch, so go on until they are known */
		while (at + 1 < all.insns.nr && !all.insns.at[at].has_callers)
			at++;
		if (nt_replay_seek(replay, at) != NT_REPLAY_MOVED)
			fail("seek", at, 0, 1);
		compare(replay, at);
	}
}

static void step_over(struct nt_replay *replay, size_t from, size_t to)
{
	size_t at = from;

	nt_replay_seek(replay, from);
	while (at < to && at + 1 < all.insns.nr) {
		if (nt_replay_step(replay, -1, false) <= 0)
			fail("a step", at, 0, 1);
		compare(replay, ++at);
	}
	while (at-- > from) {
		if (nt_replay_step(replay, -1, true) <= 0)
			fail("a step back", at, 0, 1);
		compare(replay, at);
	}
}

static void steps(struct nt_replay *replay)
{
	size_t from, i;

	for (i = 0; i < 8; i++) {
		from = i ? rand() % all.insns.nr : 0;
		step_over(replay, from, from + PLACES);
	}
}

/* Step over the borders of segments, and check that the index contains the callers before a border. */
static void borders(struct nt_replay *replay)
{
	struct nt_replay_place place;
	struct ns_lane *lane;
	size_t i, from;

	for (lane = replay->lanes.at; lane < replay->lanes.at + replay->lanes.nr; lane++) {
		for (i = 1; i < lane->segments.nr; i += lane->segments.nr / 8 + 1) {
			if (nt_replay_seek_time(replay, lane->segments.at[i].first) < 0 || !nt_replay_here(replay, &place))
				fail("a time", i, 0, lane->segments.at[i].first);
			from = place.insn < 24 ? 0 : place.insn - 24;
			step_over(replay, from, from + 48);
		}
	}
}

/* Check that a replay decodes only a few segments to find the callers at the end of a recording. */
static void first_callers(const struct nt_replay_options *how)
{
	struct nt_replay *replay = nt_replay_new(all.session, how);
	struct nt_replay_caller caller;
	size_t before = replay->decoded;

	if (nt_replay_seek(replay, all.insns.nr - 1) < 0 || !nt_replay_callers(replay, all.insns.at[all.insns.nr - 1].tid, &caller, 1))
		fail("the last instruction", all.insns.nr - 1, 0, 1);
	/* in the trace of each CPU, the replay decodes the segment at this position, and maybe the previous segment */
	if (replay->decoded - before > 2 * replay->lanes.nr)
		fail("the number of decoded segments", all.insns.nr - 1, replay->decoded - before, 2 * replay->lanes.nr);
	nt_replay_free(replay);
}

/* Go to the next or previous execution of an address. Skip gaps, except a gap at the instruction @wanted. */
static int meet(struct nt_replay *replay, uint64_t pc, bool backwards, size_t wanted, struct nt_replay_place *place)
{
	int ret;

	do {
		ret = nt_replay_find(replay, -1, &pc, 1, backwards);
		if (!nt_replay_here(replay, place))
			return -1;
		if (ret == NT_REPLAY_GAP && place->insn == wanted)
			return NT_REPLAY_MOVED;
	} while (ret == NT_REPLAY_GAP);
	return ret;
}

/* Search for each execution of the address of instruction @at, forwards and backwards. */
static void executions(struct nt_replay *replay, size_t at)
{
	uint64_t pc = all.insns.at[at].pc;
	struct nt_replay_place place;
	size_t i;
	int ret;

	nt_replay_seek(replay, 0);
	for (i = 1; i < all.insns.nr; i++) {
		if (all.insns.at[i].pc != pc)
			continue;
		ret = meet(replay, pc, false, i, &place);
		if (ret != NT_REPLAY_MOVED || place.insn != i) {
			fail("the next execution", i, ret == NT_REPLAY_MOVED ? place.insn : 0, i);
			return;
		}
	}
	ret = meet(replay, pc, false, SIZE_MAX, &place);
	if (ret)
		fail("one execution too many", at, ret, 0);
	for (i = all.insns.nr - 1; i-- > 0;) {
		if (all.insns.at[i].pc != pc)
			continue;
		ret = meet(replay, pc, true, i, &place);
		if (ret != NT_REPLAY_MOVED || place.insn != i) {
			fail("the previous execution", i, ret == NT_REPLAY_MOVED ? place.insn : 0, i);
			return;
		}
	}
}

/* Search for an instruction that executed once, next to a loop in the code. The search must decode few segments. */
static void executed_once(struct nt_replay *replay, uint64_t pc)
{
	size_t before = replay->decoded;
	int ret = nt_replay_seek(replay, UINT64_MAX) < 0 ? -1 : nt_replay_find(replay, -1, &pc, 1, true);

	if (ret != NT_REPLAY_MOVED || replay->decoded - before > 5)
		fail("the number of decoded segments, or the result of the search", ret, replay->decoded - before, 5);
}

int main(int argc, char **argv)
{
	struct nt_session_options options = { .size = sizeof(options), .threads = 1, .symfs = argv[3] };
	struct nt_replay_options how = { .size = sizeof(how), .pid = -1, .kernel = true };
	struct nt_replay *replay;
	size_t segments = 0;
	unsigned int i;

	if (argc < 3)
		return 2;
	how.segment = strtoull(argv[2], NULL, 0);
	if (nt_session_open(&all.session, argv[1], &options) || straight_pass()) {
		fprintf(stderr, "%s\n", nt_session_error(all.session));
		return 2;
	}
	replay = nt_replay_new(all.session, &how);
	if (!replay || !all.insns.nr)
		return 2;
	if (nt_replay_insns(replay) != all.insns.nr)
		fail("the number of instructions", 0, nt_replay_insns(replay), all.insns.nr);
	srand(1);
	random_places(replay);
	steps(replay);
	borders(replay);
	if (!getenv("SWITCHES"))
		first_callers(&how);
	if (getenv("ONCE"))
		executed_once(replay, strtoull(getenv("ONCE"), NULL, 16));
	for (i = 0; i < 4; i++)
		executions(replay, rand() % all.insns.nr);
	for (i = 0; i < replay->lanes.nr; i++)
		segments += replay->lanes.at[i].segments.nr;
	printf("%zu segments, %zu instructions, %zu events in the index, %u places, %u with callers, %u wrong\n", segments,
	       all.insns.nr, replay->events, compared, with_callers, wrong);
	nt_replay_free(replay);
	nt_chains_free(all.chains);
	nt_session_close(all.session);
	return wrong || !with_callers;
}
