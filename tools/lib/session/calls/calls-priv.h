/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Declarations about calls that only the files of the session library share:
 *
 *	calls.c		converts parts of nt_session_branches() into slices
 *	calls-threads.c	merges slices into the calls of threads
 *	calls-wanted.c	selects the calls that the caller wants
 *	numbered.c	stores slices by their number
 *	calls-gaps.c	finds missing trace between two slices
 *	code/functions.c	stores the functions and counts their calls
 */
#ifndef NTRACE_SESSION_CALLS_PRIV_H
#define NTRACE_SESSION_CALLS_PRIV_H

#include <pthread.h>
#include <stdio.h>

#include "calls.h"
#include "callstack.h"
#include "running.h"
#include "watched.h"

/* ---- Executed functions, and sums of their calls ---- */

struct ns_functions {
	NS_ARRAY(struct nt_function) all;
	/* tree that finds a function of @all by its object and start address, for tsearch() */
	void		*tree;
	NS_ARRAY(char *) names;		/* names of functions without a symbol */
};

/*
 * ns_functions_number() - return the number of the function at a place, and add it if it is new
 *
 * Return -1 if out of memory.
 */
int64_t ns_functions_number(struct ns_functions *functions, const struct nt_place *place);
void ns_functions_free(struct ns_functions *functions);

/*
 * ns_function_count() - count a call that ends with @event. @seen is true if the trace contains the end. Return false
 * if out of memory.
 */
bool ns_function_count(struct nt_function *function, const struct ns_frame *frame, const struct ns_event *event,
		       int32_t tid, bool seen);

/* Sums of those calls of a function that are not inside another call of the same function */
struct ns_total {
	uint32_t	function;
	uint64_t	ns, ran, insns;
};

/* ns_total_init() - return the time and instructions of one call, which ends with @event */
static inline struct ns_total ns_total_init(const struct ns_frame *frame, const struct ns_event *event)
{
	return (struct ns_total){
		.function = frame->function, .ns = event->time - frame->begin,
		.ran = event->ran - frame->ran, .insns = event->insns - frame->insns,
	};
}

/* ns_function_add() - add the calls of @from to @to. Return false if out of memory. */
bool ns_function_add(struct nt_function *to, const struct nt_function *from);

/* ---- Code that a thread executed between two context switches (slices) ---- */

/*
 * An outer event is an event, such as a return, whose effect depends on the calls that were open before its slice
 * started. It takes effect when the slice is merged into the calls of the thread.
 */
struct ns_outer {
	struct ns_event	event;
	/* time (ns) and instructions of calls that ended between the slice's previous outer event and this one */
	uint64_t	child_ran, child_insns;
	size_t		totals;		/* number of elements of ns_slice::totals for calls before this event */
	/*
	 * time between the previous outer event of the slice and this one, in kernel code that a trap before the slice
	 * has entered, ns. The kind of this code (enum nt_where) depends on that trap, so it is known only after the
	 * merge.
	 */
	uint64_t	unknown;
};

/* A slice is the code that one thread executed on one CPU between two context switches. */
struct ns_slice {
	int32_t		tid, cpu;
	uint32_t	number;		/* number of this slice, by which nt_calls_slice() finds it */
	uint64_t	stretch, nth;
	uint32_t	buffer;
	uint64_t	fresh;		/* number of earlier slices of the stretch without @split */
	bool		split;		/* the slice continues the previous slice */
	/*
	 * the trace has no times, but the slice is from the earliest part that is still being decoded, so no earlier
	 * slice can follow, and the slice can be merged
	 */
	bool		first;
	uint64_t	begin, end;
	uint64_t	insns, ran;
	int64_t		late;		/* correction to add to @ran for the sum nt_thread::ran, ns; may be negative */
	uint64_t	at, space;	/* address of the first instruction, and its address space */
	/* see struct ns_outer; these are the values for the time after the last outer event of the slice */
	uint64_t	child_ran, child_insns;
	uint64_t	unknown;
	NS_ARRAY(struct ns_total) totals;
	NS_ARRAY(struct ns_outer) outer;
	NS_ARRAY(struct ns_frame) open;
};

void ns_slice_free(struct ns_slice *slice);

/*
 * Return the CPU that distinguishes threads with the same id, or -1. The idle thread of each CPU
 * has id 0, and unknown threads have -1.
 */
static inline int32_t ns_thread_cpu(int32_t tid, int32_t cpu)
{
	return tid > 0 ? -1 : cpu;
}

