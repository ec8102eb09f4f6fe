// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

int sample_place_cmp(struct sample_place x, struct sample_place y)
{
	if (x.offset != y.offset)
		return x.offset < y.offset ? -1 : 1;
	return x.discriminator < y.discriminator ? -1 : x.discriminator > y.discriminator;
}

/* Order samples so that inlined functions follow the places of the function that contains them. */
static int sample_cmp(const void *a, const void *b)
{
	const struct sample *x = *(const struct sample *const *)a, *y = *(const struct sample *const *)b;
	size_t i, depth = x->depth < y->depth ? x->depth : y->depth;
	int order = strcmp(x->names[0], y->names[0]);

	for (i = 0; !order && i < depth; i++) {
		if (i + 1 == depth && x->depth != y->depth)
			return x->depth < y->depth ? -1 : 1;
		order = sample_place_cmp(x->places[i], y->places[i]);
		if (!order && i + 1 < depth)
			order = strcmp(x->names[i + 1], y->names[i + 1]);
	}
	if (order)
		return order;
	if (!x->target || !y->target)
		return !x->target ? (y->target ? -1 : 0) : 1;
	return strcmp(x->target, y->target);
}

/* ---- Executed code ---- */

/* Make a sample. Return NULL if out of memory, or if the source is not known (*known is false). */
static struct sample *sample_at(struct profile *profile, const char *object, uint64_t address,
				uint64_t count, bool *known)
{
	struct nt_frame frames[PROFILE_FRAMES];
	size_t nr = nt_lines_at(profile->lines, object, address, frames, PROFILE_FRAMES), i;
	struct sample *sample;

	*known = frames[0].line > 0 && frames[nr - 1].linkage && frames[nr - 1].start;
	sample = *known ? calloc(1, sizeof(*sample)) : NULL;
	if (!sample)
		return NULL;
	sample->depth = nr;
	sample->count = count;
	for (i = 0; i < nr; i++) {
		const struct nt_frame *f = &frames[nr - 1 - i];

		sample->names[i] = f->linkage ? f->linkage : "";
		sample->places[i] = (struct sample_place){ f->line - f->start, f->discriminator };
		/*
		 * debug information may omit the line of a call, so that its callers are not known
		 */
		if (f->line <= 0 || !f->start)
			*known = false;
	}
	if (*known)
		return sample;
	free(sample);
	return NULL;
}

static bool add(struct samples *samples, struct sample *sample, bool known)
{
	if (!sample)
		return !known;
	if (ns_array_add(&samples->all, sample))
		return true;
	free(sample);
	return false;
}

static bool add_insns(struct samples *samples, struct profile *profile)
{
	const struct nt_profile_insn *insns;
	struct sample *sample;
	size_t nr, i;
	bool known;

	insns = nt_profile_insns(profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		if (!profile_wants(profile, insns[i].object))
			continue;
		sample = sample_at(profile, insns[i].object, insns[i].address, insns[i].count, &known);
		if (!add(samples, sample, known))
			return false;
	}
	return true;
}

/* Add the targets of indirect calls. */
static bool add_calls(struct samples *samples, struct profile *profile)
{
	struct nt_place from, to;
	struct nt_count count;
	struct sample *sample;
	uint64_t at = 0;
	bool known;

	while (nt_profile_count(profile->counts, &at, &count)) {
		if (count.type != NT_COUNT_EDGE || count.how != NT_END_INDIRECT_CALL)
			continue;
		nt_session_where(profile->session, count.space, count.from, &from);
		nt_session_where(profile->session, count.space, count.to, &to);
		if (!to.symbol || to.offset || !profile_wants(profile, from.object))
			continue;
		sample = sample_at(profile, from.object, from.address, count.count, &known);
		if (sample)
			sample->target = to.linkage;
		if (!add(samples, sample, known))
			return false;
	}
	return true;
}

/*
 * Join the samples. The count of a place is that of its most frequent instruction; calls from it
 * are added up.
 */
static void join_samples(struct samples *samples)
{
	struct sample **all = samples->all.at, **last = all;
	size_t i;

	if (!samples->all.nr)
		return;
	qsort(all, samples->all.nr, sizeof(*all), sample_cmp);
	for (i = 1; i < samples->all.nr; i++) {
		if (sample_cmp(last, &all[i])) {
			*++last = all[i];
			continue;
		}
		if (all[i]->target)
			(*last)->count += all[i]->count;
		else if (all[i]->count > (*last)->count)
			(*last)->count = all[i]->count;
		free(all[i]);
	}
	samples->all.nr = last + 1 - all;
}

/* ---- All ---- */

bool sample_same_stack(const struct sample *x, const struct sample *y, size_t depth)
{
	size_t i;

	if (x->depth <= depth || y->depth <= depth || strcmp(x->names[0], y->names[0]))
		return false;
	for (i = 0; i < depth; i++) {
		if (sample_place_cmp(x->places[i], y->places[i]) || strcmp(x->names[i + 1], y->names[i + 1]))
			return false;
	}
	return true;
}

uint64_t samples_head(const struct profile *profile, const char *name)
{
	const struct nt_profile_insn *insns;
	uint64_t sum = 0;
	size_t nr, i;

	insns = nt_profile_insns(profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		if (!insns[i].offset && profile_wants(profile, insns[i].object) &&
		    nt_session_is(profile->session, insns[i].object, insns[i].address, name))
			sum += insns[i].count;
	}
	return sum;
}

int samples_make(struct samples *samples, struct profile *profile)
{
	if (!add_insns(samples, profile) || !add_calls(samples, profile)) {
		errno = ENOMEM;
		return -1;
	}
	join_samples(samples);
	return 0;
}

void samples_free(struct samples *samples)
{
	size_t i;

	for (i = 0; i < samples->all.nr; i++)
		free(samples->all.at[i]);
	free(samples->all.at);
}
