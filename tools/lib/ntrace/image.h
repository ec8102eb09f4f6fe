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

struct nt_image {
	struct nt_section	*sections;
	size_t			nr_sections;
	struct nt_image_reader	reader;
	uint64_t		generation;	/* grows with each change of code */
};

#endif /* NTRACE_IMAGE_H */
