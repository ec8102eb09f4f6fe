// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "calls-priv.h"
#include "session-priv.h"

#define CACHE_SIZE	4096	/* of functions by address, a power of two */

/* Events that only the calls from before the slice can explain */
struct outer {
	struct ns_event	event;
	uint64_t	child_ns, child_insns;	/* of calls that ended since the one before */
};

struct slice {
	int32_t		tid, cpu;
	uint64_t	stretch, nth;
	uint64_t	fresh;		/* those before it in the stretch that are not split off */
	bool		split;		/* from the slice before it, by take_outer() */
	uint64_t	begin, end;
	uint64_t	insns;
	uint64_t	child_ns, child_insns;	/* as in struct outer, after the last one */
	NS_ARRAY(struct outer) outer;
	NS_ARRAY(struct ns_frame) open;
};

/* Trace of a buffer is missing */
struct gap {
	uint32_t	buffer;
	uint64_t	from, to;
};

/* What one thread of nt_session_decode() counts of one function */
struct cached {
	uint64_t	space, addr;
	uint32_t	function;
};

typedef NS_ARRAY(struct nt_call) call_list;

struct part {
	struct nt_calls	*calls;
	uint64_t	stretch;
	NS_ARRAY(struct slice) slices;
	struct slice	*slice;		/* the last one, that is open; NULL: none */
	struct ns_stack	stack;		/* of that */
	NS_ARRAY(struct nt_function) functions;	/* by their number in @calls */
	struct cached	cache[CACHE_SIZE];
	call_list	ended;
	NS_ARRAY(struct gap) gaps;
	bool		in_gap;		/* the last one goes on */
	uint64_t	first;		/* time of the first branch */
	uint64_t	fresh;		/* slices that are not split off */
	struct nt_calls_totals totals;
};

struct nt_calls {
	struct nt_session *session;
	pthread_mutex_t	lock;
	NS_ARRAY(struct nt_function) functions;
	uint32_t	*hash;		/* of functions: number + 1 */
	size_t		hash_size;
	NS_ARRAY(struct slice) slices;
	struct nt_filter filter;
	const char	*watch;
	nt_call_fn	each;
	void		*each_ctx;
	ns_slice_fn	each_slice;
	void		*slice_ctx;
	call_list	watched;
	NS_ARRAY(struct gap) gaps;	/* by buffer, then time */
	struct nt_calls_totals totals;
};

/* ---- Functions ---- */

static size_t hash_of(const struct nt_calls *calls, const struct nt_place *place)
{
	uint64_t h = ((uintptr_t)place->object * 31 + (uintptr_t)place->symbol) *
		     0x9e3779b97f4a7c15ULL;

	return h >> 20 & (calls->hash_size - 1);
}

static bool grow_hash(struct nt_calls *calls)
{
	size_t size = calls->hash_size ? 2 * calls->hash_size : 4096, i, at;
	uint32_t *hash = calloc(size, sizeof(*hash));
	struct nt_place place;

	if (!hash)
		return false;
	free(calls->hash);
	calls->hash = hash;
	calls->hash_size = size;
	for (i = 0; i < calls->functions.nr; i++) {
		place.object = calls->functions.at[i].object;
		place.symbol = calls->functions.at[i].symbol;
		for (at = hash_of(calls, &place); hash[at]; at = (at + 1) & (size - 1))
			;
		hash[at] = i + 1;
	}
	return true;
}

/* Returns the number of a function. A name keeps its pointer as long as the session is open */
static int64_t number_of(struct nt_calls *calls, const struct nt_place *place)
{
	struct nt_function f = { .object = place->object, .symbol = place->symbol };
	const struct nt_function *known;
	size_t at;

	if (2 * calls->functions.nr >= calls->hash_size && !grow_hash(calls))
		return -1;
	for (at = hash_of(calls, place); calls->hash[at]; at = (at + 1) & (calls->hash_size - 1)) {
		known = &calls->functions.at[calls->hash[at] - 1];
		if (known->object == f.object && known->symbol == f.symbol)
			return calls->hash[at] - 1;
	}
	if (!ns_array_add(&calls->functions, f))
		return -1;
	calls->hash[at] = calls->functions.nr;
	return calls->functions.nr - 1;
}

