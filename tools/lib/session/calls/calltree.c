// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Make the tree of one call. First collect the branches of its thread during the call from all
 * CPUs. Then find the calls among these branches, which form the tree.
 */
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "callstack.h"
#include "tree-priv.h"

/* The thread's events of one stretch */
struct part {
	struct nt_calltree *tree;
	uint64_t	insns;		/* instructions since the last event */
	NS_ARRAY(struct ns_event) events;
};

struct event {
	struct ns_event	e;
	size_t		nth;
};

struct nt_calltree {
	struct nt_session *session;
	struct nt_call	call;
	const char	*symbol;
	NS_ARRAY(struct event) events;
	struct ns_tree	tree;
	nt_inlined_fn	inlined;
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
	p->insns += b->insns;
	if (!ns_branch_matters(b))
		return 0;
	ns_event_init(&e, who, b, p->insns, b->time);
	p->insns = 0;
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
	/* pass the instructions up to the end of this stretch to the thread's next event */
	const struct ns_event rest = {
		.kind = NT_BRANCH_CONDITIONAL, .time = who->time, .ran = who->time,
		.insns = ((struct part *)part)->insns,
	};
	struct nt_calltree *tree = ctx;
	struct part *p = part;
	bool ok = !p->insns || ns_array_add(&p->events, rest);
	size_t i;

	for (i = 0; ok && i < p->events.nr; i++)
		ok = ns_array_add(&tree->events, ((struct event){ p->events.at[i], tree->events.nr }));
	free(p->events.at);
	free(p);
	return ok ? 0 : -1;
}

/* Sort by time. Events with equal times keep the order in which their stretches ended. */
static int event_cmp(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return ns_order(x->e.time, y->e.time) ?: ns_order(x->nth, y->nth);
}

/* ---- Tree ---- */

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct nt_calltree *tree = stack->ctx;
	int64_t node;

	/* the caller of the root is not needed */
	tree->tree.inlined = stack->cur.open.nr > 1 ? tree->inlined : NULL;
	node = ns_tree_enter(&tree->tree, ns_stack_caller(stack), frame, e);
	frame->function = node;
	return node >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct nt_calltree *tree = stack->ctx;

	ns_tree_count(&tree->tree, frame->function, stack, frame, e, true);
	return true;
}

static const struct ns_stack_ops tree_ops = { .enter = enter, .leave = leave };

/* Return true if the call starts with this event. */
static bool begins(const struct nt_calltree *tree, const struct ns_event *e)
{
	struct nt_place place;

	if (e->time < tree->call.begin || e->kind == NT_BRANCH_CONDITIONAL ||
	    e->kind == NT_BRANCH_RETURN || e->flags)
		return false;
	nt_session_where(tree->session, e->to_space, e->to, &place);
	return !place.offset && nt_session_is(tree->session, place.object, place.address, tree->symbol);
}

/*
 * Turn the event into a call if a signal or a jump started it, because the tree treats it like any
 * other call.
 */
static void as_call(struct ns_event *e)
{
	if (e->kind == NT_BRANCH_JUMP || e->kind == NT_BRANCH_TRAP_RETURN)
		e->kind = NT_BRANCH_CALL;
}

static bool make_tree(struct nt_calltree *tree)
{
	struct event *at = tree->events.at, *last = at + tree->events.nr;
	struct ns_event end = { 0 };
	uint64_t insns = 0;

	ns_array_sort(&tree->events, event_cmp);
	for (; at < last && !begins(tree, &at->e); at++)
		;
	if (at < last)
		as_call(&at->e);
	tree->stack.session = tree->session;
	tree->stack.ops = &tree_ops;
	tree->stack.ctx = tree;
	for (; at < last; at++) {
		if (tree->tree.nodes.nr)
			insns += at->e.insns;
		at->e.insns = insns;
		if (ns_stack_take(&tree->stack, &at->e) < 0)
			return false;
		if (!tree->stack.cur.open.nr)
			break;
	}
	/* end the call here if no event has ended it */
	end.time = end.ran = tree->call.begin + tree->call.ns;
	end.insns = insns;
	return ns_stack_drop(&tree->stack, &end);
}

struct nt_calltree *nt_calltree_new(struct nt_session *session, const struct nt_call *call,
				    const char *symbol, nt_inlined_fn inlined, void *inlined_ctx)
{
	const struct nt_window window = { .from = call->begin, .to = call->begin + call->ns };
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .end = end,
		.windows = &window, .nr_windows = 1,
	};
	struct nt_calltree *tree = calloc(1, sizeof(*tree));

	if (!tree)
		return NULL;
	tree->stack.targets = calloc(NS_TARGETS, sizeof(*tree->stack.targets));
	tree->session = tree->tree.session = session;
	tree->inlined = inlined;
	tree->tree.inlined_ctx = inlined_ctx;
	tree->call = *call;
	tree->symbol = symbol;
	if (tree->stack.targets && !nt_session_branches(session, &sink, tree) && make_tree(tree) &&
	    ns_tree_name(&tree->tree))
		return tree;
	nt_calltree_free(tree);
	return NULL;
}

void nt_calltree_free(struct nt_calltree *tree)
{
	if (!tree)
		return;
	free(tree->events.at);
	ns_tree_free(&tree->tree);
	free(tree->stack.targets);
	ns_stack_free(&tree->stack);
	free(tree);
}

const struct nt_node *nt_calltree_nodes(const struct nt_calltree *tree, size_t *nr)
{
	*nr = tree->tree.nodes.nr;
	return tree->tree.nodes.at;
}
