// SPDX-License-Identifier: GPL-2.0-only
/*
 * nested_calls_each() passes the calls of one stack after the other, and each call before the calls inside
 * it. Calls are numbered in this order, so that the numbers of the calls inside a call are consecutive. The
 * first pass over all calls ignores conditions about other calls ("in", "has", "after", "before"). The pass
 * makes a list for the query, and one for each of these conditions, with the calls that may satisfy the query
 * or the condition. After the pass, each list is reduced to the calls that satisfy the whole query or
 * condition. Nested conditions are decided before the conditions that contain them.
 */

#include "query.h"

enum truth { NO, MAYBE, YES };

/* Arguments of evaluate(), the same for all calls in one pass over the calls of the recording */
struct context {
	struct query	*query;
	/* this is the first pass, in which conditions about other calls are MAYBE, because some calls are unknown */
	bool		first;
};

static bool is_relation(const struct query_node *node)
{
	return node->kind >= QUERY_IN && node->kind <= QUERY_BEFORE;
}

/* ---- Conditions about the call itself ---- */

static bool matches_name(const struct query *q, const struct query_node *node, uint32_t number)
{
	const struct nt_function *f = nt_calls_function(q->nested.calls, number);

	if (node->kind == QUERY_OBJECT)
		return nt_name_matches(f->object ?: "[unknown]", node->pattern);
	return nt_session_is(q->session, f->object, f->address, node->pattern);
}

/*
 * Return YES if a function matches the pattern of a condition, otherwise NO. Store the result for
 * the next call of the function.
 */
static enum truth function_is(const struct query *q, struct query_node *node, uint32_t number)
{
	while (node->matches.nr <= number) {
		if (!ns_array_add(&node->matches, 0))
			return matches_name(q, node, number) ? YES : NO;
	}
	if (!node->matches.at[number])
		node->matches.at[number] = 1 + matches_name(q, node, number);
	return node->matches.at[number] > 1 ? YES : NO;
}

static enum truth compare_names(const struct query *q, struct query_node *node, const struct query_call *call)
{
	uint32_t number = node->kind == QUERY_CALLER ? call->caller : call->function;
	enum truth is = NO;
	const char *comm;
	int32_t pid;

	if (node->kind == QUERY_COMM) {
		nt_session_thread(q->session, call->tid, call->begin, &pid, &comm);
		is = nt_name_matches(comm, node->pattern) ? YES : NO;
	} else if (number != QUERY_NO_CALLER) {
		is = function_is(q, node, number);
	}
	return node->compare == QUERY_EQUAL ? is : YES - is;
}

static int64_t number_of(const struct query *q, enum query_kind kind, const struct query_call *call)
{
	const char *comm;
	int32_t pid;

	switch (kind) {
	case QUERY_NS:
		return call->ns;
	case QUERY_INSNS:
		return call->insns;
	case QUERY_DEPTH:
		return call->depth;
	case QUERY_TIME:
		return call->begin;
	case QUERY_CPU:
		return call->cpu;
	case QUERY_TID:
		return call->tid;
	default:
		nt_session_thread(q->session, call->tid, call->begin, &pid, &comm);
		return pid;
	}
}

/* ---- Conditions about other calls ---- */

/*
 * Return true if a call of @node->group, which has the calls that satisfy the condition, has the
 * relation of the condition to @call. For example, QUERY_IN requires that a call of the group
 * contains @call. The group must be complete, which means that decide() has removed the calls that do
 * not satisfy it.
 */
static bool is_related(const struct query_node *node, const struct query_call *call)
{
	const struct query_group *g = &node->group;
	bool behind = node->kind == QUERY_HAS || node->kind == QUERY_BEFORE;
	uint64_t id = node->kind == QUERY_HAS ? call->id + 1 : node->kind == QUERY_BEFORE ? call->last + 1 : call->id;
	/*
	 * index of the group's first call whose id is at least @id. For QUERY_IN and QUERY_AFTER, "!at--"
	 * makes it the index of the last call whose id is less than @id
	 */
	size_t at = ns_lower_bound(g->calls.nr, g->calls.at[i].id < id);

	if (behind ? at == g->calls.nr : !at--)
		return false;
	switch (node->kind) {
	case QUERY_HAS:
		return g->calls.at[at].id <= call->last;
	case QUERY_BEFORE:
		return g->calls.at[at].stack == call->stack;
	case QUERY_IN:
		return g->latest[at] >= call->id;
	default:
		return g->calls.at[at].stack == call->stack && g->earliest[at] < call->id;
	}
}

static enum truth evaluate(const struct context *c, struct query_node *node, const struct query_call *call)
{
	enum truth left, right;
	int order;

	if (is_relation(node))
		return c->first ? MAYBE : is_related(node, call) ? YES : NO;
	if (node->kind >= QUERY_NS) {
		order = ns_order(number_of(c->query, node->kind, call), node->value);
		return node->compare & 1 << (order + 1) ? YES : NO;
	}
	if (node->kind >= QUERY_FUNCTION)
		return compare_names(c->query, node, call);
	left = evaluate(c, node->left, call);
	if (node->kind == QUERY_NOT)
		return YES - left;
	if (left == (node->kind == QUERY_AND ? NO : YES))
		return left;
	right = evaluate(c, node->right, call);
	return (node->kind == QUERY_AND) == (left < right) ? left : right;
}