static bool room_for(struct part *p, uint32_t function)
{
	while (p->functions.nr <= function) {
		if (!ns_array_grow(&p->functions))
			return false;
		memset(&p->functions.at[p->functions.nr++], 0, sizeof(p->functions.at[0]));
	}
	return true;
}

static bool is_watched(const struct nt_calls *calls, const struct nt_place *place)
{
	if (!calls->watch)
		return calls->each;
	return place->symbol && !strcmp(place->symbol, calls->watch);
}

static int64_t function_at(struct part *p, uint64_t space, uint64_t addr)
{
	struct cached *c = &p->cache[(addr >> 1 ^ addr >> 13 ^ space * 31) & (CACHE_SIZE - 1)];
	struct nt_place place;
	int64_t number;

	if (c->addr == addr && c->space == space && addr)
		return c->function;
	nt_session_where(p->calls->session, space, addr, &place);
	pthread_mutex_lock(&p->calls->lock);
	number = number_of(p->calls, &place);
	pthread_mutex_unlock(&p->calls->lock);
	if (number < 0 || !room_for(p, number))
		return -1;
	p->functions.at[number].watched = is_watched(p->calls, &place);
	*c = (struct cached){ .space = space, .addr = addr, .function = number };
	return number;
}

/* ---- Durations ---- */

/* 16 buckets for each power of two; values below 16 have one each */
static unsigned int bucket_of(uint64_t ns)
{
	unsigned int log;

	if (ns < 16)
		return ns;
	log = 63 - __builtin_clzll(ns);
	return (log - 3) * 16 + (ns >> (log - 4) & 15);
}

/* The largest value of a bucket */
static uint64_t bucket_top(unsigned int bucket)
{
	unsigned int log = bucket / 16 + 3;

	if (bucket < 16)
		return bucket;
	return ((16ULL + bucket % 16 + 1) << (log - 4)) - 1;
}

static bool count_call(struct nt_function *f, const struct ns_frame *frame,
		       const struct ns_event *e, int32_t tid, call_list *ended)
{
	uint64_t ns = e->time - frame->begin, n = e->insns - frame->insns;
	const struct nt_call call = {
		.begin = frame->begin, .ns = ns, .insns = n, .tid = tid,
		.function = frame->function,
	};
	unsigned int bucket = bucket_of(ns);

	if (!f->buckets) {
		f->buckets = calloc(NT_CALLS_BUCKETS, sizeof(*f->buckets));
		if (!f->buckets)
			return false;
	}
	f->buckets[bucket < NT_CALLS_BUCKETS ? bucket : NT_CALLS_BUCKETS - 1]++;
	f->total_ns += ns;
	f->self_ns += ns - (frame->child_ns < ns ? frame->child_ns : ns);
	f->total_insns += n;
	f->self_insns += n - (frame->child_insns < n ? frame->child_insns : n);
	if (!f->calls || ns > f->max_ns) {
		f->max_ns = ns;
		f->max_begin = frame->begin;
		f->max_tid = tid;
	}
	f->calls++;
	return !f->watched || ns_array_add(ended, call);
}

