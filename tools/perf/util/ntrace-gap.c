// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gaps in the trace, and the threads that may have run in them.
 *
 * A thread that ran in a gap may have called and returned without being traced, so its call stack
 * is not valid any more. perf drops the call stack of a thread when this file sets another trace
 * number of the thread. Each thread has its own trace number, and gets a new one if
 *
 *   - it executes on a CPU when a gap begins there,
 *   - it is switched in on a CPU in a gap, or on a CPU that is not traced,
 *   - after the kernel has disabled an event, the thread is switched in and out and no instruction
 *     was traced on the CPU between these switches. Linux lets threads of one program swap their
 *     events at a context switch, so it is unknown which thread has the disabled event.
 *
 * This needs context-switch events, and trace that is decoded in step with them. If one of the two
 * is missing, any thread may have run in a gap, so ntrace::epoch is increased, and all threads get
 * new numbers.
 */
#include <errno.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/zalloc.h>

#include "auxtrace.h"
#include "evlist.h"
#include "evsel.h"
#include "hashmap.h"
#include "machine.h"
#include "ntrace-priv.h"
#include "session.h"
#include "thread-stack.h"
#include "thread.h"

/*
 * The trace number of a thread. @trace_nr is valid only if @epoch equals ntrace::epoch; otherwise the thread
 * gets a new number. @cpu is the CPU that executes the thread, or -1. @insns is the number of instructions that
 * were traced on @cpu before the thread was switched in.
 */
struct ntrace_tid {
	u64	epoch;
	u64	trace_nr;
	u64	insns;
	int	cpu;
};

static size_t ntrace_tid_hash(long key, void *ctx __maybe_unused)
{
	return key;
}

static bool ntrace_tid_equal(long a, long b, void *ctx __maybe_unused)
{
	return a == b;
}

/* Return the key of a thread in ntrace::tids. Each CPU has its own idle thread, and all have the tid 0. */
static long ntrace_tid_key(pid_t tid, int cpu)
{
	return tid ? tid : -1L - cpu;
}

static struct ntrace_tid *ntrace_tid_find(struct ntrace *nt, pid_t tid, int cpu)
{
	struct ntrace_tid *known = NULL;
	long key = ntrace_tid_key(tid, cpu);

	if (hashmap__find(nt->tids, key, &known))
		return known;
	known = zalloc(sizeof(*known));
	if (!known)
		return NULL;
	known->cpu = -1;
	if (hashmap__add(nt->tids, key, known))
		zfree(&known);
	return known;
}

static void ntrace_tid_update(struct ntrace *nt, struct ntrace_tid *known)
{
	if (known->epoch == nt->epoch)
		return;
	known->epoch = nt->epoch;
	known->trace_nr = ++nt->last_trace_nr;
}

/*
 * Give the thread a new trace number, so that perf drops its call stack. The thread has run without
 * being traced, and its calls and returns are unknown.
 */
static void ntrace_tid_forget(struct ntrace *nt, pid_t tid, int cpu)
{
	struct ntrace_tid *known = tid == -1 ? NULL : ntrace_tid_find(nt, tid, cpu);

	if (known)
		known->trace_nr = ++nt->last_trace_nr;
}

static bool ntrace_is_per_thread(struct ntrace_queue *q)
{
	return q->nt->queues.queue_array[q->queue_nr].cpu == -1;
}

static bool ntrace_has_switches(struct ntrace_queue *q)
{
	return q->nt->have_switches && !q->timeless;
}

/*
 * Tell perf the trace number of the thread that executes. If the number is new, perf drops the call
 * stack of the thread, which is not valid any more.
 */
void ntrace_gap_enter(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	struct ntrace_tid *known;

	q->trace_nr = 0;
	if (!nt->use_thread_stack || !q->thread)
		return;
	known = ntrace_tid_find(nt, q->tid, q->cpu);
	if (!known)
		return;
	ntrace_tid_update(nt, known);
	if (nt->nr_gaps && !ntrace_is_per_thread(q) && !ntrace_has_switches(q))
		known->trace_nr = ++nt->last_trace_nr;
	q->trace_nr = known->trace_nr;
	thread_stack__set_trace_nr(q->thread, q->cpu, q->trace_nr);
}

/* Start a gap in the trace of the CPU (or thread) of this queue */
void ntrace_gap_open(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	pid_t current;

	if (!nt->use_thread_stack)
		return;
	if (q->thread)
		thread_stack__flush(q->thread);
	ntrace_tid_forget(nt, q->tid, q->cpu);
	if (!ntrace_is_per_thread(q)) {
		current = q->cpu < 0 ? -1 : machine__get_current_tid(nt->machine, q->cpu);
		ntrace_tid_forget(nt, current, q->cpu);
		if (!ntrace_has_switches(q))
			nt->epoch++;
	}
	if (!q->gap)
		nt->nr_gaps++;
	q->gap = true;
}

