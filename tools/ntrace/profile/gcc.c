// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile --gcc - write the input of gcc -fauto-profile (gcc/auto-profile.cc) in version 2,
 * which gcc 12 to 14 read.
 *
 *	"gcda" as a number, version, 0
 *	tag of the names, 0, how many: size, string with its NUL
 *	tag of the functions, 0, how many: u64 executed, function
 *	tag of the modules, 0, 0
 *
 *	function	name, number of places, number of calls, places, calls
 *	place		offset << 16 | discriminator, number of targets, u64 executed; a target is 0, u64 name, u64 executed
 *	call		offset << 16 | discriminator, function that is inlined there
 *
 * Numbers are little-endian and have 32 bits unless stated otherwise. A name is its number in the
 * table.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "samples.h"

#define MAGIC		0x67636461
#define VERSION		2
#define TAG_NAMES	0xaa000000
#define TAG_FUNCTIONS	0xac000000
#define TAG_MODULES	0xae000000

struct writer {
	struct profile	*profile;
	struct samples	samples;
	NS_ARRAY(const char *) names;	/* sorted, each once */
};

static void put_number(const struct writer *w, uint32_t number)
{
	number = htole32(number);
	fwrite(&number, sizeof(number), 1, w->profile->file);
}

static void put_counter(const struct writer *w, uint64_t counter)
{
	put_number(w, counter);
	put_number(w, counter >> 32);
}

static void put_tag(const struct writer *w, uint32_t tag)
{
	put_number(w, tag);
	/* size of the section, which gcc does not read */
	put_number(w, 0);
}

/* ---- Names ---- */