static bool add_function(struct nt_function *to, const struct nt_function *from)
{
	unsigned int i;

	if (!from->calls)
		return true;
	if (!to->buckets) {
		to->buckets = calloc(NT_CALLS_BUCKETS, sizeof(*to->buckets));
		if (!to->buckets)
			return false;
	}
	for (i = 0; i < NT_CALLS_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
	if (!to->calls || from->max_ns > to->max_ns ||
	    (from->max_ns == to->max_ns && from->max_begin < to->max_begin)) {
		to->max_ns = from->max_ns;
		to->max_begin = from->max_begin;
		to->max_tid = from->max_tid;
	}
	to->calls += from->calls;
	to->total_ns += from->total_ns;
	to->self_ns += from->self_ns;
	to->total_insns += from->total_insns;
	to->self_insns += from->self_insns;
	return true;
}

uint64_t nt_function_quantile(const struct nt_function *function, unsigned int per_mille)
{
	uint64_t want = (function->calls * per_mille + 999) / 1000, sum = 0, top;
	unsigned int i;

	for (i = 0; function->calls && i < NT_CALLS_BUCKETS; i++) {
		sum += function->buckets[i];
		if (sum < want)
			continue;
		top = bucket_top(i);
		return top < function->max_ns ? top : function->max_ns;
	}
	return 0;
}

/* ---- Slices ---- */

static bool passes(const struct nt_calls *calls, const struct ns_frame *frame,
		   const struct ns_event *e, int32_t cpu, int32_t tid)
{
	const struct nt_filter *filter = &calls->filter;

	return nt_filter_passes(filter, e->time, cpu, tid) &&
		(!filter->time.to || frame->begin >= filter->time.from);
}

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	int64_t function = function_at(stack->ctx, e->to_space, e->to);

	frame->function = function;
	return function >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct part *p = stack->ctx;

	if (!seen) {
		p->totals.open++;
		return true;
	}
	if (!passes(p->calls, frame, e, p->slice->cpu, p->slice->tid))
		return true;
	return count_call(&p->functions.at[frame->function], frame, e, p->slice->tid, &p->ended);
}

static const struct ns_stack_ops slice_ops = { .enter = enter, .leave = leave };

/* Calls that are open stay with the slice, and the next slice begins with none. */
static void close_slice(struct part *p)
{
	struct slice *s = p->slice;

	if (!s)
		return;
	memcpy(&s->open, &p->stack.open, sizeof(s->open));
	s->child_ns = p->stack.child_ns;
	s->child_insns = p->stack.child_insns;
	memset(&p->stack.open, 0, sizeof(p->stack.open));
	p->stack.child_ns = p->stack.child_insns = 0;
	p->slice = NULL;
}

static struct slice *new_slice(struct part *p, int32_t tid, int32_t cpu, uint64_t time)
{
	close_slice(p);
	if (!ns_array_grow(&p->slices))
		return NULL;
	p->slice = &p->slices.at[p->slices.nr];
	*p->slice = (struct slice){
		.tid = tid, .cpu = cpu, .stretch = p->stretch, .nth = p->slices.nr++,
		.begin = time, .end = time,
	};
	return p->slice;
}

static struct slice *slice_of(struct part *p, const struct nt_who *who, uint64_t time)
{
	struct slice *s = p->slice;

	if (s && s->tid == who->tid && s->cpu == who->cpu)
		return s;
	s = new_slice(p, who->tid, who->cpu, time);
	if (s)
		s->fresh = p->fresh++;
	return s;
}

/*
 * Only the calls from before the slice can explain the event, so it waits for them. If calls are
 * open above those, a new slice begins with the event.
 */
static bool take_outer(struct part *p, struct ns_event *e)
{
	struct slice *s = p->slice;
	struct outer outer = { 0 };

	if (p->stack.open.nr) {
		s = new_slice(p, s->tid, s->cpu, e->time);
		if (!s)
			return false;
		s->split = true;
		e->insns = 0;
	}
	outer.event = *e;
	outer.child_ns = p->stack.child_ns;
	outer.child_insns = p->stack.child_insns;
	p->stack.child_ns = p->stack.child_insns = 0;
	return ns_array_add(&s->outer, outer);
}

static void end_gap(struct part *p, uint64_t time)
{
	if (!p->first)
		p->first = time;
	if (p->in_gap)
		p->gaps.at[p->gaps.nr - 1].to = time;
	p->in_gap = false;
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	struct slice *s = slice_of(p, who, b->time);
	struct ns_event event;
	int ret;

	if (!s)
		return -1;
	end_gap(p, b->time);
	s->insns += b->insns;
	s->end = b->time;
	if (nt_filter_passes(&p->calls->filter, b->time, who->cpu, who->tid)) {
		p->totals.insns += b->insns;
		p->totals.branches++;
	}
	/* most branches are conditional, and an event takes longer to make than all else of them */
	if (!ns_branch_matters(b))
		return 0;
	ns_event_init(&event, who, b, s->insns);
	ret = ns_stack_take(&p->stack, &event);
	if (!ret)
		ret = take_outer(p, &event) ? 1 : -1;
	return ret < 0 ? -1 : 0;
}

