// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * One pass over the recording makes an index of segments. Each segment begins at a SYNC from which a
 * new decoder produces the same results as one that has read all of the trace. A segment is decoded
 * when it is needed.
 *
 * SYNC resets the state of messages (chapter 8.4), but not the context. Ownership must therefore
 * follow before the next range, as is usual after SYNC (chapter 7.1), and the next message must show
 * the trace mode.
 */
#include <stdlib.h>
#include <string.h>

#include "replay-priv.h"
#include "session/calls/running.h"
#include "session/flow/frames.h"
#include "session/flow/sources.h"

#define SEGMENT		(64 << 10)	/* bytes of trace in a segment, at least */
#define SYNC_MAX	256		/* bytes of a message with SYNC, at most */

/* A part that is decoded for the index, or a segment that is decoded for its runs */
struct part {
	struct nt_replay *replay;
	struct ns_decoded *out;		/* NULL while the index is being made */
	const struct nt_consumer *branches;	/* consumer that makes branches, and its part */
	struct ns_branch_job *job;
	void		*branch_part;
	struct ns_running running;
	struct ns_chunk now;		/* current segment */
	struct ns_run	last;		/* its last run, if the index is made */
	NS_ARRAY(struct ns_chunk) segments;	/* earlier segments of the part */
	NS_ARRAY(int32_t) tids;
	NS_ARRAY(struct ns_gap) gaps;
	uint64_t	number;
	uint64_t	time;
	uint64_t	lost;		/* time at which trace was lost; 0: it is complete */
	uint64_t	cut;		/* offset of a SYNC at which a segment may begin; 0: none */
	unsigned int	owners;		/* Ownership messages since that SYNC */
	uint32_t	next_run;	/* number of the run after the next branch */
	int32_t		tid;		/* thread of the last branch */
	bool		can_cut, gap, trap, slice, skip, has_first;
	uint64_t	first;		/* time of the first range */
};

/* ---- Runs ---- */

static bool is_shown(const struct part *p, const struct nt_who *who, uint64_t addr)
{
	const struct nt_replay_options *options = &p->replay->options;

	return (options->pid < 0 || who->pid == options->pid) &&
	       (options->kernel || addr < p->replay->kernel_start);
}

static bool note_thread(struct part *p, int32_t tid)
{
	if (p->out || (p->tids.nr && p->tids.at[p->tids.nr - 1] == tid))
		return true;
	return ns_array_add(&p->tids, tid);
}

static void note_lines(struct ns_chunk *s, const struct nt_range *r)
{
	uint64_t line = r->start & ~63ULL, end = r->start + 2 * r->halfwords;
	uint32_t bit;

	for (; line < end; line += 64) {
		bit = ns_line_bit(line);
		s->lines[bit / 64] |= 1ULL << (bit % 64);
	}
}

/* Return true if the range ends with an instruction after which the PC does not continue. */
static bool has_jumped(const struct nt_range *range)
{
	return range->how != NT_END_LINEAR && range->how < NT_END_TRAP &&
	       (range->how != NT_END_BRANCH || range->flags & NT_RANGE_TAKEN);
}

/* For paths, let a range continue the last run of the segment. Return false if it does not. */
static bool extend_run(struct part *p, const struct nt_who *who, const struct nt_range *range)
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

static bool add_run(struct part *p, const struct nt_who *who, const struct nt_range *range)
{
	struct ns_chunk *s = &p->now;
	const struct ns_run run = {
		.start = range->start, .time = p->time, .space = who->space, .before = s->insns,
		.tid = who->tid, .pid = who->pid, .halfwords = range->halfwords, .insns = range->insns, .gap = p->gap,
		.how = has_jumped(range) ? range->how : NT_END_LINEAR, .last_len = range->last_len, .trap = p->trap,
	};

	if (p->replay->options.paths && s->runs && extend_run(p, who, range))
		return true;
	if (!s->runs++)
		s->first = p->time;
	s->last = p->time;
	s->insns += range->insns;
	s->has_gap |= p->gap;
	p->gap = p->trap = false;
	if (p->out)
		return ns_array_add(&p->out->runs, run);
	p->last = run;
	if (!p->replay->options.paths)
		note_lines(s, range);
	return note_thread(p, who->tid);
}

static void set_time(struct part *p, uint64_t time)
{
	if (time > p->time)
		p->time = time;
}

/* Pass one range to the maker of branches. */
static int give_branch(struct part *p, const struct nt_who *who, const struct nt_batch *batch, size_t nth,
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
	return p->branches->ranges(p->branch_part, who, &one);
}

