// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile --llvm - write a sample profile as text for clang -fprofile-sample-use ("Sample
 * Profile Formats" of clang's manual).
 *
 *	function:total:head
 *	 OFFSET[.DISCRIMINATOR]: count [target:count ...]
 *	 OFFSET[.DISCRIMINATOR]: inlined:total
 *	  OFFSET...
 *
 * An offset is a line number minus the first line of the function.
 *
 * All counts are exact. Each source position in each stack of inlined functions has its own count,
 * which is the count of its most frequent instruction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "profile.h"

struct sample_place {
	uint16_t	offset;
	unsigned int	discriminator;
};

/* The count of a source position, with the stack of inlined functions that contains the position */
struct sample {
	const char	*names[PROFILE_FRAMES];	/* names of the functions, the outermost first */
	struct sample_place places[PROFILE_FRAMES];	/* for each function in @names, the position in it */
	size_t		depth;
	uint64_t	count;
	/* function that is called from the position; NULL: the sample counts the position itself */
	const char	*target;
};

/* The samples of a profile. The array contains pointers, because it would be slow to sort many large samples. */
struct samples {
	NS_ARRAY(struct sample *) all;
};

static int sample_place_cmp(struct sample_place x, struct sample_place y)
{
	if (x.offset != y.offset)
		return x.offset < y.offset ? -1 : 1;
	return x.discriminator < y.discriminator ? -1 : x.discriminator > y.discriminator;
}

/*
 * Compare two samples, to sort them by function. The samples of inlined functions follow the
 * positions of the function that contains them.
 */
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

/*
 * Make the sample of an address. Return NULL if out of memory. If the source position is not known,
 * return NULL and set *known to false.
 */
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
		 * debug information may lack the line of an inlined call, so that the positions in
		 * its callers are not known
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

/* Add a sample for each target of each indirect call. */
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
 * Join two samples of the same position. The count of a position is that of its most frequent
 * instruction. Add up the counts of calls to the same target.
 */
static void merge_samples(struct sample *to, struct sample *from)
{
	if (from->target)
		to->count += from->count;
	else if (from->count > to->count)
		to->count = from->count;
	free(from);
}

/* Return true if the functions of both samples are the same up to @depth. */
static bool sample_same_stack(const struct sample *x, const struct sample *y, size_t depth)
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

/* Return how often the first instruction of a function was executed. */
static uint64_t samples_head(const struct profile *profile, const char *name)
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

/*
 * Make the samples, and sort them by the outermost function. The positions of a function precede
 * those of functions that are inlined into it. The calls from a position follow this position.
 * Return -1 with errno if out of memory.
 */
static int samples_make(struct samples *samples, struct profile *profile)
{
	if (!add_insns(samples, profile) || !add_calls(samples, profile))
		return -1;
	ns_array_join(&samples->all, sample_cmp, merge_samples(*a, *b));
	return 0;
}

static void samples_free(struct samples *samples)
{
	size_t i;

	for (i = 0; i < samples->all.nr; i++)
		free(samples->all.at[i]);
	free(samples->all.at);
}

/* ---- Text ---- */

/*
 * Return the sum of all counts of the function at depth @depth of sample @at, including the
 * functions that are inlined into this function.
 */
static uint64_t total(const struct samples *samples, size_t at, size_t depth)
{
	const struct sample *first = samples->all.at[at];
	uint64_t sum = 0;

	for (; at < samples->all.nr && sample_same_stack(first, samples->all.at[at], depth); at++)
		sum += samples->all.at[at]->target ? 0 : samples->all.at[at]->count;
	return sum;
}

static void put_place(FILE *out, const struct sample *sample, size_t depth)
{
	fprintf(out, "%*s%u", (int)depth + 1, "", sample->places[depth].offset);
	if (sample->places[depth].discriminator)
		fprintf(out, ".%u", sample->places[depth].discriminator);
	fputs(": ", out);
}

static void put_count(FILE *out, const struct samples *samples, size_t *at)
{
	const struct sample *sample = samples->all.at[*at], *call;

	put_place(out, sample, sample->depth - 1);
	fprintf(out, "%" PRIu64, sample->count);
	for (; *at + 1 < samples->all.nr; ++*at) {
		call = samples->all.at[*at + 1];
		if (!call->target || call->depth != sample->depth ||
		    !sample_same_stack(sample, call, sample->depth - 1) ||
		    sample_place_cmp(call->places[call->depth - 1], sample->places[call->depth - 1]))
			break;
		fprintf(out, " %s:%" PRIu64, call->target, call->count);
	}
	fputc('\n', out);
}

/*
 * Write the samples. If the stack of inlined functions differs from that of the previous sample,
 * first write the functions that the previous sample does not have.
 */
static void put_samples(FILE *out, const struct samples *samples, const struct profile *profile)
{
	const struct sample *sample, *before = NULL;
	size_t at, depth;

	for (at = 0; at < samples->all.nr; at++) {
		sample = samples->all.at[at];
		for (depth = 0; depth < sample->depth; depth++) {
			if (before && sample_same_stack(before, sample, depth))
				continue;
			if (depth) {
				put_place(out, sample, depth - 1);
				fprintf(out, "%s:%" PRIu64 "\n", sample->names[depth], total(samples, at, depth));
			} else {
				fprintf(out, "%s:%" PRIu64 ":%" PRIu64 "\n", sample->names[0],
					total(samples, at, 0), samples_head(profile, sample->names[0]));
			}
		}
		before = sample;
		if (!sample->target)
			put_count(out, samples, &at);
	}
}

static int llvm_write(struct profile *profile)
{
	struct samples samples = { 0 };
	int err = samples_make(&samples, profile);

	if (!err && !samples.all.nr) {
		fputs("ntrace: the debug information names no function that was executed: build programs with -g\n", stderr);
		err = EXIT_TRACE;
	}
	if (!err)
		put_samples(profile->file, &samples, profile);
	samples_free(&samples);
	return err;
}

const struct profile_format profile_llvm = { .name = "llvm", .needs_lines = true, .write = llvm_write };