static void ntrace_gap_end(struct ntrace_queue *q)
{
	if (!q->gap)
		return;
	q->gap = false;
	q->nt->nr_gaps--;
	if (!ntrace_is_per_thread(q) && !ntrace_has_switches(q))
		q->nt->epoch++;
}

/*
 * End the gap, because trace continues. If several CPUs share a sink, the trace of this CPU may be divided among their
 * AUX buffers. There is a stream for each part, so also end the gap in the other streams of this CPU.
 */
void ntrace_gap_close(struct ntrace_queue *q)
{
	struct ntrace *nt = q->nt;
	unsigned int i;

	ntrace_gap_end(q);
	for (i = 0; nt->nr_gaps && q->src >= 0 && i < nt->nr_streams; i++) {
		if (nt->streams[i]->src >= 0 && nt->streams[i]->cpu == q->cpu)
			ntrace_gap_end(nt->streams[i]);
	}
	ntrace_gap_enter(q);
}

/* Return true if this CPU is in a gap or is not traced */
static bool ntrace_gap_at(struct ntrace *nt, int cpu)
{
	bool traced = false;
	unsigned int i;

	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (!q->info || q->cpu != cpu)
			continue;
		if (q->gap)
			return true;
		traced = true;
	}
	return !traced;
}

/* Return the number of instructions that were traced on this CPU */
static u64 ntrace_gap_insns(struct ntrace *nt, int cpu)
{
	u64 insns = 0;
	unsigned int i;

	for (i = 0; i < nt->nr_streams; i++) {
		if (nt->streams[i]->cpu == cpu)
			insns += nt->streams[i]->insns;
	}
	return insns;
}

/* Handle a context switch to the thread */
void ntrace_gap_switch(struct ntrace *nt, pid_t tid, int cpu)
{
	struct ntrace_tid *known;

	if (!nt->use_thread_stack || !(nt->info.flags & NTRACE_INFO_FLAG_PER_CPU))
		return;
	if (ntrace_gap_at(nt, cpu))
		ntrace_tid_forget(nt, tid, cpu);
	known = nt->event_disabled && tid > 0 ? ntrace_tid_find(nt, tid, cpu) : NULL;
	if (!known)
		return;
	known->insns = ntrace_gap_insns(nt, cpu);
	known->cpu = cpu;
}

/* Handle a context switch away from the thread */
void ntrace_gap_switch_out(struct ntrace *nt, pid_t tid, int cpu)
{
	struct ntrace_tid *known;

	if (!nt->use_thread_stack || !nt->event_disabled || tid <= 0)
		return;
	known = ntrace_tid_find(nt, tid, cpu);
	if (!known)
		return;
	if (known->cpu == cpu && known->insns == ntrace_gap_insns(nt, cpu))
		ntrace_tid_forget(nt, tid, cpu);
	known->cpu = -1;
}

/* Handle PERF_RECORD_AUX without trace, which means that the encoder could not be started for this thread */
void ntrace_gap_refused(struct ntrace *nt, int cpu, pid_t tid)
{
	unsigned int i;

	if (!nt->use_thread_stack)
		return;
	for (i = 0; i < nt->nr_streams; i++) {
		struct ntrace_queue *q = nt->streams[i];

		if (ntrace_is_per_thread(q) ? q->tid == tid : q->cpu == cpu)
			ntrace_gap_open(q);
	}
	ntrace_tid_forget(nt, tid, cpu);
}

/* Handle lost events, which may have included context switches */
void ntrace_gap_unknown(struct ntrace *nt)
{
	nt->epoch++;
}

/*
 * Drop the thread's call stack if it is not valid, before a sample of another event gets a call chain
 * from it
 */
void ntrace_gap_sample(struct ntrace *nt, struct thread *thread, int cpu)
{
	struct ntrace_tid *known = ntrace_tid_find(nt, thread__tid(thread), cpu);

	if (!known)
		return;
	ntrace_tid_update(nt, known);
	thread_stack__set_trace_nr(thread, cpu, known->trace_nr);
}

int ntrace_gap_init(struct ntrace *nt)
{
	struct evsel *evsel;

	nt->have_switches = nt->switch_evsel;
	evlist__for_each_entry(nt->session->evlist, evsel)
		nt->have_switches |= evsel->core.attr.context_switch;
	nt->epoch = 1;
	nt->tids = hashmap__new(ntrace_tid_hash, ntrace_tid_equal, NULL);
	return IS_ERR(nt->tids) ? PTR_ERR(nt->tids) : 0;
}

void ntrace_gap_exit(struct ntrace *nt)
{
	struct hashmap_entry *entry;
	size_t bucket;

	if (IS_ERR_OR_NULL(nt->tids))
		return;
	hashmap__for_each_entry(nt->tids, entry, bucket)
		free(entry->pvalue);
	hashmap__free(nt->tids);
	nt->tids = NULL;
}
