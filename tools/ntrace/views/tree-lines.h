/* SPDX-License-Identifier: GPL-2.0-only */
/* Select the nodes of a call tree that are printed, and print them as indented lines. */
#ifndef NTRACE_TOOL_TREE_LINES_H
#define NTRACE_TOOL_TREE_LINES_H

#include "session/calls/tree.h"

/* A line of the output. @beside is the node of another tree that has the same function and callers; NULL: none */
struct tree_line {
	const struct nt_node *node, *beside;
};

/* Lines of a tree. The first node of a tree is the root, which is not a function and is not printed. */
struct tree_lines {
	const struct nt_session *session;
	const struct nt_node *nodes, *others;	/* nodes of the tree, and of another tree to compare with; NULL: none */
	size_t		nr_nodes;
	struct tree_line *at;
	size_t		nr;
	/* the recording does not have times, so that nodes are selected by their instructions */
	bool		by_insns;
	/* minimum time of a node in ns (or instructions); nodes below are left out */
	uint64_t	least;
};

/*
 * tree_lines_choose() - select the longest nodes, so that at most @limit lines are printed (0: no
 * limit). Return false if out of memory.
 */
bool tree_lines_choose(struct tree_lines *lines, unsigned long limit);
void tree_lines_free(struct tree_lines *lines);

/* tree_lines_beside() - return the child of @parent in @others that has the function of @node, or NULL */
const struct nt_node *tree_lines_beside(const struct tree_lines *lines,
					const struct nt_node *parent, const struct nt_node *node);

/*
 * tree_lines_print() - print each line
 *
 * tree_lines_print() calls @print for the start of each line, and prints the name and the end of
 * the line itself.
 */
void tree_lines_print(const struct tree_lines *lines, void (*print)(const struct tree_line *line));

/* tree_lines_json() - print each line as an object of JSON */
void tree_lines_json(const struct tree_lines *lines);

#endif /* NTRACE_TOOL_TREE_LINES_H */
