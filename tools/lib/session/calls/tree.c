// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Build and join trees of calls, in which a node has the calls of one function with the same callers
 * (tree.h).
 */
#include <stdlib.h>
#include <string.h>

#include "session/code/object.h"
#include "tree-priv.h"

#define CACHE_SIZE	4096	/* a power of two */

const char ns_tree_unplaced[] = "";

/* A cached call (its parent, address and function), and its node in the tree */
struct ns_tree_cached {
	uint64_t	from_space, from, to_space, to, trap;
	uint32_t	parent, node;
};

/* ---- Nodes ---- */

/* A function is identified by its address, but an inlined function only has a name. */
static bool same_node(const struct nt_node *a, const struct nt_node *b)
{
	return a->parent == b->parent && a->object == b->object && a->inlined == b->inlined && a->trap == b->trap &&
	       (a->inlined ? !strcmp(a->symbol, b->symbol) : a->address == b->address);
}

static uint32_t hash_of(const struct nt_node *node)
{
	uint64_t h = (uintptr_t)node->object + 31 * (uint64_t)node->parent;
	const char *c;

	if (!node->inlined)
		h = h * 31 + node->address;
	for (c = node->inlined ? node->symbol : NULL; c && *c; c++)
		h = h * 31 + (unsigned char)*c;
	return ns_hash_mix(h);
}

/* Append a child. Children are in the order of their creation. */
static void link_child(struct ns_tree *tree, uint32_t parent, uint32_t child)
{
	uint32_t *link = &tree->nodes.at[parent].last;

	if (*link)
		tree->nodes.at[*link].next = child;
	else
		tree->nodes.at[parent].first = child;
	*link = child;
}

static bool make_root(struct ns_tree *tree)
{
	const struct nt_node root = { 0 };

	return tree->nodes.nr || ns_array_add(&tree->nodes, root);
}

int64_t ns_tree_child(struct ns_tree *tree, uint32_t parent, const struct nt_node *like)
{
	struct nt_node node = {
		.object = like->object, .symbol = like->symbol, .address = like->address, .trap = like->trap,
		.inlined = like->inlined, .parent = parent,
	};
	struct ns_hash_slot *found;

	if (!make_root(tree))
		return -1;
	found = ns_hash_find(&tree->hash, hash_of(&node), same_node(&tree->nodes.at[i], &node));
	if (!found || found->index)
		return found ? (int64_t)found->index - 1 : -1;
	node.depth = tree->nodes.at[parent].depth + 1;
	if (!ns_array_add(&tree->nodes, node))
		return -1;
	ns_hash_set(&tree->hash, found, tree->nodes.nr - 1);
	link_child(tree, parent, tree->nodes.nr - 1);
	return tree->nodes.nr - 1;
}

/* ---- Calls ---- */

/*
 * Return an address in the calling instruction. A trap other than an ecall has interrupted the instruction at its
 * return address. In all other cases, the calling instruction precedes the return address.
 */
static uint64_t caller_of(const struct ns_frame *frame)
{
	return frame->trap && frame->kind != NT_BRANCH_SYSCALL ? frame->ret : frame->ret - 1;
}

int64_t ns_tree_inlined(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame)
{
	struct nt_node node = { .inlined = true };
	const char *names[NT_INLINED_MAX];
	struct nt_place place;
	int64_t at = parent;
	size_t nr = 0, i;

	if (!tree->inlined)
		return parent;
	nt_session_where(tree->session, frame->ret_space, caller_of(frame), &place);
	if (place.object)
		nr = tree->inlined(tree->inlined_ctx, place.object, place.address, names,
				   NT_INLINED_MAX);
	node.object = place.object;
	for (i = 0; at >= 0 && i < nr; i++) {
		node.symbol = names[i];
		at = ns_tree_child(tree, at, &node);
	}
	return at;
}

static struct ns_tree_cached *cached_of(struct ns_tree *tree, const struct ns_tree_cached *key)
{
	uint64_t h = (key->from ^ key->to << 7) + 31 * (uint64_t)key->parent;

	if (!tree->cache)
		tree->cache = calloc(CACHE_SIZE, sizeof(*tree->cache));
	h = h * 0x9e3779b97f4a7c15ULL >> 52;
	return tree->cache ? &tree->cache[h & (CACHE_SIZE - 1)] : NULL;
}

