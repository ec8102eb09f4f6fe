// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the callers at any position. The search (struct ns_walk) applies the events of one thread to the model of calls,
 * and stores copies of the thread's stacks. To go back, the search continues from the last copy before the position.
 */
#include <stdlib.h>
#include <string.h>

#include "replay-priv.h"

/*
 * During a search for callers (struct ns_walk), the stacks are copied when the number of events since the last copy is
 * COPY_EVENTS, plus COPY_FRAMES for each open call.
 */
#define COPY_EVENTS	16384
#define COPY_FRAMES	64

#define AHEAD_EVENTS	16384	/* maximum number of events that are searched for the returns that follow an event */

/* The next event to apply among the events of one lane (the segments of one CPU) */
struct head {
	uint32_t	segment, event;	/* number of the segment, and number of the event in the list of the segment */
	bool		indexed;	/* the list is ns_chunk::events; otherwise it is ns_decoded::events */
};

struct list {
	const struct ns_call_event *at;
	size_t		nr;
};

/*
 * The stacks of a thread at one position of the search for callers (struct ns_walk), which is directly after an event
 * of the thread
 */
struct state {
	struct ns_stack	stack;
	struct head	*heads;
	uint32_t	lane;		/* lane of the last event */
	/* position of the first run after the event; @spot.run is UINT32_MAX if the event is from the index */
	struct ns_spot	spot;
	uint64_t	time;		/* time of the last event, ns */
	bool		begun;
};

struct ns_walk {
	struct nt_replay *replay;
	int32_t		tid, cpu;	/* @cpu is from ns_thread_cpu() */
	struct state	now;
	NS_ARRAY(struct state) copies;
	uint64_t	events;		/* number of events since the last copy */
	/* the last @nr_calls calls that the search has passed, at most @max_calls; none if @max_calls is 0 */
	struct nt_replay_call *calls;
	size_t		nr_calls, max_calls;
};

/* ---- State ---- */

static void free_state(struct state *s)
{
	ns_stack_free(&s->stack);
	free(s->heads);
}

/* Copy an array of plain elements. Return false if out of memory. */
#define copy_array(to, from) ({								\
	(to)->room = (to)->nr = (from)->nr;						\
	(to)->at = (from)->nr ? malloc((from)->nr * sizeof(*(from)->at)) : NULL;		\
	if ((to)->at)									\
		memcpy((to)->at, (from)->at, (from)->nr * sizeof(*(from)->at));		\
	(to)->at || !(from)->nr;							\
})

static bool copy_state(const struct nt_replay *replay, struct state *to, const struct state *from)
{
	bool ok;
	size_t i;

	*to = *from;
	to->heads = malloc(replay->lanes.nr * sizeof(*to->heads));
	ok = copy_array(&to->stack.cur.open, &from->stack.cur.open);
	ok = copy_array(&to->stack.waiting, &from->stack.waiting) && ok;
	for (i = 0; i < to->stack.waiting.nr; i++) {
		ok = ok && to->stack.waiting.at;
		if (to->stack.waiting.at)
			ok = copy_array(&to->stack.waiting.at[i].stack.open, &from->stack.waiting.at[i].stack.open) && ok;
	}
	if (to->heads && ok) {
		memcpy(to->heads, from->heads, replay->lanes.nr * sizeof(*to->heads));
		return true;
	}
	free_state(to);
	return false;
}

/* Return true if the last event of the state is before the run at @spot of @lane. @time is the time of the run. */
static bool is_before(const struct state *s, uint32_t lane, struct ns_spot spot, uint64_t time)
{
	if (!s->begun)
		return true;
	if (s->lane != lane)
		return s->time < time || (s->time == time && s->lane < lane);
	return s->spot.segment < spot.segment || (s->spot.segment == spot.segment && s->spot.run <= spot.run);
}

/* ---- Apply events to the model of calls ---- */