/* ---- The first pass ---- */

/*
 * Remove each call that does not contain the next call from @g->open, because it ended before the next
 * call began, and set its query_call::last. @id, @stack and @depth are those of the next call.
 */
static void end_calls(struct query_group *g, uint64_t id, uint32_t stack, uint32_t depth)
{
	struct query_call *call;

	for (; g->open.nr; g->open.nr--) {
		call = &g->calls.at[g->open.at[g->open.nr - 1]];
		if (call->stack == stack && call->depth < depth)
			break;
		call->last = id - 1;
	}
}

/* Add the call to the query_group if it may satisfy the condition @node. Return false if out of memory. */
static bool keep(const struct context *c, struct query_node *node, struct query_group *group,
		 const struct query_call *call)
{
	end_calls(group, call->id, call->stack, call->depth);
	if (evaluate(c, node, call) == NO)
		return true;
	return ns_array_add(&group->open, group->calls.nr) && ns_array_add(&group->calls, *call);
}

static bool keep_inside(const struct context *c, struct query_node *node, const struct query_call *call)
{
	if (!node)
		return true;
	if (is_relation(node) && !keep(c, node->left, &node->group, call))
		return false;
	return keep_inside(c, node->left, call) && keep_inside(c, node->right, call);
}

static int enter(void *ctx, struct nested_call *nested)
{
	const struct context c = { .query = ctx, .first = true };
	struct query *q = c.query;
	const struct query_call call = {
		.begin = nested->call.begin, .ns = nested->call.ns, .insns = nested->call.insns, .id = q->nr_calls++,
		.function = nested->call.function, .stack = nested->thread, .depth = nested->depth,
		.caller = nested->depth ? q->nested.open.at[nested->depth - 1].call.function : QUERY_NO_CALLER,
		.tid = nested->call.tid, .cpu = nt_calls_slice(q->nested.calls, nested->call.slice)->cpu,
		.open = nested->call.open,
	};

	return keep(&c, q->node, &q->found, &call) && keep_inside(&c, q->node, &call) ? 0 : -1;
}

/* ---- Decide conditions about other calls, after the first pass ---- */

/* Set query_group::latest and earliest, which is_related() needs. Return false if out of memory. */
static bool index_group(struct query_group *g)
{
	const struct query_call *call = g->calls.at;
	size_t i;

	g->latest = malloc((g->calls.nr + 1) * sizeof(*g->latest));
	g->earliest = malloc((g->calls.nr + 1) * sizeof(*g->earliest));
	if (!g->latest || !g->earliest)
		return false;
	for (i = 0; i < g->calls.nr; i++, call++) {
		g->latest[i] = g->earliest[i] = call->last;
		if (i && g->latest[i - 1] > call->last)
			g->latest[i] = g->latest[i - 1];
		if (i && call[-1].stack == call->stack && g->earliest[i - 1] < call->last)
			g->earliest[i] = g->earliest[i - 1];
	}
	return true;
}

/* Remove the calls of the query_group that do not satisfy the condition @node. */
static void decide(struct query *q, struct query_node *node, struct query_group *g)
{
	const struct context c = { .query = q };
	size_t i, nr = 0;

	end_calls(g, q->nr_calls, UINT32_MAX, 0);
	for (i = 0; i < g->calls.nr; i++) {
		if (evaluate(&c, node, &g->calls.at[i]) == YES)
			g->calls.at[nr++] = g->calls.at[i];
	}
	g->calls.nr = nr;
}

static bool decide_inside(struct query *q, struct query_node *node)
{
	if (!node)
		return true;
	if (!decide_inside(q, node->left) || !decide_inside(q, node->right))
		return false;
	if (!is_relation(node))
		return true;
	decide(q, node->left, &node->group);
	return index_group(&node->group);
}

/* Set query::unknown to a pattern for functions that no function matches. */
static void find_unknown(struct query *q, struct query_node *node)
{
	uint32_t i = 0;

	if (!node)
		return;
	if (node->kind == QUERY_FUNCTION) {
		while (nt_calls_function(q->nested.calls, i) && function_is(q, node, i) == NO)
			i++;
		q->unknown = nt_calls_function(q->nested.calls, i) ? q->unknown : node->pattern;
	}
	find_unknown(q, node->left);
	find_unknown(q, node->right);
}

static int end(void *ctx)
{
	struct query *q = ctx;
	size_t i, nr = 0;

	if (!decide_inside(q, q->node))
		return -1;
	decide(q, q->node, &q->found);
	/*
	 * do not return calls without an end, because their duration is not known. They are only
	 * needed because other calls are inside them.
	 */
	for (i = 0; i < q->found.calls.nr; i++) {
		if (!q->found.calls.at[i].open)
			q->found.calls.at[nr++] = q->found.calls.at[i];
	}
	q->found.calls.nr = nr;
	if (!nr)
		find_unknown(q, q->node);
	return q->done(q);
}

int query_run(struct query *query, const struct nt_filter *filter)
{
	int err;

	query->nested = (struct nested_calls){
		.session = query->session, .filter = filter, .enter = enter, .end = end, .ctx = query, .output = "-",
	};
	err = nested_calls_each(&query->nested);
	free(query->found.calls.at);
	free(query->found.open.at);
	return err;
}
