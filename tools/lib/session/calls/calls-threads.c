// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Merge the slices of a thread, which were executed on several CPUs, into the calls of the thread
 * (calls.h defines slices). They are merged in the order of time, as soon as all earlier slices of the
 * thread are decoded. After that, only the open calls of a thread are stored.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "calls-priv.h"
#include "session/session-priv.h"

#define SLACK		10000000	/* limit of the difference between the clocks of two CPUs, ns */
#define LIMIT		(16 << 20)	/* slices of the pool are merged when they have this size, bytes */
#define GAPS_MAX	(1 << 16)	/* gaps that are no longer needed are dropped at this number of gaps */
#define OPEN_MAX	(2 * NS_STACK_DEPTH_MAX)	/* maximum number of open calls of all threads together */

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

static int slice_cmp(const void *a, const void *b)
{
	const struct ns_slice *x = a, *y = b;

	if (!same_thread(x, y))
		return ns_order(x->tid, y->tid) ?:
		       ns_order(ns_thread_cpu(x->tid, x->cpu), ns_thread_cpu(y->tid, y->cpu));
	if (x->stretch == y->stretch)
		return ns_order(x->nth, y->nth);
	return ns_order(x->begin, y->begin) ?: ns_order(x->end, y->end) ?: ns_order(x->stretch, y->stretch);
}

/* ---- Calls of a thread ---- */

static struct ns_depth *find_depth(struct ns_own *own, uint32_t function)
{
	size_t mask = own->size - 1, at = function * 0x9e3779b1U & mask;

	while (own->depths[at].function && own->depths[at].function != function + 1)
		at = (at + 1) & mask;
	return &own->depths[at];
}

/* Make room for twice as many functions. Return false if out of memory. */
static bool grow_own(struct ns_thread_calls *t)
{
	struct ns_own *old = ns_own(t), *new;
	size_t size = old ? 2 * old->size : 64, i;

	new = calloc(1, sizeof(*new) + size * sizeof(new->depths[0]));
	if (!new)
		return false;
	if (old)
		*new = *old;
	new->size = size;
	for (i = 0; old && i < old->size; i++) {
		if (old->depths[i].function)
			*find_depth(new, old->depths[i].function - 1) = old->depths[i];
	}
	free(old);
	t->stack.cur.data = new;
	return true;
}

/*
 * Return the entry for a function on the current stack, which counts its open calls and sums up its calls. If the
 * function has no entry, add one. Return NULL if out of memory.
 */
static struct ns_depth *make_depth(struct ns_thread_calls *t, uint32_t function)
{
	struct ns_depth *depth;

	if (2 * ns_own(t)->nr >= ns_own(t)->size && !grow_own(t))
		return NULL;
	depth = find_depth(ns_own(t), function);
	ns_own(t)->nr += !depth->function;
	depth->function = function + 1;
	return depth;
}

