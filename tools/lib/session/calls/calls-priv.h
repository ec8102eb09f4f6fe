/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Only the session library's own files include this. They share what it says of calls:
 *
 *	calls.c		parts of nt_session_branches() become slices
 *	calls-threads.c	slices become the calls of threads
 *	calls-wanted.c	which calls the caller wants
 *	numbered.c	slices by their number
 *	calls-gaps.c	where trace is missing between two slices
 *	functions.c	the functions that calls are counted of
 */
#ifndef NTRACE_SESSION_CALLS_PRIV_H
#define NTRACE_SESSION_CALLS_PRIV_H

#include <pthread.h>
#include <stdio.h>

#include "calls.h"
#include "callstack.h"
#include "running.h"
#include "watched.h"

/* ---- Functions ---- */

struct ns_functions {
	NS_ARRAY(struct nt_function) all;
	uint32_t	*hash;		/* of @all: number + 1 */
	size_t		hash_size;
};

/* ns_functions_number() - of the function at a place, which is made if it is new; -1: no memory */
int64_t ns_functions_number(struct ns_functions *functions, const struct nt_place *place);
void ns_functions_free(struct ns_functions *functions);

/* ns_function_count() - a call that is over, and @ran so long. false: out of memory */
bool ns_function_count(struct nt_function *function, const struct ns_frame *frame,
		       const struct nt_call *call, uint64_t ran);

/* What calls took in all that no other call of the same function is around */
struct ns_total {
	uint32_t	function;
	uint64_t	ns, ran, insns;
};

/* ns_function_add() - the calls of @from are calls of @to, too. false: out of memory */
bool ns_function_add(struct nt_function *to, const struct nt_function *from);

/* ---- Slices ---- */

/* An event that only the calls from before the slice can explain */
struct ns_outer {
	struct ns_event	event;
	uint64_t	child_ran, child_insns;	/* of calls that ended since the one before */
	size_t		totals;		/* of ns_slice::totals, those of these calls end here */
};

struct ns_slice {
	int32_t		tid, cpu;
	uint32_t	number;		/* for nt_calls_slice() */
	uint64_t	stretch, nth;
	uint64_t	fresh;		/* those before it in the stretch that are not split off */
	bool		split;		/* it goes on where the slice before it ended */
	bool		first;		/* nothing earlier can come, though it has no times */
	uint64_t	begin, end;
	uint64_t	insns, ran;
	uint64_t	at, space;	/* where it begins */
	uint64_t	child_ran, child_insns;	/* as in struct ns_outer, after the last one */
	NS_ARRAY(struct ns_total) totals;
	NS_ARRAY(struct ns_outer) outer;
	NS_ARRAY(struct ns_frame) open;
};

void ns_slice_free(struct ns_slice *slice);

/* The idle thread of each CPU has id 0, and threads that nothing names have -1. */
static inline int32_t ns_thread_cpu(int32_t tid, int32_t cpu)
{
	return tid > 0 ? -1 : cpu;
}

/* Slices by their number, for nt_calls_slice() */
struct ns_numbered {
	struct nt_slice	*at;
	size_t		nr, room;
	FILE		*file;		/* that @at is mapped of; NULL: it is in memory */
	size_t		block;		/* that was looked at last */
	unsigned int	looked;		/* blocks since pages were released */
};

/* ns_numbered_make() - as get(), but makes it if there is none. NULL: out of memory, or of disk */
struct nt_slice *ns_numbered_make(struct ns_numbered *numbered, size_t number);
struct nt_slice *ns_numbered_get(struct ns_numbered *numbered, size_t number);
void ns_numbered_free(struct ns_numbered *numbered);

/* ---- Gaps ---- */

/* Trace of a CPU is missing */
struct ns_gap {
	uint64_t	from, to;
	uint64_t	stretch;
	bool		open;		/* up to the CPU's next trace, if that is known: @to follows from it */
};

/* When the first branch of a stretch was executed */
struct ns_first {
	uint64_t	stretch, time;
};

#define NS_ANY_BUFFER	UINT32_MAX

