/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Levels of detail of one track of the page.
 *
 * Level 0 shows each item. Level k does not show items separately that are shorter than LEVEL_NS(k).
 * One merged item replaces adjacent items that are too short. An item or merged item is stored once,
 * although several levels show it. The first of these levels is level_item::made, which is 0 for an
 * item that is not merged. The last of them is the level that level_put_fn receives. To draw level k,
 * take the items with level_item::made <= k that were passed to level_put_fn with a level >= k.
 */
#ifndef NTRACE_TOOL_HTML_LEVELS_H
#define NTRACE_TOOL_HTML_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#define LEVELS		18
/*
 * Minimum duration in ns of an item that level k shows separately. It is 16 ns for level 1, and four times as
 * long for each further level.
 */
#define LEVEL_NS(k)	(4ULL << (2 * (k)))

struct level_item {
	uint64_t	begin, ns;
	/* number of instructions of a call; for a merged item, number of items that it replaces */
	uint64_t	n;
	uint32_t	depth;
	uint32_t	name;		/* number of the name; for a merged item, that of the longest item */
	uint8_t		made;		/* for a merged item, lowest level that shows it; 0: the item is not merged */
	uint8_t		kind;		/* value that the caller of levels_add() chooses; 0 for a merged item */
};

typedef int (*level_put_fn)(void *ctx, unsigned int level, const struct level_item *item);

struct levels;

/*
 * levels_new() - create the levels of a track. Return NULL if out of memory.
 *
 * @put receives each item and merged item, with the highest level that shows it (the level with the
 * least detail).
 */
struct levels *levels_new(level_put_fn put, void *ctx);
void levels_free(struct levels *levels);

/*
 * levels_add() - add an item; items of the same depth must be in the order of time
 * levels_end() - complete the track, so that the next track may start
 *
 * Return: 0, -1 if out of memory, or the value that @put returned.
 */
int levels_add(struct levels *levels, const struct level_item *item);
int levels_end(struct levels *levels);

#endif /* NTRACE_TOOL_HTML_LEVELS_H */
