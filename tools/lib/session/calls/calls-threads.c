// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Slices of a thread are from several CPUs. They are merged in the order of time as soon as no
 * earlier slice can follow. Only the open calls of a thread are kept after that.
 */
#include <search.h>
#include <stdlib.h>

#include "calls-priv.h"
#include "session/session-priv.h"

#define SLACK		10000000	/* the clocks of two CPUs differ by less, ns */
#define LIMIT		(16 << 20)	/* bytes of waiting slices from which they are merged */
#define GAPS_MAX	(1 << 16)	/* number of gaps from which old ones are dropped */
#define OPEN_MAX	(2 * NS_STACK_DEPTH_MAX)	/* limit of open frames of all threads */

/* ---- Slices ---- */

void ns_slice_free(struct ns_slice *slice)
{
	free(slice->outer.at);
	free(slice->totals.at);
	free(slice->open.at);
}

static size_t bytes_of(const struct ns_slice *s)
{
	return sizeof(*s) + s->outer.room * sizeof(s->outer.at[0]) +
	       s->totals.room * sizeof(s->totals.at[0]) +
	       s->open.room * sizeof(s->open.at[0]);
}

bool ns_threads_add(struct nt_calls *calls, const struct ns_slice *slice)
{
	calls->pool.bytes += bytes_of(slice);
	return ns_array_add(&calls->pool.slices, *slice);
}

static bool same_thread(const struct ns_slice *a, const struct ns_slice *b)
{
	return a->tid == b->tid && ns_thread_cpu(a->tid, a->cpu) == ns_thread_cpu(b->tid, b->cpu);
}

static int number_cmp(int32_t a, int32_t b)
{
	return a < b ? -1 : a > b;
}

static int slice_cmp(const void *a, const void *b)
{
	const struct ns_slice *x = a, *y = b;

	if (!same_thread(x, y))
		return number_cmp(x->tid, y->tid) ?:
		       number_cmp(ns_thread_cpu(x->tid, x->cpu), ns_thread_cpu(y->tid, y->cpu));
	if (x->stretch == y->stretch)
		return x->nth < y->nth ? -1 : x->nth > y->nth;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->stretch < y->stretch ? -1 : 1;
}

/* ---- Calls of a thread ---- */

static struct ns_depth *find_depth(const struct ns_thread_calls *t, uint32_t function)
{
	size_t mask = t->depths_size - 1, at = function * 0x9e3779b1U & mask;

	while (t->depths[at].function && t->depths[at].function != function + 1)
		at = (at + 1) & mask;
	return &t->depths[at];
}

static bool grow_depths(struct ns_thread_calls *t)
{
	struct ns_depth *old = t->depths, *d;
	size_t size = t->depths_size, i;

	d = calloc(size ? 2 * size : 64, sizeof(*d));
	if (!d)
		return false;
	t->depths = d;
	t->depths_size = size ? 2 * size : 64;
	for (i = 0; i < size; i++) {
		if (old[i].function)
			*find_depth(t, old[i].function - 1) = old[i];
	}
	free(old);
	return true;
}

/*
 * Return the counts of a function in a thread, and add them if necessary. Return NULL if out of
 * memory.
 */
static struct ns_depth *make_depth(struct ns_thread_calls *t, uint32_t function)
{
	struct ns_depth *depth;

	if (2 * t->nr_depths >= t->depths_size && !grow_depths(t))
		return NULL;
	depth = find_depth(t, function);
	t->nr_depths += !depth->function;
	depth->function = function + 1;
	return depth;
}

/* Add @total to the sums of a function, or subtract it if @sign is -1. */
static void add_total(struct ns_thread_calls *t, struct ns_depth *depth, const struct ns_total *total, int sign)
{
	struct nt_function *f = &t->calls->functions.all.at[depth->function - 1];

	f->total_ns += sign * total->ns;
	f->total_ran += sign * total->ran;
	f->total_insns += sign * total->insns;
	depth->total.ns += sign * total->ns;
	depth->total.ran += sign * total->ran;
	depth->total.insns += sign * total->insns;
}

/* Count another open call of its function. Return false if out of memory. */
static bool add_depth(struct ns_thread_calls *t, struct ns_frame *frame)
{
	struct ns_depth *depth = make_depth(t, frame->function);
	struct ns_total total;

	if (!depth)
		return false;
	/* all calls of the function so far were inside this call */
	total = depth->total;
	if (frame->outer)
		add_total(t, depth, &total, -1);
	frame->nested = depth->nr;
	depth->nr += ns_calls_may_pass(t->calls, frame);
	return true;
}