/* Store a call that starts. If the array is full, drop the oldest call. */
static bool note_call(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct ns_walk *walk = stack->ctx;
	struct nt_replay_call call = { .addr = e->to, .space = e->to_space, .time = e->time };

	if (!walk->max_calls || frame->outer)
		return true;
	for (; frame >= stack->cur.open.at; frame--)
		call.depth += !frame->unseen;
	if (walk->nr_calls == walk->max_calls)
		memmove(walk->calls, walk->calls + 1, --walk->nr_calls * sizeof(call));
	walk->calls[walk->nr_calls++] = call;
	return true;
}

/*
 * Store the targets of the thread's next returns (ns_stack_ops::ahead). Stop at a return that may switch to another
 * stack, at the end of the segment, and after AHEAD_EVENTS events.
 */
static size_t next_returns(struct ns_stack *stack, uint64_t *to, size_t max)
{
	struct ns_walk *walk = stack->ctx;
	const struct head *head = &walk->now.heads[walk->now.lane];
	const struct ns_chunk *s = &walk->replay->lanes.at[walk->now.lane].segments.at[head->segment];
	const struct ns_decoded *d = head->indexed ? NULL : ns_replay_decode(walk->replay, walk->now.lane, head->segment);
	const struct ns_call_event *c = head->indexed ? s->events : d ? d->events.at : NULL;
	const struct ns_call_event *end = c + (head->indexed ? s->nr_events : d ? d->events.nr : 0);
	struct ns_event event;
	size_t depth = 0, nr = 0;

	c += c ? head->event + 1 : 0;
	if (end - c > AHEAD_EVENTS)
		end = c + AHEAD_EVENTS;
	for (; c < end && nr < max; c++) {
		if (c->tid != walk->tid)
			continue;
		event = (struct ns_event){
			.from = c->from, .from_space = c->from_space, .to = c->to, .to_space = c->to_space, .kind = c->kind,
			.flags = c->flags, .length = c->length,
		};
		if (c->kind == NT_BRANCH_JUMP && !c->flags &&
		    (ns_jump_to(stack, &event) == NS_JUMP_INSIDE || (depth && !ns_code_before(stack, &event)->loads)))
			continue;
		if (c->flags || (c->kind != NT_BRANCH_CALL && c->kind != NT_BRANCH_RETURN) ||
		    (c->kind == NT_BRANCH_RETURN && ns_code_before(stack, &event)->loads))
			break;
		if (c->kind == NT_BRANCH_CALL)
			depth++;
		else if (depth)
			depth--;
		else
			to[nr++] = c->to;
	}
	return nr;
}

static const struct ns_stack_ops ops = { .enter = note_call, .ahead = next_returns };

static void begin_walk(struct ns_walk *walk)
{
	walk->now.stack = (struct ns_stack){
		.session = walk->replay->session, .ops = &ops, .ctx = walk, .follows = true, .targets = walk->replay->targets,
	};
}

/*
 * Apply event @c of the thread, which is on @lane. @spot is the position of the first run of this lane after the event.
 * Return false if out of memory.
 */
static bool take_event(struct ns_walk *walk, uint32_t lane, struct ns_spot spot, const struct ns_call_event *c)
{
	struct state *now = &walk->now;
	struct ns_event e = {
		.time = c->time, .ran = c->time, .from = c->from, .to = c->to, .from_space = c->from_space,
		.to_space = c->to_space, .image = c->image, .kind = c->kind, .flags = c->flags, .length = c->length,
	};
	struct ns_event begin = e;

	if (now->begun && (c->slice || lane != now->lane) && now->stack.cur.open.nr &&
	    ns_gaps_between(&walk->replay->gaps, walk->tid, now->time, c->time) && !ns_stack_drop(&now->stack, &e))
		return false;
	if (!now->stack.cur.open.nr) {
		begin.to = c->flags & NT_BRANCH_BEGIN ? c->to : c->from;
		begin.to_space = c->flags & NT_BRANCH_BEGIN ? c->to_space : c->from_space;
		if (!ns_stack_begin(&now->stack, &begin))
			return false;
	}
	now->begun = true;
	now->lane = lane;
	now->spot = spot;
	now->time = c->time;
	return ns_stack_take(&now->stack, &e) >= 0;
}

