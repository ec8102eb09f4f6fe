// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode a part of the trace into runs and branches, for the index of the replay or for one segment
 * (part.h).
 */
#include <stdlib.h>
#include <string.h>

#include "part.h"

/* A segment with this number of runs is large, even if its trace is short because the history of branches repeats. */
#define SEGMENT_RUNS	65536

/* ---- Runs ---- */

static bool is_shown(const struct ns_replay_part *p, const struct nt_who *who, uint64_t addr)
{
	const struct nt_replay_options *options = &p->replay->options;

	return (options->pid < 0 || who->pid == options->pid) &&
	       (options->kernel || addr < p->replay->kernel_start);
}

/* Return the address space of the process, even in the kernel, because all address spaces have the same kernel code. */
static uint64_t space_of(const struct nt_who *who)
{
	return who->space == NS_SPACE_KERNEL && who->user >= NS_SPACE_GENERATION ? who->user : who->space;
}

#define note(array, value) (((array)->nr && (array)->at[(array)->nr - 1] == (value)) || ns_array_add(array, value))

static bool note_thread(struct ns_replay_part *p, const struct nt_who *who)
{
	return note(&p->tids, who->tid) && (space_of(who) < NS_SPACE_GENERATION || note(&p->spaces, space_of(who)));
}

/* Add a range to ns_chunk::code. Most ranges execute repeatedly, so skip ranges in the cache @p->noted. */
static void note_code(struct ns_replay_part *p, const struct nt_range *r)
{
	uint64_t addr = r->start, end = r->start + 2 * r->halfwords;
	struct ns_noted *noted = &p->noted[r->start / 2 % NS_NOTED];
	uint32_t bits[2];

	if (noted->start == r->start && noted->end == end)
		return;
	*noted = (struct ns_noted){ r->start, end };
	for (; addr < end; addr += 2) {
		ns_code_bits(addr, bits);
		p->now.code[bits[0] / 64] |= 1ULL << (bits[0] % 64);
		p->now.code[bits[1] / 64] |= 1ULL << (bits[1] % 64);
	}
}

/*
 * Return the thread that executes a range. The kernel writes the id of the next thread some time before it switches to
 * that thread, and code up to the switch still belongs to the previous thread. But in a replay for nt_path_next(), or
 * if the recording has a filter, return the thread whose id was written last, even before the switch.
 */
static const struct nt_who *owner_of(const struct ns_replay_part *p, const struct nt_who *who, const struct nt_range *range)
{
	return p->branch_part && p->running.known && p->running.who.tid != who->tid &&
	       range->start >= p->replay->kernel_start && !nt_session_is_filtered(p->replay->session) ? &p->running.who : who;
}

/* Return true if the range ends with a jump, or with a branch that was taken. */
static bool has_jumped(const struct nt_range *range)
{
	return range->how != NT_END_LINEAR && range->how < NT_END_TRAP &&
	       (range->how != NT_END_BRANCH || range->flags & NT_RANGE_TAKEN);
}

/*
 * Extend the last run of the segment by a range that continues it. Only a replay for nt_path_next() joins ranges in
 * this way. Return false if the range must be a new run.
 */
static bool extend_run(struct ns_replay_part *p, const struct nt_who *who, const struct nt_range *range)
{
	struct ns_run *run = p->out ? &p->out->runs.at[p->out->runs.nr - 1] : &p->last;

	if (p->gap || p->trap || run->tid != who->tid || run->how != NT_END_LINEAR ||
	    range->start != run->start + 2 * run->halfwords || run->halfwords + range->halfwords > UINT16_MAX)
		return false;
	run->halfwords += range->halfwords;
	run->insns += range->insns;
	run->time = p->now.last = p->time;
	run->how = has_jumped(range) ? range->how : NT_END_LINEAR;
	run->last_len = range->last_len;
	p->now.insns += range->insns;
	return true;
}

static bool make_run(struct ns_replay_part *p, const struct nt_who *who, const struct nt_range *range)
{
	const struct ns_run run = {
		.start = range->start, .time = p->time, .space = space_of(who), .before = p->now.insns,
		.tid = who->tid, .pid = who->pid, .halfwords = range->halfwords, .insns = range->insns, .gap = p->gap,
		.how = has_jumped(range) ? range->how : NT_END_LINEAR, .last_len = range->last_len, .trap = p->trap,
	};

	p->last = run;
	return !p->out || ns_array_add(&p->out->runs, run);
}