static bool add_totals(struct ns_thread_calls *t, const struct ns_total *total, size_t nr)
{
	struct ns_depth *depth;

	for (; nr--; total++) {
		depth = make_depth(t, total->function);
		if (!depth)
			return false;
		if (!depth->nr)
			add_total(t, depth, total, 1);
	}
	return true;
}

static bool thread_enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_place place;
	int64_t number;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	number = ns_functions_number(&t->calls->functions, &place);
	if (number < 0)
		return false;
	t->calls->functions.all.at[number].watched = ns_calls_is_watched(t->calls, &place);
	frame->function = number;
	return add_depth(t, frame);
}

static bool thread_leave(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *e, bool seen)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_function *f = &t->calls->functions.all.at[frame->function];
	struct nt_call call = ns_call_init(frame, e, t->tid, t->slice, t->at);
	const struct ns_total total = ns_total_init(frame, e);
	struct ns_depth *depth = find_depth(t, frame->function);

	call.open = !seen;
	depth->nr -= ns_calls_may_pass(t->calls, frame);
	if (!ns_calls_passes(t->calls, &call, t->cpu))
		return true;
	if (!ns_function_count(f, frame, &call, total.ran))
		return false;
	if (!frame->nested)
		add_total(t, depth, &total, 1);
	if (f->watched && (seen || t->calls->open) && !t->error)
		t->error = ns_calls_give(t->calls, &call);
	return true;
}

static bool thread_drop(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_calls *calls = t->calls;

	return !calls->each_drop || calls->each_drop(calls->slice_ctx, stack, e, t->tid, t->cpu);
}

static const struct ns_stack_ops thread_ops = {
	.enter = thread_enter, .leave = thread_leave, .drop = thread_drop,
};

static void add_children(struct ns_thread_calls *t, uint64_t ran, uint64_t insns)
{
	struct ns_frame *top;

	if (!t->stack.open.nr)
		return;
	top = &t->stack.open.at[t->stack.open.nr - 1];
	top->child_ran += ran;
	top->child_insns += insns;
}

/*
 * End all calls at the end of the last slice, because the thread's open calls have become unknown.
 */
static bool give_up(struct ns_thread_calls *t)
{
	const struct ns_event event = { .time = t->end, .insns = t->insns, .ran = t->ran };

	return ns_stack_drop(&t->stack, &event);
}

static bool take_outer(struct ns_thread_calls *t, const struct ns_slice *s)
{
	const struct ns_outer *outer = s->outer.at, *end = outer + s->outer.nr;
	size_t totals = 0;
	struct ns_event event;

	for (; outer < end; outer++) {
		add_children(t, outer->child_ran, outer->child_insns);
		if (!add_totals(t, s->totals.at + totals, outer->totals - totals))
			return false;
		totals = outer->totals;
		event = outer->event;
		event.insns += t->insns;
		event.ran += t->ran;
		if (ns_stack_take(&t->stack, &event) < 0)
			return false;
	}
	add_children(t, s->child_ran, s->child_insns);
	return add_totals(t, s->totals.at + totals, s->totals.nr - totals);
}

static bool take_open(struct ns_thread_calls *t, const struct ns_slice *s)
{
	struct ns_frame frame;
	size_t i;

	if (ns_stack_is_full(&t->stack, s->open.nr) && !give_up(t))
		return false;
	for (i = 0; i < s->open.nr; i++) {
		frame = s->open.at[i];
		frame.insns += t->insns;
		frame.ran += t->ran;
		if (!frame.unseen && !add_depth(t, &frame))
			return false;
		if (!ns_stack_add(&t->stack, &frame))
			return false;
	}
	return true;
}

/* Start a thread whose earlier calls are not known. */
static bool begin_thread(struct ns_thread_calls *t, const struct ns_slice *s)
{
	const struct ns_event event = {
		.time = s->begin, .insns = t->insns, .ran = t->ran, .to = s->at, .to_space = s->space,
	};
	size_t i;

	for (i = 0; i < t->depths_size; i++)
		t->depths[i].total = (struct ns_total){ 0 };
	return ns_stack_begin(&t->stack, &event);
}

