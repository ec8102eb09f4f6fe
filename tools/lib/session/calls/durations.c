// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Count the durations of calls in a histogram of bounded size (durations.h). */
#include <stdlib.h>
#include <string.h>

#include "durations.h"
#include "session/array.h"

#define OCTAVE_BITS	6
#define OCTAVE		(1U << OCTAVE_BITS)

struct ns_durations {
	uint64_t	nr;
	NS_ARRAY(uint64_t) few;		/* exact durations, while @nr is at most NS_DURATIONS_EXACT */
	/* number of durations in each bucket, if @nr is larger than NS_DURATIONS_EXACT */
	uint64_t	*octaves[NS_DURATIONS_OCTAVES];
};

/* ---- Find the bucket of a duration, and count durations in buckets ---- */

/* Each value below 64 has its own bucket. */
unsigned int ns_duration_bucket(uint64_t ns)
{
	unsigned int log;

	if (ns < OCTAVE)
		return ns;
	log = 63 - __builtin_clzll(ns);
	return (log - OCTAVE_BITS + 1) * OCTAVE + (ns >> (log - OCTAVE_BITS) & (OCTAVE - 1));
}

/* Return the longest duration in a bucket, ns. */
static uint64_t bucket_top(unsigned int bucket)
{
	unsigned int octave = bucket / OCTAVE;

	if (!octave)
		return bucket;
	return ((uint64_t)(OCTAVE + bucket % OCTAVE + 1) << (octave - 1)) - 1;
}

static bool count(struct ns_durations *d, unsigned int bucket, uint64_t nr)
{
	uint64_t **octave = &d->octaves[bucket / OCTAVE];

	if (!*octave)
		*octave = calloc(OCTAVE, sizeof(**octave));
	if (!*octave)
		return false;
	(*octave)[bucket % OCTAVE] += nr;
	return true;
}

/* ---- Add ---- */

/* Change from exact durations to buckets, because there are too many durations. */
static bool begin_buckets(struct ns_durations *d)
{
	uint64_t i;

	for (i = 0; i < d->nr; i++) {
		if (!count(d, ns_duration_bucket(d->few.at[i]), 1))
			return false;
	}
	free(d->few.at);
	memset(&d->few, 0, sizeof(d->few));
	return true;
}

static bool make(struct ns_durations **durations)
{
	if (!*durations)
		*durations = calloc(1, sizeof(**durations));
	return *durations;
}

bool ns_durations_add(struct ns_durations **durations, uint64_t ns)
{
	struct ns_durations *d = *durations;
	bool ok;

	if (!d && !make(durations))
		return false;
	d = *durations;
	if (d->nr == NS_DURATIONS_EXACT && !begin_buckets(d))
		return false;
	ok = d->nr < NS_DURATIONS_EXACT ? ns_array_add(&d->few, ns) : count(d, ns_duration_bucket(ns), 1);
	d->nr += ok;
	return ok;
}

static bool merge_buckets(struct ns_durations *d, const struct ns_durations *from)
{
	unsigned int octave, i;

	if (d->nr <= NS_DURATIONS_EXACT && !begin_buckets(d))
		return false;
	d->nr += from->nr;
	for (octave = 0; octave < NS_DURATIONS_OCTAVES; octave++) {
		for (i = 0; from->octaves[octave] && i < OCTAVE; i++) {
			if (from->octaves[octave][i] &&
			    !count(d, octave * OCTAVE + i, from->octaves[octave][i]))
				return false;
		}
	}
	return true;
}

bool ns_durations_merge(struct ns_durations **to, const struct ns_durations *from)
{
	uint64_t i;

	if (!from)
		return true;
	if (!ns_durations_exact(from))
		return make(to) && merge_buckets(*to, from);
	for (i = 0; i < from->nr; i++) {
		if (!ns_durations_add(to, from->few.at[i]))
			return false;
	}
	return true;
}

/* ---- Calculate percentiles and histograms ---- */

static int ns_cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return ns_order(*x, *y);
}

static uint64_t exact_quantile(const struct ns_durations *d, uint64_t want)
{
	uint64_t sorted[NS_DURATIONS_EXACT];

	memcpy(sorted, d->few.at, d->nr * sizeof(*sorted));
	qsort(sorted, d->nr, sizeof(*sorted), ns_cmp);
	return sorted[want - 1];
}

uint64_t ns_durations_quantile(const struct ns_durations *d, unsigned int per_mille)
{
	uint64_t want = d ? (d->nr * per_mille + 999) / 1000 : 0, sum = 0;
	unsigned int bucket, octave;

	if (!want)
		return 0;
	if (ns_durations_exact(d))
		return exact_quantile(d, want);
	for (bucket = 0; bucket < NS_DURATIONS_OCTAVES * OCTAVE; bucket++) {
		octave = bucket / OCTAVE;
		sum += d->octaves[octave] ? d->octaves[octave][bucket % OCTAVE] : 0;
		if (sum >= want)
			break;
	}
	return bucket_top(bucket);
}

void ns_durations_each(const struct ns_durations *d,
		       void (*fn)(void *ctx, uint64_t ns, uint64_t nr), void *ctx)
{
	unsigned int i;

	if (ns_durations_exact(d)) {
		for (i = 0; d && i < d->nr; i++)
			fn(ctx, d->few.at[i], 1);
		return;
	}
	for (i = 0; i < NS_DURATIONS_OCTAVES * OCTAVE; i++) {
		if (d->octaves[i / OCTAVE] && d->octaves[i / OCTAVE][i % OCTAVE])
			fn(ctx, bucket_top(i), d->octaves[i / OCTAVE][i % OCTAVE]);
	}
}

bool ns_durations_exact(const struct ns_durations *d)
{
	return !d || d->nr <= NS_DURATIONS_EXACT;
}

void ns_durations_free(struct ns_durations *d)
{
	unsigned int i;

	if (!d)
		return;
	for (i = 0; i < NS_DURATIONS_OCTAVES; i++)
		free(d->octaves[i]);
	free(d->few.at);
	free(d);
}
