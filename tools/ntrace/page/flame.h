/* SPDX-License-Identifier: GPL-2.0-only */
/* Add up the calls that have the same callers, for the flame graph of the page and for folded stacks. */
#ifndef NTRACE_TOOL_HTML_FLAME_H
#define NTRACE_TOOL_HTML_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "session/array.h"
#include "session/hash.h"

struct flame_node {
	uint32_t	parent;
	/* number of the function; for children of the root, number of the thread */
	uint32_t	name;
	uint64_t	calls, ns, ran, insns;
};

struct flame {
	/* tree of calls, in which each node follows its parent; the root is the first node */
	NS_ARRAY(struct flame_node) nodes;
	struct ns_hash	hash;			/* hash table of @nodes except the root */
	size_t		max;			/* maximum number of nodes; 0: maximum of a page (NODES_MAX) */
};

#define FLAME_NONE	UINT32_MAX

/*
 * flame_child() - return the child of @parent with the name @name, which is added if it is new;
 * FLAME_NONE if there are too many nodes, or if out of memory
 */
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name);
void flame_free(struct flame *flame);

/*
 * flame_write() - write the nodes except the root as base64. Return false on failure.
 *
 * Each node consists of its index minus the index of its parent, name, calls, ns, ran and insns, which
 * are stored as variable-length numbers (page/chunks.h).
 */
bool flame_write(const struct flame *flame, FILE *file);

#endif /* NTRACE_TOOL_HTML_FLAME_H */