/* Give a number to the current stack of a thread, which is new. Return false if out of memory. */
static bool add_own(struct ns_thread_calls *t)
{
	struct ns_pool *pool = &t->calls->pool;
	const struct ns_key key = {
		.tid = t->tid, .cpu = t->key_cpu, .number = t->stack.cur.number, .nth = pool->stacks.nr,
	};

	if (!grow_own(t))
		return false;
	ns_own(t)->nth = key.nth;
	return ns_array_add(&pool->stacks, key);
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

/* Count @frame as an open call of its function. Return false if out of memory. */
static bool add_depth(struct ns_thread_calls *t, struct ns_frame *frame)
{
	struct ns_depth *depth = make_depth(t, frame->function);
	struct ns_total total;

	if (!depth)
		return false;
	/*
	 * The time of this call contains that of earlier calls of the function on this stack. Subtract the earlier
	 * calls from the sums of the function, so that their time is not counted twice.
	 */
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

/*
 * Clear the sums of all functions on the current stack. The sums are those of open calls, and no call that is open now
 * contains the calls so far.
 */
static void forget_totals(struct ns_thread_calls *t)
{
	size_t i;

	for (i = 0; i < ns_own(t)->size; i++)
		ns_own(t)->depths[i].total = (struct ns_total){ 0 };
}

/* Add the call @frame to nt_calls::outermost as the newest outermost call. Return false if out of memory. */
static bool add_outermost(struct ns_thread_calls *t, const struct ns_frame *frame, const struct ns_event *e)
{
	const struct ns_frame *outer = &t->stack.cur.outer;
	const bool first = outer->insns == e->insns && outer->begin == e->time;
	const struct ns_outermost new = { .function = frame->function, .first = first, .caller = frame->outer && !first };
	struct nt_calls *calls = t->calls;

	if (!ns_array_add(&calls->outermost, new))
		return false;
	if (ns_own(t)->outermost)
		calls->outermost.at[ns_own(t)->outermost - 1].next = calls->outermost.nr;
	ns_own(t)->outermost = calls->outermost.nr;
	return true;
}

static bool thread_enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_place place;
	int64_t number;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	number = ns_calls_number(t->calls, &place);
	if (number < 0)
		return false;
	frame->function = number;
	/* the outermost function starts with this event, so calls that ended before were not made by this function */
	if (stack->cur.open.nr == 1 && stack->cur.outer.insns == e->insns)
		forget_totals(t);
	return (stack->cur.open.nr > 1 || add_outermost(t, frame, e)) && add_depth(t, frame);
}

static bool thread_leave(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *e, bool seen)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_function *f = &t->calls->functions.all.at[frame->function];
	struct nt_call call;
	struct ns_total total = ns_total_init(frame, e);
	struct ns_depth *depth = find_depth(ns_own(t), frame->function);

	/*
	 * subtract the time on other stacks, so that no function takes longer than its thread
	 */
	total.ns -= t->stack.cur.away.time - frame->away;
	depth->nr -= ns_calls_may_pass(t->calls, frame);
	if (!ns_calls_passes(t->calls, frame, e, t->cpu, t->tid, f->object))
		return true;
	if (!ns_function_count(f, frame, e, t->tid, seen))
		return false;
	if (!frame->nested)
		add_total(t, depth, &total, 1);
	if (f->watched && (seen || t->calls->open) && !t->error) {
		call = ns_call_init(frame, e, t->tid, ns_own(t)->slice, ns_own(t)->at);
		call.open = !seen;
		t->error = ns_calls_give(t->calls, &call);
	}
	return true;
}

static bool thread_drop(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_calls *calls = t->calls;

	return !calls->each_drop || calls->each_drop(calls->slice_ctx, t, e);
}

/*
 * Store the slice by its number if calls are stored or passed to an nt_call_fn, because the user can look up the slice
 * of each call later.
 */
static bool number_slice(const struct ns_thread_calls *t)
{
	struct nt_calls *calls = t->calls;
	const struct ns_slice *s = t->slice;
	struct nt_slice *slice;

	if (!calls->each && !calls->watch)
		return true;
	slice = ns_numbered_make(calls->numbered, s->number);
	if (!slice)
		return !ns_fail(calls->session, "writing a temporary file in /tmp failed: %s", strerror(errno));
	*slice = (struct nt_slice){
		.begin = s->split ? t->end : s->begin, .end = s->end, .at = ns_own(t)->at, .before = t->insns,
		.insns = s->insns, .thread = ns_own(t)->nth, .tid = s->tid, .cpu = s->cpu,
	};
	return true;
}

/* Make the current slice the newest slice of the thread's current stack. Return false on failure. */
static bool begin_on_stack(struct ns_thread_calls *t)
{
	struct ns_own *o = ns_own(t);

	o->last_slice = o->slice;
	o->last_at = o->at;
	o->slice = t->slice->number;
	o->at = t->insns - t->stack.cur.away.insns;
	return number_slice(t);
}

/* Assign the slice to the new current stack, because the slice starts with a switch to that stack. */
static int thread_switched(struct ns_stack *stack, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct ns_own *before = stack->waiting.at[stack->waiting.nr - 1].stack.data;

	before->slice = before->last_slice;
	before->at = before->last_at;
	return (ns_own(t) || add_own(t)) && begin_on_stack(t) ? 1 : -1;
}