static int take_range(struct part *p, const struct nt_who *who, const struct nt_batch *batch, size_t i,
		      const struct nt_mark *mark)
{
	const struct nt_range *range = &batch->ranges[i];
	bool shown = range->insns && is_shown(p, who, range->start);

	if (mark)
		set_time(p, nt_who_time(who, mark->tstamp, mark->tstamp_kind));
	p->next_run = p->now.runs + shown;
	if (p->branches && give_branch(p, who, batch, i, mark))
		return -1;
	if (shown && !add_run(p, who, range))
		return -1;
	p->trap |= !shown || range->how >= NT_END_TRAP;
	return 0;
}

/* ---- Where segments begin ---- */

static bool shows_mode(unsigned int tcode)
{
	return tcode == NT_TCODE_DIRECT_BRANCH || tcode == NT_TCODE_DIRECT_BRANCH_SYNC ||
	       tcode == NT_TCODE_INDIRECT_BRANCH_HIST || tcode == NT_TCODE_INDIRECT_BRANCH_HIST_SYNC;
}

/* Begin a segment at the last SYNC, if the ranges after it do not depend on the trace before it. */
static bool begin_segment(struct part *p, const struct nt_batch *batch)
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
	if (!ns_array_add(&p->segments, *s))
		return false;
	*s = (struct ns_chunk){ .part = p->number, .from = from, .to = UINT64_MAX, .floor = p->time,
				  .middle = true, .gap = p->gap, .trap = p->trap };
	return true;
}

/*
 * Store that a segment may begin at this SYNC, except in the kernel, because a change of the thread
 * may be in progress there, which only the earlier code shows.
 */
static void note_sync(struct part *p, const struct nt_item *item)
{
	p->cut = 0;
	p->owners = 0;
	if (p->can_cut && !item->sync.restart && item->tstamp_kind == NT_TSTAMP_EXACT &&
	    item->sync.addr < p->replay->kernel_start &&
	    item->offset >= p->now.from + p->replay->options.segment)
		p->cut = item->offset;
}

/* ---- Missing trace ---- */

static void begin_loss(struct part *p)
{
	if (!p->lost)
		p->lost = p->time ?: 1;
	p->gap = p->slice = true;
	ns_running_stop(&p->running);
}

static bool end_loss(struct part *p, uint64_t to)
{
	const struct ns_gap gap = { .from = p->lost, .to = to, .stretch = p->number, .open = to == UINT64_MAX };

	if (!p->lost)
		return true;
	p->lost = 0;
	return ns_array_add(&p->gaps, gap);
}

/* Return true if the item is a gap in kernel code that the replay does not show. */
static bool is_hidden(const struct part *p, const struct nt_item *item)
{
	return item->type == NT_ITEM_GAP && !p->replay->options.kernel && item->gap.has_addr &&
	       item->gap.addr >= p->replay->kernel_start;
}

/* ---- Functions of the consumer ---- */

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->marks, *marks = mark + batch->nr_marks;
	struct part *p = part;
	size_t i;

	set_time(p, nt_who_time(who, batch->tstamp, batch->tstamp_kind));
	if (!p->has_first)
		p->first = p->time;
	p->has_first = true;
	if (!begin_segment(p, batch) || !end_loss(p, p->time))
		return -1;
	for (i = 0; i < batch->nr; i++) {
		for (; mark < marks && mark->range <= i; mark++)
			;
		if (take_range(p, who, batch, i, mark < marks && mark->range == i + 1 ? mark : NULL))
			return -1;
	}
	/* code in the kernel opens and ends calls, even if it is not shown */
	if (p->replay->options.pid < 0 || who->pid == p->replay->options.pid)
		p->now.threads |= ns_thread_bit(who->tid);
	return 0;
}

/* Only make events of a segment. */
static int take_brief(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct part *p = part;

	set_time(p, nt_who_time(who, batch->tstamp, batch->tstamp_kind));
	/* if trace begins with the first range, it begins at the time of its message */
	if (batch->nr_marks && batch->marks[0].range == 1)
		set_time(p, nt_who_time(who, batch->marks[0].tstamp, batch->marks[0].tstamp_kind));
	return p->branches->ranges(p->branch_part, who, batch);
}

static int take_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;

	set_time(p, nt_who_time(who, item->tstamp, item->tstamp_kind));
	p->next_run = p->now.runs;
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
		begin_loss(p);
		break;
	case NT_ITEM_GAP:
		p->cut = 0;
		p->gap |= !is_hidden(p, item);
		break;
	}
	return p->branches ? p->branches->item(p->branch_part, who, item) : 0;
}

static void *begin_common(struct nt_replay *replay, uint64_t number)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->replay = replay;
	p->number = number;
	p->tid = INT32_MIN;
	p->trap = true;
	p->running.session = replay->session;
	ns_running_stop(&p->running);
	p->now = (struct ns_chunk){ .part = number, .to = UINT64_MAX, .trap = true };
	return p;
}

static void free_part(struct part *p)
{
	free(p->segments.at);
	free(p->tids.at);
	free(p->gaps.at);
	free(p);
}

