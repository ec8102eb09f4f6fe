/* SPDX-License-Identifier: GPL-2.0-only */
/* Inlined functions, for trees of calls. */
#ifndef NTRACE_TOOL_INLINES_H
#define NTRACE_TOOL_INLINES_H

#include "session/calls/tree.h"

struct inlines;

/* inlines_new() - NULL: this build has no elfutils' libdw, or there is no memory */
struct inlines *inlines_new(struct nt_session *session);
void inlines_free(struct inlines *inlines);

/* inlines_at() - an nt_inlined_fn; @ctx is of inlines_new() */
size_t inlines_at(void *ctx, const char *object, uint64_t address, const char **names, size_t max);

#endif /* NTRACE_TOOL_INLINES_H */