static int put_together(struct ns_thread_calls *t, const struct ns_slice *s)
{
	struct nt_calls *calls = t->calls;
	size_t before = t->stack.open.nr;
	int err;

	if (!t->stack.open.nr && !s->split && !begin_thread(t, s))
		return -1;
	if (calls->each_slice && !s->split) {
		err = calls->each_slice(calls->slice_ctx, s->stretch, s->fresh, &t->stack,
					t->insns, t->ran);
		if (err)
			return err;
	}
	if (!take_outer(t, s) || !take_open(t, s))
		return -1;
	t->insns += s->insns;
	t->ran += s->ran;
	calls->pool.open += t->stack.open.nr - before;
	return t->error;
}

/* ---- Threads ---- */

static int thread_cmp(const void *a, const void *b)
{
	const struct ns_thread_calls *x = a, *y = b;

	return number_cmp(x->tid, y->tid) ?: number_cmp(x->key_cpu, y->key_cpu);
}

/* Return the thread of a slice, or NULL if out of memory. */
static struct ns_thread_calls *thread_of(struct nt_calls *calls, const struct ns_slice *s)
{
	const struct ns_thread_calls key = {
		.tid = s->tid, .key_cpu = ns_thread_cpu(s->tid, s->cpu),
	};
	struct ns_thread_calls **found = tfind(&key, &calls->pool.tree, thread_cmp), *t;

	if (found)
		return *found;
	t = malloc(sizeof(*t));
	if (!t)
		return NULL;
	*t = key;
	t->calls = calls;
	t->nth = calls->pool.threads.nr;
	t->stack = (struct ns_stack){ .session = calls->session, .ops = &thread_ops, .ctx = t, .follows = true };
	if (ns_array_add(&calls->pool.threads, t)) {
		if (tsearch(t, &calls->pool.tree, thread_cmp))
			return t;
		calls->pool.threads.nr--;
	}
	free(t);
	return NULL;
}

/*
 * Return true if the thread may have executed untraced before the slice. If a clock is wrong, the
 * slice can even be earlier than a slice that was already merged.
 */
static bool is_cut(const struct ns_thread_calls *t, const struct ns_slice *s)
{
	if (s->split || !t->begun || !t->stack.open.nr)
		return false;
	return (s->stretch != t->stretch && s->begin < t->begin) ||
	       ns_gaps_between(&t->calls->gaps, t->tid, t->end, s->begin);
}

/*
 * Store the slice by number if the caller receives each call, because it looks the slices up later.
 */
static bool number_slice(const struct ns_thread_calls *t, const struct ns_slice *s)
{
	struct nt_calls *calls = t->calls;
	struct nt_slice *slice = ns_numbered_make(calls->numbered, s->number);

	if (!slice)
		return false;
	*slice = (struct nt_slice){
		.begin = s->split ? t->end : s->begin, .end = s->end, .at = t->insns,
		.insns = s->insns, .thread = t->nth, .tid = s->tid, .cpu = s->cpu,
	};
	return true;
}

static bool cut_thread(struct ns_thread_calls *t)
{
	t->calls->pool.open -= t->stack.open.nr;
	return give_up(t);
}

static int put_slice(struct nt_calls *calls, const struct ns_slice *s)
{
	struct ns_thread_calls *t = thread_of(calls, s);

	if (!t || ((is_cut(t, s) || calls->pool.open > OPEN_MAX) && !cut_thread(t)))
		return -1;
	if (calls->each && !number_slice(t, s))
		return -1;
	t->begun = true;
	t->cpu = s->cpu;
	t->slice = s->number;
	t->at = t->insns;
	t->stretch = s->stretch;
	t->begin = s->begin;
	t->end = s->end;
	return put_together(t, s);
}

/* ---- All threads ---- */

/* Return the time before which no later slice starts, except one of the thread of an open slice. */
static uint64_t horizon_of(const struct nt_calls *calls)
{
	const struct ns_part *p;
	uint64_t horizon = calls->begun < calls->session->nr_parts ? calls->begun_at : UINT64_MAX;

	for (p = calls->parts; p; p = p->next) {
		if (p->horizon < horizon)
			horizon = p->horizon;
	}
	return horizon;
}

/* Return true if a part has an open slice of the same thread that began no later. */
static bool may_wait(const struct nt_calls *calls, const struct ns_slice *s)
{
	const struct ns_part *p;

	for (p = calls->parts; p; p = p->next) {
		if (p->has_open && p->open_tid == s->tid && p->open_begin <= s->begin &&
		    ns_thread_cpu(s->tid, s->cpu) == ns_thread_cpu(p->open_tid, p->open_cpu))
			return true;
	}
	return false;
}

