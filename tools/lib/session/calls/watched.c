// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Store calls of one function, and find the slowest calls and the median call among them
 * (watched.h).
 */
#include <stdlib.h>

#include "durations.h"
#include "watched.h"

#define BUCKETS	(NS_DURATIONS_OCTAVES * 64)

/*
 * Sort the shortest calls first. Calls with the same duration are sorted by time and thread, so that the result does
 * not depend on the order in which threads of the library add calls.
 */
static int call_cmp(const void *a, const void *b)
{
	const struct nt_call *x = a, *y = b;

	return ns_order(x->ns, y->ns) ?: ns_order(x->begin, y->begin) ?: ns_order(x->tid, y->tid);
}

static int slowest_first(const void *a, const void *b)
{
	return call_cmp(b, a);
}

/* ---- Count calls in buckets, if there are more than NS_WATCHED_EXACT ---- */

static void count(struct ns_watched *w, const struct nt_call *call)
{
	struct ns_example *example = &w->examples[ns_duration_bucket(call->ns)];

	if (!example->nr++ || call_cmp(call, &example->call) < 0)
		example->call = *call;
}

static bool keep_slowest(struct ns_watched *w)
{
	size_t i;

	for (i = 0; i < w->calls.nr && i < NS_WATCHED_SLOWEST; i++) {
		if (!ns_array_add(&w->slowest, w->calls.at[w->calls.nr - 1 - i]))
			return false;
	}
	ns_array_sort(&w->slowest, slowest_first);
	if (w->slowest.nr > NS_WATCHED_SLOWEST)
		w->slowest.nr = NS_WATCHED_SLOWEST;
	return true;
}

/* Count the calls in the buckets of their durations, and keep only the slowest calls. */
static bool fold(struct ns_watched *w)
{
	size_t i;

	if (!w->examples)
		w->examples = calloc(BUCKETS, sizeof(*w->examples));
	if (!w->examples)
		return false;
	for (i = 0; i < w->calls.nr; i++)
		count(w, &w->calls.at[i]);
	ns_array_sort(&w->calls, call_cmp);
	if (w->calls.nr && !keep_slowest(w))
		return false;
	w->calls.nr = 0;
	return true;
}

bool ns_watched_add(struct ns_watched *watched, const struct nt_call *call)
{
	if (watched->calls.nr == NS_WATCHED_EXACT && !fold(watched))
		return false;
	watched->nr++;
	return ns_array_add(&watched->calls, *call);
}

bool ns_watched_end(struct ns_watched *watched)
{
	if (watched->examples)
		return fold(watched);
	ns_array_sort(&watched->calls, call_cmp);
	return true;
}

/* ---- Find the median call and the slowest calls ---- */

static struct nt_call median_example(const struct ns_watched *w)
{
	const struct ns_example *example = w->examples;
	uint64_t want = (w->nr + 1) / 2, sum = example->nr;

	while (sum < want)
		sum += (++example)->nr;
	return example->call;
}

/* Return the number of stored calls that started no later than @call. */
static uint64_t number_of(const struct ns_watched *w, const struct nt_call *call)
{
	uint64_t nr = 0;
	size_t i;

	for (i = 0; i < w->calls.nr; i++)
		nr += w->calls.at[i].begin <= call->begin;
	return nr;
}

bool ns_watched_get(const struct ns_watched *w, uint64_t nth, struct nt_watched *found)
{
	*found = (struct nt_watched){ .calls = w->nr, .exact = !w->examples };
	if (!nth || nth > (w->examples ? w->slowest.nr : w->nr))
		return false;
	if (w->examples) {
		found->median = median_example(w);
		found->slow = w->slowest.at[nth - 1];
	} else {
		found->median = w->calls.at[(w->nr - 1) / 2];
		found->slow = w->calls.at[w->nr - nth];
		found->number = number_of(w, &found->slow);
	}
	return true;
}

void ns_watched_free(struct ns_watched *watched)
{
	free(watched->calls.at);
	free(watched->examples);
	free(watched->slowest.at);
}
