/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of detail of one track of the page.
 *
 * Level 0 has each item. On level k, a viewer needs no item shorter than LEVEL_NS(k), so
 * neighbouring items that are too short are merged into blocks. An item is visible from the level
 * at which it is made (0, or that of the block) to the level at which it is put, so that each item
 * is stored once. To draw level k, take the items that were put at k and above and were made at k
 * or below.
 */
#ifndef NTRACE_TOOL_HTML_LEVELS_H
#define NTRACE_TOOL_HTML_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define LEVELS		18
/* 16 ns on level 1, and four times as much on each following level */
#define LEVEL_NS(k)	(4ULL << (2 * (k)))

struct level_item {
	uint64_t	begin, ns;
	uint64_t	n;		/* instructions of a call, or items of a block */
	uint32_t	depth;
	uint32_t	name;		/* name; for a block, that of the longest item */
	uint8_t		made;		/* level of a block; 0: not a block */
	uint8_t		kind;		/* value that the caller of levels_add() sets */
};

typedef int (*level_put_fn)(void *ctx, unsigned int level, const struct level_item *item);

struct levels;

/*
 * levels_new() - create the levels of a track. Return NULL if out of memory.
 *
 * @put receives each item and block, and the level at which it is put.
 */
struct levels *levels_new(level_put_fn put, void *ctx);
void levels_free(struct levels *levels);

/*
 * levels_add() - add the next item; items of one depth must be in the order of time
 * levels_end() - complete the track, so that another may start
 *
 * Return: 0, -1 if out of memory, or the value that @put returned.
 */
int levels_add(struct levels *levels, const struct level_item *item);
int levels_end(struct levels *levels);

#endif /* NTRACE_TOOL_HTML_LEVELS_H */
