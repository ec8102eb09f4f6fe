// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Convert the branches of a part to slices, and count the calls that start and end in one slice
 * (calls.h).
 */
#include <stdlib.h>
#include <string.h>

#include "calls-priv.h"
#include "durations.h"
#include "session/flow/frames.h"
#include "session/session-priv.h"
#include "session/flow/sources.h"

#define CACHE_SIZE	4096	/* entries of the cache of functions by address, a power of two */
#define OUTER_MAX	4096	/* maximum number of outer events of a slice (struct ns_outer) */
/* A part moves its slices to the pool (struct ns_pool), where they are merged, when one of these numbers is reached. */
#define FLUSH_SLICES	512		/* slices of the part */
#define FLUSH_CALLS	4096		/* ended calls of watched functions */
#define FLUSH_BRANCHES	(1 << 20)	/* branches since the part last moved slices */

/* ---- Functions ---- */

static bool room_for(struct ns_part *p, uint32_t function)
{
	while (p->functions.nr <= function) {
		if (!ns_array_grow(&p->functions))
			return false;
		memset(&p->functions.at[p->functions.nr++], 0, sizeof(p->functions.at[0]));
	}
	return true;
}

static int64_t function_at(struct ns_part *p, uint64_t space, uint64_t addr)
{
	struct ns_cached *c = &p->cache[(addr >> 1 ^ addr >> 13 ^ space * 31) & (CACHE_SIZE - 1)];
	struct nt_place place;
	int64_t number;
	bool watched;

	if (c->addr == addr && c->space == space && addr)
		return c->function;
	nt_session_where(p->calls->session, space, addr, &place);
	pthread_mutex_lock(&p->calls->lock);
	number = ns_calls_number(p->calls, &place);
	watched = number >= 0 && p->calls->functions.all.at[number].watched;
	pthread_mutex_unlock(&p->calls->lock);
	if (number < 0 || !room_for(p, number))
		return -1;
	p->functions.at[number].f.watched = watched;
	p->functions.at[number].f.object = place.object;
	*c = (struct ns_cached){ .space = space, .addr = addr, .function = number };
	return number;
}

/* ---- Start and end of calls in a slice ---- */

/* If @nr has reached @max, set @p->branches so that flush() is called at the next branch. */
static void flush_at(struct ns_part *p, size_t nr, size_t max)
{
	if (nr >= max)
		p->branches = FLUSH_BRANCHES;
}

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct ns_part *p = stack->ctx;
	int64_t function = function_at(p, e->to_space, e->to);

	frame->function = function;
	if (function < 0)
		return false;
	frame->nested = p->functions.at[function].depth;
	p->functions.at[function].depth += ns_calls_may_pass(p->calls, frame);
	return true;
}

/*
 * Add a call that ends with @e to the function's entry of ns_slice::totals. Add a new entry if the function has none,
 * or if the slice has had an outer event (struct ns_outer) after the entry was added, because calls before and after
 * an outer event are added up separately.
 */
static bool add_total(struct ns_part *p, struct ns_part_function *counted, const struct ns_frame *frame,
		      const struct ns_event *e)
{
	const struct ns_total total = ns_total_init(frame, e);
	struct ns_slice *s = &p->slice;
	size_t from = s->outer.nr ? s->outer.at[s->outer.nr - 1].totals : 0;
	struct ns_total *known = s->totals.at + counted->total;

	if (counted->total < from || counted->total >= s->totals.nr ||
	    known->function != total.function) {
		counted->total = s->totals.nr;
		return ns_array_add(&s->totals, total);
	}
	known->ns += total.ns;
	known->ran += total.ran;
	known->insns += total.insns;
	return true;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct ns_part *p = stack->ctx;
	struct ns_part_function *c = &p->functions.at[frame->function];
	struct nt_call call;

	c->depth -= ns_calls_may_pass(p->calls, frame);
	if (!ns_calls_passes(p->calls, frame, e, p->slice.cpu, p->slice.tid, c->f.object))
		return true;
	if (!ns_function_count(&c->f, frame, e, p->slice.tid, seen) ||
	    (!frame->nested && !add_total(p, c, frame, e)))
		return false;
	if (!c->f.watched || (!seen && !p->calls->open))
		return true;
	call = ns_call_init(frame, e, p->slice.tid, p->slice.number, 0);
	call.open = !seen;
	flush_at(p, p->ended.nr + 1, FLUSH_CALLS);
	return ns_array_add(&p->ended, call);
}

static const struct ns_stack_ops slice_ops = { .enter = enter, .leave = leave };