static bool add_run(struct ns_replay_part *p, const struct nt_who *who, const struct nt_range *range)
{
	bool paths = p->replay->options.paths;
	struct ns_chunk *s = &p->now;

	if (paths && s->runs && extend_run(p, who, range))
		return true;
	if ((p->out || paths) && !make_run(p, who, range))
		return false;
	if (!s->runs++)
		s->first = p->time;
	s->last = p->time;
	s->insns += range->insns;
	s->has_gap |= p->gap;
	p->gap = p->trap = false;
	if (p->out)
		return true;
	if (!paths)
		note_code(p, range);
	return note_thread(p, who);
}

static void set_time(struct ns_replay_part *p, uint64_t time)
{
	if (time > p->time)
		p->time = time;
}

/* ---- Branches ---- */

/* Pass one range to ns_replay_part::branches, which makes a branch of the last instruction of the range. */
static int give_branch(struct ns_replay_part *p, const struct nt_who *who, const struct nt_batch *batch, size_t nth,
		       const struct nt_mark *mark)
{
	struct nt_batch one = *batch;
	struct nt_mark end;

	one.ranges = &batch->ranges[nth];
	one.nr = 1;
	one.nr_marks = 0;
	if (mark) {
		end = *mark;
		end.range = 1;
		one.marks = &end;
		one.nr_marks = 1;
	}
	if (nth + 1 < batch->nr) {
		one.dest = batch->ranges[nth + 1].start;
		one.has_dest = true;
	}
	p->follows = one.has_dest;
	return p->branches.ranges(p->branch_part, who, &one);
}

/* Return true if the last branch was of the same thread, and trace has not stopped and started again since. */
static bool follows(const struct ns_replay_part *p, const struct nt_who *who)
{
	return p->pairs && p->follows && !p->slice && who->tid == p->tid && p->running.known && !p->running.switching &&
	       who->tid == p->running.who.tid;
}

/* Apply the branch at the end of a range. While the index is made, skip branches that the index does not need. */
static int take_end(struct ns_replay_part *p, const struct nt_who *who, const struct nt_batch *batch, size_t i, const struct nt_mark *mark)
{
	const struct nt_range *range = &batch->ranges[i];
	bool last = i + 1 == batch->nr;
	int ret;

	if (follows(p, who) && (!last || batch->has_dest)) {
		if (range->how == NT_END_LINEAR || range->how == NT_END_BRANCH)
			return 0;
		ret = p->replay->options.pid >= 0 && who->pid != p->replay->options.pid ? 1 :
		      ns_pairs_take(p->pairs, who, range, last ? batch->dest : range[1].start, p->time);
		if (ret)
			return ret < 0 ? -1 : 0;
	}
	return give_branch(p, who, batch, i, mark);
}

/*
 * Add a range of user code to the index, with less work than take_range(). Return 1; 0 if the caller must call
 * take_range(), because trace may be missing before the range, or ns_pairs_take() cannot apply the branch at the end of
 * the range; -1 if out of memory.
 */
static int take_plain(struct ns_replay_part *p, const struct nt_who *who, const struct nt_range *range)
{
	struct ns_chunk *s = &p->now;
	int ret = 1;

	if (!range->insns || p->gap || p->trap || !s->runs || range->start >= p->replay->kernel_start)
		return 0;
	if (range->how != NT_END_LINEAR && range->how != NT_END_BRANCH)
		ret = ns_pairs_take(p->pairs, who, range, range[1].start, p->time);
	if (ret <= 0)
		return ret;
	s->runs++;
	s->insns += range->insns;
	s->last = p->time;
	note_code(p, range);
	return 1;
}

static int take_range(struct ns_replay_part *p, const struct nt_who *who, const struct nt_batch *batch, size_t i,
		      const struct nt_mark *mark)
{
	const struct nt_range *range = &batch->ranges[i];
	const struct nt_who *owner = owner_of(p, who, range);
	bool shown = range->insns && is_shown(p, owner, range->start);
	struct nt_who before;

	/* copy the thread, because the branch at the end of the range may be the switch to the next thread */
	if (owner != who) {
		before = *owner;
		owner = &before;
	}
	p->next_run = p->now.runs + shown;
	if (p->branch_part && take_end(p, who, batch, i, mark))
		return -1;
	if (shown && !add_run(p, owner, range))
		return -1;
	p->trap |= !shown || range->how >= NT_END_TRAP;
	return 0;
}

