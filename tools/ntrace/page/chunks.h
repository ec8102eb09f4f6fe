/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items of tracks as the page stores them: in chunks of one track and level, which the viewer decodes
 * when they come into view. A chunk is base64 of, for each item, variable-length numbers of 7 bits
 * a byte, the least first:
 *
 *	begin, less that of the item before (of the first: "first" of the chunk); negative numbers
 *	are inverted, and the lowest bit says that
 *	ns
 *	depth * 2, + 1 for a block
 *	name
 *	instructions of a call, or items of a block
 *	kind of an item, or level of a block
 */
#ifndef NTRACE_TOOL_HTML_CHUNKS_H
#define NTRACE_TOOL_HTML_CHUNKS_H

#include <stdbool.h>
#include <stdio.h>

#include "levels.h"
#include "session/array.h"

/* Times are ns from the begin of the page */
struct chunk {
	uint32_t	track, level, nr;
	uint64_t	first;		/* begin of its first item */
	uint64_t	from;		/* least begin of its items, ... */
	uint64_t	last;		/* ... the largest one ... */
	uint64_t	to;		/* ... and the latest end */
};

struct pending_chunk {
	struct chunk	chunk;
	uint64_t	before;		/* begin of the last item */
	NS_ARRAY(uint8_t) bytes;
};

struct chunks {
	FILE		*near, *far;	/* levels that are needed at once, and those below */
	unsigned int	near_level;
	uint64_t	start;		/* ns of the page's begin */
	uint32_t	track;		/* of the items to come */
	struct pending_chunk pending[LEVELS];
	NS_ARRAY(struct chunk) index;	/* by their number in the page */
};

/* chunks_put() - a level_put_fn. chunks_end() - of a track. -1: no memory, or writing failed */
int chunks_put(void *chunks, unsigned int level, const struct level_item *item);
int chunks_end(struct chunks *chunks);
void chunks_free(struct chunks *chunks);

/* base64_write() - false: it failed */
bool base64_write(FILE *file, const uint8_t *bytes, size_t size);

/* number_add() - append a number as chunks have it to a growing array; false: no memory */
#define number_add(array, number) ({					\
	uint64_t n_ = (number);						\
	bool fine_ = true;						\
	for (; fine_ && n_ >= 0x80; n_ >>= 7)				\
		fine_ = ns_array_add(array, n_ | 0x80);			\
	fine_ && ns_array_add(array, n_);				\
})

#endif /* NTRACE_TOOL_HTML_CHUNKS_H */
