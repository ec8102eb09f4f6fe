// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Make a tree of all calls of a recording, or of the calls inside one call (stacks.h). */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "chains-priv.h"
#include "stacks.h"
#include "tree-priv.h"

struct nt_stacks {
	struct nt_session *session;
	const struct nt_chains *chains;
	struct nt_chains *own;		/* @chains if nt_stacks_new() has made them; NULL: the user owns them */
	const struct nt_call *only;	/* nt_stacks_of() counts only the calls inside this call; NULL: count all calls */
	uint32_t	thread;		/* number of the stack on which the call @only runs, as nt_chain::thread */
	uint64_t	at;		/* number of instructions executed on the stack @thread before @only started */
	struct nt_window window;
	struct ns_tree	tree;
	uint32_t	*places;	/* for each outermost call in nt_calls::outermost, the node of its caller */
	nt_inlined_fn	inlined;
	void		*inlined_ctx;
	pthread_mutex_t	lock;		/* lock for calls of @inlined */
};

/* A stretch whose calls are being counted */
struct part {
	struct nt_stacks *stacks;
	struct nt_chain	*chain;
	struct ns_tree	tree;
};

/* ---- Calls ---- */

/*
 * Return a node that represents the unknown callers of the outermost known call of a stack, or -1 if out of memory.
 * @place is the node's address, which is an index into the array @places of ns_tree_merge(). ns_tree_merge() later
 * moves the node's children to the node whose number is at this index.
 */
static int64_t unplaced(struct ns_tree *tree, uint32_t place)
{
	const struct nt_node node = { .object = ns_tree_unplaced, .address = place };

	return ns_tree_child(tree, 0, &node);
}

static bool enter(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = nt_chains_calls(p->stacks->chains);
	int64_t node = ns_stack_caller(stack);

	if (stack->cur.open.nr == 1 && p->chain->outermost)
		p->chain->outermost = calls->outermost.at[p->chain->outermost - 1].next ?: p->chain->outermost;
	node = node ?: unplaced(&p->tree, p->stacks->places[p->chain->outermost]);
	node = node < 0 ? -1 : ns_tree_enter(&p->tree, node, frame, e);
	frame->function = node;
	return node >= 0;
}

/* Return true if the frame starts at the same instruction as the call nt_stacks::only. Other calls may also do so. */
static bool may_be_only(const struct part *p, const struct ns_frame *frame)
{
	const struct nt_stacks *stacks = p->stacks;

	return p->chain->thread == stacks->thread && frame->insns == stacks->at && frame->begin == stacks->only->begin;
}

static bool is_function(const struct part *p, uint64_t space, uint64_t addr)
{
	const struct nt_stacks *stacks = p->stacks;
	const struct nt_function *f = nt_calls_function(nt_chains_calls(stacks->chains), stacks->only->function);
	struct nt_place place;

	nt_session_where(stacks->session, space, addr, &place);
	return place.object == f->object && place.address - (place.symbol ? place.offset : 0) == f->address;
}

/* A call that is not counted gets the root of the tree as its node, because none of its callers is counted. */
static bool enter_only(struct ns_stack *stack, struct ns_frame *frame, const struct ns_event *e)
{
	struct part *p = stack->ctx;
	uint32_t caller = ns_stack_caller(stack);
	int64_t node = 0;

	p->tree.inlined = caller ? p->stacks->tree.inlined : NULL;
	if (caller || (may_be_only(p, frame) && is_function(p, e->to_space, e->to)))
		node = ns_tree_enter(&p->tree, caller, frame, e);
	frame->function = node;
	return node >= 0;
}

static bool leave(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e,
		  bool seen)
{
	struct part *p = stack->ctx;

	/*
	 * do not count calls that are dropped, because drop() has already counted them while nt_stacks_new()
	 * made the chains
	 */
	if (!stack->drops && ns_calls_passes(nt_chains_calls(p->stacks->chains), frame, e, p->chain->cpu, p->chain->tid,
					     p->tree.nodes.at[frame->function].object))
		ns_tree_count(&p->tree, frame->function, stack, frame, e, seen);
	return true;
}