static int take_branch(void *ctx, const struct nt_who *named, const struct nt_branch *b)
{
	struct ns_replay_part *p = ctx;
	const struct nt_who *who;
	struct ns_event e;
	struct ns_call_event event;

	/* ignore the start of trace at the start of a segment, because the encoder did not start at this position */
	if (p->skip && b->flags & NT_BRANCH_BEGIN) {
		p->skip = false;
		return 0;
	}
	p->skip = false;
	who = ns_running_who(&p->running, named, b);
	p->running.who.priv = named->priv;
	if (who == named)
		p->running.who.user = who->user;
	p->slice |= p->tid != INT32_MIN && p->tid != who->tid;
	p->tid = who->tid;
	if (!ns_branch_matters(b) || (p->replay->options.pid >= 0 && who->pid != p->replay->options.pid))
		return 0;
	ns_event_init(&e, who, b, 0, 0);
	event = (struct ns_call_event){
		.from = e.from, .to = e.to, .time = e.time > p->time ? e.time : p->time, .from_space = e.from_space,
		.to_space = e.to_space, .image = e.image, .tid = who->tid, .kind = e.kind, .flags = e.flags,
		.length = e.length, .slice = p->slice, .run = b->flags & NT_BRANCH_BEGIN ? p->now.runs : p->next_run,
	};
	p->slice = false;
	return (p->out ? ns_array_add(&p->out->events, event) : ns_pairs_add(p->pairs, &event)) ? 0 : -1;
}

static void *begin_branches(void *ctx, uint64_t number)
{
	return ctx;
}

static int end_branches(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	return 0;
}

/* ---- Where segments begin ---- */

/* Return true if a message that reports ranges shows the trace mode. ResourceFull reports ranges only by HIST. */
static bool shows_mode(unsigned int tcode)
{
	return tcode == NT_TCODE_DIRECT_BRANCH || tcode == NT_TCODE_DIRECT_BRANCH_SYNC || tcode == NT_TCODE_RESOURCE_FULL ||
	       tcode == NT_TCODE_INDIRECT_BRANCH_HIST || tcode == NT_TCODE_INDIRECT_BRANCH_HIST_SYNC;
}

/* Begin a segment at the last SYNC, if the ranges after it do not depend on the trace before it. */
static bool begin_segment(struct ns_replay_part *p, const struct nt_batch *batch)
{
	const struct nt_context *context = &batch->context;
	unsigned int needed = context->has_scontext + context->has_hcontext;
	struct ns_chunk *s = &p->now;
	uint64_t from = p->cut;

	p->cut = 0;
	if (!needed && context->has_priv)
		needed = 1;
	if (!from || p->owners < needed || !batch->nr_marks || !shows_mode(batch->marks[0].tcode))
		return true;
	s->to = from;
	s->end = p->time;
	if ((p->pairs && !ns_pairs_end(p->pairs, s)) || !ns_array_add(&p->segments, *s))
		return false;
	*s = (struct ns_chunk){ .part = p->number, .from = from, .to = UINT64_MAX, .floor = p->time,
				  .restart = p->cut_restarts, .middle = true, .gap = p->gap, .trap = p->trap };
	memset(p->noted, 0, sizeof(p->noted));
	return true;
}

/*
 * Note that a segment can begin at this SYNC. A segment must not begin in the kernel, because the kernel may be about
 * to switch to another thread, which only the code before the SYNC shows. It must also not begin directly after missing
 * code, because the next branch is then marked with NT_BRANCH_MISSING, for which a decoder must know of the missing code.
 */
static void note_sync(struct ns_replay_part *p, const struct nt_item *item)
{
	p->cut = 0;
	p->owners = 0;
	p->cut_restarts = item->sync.restart;
	if (p->can_cut && !p->no_code && (!p->has_time || item->tstamp_kind == NT_TSTAMP_EXACT) &&
	    item->sync.addr < p->replay->kernel_start &&
	    (item->offset >= p->now.from + p->replay->options.segment || p->now.runs >= SEGMENT_RUNS))
		p->cut = item->offset;
}

/* ---- Missing trace ---- */

void ns_replay_part_lose(struct ns_replay_part *p)
{
	if (!p->lost)
		p->lost = p->time ?: 1;
	p->gap = p->slice = true;
	ns_running_stop(&p->running);
}