/* ---- Apply the events of a thread in order ---- */

/*
 * Set *list to the events of the lane's next segment, for a search for callers up to @time. The index has a short list
 * of events (ns_chunk::events), which lacks calls that return in the same segment. Use this list if the search applies
 * all events of the segment, which is true if the caller has set @before or the segment ends before @time. Otherwise
 * decode the segment to get all of its events. Return false after an error.
 */
static bool list_events(struct ns_walk *walk, uint32_t lane, uint64_t time, bool before, struct list *list)
{
	struct head *head = &walk->now.heads[lane];
	const struct ns_chunk *s = &walk->replay->lanes.at[lane].segments.at[head->segment];
	const struct ns_decoded *d;

	if (!head->event)
		head->indexed = s->has_events && !walk->max_calls && (before || s->end < time) &&
				!(s->one_stack && walk->now.stack.waiting.nr);
	if (head->indexed) {
		*list = (struct list){ s->events, s->nr_events };
		return true;
	}
	d = ns_replay_decode(walk->replay, lane, head->segment);
	if (d)
		*list = (struct list){ d->events.at, d->events.nr };
	return d;
}

/*
 * Return the thread's next event on @lane. The search for callers ends before the run at @to on the lane @to_lane.
 * @time is the time of this run. Return NULL if @lane has no further event before this run, or after an error, for
 * which *err is set.
 */
static const struct ns_call_event *head_of(struct ns_walk *walk, uint32_t lane, uint32_t to_lane, struct ns_spot to,
					   uint64_t time, bool *err)
{
	const struct ns_lane *l = &walk->replay->lanes.at[lane];
	struct head *head = &walk->now.heads[lane];
	const struct ns_chunk *s;
	struct list list;

	if (walk->cpu >= 0 && l->cpu != walk->cpu)
		return NULL;
	for (; head->segment < l->segments.nr; head->segment++, head->event = 0) {
		s = &l->segments.at[head->segment];
		if (lane == to_lane ? head->segment > to.segment : s->floor > time)
			return NULL;
		if (!(s->threads & ns_thread_bit(walk->tid)))
			continue;
		if (!list_events(walk, lane, time, lane == to_lane && head->segment < to.segment, &list)) {
			*err = true;
			return NULL;
		}
		for (; head->event < list.nr; head->event++) {
			if (list.at[head->event].tid == walk->tid)
				return &list.at[head->event];
		}
	}
	return NULL;
}

/*
 * Return true if a search for callers can continue from the current position to any later position. The index of a
 * segment lacks the calls that return in the same segment. If the search has read only a part of such an index, it
 * cannot continue to a position inside this segment, because it does not know all calls that are open at that position.
 */
static bool is_between_segments(const struct ns_walk *walk)
{
	const struct head *head = walk->now.heads, *end = head + walk->replay->lanes.nr;
	const struct ns_lane *l = walk->replay->lanes.at;

	for (; head < end; head++, l++) {
		if (head->indexed && head->event && head->event < l->segments.at[head->segment].nr_events)
			return false;
	}
	return true;
}

static bool keep_copy(struct ns_walk *walk)
{
	struct state copy;

	if (++walk->events < COPY_EVENTS || walk->events < COPY_FRAMES * walk->now.stack.cur.open.nr ||
	    !is_between_segments(walk))
		return true;
	walk->events = 0;
	/* after a search for an earlier position, a copy of the state may already exist at this position */
	if (walk->copies.nr &&
	    !is_before(&walk->copies.at[walk->copies.nr - 1], walk->now.lane, walk->now.spot, walk->now.time))
		return true;
	if (!copy_state(walk->replay, &copy, &walk->now))
		return false;
	if (ns_array_add(&walk->copies, copy))
		return true;
	free_state(&copy);
	return false;
}