static bool leave_only(struct ns_stack *stack, const struct ns_frame *frame, const struct ns_event *e, bool seen)
{
	struct part *p = stack->ctx;

	if (frame->function)
		ns_tree_count(&p->tree, frame->function, stack, frame, e, seen);
	return true;
}

static const struct ns_stack_ops part_ops = { .enter = enter, .leave = leave, .replay = ns_chain_replay };
static const struct ns_stack_ops only_ops = { .enter = enter_only, .leave = leave_only, .replay = ns_chain_replay };

/* Return the node of a call whose ns_frame::function is a function number of @calls. Return -1 if out of memory. */
static int64_t node_of(struct ns_tree *tree, const struct nt_calls *calls, int64_t parent,
		       const struct ns_frame *frame)
{
	const struct nt_function *f = nt_calls_function(calls, frame->function);
	const struct nt_node node = {
		.object = f->object, .symbol = f->symbol, .address = f->address, .trap = frame->trap ? frame->kind : 0,
	};
	int64_t at = frame->outer ? parent : ns_tree_inlined(tree, parent, frame);

	return at < 0 ? -1 : ns_tree_child(tree, at, &node);
}

/* At the start of a slice, replace the function number in the frame of each open call by the number of its node. */
static bool begun(struct ns_stack *stack)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = nt_chains_calls(p->stacks->chains);
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

static bool begun_only(struct ns_stack *stack)
{
	struct part *p = stack->ctx;
	const struct nt_calls *calls = nt_chains_calls(p->stacks->chains);
	struct ns_frame *frame = stack->cur.open.at, *end = frame + stack->cur.open.nr;
	int64_t caller = 0;

	for (; caller >= 0 && frame < end; frame++) {
		if (frame->unseen)
			continue;
		p->tree.inlined = caller ? p->stacks->tree.inlined : NULL;
		if (caller || (may_be_only(p, frame) && frame->function == p->stacks->only->function))
			caller = node_of(&p->tree, calls, caller, frame);
		frame->function = caller;
	}
	return caller >= 0;
}

