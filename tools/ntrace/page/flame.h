/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls with the same callers, added up: the page's flame graph, and stacks for others */
#ifndef NTRACE_TOOL_HTML_FLAME_H
#define NTRACE_TOOL_HTML_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "session/array.h"

struct flame_node {
	uint32_t	parent;
	uint32_t	name;		/* a function; of children of the root, a thread */
	uint64_t	calls, ns, insns;
};

struct flame {
	NS_ARRAY(struct flame_node) nodes;	/* each after its parent; the root is the first */
	uint32_t	*hash;			/* number of a node; 0: none */
	size_t		hash_size;
	size_t		max;			/* nodes; 0: as many as a page has room for */
};

#define FLAME_NONE	UINT32_MAX

/* flame_child() - FLAME_NONE: there are too many nodes, or no memory is left */
uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t name);
void flame_free(struct flame *flame);

/*
 * flame_write() - base64 of, for each node but the root: its number less its parent's, name, calls,
 * ns, insns, as numbers of page/chunks.h. false: it failed
 */
bool flame_write(const struct flame *flame, FILE *file);

#endif /* NTRACE_TOOL_HTML_FLAME_H */
