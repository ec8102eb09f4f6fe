// SPDX-License-Identifier: GPL-2.0-only
/*
 * Select the nodes of a call tree that are printed, and print them as indented lines
 * (tree-lines.h).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json-text.h"
#include "cli/recording.h"
#include "session/flow/branch.h"
#include "tree-lines.h"

#define MAX_DEPTH	256	/* maximum depth of a line; deeper lines have the same indentation */

/* ---- Selection ---- */

static bool same_function(const struct nt_node *a, const struct nt_node *b)
{
	return a->object == b->object && a->inlined == b->inlined && a->trap == b->trap && !strcmp(a->symbol, b->symbol);
}

const struct nt_node *tree_lines_beside(const struct tree_lines *l, const struct nt_node *parent,
					const struct nt_node *node)
{
	uint32_t i;

	for (i = parent ? parent->first : 0; i; i = l->others[i].next) {
		if (same_function(&l->others[i], node))
			return &l->others[i];
	}
	return NULL;
}

static int node_cmp(const void *a, const void *b)
{
	const struct nt_node *const *x = a, *const *y = b;

	if ((*x)->ns != (*y)->ns)
		return (*x)->ns > (*y)->ns ? -1 : 1;
	if ((*x)->insns != (*y)->insns)
		return (*x)->insns > (*y)->insns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

static uint64_t size_of(const struct tree_lines *l, const struct nt_node *node)
{
	return l->by_insns ? node->insns : node->ns;
}

/* Add the lines of the children of a node, the longest child first, and recursively of their children. */
static bool add_children(struct tree_lines *l, const struct nt_node *node,
			 const struct nt_node *beside)
{
	const struct nt_node **children, *other;
	size_t nr = 0, i;
	uint32_t child;
	bool ok = true;

	for (child = node->first; child; child = l->nodes[child].next)
		nr++;
	children = calloc(nr + 1, sizeof(*children));
	if (!children)
		return false;
	for (nr = 0, child = node->first; child; child = l->nodes[child].next) {
		if (size_of(l, &l->nodes[child]) >= l->least)
			children[nr++] = &l->nodes[child];
	}
	qsort(children, nr, sizeof(*children), node_cmp);
	for (i = 0; ok && i < nr; i++) {
		/*
		 * the child of each root is the call that is compared. Show these two calls in one line even if they
		 * differ, because traps of different kinds may have entered them
		 */
		other = beside && beside == l->others ? beside + 1 : tree_lines_beside(l, beside, children[i]);
		l->at[l->nr++] = (struct tree_line){ children[i], other };
		ok = add_children(l, children[i], other);
	}
	free(children);
	return ok;
}

/*
 * Return true if the output has only one child of the node of line @i, and if the child has as many calls as
 * the node, and almost the same time. The child is then printed on the line of the node, after an arrow.
 */
static bool goes_on(const struct tree_lines *l, size_t i)
{
	const struct nt_node *n = l->at[i].node, *next = i + 1 < l->nr ? l->at[i + 1].node : NULL;
	size_t j;

	if (!next || next->depth != n->depth + 1 || next->calls != n->calls || next->open != n->open ||
	    size_of(l, next) < size_of(l, n) - size_of(l, n) / 10 ||
	    !l->at[i].beside != !l->at[i + 1].beside)
		return false;
	for (j = i + 2; j < l->nr && l->at[j].node->depth > n->depth; j++) {
		if (l->at[j].node->depth == n->depth + 1)
			return false;
	}
	return true;
}

/* Return the number of printed lines. */
static size_t count_lines(const struct tree_lines *l)
{
	size_t i, nr = 0;

	for (i = 0; i < l->nr; i++)
		nr += !goes_on(l, i);
	return nr;
}

static int longest_first(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x > *y ? -1 : *x < *y;
}

/* Return the times of all nodes, the longest first. If the recording has no times, return numbers of instructions. */
static uint64_t *sort_times(struct tree_lines *l)
{
	uint64_t *times = calloc(l->nr_nodes + 1, sizeof(*times));
	size_t i;

	l->by_insns = true;
	for (i = 1; i < l->nr_nodes; i++)
		l->by_insns &= !l->nodes[i].ns;
	for (i = 1; times && i < l->nr_nodes; i++)
		times[i - 1] = size_of(l, &l->nodes[i]);
	if (times)
		qsort(times, l->nr_nodes - 1, sizeof(*times), longest_first);
	return times;
}

/* Return the minimum time with which at most @limit nodes are selected. */
static uint64_t least_of(const uint64_t *times, size_t nr, unsigned long limit)
{
	if (!limit || nr <= limit)
		return 0;
	return times[limit - 1] + (times[limit] == times[limit - 1]);
}

bool tree_lines_choose(struct tree_lines *l, unsigned long limit)
{
	uint64_t *times = l->nr_nodes ? sort_times(l) : NULL;
	unsigned long nodes;
	bool ok;

	l->at = calloc(l->nr_nodes + 1, sizeof(*l->at));
	ok = times && l->at;
	for (nodes = 4 * limit; ok; nodes -= nodes / 8 + 1) {
		l->nr = 0;
		l->least = least_of(times, l->nr_nodes - 1, nodes);
		ok = add_children(l, l->nodes, l->others);
		if (!limit || nodes <= limit || count_lines(l) <= limit)
			break;
	}
	free(times);
	return ok;
}

void tree_lines_free(struct tree_lines *lines)
{
	free(lines->at);
}

/* ---- Text ---- */

/* Return a text that describes how the function was entered if it was not called, otherwise NULL. */
static const char *entry(const struct nt_node *node)
{
	switch (node->trap) {
	case NT_BRANCH_SYSCALL:
		return "system call";
	case NT_BRANCH_EXCEPTION:
		return "exception";
	case NT_BRANCH_INTERRUPT:
		return "interrupt";
	}
	return node->inlined ? "inlined" : NULL;
}

static void print_name(const struct nt_node *node)
{
	const char *how = entry(node);

	printf("%s%s%s%s", how ? "(" : "", how ?: "", how ? ") " : "", node->symbol);
}

void tree_lines_json(const struct tree_lines *l)
{
	const struct tree_line *line;

	for (line = l->at; line < l->at + l->nr; line++) {
		const struct nt_node *n = line->node, *b = line->beside;

		putchar('{');
		json_print("function", n->symbol);
		json_print("object", n->object);
		json_print("entry", entry(n) ?: "call");
		printf("\"depth\": %u, \"calls\": %" PRIu64 ", \"open\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"longest_ns\": %" PRIu64
		       ", \"on_cpu_ns\": %" PRIu64 ", \"instructions\": %" PRIu64, n->depth, n->calls, n->open, n->ns, n->longest, n->ran, n->insns);
		if (b)
			printf(", \"median_calls\": %" PRIu64 ", \"median_open\": %" PRIu64 ", \"median_ns\": %" PRIu64
			       ", \"median_on_cpu_ns\": %" PRIu64, b->calls, b->open, b->ns, b->ran);
		puts("}");
	}
}

/*
 * Print the name of line @i, the names of the lines that continue it (goes_on()), and the time on a CPU.
 * Return the index of the next line.
 */
static size_t print_names(const struct tree_lines *l, size_t i)
{
	const struct nt_node *n = l->at[i].node;
	size_t last = i;

	print_name(l->at[i].node);
	while (goes_on(l, last))
		last++;
	if (last > i + 2)
		printf(" > ...");
	for (i = last > i + 2 ? last : i + 1; i <= last; i++) {
		printf(" > ");
		print_name(l->at[i].node);
	}
	print_on_cpu(l->session, n->ns, n->ran);
	print_longest(n->calls + n->open, n->ns, n->longest);
	putchar('\n');
	return last + 1;
}

/* Print the lines. Children that are printed on the line of their parent do not increase the indentation. */
void tree_lines_print(const struct tree_lines *l, void (*print)(const struct tree_line *line))
{
	unsigned int indent[MAX_DEPTH] = { 0 }, depth, this;
	size_t i = 0, next;

	while (i < l->nr) {
		depth = l->at[i].node->depth;
		this = indent[depth < MAX_DEPTH ? depth : MAX_DEPTH - 1];
		print(&l->at[i]);
		printf("%*s", 2 * (int)this, "");
		next = print_names(l, i);
		for (; i < next; i++) {
			depth = l->at[i].node->depth;
			if (depth + 1 < MAX_DEPTH)
				indent[depth + 1] = this + 1;
		}
	}
}