/* Slices by number, for nt_calls_slice() */
struct ns_numbered {
	struct nt_slice	*at;
	size_t		nr, room;
	FILE		*file;		/* file that @at maps */
	size_t		block;		/* number of the block of slices that was read last */
	unsigned int	looked;		/* number of blocks that were read since pages of the map were last released */
};

/*
 * ns_numbered_make() - return a slice like ns_numbered_get(), but create it if it does not exist
 *
 * Return NULL if out of memory or disk space.
 */
struct nt_slice *ns_numbered_make(struct ns_numbered *numbered, size_t number);
struct nt_slice *ns_numbered_get(struct ns_numbered *numbered, size_t number);
void ns_numbered_free(struct ns_numbered *numbered);

/* ns_numbered_threads() - number all stacks in the order of their tid, and set nt_slice::thread of their slices */
bool ns_numbered_threads(struct nt_calls *calls);

/* ---- Periods for which trace is missing (gaps) ---- */

/* A period of time for which trace of a CPU is missing */
struct ns_gap {
	uint64_t	from, to;
	uint64_t	stretch;
	bool		open;		/* the gap lasts until the CPU's next trace, from which @to is set */
	bool		code;		/* trace exists, but its code is missing; open calls stay open after the gap */
};

/* Time of the first branch of a stretch */
struct ns_first {
	uint64_t	stretch, time;
};

#define NS_ANY_BUFFER	UINT32_MAX

/* Gaps in the trace of one CPU, which is in the buffers of all CPUs or in the buffer of one thread */
struct ns_gaps {
	uint32_t	buffer;		/* index of a thread's buffer, or NS_ANY_BUFFER for all CPUs' buffers */
	int32_t		cpu;
	NS_ARRAY(struct ns_gap) gaps;
	NS_ARRAY(struct ns_first) firsts;
	bool		sorted;
	uint64_t	ran[NT_IN_NR];	/* time in which traced threads ran, ns */
};

struct ns_all_gaps {
	struct nt_session *session;
	NS_ARRAY(struct ns_gaps) all;	/* sorted by buffer, then CPU */
	size_t		nr;		/* number of gaps */
};

void ns_gaps_free(struct ns_all_gaps *all);

/*
 * ns_gaps_add() - add a gap
 * ns_gaps_first() - note that the trace of a stretch begins at @time
 *
 * Return false if out of memory.
 */
bool ns_gaps_add(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, const struct ns_gap *gap);
bool ns_gaps_first(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, uint64_t stretch,
		   uint64_t time);

/* ns_gaps_ran() - add @ran ns to ns_gaps::ran, for the kind of code @mode. Return false if out of memory. */
bool ns_gaps_ran(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, enum nt_where mode, uint64_t ran);

/* ns_gaps_settle() - prepare for ns_gaps_between(); call it after the last addition */
void ns_gaps_settle(struct ns_all_gaps *all);

/* ns_gaps_between() - return true if the thread may have executed code without trace between two times */
bool ns_gaps_between(const struct ns_all_gaps *all, int32_t tid, uint64_t from, uint64_t to);

/* ns_gaps_forget() - drop the gaps that ended before @time */
void ns_gaps_forget(struct ns_all_gaps *all, uint64_t time);

/* ---- Threads, their stacks, and the open calls of each stack ---- */

/*
 * The outermost known call of a stack. The caller of this call becomes known only when the call returns. The caller is
 * then the next outermost call of the stack.
 */
struct ns_outermost {
	uint32_t	function;
	uint32_t	next;		/* number of the next newer outermost call of the same stack, 0: none */
	/* start of a new series, because the callers of the stack's earlier outermost calls remain unknown */
	bool		first;
	/* this call is a direct or indirect caller of the earlier outermost calls since the last one with @first */
	bool		caller;
};

/* Number of open calls of one function on one stack, and the sums of the function's calls since the stack started */
struct ns_depth {
	uint32_t	function;	/* function number + 1 */
	uint32_t	nr;
	struct ns_total	total;
};

/* Data of one stack of a thread. A thread that switches stacks, such as for coroutines, has several stacks. */
struct ns_own {
	uint32_t	nth;		/* index in ns_pool::stacks */
	uint32_t	outermost;	/* number of the stack's newest call in nt_calls::outermost, 0: none */
	/*
	 * @slice is the number of the stack's newest slice, and @at is the number of instructions of the stack before
	 * this slice; @last_slice and @last_at are their values for the slice before the newest one
	 */
	uint32_t	slice, last_slice;
	uint64_t	at, last_at;
	size_t		nr, size;
	struct ns_depth	depths[];	/* hash table by function, in which @nr of @size entries are used */
};

