/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often each place of the source was executed, by the functions that it is inlined into: what sample
 * profiles of compilers have. Each count is exact: the place is executed as often as its most frequent instruction.
 */
#ifndef NTRACE_TOOL_PROFILE_SAMPLES_H
#define NTRACE_TOOL_PROFILE_SAMPLES_H

#include "profile.h"

struct sample_place {
	uint16_t	offset;
	unsigned int	discriminator;
};

/* How often a place was executed, and by what stack of inlined functions it was reached */
struct sample {
	const char	*names[PROFILE_FRAMES];	/* the outermost function first */
	struct sample_place places[PROFILE_FRAMES];	/* in each of them */
	size_t		depth;
	uint64_t	count;
	const char	*target;		/* what is called from there; NULL: it is the place itself */
};

/* Samples are large, and there are many: what is sorted are pointers to them. */
struct samples {
	NS_ARRAY(struct sample *) all;
};

int sample_place_cmp(struct sample_place x, struct sample_place y);

/* sample_same_stack() - are both inside the same function at @depth? */
bool sample_same_stack(const struct sample *x, const struct sample *y, size_t depth);

/*
 * samples_make() - by the outermost function; the places of a function come before those of what is inlined into
 * it, and what is called from a place after the place. -1: no memory, errno
 */
int samples_make(struct samples *samples, struct profile *profile);
void samples_free(struct samples *samples);

/* samples_head() - how often the first instruction of a function was executed */
uint64_t samples_head(const struct profile *profile, const char *name);

#endif /* NTRACE_TOOL_PROFILE_SAMPLES_H */