/* Those of one CPU, in the buffers of any CPUs or in the buffer of one thread */
struct ns_gaps {
	uint32_t	buffer;		/* NS_ANY_BUFFER: those of CPUs */
	int32_t		cpu;
	NS_ARRAY(struct ns_gap) gaps;
	NS_ARRAY(struct ns_first) firsts;
	bool		sorted;
	uint64_t	insns, ran;	/* that were traced */
	uint64_t	missing_ns;	/* of gaps up to @counted_to, */
	uint64_t	counted_to;	/* which is the end of a gap */
};

struct ns_all_gaps {
	struct nt_session *session;
	NS_ARRAY(struct ns_gaps) all;	/* by buffer, then CPU */
	size_t		nr;		/* of gaps */
};

void ns_gaps_free(struct ns_all_gaps *all);

/* ns_gaps_add() - trace is missing; ns_gaps_first() - there is trace again. false: out of memory */
bool ns_gaps_add(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, const struct ns_gap *gap);
bool ns_gaps_first(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, uint64_t stretch,
		   uint64_t time);

/* ns_gaps_traced() - count @insns instructions that were traced, in @ran ns. false: out of memory */
bool ns_gaps_traced(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, uint64_t insns, uint64_t ran);

/* ns_gaps_settle() - to be called before ns_gaps_between(), if something was added */
void ns_gaps_settle(struct ns_all_gaps *all);

/* ns_gaps_between() - may the thread have executed unseen between two times? */
bool ns_gaps_between(const struct ns_all_gaps *all, int32_t tid, uint64_t from, uint64_t to);

/* ns_gaps_missing() - time in all gaps up to @end, ns */
uint64_t ns_gaps_missing(const struct ns_gaps *gaps, uint64_t end);

/* ns_gaps_forget() - nobody asks for what was over before @time */
void ns_gaps_forget(struct ns_all_gaps *all, uint64_t time);

/* ---- Threads ---- */

/* How many calls of a function are open in a thread, and what is counted of it since the thread began */
struct ns_depth {
	uint32_t	function;	/* its number + 1 */
	uint32_t	nr;
	struct ns_total	total;
};

/* The calls of one thread, as far as they are decoded */
struct ns_thread_calls {
	struct nt_calls	*calls;
	struct ns_stack	stack;
	int32_t		tid, key_cpu;	/* key_cpu: by ns_thread_cpu() */
	uint32_t	nth;		/* in the pool */
	uint64_t	insns, ran;	/* of all its slices so far */
	struct ns_depth	*depths;	/* a hash of functions */
	size_t		nr_depths, depths_size;
	/* of the last slice: */
	int32_t		cpu;
	uint32_t	slice;		/* its number */
	uint64_t	at;		/* instructions before it */
	uint64_t	stretch, begin, end;
	bool		begun;
	int		error;		/* what the caller's function returned */
};

/* Slices that wait for earlier ones */
struct ns_pool {
	NS_ARRAY(struct ns_slice) slices;
	size_t		bytes, limit;	/* of memory; ns_threads_settle() from there on */
	NS_ARRAY(struct ns_thread_calls *) threads;
	void		*tree;		/* of @threads, for tsearch() */
	size_t		open;		/* frames of all threads */
};

/* The function that an address belongs to */
struct ns_cached {
	uint64_t	space, addr;
	uint32_t	function;
};

/* A function in the calls of one part */
struct ns_part_function {
	struct nt_function f;
	uint32_t	depth;		/* calls of it that are open in the slice */
	uint32_t	total;		/* its place in the totals of the slice, if that is not of before */
};