static bool drop(void *ctx, const struct nt_chains *chains, const struct ns_thread_calls *thread, const struct ns_event *e)
{
	const struct ns_stack *stack = &thread->stack;
	const struct ns_frame *frame = stack->cur.open.at, *end = frame + stack->cur.open.nr, *next;
	struct nt_stacks *stacks = ctx;
	/* if only the outermost function is open, the callers of this function may become known later */
	const bool callers = stack->cur.open.nr == 1 && frame->outer;
	int64_t node = callers ? unplaced(&stacks->tree, ns_own(thread)->outermost) : 0;

	for (; node >= 0 && frame < end; frame++) {
		struct ns_frame counted = *frame;

		if (frame->unseen)
			continue;
		node = node_of(&stacks->tree, nt_chains_calls(chains), node, frame);
		if (node < 0)
			break;
		for (next = frame + 1; next < end && next->unseen; next++)
			;
		/*
		 * all these calls end now. child_ran and child_insns of @frame do not contain the time and the
		 * instructions of its callee @next yet, because @next was still open
		 */
		if (next < end) {
			counted.child_ran += e->ran - next->ran;
			counted.child_insns += e->insns - next->insns;
		}
		if (ns_calls_passes(nt_chains_calls(chains), frame, e, thread->cpu, thread->tid,
				    stacks->tree.nodes.at[node].object))
			ns_tree_count(&stacks->tree, node, stack, &counted, e, false);
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
	p->chain->stack.ops = stacks->only ? &only_ops : &part_ops;
	p->chain->stack.ctx = p;
	p->chain->begun = stacks->only ? begun_only : begun;
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
 * Add the callers of all outermost calls to the tree. Return an array whose index is the number of an outermost call
 * (nt_calls::outermost), and whose element is the number of the node of its caller. Return NULL if out of memory.
 */
static uint32_t *place_callers(const struct nt_calls *calls, struct ns_tree *tree)
{
	const struct ns_outermost *all = calls->outermost.at;
	uint32_t *callers = calloc(calls->outermost.nr + 1, 2 * sizeof(*callers)), i, next;
	uint32_t *places = callers ? callers + calls->outermost.nr + 1 : NULL;
	struct ns_frame caller = { .outer = true };
	int64_t node = 0;

	/* go backwards, because the number of a caller is larger than the numbers of the calls that it contains */
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

/*
 * Set nt_stacks::places after nt_chains_new() has decoded the recording, because all callers are then known. Return
 * false if out of memory.
 */
static bool place_outermost(struct nt_stacks *stacks)
{
	struct ns_tree placed = { .session = stacks->session };
	bool ok;

	stacks->places = place_callers(nt_chains_calls(stacks->chains), &placed);
	ok = stacks->places && ns_tree_merge(&placed, &stacks->tree, stacks->places);
	ns_tree_free(&stacks->tree);
	stacks->tree = placed;
	return ok;
}

static int count_calls(struct nt_stacks *stacks)
{
	const struct nt_branch_sink sink = {
		.size = sizeof(sink), .begin = begin, .branch = take_branch, .error = take_error,
		.end = end, .windows = &stacks->window, .nr_windows = stacks->window.to ? 1 : 0,
	};

	return nt_session_branches(stacks->session, &sink, stacks);
}

static struct nt_stacks *make_stacks(struct nt_session *session, nt_inlined_fn inlined_fn, void *inlined_ctx)
{
	struct nt_stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return NULL;
	pthread_mutex_init(&stacks->lock, NULL);
	stacks->session = stacks->tree.session = session;
	stacks->tree.inlined = inlined_fn ? inlined : NULL;
	stacks->tree.inlined_ctx = stacks;
	stacks->inlined = inlined_fn;
	stacks->inlined_ctx = inlined_ctx;
	return stacks;
}

struct nt_stacks *nt_stacks_new(struct nt_session *session, const struct nt_filter *filter,
				nt_inlined_fn inlined_fn, void *inlined_ctx)
{
	struct nt_stacks *stacks = make_stacks(session, inlined_fn, inlined_ctx);

	if (!stacks)
		return NULL;
	stacks->window = filter->time;
	stacks->chains = stacks->own = ns_chains_new(session, filter, NULL, drop, stacks);
	if (stacks->chains && place_outermost(stacks) && !count_calls(stacks) && ns_tree_name(&stacks->tree))
		return stacks;
	nt_stacks_free(stacks);
	return NULL;
}

struct nt_stacks *nt_stacks_of(struct nt_session *session, const struct nt_chains *chains, const struct nt_call *call,
			       nt_inlined_fn inlined_fn, void *inlined_ctx)
{
	struct nt_stacks *stacks = make_stacks(session, inlined_fn, inlined_ctx);
	const struct nt_slice *slice = nt_calls_slice(nt_chains_calls(chains), call->slice);

	if (!stacks)
		return NULL;
	stacks->chains = chains;
	stacks->only = call;
	stacks->thread = slice->thread;
	stacks->at = slice->at + call->at;
	stacks->window = (struct nt_window){ .from = call->begin, .to = call->begin + call->ns };
	if (!count_calls(stacks) && ns_tree_name(&stacks->tree))
		return stacks;
	nt_stacks_free(stacks);
	return NULL;
}

void nt_stacks_free(struct nt_stacks *stacks)
{
	if (!stacks)
		return;
	nt_chains_free(stacks->own);
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
	nt_calls_totals(nt_chains_calls(stacks->chains), totals);
}