static int name_cmp(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool add_names(struct writer *w)
{
	const struct sample *s;
	size_t i, j, nr = 0;

	for (i = 0; i < w->samples.all.nr; i++) {
		s = w->samples.all.at[i];
		for (j = 0; j < s->depth; j++) {
			if (!ns_array_add(&w->names, s->names[j]))
				return false;
		}
		if (s->target && !ns_array_add(&w->names, s->target))
			return false;
	}
	if (w->names.nr)
		qsort(w->names.at, w->names.nr, sizeof(w->names.at[0]), name_cmp);
	for (i = 0; i < w->names.nr; i++) {
		if (!nr || strcmp(w->names.at[nr - 1], w->names.at[i]))
			w->names.at[nr++] = w->names.at[i];
	}
	w->names.nr = nr;
	return true;
}

static uint32_t name_number(const struct writer *w, const char *name)
{
	const char **found = bsearch(&name, w->names.at, w->names.nr, sizeof(w->names.at[0]), name_cmp);

	return found - w->names.at;
}

static void put_names(const struct writer *w)
{
	size_t i, size;

	put_tag(w, TAG_NAMES);
	put_number(w, w->names.nr);
	for (i = 0; i < w->names.nr; i++) {
		size = strlen(w->names.at[i]) + 1;
		put_number(w, size);
		fwrite(w->names.at[i], 1, size, w->profile->file);
	}
}

/* ---- Functions ---- */

static const struct sample *sample(const struct writer *w, size_t at)
{
	return at < w->samples.all.nr ? w->samples.all.at[at] : NULL;
}

/* Return the end of the samples of the function at @depth of sample @at. */
static size_t end_of(const struct writer *w, size_t at, size_t depth)
{
	const struct sample *first = sample(w, at);

	for (; sample(w, at) && sample_same_stack(first, sample(w, at), depth); at++)
		;
	return at;
}

static void put_place(const struct writer *w, struct sample_place place)
{
	put_number(w, (uint32_t)place.offset << 16 | (place.discriminator & 0xffff));
}

/* Return the number of samples after @at, up to @end, that are calls from its place. */
static uint32_t targets_of(const struct writer *w, size_t at, size_t end, size_t depth)
{
	const struct sample *s = sample(w, at), *call;
	uint32_t nr = 0;

	for (at++; at < end; at++, nr++) {
		call = sample(w, at);
		if (!call->target || call->depth != s->depth || sample_place_cmp(call->places[depth], s->places[depth]))
			break;
	}
	return nr;
}

static void put_count(const struct writer *w, size_t at, uint32_t targets, size_t depth)
{
	const struct sample *s = sample(w, at);
	uint32_t i;

	put_place(w, s->places[depth]);
	put_number(w, targets);
	put_counter(w, s->count);
	for (i = 1; i <= targets; i++) {
		s = sample(w, at + i);
		put_number(w, 0);
		put_counter(w, name_number(w, s->target));
		put_counter(w, s->count);
	}
}

/*
 * Write lines without discriminators, which gcc 12 looks up. If only blocks with discriminators of
 * a line were executed, the line gets the largest of their counts.
 */
static uint32_t whole_line(const struct writer *w, size_t at, size_t end, size_t depth, bool write)
{
	const struct sample *s = sample(w, at), *next;
	struct sample_place place = s->places[depth];
	uint64_t count = s->count;

	if (s->target || !place.discriminator ||
	    (at && sample(w, at - 1)->depth == s->depth && sample_same_stack(sample(w, at - 1), s, depth) &&
	     sample(w, at - 1)->places[depth].offset == place.offset))
		return 0;
	for (at++; write && at < end; at++) {
		next = sample(w, at);
		if (next->depth != s->depth || next->places[depth].offset != place.offset)
			break;
		if (!next->target && next->count > count)
			count = next->count;
	}
	place.discriminator = 0;
	if (write) {
		put_place(w, place);
		put_number(w, 0);
		put_counter(w, count);
	}
	return 1;
}

static void put_function(const struct writer *w, size_t at, size_t depth)
{
	size_t end = end_of(w, at, depth), first, i;
	uint32_t places = 0, calls = 0, targets;

	for (first = at; first < end && sample(w, first)->depth == depth + 1; first++) {
		places += !sample(w, first)->target;
		places += whole_line(w, first, end, depth, false);
	}
	for (i = first; i < end; i = end_of(w, i, depth + 1))
		calls++;
	put_number(w, name_number(w, sample(w, at)->names[depth]));
	put_number(w, places);
	put_number(w, calls);
	for (; at < first; at += 1 + targets) {
		whole_line(w, at, end, depth, true);
		targets = targets_of(w, at, first, depth);
		if (!sample(w, at)->target)
			put_count(w, at, targets, depth);
		else
			targets = 0;
	}
	for (; at < end; at = end_of(w, at, depth + 1)) {
		put_place(w, sample(w, at)->places[depth]);
		put_function(w, at, depth + 1);
	}
}

static void put_functions(const struct writer *w)
{
	uint32_t nr = 0;
	size_t at;

	for (at = 0; at < w->samples.all.nr; at = end_of(w, at, 0))
		nr++;
	put_tag(w, TAG_FUNCTIONS);
	put_number(w, nr);
	for (at = 0; at < w->samples.all.nr; at = end_of(w, at, 0)) {
		put_counter(w, samples_head(w->profile, sample(w, at)->names[0]));
		put_function(w, at, 0);
	}
}

/* ---- All ---- */

static int gcc_write(struct profile *profile)
{
	struct writer w = { .profile = profile };
	int err = samples_make(&w.samples, profile);

	if (!err && !add_names(&w)) {
		errno = ENOMEM;
		err = -1;
	}
	if (!err) {
		put_number(&w, MAGIC);
		put_number(&w, VERSION);
		put_number(&w, 0);
		put_names(&w);
		put_functions(&w);
		put_tag(&w, TAG_MODULES);
		put_number(&w, 0);
	}
	samples_free(&w.samples);
	free(w.names.at);
	return err;
}

const struct profile_format profile_gcc = { .name = "gcc", .needs_lines = true, .write = gcc_write };