/* Calls of one part, see sources.h */
struct ns_part {
	struct nt_calls	*calls;
	struct ns_part	*next, *before;	/* in nt_calls::parts */
	uint64_t	stretch, nr;	/* @stretch: number of the part; nr: how many began before */
	uint32_t	buffer;
	int32_t		cpu;
	bool		no_times;	/* the order of parts is all that there is */
	NS_ARRAY(struct ns_slice) slices;
	struct ns_slice	slice;		/* if @open, it goes on */
	bool		open;
	uint64_t	nr_slices, fresh;	/* @fresh counts slices that are not split off */
	struct ns_stack	stack;		/* of @slice */
	struct ns_running running;
	NS_ARRAY(struct ns_part_function) functions;	/* by their number in @calls */
	struct ns_cached	*cache;
	NS_ARRAY(struct nt_call) ended;
	NS_ARRAY(struct ns_gap) gaps;
	uint64_t	gap;		/* its begin */
	bool		in_gap;
	bool		has_first, gave_first;
	uint64_t	first, last;	/* times of the first and the last branch */
	uint64_t	branches;	/* since it gave its slices to the pool */
	struct nt_calls_totals totals;
	/* for others, under the lock: */
	uint64_t	horizon;	/* no slice comes that begins earlier, but of this thread: */
	int32_t		open_tid, open_cpu;
	uint64_t	open_begin;
	bool		has_open;
	uint64_t	traced_insns, traced_ran;	/* of slices that are closed */
};

typedef int (*ns_slice_fn)(void *ctx, uint64_t stretch, uint64_t nth,
			   const struct ns_stack *stack, uint64_t insns, uint64_t ran);
typedef bool (*ns_drop_fn)(void *ctx, const struct ns_stack *stack, const struct ns_event *event,
			   int32_t tid, int32_t cpu);

struct nt_calls {
	struct nt_session *session;
	pthread_mutex_t	lock;
	struct ns_functions functions;
	struct nt_filter filter;
	bool		open;		/* nt_calls_open() */
	const char	*watch;
	nt_call_fn	each;
	void		*each_ctx;
	ns_slice_fn	each_slice;
	ns_drop_fn	each_drop;
	void		*slice_ctx;
	struct ns_watched watched;
	struct ns_all_gaps gaps;
	struct ns_pool	pool;
	uint64_t	last;		/* time of the last branch */
	struct ns_part	*parts;		/* those of stretches that have begun and not ended */
	uint64_t	begun, ended;	/* stretches */
	uint64_t	begun_at;	/* the start of the last one that has begun */
	struct nt_calls_totals totals;
	uint32_t	nr_slices;		/* numbers that are given away */
	struct ns_numbered *numbered;
};

/* ns_calls_passes() - does the filter want a call that ends on that CPU? */
bool ns_calls_passes(const struct nt_calls *calls, const struct nt_call *call, int32_t cpu);

/* ns_calls_may_pass() - Return false if the call began before the time that the filter wants */
static inline bool ns_calls_may_pass(const struct nt_calls *calls, const struct ns_frame *frame)
{
	return frame->begin >= calls->filter.time.from;
}

/*
 * ns_call_init() - a call that is over
 * @at: instructions of the thread at the begin of the slice, as far as @frame counts them
 */
struct nt_call ns_call_init(const struct ns_frame *frame, const struct ns_event *event, int32_t tid,
			    uint32_t slice, uint64_t at);

/* ns_calls_is_watched() - are calls of the function kept, or given to the caller? */
bool ns_calls_is_watched(const struct nt_calls *calls, const struct nt_place *place);

/* ns_calls_give() - to whom wants the calls. Return: 0; -1: out of memory; what nt_call_fn returned */
int ns_calls_give(struct nt_calls *calls, const struct nt_call *call);

/*
 * ns_threads_settle() - put slices together that nothing earlier can come before, or all if @all.
 * Return: 0; -1: out of memory; what a function of the caller returned.
 */
int ns_threads_settle(struct nt_calls *calls, bool all);
bool ns_threads_add(struct nt_calls *calls, const struct ns_slice *slice);
void ns_threads_free(struct nt_calls *calls);

/*
 * ns_calls_each_slice() - call @fn with the calls that are open when each slice begins
 * @nth: which one it is of its stretch, counting those only that begin with another thread or CPU,
 *	or after an error
 * @insns: that the thread has executed, for @ran ns
 *
 * @drop, which may be NULL, is called with the calls of a thread that are given up.
 * nt_calls_run() returns what is not 0.
 */
void ns_calls_each_slice(struct nt_calls *calls, ns_slice_fn fn, ns_drop_fn drop, void *ctx);

#endif /* NTRACE_SESSION_CALLS_PRIV_H */
