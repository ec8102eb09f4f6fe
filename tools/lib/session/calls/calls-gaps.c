// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find out whether a thread may have executed code without trace, from the gaps in the trace of its
 * CPUs.
 */
#include <stdlib.h>
#include <string.h>

#include "calls-priv.h"
#include "session/session-priv.h"

void ns_gaps_free(struct ns_all_gaps *all)
{
	size_t i;

	for (i = 0; i < all->all.nr; i++) {
		free(all->all.at[i].gaps.at);
		free(all->all.at[i].firsts.at);
	}
	free(all->all.at);
}

/*
 * Return the gaps of a CPU in the buffer of a thread, or in all CPUs' buffers (NS_ANY_BUFFER). Return NULL if out of
 * memory. CPUs' buffers share one list, because CPUs that share a sink have trace in each other's buffers.
 */
static struct ns_gaps *gaps_of(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu)
{
	struct ns_gaps *g = all->all.at;
	size_t n;

	if (all->session->trace.queues.at[buffer].cpu >= 0)
		buffer = NS_ANY_BUFFER;
	n = ns_lower_bound(all->all.nr, g[i].buffer < buffer ||
				  (g[i].buffer == buffer && g[i].cpu < cpu));

	if (n < all->all.nr && g[n].buffer == buffer && g[n].cpu == cpu)
		return &g[n];
	if (!ns_array_grow(&all->all))
		return NULL;
	g = &all->all.at[n];
	memmove(g + 1, g, (all->all.nr++ - n) * sizeof(*g));
	*g = (struct ns_gaps){ .buffer = buffer, .cpu = cpu };
	return g;
}

bool ns_gaps_add(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, const struct ns_gap *gap)
{
	struct ns_gaps *g = gaps_of(all, buffer, cpu);

	if (!g)
		return false;
	g->sorted = false;
	all->nr++;
	return ns_array_add(&g->gaps, *gap);
}

bool ns_gaps_first(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, uint64_t stretch,
		   uint64_t time)
{
	const struct ns_first first = { .stretch = stretch, .time = time };
	struct ns_gaps *g = gaps_of(all, buffer, cpu);

	if (!g)
		return false;
	g->sorted = false;
	return ns_array_add(&g->firsts, first);
}

bool ns_gaps_ran(struct ns_all_gaps *all, uint32_t buffer, int32_t cpu, enum nt_where mode, uint64_t ran)
{
	struct ns_gaps *g = gaps_of(all, buffer, cpu);

	if (!g)
		return false;
	g->ran[mode] += ran;
	return true;
}

static int gap_cmp(const void *a, const void *b)
{
	const struct ns_gap *x = a, *y = b;

	return ns_order(x->from, y->from) ?: ns_order(x->stretch, y->stretch);
}

static int first_cmp(const void *a, const void *b)
{
	const struct ns_first *x = a, *y = b;

	return ns_order(x->time, y->time) ?: ns_order(x->stretch, y->stretch);
}

static bool is_before_gap(const struct ns_first *first, const struct ns_gap *gap)
{
	return first->time < gap->from || (first->time == gap->from && first->stretch <= gap->stretch);
}

/*
 * Return the time at which trace continues after a gap at the end of a stretch. Return UINT64_MAX if
 * no trace follows.
 */
static uint64_t next_first(const struct ns_gaps *g, const struct ns_gap *gap)
{
	size_t nth = ns_lower_bound(g->firsts.nr, is_before_gap(&g->firsts.at[i], gap));

	return nth < g->firsts.nr ? g->firsts.at[nth].time : UINT64_MAX;
}

static void settle(struct ns_gaps *g)
{
	size_t i;

	ns_array_sort(&g->firsts, first_cmp);
	/*
	 * Find the end of each gap that lasts until its CPU has trace again (ns_gap::open). Do this even if an earlier
	 * call has set the end, because a stretch of another buffer may have been added since. If that stretch starts
	 * earlier, the gap ends earlier.
	 */
	for (i = 0; i < g->gaps.nr; i++) {
		if (g->gaps.at[i].open)
			g->gaps.at[i].to = next_first(g, &g->gaps.at[i]);
	}
	ns_array_sort(&g->gaps, gap_cmp);
	g->sorted = true;
}

