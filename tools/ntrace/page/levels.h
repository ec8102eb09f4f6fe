/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of detail of one track of the page.
 *
 * On level k a viewer needs nothing shorter than LEVEL_NS(k): level 0 has each item as it is, and on
 * the others, neighbours that are too short are merged into blocks. An item is visible from the
 * level at which it is made (0, or that of the block) to the one it is put at, so that each is
 * stored once: to draw level k, take what was put at k and above and is made at k or below.
 */
#ifndef NTRACE_TOOL_HTML_LEVELS_H
#define NTRACE_TOOL_HTML_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define LEVELS		18
/* 16 ns on level 1, then four times as much each */
#define LEVEL_NS(k)	(4ULL << (2 * (k)))

struct level_item {
	uint64_t	begin, ns;
	uint64_t	n;		/* instructions of a call, or items of a block */
	uint32_t	depth;
	uint32_t	name;		/* of a block: that of the longest item */
	uint8_t		made;		/* level of a block; 0: it is none */
	uint8_t		kind;		/* the owner's */
};

typedef int (*level_put_fn)(void *ctx, unsigned int level, const struct level_item *item);

struct levels;

/* levels_new() - NULL: no memory. @put gets each item and block, and the level it is put at */
struct levels *levels_new(level_put_fn put, void *ctx);
void levels_free(struct levels *levels);

/*
 * levels_add() - the next item; those of one depth come in the order of time
 * levels_end() - the track is complete, and another may begin
 *
 * Return: 0, -1 (out of memory), or what @put returned.
 */
int levels_add(struct levels *levels, const struct level_item *item);
int levels_end(struct levels *levels);

#endif /* NTRACE_TOOL_HTML_LEVELS_H */
