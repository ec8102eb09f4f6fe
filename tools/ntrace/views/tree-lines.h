/* SPDX-License-Identifier: GPL-2.0-only */
/* Select the lines of a call tree to print, and their indentation. */
#ifndef NTRACE_TOOL_TREE_LINES_H
#define NTRACE_TOOL_TREE_LINES_H

#include "session/calls/tree.h"

/* A line with its node, and the same node of the other tree if it has one */
struct tree_line {
	const struct nt_node *node, *beside;
};

/* Lines of a tree. The first node of a tree is not a function; lines start with its children. */
struct tree_lines {
	const struct nt_node *nodes, *others;	/* @others may be NULL */
	size_t		nr_nodes;
	struct tree_line *at;
	size_t		nr;
	bool		by_insns;		/* the recording does not have times */
	uint64_t	least;			/* limit in ns; shorter nodes are left out */
};

/*
 * tree_lines_choose() - select the longest nodes for at most @limit lines. Return false if out of
 * memory.
 */
bool tree_lines_choose(struct tree_lines *lines, unsigned long limit);
void tree_lines_free(struct tree_lines *lines);

/* tree_lines_beside() - return the child of @parent in @others that equals @node, or NULL */
const struct nt_node *tree_lines_beside(const struct tree_lines *lines,
					const struct nt_node *parent, const struct nt_node *node);

/*
 * tree_lines_print() - print each line
 *
 * @print prints the text before the name; this function prints the name and the end of the line.
 */
void tree_lines_print(const struct tree_lines *lines, void (*print)(const struct tree_line *line));

/* tree_lines_json() - print each line as an object of JSON */
void tree_lines_json(const struct tree_lines *lines);

#endif /* NTRACE_TOOL_TREE_LINES_H */
