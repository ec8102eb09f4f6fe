/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The code of an image. The caller of the library adds sections of code. Where sections overlap, the
 * section that was added last hides the others. A view is a part of a section that is not hidden.
 */
#ifndef NTRACE_IMAGE_H
#define NTRACE_IMAGE_H

#include "internal.h"

/*
 * A section that was added, or a view. A view is a part of a section that no later section hides.
 */
struct nt_section {
	uint64_t	space;
	uint64_t	addr;
	uint64_t	size;
	const uint8_t	*data;
};

/*
 * A change of the code at @addr..@last. If @last is below @addr, only the mapping from contexts to
 * address spaces has changed.
 */
struct nt_change {
	uint64_t	addr;
	uint64_t	last;
};

/* Number of changes that are stored. A flow that has missed more changes drops all its code. */
#define NR_CHANGES	32

struct nt_image {
	struct nt_section	*sections;
	size_t			nr_sections;
	/* views, sorted by space and address, without overlaps; room for 2 * nr_sections + 2 views */
	struct nt_section	*views;
	size_t			nr_views;
	struct nt_image_reader	reader;
	uint64_t		generation;	/* number of changes of the image so far, see struct nt_change */
	/* change number N, which set @generation to N, is at index N modulo NR_CHANGES */
	struct nt_change	changes[NR_CHANGES];
};

#endif /* NTRACE_IMAGE_H */