/* ---- Move decoded slices to the pool, from which calls-threads.c merges them into the threads' calls ---- */

/* Pass the calls that have ended to the nt_call_fn of nt_calls_each(), or store them. */
static int give_ended(struct ns_part *p)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < p->ended.nr; i++)
		err = ns_calls_give(p->calls, &p->ended.at[i]);
	p->ended.nr = 0;
	return err;
}

static bool give_slices(struct ns_part *p)
{
	size_t i;
	bool ok = true;

	for (i = 0; i < p->slices.nr; i++) {
		if (ok && ns_threads_add(p->calls, &p->slices.at[i]))
			continue;
		ok = false;
		ns_slice_free(&p->slices.at[i]);
	}
	p->slices.nr = 0;
	return ok;
}

static bool give_gaps(struct ns_part *p)
{
	size_t i;
	bool ok = true;

	for (i = 0; ok && i < p->gaps.nr; i++)
		ok = ns_gaps_add(&p->calls->gaps, p->buffer, p->cpu, &p->gaps.at[i]);
	p->gaps.nr = 0;
	if (!ok || !p->has_first || p->gave_first)
		return ok;
	p->gave_first = true;
	return ns_gaps_first(&p->calls->gaps, p->buffer, p->cpu, p->stretch, p->first);
}

/* Publish the progress of this part, so that ns_threads_settle() knows which slices it can merge. */
static void tell_place(struct ns_part *p)
{
	p->has_open = p->open;
	p->open_tid = p->slice.tid;
	p->open_cpu = p->slice.cpu;
	p->open_begin = p->slice.begin;
	if (p->open)
		p->horizon = p->slice.end;
	else if (p->in_gap)
		p->horizon = p->gap;
}

static void mark_first(struct ns_part *p)
{
	size_t i;

	for (i = 0; p->no_times && p->nr == p->calls->ended && i < p->slices.nr; i++)
		p->slices.at[i].first = true;
}

/*
 * Move closed slices and ended gaps of the part to the pool, and merge the slices of the pool that are ready.
 *
 * Return the same values as ns_threads_settle().
 */
static int flush(struct ns_part *p)
{
	struct nt_calls *calls = p->calls;
	int err;

	p->branches = 0;
	pthread_mutex_lock(&calls->lock);
	mark_first(p);
	tell_place(p);
	err = give_ended(p);
	if (!give_slices(p) || !give_gaps(p))
		err = err ?: -1;
	if (!err)
		err = ns_threads_settle(calls, false);
	pthread_mutex_unlock(&calls->lock);
	return err;
}

/* ---- Slices ---- */

/*
 * Clear the numbers of open calls of the slice in ns_part_function::depth. They are counted when the slice is merged
 * into the calls of its thread.
 */
static void forget_depths(struct ns_part *p)
{
	const struct ns_frame *frame = p->stack.cur.open.at, *end = frame + p->stack.cur.open.nr;

	for (; frame < end; frame++) {
		if (!frame->unseen)
			p->functions.at[frame->function].depth = 0;
	}
}

/* Add the time since ns_part::mode_since to the time of the current kind of code. @ran is the time of the slice, ns. */
static void end_mode(struct ns_part *p, uint64_t ran)
{
	*(p->mode == NT_IN_NR ? &p->slice.unknown : &p->modes[p->mode]) += ran - p->mode_since;
	p->mode_since = ran;
}

enum nt_where ns_mode_of(const struct ns_frame *trap)
{
	switch (trap ? trap->kind : NT_BRANCH_NONE) {
	case NT_BRANCH_SYSCALL:
		return NT_IN_SYSCALL;
	case NT_BRANCH_EXCEPTION:
		return NT_IN_EXCEPTION;
	case NT_BRANCH_INTERRUPT:
		return NT_IN_INTERRUPT;
	}
	return NT_IN_NR;
}

/* Close the slice. Its open calls move to ns_slice::open, and the next slice starts without open calls. */
static bool close_slice(struct ns_part *p)
{
	struct ns_slice *s = &p->slice;

	if (!p->open)
		return true;
	p->open = false;
	s->ran = p->running.last - p->running.from - p->running.away;
	p->traced_ran += s->ran;
	end_mode(p, s->ran);
	forget_depths(p);
	memcpy(&s->open, &p->stack.cur.open, sizeof(s->open));
	s->child_ran = p->stack.cur.child_ran;
	s->child_insns = p->stack.cur.child_insns;
	memset(&p->stack.cur.open, 0, sizeof(p->stack.cur.open));
	ns_stack_forget(&p->stack);
	p->stack.cur.child_ran = p->stack.cur.child_insns = 0;
	flush_at(p, p->slices.nr + 1, FLUSH_SLICES);
	if (ns_array_add(&p->slices, *s))
		return true;
	ns_slice_free(s);
	return false;
}

