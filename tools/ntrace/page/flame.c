// SPDX-License-Identifier: GPL-2.0-only
#include "chunks.h"
#include "flame.h"

#define NODES_MAX	(1 << 18)

uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name)
{
	const struct flame_node root = { 0 }, node = { .parent = parent, .name = name };
	const struct flame_node *known;
	struct ns_hash_slot *slot;

	if (parent == FLAME_NONE || (!flame->nodes.nr && !ns_array_add(&flame->nodes, root)))
		return FLAME_NONE;
	slot = ns_hash_find(&flame->hash, ns_hash_mix((uint64_t)parent << 32 | name),
			    (known = &flame->nodes.at[i], known->parent == parent && known->name == name));
	if (!slot || slot->index)
		return slot ? slot->index - 1 : FLAME_NONE;
	if (flame->nodes.nr >= (flame->max ? flame->max : NODES_MAX) || !ns_array_add(&flame->nodes, node))
		return FLAME_NONE;
	ns_hash_set(&flame->hash, slot, flame->nodes.nr - 1);
	return flame->nodes.nr - 1;
}

void flame_free(struct flame *flame)
{
	free(flame->nodes.at);
	free(flame->hash.slots);
}

bool flame_write(const struct flame *flame, FILE *file)
{
	NS_ARRAY(uint8_t) bytes = { 0 };
	const struct flame_node *node;
	bool ok = true;
	size_t i;

	for (i = 1; ok && i < flame->nodes.nr; i++) {
		node = &flame->nodes.at[i];
		ok = number_add(&bytes, i - node->parent) && number_add(&bytes, node->name) &&
		     number_add(&bytes, node->calls) && number_add(&bytes, node->ns) &&
		     number_add(&bytes, node->ran) && number_add(&bytes, node->insns);
	}
	ok = ok && base64_write(file, bytes.at, bytes.nr);
	free(bytes.at);
	return ok;
}
