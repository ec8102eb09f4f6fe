/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of calls with the same callers, for the flame graph of the page and for folded stacks */
#ifndef NTRACE_TOOL_HTML_FLAME_H
#define NTRACE_TOOL_HTML_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "session/array.h"
#include "session/hash.h"

struct flame_node {
	uint32_t	parent;
	/* function number, or thread number for children of the root */
	uint32_t	name;
	uint64_t	calls, ns, insns;
};

struct flame {
	/* nodes after their parents; the root is the first */
	NS_ARRAY(struct flame_node) nodes;
	struct ns_hash	hash;			/* hash table of @nodes except the root */
	size_t		max;			/* limit of nodes; 0: the limit of a page */
};

#define FLAME_NONE	UINT32_MAX

/* flame_child() - return a child; FLAME_NONE if there are too many nodes or no memory is left */
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name);
void flame_free(struct flame *flame);

/*
 * flame_write() - write the nodes except the root as base64. Return false on failure.
 *
 * Each node has its number minus its parent's, name, calls, ns and insns, as numbers of
 * page/chunks.h.
 */
bool flame_write(const struct flame *flame, FILE *file);

#endif /* NTRACE_TOOL_HTML_FLAME_H */