/* Identity of a stack of a thread. Each stack has its own nt_slice::thread. */
struct ns_key {
	int32_t		tid, cpu;	/* @cpu is from ns_thread_cpu() */
	uint32_t	number;		/* number of the stack in the thread */
	uint32_t	nth;
};

/* The calls of one thread that have been decoded so far. The data of each stack in @stack is a struct ns_own. */
struct ns_thread_calls {
	struct nt_calls	*calls;
	struct ns_stack	stack;
	int32_t		tid, key_cpu;	/* @key_cpu is the CPU of an idle or unknown thread, otherwise -1 */
	uint64_t	insns, ran;	/* instructions and time (ns) of all slices of the thread so far */
	NS_ARRAY(struct nt_thread) cpus;	/* sums of the slices on each CPU */
	/* The members below are from the last slice. */
	const struct ns_slice *slice;	/* the last slice; NULL if it was merged */
	int32_t		cpu;
	uint64_t	stretch, begin, end;
	bool		begun;
	const struct ns_outer *ahead;	/* the outer events of the slice that follow the current event */
	size_t		nr_ahead;
	int		error;		/* value other than 0 that ns_calls_give() returned; 0: none */
};

/* Return the data of the current stack of a thread. */
static inline struct ns_own *ns_own(const struct ns_thread_calls *t)
{
	return t->stack.cur.data;
}

/*
 * The pool has the slices that cannot be merged into the calls of their threads yet, because an earlier slice of the
 * same thread may still be decoded.
 */
struct ns_pool {
	NS_ARRAY(struct ns_slice) slices;
	/* bytes of memory of @slices, and the number of bytes from which on ns_threads_settle() merges slices */
	size_t		bytes, limit;
	NS_ARRAY(struct ns_thread_calls *) threads;
	NS_ARRAY(struct ns_key) stacks;
	/* copy of ns_thread_calls::cpus of all threads, made after the last slice was merged */
	NS_ARRAY(struct nt_thread) cpus;
	void		*tree;		/* tree of @threads for tsearch() */
	size_t		open;		/* number of open frames of all threads */
};

/* Entry of the cache that finds the function of an address */
struct ns_cached {
	uint64_t	space, addr;
	uint32_t	function;
};

/* The calls of one function in one part */
struct ns_part_function {
	struct nt_function f;
	uint32_t	depth;		/* number of calls of the function that are open in the slice */
	/*
	 * index of the function's entry in ns_slice::totals, which has the sums of its calls since the last outer event
	 * (struct ns_outer) of the slice. After the next outer event, the function gets a new entry.
	 */
	uint32_t	total;
};

/* Calls in one part of the trace, which one thread of the library decodes (see sources.h) */
struct ns_part {
	struct nt_calls	*calls;
	struct ns_part	*next, *before;	/* links of nt_calls::parts */
	/* number of the part for ns_part_stretch(), and number of parts whose decoding started earlier */
	uint64_t	stretch, nr;
	uint32_t	buffer;
	int32_t		cpu;
	bool		no_times;	/* the trace has no times, so that only the order of the parts is known */
	NS_ARRAY(struct ns_slice) slices;
	struct ns_slice	slice;		/* the current slice, valid if @open */
	bool		open;
	uint64_t	nr_slices, fresh;	/* @fresh is the number of slices without ns_slice::split */
	struct ns_stack	stack;		/* open calls of @slice */
	struct ns_running running;
	NS_ARRAY(struct ns_part_function) functions;	/* indexed by function number of @calls */
	struct ns_cached	*cache;
	NS_ARRAY(struct nt_call) ended;
	NS_ARRAY(struct ns_gap) gaps;
	uint64_t	gap;		/* start of the current gap */
	bool		in_gap, gap_code;	/* @gap_code is the value for ns_gap::code */
	bool		has_first, gave_first;
	uint64_t	first;		/* time of the first branch */
	/* number of branches since the part last added slices to the pool; FLUSH_BRANCHES or more: add them now */
	uint64_t	branches;
	enum nt_where	mode;		/* kind of the current code; NT_IN_NR: unknown, see ns_slice::unknown */
	uint64_t	mode_since;	/* time for which the slice had run when @mode began, ns */
	uint64_t	modes[NT_IN_NR];
	struct nt_calls_totals totals;
	/* Other threads of the library read the members below under the lock. */
	uint64_t	horizon;	/* slices after the current one start at this time or later */
	int32_t		open_tid, open_cpu;	/* thread and CPU of the current slice, if @has_open */
	uint64_t	open_begin;	/* start of the current slice, which may be earlier than @horizon */
	bool		has_open;	/* a slice is being decoded */
	uint64_t	traced_ran;	/* time in which threads ran in the closed slices, ns */
};

