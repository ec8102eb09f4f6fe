// SPDX-License-Identifier: GPL-2.0-only
#include "chunks.h"
#include "flame.h"

#define NODES_MAX	(1 << 18)

static size_t hash_of(const struct flame *flame, uint32_t parent, uint32_t name)
{
	uint64_t h = ((uint64_t)parent << 32 | name) * 0x9e3779b97f4a7c15ULL;

	return h >> 32 & (flame->hash_size - 1);
}

static bool grow(struct flame *flame)
{
	size_t size = flame->hash_size ? 2 * flame->hash_size : 1024, i, at;
	uint32_t *hash = calloc(size, sizeof(*hash));

	if (!hash)
		return false;
	free(flame->hash);
	flame->hash = hash;
	flame->hash_size = size;
	for (i = 1; i < flame->nodes.nr; i++) {
		at = hash_of(flame, flame->nodes.at[i].parent, flame->nodes.at[i].name);
		while (hash[at])
			at = (at + 1) & (size - 1);
		hash[at] = i;
	}
	return true;
}

uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name)
{
	const struct flame_node root = { 0 }, node = { .parent = parent, .name = name };
	const struct flame_node *known;
	size_t at;

	if (parent == FLAME_NONE || (!flame->nodes.nr && !ns_array_add(&flame->nodes, root)))
		return FLAME_NONE;
	if (2 * flame->nodes.nr >= flame->hash_size && !grow(flame))
		return FLAME_NONE;
	for (at = hash_of(flame, parent, name); flame->hash[at];
	     at = (at + 1) & (flame->hash_size - 1)) {
		known = &flame->nodes.at[flame->hash[at]];
		if (known->parent == parent && known->name == name)
			return flame->hash[at];
	}
	if (flame->nodes.nr >= (flame->max ? flame->max : NODES_MAX) || !ns_array_add(&flame->nodes, node))
		return FLAME_NONE;
	flame->hash[at] = flame->nodes.nr - 1;
	return flame->hash[at];
}

void flame_free(struct flame *flame)
{
	free(flame->nodes.at);
	free(flame->hash);
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
		     number_add(&bytes, node->insns);
	}
	ok = ok && base64_write(file, bytes.at, bytes.nr);
	free(bytes.at);
	return ok;
}
