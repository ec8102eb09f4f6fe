// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the times in which a thread may have executed without being traced. Its context switches
 * show these times (visits.h).
 */
#include <string.h>

#include "visits.h"

#define MISC_SWITCH_OUT	(1 << 13)	/* PERF_RECORD_MISC_SWITCH_OUT */

/*
 * Return true if the CPU may be traced, because it has a buffer, or because its encoder sends SRC
 * and may use a shared buffer.
 */
static bool is_traced(struct ns_trace *trace, const struct ns_setup *setup, int32_t cpu)
{
	const struct ns_cpu *c = ns_setup_cpu(setup, cpu);

	return ns_trace_queue(trace, cpu, -1) >= 0 || (c && c->nt.src_bits);
}

/*
 * Return true if at least one buffer belongs to a CPU. If all buffers belong to threads, no search is
 * necessary, because buffers of threads move with their threads between CPUs, and at a context switch
 * perf never exchanges the events of two such threads.
 */
static bool has_cpu_buffers(const struct ns_trace *trace)
{
	size_t i;

	for (i = 0; i < trace->queues.nr; i++) {
		if (trace->queues.at[i].cpu >= 0)
			return true;
	}
	return false;
}

/* Return the time at which perf first disabled an event because the AUX buffer was full, or UINT64_MAX. */
static uint64_t first_disabled(const struct ns_trace *trace)
{
	const struct ns_stretch *s = trace->stretches.at, *end = s + trace->stretches.nr;
	uint64_t first = UINT64_MAX;

	for (; s < end; s++) {
		if (s->flags & PERF_AUX_FLAG_TRUNCATED && s->end < first)
			first = s->end;
	}
	return first;
}

static bool is_switch(const struct pd_record *r)
{
	return (r->header->type == PERF_RECORD_SWITCH ||
		r->header->type == PERF_RECORD_SWITCH_CPU_WIDE) && r->id.tid > 0 && r->id.cpu >= 0;
}

static int visit_cmp(const void *a, const void *b)
{
	const struct ns_visit *x = a, *y = b;

	return ns_order(x->tid, y->tid) ?: ns_order(x->time, y->time) ?: ns_order(x->kind, y->kind);
}

/*
 * If two perf events report the same switch, remove one of the two records. Do not remove switches
 * to a CPU without trace. Two of these in a row may be different switches, because the list may lack a
 * switch away from the CPU that was between the two: ns_visits_build() stores a switch away from a CPU only if
 * it happened after perf first disabled an event.
 */
static void drop_repeated(struct ns_visits *visits)
{
	struct ns_visit *kept = visits->all.at, *v = kept + 1, *end = kept + visits->all.nr;

	for (; v < end; v++) {
		if (v->kind == NS_VISIT_UNTRACED || v->kind != kept->kind ||
		    v->tid != kept->tid || v->cpu != kept->cpu)
			*++kept = *v;
	}
	visits->all.nr = kept + 1 - visits->all.at;
}

int ns_visits_build(struct ns_visits *visits, struct ns_trace *trace,
		    const struct ns_setup *setup, const struct pd_record *records, size_t nr)
{
	uint64_t disabled = first_disabled(trace);
	const struct pd_record *r = records, *end = records + nr;
	struct ns_visit visit;

	if (!has_cpu_buffers(trace))
		return 0;
	for (; r < end; r++) {
		if (!is_switch(r))
			continue;
		visit = (struct ns_visit){
			.time = r->id.time, .tid = r->id.tid, .cpu = r->id.cpu,
		};
		if (r->header->misc & MISC_SWITCH_OUT)
			visit.kind = NS_VISIT_OUT;
		else if (!is_traced(trace, setup, r->id.cpu))
			visit.kind = NS_VISIT_UNTRACED;
		if (visit.kind != NS_VISIT_UNTRACED && visit.time < disabled)
			continue;
		if (!ns_array_add(&visits->all, visit))
			return -1;
	}
	if (!visits->all.nr)
		return 0;
	ns_array_sort(&visits->all, visit_cmp);
	drop_repeated(visits);
	return 0;
}

void ns_visits_free(struct ns_visits *visits)
{
	free(visits->all.at);
	memset(visits, 0, sizeof(*visits));
}

/* Return the index of the thread's first switch after @time. If there is none, it is the index of the next thread. */
static size_t first_after(const struct ns_visits *visits, int32_t tid, uint64_t time)
{
	const struct ns_visit *at = visits->all.at;

	return ns_lower_bound(visits->all.nr,
			      at[i].tid < tid || (at[i].tid == tid && at[i].time <= time));
}

/*
 * If a thread did not execute between two of its branches, it has at most two switches in this time,
 * one away from a CPU and then one to a CPU. If the thread has more switches, or a switch to a CPU that
 * is not traced, it has executed between the branches.
 */
bool ns_visits_unseen(const struct ns_visits *visits, int32_t tid, uint64_t from, uint64_t to)
{
	size_t n = first_after(visits, tid, from), end = visits->all.nr;
	const struct ns_visit *at = visits->all.at;

	if (n < end && at[n].tid == tid && at[n].kind == NS_VISIT_OUT)
		n++;
	if (n >= end || at[n].tid != tid || at[n].time > to)
		return false;
	if (at[n].kind != NS_VISIT_IN)
		return true;
	return n + 1 < end && at[n + 1].tid == tid && at[n + 1].time <= to;
}