/* From here on, calls and returns are unknown, so the next slice begins without any. */
static bool begin_gap(struct part *p, uint32_t buffer, uint64_t time)
{
	const struct gap gap = { .buffer = buffer, .from = time, .to = UINT64_MAX };

	close_slice(p);
	if (p->in_gap)
		return true;
	p->in_gap = true;
	return ns_array_add(&p->gaps, gap);
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;

	if (item->type == NT_ITEM_LOST)
		p->totals.losses++;
	else if (item->type == NT_ITEM_GAP)
		p->totals.gaps++;
	else
		p->totals.errors++;
	return begin_gap(p, who->buffer, p->slice ? p->slice->end : who->time) ? 0 : -1;
}

/* ---- Stretches ---- */

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->calls = ctx;
	p->stretch = stretch;
	p->stack.session = p->calls->session;
	p->stack.ops = &slice_ops;
	p->stack.ctx = p;
	p->stack.part = true;
	return p;
}

static void free_slice(struct slice *s)
{
	free(s->outer.at);
	free(s->open.at);
}

static bool keep_slices(struct nt_calls *calls, struct part *p)
{
	size_t i;
	bool ok = true;

	for (i = 0; i < p->slices.nr; i++) {
		if (ok && ns_array_add(&calls->slices, p->slices.at[i]))
			continue;
		ok = false;
		free_slice(&p->slices.at[i]);
	}
	return ok;
}

/* A gap at the end of a stretch lasts until there is trace in that buffer again. */
static bool keep_gaps(struct nt_calls *calls, const struct part *p, uint32_t buffer)
{
	struct gap *last = calls->gaps.nr ? &calls->gaps.at[calls->gaps.nr - 1] : NULL;
	bool ok = true;
	size_t i;

	if (p->first && last && last->buffer == buffer && last->to == UINT64_MAX)
		last->to = p->first;
	for (i = 0; ok && i < p->gaps.nr; i++)
		ok = ns_array_add(&calls->gaps, p->gaps.at[i]);
	return ok;
}

static bool keep_functions(struct nt_calls *calls, struct part *p)
{
	bool ok = true;
	size_t i;

	pthread_mutex_lock(&calls->lock);
	for (i = 0; i < p->functions.nr; i++) {
		ok = ok && add_function(&calls->functions.at[i], &p->functions.at[i]);
		calls->functions.at[i].watched |= p->functions.at[i].watched;
		free(p->functions.at[i].buckets);
	}
	pthread_mutex_unlock(&calls->lock);
	return ok;
}

/* Give calls that have ended to the caller's function, and drop them. */
static int give_ended(struct nt_calls *calls, call_list *list)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < list->nr; i++)
		err = calls->each ? calls->each(calls->each_ctx, &list->at[i]) :
		      ns_array_add(&calls->watched, list->at[i]) ? 0 : -1;
	list->nr = 0;
	return err;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_calls *calls = ctx;
	struct part *p = part;
	uint64_t last = p->slice ? p->slice->end : who->time;
	bool ok = keep_functions(calls, p);
	int err = give_ended(calls, &p->ended);

	close_slice(p);
	if (lost) {
		calls->totals.losses++;
		ok = begin_gap(p, who->buffer, last) && ok;
	}
	ok = keep_slices(calls, p) && ok;
	ok = keep_gaps(calls, p, who->buffer) && ok;
	calls->totals.insns += p->totals.insns;
	calls->totals.branches += p->totals.branches;
	calls->totals.errors += p->totals.errors;
	calls->totals.gaps += p->totals.gaps;
	calls->totals.losses += p->totals.losses;
	calls->totals.open += p->totals.open;
	free(p->slices.at);
	free(p->functions.at);
	free(p->ended.at);
	free(p->gaps.at);
	free(p);
	return ok ? err : -1;
}

/* ---- Threads ---- */

/* A thread, while its slices are put together */
struct thread {
	struct nt_calls	*calls;
	struct ns_stack	stack;
	int32_t		tid, cpu;	/* cpu: of the slice */
	uint64_t	insns;		/* of all its slices so far */
	call_list	ended;
};

