/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Items of tracks in the format of the page. They are stored in chunks of one track and level,
 * which the viewer decodes when they become visible. A chunk is base64. Each item consists of
 * variable-length numbers with 7 bits per byte, least significant first:
 *
 *	begin, minus that of the previous item (for the first item, minus "first" of the chunk);
 *	the lowest bit is set for negative numbers, which are inverted
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

/* A chunk. Times are in ns from the start of the page. */
struct chunk {
	uint32_t	track, level, nr;
	uint64_t	first;		/* start of its first item */
	uint64_t	from;		/* earliest start of its items */
	uint64_t	last;		/* latest start of its items */
	uint64_t	to;		/* latest end of its items */
};

struct pending_chunk {
	struct chunk	chunk;
	uint64_t	before;		/* start of the last item */
	NS_ARRAY(uint8_t) bytes;
};

struct chunks {
	/* files of the levels that are needed immediately, and of the levels below */
	FILE		*near, *far;
	unsigned int	near_level;
	uint64_t	start;		/* start of the page, ns */
	uint32_t	track;		/* track of the next items */
	struct pending_chunk pending[LEVELS];
	NS_ARRAY(struct chunk) index;	/* indexed by number in the page */
};

/*
 * chunks_put() - add an item; this is a level_put_fn. chunks_end() - end a track
 *
 * Return -1 if out of memory, or if writing failed.
 */
int chunks_put(void *chunks, unsigned int level, const struct level_item *item);
int chunks_end(struct chunks *chunks);
void chunks_free(struct chunks *chunks);

/* base64_write() - write bytes as base64. Return false on failure. */
bool base64_write(FILE *file, const uint8_t *bytes, size_t size);

/*
 * number_add() - append a variable-length number to a growing array. Return false if out of memory.
 */
#define number_add(array, number) ({					\
	uint64_t n_ = (number);						\
	bool fine_ = true;						\
	for (; fine_ && n_ >= 0x80; n_ >>= 7)				\
		fine_ = ns_array_add(array, n_ | 0x80);			\
	fine_ && ns_array_add(array, n_);				\
})

#endif /* NTRACE_TOOL_HTML_CHUNKS_H */
