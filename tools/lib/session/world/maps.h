/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The maps of a process, sorted by address in a tree (a treap). After a change, the new version of
 * the tree shares all unchanged nodes with the old version. A change therefore only takes time and
 * memory in proportion to the depth of the tree, even if a program calls mmap 100,000 times.
 *
 * Each version of the tree is an epoch. A node belongs to the epoch in which it was created. In a
 * later epoch, the node is copied before it is changed.
 */
#ifndef NTRACE_SESSION_MAPS_H
#define NTRACE_SESSION_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"

struct ns_object;

struct ns_map {
	uint64_t	start, end;	/* first address of the map, and first address after it */
	uint64_t	pgoff;		/* offset of @start in the file */
	struct ns_object *object;
};

struct ns_map_node {
	struct ns_map	map;
	struct ns_map_node *left, *right;
	uint32_t	priority, epoch;
};

/* Memory of the nodes of all trees */
struct ns_map_store {
	NS_ARRAY(struct ns_map_node *) chunks;
	size_t		used;		/* number of used nodes in the last chunk */
	uint32_t	random;
	bool		failed;		/* memory ran out, so that a tree is incomplete and no tree may be used */
};

void ns_map_store_free(struct ns_map_store *store);

/* ns_maps_find() - return the map that contains @addr, or NULL */
const struct ns_map *ns_maps_find(const struct ns_map_node *root, uint64_t addr);

/* ns_maps_first() - return the first map that ends after @addr, or NULL */
const struct ns_map *ns_maps_first(const struct ns_map_node *root, uint64_t addr);

/*
 * ns_maps_add() - add a map to the tree, and remove the addresses of this map from the maps that it
 * overlaps
 *
 * Return the root of version @epoch of the tree. Set @store->failed if out of memory.
 */
struct ns_map_node *ns_maps_add(struct ns_map_store *store, struct ns_map_node *root,
				const struct ns_map *map, uint32_t epoch);

#endif /* NTRACE_SESSION_MAPS_H */
