// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "chains-priv.h"
#include "stacks.h"
#include "tree-priv.h"

struct nt_stacks {
	struct nt_session *session;
	struct nt_chains *chains;
	struct nt_filter filter;
	struct ns_tree	tree;
	uint32_t	*places;	/* nodes of @tree into which the outermost calls belong, by number */
	nt_inlined_fn	inlined;
	void		*inlined_ctx;
	pthread_mutex_t	lock;		/* lock for calls of @inlined */
};

/* A stretch */
struct part {
	struct nt_stacks *stacks;
	struct nt_chain	*chain;
	struct ns_tree	tree;
};

/* ---- Calls ---- */

/*
 * Return the node in which the outermost known call of a stack is counted until ns_tree_merge(), or -1 if out of memory.
 * @place is an index into the places.
 */
static int64_t unplaced(struct ns_tree *tree, uint32_t place)
{
	const struct nt_node node = { .object = ns_tree_unplaced, .address = place };

	return ns_tree_child(tree, 0, &node);
}

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = ns_chains_calls(p->stacks->chains);
	int64_t node = ns_stack_caller(stack);

	if (stack->cur.open.nr == 1 && p->chain->outermost)
		p->chain->outermost = calls->outermost.at[p->chain->outermost - 1].next ?: p->chain->outermost;
	node = node ?: unplaced(&p->tree, p->stacks->places[p->chain->outermost]);
	node = node < 0 ? -1 : ns_tree_enter(&p->tree, node, frame, e);
	frame->function = node;
	return node >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct part *p = stack->ctx;
	const struct nt_call call = ns_call_init(frame, e, p->chain->tid, 0, 0);

	/*
	 * calls that were given up are already counted, because nt_stacks_new() made the chains
	 * first
	 */
	if (!stack->drops && ns_calls_passes(ns_chains_calls(p->stacks->chains), &call, p->chain->cpu))
		ns_tree_count(&p->tree, frame->function, stack, frame, e, seen);
	return true;
}

static const struct ns_stack_ops part_ops = { .enter = enter, .leave = leave, .replay = ns_chain_replay };

/* Return the node of a call with a function number of @calls, or -1 if out of memory. */
static int64_t node_of(struct ns_tree *tree, const struct nt_calls *calls, int64_t parent,
		       const struct ns_frame *frame)
{
	const struct nt_function *f = nt_calls_function(calls, frame->function);
	const struct nt_node node = {
		.object = f->object, .symbol = f->symbol, .address = f->address, .kind = frame->kind,
	};
	int64_t at = frame->outer ? parent : ns_tree_inlined(tree, parent, frame);

	return at < 0 ? -1 : ns_tree_child(tree, at, &node);
}

/* Replace the function numbers of the calls that were open before the slice by nodes. */
static bool begun(struct ns_stack *stack)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = ns_chains_calls(p->stacks->chains);
	struct ns_frame *frame = stack->cur.open.at, *end = frame + stack->cur.open.nr;
	int64_t parent = unplaced(&p->tree, p->stacks->places[p->chain->outermost]);

	for (; parent >= 0 && frame < end; frame++) {
		if (frame->unseen)
			continue;
		parent = node_of(&p->tree, calls, parent, frame);
		frame->function = parent;
	}
	return parent >= 0;
}

