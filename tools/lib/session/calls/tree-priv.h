/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Functions that build call trees. Users of the library do not include this. */
#ifndef NTRACE_SESSION_TREE_PRIV_H
#define NTRACE_SESSION_TREE_PRIV_H

#include "session/array.h"
#include "session/hash.h"
#include "callstack.h"
#include "tree.h"

struct ns_tree_cached;

/*
 * Value of nt_node::object of a node that represents unknown callers. ns_tree_merge() moves the children of this node
 * to a node of another tree, which nt_node::address identifies.
 */
extern const char ns_tree_unplaced[];

struct ns_tree {
	struct nt_session *session;
	nt_inlined_fn	inlined;	/* finds inlined functions; NULL: inlined functions do not get nodes */
	void		*inlined_ctx;
	NS_ARRAY(struct nt_node) nodes;	/* nodes of the tree, of which the first is the root */
	struct ns_hash	hash;		/* hash table of @nodes */
	NS_ARRAY(char *) names;		/* names of functions without a symbol */
	struct ns_tree_cached *cache;	/* cache of children, by the addresses of a call */
};

/* ns_tree_child() - find or add the child of @parent with the function of @like. Return -1 if out of memory. */
int64_t ns_tree_child(struct ns_tree *tree, uint32_t parent, const struct nt_node *like);

/*
 * ns_tree_enter() - return the node of a call that starts, or -1 if out of memory
 *
 * If inlined functions contain the calling instruction, their nodes are between @parent and the node of the call.
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
 * The time that the thread spent on stacks other than @stack does not count.
 */
void ns_tree_count(struct ns_tree *tree, uint32_t node, const struct ns_stack *stack, const struct ns_frame *frame,
		   const struct ns_event *event, bool ended);

/*
 * ns_tree_merge() - add all nodes of @from, which has the same root. Return false if out of memory.
 * @places: Numbers of nodes of @tree, or NULL
 *
 * A node of @from whose object is ns_tree_unplaced represents an unknown caller. It is not added, but its children are
 * added to the node of @tree with the number @places[nt_node::address], or nt_node::address if @places is NULL.
 */
bool ns_tree_merge(struct ns_tree *tree, const struct ns_tree *from, const uint32_t *places);

/* ns_tree_name() - name the functions without a symbol after their addresses. Return false if out of memory. */
bool ns_tree_name(struct ns_tree *tree);

void ns_tree_free(struct ns_tree *tree);

#endif /* NTRACE_SESSION_TREE_PRIV_H */
