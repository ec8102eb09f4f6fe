/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NTRACE_IMAGE_H
#define NTRACE_IMAGE_H

#include "internal.h"

struct nt_section {
	uint64_t	space;
	uint64_t	addr;
	uint64_t	size;
	const uint8_t	*data;
};

/* Code at @addr..@last is not as it was; or, if @last is below @addr, it all is. */
struct nt_change {
	uint64_t	addr;
	uint64_t	last;
};

/* Changes that are remembered: who is further behind forgets all. */
#define NR_CHANGES	32

struct nt_image {
	struct nt_section	*sections;
	size_t			nr_sections;
	struct nt_image_reader	reader;
	uint64_t		generation;	/* grows with each change */
	/* the one that made it N is at N modulo NR_CHANGES */
	struct nt_change	changes[NR_CHANGES];
};

#endif /* NTRACE_IMAGE_H */
