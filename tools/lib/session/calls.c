// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "calls.h"

#define CACHE_SIZE	4096	/* of functions by address, a power of two */

/* A call that is open */
struct frame {
	uint64_t	ret;		/* where it returns to */
	uint64_t	begin;		/* ns */
	uint64_t	insns;		/* the thread's count at its begin */
	uint64_t	child_ns, child_insns;
	uint32_t	function;
	bool		trap;
};

/* A return to a caller that is not in the slice */
struct outer {
	uint64_t	to, time, insns;
	uint64_t	child_ns, child_insns;	/* of calls that ended since the return before */
	bool		trap;
};

struct slice {
	int32_t		tid, cpu;
	uint64_t	begin, end;
	uint64_t	insns;
	bool		lost;		/* before it, trace was lost: no caller is known */
	uint64_t	child_ns, child_insns;	/* as in struct outer, after the last one */
	NS_ARRAY(struct outer) outer;
	NS_ARRAY(struct frame) open;
};

/* What one thread of nt_session_decode() counts of one function */
struct cached {
	uint64_t	space, addr;
	uint32_t	function;
};

typedef NS_ARRAY(struct nt_call) call_list;

struct part {
	struct nt_calls	*calls;
	struct nt_branches branches;
	NS_ARRAY(struct slice) slices;
	struct slice	*slice;		/* the last one, that is open; NULL: none */
	NS_ARRAY(struct nt_function) functions;	/* by their number in @calls */
	struct cached	cache[CACHE_SIZE];
	call_list	watched;
	struct nt_calls_totals totals;
	bool		lost;
};

