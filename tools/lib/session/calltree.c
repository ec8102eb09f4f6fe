// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The branches of the call's thread while it lasted are kept, from whatever CPUs; then the
 * calls among them make the tree.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "calltree.h"

struct event {
	uint64_t	time, to, ret, insns, space;
	uint8_t		kind;
};

/* The thread's events of one stretch */
struct part {
	struct nt_calltree *tree;
	struct nt_branches branches;
	NS_ARRAY(struct event) events;
};

struct open_node {
	uint32_t	node;
	uint64_t	ret, begin, insns;
	bool		trap;
};

struct nt_calltree {
	struct nt_session *session;
	struct nt_call	call;
	const char	*symbol;
	NS_ARRAY(struct event) events;
	NS_ARRAY(struct nt_node) nodes;
	NS_ARRAY(struct open_node) open;
	uint64_t	insns;
};

/* ---- Events ---- */

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	const struct nt_call *call = &p->tree->call;
	struct event e = {
		.time = b->time, .to = b->to, .insns = b->insns, .space = who->space,
		.kind = b->kind,
		.ret = b->from + (b->kind == NT_BRANCH_SYSCALL ? 4 : b->length),
	};

	if (who->tid != call->tid || b->time < call->begin || b->time > call->begin + call->ns)
		return 0;
	if (b->flags & NT_BRANCH_BEGIN)
		e.kind = NT_BRANCH_NONE;
	return ns_array_add(&p->events, e) ? 0 : -1;
}

static const struct nt_branch_sink sink = { .branch = take_branch };

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->tree = ctx;
	nt_branches_init(&p->branches, &sink, p);
	return p;
}

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct part *p = part;

	return nt_branches_ranges(&p->branches, who, batch);
}

static int take_item(void *part, const struct nt_who *who, const struct nt_item *item)
{
	struct part *p = part;

	return nt_branches_item(&p->branches, who, item);
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_calltree *tree = ctx;
	struct part *p = part;
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < p->events.nr; i++)
		ok = ns_array_add(&tree->events, p->events.at[i]);
	nt_branches_exit(&p->branches);
	free(p->events.at);
	free(p);
	return ok ? 0 : -1;
}

/* Merge sort keeps the order of events of one time, which are of one stretch. */
static bool sort_events(struct nt_calltree *tree)
{
	size_t nr = tree->events.nr, width, i, a, b, a_end, b_end, out;
	struct event *from = tree->events.at, *to = malloc(nr * sizeof(*to) + 1), *swap;

	if (!to)
		return false;
	for (width = 1; width < nr; width *= 2) {
		for (i = 0, out = 0; i < nr; i += 2 * width) {
			a = i;
			a_end = b = i + width < nr ? i + width : nr;
			b_end = i + 2 * width < nr ? i + 2 * width : nr;
			while (a < a_end || b < b_end) {
				bool first = b == b_end ||
					     (a < a_end && from[a].time <= from[b].time);

				to[out++] = first ? from[a++] : from[b++];
			}
		}
		swap = from;
		from = to;
		to = swap;
	}
	tree->events.at = from;
	tree->events.room = nr;
	free(to);
	return true;
}

/* ---- Tree ---- */

/* The child of @parent that has this function, made if it is not there; -1: no memory */
static int64_t child_of(struct nt_calltree *tree, uint32_t parent, const struct event *e)
{
	struct nt_node node = {
		.space = e->space, .addr = e->to, .parent = parent, .kind = e->kind,
		.depth = tree->nodes.nr ? tree->nodes.at[parent].depth + 1 : 0,
	};
	uint32_t link, last = 0;
	struct nt_place place;

	nt_session_where(tree->session, e->space, e->to, &place);
	node.object = place.object;
	node.symbol = place.symbol;
	for (link = tree->nodes.nr ? tree->nodes.at[parent].first : 0; link;
	     link = tree->nodes.at[link].next) {
		last = link;
		if (tree->nodes.at[link].object == node.object &&
		    tree->nodes.at[link].symbol == node.symbol)
			return link;
	}
	if (!ns_array_add(&tree->nodes, node))
		return -1;
	link = tree->nodes.nr - 1;
	if (last)
		tree->nodes.at[last].next = link;
	else
		tree->nodes.at[parent].first = link;
	return link;
}

static bool tree_push(struct nt_calltree *tree, const struct event *e)
{
	uint32_t parent = tree->open.nr ? tree->open.at[tree->open.nr - 1].node : 0;
	int64_t node = child_of(tree, parent, e);
	struct open_node open = {
		.node = node, .ret = e->ret, .begin = e->time, .insns = tree->insns,
		.trap = e->kind != NT_BRANCH_CALL,
	};

	return node >= 0 && ns_array_add(&tree->open, open);
}

static void tree_pop(struct nt_calltree *tree, uint64_t time)
{
	const struct open_node *open = &tree->open.at[--tree->open.nr];
	struct nt_node *node = &tree->nodes.at[open->node];

	node->calls++;
	node->ns += time - open->begin;
	node->insns += tree->insns - open->insns;
}

static void tree_return(struct nt_calltree *tree, const struct event *e)
{
	bool trap = e->kind == NT_BRANCH_TRAP_RETURN;
	size_t at = tree->open.nr, i;

	for (i = tree->open.nr; i-- > 0;) {
		if (tree->open.at[i].ret == e->to && tree->open.at[i].trap == trap) {
			at = i;
			break;
		}
		if (!trap && tree->open.at[i].trap)
			break;
	}
	for (i = tree->open.nr; trap && at == tree->open.nr && i-- > 0;) {
		if (tree->open.at[i].trap)
			at = i;
	}
	while (tree->open.nr > at)
		tree_pop(tree, e->time);
}

static bool is_entry(uint8_t kind)
{
	return kind == NT_BRANCH_CALL || kind == NT_BRANCH_SYSCALL ||
		kind == NT_BRANCH_EXCEPTION || kind == NT_BRANCH_INTERRUPT;
}

static bool begins(const struct nt_calltree *tree, const struct event *e)
{
	struct nt_place place;

	if (!is_entry(e->kind))
		return false;
	nt_session_where(tree->session, e->space, e->to, &place);
	return place.symbol && !strcmp(place.symbol, tree->symbol);
}

static bool make_tree(struct nt_calltree *tree)
{
	const struct event *e = tree->events.at, *last = e + tree->events.nr;

	for (; e < last && !begins(tree, e); e++)
		;
	for (; e < last; e++) {
		if (tree->nodes.nr)
			tree->insns += e->insns;
		if (is_entry(e->kind)) {
			if (!tree_push(tree, e))
				return false;
		} else if (e->kind == NT_BRANCH_RETURN || e->kind == NT_BRANCH_TRAP_RETURN) {
			tree_return(tree, e);
		}
		if (!tree->open.nr)
			break;
	}
	/* the call ends with the last event at the latest */
	while (tree->open.nr)
		tree_pop(tree, tree->call.begin + tree->call.ns);
	return true;
}

struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol)
{
	static const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = take_ranges,
		.item = take_item, .end = end,
	};
	struct nt_calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->session = session;
	tree->call = *call;
	tree->symbol = symbol;
	if (!nt_session_decode(session, &consumer, tree) && sort_events(tree) && make_tree(tree))
		return tree;
	nt_calltree_free(tree);
	return NULL;
}

void nt_calltree_free(struct nt_calltree *tree)
{
	if (!tree)
		return;
	free(tree->events.at);
	free(tree->nodes.at);
	free(tree->open.at);
	free(tree);
}

const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr)
{
	*nr = tree->nodes.nr;
	return tree->nodes.at;
}