/*
 * Let the event after @e be the next one on its lane. If the thread has several stacks, the segment's list of events in
 * the index (ns_chunk::events) may be incorrect. Then take the next events from the decoded segment, which has all of
 * them.
 */
static void pass_event(const struct ns_walk *walk, struct head *head, const struct ns_lane *lane, const struct ns_call_event *e)
{
	head->event++;
	if (!head->indexed || !lane->segments.at[head->segment].one_stack || !walk->now.stack.waiting.nr)
		return;
	head->indexed = false;
	head->event = e->run + 1;
}

/*
 * Apply all events of the thread before the run at @spot of @lane, which has the time @time. Return false after an
 * error.
 */
static bool walk_to(struct ns_walk *walk, uint32_t lane, struct ns_spot spot, uint64_t time)
{
	struct state then = { .begun = true };
	const struct ns_call_event *e;
	struct ns_call_event first = { 0 };
	bool err = false, found;
	uint32_t i;

	for (;;) {
		found = false;
		for (i = 0; i < walk->replay->lanes.nr; i++) {
			e = head_of(walk, i, lane, spot, time, &err);
			if (err)
				return false;
			if (!e || (found && e->time >= then.time))
				continue;
			found = true;
			first = *e;
			then.lane = i;
			then.time = e->time;
			then.spot.segment = walk->now.heads[i].segment;
			/*
			 * an event from the index has no number of a run. Use the end of the segment, because
			 * events from the index are only used if the whole segment is before @spot
			 */
			then.spot.run = walk->now.heads[i].indexed ? UINT32_MAX : e->run;
		}
		if (!found || !is_before(&then, lane, spot, time))
			return true;
		if (!take_event(walk, then.lane, then.spot, &first))
			return false;
		pass_event(walk, &walk->now.heads[then.lane], &walk->replay->lanes.at[then.lane], &first);
		if (!keep_copy(walk))
			return false;
	}
}

/*
 * Go to the last copy of the state before a run. Do nothing if the state is already from a position between that copy
 * and the run.
 */
static bool go_back(struct ns_walk *walk, uint32_t lane, struct ns_spot spot, uint64_t time)
{
	struct state copy, *now = &walk->now;
	const struct state *last;
	size_t nth;

	nth = ns_lower_bound(walk->copies.nr, is_before(&walk->copies.at[i], lane, spot, time));
	last = nth ? &walk->copies.at[nth - 1] : NULL;
	if (is_before(now, lane, spot, time) &&
	    (!last || (now->begun && is_before(last, now->lane, now->spot, now->time))))
		return true;
	if (last) {
		if (!copy_state(walk->replay, &copy, last))
			return false;
		free_state(&walk->now);
		walk->now = copy;
	} else {
		ns_stack_free(&walk->now.stack);
		memset(walk->now.heads, 0, walk->replay->lanes.nr * sizeof(*walk->now.heads));
		walk->now.begun = false;
		begin_walk(walk);
	}
	walk->events = 0;
	return true;
}

static struct ns_walk *walk_of(struct nt_replay *replay, int32_t tid, int32_t cpu)
{
	struct ns_walk *walk;
	size_t i;

	for (i = 0; i < replay->walks.nr; i++) {
		if (replay->walks.at[i]->tid == tid && replay->walks.at[i]->cpu == cpu)
			return replay->walks.at[i];
	}
	walk = calloc(1, sizeof(*walk));
	if (!walk)
		return NULL;
	walk->replay = replay;
	walk->tid = tid;
	walk->cpu = cpu;
	walk->now.heads = calloc(replay->lanes.nr + 1, sizeof(*walk->now.heads));
	begin_walk(walk);
	if (walk->now.heads && ns_array_add(&replay->walks, walk))
		return walk;
	ns_walk_free(walk);
	return NULL;
}

