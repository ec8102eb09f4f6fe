/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The meaning of each message.
 */
#ifndef NTRACE_ENGINE_H
#define NTRACE_ENGINE_H

#include "flow.h"

/* The message at hand gives this item out. It is valid until the next one. */
struct nt_item *nt_engine_event(struct nt_flow *flow, struct nt_source *src,
				enum nt_item_type type);

/*
 * Decode until something is to be given out: @single, one message at a time, or as much as
 * fits. NT_OK, and there may be nothing as the bytes are used up; NT_E_NOMEM: call it again.
 */
int nt_engine_run(struct nt_flow *flow, bool single);

/* ---- events.c ---- */

/*
 * Handle a message that is not about the flow, but for example about what software did. False: it
 * is no such message
 */
bool nt_event_begin(struct nt_flow *flow, struct nt_source *src);

/* Ownership that is no context: a value that software wrote, with a meaning of its own. */
void nt_event_owner(struct nt_flow *flow, struct nt_source *src);

#endif /* NTRACE_ENGINE_H */
