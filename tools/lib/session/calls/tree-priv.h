/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions that build call trees. Users of the library do not include this. */
#ifndef NTRACE_SESSION_TREE_PRIV_H
#define NTRACE_SESSION_TREE_PRIV_H

#include "session/array.h"
#include "session/hash.h"
#include "callstack.h"
#include "tree.h"

struct ns_tree_cached;

/* nt_node::object of a node whose children belong into a node of another tree. Its address says which, for ns_tree_merge(). */
extern const char ns_tree_unplaced[];

struct ns_tree {
	struct nt_session *session;
	nt_inlined_fn	inlined;	/* NULL: inlined functions do not get nodes */
	void		*inlined_ctx;
	NS_ARRAY(struct nt_node) nodes;	/* the root is the first */
	struct ns_hash	hash;		/* hash table of @nodes */
	NS_ARRAY(char *) names;		/* names of functions without a symbol */
	struct ns_tree_cached *cache;	/* cache of children, by the addresses of a call */
};

/* ns_tree_child() - return the node of a function that @parent called, or -1 if out of memory */
int64_t ns_tree_child(struct ns_tree *tree, uint32_t parent, const struct nt_node *like);

/*
 * ns_tree_enter() - return the node of a call that starts, or -1 if out of memory
 *
 * Nodes of inlined functions that contain the calling instruction are between it and @parent.
 */
int64_t ns_tree_enter(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame,
		      const struct ns_event *event);

/*
 * ns_tree_inlined() - return the innermost inlined function that contains the calling instruction
 *
 * Return @parent if there is none, and -1 if out of memory.
 */
int64_t ns_tree_inlined(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame);

/*
 * ns_tree_count() - count the end of a call of a node, in nt_node::calls if @ended and else in nt_node::open
 *
 * The time that its thread spent on stacks other than @stack does not count.
 */
void ns_tree_count(struct ns_tree *tree, uint32_t node, const struct ns_stack *stack, const struct ns_frame *frame,
		   const struct ns_event *event, bool ended);

/*
 * ns_tree_merge() - add all nodes of @from, which has the same root. Return false if out of memory.
 * @places: Number of the node of @tree for each address of a node with ns_tree_unplaced. If NULL, the address is this
 * number.
 */
bool ns_tree_merge(struct ns_tree *tree, const struct ns_tree *from, const uint32_t *places);

/* ns_tree_name() - name the functions without a symbol after their addresses. Return false if out of memory. */
bool ns_tree_name(struct ns_tree *tree);

void ns_tree_free(struct ns_tree *tree);

#endif /* NTRACE_SESSION_TREE_PRIV_H */