struct nt_calls {
	struct nt_session *session;
	pthread_mutex_t	lock;
	NS_ARRAY(struct nt_function) functions;
	uint32_t	*hash;		/* of functions: number + 1 */
	size_t		hash_size;
	NS_ARRAY(struct slice) slices;
	const char	*watch;
	call_list	watched;
	NS_ARRAY(uint64_t) gaps;	/* times at which trace of some CPU was lost */
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

/* The number of a function: names are the same pointers as long as the session is open */
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
	p->functions.at[number].watched = p->calls->watch && place.symbol &&
					  !strcmp(place.symbol, p->calls->watch);
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

static bool count_call(struct nt_function *f, const struct frame *frame, uint64_t end,
		       uint64_t insns, int32_t tid, call_list *watched)
{
	struct nt_call call = { .begin = frame->begin, .ns = end - frame->begin, .tid = tid };
	uint64_t ns = end - frame->begin, n = insns - frame->insns;
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
	return !f->watched || ns_array_add(watched, call);
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

static struct slice *slice_of(struct part *p, const struct nt_who *who, uint64_t time)
{
	struct slice *s = p->slice;

	if (s && s->tid == who->tid && s->cpu == who->cpu)
		return s;
	if (!ns_array_grow(&p->slices))
		return NULL;
	s = &p->slices.at[p->slices.nr++];
	*s = (struct slice){ .tid = who->tid, .cpu = who->cpu, .begin = time, .end = time, .lost = p->lost };
	p->lost = false;
	p->slice = s;
	return s;
}

/* Nobody knows what was called and returned from here on: what comes next begins anew. */
static void lose(struct part *p)
{
	p->slice = NULL;
	p->lost = true;
}

static bool push(struct part *p, struct slice *s, const struct nt_who *who,
		 const struct nt_branch *b)
{
	int64_t function = function_at(p, who->space, b->to);
	struct frame frame = {
		.begin = b->time, .insns = s->insns, .function = function,
		/* a system call returns after ecall, any other trap to where it was taken */
		.ret = b->from + (b->kind == NT_BRANCH_SYSCALL ? 4 : b->length),
		.trap = b->kind != NT_BRANCH_CALL,
	};

	return function >= 0 && ns_array_add(&s->open, frame);
}

/* The topmost call ends. */
static bool pop(struct part *p, struct slice *s, uint64_t time)
{
	struct frame frame = s->open.at[--s->open.nr], *caller;
	uint64_t ns = time - frame.begin, n = s->insns - frame.insns;

	if (s->open.nr) {
		caller = &s->open.at[s->open.nr - 1];
		caller->child_ns += ns;
		caller->child_insns += n;
	} else {
		s->child_ns += ns;
		s->child_insns += n;
	}
	return count_call(&p->functions.at[frame.function], &frame, time, s->insns, s->tid,
			  &p->watched);
}

/*
 * Which of the open calls returns to @to: its index. A trap return that no trap matches is that
 * to a signal's handler, or of one: it ends the topmost trap. -1: none of these
 */
static int64_t find_caller(const struct frame *frames, size_t nr, uint64_t to, bool trap)
{
	int64_t i;

	for (i = (int64_t)nr - 1; i >= 0; i--) {
		if (frames[i].ret == to && frames[i].trap == trap)
			return i;
		if (!trap && frames[i].trap)
			return -1;	/* a return does not leave the kernel */
	}
	for (i = (int64_t)nr - 1; trap && i >= 0; i--) {
		if (frames[i].trap)
			return i;
	}
	return -1;
}

static bool has_trap(const struct slice *s)
{
	size_t i;

	for (i = 0; i < s->open.nr; i++) {
		if (s->open.at[i].trap)
			return true;
	}
	return false;
}

static bool take_return(struct part *p, struct slice *s, const struct nt_branch *b)
{
	bool trap = b->kind == NT_BRANCH_TRAP_RETURN;
	int64_t at = find_caller(s->open.at, s->open.nr, b->to, trap);
	struct outer outer = {
		.to = b->to, .time = b->time, .insns = s->insns, .trap = trap,
		.child_ns = s->child_ns, .child_insns = s->child_insns,
	};

	/* a return to where no open call came from, as of a coroutine, changes nothing */
	if (at < 0 && s->open.nr && (!trap || has_trap(s)))
		return true;
	while (at >= 0 ? (int64_t)s->open.nr > at : s->open.nr > 0) {
		if (!pop(p, s, b->time))
			return false;
	}
	if (at >= 0)
		return true;
	outer.child_ns = s->child_ns;
	outer.child_insns = s->child_insns;
	s->child_ns = 0;
	s->child_insns = 0;
	return ns_array_add(&s->outer, outer);
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	struct slice *s = slice_of(p, who, b->time);
	bool ok = true;

	if (!s)
		return -1;
	s->insns += b->insns;
	s->end = b->time;
	p->totals.insns += b->insns;
	p->totals.branches++;
	if (b->flags & (NT_BRANCH_BEGIN | NT_BRANCH_END))
		return 0;
	switch (b->kind) {
	case NT_BRANCH_CALL:
	case NT_BRANCH_SYSCALL:
	case NT_BRANCH_EXCEPTION:
	case NT_BRANCH_INTERRUPT:
		ok = push(p, s, who, b);
		break;
	case NT_BRANCH_RETURN:
	case NT_BRANCH_TRAP_RETURN:
		ok = take_return(p, s, b);
		break;
	}
	return ok ? 0 : -1;
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
	lose(p);
	return 0;
}

/* ---- Stretches ---- */

static const struct nt_branch_sink sink = { .branch = take_branch, .error = take_error };

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->calls = ctx;
	nt_branches_init(&p->branches, &sink, p);
	return p;
}

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct part *p = part;

	return nt_branches_ranges(&p->branches, who, batch);
}

static int take_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;

	return nt_branches_item(&p->branches, who, item);
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

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_calls *calls = ctx;
	struct part *p = part;
	bool ok = keep_functions(calls, p);
	size_t i;

	for (i = 0; i < p->watched.nr; i++)
		ok = ok && ns_array_add(&calls->watched, p->watched.at[i]);
	free(p->watched.at);
	ok = keep_slices(calls, p) && ok;
	/* other threads may have run in the gap, too: each begins anew after it */
	if (lost) {
		calls->totals.losses++;
		ok = ok && ns_array_add(&calls->gaps, who->time);
	}
	calls->totals.insns += p->totals.insns;
	calls->totals.branches += p->totals.branches;
	calls->totals.errors += p->totals.errors;
	calls->totals.gaps += p->totals.gaps;
	calls->totals.losses += p->totals.losses;
	nt_branches_exit(&p->branches);
	free(p->slices.at);
	free(p->functions.at);
	free(p);
	return ok ? 0 : -1;
}

