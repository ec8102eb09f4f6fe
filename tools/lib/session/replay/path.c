// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Join the runs of one thread to pieces of code between two jumps (path.h). */
#include <stdlib.h>
#include <string.h>

#include "path.h"
#include "replay-priv.h"

#define LR		0x1000002f	/* RISC-V unprivileged ISA, "A" extension */
#define LR_MASK		0xf9f0007f
#define LOOPS		64	/* entries of the cache of loops; a power of two */
#define SIGNAL_RUNS	(1 << 16)	/* a signal handler with this number of runs or more is part of the path */

/* The next run of the thread among the runs of one lane (struct ns_lane) */
struct head {
	struct ns_spot	spot;
	uint64_t	time;		/* time of this run, if @found */
	bool		found, over;
};

/* The start of a loop, which is an address to which a branch jumps back */
struct loop {
	uint64_t	addr, space;
	bool		reserves;	/* the instruction is lr.w or lr.d */
};

struct nt_path {
	struct nt_replay *replay;
	struct head	*heads;
	const struct ns_run *runs;	/* instruction ranges (runs) of the segment of trace that is read now */
	uint64_t	uses;		/* @runs is valid as long as nt_replay::uses has this value */
	uint32_t	next, nr;	/* index of the next run, and number of runs */
	/* time up to which the runs of @lane come before the next run of any other lane, ns */
	uint64_t	limit;
	uint64_t	insns;
	struct nt_piece	open;		/* the piece of code that the next run may continue */
	uint32_t	lane;
	int32_t		tid;
	bool		has_lane, has_open;
	struct loop	loops[LOOPS];
};

/* ---- Runs ---- */

/* Find the next run of the thread on a lane. Return false after an error. */
static bool find_head(struct nt_path *p, uint32_t lane)
{
	struct head *h = &p->heads[lane];
	const struct ns_run *run;
	int ret;

	if (h->found || h->over)
		return true;
	ret = ns_replay_lane_run(p->replay, lane, p->tid, false, &h->spot);
	h->over = !ret;
	if (ret <= 0)
		return !ret;
	run = ns_replay_run(p->replay, lane, h->spot);
	h->found = run;
	h->time = run ? run->time : 0;
	return run;
}

/*
 * Choose the lane whose next run has the earliest time. Runs with the same time are ordered by lane. Return the same
 * values as nt_path_next().
 */
static int choose_lane(struct nt_path *p)
{
	uint64_t limit;
	uint32_t i;

	p->has_lane = false;
	p->limit = UINT64_MAX;
	for (i = 0; i < p->replay->lanes.nr; i++) {
		if (!find_head(p, i))
			return -1;
		if (p->heads[i].found && (!p->has_lane || p->heads[i].time < p->heads[p->lane].time)) {
			p->lane = i;
			p->has_lane = true;
		}
	}
	for (i = 0; i < p->replay->lanes.nr; i++) {
		limit = p->heads[i].time - (i < p->lane);
		if (p->heads[i].found && i != p->lane && limit < p->limit)
			p->limit = limit;
	}
	return p->has_lane;
}

/* Return the next run, or NULL after the last one; *err is set after an error. */
static const struct ns_run *next_run(struct nt_path *p, bool *err)
{
	const struct ns_decoded *decoded;
	const struct ns_run *run;
	struct head *h;
	int ret;

	for (;;) {
		run = &p->runs[p->next];
		if (p->next < p->nr && p->uses == p->replay->uses && run->tid == p->tid && run->time <= p->limit) {
			p->next++;
			return run;
		}
		if (p->has_lane) {
			p->heads[p->lane].spot.run = p->next;
			p->heads[p->lane].found = false;
		}
		ret = choose_lane(p);
		*err |= ret < 0;
		if (ret <= 0)
			return NULL;
		h = &p->heads[p->lane];
		decoded = ns_replay_decode(p->replay, p->lane, h->spot.segment);
		*err |= !decoded;
		if (!decoded)
			return NULL;
		p->runs = decoded->runs.at;
		p->next = h->spot.run;
		p->nr = decoded->runs.nr;
		p->uses = p->replay->uses;
	}
}

/* ---- Pieces ---- */

static bool is_gap(const struct nt_path *p, const struct ns_run *run)
{
	return run->gap || (run->trap && ns_gaps_between(&p->replay->gaps, p->tid, p->open.time, run->time));
}

/*
 * Return true if code at @to continues code that ended before @at. The kernel may have emulated the instruction at @at,
 * and then continues after it.
 */
static bool is_resumed(uint64_t at, uint64_t to)
{
	return to == at || to == at + 2 || to == at + 4;
}

/*
 * If *run and the next runs belong to a signal handler that returns to the end of the current piece of code, skip them,
 * and set *run to the run after them. Return false after an error.
 */