/* Pass the calls that are open when the slice starts to the ns_slice_fn. */
static int give_slice(struct ns_thread_calls *t)
{
	const struct ns_one_stack *cur = &t->stack.cur;
	struct nt_calls *calls = t->calls;

	if (!calls->each_slice)
		return 0;
	return calls->each_slice(calls->slice_ctx, t, cur->open.nr, t->insns - cur->away.insns, t->ran - cur->away.ran);
}

static bool thread_resumed(struct ns_stack *stack, size_t nth, const struct ns_event *e)
{
	struct ns_thread_calls *t = stack->ctx;
	struct nt_calls *calls = t->calls;

	return !calls->each_slice || !calls->each_slice(calls->slice_ctx, t, nth, e->insns, e->ran);
}

static size_t thread_ahead(struct ns_stack *stack, uint64_t *to, size_t max)
{
	const struct ns_thread_calls *t = stack->ctx;
	const struct ns_event *e;
	size_t n;

	for (n = 0; n < max && n < t->nr_ahead; n++) {
		e = &t->ahead[n].event;
		if (e->kind != NT_BRANCH_RETURN || e->flags || ns_code_before(stack, e)->loads)
			break;
		to[n] = e->to;
	}
	return n;
}

static const char *thread_symbol(const struct ns_stack *stack, const struct ns_frame *frame)
{
	const struct ns_thread_calls *t = stack->ctx;

	return t->calls->functions.all.at[frame->function].symbol;
}

static const struct ns_stack_ops thread_ops = {
	.enter = thread_enter, .leave = thread_leave, .drop = thread_drop, .switched = thread_switched,
	.resumed = thread_resumed, .ahead = thread_ahead, .symbol = thread_symbol,
};

static void add_children(struct ns_thread_calls *t, uint64_t ran, uint64_t insns)
{
	struct ns_frame *top;

	if (!t->stack.cur.open.nr)
		return;
	top = &t->stack.cur.open.at[t->stack.cur.open.nr - 1];
	top->child_ran += ran;
	top->child_insns += insns;
}

static bool end_calls(struct ns_thread_calls *t, uint64_t time, uint64_t insns, uint64_t ran)
{
	struct ns_event event = { .time = time, .insns = insns, .ran = ran };

	event = ns_stack_counts(&t->stack, &event);
	return ns_stack_drop(&t->stack, &event);
}

/*
 * End all calls at the end of the last slice, because the thread's open calls have become unknown.
 */
static bool give_up(struct ns_thread_calls *t)
{
	return end_calls(t, t->end, t->insns, t->ran);
}

/*
 * Count the time @ran for which a slice executed kernel code that a trap in an earlier slice has entered. The trap
 * determines the kind of this code (enum nt_where). It was not known when the slice was decoded, but now it is, because
 * the earlier slices of the thread are merged. Return false if out of memory.
 */
static bool add_unknown(struct ns_thread_calls *t, const struct ns_slice *s, uint64_t ran)
{
	enum nt_where mode = ns_mode_of(ns_stack_trap(&t->stack));

	if (mode == NT_IN_NR)
		mode = s->tid ? NT_IN_KERNEL : NT_IN_IDLE;
	return !ran || ns_gaps_ran(&t->calls->gaps, s->buffer, s->cpu, mode, ran);
}

static int take_outer(struct ns_thread_calls *t, const struct ns_slice *s)
{
	const struct ns_outer *outer = s->outer.at, *end = outer + s->outer.nr;
	size_t totals = 0;
	struct ns_event event;

	for (; outer < end; outer++) {
		add_children(t, outer->child_ran, outer->child_insns);
		if (!add_unknown(t, s, outer->unknown) || !add_totals(t, s->totals.at + totals, outer->totals - totals))
			return -1;
		totals = outer->totals;
		t->ahead = outer + 1;
		t->nr_ahead = end - t->ahead;
		event = outer->event;
		event.insns += t->insns;
		event.ran += t->ran;
		if (ns_stack_take(&t->stack, &event) < 0)
			return -1;
	}
	add_children(t, s->child_ran, s->child_insns);
	return add_unknown(t, s, s->unknown) && add_totals(t, s->totals.at + totals, s->totals.nr - totals) ? 0 : -1;
}

