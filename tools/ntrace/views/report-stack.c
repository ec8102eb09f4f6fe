// SPDX-License-Identifier: GPL-2.0-only
/* ntrace report --stack - print the tree of calls. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "inlines.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "report.h"
#include "session/array.h"
#include "session/calls/stacks.h"
#include "tree-lines.h"

typedef NS_ARRAY(struct nt_node) node_list;

/* ---- One function ---- */

static bool is_function(struct nt_session *session, const struct nt_node *node, const char *function)
{
	return node->inlined ? node->symbol && nt_name_matches(node->symbol, function) :
			       nt_session_is(session, node->object, node->address, function);
}

/*
 * Add the counts of @node to the child of @parent that has the same function, or to a new child.
 * Return the index of the child, or 0 if out of memory.
 */
static uint32_t add_child(node_list *to, uint32_t parent, const struct nt_node *node)
{
	const struct tree_lines lines = { .others = to->at };
	const struct nt_node *found = tree_lines_beside(&lines, &to->at[parent], node);
	struct nt_node copy = *node;
	uint32_t at = found ? (size_t)(found - to->at) : to->nr;

	copy.parent = parent;
	copy.depth = to->at[parent].depth + 1;
	copy.first = copy.last = 0;
	copy.next = to->at[parent].first;
	if (found) {
		to->at[at].calls += node->calls;
		to->at[at].open += node->open;
		to->at[at].ns += node->ns;
		to->at[at].ran += node->ran;
		to->at[at].insns += node->insns;
		to->at[at].self_ns += node->self_ns;
		to->at[at].self_insns += node->self_insns;
		return at;
	}
	if (!ns_array_add(to, copy))
		return 0;
	return to->at[parent].first = at;
}

/*
 * Add a node of the tree @all to the tree @only, in which the children of a function are its
 * callers. Each caller gets the counts of the node. If the function was called by itself (@nested),
 * its time is 0, because the outer call already includes this time.
 */
static bool add_callers(node_list *only, const struct nt_node *all, uint32_t nth, bool nested)
{
	struct nt_node node = all[nth];
	uint32_t to = 0;
	bool ok = true;

	node.ns = nested ? 0 : node.ns;
	node.ran = nested ? 0 : node.ran;
	for (; ok && nth; nth = all[nth].parent) {
		node.object = all[nth].object;
		node.symbol = all[nth].symbol;
		node.address = all[nth].address;
		node.inlined = all[nth].inlined;
		node.trap = all[nth].trap;
		to = add_child(only, to, &node);
		ok = to;
	}
	return ok;
}

/*
 * Make a tree @only whose first level is the function. The children are the functions that it
 * called, or its callers if @callers is set. If the function called itself, the time of the inner
 * call is not added at the first level, because the outer call includes this time.
 */
static bool only_function(struct nt_session *session, const struct nt_node *all, size_t nr, const char *function,
			  bool callers, node_list *only)
{
	uint32_t *numbers = calloc(nr + 1, sizeof(*numbers)), parent;
	const struct nt_node root = { 0 };
	bool ok = numbers && ns_array_add(only, root);
	size_t i;

	/* in @all, a parent precedes its children */
	for (i = 1; ok && i < nr; i++) {
		parent = numbers[all[i].parent];
		if ((!parent || callers) && !is_function(session, &all[i], function)) {
			numbers[i] = callers ? parent : 0;
			continue;
		}
		if (callers)
			ok = add_callers(only, all, i, parent);
		numbers[i] = callers ? 1 : add_child(only, parent, &all[i]);
		ok = ok && numbers[i];
	}
	free(numbers);
	return ok;
}

/* ---- Text ---- */

static void print_line(const struct tree_line *line)
{
	const struct nt_node *n = line->node;
	char t[2][16], calls[CALLS_TEXT];

	printf("%9s %9s %9s %13" PRIu64 "  ", duration(n->ns, t[0]),
	       n->inlined ? "-" : duration(n->self_ns, t[1]), calls_text(n->calls, n->open, calls), n->self_insns);
}

static bool print_tree(const struct report *report, const struct nt_session *session, const struct nt_node *nodes, size_t nr)
{
	struct tree_lines l = { .session = session, .nodes = nodes, .nr_nodes = nr };
	bool ok = !nr || tree_lines_choose(&l, report->limit), no_time = false;
	size_t i;

	printf("%9s %9s %9s %13s  %s\n", "total", "self", "calls", "self insns", "function");
	tree_lines_print(&l, print_line);
	if (ok && l.nr + 1 < nr)
		printf("... and %zu more, each shorter: --limit 0 shows all\n", nr - 1 - l.nr);
	for (i = 0; i < l.nr; i++)
		no_time |= !l.at[i].node->self_ns && l.at[i].node->self_insns;
	if (no_time && !l.by_insns)
		printf(REPORT_NO_TIME);
	tree_lines_free(&l);
	return ok;
}

/* Print the tree, and set *found if it has a call. The first node of a tree is the root, which is not a call. */
static bool print_stacks(const struct report *report, struct nt_session *session,
			 const struct nt_stacks *stacks, bool *found)
{
	size_t nr;
	const struct nt_node *nodes = nt_stacks_nodes(stacks, &nr);
	node_list only = { 0 };
	bool ok;

	*found = nr > 1;
	if (!report->function || !nr)
		return print_tree(report, session, nodes, nr);
	ok = only_function(session, nodes, nr, report->function, report->callers, &only) &&
	     print_tree(report, session, only.at, only.nr);
	*found = only.nr > 1;
	free(only.at);
	return ok;
}

/* ---- Command ---- */

int report_stack(const struct report *report, struct nt_session *session)
{
	struct inlines *inlines = inlines_new(session);
	struct nt_stacks *stacks = nt_stacks_new(session, &report->recording.filter,
						 inlines ? inlines_at : NULL, inlines);
	struct nt_calls_totals totals;
	bool found;
	int status = EXIT_USAGE;

	if (!stacks) {
		recording_failed(session);
		goto out;
	}
	nt_stacks_totals(stacks, &totals);
	report_totals(&totals);
	if (!print_stacks(report, session, stacks, &found)) {
		fprintf(stderr, "ntrace: out of memory\n");
		goto out;
	}
	status = !found || !totals.insns ? nothing_matched(&report->recording, session, report->function) : EXIT_CLEAN;
out:
	nt_stacks_free(stacks);
	inlines_free(inlines);
	return status;
}
