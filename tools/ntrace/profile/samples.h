/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts of each source position in each stack of inlined functions, for sample profiles of
 * compilers. The counts are exact. The count of a position is that of its most frequent
 * instruction.
 */
#ifndef NTRACE_TOOL_PROFILE_SAMPLES_H
#define NTRACE_TOOL_PROFILE_SAMPLES_H

#include "profile.h"

struct sample_place {
	uint16_t	offset;
	unsigned int	discriminator;
};

/* The count of a position, with its stack of inlined functions */
struct sample {
	const char	*names[PROFILE_FRAMES];	/* names of the functions, the outermost first */
	struct sample_place places[PROFILE_FRAMES];	/* position in each function */
	size_t		depth;
	uint64_t	count;
	/* function that is called from there; NULL: the sample is the position itself */
	const char	*target;
};

/* Samples. The array has pointers, because sorting many large samples would be slow. */
struct samples {
	NS_ARRAY(struct sample *) all;
};

int sample_place_cmp(struct sample_place x, struct sample_place y);

/* sample_same_stack() - return true if both are inside the same function at @depth */
bool sample_same_stack(const struct sample *x, const struct sample *y, size_t depth);

/*
 * samples_make() - make the samples, ordered by the outermost function
 *
 * The positions of a function precede those of functions inlined into it, and calls from a position
 * follow the position. Return -1 with errno if out of memory.
 */
int samples_make(struct samples *samples, struct profile *profile);
void samples_free(struct samples *samples);

/* samples_head() - return how often the first instruction of a function was executed */
uint64_t samples_head(const struct profile *profile, const char *name);

#endif /* NTRACE_TOOL_PROFILE_SAMPLES_H */
