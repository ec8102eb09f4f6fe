/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* How trees of calls grow; not for users of the library. */
#ifndef NTRACE_SESSION_TREE_PRIV_H
#define NTRACE_SESSION_TREE_PRIV_H

#include "session/array.h"
#include "callstack.h"
#include "tree.h"

struct ns_tree_cached;

struct ns_tree {
	struct nt_session *session;
	nt_inlined_fn	inlined;	/* NULL: inlined functions are no nodes */
	void		*inlined_ctx;
	NS_ARRAY(struct nt_node) nodes;	/* the root is the first */
	uint32_t	*hash;		/* of @nodes: number, 0 is none */
	size_t		hash_size;
	struct ns_tree_cached *cache;	/* of children, by the addresses of a call */
};

/* ns_tree_child() - the node of a function that @parent called; -1: out of memory */
int64_t ns_tree_child(struct ns_tree *tree, uint32_t parent, const struct nt_node *like);

/*
 * ns_tree_enter() - the node of a call that begins; -1: out of memory
 *
 * Inlined functions that the calling instruction belongs to are between it and @parent.
 */
int64_t ns_tree_enter(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame,
		      const struct ns_event *event);

/*
 * ns_tree_inlined() - the innermost of the inlined functions that a call comes from; @parent, if
 * there is none; -1: out of memory
 */
int64_t ns_tree_inlined(struct ns_tree *tree, uint32_t parent, const struct ns_frame *frame);

/* ns_tree_count() - a call of a node is over; @ended: it counts in nt_node::calls */
void ns_tree_count(struct ns_tree *tree, uint32_t node, const struct ns_frame *frame,
		   const struct ns_event *event, bool ended);

/* ns_tree_merge() - add all nodes of @from, whose roots are the same. false: out of memory */
bool ns_tree_merge(struct ns_tree *tree, const struct ns_tree *from);

void ns_tree_free(struct ns_tree *tree);

#endif /* NTRACE_SESSION_TREE_PRIV_H */