static bool take_open(struct ns_thread_calls *t, const struct ns_slice *s)
{
	const struct ns_frame *first = s->open.at;
	struct ns_frame frame;
	size_t i, signals = 0;

	for (i = 0; i < s->open.nr; i++)
		signals += s->open.at[i].signal;
	/*
	 * If the stack is full, end its calls at the start of the slice's first open call, and not at the start of the
	 * slice, because the functions on the stack have made the calls that ended before this first open call.
	 */
	if (s->open.nr && ns_stack_is_full(&t->stack, s->open.nr, signals) &&
	    !end_calls(t, first->begin, t->insns + first->insns, t->ran + first->ran))
		return false;
	for (i = 0; i < s->open.nr; i++) {
		frame = s->open.at[i];
		frame.insns += t->insns - t->stack.cur.away.insns;
		frame.ran += t->ran - t->stack.cur.away.ran;
		frame.away = t->stack.cur.away.time;
		if (!frame.unseen && !add_depth(t, &frame))
			return false;
		if (!ns_stack_add(&t->stack, &frame))
			return false;
	}
	return true;
}

/* Start the calls of a thread with a slice. Calls that the thread made before the slice are unknown. */
static bool begin_thread(struct ns_thread_calls *t, const struct ns_slice *s)
{
	const struct ns_event event = {
		.time = s->begin, .insns = t->insns - t->stack.cur.away.insns, .ran = t->ran - t->stack.cur.away.ran,
		.to = s->at, .to_space = s->space,
	};

	return ns_stack_begin(&t->stack, &event);
}

static int put_together(struct ns_thread_calls *t, const struct ns_slice *s)
{
	size_t before = t->stack.cur.open.nr;
	int err = 0;

	if (!t->stack.cur.open.nr && !s->split && !begin_thread(t, s))
		return -1;
	if (!s->split) {
		t->stack.switches = 0;
		err = give_slice(t);
	}
	err = err ?: take_outer(t, s);
	if (err)
		return err;
	if (!take_open(t, s))
		return -1;
	t->insns += s->insns;
	t->ran += s->ran;
	t->calls->pool.open += t->stack.cur.open.nr - before;
	return t->error;
}

/* ---- Threads ---- */

static int thread_cmp(const void *a, const void *b)
{
	const struct ns_thread_calls *x = a, *y = b;

	return ns_order(x->tid, y->tid) ?: ns_order(x->key_cpu, y->key_cpu);
}

/* Return the thread of a slice, and create the thread if it is new. Return NULL if out of memory. */
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
	t->stack = (struct ns_stack){
		.session = calls->session, .ops = &thread_ops, .ctx = t, .follows = true, .targets = calls->targets,
	};
	if (add_own(t) && ns_array_add(&calls->pool.threads, t)) {
		if (tsearch(t, &calls->pool.tree, thread_cmp))
			return t;
		calls->pool.threads.nr--;
	}
	free(t->stack.cur.data);
	free(t);
	return NULL;
}

/*
 * Return true if the thread may have executed code without trace between its last slice and this one. If
 * a clock is wrong, the slice can even be earlier than a slice that was already merged.
 */
static bool is_cut(const struct ns_thread_calls *t, const struct ns_slice *s)
{
	if (s->split || !t->begun || !t->stack.cur.open.nr)
		return false;
	return (s->stretch != t->stretch && s->begin < t->begin) ||
	       ns_gaps_between(&t->calls->gaps, t->tid, t->end, s->begin);
}

static bool cut_thread(struct ns_thread_calls *t)
{
	t->calls->pool.open -= t->stack.cur.open.nr;
	return give_up(t);
}

