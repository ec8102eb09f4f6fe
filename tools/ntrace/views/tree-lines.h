/* SPDX-License-Identifier: GPL-2.0-only */
/* Which lines of a tree of calls are printed, and how deep they are. */
#ifndef NTRACE_TOOL_TREE_LINES_H
#define NTRACE_TOOL_TREE_LINES_H

#include "session/calls/tree.h"

/* A line: a node, and the same one of the other tree if that has it */
struct tree_line {
	const struct nt_node *node, *beside;
};

/* The first node of a tree is no function: its children are where lines begin. */
struct tree_lines {
	const struct nt_node *nodes, *others;	/* @others may be NULL */
	size_t		nr_nodes;
	struct tree_line *at;
	size_t		nr;
	bool		by_insns;		/* the recording has no times */
	uint64_t	least;			/* ns: shorter nodes are left out */
};

/* tree_lines_choose() - those that take longest, on at most @limit lines; false: no memory */
bool tree_lines_choose(struct tree_lines *lines, unsigned long limit);
void tree_lines_free(struct tree_lines *lines);

/* tree_lines_beside() - the child of @parent, of @others, that is the same as @node; NULL: none */
const struct nt_node *tree_lines_beside(const struct tree_lines *lines,
					const struct nt_node *parent, const struct nt_node *node);

/*
 * tree_lines_print() - call @print for each line
 *
 * It prints what comes before the name, and leaves the name and the end of the line to this function.
 */
void tree_lines_print(const struct tree_lines *lines, void (*print)(const struct tree_line *line));

#endif /* NTRACE_TOOL_TREE_LINES_H */