void ns_walk_free(struct ns_walk *walk)
{
	size_t i;

	for (i = 0; i < walk->copies.nr; i++)
		free_state(&walk->copies.at[i]);
	free_state(&walk->now);
	free(walk->copies.at);
	free(walk);
}

/* ---- List the callers at a position ---- */

/*
 * Return true if the code of the caller is loaded in address space @space. After exec, a caller in the kernel is still
 * loaded, but a caller in the old program is not.
 */
static bool is_loaded(struct nt_replay *replay, const struct ns_frame *frame, uint64_t space)
{
	return frame->ret >= replay->kernel_start || nt_replay_files(replay, frame->ret_space) == nt_replay_files(replay, space);
}

static size_t list_callers(const struct ns_walk *walk, const struct nt_replay_place *here, struct nt_replay_caller *callers,
			   size_t max)
{
	const struct ns_one_stack *stack = &walk->now.stack.cur;
	struct nt_replay_caller c = { .addr = here->addr };
	size_t i, n = 0;

	for (i = stack->open.nr; i-- > 0;) {
		const struct ns_frame *frame = &stack->open.at[i];

		if (frame->unseen)
			continue;
		if (n < max)
			callers[n] = c;
		n++;
		/*
		 * stop at the outermost function and at a call from missing code, because the
		 * callers of both are unknown
		 */
		if (frame->outer || frame->missing || !is_loaded(walk->replay, frame, here->space))
			return n;
		c = (struct nt_replay_caller){ .addr = frame->ret, .trap = frame->trap || frame->signal };
	}
	if (n < max)
		callers[n] = c;
	return n + 1;
}

/* Return the search of a thread, and the run and time of the thread's next instruction. Return NULL after an error. */
static struct ns_walk *find_walk(struct nt_replay *replay, int32_t tid, uint32_t *lane, struct ns_spot *spot, uint64_t *time)
{
	const struct ns_run *run;
	uint32_t insn;

	if (ns_replay_thread_spot(replay, tid, lane, spot, &insn) <= 0)
		return NULL;
	run = ns_replay_run(replay, *lane, *spot);
	if (!run)
		return NULL;
	*time = run->time;
	return walk_of(replay, run->tid, ns_thread_cpu(run->tid, replay->lanes.at[*lane].cpu));
}

static bool walk_from_copy(struct ns_walk *walk, uint32_t lane, struct ns_spot spot, uint64_t time)
{
	return go_back(walk, lane, spot, time) && walk_to(walk, lane, spot, time);
}

size_t nt_replay_callers(struct nt_replay *replay, int32_t tid, struct nt_replay_caller *callers, size_t max)
{
	struct nt_replay_place place;
	struct ns_spot spot;
	uint64_t time;
	uint32_t lane;
	struct ns_walk *walk = find_walk(replay, tid, &lane, &spot, &time);

	if (!walk || !walk_from_copy(walk, lane, spot, time) || !nt_replay_where(replay, tid, &place))
		return 0;
	return list_callers(walk, &place, callers, max);
}

size_t nt_replay_calls(struct nt_replay *replay, int32_t tid, struct nt_replay_call *calls, size_t max)
{
	struct ns_spot spot, from = { 0 };
	uint32_t lane, nr = 0;
	uint64_t time;
	struct ns_walk *walk = find_walk(replay, tid, &lane, &spot, &time);
	bool ok = walk;

	/* find the calls in the last segment up to the position, then in the last 2, 4, ..., until there are enough */
	do {
		from.segment = spot.segment > nr ? spot.segment - nr : 0;
		nr = 2 * nr + 1;
		ok = ok && walk_from_copy(walk, lane, from, from.segment ? replay->lanes.at[lane].segments.at[from.segment].first : 0);
		if (!ok)
			return 0;
		walk->calls = calls;
		walk->max_calls = max;
		walk->nr_calls = 0;
		ok = walk_to(walk, lane, spot, time);
		walk->max_calls = 0;
	} while (ok && from.segment && walk->nr_calls < max);
	return ok ? walk->nr_calls : 0;
}