static bool thread_enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct thread *t = stack->ctx;
	struct nt_place place;
	int64_t number;

	nt_session_where(stack->session, e->to_space, e->to, &place);
	number = number_of(t->calls, &place);
	if (number < 0)
		return false;
	t->calls->functions.at[number].watched = is_watched(t->calls, &place);
	frame->function = number;
	return true;
}

static bool thread_leave(struct ns_stack *stack, const struct ns_frame *frame,
			 const struct ns_event *e, bool seen)
{
	struct thread *t = stack->ctx;

	if (!seen) {
		t->calls->totals.open++;
		return true;
	}
	if (!passes(t->calls, frame, e, t->cpu, t->tid))
		return true;
	return count_call(&t->calls->functions.at[frame->function], frame, e, t->tid, &t->ended);
}

static const struct ns_stack_ops thread_ops = { .enter = thread_enter, .leave = thread_leave };

static void add_children(struct thread *t, uint64_t ns, uint64_t insns)
{
	struct ns_frame *top;

	if (!t->stack.open.nr)
		return;
	top = &t->stack.open.at[t->stack.open.nr - 1];
	top->child_ns += ns;
	top->child_insns += insns;
}

static int put_together(struct thread *t, const struct slice *s)
{
	struct ns_frame frame;
	struct ns_event event;
	int err;
	size_t i;

	t->cpu = s->cpu;
	if (t->calls->each_slice && !s->split) {
		err = t->calls->each_slice(t->calls->slice_ctx, s->stretch, s->fresh, &t->stack);
		if (err)
			return err;
	}
	for (i = 0; i < s->outer.nr; i++) {
		add_children(t, s->outer.at[i].child_ns, s->outer.at[i].child_insns);
		event = s->outer.at[i].event;
		event.insns += t->insns;
		if (ns_stack_take(&t->stack, &event) < 0)
			return -1;
	}
	add_children(t, s->child_ns, s->child_insns);
	for (i = 0; i < s->open.nr; i++) {
		frame = s->open.at[i];
		frame.insns += t->insns;
		if (!ns_array_add(&t->stack.open, frame))
			return -1;
	}
	t->insns += s->insns;
	return give_ended(t->calls, &t->ended);
}

/* The idle thread of each CPU has id 0, and threads that nothing names have -1. */
static int32_t cpu_of_thread(const struct slice *s)
{
	return s->tid > 0 ? -1 : s->cpu;
}

static bool same_thread(const struct slice *a, const struct slice *b)
{
	return a->tid == b->tid && cpu_of_thread(a) == cpu_of_thread(b);
}

static int slice_cmp(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (cpu_of_thread(x) != cpu_of_thread(y))
		return cpu_of_thread(x) < cpu_of_thread(y) ? -1 : 1;
	if (x->stretch == y->stretch)
		return x->nth < y->nth ? -1 : x->nth > y->nth;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->stretch < y->stretch ? -1 : 1;
}

/* ---- Gaps ---- */

