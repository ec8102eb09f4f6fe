// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The branches of the call's thread while it lasted are kept, from whatever CPUs; then the
 * calls among them make the tree.
 */
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "callstack.h"

/* The thread's events of one stretch */
struct part {
	struct nt_calltree *tree;
	NS_ARRAY(struct ns_event) events;
};

struct nt_calltree {
	struct nt_session *session;
	struct nt_call	call;
	const char	*symbol;
	NS_ARRAY(struct ns_event) events;
	NS_ARRAY(struct nt_node) nodes;
	struct ns_stack	stack;
};

/* ---- Events ---- */

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *b)
{
	struct part *p = part;
	const struct nt_call *call = &p->tree->call;
	struct ns_event e;

	if (who->tid != call->tid || b->time < call->begin || b->time > call->begin + call->ns)
		return 0;
	ns_event_init(&e, who, b, b->insns);
	return ns_array_add(&p->events, e) ? 0 : -1;
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->tree = ctx;
	return p;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_calltree *tree = ctx;
	struct part *p = part;
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < p->events.nr; i++)
		ok = ns_array_add(&tree->events, p->events.at[i]);
	free(p->events.at);
	free(p);
	return ok ? 0 : -1;
}

/* Merge sort keeps the order of events of one time, which are of one stretch. */
static bool sort_events(struct nt_calltree *tree)
{
	size_t nr = tree->events.nr, width, i, a, b, a_end, b_end, out;
	struct ns_event *from = tree->events.at, *to = malloc(nr * sizeof(*to) + 1), *swap;

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
static int64_t child_of(struct nt_calltree *tree, uint32_t parent, const struct ns_event *e)
{
	struct nt_node node = {
		.space = e->to_space, .addr = e->to, .parent = parent, .kind = e->kind,
		.depth = tree->nodes.nr ? tree->nodes.at[parent].depth + 1 : 0,
	};
	uint32_t link, last = 0;
	struct nt_place place;

	nt_session_where(tree->session, e->to_space, e->to, &place);
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

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	size_t nr = stack->open.nr;
	int64_t node = child_of(stack->ctx, nr > 1 ? stack->open.at[nr - 2].function : 0, e);

	frame->function = node;
	return node >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct nt_calltree *tree = stack->ctx;
	struct nt_node *node = &tree->nodes.at[frame->function];

	node->calls++;
	node->ns += e->time - frame->begin;
	node->insns += e->insns - frame->insns;
	return true;
}

static const struct ns_stack_ops tree_ops = { .enter = enter, .leave = leave };

/* Does the call begin here? */
static bool begins(const struct nt_calltree *tree, const struct ns_event *e)
{
	struct nt_place place;

	if (e->time < tree->call.begin || e->kind == NT_BRANCH_CONDITIONAL ||
	    e->kind == NT_BRANCH_RETURN || e->flags)
		return false;
	nt_session_where(tree->session, e->to_space, e->to, &place);
	return place.symbol && !place.offset && !strcmp(place.symbol, tree->symbol);
}

/* A signal or a jump began the call. The tree treats it like any other call. */
static void as_call(struct ns_event *e)
{
	if (e->kind == NT_BRANCH_JUMP || e->kind == NT_BRANCH_TRAP_RETURN)
		e->kind = NT_BRANCH_CALL;
}

static bool make_tree(struct nt_calltree *tree)
{
	struct ns_event *e = tree->events.at, *last = e + tree->events.nr, end = { 0 };
	uint64_t insns = 0;

	for (; e < last && !begins(tree, e); e++)
		;
	if (e < last)
		as_call(e);
	tree->stack = (struct ns_stack){ .session = tree->session, .ops = &tree_ops, .ctx = tree };
	for (; e < last; e++) {
		if (tree->nodes.nr)
			insns += e->insns;
		e->insns = insns;
		if (ns_stack_take(&tree->stack, e) < 0)
			return false;
		if (!tree->stack.open.nr)
			break;
	}
	/* the last event ends the call at the latest */
	end.time = tree->call.begin + tree->call.ns;
	end.insns = insns;
	return ns_stack_drop(&tree->stack, &end);
}

struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol)
{
	const struct nt_window window = { .from = call->begin, .to = call->begin + call->ns };
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .end = end,
		.windows = &window, .nr_windows = 1,
	};
	struct nt_calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->session = session;
	tree->call = *call;
	tree->symbol = symbol;
	if (!nt_session_branches(session, &sink, tree) && sort_events(tree) && make_tree(tree))
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
	free(tree->stack.open.at);
	free(tree);
}

const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr)
{
	*nr = tree->nodes.nr;
	return tree->nodes.at;
}