static bool drop(void *ctx, const struct nt_chains *chains, const struct ns_thread_calls *thread, size_t nth,
		 const struct ns_event *e, bool seen)
{
	const struct ns_stack *stack = &thread->stack;
	const struct ns_frame *frame = stack->cur.open.at, *end = frame + stack->cur.open.nr, *next;
	struct nt_stacks *stacks = ctx;
	/* only the outermost function can have callers that return later */
	const bool callers = nth || (stack->cur.open.nr == 1 && frame->outer);
	int64_t node = callers ? unplaced(&stacks->tree, ns_own(thread)->outermost) : 0;

	for (; node >= 0 && frame < end; frame++) {
		struct ns_frame counted = *frame;
		const struct nt_call call = ns_call_init(frame, e, thread->tid, 0, 0);

		if (frame->unseen)
			continue;
		node = node_of(&stacks->tree, ns_chains_calls(chains), node, frame);
		if (node < 0 || frame < stack->cur.open.at + nth)
			continue;
		for (next = frame + 1; next < end && next->unseen; next++)
			;
		/*
		 * All of these calls end. The counts of the caller of @next do not yet include @next.
		 */
		if (next < end) {
			counted.child_ran += e->ran - next->ran;
			counted.child_insns += e->insns - next->insns;
		}
		if (ns_calls_passes(ns_chains_calls(chains), &call, thread->cpu))
			ns_tree_count(&stacks->tree, node, stack, &counted, e, seen && ns_frame_is_sure(frame));
	}
	return node >= 0;
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
	return nt_chain_branch(((struct part *)part)->chain, who, branch);
}

static int take_error(void *part, const struct nt_who *who, const struct nt_item *item)
{
	nt_chain_error(((struct part *)part)->chain, item);
	return 0;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct nt_stacks *stacks = ctx;
	struct part *p = part;
	bool ok = ns_tree_merge(&stacks->tree, &p->tree, NULL);

	free_part(p);
	return ok ? 0 : -1;
}

/* ---- All ---- */

/*
 * Return the node in which each outermost call belongs, by its number, after adding its callers to the tree. NULL: out of
 * memory
 */
static uint32_t *place_callers(const struct nt_calls *calls, struct ns_tree *tree)
{
	const struct ns_outermost *all = calls->outermost.at;
	uint32_t *callers = calloc(calls->outermost.nr + 1, 2 * sizeof(*callers)), i, next;
	uint32_t *places = callers ? callers + calls->outermost.nr + 1 : NULL;
	struct ns_frame caller = { .kind = NT_BRANCH_NONE, .outer = true };
	int64_t node = 0;

	/* a caller follows its calls */
	for (i = calls->outermost.nr; places && node >= 0 && i; i--) {
		next = all[i - 1].next;
		if (!next || all[next - 1].first)
			continue;
		callers[i] = all[next - 1].caller ? next : callers[next];
		if (!callers[i])
			continue;
		caller.function = all[callers[i] - 1].function;
		node = node_of(tree, calls, places[callers[i]], &caller);
		places[i] = node;
	}
	if (places)
		memmove(callers, places, (calls->outermost.nr + 1) * sizeof(*callers));
	if (node >= 0)
		return callers;
	free(callers);
	return NULL;
}

/* Set the places, because all callers are known after the first pass. Return false if out of memory. */
static bool place_outermost(struct nt_stacks *stacks)
{
	struct ns_tree placed = { .session = stacks->session };
	bool ok;

	stacks->places = place_callers(ns_chains_calls(stacks->chains), &placed);
	ok = stacks->places && ns_tree_merge(&placed, &stacks->tree, stacks->places);
	ns_tree_free(&stacks->tree);
	stacks->tree = placed;
	return ok;
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
	stacks->tree.inlined = inlined_fn ? inlined : NULL;
	stacks->tree.inlined_ctx = stacks;
	stacks->filter = *filter;
	stacks->inlined = inlined_fn;
	stacks->inlined_ctx = inlined_ctx;
	stacks->chains = ns_chains_new(session, filter, drop, stacks);
	if (stacks->chains && place_outermost(stacks) && !count_calls(stacks) && ns_tree_name(&stacks->tree))
		return stacks;
	nt_stacks_free(stacks);
	return NULL;
}

void nt_stacks_free(struct nt_stacks *stacks)
{
	if (!stacks)
		return;
	nt_chains_free(stacks->chains);
	ns_tree_free(&stacks->tree);
	free(stacks->places);
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
