// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Store the maps of a process in a tree. A change creates a new version of the tree, and the old
 * versions remain valid (maps.h).
 */
#include <string.h>

#include "maps.h"

#define CHUNK	256	/* number of nodes that are allocated together */

/* ---- Nodes ---- */

static struct ns_map_node *new_node(struct ns_map_store *store)
{
	struct ns_map_node *chunk;

	if (!store->chunks.nr || store->used == CHUNK) {
		chunk = malloc(CHUNK * sizeof(*chunk));
		if (!chunk || !ns_array_add(&store->chunks, chunk)) {
			free(chunk);
			store->failed = true;
			return NULL;
		}
		store->used = 0;
	}
	return &store->chunks.at[store->chunks.nr - 1][store->used++];
}

void ns_map_store_free(struct ns_map_store *store)
{
	size_t i;

	for (i = 0; i < store->chunks.nr; i++)
		free(store->chunks.at[i]);
	free(store->chunks.at);
	memset(store, 0, sizeof(*store));
}

/*
 * Return a node that the caller may change in version @epoch of the tree. This is @node if it belongs
 * to @epoch, otherwise a copy of @node, because older versions of the tree also use @node.
 */
static struct ns_map_node *own(struct ns_map_store *store, struct ns_map_node *node,
			       uint32_t epoch)
{
	struct ns_map_node *copy;

	if (node->epoch == epoch)
		return node;
	copy = new_node(store);
	if (!copy)
		return node;
	*copy = *node;
	copy->epoch = epoch;
	return copy;
}

static struct ns_map_node *node_of(struct ns_map_store *store, const struct ns_map *map,
				   uint32_t epoch)
{
	struct ns_map_node *node = new_node(store);

	if (!node)
		return NULL;
	store->random = store->random * 1664525 + 1013904223;
	*node = (struct ns_map_node){ .map = *map, .priority = store->random >> 1, .epoch = epoch };
	return node;
}

/* ---- Trees ---- */

/* Split a tree into *left, with the maps that start before address @key, and *right, with all other maps. */
static void split(struct ns_map_store *store, struct ns_map_node *tree, uint64_t key,
		  uint32_t epoch, struct ns_map_node **left, struct ns_map_node **right)
{
	if (!tree) {
		*left = *right = NULL;
		return;
	}
	tree = own(store, tree, epoch);
	if (tree->map.start < key) {
		split(store, tree->right, key, epoch, &tree->right, right);
		*left = tree;
	} else {
		split(store, tree->left, key, epoch, left, &tree->left);
		*right = tree;
	}
}

/* Join two trees, and return the root. All maps in @left must precede all maps in @right. */
static struct ns_map_node *join(struct ns_map_store *store, struct ns_map_node *left,
				struct ns_map_node *right, uint32_t epoch)
{
	if (!left || !right)
		return left ? left : right;
	if (left->priority > right->priority) {
		left = own(store, left, epoch);
		left->right = join(store, left->right, right, epoch);
		return left;
	}
	right = own(store, right, epoch);
	right->left = join(store, left, right->left, epoch);
	return right;
}

static struct ns_map_node *insert(struct ns_map_store *store, struct ns_map_node *root,
				  const struct ns_map *map, uint32_t epoch)
{
	struct ns_map_node *node = node_of(store, map, epoch), *left, *right;

	if (!node)
		return root;
	split(store, root, map->start, epoch, &left, &right);
	return join(store, join(store, left, node, epoch), right, epoch);
}

static struct ns_map_node *without(struct ns_map_store *store, struct ns_map_node *root,
				   uint64_t start, uint32_t epoch)
{
	struct ns_map_node *left, *right, *one;

	split(store, root, start, epoch, &left, &right);
	split(store, right, start + 1, epoch, &one, &right);
	return join(store, left, right, epoch);
}

const struct ns_map *ns_maps_first(const struct ns_map_node *root, uint64_t addr)
{
	const struct ns_map *first = NULL;

	while (root) {
		if (root->map.end > addr) {
			first = &root->map;
			root = root->left;
		} else {
			root = root->right;
		}
	}
	return first;
}

const struct ns_map *ns_maps_find(const struct ns_map_node *root, uint64_t addr)
{
	const struct ns_map *map = ns_maps_first(root, addr);

	return map && map->start <= addr ? map : NULL;
}

struct ns_map_node *ns_maps_add(struct ns_map_store *store, struct ns_map_node *root,
				const struct ns_map *map, uint32_t epoch)
{
	const struct ns_map *under;
	struct ns_map before, after;

	while (!store->failed) {
		under = ns_maps_first(root, map->start);
		if (!under || under->start >= map->end)
			break;
		before = after = *under;
		before.end = map->start;
		after.start = map->end;
		after.pgoff += map->end - before.start;
		root = without(store, root, before.start, epoch);
		if (before.start < before.end)
			root = insert(store, root, &before, epoch);
		if (after.start < after.end)
			root = insert(store, root, &after, epoch);
	}
	return insert(store, root, map, epoch);
}