/* ---- Index ---- */

static void *begin_index(void *ctx, uint64_t number)
{
	struct nt_replay *replay = ctx;
	const struct ns_stretch *s = ns_part_stretch(replay->session, number);
	const struct ns_cpu *cpu = ns_part_cpu(replay->session, number);
	struct part *p = begin_common(replay, number);

	if (!p)
		return NULL;
	p->now.from = s->offset;
	p->can_cut = cpu && cpu->has_time && !ns_frames_has(s) && !(cpu->nt.accept & NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC)) &&
		     !cpu->nt.dialect;
	if (s->middle || ns_frames_lost(s))
		begin_loss(p);
	if (p->lost)
		p->lost = s->start ?: 1;
	return p;
}

static struct ns_lane *lane_of(struct nt_replay *replay, const struct nt_who *who)
{
	struct ns_lane *lane = replay->lanes.at, *end = lane + replay->lanes.nr;

	for (; lane < end; lane++) {
		if (lane->buffer == who->buffer && lane->cpu == who->cpu)
			return lane;
	}
	if (!ns_array_add(&replay->lanes, ((struct ns_lane){ .buffer = who->buffer, .cpu = who->cpu })))
		return NULL;
	return &replay->lanes.at[replay->lanes.nr - 1];
}

/* Append a segment to its lane. Times of a lane never decrease. */
static bool add_segment(struct nt_replay *replay, struct ns_lane *lane, struct ns_chunk *s)
{
	if (!s->threads)
		return true;
	if (s->floor < lane->last)
		s->floor = lane->last;
	if (!s->runs || s->first < s->floor)
		s->first = s->floor;
	if (!s->runs || s->last < s->floor)
		s->last = s->floor;
	lane->last = s->last;
	s->before = lane->insns;
	lane->insns += s->insns;
	replay->insns += s->insns;
	return ns_array_add(&lane->segments, *s);
}

static bool add_part(struct nt_replay *replay, struct part *p, const struct nt_who *who, bool lost)
{
	const struct ns_stretch *s = ns_part_stretch(replay->session, p->number);
	struct ns_lane *lane = lane_of(replay, who);
	struct ns_chunk *first = p->segments.nr ? p->segments.at : &p->now;
	bool ok = lane;
	size_t i;

	if (lost || s->lost)
		begin_loss(p);
	ok = ok && end_loss(p, UINT64_MAX);
	if (ok && lane->lost)
		first->gap = first->has_gap = true;
	/* the trace of a saved ring does not continue the trace before it */
	first->gap |= (s->middle || ns_frames_lost(s)) && lane && lane->segments.nr;
	first->has_gap |= first->gap;
	for (i = 0; ok && i < p->segments.nr; i++)
		ok = add_segment(replay, lane, &p->segments.at[i]);
	ok = ok && add_segment(replay, lane, &p->now);
	if (lane)
		lane->lost = lost || s->lost;
	for (i = 0; ok && i < p->tids.nr; i++)
		ok = ns_array_add(&replay->tids, p->tids.at[i]);
	for (i = 0; ok && i < p->gaps.nr; i++)
		ok = ns_gaps_add(&replay->gaps, who->buffer, who->cpu, &p->gaps.at[i]);
	return ok && (!p->has_first || ns_gaps_first(&replay->gaps, who->buffer, who->cpu, p->number, p->first));
}

static int tid_cmp(const void *a, const void *b)
{
	return ns_order(*(const int32_t *)a, *(const int32_t *)b);
}

static int end_index(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_replay *replay = ctx;
	struct part *p = part;
	bool ok = add_part(replay, p, who, lost);

	if (replay->tids.nr > 65536)
		ns_array_join(&replay->tids, tid_cmp, (void)b);
	free_part(p);
	return ok ? 0 : -1;
}

static int make_index(struct nt_replay *replay)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin_index, .ranges = take_ranges, .item = take_item, .end = end_index,
	};
	int err = nt_session_decode(replay->session, &consumer, replay);

	ns_array_join(&replay->tids, tid_cmp, (void)b);
	ns_gaps_settle(&replay->gaps);
	/* segments are decoded too often to report progress */
	replay->session->options.progress = NULL;
	return err;
}

/* ---- Segments ---- */

/* What nt_consumer::begin() of a segment receives */
struct segment_job {
	struct nt_replay *replay;
	struct ns_decoded *out;
	const struct ns_chunk *segment;
	const struct nt_consumer *branches;
	struct ns_branch_job *job;
};

