/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write the items of tracks to the page. An item is a call, a thread that a CPU executed, or a
 * loss. Items are stored in chunks, each of which belongs to one track and one level. The file
 * levels.h explains levels and merged items. The viewer decodes a chunk when its items become
 * visible. A chunk is stored as base64. Each item consists of these variable-length numbers, which
 * have 7 bits per byte, and the least significant bits first.
 *
 *	start of the item minus that of the previous item (for the first item, minus "first" of the chunk), shifted
 *		left by one bit; the lowest bit is set if the number is negative, and the other bits are then inverted
 *	duration in ns
 *	depth * 2, + 1 for a merged item
 *	number of the name
 *	number of instructions of a call, or number of items that a merged item replaces
 *	kind of an item, or first level that shows a merged item
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
	uint64_t	first;		/* start of the item that was added first */
	uint64_t	from;		/* start of the item that starts first */
	uint64_t	last;		/* start of the item that starts last */
	uint64_t	to;		/* end of the item that ends last */
};

struct pending_chunk {
	struct chunk	chunk;
	uint64_t	before;		/* start of the item that was added last, ns from the start of the page */
	NS_ARRAY(uint8_t) bytes;
};

struct chunks {
	/*
	 * temporary files: @near has the chunks with a level of at least @near_level, which the page
	 * needs for its first picture; @far has the chunks with a lower level, which is more detailed
	 */
	FILE		*near, *far;
	unsigned int	near_level;
	uint64_t	start;		/* start of the page, ns */
	uint32_t	track;		/* index of the track to which items are being added */
	struct pending_chunk pending[LEVELS];
	NS_ARRAY(struct chunk) index;	/* all chunks, in the order in which the page numbers them */
};

/*
 * chunks_put() - add an item to the current track; the function is a level_put_fn. chunks_end() -
 * complete the chunks of the current track
 *
 * Return -1 if out of memory, or if writing failed.
 */
int chunks_put(void *chunks, unsigned int level, const struct level_item *item);
int chunks_end(struct chunks *chunks);
void chunks_free(struct chunks *chunks);

/* base64_write() - write bytes as base64. Return false on failure. */
bool base64_write(FILE *file, const uint8_t *bytes, size_t size);

/*
 * number_add() - append a number to NS_ARRAY(uint8_t), 7 bits a byte, low bits first. Return false if out of memory.
 */
#define number_add(array, number) ({					\
	uint64_t n_ = (number);						\
	bool fine_ = true;						\
	for (; fine_ && n_ >= 0x80; n_ >>= 7)				\
		fine_ = ns_array_add(array, n_ | 0x80);			\
	fine_ && ns_array_add(array, n_);				\
})

#endif /* NTRACE_TOOL_HTML_CHUNKS_H */
