/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef NTRACE_IMAGE_H
#define NTRACE_IMAGE_H

#include "internal.h"

/* A section as it was added; or a view, the part of one that is not hidden by a later one. */
struct nt_section {
	uint64_t	space;
	uint64_t	addr;
	uint64_t	size;
	const uint8_t	*data;
};

/* Code at @addr..@last has changed; if @last is below @addr, only the mapping to spaces has. */
struct nt_change {
	uint64_t	addr;
	uint64_t	last;
};

/* Changes that are remembered. A flow that has missed more of them drops all its code. */
#define NR_CHANGES	32

struct nt_image {
	struct nt_section	*sections;
	size_t			nr_sections;
	/* without overlaps, by space and address; there is always room for 2 * nr_sections + 2 */
	struct nt_section	*views;
	size_t			nr_views;
	struct nt_image_reader	reader;
	uint64_t		generation;	/* grows with each change */
	/* the change that made @changes N is at N modulo NR_CHANGES */
	struct nt_change	changes[NR_CHANGES];
};

#endif /* NTRACE_IMAGE_H */