typedef int (*ns_slice_fn)(void *ctx, const struct ns_thread_calls *thread, size_t nth, uint64_t insns, uint64_t ran);
typedef bool (*ns_drop_fn)(void *ctx, const struct ns_thread_calls *thread, const struct ns_event *event);

struct nt_calls {
	struct nt_session *session;
	pthread_mutex_t	lock;
	struct ns_functions functions;
	struct nt_filter filter;
	bool		filtered;	/* @filter has a condition */
	bool		open;		/* nt_calls_open() was called */
	const char	*watch;
	nt_call_fn	each;
	void		*each_ctx;
	ns_slice_fn	each_slice;
	ns_drop_fn	each_drop;
	void		*slice_ctx;
	NS_ARRAY(struct ns_outermost) outermost;	/* the entry at index 0 has number 1 */
	struct ns_watched watched;
	struct ns_all_gaps gaps;
	struct ns_pool	pool;
	struct ns_part	*parts;		/* parts that are being decoded */
	uint64_t	begun, ended;	/* number of parts that have started, and number of parts that have ended */
	uint64_t	begun_at;	/* latest start time of all parts that have started, ns */
	struct nt_calls_totals totals;
	uint32_t	nr_slices;		/* number of slices that have got their ns_slice::number */
	struct ns_numbered *numbered;
	struct ns_target *targets;	/* cache that the stacks of all threads share (ns_stack::targets) */
};

/* ns_filter_passes() - do the work of ns_calls_passes() if the filter has a condition */
bool ns_filter_passes(const struct nt_filter *filter, const struct ns_frame *frame, const struct ns_event *event,
		      int32_t cpu, int32_t tid, const char *object);

/*
 * ns_calls_passes() - return true if the filter selects a call of a function in the file @object, which ends with
 *	@event on @cpu
 */
static inline bool ns_calls_passes(const struct nt_calls *calls, const struct ns_frame *frame,
				   const struct ns_event *event, int32_t cpu, int32_t tid, const char *object)
{
	return !calls->filtered || ns_filter_passes(&calls->filter, frame, event, cpu, tid, object);
}

/* ns_calls_may_pass() - return false if the call started before the time that the filter selects */
static inline bool ns_calls_may_pass(const struct nt_calls *calls, const struct ns_frame *frame)
{
	return frame->begin >= calls->filter.time.from;
}

/*
 * ns_call_init() - return a struct nt_call for a call that ends with @event
 * @at: Number of instructions before the slice, counted like ns_frame::insns
 */
struct nt_call ns_call_init(const struct ns_frame *frame, const struct ns_event *event, int32_t tid,
			    uint32_t slice, uint64_t at);

/*
 * ns_calls_number() - return the result of ns_functions_number(), and set nt_function::watched if calls of the function
 *	are stored, or passed to an nt_call_fn
 *
 * The caller holds nt_calls::lock. A call of the function may end before the part in which it started, so
 * nt_function::watched must be set now.
 */
int64_t ns_calls_number(struct nt_calls *calls, const struct nt_place *place);

/*
 * ns_calls_give() - pass a call to the nt_call_fn of nt_calls_each(), or store the call if nt_calls_each() was not
 * called
 *
 * Return: 0, -1 if out of memory, or the value that nt_call_fn returned.
 */
int ns_calls_give(struct nt_calls *calls, const struct nt_call *call);

/*
 * ns_threads_settle() - merge the slices that no undecoded slice of the same thread can precede, or all slices if @all
 *
 * Return: 0, -1 if out of memory, or the value that an nt_call_fn or ns_slice_fn returned.
 */
int ns_threads_settle(struct nt_calls *calls, bool all);
bool ns_threads_add(struct nt_calls *calls, const struct ns_slice *slice);

/* ns_mode_of() - return the kind of code that handles @trap; NT_IN_NR if @trap is NULL or began before the recording */
enum nt_where ns_mode_of(const struct ns_frame *trap);

void ns_threads_free(struct nt_calls *calls);

/*
 * ns_calls_each_slice() - call @fn with the calls that are open when each slice starts, and after each switch to
 * another stack
 * @nth: After a switch to another stack, index of its oldest call that ends with the switch. All newer calls of that
 *	stack end too.
 * @insns, @ran: Number of instructions that were executed on the stack so far, and the time that they took, ns
 *
 * @drop is called as ns_stack_ops::drop; it may be NULL. If @fn or @drop returns an error, nt_calls_run() returns this
 * error.
 */
void ns_calls_each_slice(struct nt_calls *calls, ns_slice_fn fn, ns_drop_fn drop, void *ctx);

#endif /* NTRACE_SESSION_CALLS_PRIV_H */