static bool new_slice(struct ns_part *p, int32_t tid, int32_t cpu, uint64_t time)
{
	if (!close_slice(p))
		return false;
	p->slice = (struct ns_slice){
		.tid = tid, .cpu = cpu, .stretch = p->stretch, .nth = p->nr_slices++,
		.number = __atomic_fetch_add(&p->calls->nr_slices, 1, __ATOMIC_RELAXED),
		.begin = time, .end = time, .buffer = p->buffer,
	};
	p->open = true;
	p->mode_since = 0;
	ns_running_begin(&p->running);
	return true;
}

/* Start another slice if the thread or the CPU has changed. Return false if out of memory. */
static bool slice_of(struct ns_part *p, const struct nt_who *who, const struct nt_branch *b)
{
	uint64_t first = b->flags & NT_BRANCH_BEGIN ? b->to : b->from;
	/*
	 * if the trace did not stop before the switch, count the time from the kernel's record of the switch, or from the
	 * choice of the next thread, until the end of the switch as time of the next thread
	 */
	uint64_t late = p->open ? p->running.late : 0;
	uint64_t last = p->open ? p->running.last_insns : 0;

	if (p->open && p->slice.tid == who->tid && p->slice.cpu == who->cpu)
		return true;
	if (!p->has_first)
		p->first = b->time;
	p->has_first = true;
	/* a slice begins at the end of the slice before it, unless the trace has stopped between them */
	if (p->open)
		p->slice.end = p->running.last;
	p->slice.late -= late;
	p->slice.insns += last;
	if (!new_slice(p, who->tid, who->cpu, p->running.last))
		return false;
	p->slice.late = late;
	p->slice.insns -= last;
	p->slice.at = first;
	p->slice.space = nt_who_space(who, first);
	p->slice.fresh = p->fresh++;
	p->mode = first < ns_kernel_start(p->calls->session) ? NT_IN_USER : NT_IN_NR;
	return true;
}

/*
 * Add an outer event (struct ns_outer), whose effect depends on the calls from before the slice. If calls of the slice
 * itself are open, a new slice starts with the event.
 */
static bool take_outer(struct ns_part *p, struct ns_event *e)
{
	struct ns_outer outer = { 0 };

	/* an event that may switch to another stack also starts a slice */
	if (p->stack.cur.open.nr || p->slice.outer.nr >= OUTER_MAX || p->stack.may_switch) {
		p->stack.may_switch = false;
		if (!new_slice(p, p->slice.tid, p->slice.cpu, e->time))
			return false;
		p->slice.split = true;
		p->slice.fresh = p->fresh - 1;
		e->insns = e->ran = 0;
	}
	outer.event = *e;
	outer.totals = p->slice.totals.nr;
	outer.child_ran = p->stack.cur.child_ran;
	outer.child_insns = p->stack.cur.child_insns;
	outer.unknown = p->slice.unknown;
	p->slice.unknown = 0;
	p->stack.cur.child_ran = p->stack.cur.child_insns = 0;
	return ns_array_add(&p->slice.outer, outer);
}

static bool end_gap(struct ns_part *p, uint64_t time)
{
	const struct ns_gap gap = {
		.from = p->gap, .to = time, .stretch = p->stretch, .open = time == UINT64_MAX, .code = p->gap_code,
	};

	if (!p->in_gap)
		return true;
	p->in_gap = false;
	flush_at(p, p->gaps.nr + 1, FLUSH_SLICES);
	return ns_array_add(&p->gaps, gap);
}