bool ns_replay_part_found(struct ns_replay_part *p, uint64_t to)
{
	const struct ns_gap gap = { .from = p->lost, .to = to, .stretch = p->number, .open = to == UINT64_MAX };

	if (!p->lost)
		return true;
	p->lost = 0;
	return ns_array_add(&p->gaps, gap);
}

/* Return true if the item is a gap in kernel code that the replay does not show. */
static bool is_hidden(const struct ns_replay_part *p, const struct nt_item *item)
{
	return item->type == NT_ITEM_GAP && !p->replay->options.kernel && item->gap.has_addr &&
	       item->gap.addr >= p->replay->kernel_start;
}

/* ---- Functions of the consumer ---- */

int ns_replay_part_ranges(void *ctx, const struct nt_who *who, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->marks, *marks = mark + batch->nr_marks;
	struct ns_replay_part *p = ctx;
	const struct nt_mark *this;
	bool plain = false;
	size_t i;
	int ret;

	set_time(p, nt_who_time(who, batch->tstamp, batch->tstamp_kind));
	if (!p->has_first)
		p->first = p->time;
	p->has_first = true;
	if (!begin_segment(p, batch) || !ns_replay_part_found(p, p->time))
		return -1;
	p->no_code = false;
	for (i = 0; i < batch->nr; i++) {
		for (; mark < marks && mark->range <= i; mark++)
			;
		this = mark < marks && mark->range == i + 1 ? mark : NULL;
		if (this)
			set_time(p, nt_who_time(who, this->tstamp, this->tstamp_kind));
		ret = plain && i + 1 < batch->nr ? take_plain(p, who, &batch->ranges[i]) : 0;
		if (ret > 0)
			continue;
		if (ret < 0 || take_range(p, who, batch, i, this))
			return -1;
		plain = follows(p, who) && is_shown(p, who, 0);
	}
	/* add the thread to the segment even if only its kernel code is there, because that can start and end calls */
	if (p->replay->options.pid < 0 || who->pid == p->replay->options.pid)
		p->now.threads |= ns_thread_bit(who->tid);
	return 0;
}

int ns_replay_part_item(void *ctx, const struct nt_who *who, const struct nt_item *item)
{
	struct ns_replay_part *p = ctx;

	set_time(p, nt_who_time(who, item->tstamp, item->tstamp_kind));
	p->next_run = p->now.runs;
	p->follows &= item->type == NT_ITEM_CONTEXT || (item->type == NT_ITEM_SYNC && !item->sync.restart);
	switch (item->type) {
	case NT_ITEM_SYNC:
		if (p->out && item->offset >= p->now.to)
			return 1;
		note_sync(p, item);
		p->trap |= item->sync.restart;
		break;
	case NT_ITEM_CONTEXT:
		p->owners++;
		break;
	case NT_ITEM_LOST:
	case NT_ITEM_ERROR:
		p->cut = 0;
		ns_replay_part_lose(p);
		break;
	case NT_ITEM_GAP:
		p->cut = 0;
		p->gap |= !is_hidden(p, item);
		p->no_code = true;
		break;
	}
	return p->branch_part ? p->branches.item(p->branch_part, who, item) : 0;
}

/* ---- All ---- */

static bool begin_events(struct ns_replay_part *p)
{
	static const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin_branches, .branch = take_branch, .end = end_branches,
	};

	p->branches = ns_branch_consumer(&sink);
	p->job = (struct ns_branch_job){ .session = p->replay->session, .sink = &sink, .ctx = p };
	p->branch_part = p->branches.begin(&p->job, p->number);
	return p->branch_part;
}

struct ns_replay_part *ns_replay_part_new(struct nt_replay *replay, uint64_t number, bool has_events)
{
	struct ns_replay_part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->replay = replay;
	p->number = number;
	p->tid = INT32_MIN;
	p->trap = p->slice = true;
	p->running.session = replay->session;
	ns_running_stop(&p->running);
	p->now = (struct ns_chunk){ .part = number, .to = UINT64_MAX, .trap = true };
	if (!has_events || begin_events(p))
		return p;
	ns_replay_part_free(p);
	return NULL;
}

void ns_replay_part_free(struct ns_replay_part *p)
{
	size_t i;

	for (i = 0; i < p->segments.nr; i++)
		free(p->segments.at[i].events);
	free(p->now.events);
	if (p->branch_part)
		p->branches.end(&p->job, p->branch_part, NULL, false);
	ns_pairs_free(p->pairs);
	free(p->segments.at);
	free(p->tids.at);
	free(p->spaces.at);
	free(p->gaps.at);
	free(p);
}