/* Add the slice to the sums of its thread and CPU. */
static bool add_slice(struct ns_thread_calls *t, const struct ns_slice *s)
{
	struct nt_thread *c = t->cpus.at;

	while (c < t->cpus.at + t->cpus.nr && c->cpu != s->cpu)
		c++;
	if (c == t->cpus.at + t->cpus.nr) {
		if (!ns_array_add(&t->cpus, ((struct nt_thread){ .tid = s->tid, .cpu = s->cpu })))
			return false;
		c = &t->cpus.at[t->cpus.nr - 1];
	}
	c->end = s->end > c->end ? s->end : c->end;
	c->insns += s->insns;
	c->ran += s->ran + s->late;
	return true;
}

static int put_slice(struct nt_calls *calls, const struct ns_slice *s)
{
	struct ns_thread_calls *t = thread_of(calls, s);

	if (!t || !add_slice(t, s) || ((is_cut(t, s) || calls->pool.open > OPEN_MAX) && !cut_thread(t)))
		return -1;
	t->slice = s;
	if (!begin_on_stack(t))
		return -1;
	t->begun = true;
	t->cpu = s->cpu;
	t->stretch = s->stretch;
	t->begin = s->begin;
	t->end = s->end;
	return put_together(t, s);
}

/* ---- All threads ---- */

/* Return a time before which no slice starts, except those in the pool and those that are being decoded now. */
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

/* Return true if a slice that is still being decoded belongs to the thread of @s, and began no later than @s. */
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
 * End the open calls of threads that may have executed code in a gap. Then drop the gaps that ended before the start
 * of each slice of the pool, and before @horizon, which is the earliest start of slices that are not in the pool yet.
 * No slice that is merged later can overlap these gaps.
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
		if (!t->stack.cur.open.nr || !ns_gaps_between(&calls->gaps, t->tid, t->end, horizon))
			continue;
		if (!cut_thread(t))
			return false;
	}
	ns_gaps_forget(&calls->gaps, horizon);
	return true;
}

/* Merge each slice of the pool if all earlier slices of its thread are decoded. If @all is set, merge all slices. */
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

static int end_threads(struct nt_calls *calls)
{
	struct ns_pool *pool = &calls->pool;
	struct ns_thread_calls *t;
	size_t i, cpu;
	int err = 0;

	ns_array_sort(&pool->threads, thread_order);
	for (i = 0; !err && i < pool->threads.nr; i++) {
		t = pool->threads.at[i];
		err = give_up(t) ? t->error : -1;
		for (cpu = 0; !err && cpu < t->cpus.nr; cpu++) {
			/*
			 * The time of the switch to the next thread was subtracted from nt_thread::ran, because it
			 * counts for the next thread. If the thread has only one slice on this CPU, and the switch took
			 * longer than this slice, the result is negative.
			 */
			if ((int64_t)t->cpus.at[cpu].ran < 0)
				t->cpus.at[cpu].ran = 0;
			err = ns_array_add(&pool->cpus, t->cpus.at[cpu]) ? 0 : -1;
		}
	}
	if (!err && calls->each && !ns_numbered_threads(calls))
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
	ns_array_sort(&pool->slices, slice_cmp);
	err = settle_slices(calls, horizon, all);
	/* raise the size at which the pool is checked, so that its slices are not checked again for each new slice */
	pool->limit = pool->bytes > LIMIT / 2 ? 2 * pool->bytes : LIMIT;
	if (!err && calls->gaps.nr > GAPS_MAX && !all && !calls->each &&
	    !forget_gaps(calls, horizon))
		err = -1;
	return !err && all ? end_threads(calls) : err;
}

const struct nt_thread *nt_calls_threads(const struct nt_calls *calls, size_t *nr)
{
	*nr = calls->pool.cpus.nr;
	return calls->pool.cpus.at;
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
		ns_stack_free(&t->stack);
		free(t->cpus.at);
		free(t);
	}
	free(pool->threads.at);
	free(pool->stacks.at);
	free(pool->cpus.at);
	free(calls->outermost.at);
}