static bool take_event(struct ns_part *p, const struct nt_who *who, const struct nt_branch *b,
		       uint64_t ran)
{
	const bool trap = b->flags || (b->kind >= NT_BRANCH_SYSCALL && b->kind <= NT_BRANCH_TRAP_RETURN);
	struct ns_event event;
	int ret;

	ns_event_init(&event, who, b, p->slice.insns, ran);
	event.time = p->running.last;
	if (trap)
		end_mode(p, ran);
	ret = ns_stack_take_part(&p->stack, &event);
	if (trap && b->flags & NT_BRANCH_END)
		p->mode = NT_IN_UNTRACED;
	else if (trap)
		p->mode = b->to < ns_kernel_start(p->calls->session) ? NT_IN_USER : ns_mode_of(ns_stack_trap(&p->stack));
	return ret ? ret > 0 : take_outer(p, &event);
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct ns_part *p = part;
	uint64_t ran;

	if (p->branches >= FLUSH_BRANCHES && flush(p))
		return -1;
	p->branches++;
	if (!ns_running_is(&p->running, who) || who->cpu != p->slice.cpu) {
		who = ns_running_who(&p->running, who, b);
		if (!slice_of(p, who, b))
			return -1;
	}
	if (p->in_gap && !end_gap(p, b->time))
		return -1;
	p->slice.insns += b->insns;
	ran = ns_running_take(&p->running, who, b);
	p->slice.end = p->running.last;
	if (!p->calls->filtered ||
	    (nt_filter_passes(&p->calls->filter, b->time, who->cpu, who->tid) &&
	     (!p->calls->filter.object || nt_filter_has_code(&p->calls->filter, nt_who_space(who, b->from), b->from)))) {
		p->totals.insns += b->insns;
		p->totals.branches++;
	}
	/*
	 * skip conditional branches first, because they are the most frequent, and creating an event
	 * is the most expensive step
	 */
	return !ns_branch_matters(b) || take_event(p, who, b, ran) ? 0 : -1;
}

/*
 * Start a gap, in which calls and returns are unknown. If only code is missing (@code), the calls of the
 * thread stay open. Otherwise the next slice starts without open calls.
 */
static bool begin_gap(struct ns_part *p, uint64_t time, bool code)
{
	p->gap_code = code && (!p->in_gap || p->gap_code);
	if (!p->in_gap)
		p->gap = time;
	p->in_gap = true;
	if (code)
		return true;
	ns_running_stop(&p->running);
	return close_slice(p);
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct ns_part *p = part;

	p->totals.losses += item->type == NT_ITEM_LOST;
	p->totals.gaps += item->type == NT_ITEM_GAP;
	p->totals.errors += item->type != NT_ITEM_LOST && item->type != NT_ITEM_GAP;
	return begin_gap(p, p->open ? p->slice.end : who->time, item->type == NT_ITEM_GAP) ? 0 : -1;
}

/* ---- Start and end of a part ---- */

static void add_part(struct nt_calls *calls, struct ns_part *p, uint64_t start)
{
	pthread_mutex_lock(&calls->lock);
	p->nr = calls->begun++;
	if (start > calls->begun_at)
		calls->begun_at = start;
	p->next = calls->parts;
	if (p->next)
		p->next->before = p;
	calls->parts = p;
	pthread_mutex_unlock(&calls->lock);
}

static void free_part(struct ns_part *p)
{
	free(p->stack.cur.open.at);
	free(p->stack.targets);
	free(p->slices.at);
	free(p->functions.at);
	free(p->cache);
	free(p->ended.at);
	free(p->gaps.at);
	free(p);
}

/*
 * Return true if trace was lost at the start of the stretch and the stretch before it did not report the loss. If
 * the trace consists of frames, the flag PARTIAL reports the loss, because the first message is not known before
 * the frames are unpacked.
 */
static bool lost_begin(const struct ns_trace *trace, const struct ns_stretch *s)
{
	if (s > trace->stretches.at && s[-1].queue == s->queue && ns_stretch_is_cut(s - 1))
		return false;
	return s->middle || ns_frames_lost(s);
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct ns_part *p = calloc(1, sizeof(*p));
	struct nt_calls *calls = ctx;
	const struct ns_stretch *s = ns_part_stretch(calls->session, stretch);
	const struct ns_cpu *cpu = ns_part_cpu(calls->session, stretch);

	if (!p)
		return NULL;
	p->cache = calloc(CACHE_SIZE, sizeof(*p->cache));
	p->stack.targets = calloc(NS_TARGETS, sizeof(*p->stack.targets));
	if (!p->cache || !p->stack.targets) {
		free_part(p);
		return NULL;
	}
	p->calls = calls;
	p->stretch = stretch;
	p->buffer = s->queue;
	p->cpu = cpu ? cpu->cpu : s->cpu;
	p->no_times = cpu && !cpu->has_time;
	p->stack.session = p->running.session = calls->session;
	ns_running_stop(&p->running);
	p->stack.ops = &slice_ops;
	p->stack.ctx = p;
	p->stack.part = true;
	p->horizon = s->start;
	/* begin with a gap if trace was lost since the previous stretch */
	p->in_gap = lost_begin(&calls->session->trace, s);
	p->gap = s->start;
	add_part(calls, p, s->start);
	return p;
}