static bool is_ready(const struct nt_calls *calls, const struct ns_slice *s, uint64_t horizon)
{
	if (s->first)
		return true;
	return horizon > SLACK && s->begin < horizon - SLACK && !may_wait(calls, s);
}

/*
 * Drop the gaps that no later slice can overlap, after the open calls of threads that they
 * interrupt were given up.
 */
static bool forget_gaps(struct nt_calls *calls, uint64_t horizon)
{
	const struct ns_pool *pool = &calls->pool;
	struct ns_thread_calls *t;
	size_t i;

	for (i = 0; i < pool->slices.nr; i++) {
		if (pool->slices.at[i].begin < horizon)
			horizon = pool->slices.at[i].begin;
	}
	for (i = 0; i < pool->threads.nr; i++) {
		t = pool->threads.at[i];
		if (!t->stack.open.nr || !ns_gaps_between(&calls->gaps, t->tid, t->end, horizon))
			continue;
		if (!cut_thread(t))
			return false;
	}
	ns_gaps_forget(&calls->gaps, horizon);
	return true;
}

/* Merge the slices that are ready, and keep the rest. */
static int settle_slices(struct nt_calls *calls, uint64_t horizon, bool all)
{
	struct ns_pool *pool = &calls->pool;
	struct ns_slice *s = pool->slices.at, *end = s + pool->slices.nr, *kept = s;
	int err = 0;

	for (; s < end; s++) {
		if (err || (!all && ((kept > pool->slices.at && same_thread(kept - 1, s)) ||
				     !is_ready(calls, s, horizon)))) {
			*kept++ = *s;
			continue;
		}
		err = put_slice(calls, s);
		pool->bytes -= bytes_of(s);
		ns_slice_free(s);
	}
	pool->slices.nr = kept - pool->slices.at;
	return err;
}

static int thread_order(const void *a, const void *b)
{
	return thread_cmp(*(const void *const *)a, *(const void *const *)b);
}

/* Number the threads by tid, and set the numbers in their slices. */
static bool number_threads(struct nt_calls *calls)
{
	struct ns_pool *pool = &calls->pool;
	uint32_t *numbers = calloc(pool->threads.nr + 1, sizeof(*numbers));
	struct nt_slice *slice;
	size_t i;

	if (!numbers)
		return false;
	if (pool->threads.nr)
		qsort(pool->threads.at, pool->threads.nr, sizeof(pool->threads.at[0]),
		      thread_order);
	for (i = 0; i < pool->threads.nr; i++)
		numbers[pool->threads.at[i]->nth] = i;
	for (i = 0; (slice = ns_numbered_get(calls->numbered, i)); i++)
		slice->thread = numbers[slice->thread];
	free(numbers);
	return true;
}

static int end_threads(struct nt_calls *calls)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < calls->pool.threads.nr; i++)
		err = give_up(calls->pool.threads.at[i]) ? calls->pool.threads.at[i]->error : -1;
	if (!err && calls->each && !number_threads(calls))
		err = -1;
	return err;
}

int ns_threads_settle(struct nt_calls *calls, bool all)
{
	uint64_t horizon = all ? UINT64_MAX : horizon_of(calls);
	struct ns_pool *pool = &calls->pool;
	int err;

	if (!all && pool->bytes < (pool->limit ?: LIMIT))
		return 0;
	ns_gaps_settle(&calls->gaps);
	if (pool->slices.nr)
		qsort(pool->slices.at, pool->slices.nr, sizeof(pool->slices.at[0]), slice_cmp);
	err = settle_slices(calls, horizon, all);
	/* raise the limit so that waiting slices are not checked again for each new slice */
	pool->limit = pool->bytes > LIMIT / 2 ? 2 * pool->bytes : LIMIT;
	if (!err && calls->gaps.nr > GAPS_MAX && !all && !calls->each &&
	    !forget_gaps(calls, horizon))
		err = -1;
	return !err && all ? end_threads(calls) : err;
}

void ns_threads_free(struct nt_calls *calls)
{
	struct ns_pool *pool = &calls->pool;
	struct ns_thread_calls *t;
	size_t i;

	for (i = 0; i < pool->slices.nr; i++)
		ns_slice_free(&pool->slices.at[i]);
	free(pool->slices.at);
	for (i = 0; i < pool->threads.nr; i++) {
		t = pool->threads.at[i];
		tdelete(t, &pool->tree, thread_cmp);
		free(t->stack.open.at);
		free(t->depths);
		free(t);
	}
	free(pool->threads.at);
}
