/* SPDX-License-Identifier: GPL-2.0-only */
/* Find the inlined functions at an address, for trees of calls. */
#ifndef NTRACE_TOOL_INLINES_H
#define NTRACE_TOOL_INLINES_H

#include "session/calls/tree.h"

struct inlines;

/* inlines_new() - create a cache of addresses. Return NULL if out of memory. */
struct inlines *inlines_new(struct nt_session *session);
void inlines_free(struct inlines *inlines);

/*
 * inlines_at() - find the inlined functions at an address; inlines_at() can be passed as an
 * nt_inlined_fn, whose @ctx is then a struct inlines
 */
size_t inlines_at(void *ctx, const char *object, uint64_t address, const char **names, size_t max);

#endif /* NTRACE_TOOL_INLINES_H */