static bool add_functions(struct nt_calls *calls, struct ns_part *p)
{
	bool ok = true;
	size_t i;

	for (i = 0; i < p->functions.nr; i++) {
		ok = ok && ns_function_add(&calls->functions.all.at[i], &p->functions.at[i].f);
		ns_durations_free(p->functions.at[i].f.durations);
	}
	return ok;
}

static void add_totals(struct nt_calls *calls, const struct ns_part *p)
{
	calls->totals.insns += p->totals.insns;
	calls->totals.branches += p->totals.branches;
	calls->totals.errors += p->totals.errors;
	calls->totals.gaps += p->totals.gaps;
	calls->totals.losses += p->totals.losses;
	calls->totals.ran_ns += p->traced_ran;
}

static void remove_part(struct nt_calls *calls, struct ns_part *p)
{
	if (p->before)
		p->before->next = p->next;
	else
		calls->parts = p->next;
	if (p->next)
		p->next->before = p->before;
	calls->ended++;
}

/*
 * Close the part. Its last gap lasts until the CPU has trace again. If several CPUs share a buffer, the trace that was
 * lost after the stretch can be of each of them, but @lost is true at most for the one to which the stretch belongs.
 * The parts of all of these CPUs therefore end with a gap, even if @lost is false.
 */
static bool close_part(struct ns_part *p, const struct nt_who *who, bool lost)
{
	uint64_t last = p->open ? p->slice.end : who->time;
	bool ok = close_slice(p);

	p->totals.losses += lost;
	if (ns_stretch_is_cut(ns_part_stretch(p->calls->session, p->stretch)))
		ok = begin_gap(p, last, false) && ok;
	return end_gap(p, UINT64_MAX) && ok;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_calls *calls = ctx;
	struct ns_part *p = part;
	bool ok = close_part(p, who, lost);
	unsigned int mode;
	int err;

	pthread_mutex_lock(&calls->lock);
	ok = add_functions(calls, p) && ok;
	for (mode = 0; mode < NT_IN_NR; mode++)
		ok = ns_gaps_ran(&calls->gaps, p->buffer, p->cpu, mode, p->modes[mode]) && ok;
	add_totals(calls, p);
	mark_first(p);
	err = give_ended(p);
	ok = give_slices(p) && give_gaps(p) && ok;
	remove_part(calls, p);
	if (!err && ok)
		err = ns_threads_settle(calls, false);
	pthread_mutex_unlock(&calls->lock);
	free_part(p);
	return ok ? err : -1;
}

/* ---- Create, run and free a struct nt_calls ---- */

struct nt_calls *nt_calls_new(struct nt_session *session)
{
	struct nt_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->session = session;
	calls->filter.cpu = calls->filter.tid = -1;
	pthread_mutex_init(&calls->lock, NULL);
	calls->numbered = calloc(1, sizeof(*calls->numbered));
	calls->gaps.session = session;
	calls->targets = calloc(NS_TARGETS, sizeof(*calls->targets));
	if (calls->numbered && calls->targets)
		return calls;
	nt_calls_free(calls);
	return NULL;
}

void nt_calls_free(struct nt_calls *calls)
{
	if (!calls)
		return;
	ns_threads_free(calls);
	ns_functions_free(&calls->functions);
	ns_gaps_free(&calls->gaps);
	ns_watched_free(&calls->watched);
	if (calls->numbered)
		ns_numbered_free(calls->numbered);
	free(calls->numbered);
	free(calls->targets);
	pthread_mutex_destroy(&calls->lock);
	free(calls);
}

int nt_calls_run(struct nt_calls *calls)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error,
		.end = end, .windows = &calls->filter.time,
		.nr_windows = calls->filter.time.to ? 1 : 0,
	};
	int err = nt_session_branches(calls->session, &sink, calls);
	size_t i;

	if (!err)
		err = ns_threads_settle(calls, true);
	for (i = 0; i < calls->functions.all.nr; i++) {
		calls->totals.calls += calls->functions.all.at[i].calls;
		calls->totals.open += calls->functions.all.at[i].open;
	}
	calls->totals.functions = calls->functions.all.nr;
	if (!err && !ns_watched_end(&calls->watched))
		err = -1;
	return err;
}

void nt_calls_totals(const struct nt_calls *calls, struct nt_calls_totals *totals)
{
	*totals = calls->totals;
}

const struct nt_function *nt_calls_function(const struct nt_calls *calls, size_t nth)
{
	return nth < calls->functions.all.nr ? &calls->functions.all.at[nth] : NULL;
}

const struct nt_slice *nt_calls_slice(const struct nt_calls *calls, size_t number)
{
	return ns_numbered_get(calls->numbered, number);
}