static bool skip_signal(struct nt_path *p, const struct ns_run **run)
{
	struct nt_path *ahead = nt_path_copy(p);
	const struct ns_run *next = NULL;
	bool err = !ahead;
	uint64_t insns = (*run)->insns;
	unsigned int nr;

	for (nr = 0; !err && nr < SIGNAL_RUNS; nr++) {
		next = next_run(ahead, &err);
		if (!next || is_gap(ahead, next))
			break;
		if (next->trap && is_resumed(p->open.end, next->start))
			break;
		insns += next->insns;
		ahead->open.time = next->time;
	}
	if (!err && next && nr < SIGNAL_RUNS && !is_gap(ahead, next)) {
		free(p->heads);
		*p = *ahead;
		p->insns += insns;
		*run = next;
		ahead->heads = NULL;
	} else if (!err) {
		/* read *run again, because its segment may have left the cache while @ahead read other segments */
		p->next--;
		*run = next_run(p, &err);
	}
	nt_path_free(ahead);
	return !err;
}

static void begin_piece(struct nt_path *p, const struct ns_run *run, bool gap)
{
	p->open = (struct nt_piece){ .start = run->start, .end = run->start, .space = run->space, .gap = gap };
	p->has_open = true;
}

static void add_to_piece(struct nt_path *p, const struct ns_run *run)
{
	p->insns += run->insns;
	p->open.end = run->start + 2 * run->halfwords;
	p->open.time = run->time;
	p->open.how = run->how;
	p->open.last_len = run->last_len;
	p->open.insns = p->insns;
}

/*
 * Return true if the run begins at an lr instruction to which a loop jumps back because its sc instruction has failed,
 * for example after an interrupt.
 */
static bool is_retry(struct nt_path *p, const struct ns_run *run)
{
	struct loop *l = &p->loops[(run->start >> 1) & (LOOPS - 1)];
	uint32_t insn = 0;

	if (p->open.how != NT_END_BRANCH || run->start < p->open.start || run->start >= p->open.end)
		return false;
	if (l->addr != run->start || l->space != run->space) {
		nt_session_read(p->replay->session, run->space, run->start, &insn, sizeof(insn));
		*l = (struct loop){ run->start, run->space, (insn & LR_MASK) == LR };
	}
	return l->reserves;
}

/*
 * Return 1 if the run continues the current piece of code, 0 if not, 2 if trace is missing between the piece and the
 * run, and -1 after an error. If *run belongs to a signal handler, set it to the run after the handler.
 */
static int continues(struct nt_path *p, const struct ns_run **run)
{
	if (!(*run)->trap && !(*run)->gap)
		return (*run)->start == p->open.end || is_retry(p, *run);
	if (is_gap(p, *run))
		return 2;
	if (p->open.how != NT_END_LINEAR || p->replay->options.kernel)
		return (*run)->start == p->open.end || is_retry(p, *run);
	if (!is_resumed(p->open.end, (*run)->start) && !skip_signal(p, run))
		return -1;
	return is_resumed(p->open.end, (*run)->start);
}

int nt_path_next(struct nt_path *p, struct nt_piece *piece)
{
	const struct ns_run *run;
	bool err = false;
	int ret;

	while ((run = next_run(p, &err))) {
		ret = p->has_open ? continues(p, &run) : 0;
		if (ret < 0 || !run)
			return -1;
		if (ret == 1) {
			add_to_piece(p, run);
			continue;
		}
		p->open.cut = ret == 2;
		*piece = p->open;
		ret = p->has_open;
		begin_piece(p, run, piece->cut && ret);
		add_to_piece(p, run);
		if (ret)
			return 1;
	}
	*piece = p->open;
	piece->cut = true;
	ret = err ? -1 : p->has_open;
	p->has_open = false;
	return ret;
}

/* ---- All ---- */

struct nt_path *nt_path_copy(const struct nt_path *path)
{
	size_t size = path->replay->lanes.nr * sizeof(*path->heads);
	struct nt_path *copy = malloc(sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *path;
	copy->heads = malloc(size + 1);
	if (copy->heads) {
		memcpy(copy->heads, path->heads, size);
		return copy;
	}
	free(copy);
	return NULL;
}

struct nt_path *nt_path_new(struct nt_replay *replay, int32_t tid)
{
	struct nt_path *path = calloc(1, sizeof(*path));

	if (!path)
		return NULL;
	path->replay = replay;
	path->tid = tid;
	path->heads = calloc(replay->lanes.nr + 1, sizeof(*path->heads));
	if (path->heads)
		return path;
	free(path);
	return NULL;
}

void nt_path_free(struct nt_path *path)
{
	if (path)
		free(path->heads);
	free(path);
}