static void *begin_decode(void *ctx, uint64_t number)
{
	struct segment_job *job = ctx;
	struct part *p = begin_common(job->replay, number);

	if (!p)
		return NULL;
	p->out = job->out;
	p->now.from = job->segment->from;
	p->now.to = job->segment->to;
	p->time = job->segment->floor;
	p->gap = job->segment->gap;
	p->trap = job->segment->trap;
	p->skip = job->segment->middle;
	p->slice = !p->skip;
	if (job->replay->options.paths)
		return p;
	p->branches = job->branches;
	p->job = job->job;
	p->job->ctx = p;
	p->branch_part = job->branches->begin(p->job, number);
	if (p->branch_part)
		return p;
	free_part(p);
	return NULL;
}

static void *begin_branches(void *ctx, uint64_t number)
{
	return ctx;
}

static int end_branches(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	return 0;
}

static int take_branch(void *part, const struct nt_who *named, const struct nt_branch *b)
{
	struct part *p = part;
	const struct nt_who *who;
	struct ns_event e;
	struct ns_call_event event;

	/* a segment begins inside the trace */
	if (p->skip && b->flags & NT_BRANCH_BEGIN) {
		p->skip = false;
		return 0;
	}
	p->skip = false;
	who = ns_running_who(&p->running, named, b);
	p->running.who.priv = named->priv;
	p->slice |= p->tid != INT32_MIN && p->tid != who->tid;
	p->tid = who->tid;
	if (!ns_branch_matters(b) || (p->replay->options.pid >= 0 && who->pid != p->replay->options.pid))
		return 0;
	ns_event_init(&e, who, b, 0, 0);
	event = (struct ns_call_event){
		.from = e.from, .to = e.to, .time = e.time > p->time ? e.time : p->time, .from_space = e.from_space,
		.to_space = e.to_space, .image = e.image, .tid = who->tid, .kind = e.kind, .flags = e.flags,
		.length = e.length, .slice = p->slice,
		.run = p->out->brief ? UINT32_MAX : b->flags & NT_BRANCH_BEGIN ? p->now.runs : p->next_run,
	};
	p->slice = false;
	return ns_array_add(&p->out->events, event) ? 0 : -1;
}

static int end_decode(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct part *p = part;

	if (p->branches)
		p->branches->end(p->job, p->branch_part, who, lost);
	free_part(p);
	return 0;
}

int ns_replay_segment(struct nt_replay *replay, const struct ns_chunk *s, struct ns_decoded *out)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin_decode, .ranges = out->brief ? take_brief : take_ranges,
		.item = take_item, .end = end_decode,
	};
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin_branches, .branch = take_branch, .end = end_branches,
	};
	const struct nt_consumer branches = ns_branch_consumer(&sink);
	struct ns_branch_job branch_job = { .session = replay->session, .sink = &sink };
	struct segment_job job = {
		.replay = replay, .out = out, .segment = s, .branches = &branches, .job = &branch_job,
	};
	uint64_t to = s->to == UINT64_MAX ? s->to : s->to + SYNC_MAX;
	int err;

	out->segment = NULL;
	out->runs.nr = out->events.nr = 0;
	err = ns_decoder_run(replay->decoder, s->part, s->from, to, &consumer, &job);
	/* the file of the recording may have changed since the index was made */
	if (err < 0 || (!out->brief && out->runs.nr != s->runs))
		return -1;
	out->segment = s;
	return 0;
}

/* ---- All ---- */

struct nt_replay *nt_replay_new(struct nt_session *session, const struct nt_replay_options *options)
{
	struct nt_replay *replay = calloc(1, sizeof(*replay));

	if (!replay)
		return NULL;
	replay->session = replay->gaps.session = session;
	replay->options.pid = -1;
	memcpy(&replay->options, options, options->size < sizeof(*options) ? options->size : sizeof(*options));
	if (!replay->options.segment)
		replay->options.segment = SEGMENT;
	replay->kernel_start = ns_kernel_start(session);
	if (!make_index(replay)) {
		replay->decoder = ns_decoder_new(session);
		replay->targets = calloc(NS_TARGETS, sizeof(*replay->targets));
		replay->next = calloc(replay->lanes.nr + 1, sizeof(*replay->next));
		if (replay->decoder && replay->targets && replay->next && nt_replay_seek(replay, 0) >= 0)
			return replay;
	}
	nt_replay_free(replay);
	return NULL;
}

void nt_replay_free(struct nt_replay *replay)
{
	size_t i;

	if (!replay)
		return;
	for (i = 0; i < replay->walks.nr; i++)
		ns_walk_free(replay->walks.at[i]);
	for (i = 0; i < NS_CACHE; i++) {
		free(replay->cache[i].runs.at);
		free(replay->cache[i].events.at);
	}
	for (i = 0; i < replay->lanes.nr; i++)
		free(replay->lanes.at[i].segments.at);
	ns_decoder_free(replay->decoder);
	ns_gaps_free(&replay->gaps);
	free(replay->walks.at);
	free(replay->lanes.at);
	free(replay->tids.at);
	free(replay->next);
	free(replay->targets);
	free(replay);
}