static int gap_cmp(const void *a, const void *b)
{
	const struct gap *x = a, *y = b;

	if (x->buffer != y->buffer)
		return x->buffer < y->buffer ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* May the thread have executed in a gap, according to the switch events? */
static bool was_in_gap(const struct nt_calls *calls, const struct gap *gap, int32_t tid)
{
	const struct ns_queue *queue = &calls->session->trace.queues.at[gap->buffer];
	const struct ns_cpu *cpu;

	if (queue->cpu < 0)
		return queue->tid == tid;
	cpu = ns_setup_cpu(&calls->session->setup, queue->cpu);
	/* several CPUs share a buffer */
	if (!cpu || cpu->nt.src_bits)
		return true;
	return ns_sideband_ran(&calls->session->sideband, queue->cpu, tid, gap->from, gap->to);
}

/* The first gap of @nr that ends at @time or later; those of one buffer follow each other. */
static size_t first_gap(const struct gap *gaps, size_t nr, uint64_t time)
{
	size_t low = 0, high = nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (gaps[mid].to < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* May the thread have executed unseen between two of its slices? */
static bool lost_between(const struct nt_calls *calls, const struct slice *a,
			 const struct slice *b)
{
	const struct gap *gaps = calls->gaps.at;
	size_t i, end, at;

	for (i = 0; i < calls->gaps.nr; i = end) {
		for (end = i; end < calls->gaps.nr && gaps[end].buffer == gaps[i].buffer; end++)
			;
		at = i + first_gap(gaps + i, end - i, a->end);
		for (; at < end && gaps[at].from <= b->begin; at++) {
			if (was_in_gap(calls, &gaps[at], a->tid))
				return true;
		}
	}
	return false;
}

static bool follows(const struct nt_calls *calls, const struct slice *before,
		    const struct slice *s)
{
	return s->split || !lost_between(calls, before, s);
}

/* ---- All threads ---- */

static void end_thread(struct thread *t)
{
	t->calls->totals.open += t->stack.open.nr;
	t->stack.open.nr = 0;
}

static int put_all_together(struct nt_calls *calls)
{
	struct slice *all = calls->slices.at, *s;
	struct thread t = {
		.calls = calls,
		.stack = { .session = calls->session, .ops = &thread_ops, .ctx = &t },
	};
	int err = 0;

	if (calls->gaps.nr)
		qsort(calls->gaps.at, calls->gaps.nr, sizeof(calls->gaps.at[0]), gap_cmp);
	if (calls->slices.nr)
		qsort(all, calls->slices.nr, sizeof(*all), slice_cmp);
	for (s = all; !err && s < all + calls->slices.nr; s++) {
		if (s == all || !same_thread(s, s - 1)) {
			end_thread(&t);
			t.insns = 0;
			t.tid = s->tid;
		} else if (!follows(calls, s - 1, s)) {
			end_thread(&t);
		}
		err = put_together(&t, s);
	}
	end_thread(&t);
	free(t.stack.open.at);
	free(t.ended.at);
	return err;
}

/* ---- All ---- */

struct nt_calls *nt_calls_new(struct nt_session *session)
{
	struct nt_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->session = session;
	calls->filter.cpu = calls->filter.tid = -1;
	pthread_mutex_init(&calls->lock, NULL);
	return calls;
}

void nt_calls_free(struct nt_calls *calls)
{
	size_t i;

	if (!calls)
		return;
	for (i = 0; i < calls->functions.nr; i++)
		free(calls->functions.at[i].buckets);
	for (i = 0; i < calls->slices.nr; i++)
		free_slice(&calls->slices.at[i]);
	free(calls->functions.at);
	free(calls->slices.at);
	free(calls->gaps.at);
	free(calls->watched.at);
	free(calls->hash);
	pthread_mutex_destroy(&calls->lock);
	free(calls);
}

void nt_calls_filter(struct nt_calls *calls, const struct nt_filter *filter)
{
	calls->filter = *filter;
}

void nt_calls_watch(struct nt_calls *calls, const char *symbol)
{
	calls->watch = symbol;
}

void nt_calls_each(struct nt_calls *calls, nt_call_fn fn, void *ctx)
{
	calls->each = fn;
	calls->each_ctx = ctx;
}

void ns_calls_each_slice(struct nt_calls *calls, ns_slice_fn fn, void *ctx)
{
	calls->each_slice = fn;
	calls->slice_ctx = ctx;
}

const struct nt_call *nt_calls_watched(const struct nt_calls *calls, size_t *nr)
{
	*nr = calls->watched.nr;
	return calls->watched.at;
}

static int call_cmp(const void *a, const void *b)
{
	const struct nt_call *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
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
		err = put_all_together(calls);
	for (i = 0; i < calls->functions.nr; i++)
		calls->totals.calls += calls->functions.at[i].calls;
	calls->totals.functions = calls->functions.nr;
	if (calls->watched.nr)
		qsort(calls->watched.at, calls->watched.nr, sizeof(calls->watched.at[0]), call_cmp);
	return err;
}

void nt_calls_totals(const struct nt_calls *calls, struct nt_calls_totals *totals)
{
	*totals = calls->totals;
}

const struct nt_function *nt_calls_function(const struct nt_calls *calls, size_t nth)
{
	return nth < calls->functions.nr ? &calls->functions.at[nth] : NULL;
}
