// SPDX-License-Identifier: GPL-2.0-only
/* Add up the calls that have the same thread and the same callers, for the formats folded and pprof. */
#include <inttypes.h>
#include <stdlib.h>

#include "export.h"
#include "page/flame.h"

#define STACKS_MAX	(4 << 20)
/*
 * Maximum number of functions in a stack. Without it, the output for a recursion would grow with
 * the square of its depth.
 */
#define DEPTH_MAX	1024

struct stacks {
	struct flame	flame;
	uint64_t	too_deep;	/* number of calls deeper than DEPTH_MAX */
};

int export_stacks_begin(struct export *e)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));

	if (!stacks)
		return -1;
	stacks->flame.max = STACKS_MAX;
	e->state = stacks;
	return 0;
}

/* Enter a call. If it is too deep, or if there are too many stacks, count the call as a part of its caller's stack. */
int export_stacks_enter(struct export *e, struct nested_call *call)
{
	const struct export_thread *thread;
	struct stacks *stacks = e->state;
	uint32_t parent, node = FLAME_NONE;

	if (call->depth) {
		parent = e->nested.open.at[call->depth - 1].user;
	} else {
		thread = export_thread(e, &call->call);
		if (!thread)
			return -1;
		parent = flame_child(&stacks->flame, 0, thread->number);
	}
	if (call->depth < DEPTH_MAX)
		node = flame_child(&stacks->flame, parent, call->call.function);
	else
		stacks->too_deep++;
	call->user = node == FLAME_NONE ? parent : node;
	return 0;
}

int export_stacks_leave(struct export *e, const struct nested_call *call)
{
	struct flame *flame = &((struct stacks *)e->state)->flame;
	struct flame_node *node;

	if (call->user == FLAME_NONE)
		return 0;
	node = &flame->nodes.at[call->user];
	node->calls++;
	node->ns += call->call.ns > call->child_ns ? call->call.ns - call->child_ns : 0;
	node->ran += call->call.ran > call->child_ran ? call->call.ran - call->child_ran : 0;
	node->insns += call->call.insns > call->child_insns ? call->call.insns - call->child_insns : 0;
	return 0;
}

int export_stacks_each(struct export *e, int (*take)(struct export *e, const struct export_stack *stack))
{
	const struct stacks *stacks = e->state;
	const struct flame *flame = &stacks->flame;
	struct export_stack stack = { .path = calloc(flame->nodes.nr + 1, sizeof(*stack.path)) };
	const struct flame_node *node, *at;
	int err = stack.path ? 0 : -1;
	size_t i;

	for (i = 1; !err && i < flame->nodes.nr; i++) {
		node = &flame->nodes.at[i];
		if (!node->ns && !node->insns && !node->calls)
			continue;
		stack.calls = node->calls;
		stack.ns = node->ns;
		stack.ran = node->ran;
		stack.insns = node->insns;
		stack.depth = 0;
		for (at = node; at->parent; at = &flame->nodes.at[at->parent])
			stack.path[stack.depth++] = at->name;
		stack.thread = &e->threads.at[at->name];
		err = take(e, &stack);
	}
	free(stack.path);
	if (!err && stacks->too_deep)
		fprintf(stderr, "ntrace: %" PRIu64 " calls are nested deeper than %d calls, so they count as a part of their caller\n",
			stacks->too_deep, DEPTH_MAX);
	return err;
}

void export_stacks_free(struct export *e)
{
	if (e->state)
		flame_free(&((struct stacks *)e->state)->flame);
	free(e->state);
}
