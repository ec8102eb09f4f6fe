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
 */
#include <inttypes.h>

#include "samples.h"

/*
 * Return the sum of all places of the function at @depth of @at, including functions inlined into
 * it.
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
 * write the functions that are new in it.
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

	if (!err)
		put_samples(profile->file, &samples, profile);
	samples_free(&samples);
	return err;
}

const struct profile_format profile_llvm = { .name = "llvm", .needs_lines = true, .write = llvm_write };
