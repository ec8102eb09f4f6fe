// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <pthread.h>
#include <stdlib.h>

#include "chains-priv.h"
#include "stacks.h"
#include "tree-priv.h"

struct nt_stacks {
	struct nt_session *session;
	struct nt_chains *chains;
	struct nt_filter filter;
	struct ns_tree	tree;
	nt_inlined_fn	inlined;
	void		*inlined_ctx;
	pthread_mutex_t	lock;		/* of @inlined */
};

/* A stretch */
struct part {
	struct nt_stacks *stacks;
	struct nt_chain	*chain;
	struct ns_tree	tree;
	int32_t		cpu, tid;
};

/* ---- Calls ---- */

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct part *p = stack->ctx;
	int64_t node = ns_tree_enter(&p->tree, ns_stack_caller(stack), frame, e);

	frame->function = node;
	return node >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct part *p = stack->ctx;
	const struct nt_call call = ns_call_init(frame, e, p->tid, 0, 0);

	if (seen && ns_calls_passes(ns_chains_calls(p->stacks->chains), &call, p->cpu))
		ns_tree_count(&p->tree, frame->function, frame, e);
	return true;
}

static const struct ns_stack_ops part_ops = { .enter = enter, .leave = leave };

/* Calls that were open before the slice: the numbers of their functions become nodes. */
static bool begun(struct ns_stack *stack)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = ns_chains_calls(p->stacks->chains);
	const struct nt_function *f;
	struct ns_frame *frame;
	int64_t parent = 0, at;
	size_t i;

	for (i = 0; i < stack->open.nr; i++) {
		frame = &stack->open.at[i];
		f = frame->unseen ? NULL : nt_calls_function(calls, frame->function);
		if (!f)
			continue;
		const struct nt_node node = {
			.object = f->object, .symbol = f->symbol, .kind = frame->kind,
		};

		at = ns_tree_inlined(&p->tree, parent, frame);
		if (at >= 0)
			at = ns_tree_child(&p->tree, at, &node);
		if (at < 0)
			return false;
		frame->function = parent = at;
	}
	return true;
}

/* ---- Stretches ---- */

static size_t inlined(void *ctx, const char *object, uint64_t address, const char **names,
		      size_t max)
{
	struct nt_stacks *stacks = ctx;
	size_t nr;

	pthread_mutex_lock(&stacks->lock);
	nr = stacks->inlined(stacks->inlined_ctx, object, address, names, max);
	pthread_mutex_unlock(&stacks->lock);
	return nr;
}

static void free_part(struct part *p)
{
	nt_chain_free(p->chain);
	ns_tree_free(&p->tree);
	free(p);
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct part *p = calloc(1, sizeof(*p));
	struct nt_stacks *stacks = ctx;

	if (!p)
		return NULL;
	p->stacks = stacks;
	p->tree.session = stacks->session;
	p->tree.inlined = stacks->inlined ? inlined : NULL;
	p->tree.inlined_ctx = stacks;
	p->chain = nt_chain_new(stacks->chains, stretch);
	if (!p->chain) {
		free_part(p);
		return NULL;
	}
	p->chain->stack.ops = &part_ops;
	p->chain->stack.ctx = p;
	p->chain->begun = begun;
	return p;
}

static int take_branch(void *part, const struct nt_who *who, const struct nt_branch *branch)
{
	struct part *p = part;

	p->cpu = who->cpu;
	p->tid = who->tid;
	return nt_chain_branch(p->chain, who, branch);
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	nt_chain_error(((struct part *)part)->chain);
	return 0;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_stacks *stacks = ctx;
	struct part *p = part;
	bool ok = ns_tree_merge(&stacks->tree, &p->tree);

	free_part(p);
	return ok ? 0 : -1;
}

/* ---- All ---- */

/* A call that did not end took at least as long as what it called. */
static void count_open(struct ns_tree *tree)
{
	uint64_t *ns = calloc(tree->nodes.nr + 1, sizeof(*ns));
	uint64_t *insns = calloc(tree->nodes.nr + 1, sizeof(*insns));
	struct nt_node *n;
	size_t i;

	/* children stand after their parents */
	for (i = tree->nodes.nr; ns && insns && i-- > 0;) {
		n = &tree->nodes.at[i];
		n->ns = n->ns > ns[i] ? n->ns : ns[i];
		n->insns = n->insns > insns[i] ? n->insns : insns[i];
		ns[n->parent] += i ? n->ns : 0;
		insns[n->parent] += i ? n->insns : 0;
	}
	free(ns);
	free(insns);
}

static int count_calls(struct nt_stacks *stacks)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error,
		.end = end, .windows = &stacks->filter.time,
		.nr_windows = stacks->filter.time.to ? 1 : 0,
	};

	return nt_session_branches(stacks->session, &sink, stacks);
}

struct nt_stacks *nt_stacks_new(struct nt_session *session, const struct nt_filter *filter,
				nt_inlined_fn inlined_fn, void *inlined_ctx)
{
	struct nt_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	pthread_mutex_init(&stacks->lock, NULL);
	stacks->session = stacks->tree.session = session;
	stacks->filter = *filter;
	stacks->inlined = inlined_fn;
	stacks->inlined_ctx = inlined_ctx;
	stacks->chains = ns_chains_new(session, filter);
	if (stacks->chains && !count_calls(stacks)) {
		count_open(&stacks->tree);
		return stacks;
	}
	nt_stacks_free(stacks);
	return NULL;
}

void nt_stacks_free(struct nt_stacks *stacks)
{
	if (!stacks)
		return;
	nt_chains_free(stacks->chains);
	ns_tree_free(&stacks->tree);
	pthread_mutex_destroy(&stacks->lock);
	free(stacks);
}

const struct nt_node *nt_stacks_nodes(const struct nt_stacks *stacks, size_t *nr)
{
	*nr = stacks->tree.nodes.nr;
	return stacks->tree.nodes.at;
}

void nt_stacks_totals(const struct nt_stacks *stacks, struct nt_calls_totals *totals)
{
	nt_calls_totals(ns_chains_calls(stacks->chains), totals);
}
