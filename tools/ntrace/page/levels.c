// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replace items of a track that are too short to be shown by merged items, for each level of detail
 * (levels.h).
 */
#include <stdlib.h>

#include "levels.h"
#include "session/array.h"

/*
 * A group of adjacent items that are too short to be shown separately at a level. If the group has
 * several items, one merged item replaces them.
 */
struct group {
	struct level_item first;
	uint64_t	end;
	uint64_t	n;		/* number of items of level 0 (items that are not merged) in the group */
	uint64_t	longest;	/* duration of the longest item, ns */
	uint32_t	name;		/* name of the longest item, which the merged item gets */
	uint32_t	nr;		/* number of items added, a merged item counts as one; 0: group not in use */
};

struct depth {
	/* for each level except level 0, the group to which the next item may be added */
	struct group	groups[LEVELS];
	uint32_t	open;		/* bit mask of the levels whose group has items */
};

struct levels {
	level_put_fn	put;
	void		*ctx;
	NS_ARRAY(struct depth *) depths;
};

static int add_at(struct levels *levels, struct depth *d, unsigned int level,
		  const struct level_item *item);

/*
 * Close a group, and add it to the next level. A single item is added unchanged. Several items are
 * added as one merged item.
 */
static int close_group(struct levels *levels, struct depth *d, unsigned int level)
{
	struct group *g = &d->groups[level];
	struct level_item item = g->first;

	if (g->nr > 1) {
		item.ns = g->end - item.begin;
		item.n = g->n;
		item.name = g->name;
		item.made = level;
		item.kind = 0;
	}
	g->nr = 0;
	d->open &= ~(1U << level);
	return add_at(levels, d, level + 1, &item);
}

/* Close the groups of the levels below @level. This adds them to @level before the caller adds a later item to it. */
static int close_below(struct levels *levels, struct depth *d, unsigned int level)
{
	unsigned int k;
	int err = 0;

	while (!err && d->open & ((1U << level) - 1)) {
		k = __builtin_ctz(d->open);
		err = close_group(levels, d, k);
	}
	return err;
}

static void open_group(struct depth *d, unsigned int level, const struct level_item *item)
{
	d->groups[level] = (struct group){
		.first = *item, .end = item->begin + item->ns, .n = item->made ? item->n : 1,
		.longest = item->ns, .name = item->name, .nr = 1,
	};
	d->open |= 1U << level;
}

static int join_group(struct levels *levels, struct group *g, unsigned int level,
		      const struct level_item *item)
{
	int err = 0;

	if (g->nr == 1)
		err = levels->put(levels->ctx, level - 1, &g->first);
	if (!err)
		err = levels->put(levels->ctx, level - 1, item);
	if (item->begin + item->ns > g->end)
		g->end = item->begin + item->ns;
	g->n += item->made ? item->n : 1;
	g->nr++;
	if (item->ns > g->longest) {
		g->longest = item->ns;
		g->name = item->name;
	}
	return err;
}

/*
 * Return true if the gap between the group and the item is shorter than LEVEL_NS(level), and the group
 * including the item is shorter than LEVEL_NS(level + 1).
 */
static bool fits(const struct group *g, unsigned int level, const struct level_item *item)
{
	if (item->begin < g->first.begin || item->begin + item->ns - g->first.begin >= LEVEL_NS(level + 1))
		return false;
	return item->begin < g->end || item->begin - g->end < LEVEL_NS(level);
}

/* Add an item that is too short for @level to show it separately to the group of @level, or to a new group. */
static int add_at(struct levels *levels, struct depth *d, unsigned int level,
		  const struct level_item *item)
{
	struct group *g = &d->groups[level];
	int err;

	if (level >= LEVELS)
		return levels->put(levels->ctx, LEVELS - 1, item);
	err = close_below(levels, d, level);
	if (err)
		return err;
	if (g->nr && fits(g, level, item))
		return join_group(levels, g, level, item);
	if (g->nr)
		err = close_group(levels, d, level);
	open_group(d, level, item);
	return err;
}

/* Return the lowest level at which an item of this duration is too short to be shown separately, or LEVELS. */
static unsigned int first_level(uint64_t ns)
{
	unsigned int level = ns < 16 ? 1 : (63 - __builtin_clzll(ns)) / 2;

	return level < LEVELS ? level : LEVELS;
}

static struct depth *depth_of(struct levels *levels, uint32_t depth)
{
	while (levels->depths.nr <= depth) {
		struct depth *d = calloc(1, sizeof(*d));

		if (!d || !ns_array_add(&levels->depths, d)) {
			free(d);
			return NULL;
		}
	}
	return levels->depths.at[depth];
}

int levels_add(struct levels *levels, const struct level_item *item)
{
	struct depth *d = depth_of(levels, item->depth);
	unsigned int level = first_level(item->ns);
	int err;

	if (!d)
		return -1;
	err = level == LEVELS ? close_below(levels, d, LEVELS) : 0;
	return err ? err : add_at(levels, d, level, item);
}

int levels_end(struct levels *levels)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < levels->depths.nr; i++)
		err = close_below(levels, levels->depths.at[i], LEVELS);
	return err;
}

struct levels *levels_new(level_put_fn put, void *ctx)
{
	struct levels *levels = calloc(1, sizeof(*levels));

	if (!levels)
		return NULL;
	levels->put = put;
	levels->ctx = ctx;
	return levels;
}

void levels_free(struct levels *levels)
{
	size_t i;

	if (!levels)
		return;
	for (i = 0; i < levels->depths.nr; i++)
		free(levels->depths.at[i]);
	free(levels->depths.at);
	free(levels);
}