void ns_gaps_settle(struct ns_all_gaps *all)
{
	size_t i;

	for (i = 0; i < all->all.nr; i++) {
		if (!all->all.at[i].sorted)
			settle(&all->all.at[i]);
	}
}

/* Return true if the thread may have executed in a gap, according to the context-switch events. */
static bool was_in_gap(const struct ns_all_gaps *all, const struct ns_gaps *g, int32_t tid,
		       uint64_t from, uint64_t to)
{
	if (g->buffer != NS_ANY_BUFFER)
		return all->session->trace.queues.at[g->buffer].tid == tid;
	return ns_sideband_ran(&all->session->sideband, g->cpu, tid, from, to);
}

/* Return the index of the first gap that ends at @time or later. Gaps are sorted by start, and thereby by end. */
static size_t first_gap(const struct ns_gaps *g, uint64_t time)
{
	return ns_lower_bound(g->gaps.nr, g->gaps.at[i].to < time);
}

bool ns_gaps_between(const struct ns_all_gaps *all, int32_t tid, uint64_t from, uint64_t to)
{
	const struct ns_gaps *g = all->all.at, *end = g + all->all.nr;
	const struct ns_gap *gap;
	size_t at;

	if (ns_visits_unseen(&all->session->visits, tid, from, to))
		return true;
	for (; all->nr && g < end; g++) {
		for (at = first_gap(g, from); at < g->gaps.nr; at++) {
			gap = &g->gaps.at[at];
			if (gap->from > to)
				break;
			/*
			 * check the gap only up to @to. As long as the trace after the gap is not decoded, gap->to is
			 * UINT64_MAX, and the result must not depend on whether it is decoded already
			 */
			if (!gap->code && was_in_gap(all, g, tid, gap->from > from ? gap->from : from,
						       gap->to < to ? gap->to : to))
				return true;
		}
	}
	return false;
}

void ns_gaps_forget(struct ns_all_gaps *all, uint64_t time)
{
	struct ns_gaps *g = all->all.at, *end = g + all->all.nr;
	size_t j, nr;

	for (; g < end; g++) {
		for (j = nr = 0; j < g->gaps.nr; j++) {
			if (g->gaps.at[j].to >= time)
				g->gaps.at[nr++] = g->gaps.at[j];
		}
		all->nr -= g->gaps.nr - nr;
		g->gaps.nr = nr;
	}
}

uint64_t nt_calls_ran(const struct nt_calls *calls, int32_t cpu, uint64_t modes[NT_IN_NR])
{
	const struct ns_gaps *g = calls->gaps.all.at, *end = g + calls->gaps.all.nr;
	uint64_t ran = 0;
	size_t i;

	for (i = 0; modes && i < NT_IN_NR; i++)
		modes[i] = 0;
	for (; g < end; g++) {
		for (i = 0; g->cpu == cpu && i < NT_IN_NR; i++) {
			ran += g->ran[i];
			if (modes)
				modes[i] += g->ran[i];
		}
	}
	return ran;
}

bool nt_calls_gap(const struct nt_calls *calls, size_t nth, struct nt_gap *gap)
{
	const struct ns_gaps *g = calls->gaps.all.at, *end = g + calls->gaps.all.nr;

	for (; g < end; nth -= g->gaps.nr, g++) {
		if (nth >= g->gaps.nr)
			continue;
		*gap = (struct nt_gap){
			.from = g->gaps.at[nth].from, .to = g->gaps.at[nth].to,
			.cpu = g->buffer == NS_ANY_BUFFER ? g->cpu : -1,
		};
		return true;
	}
	return false;
}