int64_t ns_tree_enter(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame,
		      const struct ns_event *e)
{
	struct ns_tree_cached key = {
		.from_space = frame->ret_space, .from = caller_of(frame),
		.to_space = e->to_space, .to = e->to, .parent = parent, .trap = frame->trap ? frame->kind : 0,
	};
	struct ns_tree_cached *cached = cached_of(tree, &key);
	struct nt_node node = { .trap = key.trap };
	struct nt_place place;
	int64_t at;

	if (!cached)
		return -1;
	key.node = cached->node;
	if (cached->node && !memcmp(cached, &key, sizeof(key)))
		return cached->node;
	at = ns_tree_inlined(tree, parent, frame);
	if (at < 0)
		return -1;
	nt_session_where(tree->session, e->to_space, e->to, &place);
	node.object = place.object;
	node.symbol = place.symbol;
	node.address = place.address - (place.symbol ? place.offset : 0);
	at = ns_tree_child(tree, at, &node);
	key.node = at < 0 ? 0 : at;
	*cached = key;
	return at;
}

void ns_tree_count(struct ns_tree *tree, uint32_t node, const struct ns_stack *stack, const struct ns_frame *frame,
		   const struct ns_event *event, bool ended)
{
	uint64_t ns = event->time - frame->begin - (stack->cur.away.time - frame->away), insns = event->insns - frame->insns;
	uint64_t ran = event->ran - frame->ran;
	struct nt_node *n = &tree->nodes.at[node];

	n->self_ns += ran - frame->child_ran;
	n->self_insns += insns - frame->child_insns;
	while (1) {
		n->calls += ended;
		n->open += !ended;
		n->ns += ns;
		n->ran += ran;
		n->insns += insns;
		n->longest = n->longest < ns ? ns : n->longest;
		n->longest_ran = n->longest_ran < ran ? ran : n->longest_ran;
		n = &tree->nodes.at[n->parent];
		if (!n->inlined)
			return;
	}
}

/* ---- All ---- */

/* Merge the nodes in the order of their numbers, because a parent precedes its children. */
bool ns_tree_merge(struct ns_tree *tree, const struct ns_tree *from, const uint32_t *places)
{
	uint32_t *numbers = calloc(from->nodes.nr + 1, sizeof(*numbers));
	const struct nt_node *n;
	struct nt_node *to;
	int64_t at = 0;
	size_t i;

	for (i = 1; numbers && at >= 0 && i < from->nodes.nr; i++) {
		n = &from->nodes.at[i];
		if (n->object == ns_tree_unplaced) {
			numbers[i] = places ? places[n->address] : n->address;
			continue;
		}
		at = ns_tree_child(tree, numbers[n->parent], n);
		if (at < 0)
			break;
		numbers[i] = at;
		to = &tree->nodes.at[at];
		to->calls += n->calls;
		to->open += n->open;
		to->ns += n->ns;
		to->ran += n->ran;
		to->insns += n->insns;
		to->longest = to->longest < n->longest ? n->longest : to->longest;
		to->longest_ran = to->longest_ran < n->longest_ran ? n->longest_ran : to->longest_ran;
		to->self_ns += n->self_ns;
		to->self_insns += n->self_insns;
	}
	free(numbers);
	return numbers && at >= 0;
}

bool ns_tree_name(struct ns_tree *tree)
{
	struct nt_node *n = tree->nodes.at, *end = n + tree->nodes.nr;
	char *name;

	/* do not name the root, which is node 0, because it does not represent a function */
	for (n += tree->nodes.nr > 0; n < end; n++) {
		if (n->symbol)
			continue;
		name = ns_name_of(n->object, n->address);
		if (!name || !ns_array_add(&tree->names, name)) {
			free(name);
			return false;
		}
		n->symbol = name;
	}
	return true;
}

void ns_tree_free(struct ns_tree *tree)
{
	size_t i;

	for (i = 0; i < tree->names.nr; i++)
		free(tree->names.at[i]);
	free(tree->names.at);
	free(tree->nodes.at);
	free(tree->hash.slots);
	free(tree->cache);
}