/* ---- Threads ---- */

/* A thread, while its slices are put together */
struct thread {
	NS_ARRAY(struct frame) open;
	uint64_t	insns;		/* of all its slices so far */
};

static bool thread_pop(struct nt_calls *calls, struct thread *t, uint64_t time, uint64_t insns,
		       int32_t tid)
{
	struct frame frame = t->open.at[--t->open.nr], *caller;

	if (t->open.nr) {
		caller = &t->open.at[t->open.nr - 1];
		caller->child_ns += time - frame.begin;
		caller->child_insns += insns - frame.insns;
	}
	return count_call(&calls->functions.at[frame.function], &frame, time, insns, tid,
			  &calls->watched);
}

static void add_children(struct thread *t, uint64_t ns, uint64_t insns)
{
	if (!t->open.nr)
		return;
	t->open.at[t->open.nr - 1].child_ns += ns;
	t->open.at[t->open.nr - 1].child_insns += insns;
}

static bool put_together(struct nt_calls *calls, struct thread *t, const struct slice *s)
{
	const struct outer *outer;
	struct frame frame;
	int64_t at;
	size_t i;

	if (s->lost) {
		calls->totals.open += t->open.nr;
		t->open.nr = 0;
	}
	for (i = 0; i < s->outer.nr; i++) {
		outer = &s->outer.at[i];
		add_children(t, outer->child_ns, outer->child_insns);
		at = find_caller(t->open.at, t->open.nr, outer->to, outer->trap);
		while (at >= 0 && (int64_t)t->open.nr > at) {
			if (!thread_pop(calls, t, outer->time, t->insns + outer->insns, s->tid))
				return false;
		}
	}
	add_children(t, s->child_ns, s->child_insns);
	for (i = 0; i < s->open.nr; i++) {
		frame = s->open.at[i];
		frame.insns += t->insns;
		if (!ns_array_add(&t->open, frame))
			return false;
	}
	t->insns += s->insns;
	return true;
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
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return x->end < y->end ? -1 : x->end > y->end;
}

static int time_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Was trace of any CPU lost after @from and up to @to? The thread may have run there. */
static bool lost_between(const struct nt_calls *calls, uint64_t from, uint64_t to)
{
	size_t low = 0, high = calls->gaps.nr, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (calls->gaps.at[mid] < from)
			low = mid + 1;
		else
			high = mid;
	}
	return low < calls->gaps.nr && calls->gaps.at[low] <= to;
}

static bool put_all_together(struct nt_calls *calls)
{
	struct slice *s = calls->slices.at, *last = s + calls->slices.nr;
	struct thread t = { 0 };
	bool ok = true;

	if (calls->gaps.nr)
		qsort(calls->gaps.at, calls->gaps.nr, sizeof(calls->gaps.at[0]), time_cmp);
	if (calls->slices.nr)
		qsort(s, calls->slices.nr, sizeof(*s), slice_cmp);
	for (; ok && s < last; s++) {
		if (s == calls->slices.at || !same_thread(s, s - 1)) {
			calls->totals.open += t.open.nr;
			t.open.nr = 0;
			t.insns = 0;
		} else if (lost_between(calls, s[-1].end, s->begin)) {
			s->lost = true;
		}
		ok = put_together(calls, &t, s);
	}
	calls->totals.open += t.open.nr;
	free(t.open.at);
	return ok;
}

/* ---- All ---- */

struct nt_calls *nt_calls_new(struct nt_session *session)
{
	struct nt_calls *calls = calloc(1, sizeof(*calls));

	if (!calls)
		return NULL;
	calls->session = session;
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

void nt_calls_watch(struct nt_calls *calls, const char *symbol)
{
	calls->watch = symbol;
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
	static const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = take_ranges,
		.item = take_item, .end = end,
	};
	int err = nt_session_decode(calls->session, &consumer, calls);
	size_t i;

	if (!err && !put_all_together(calls))
		err = -1;
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
