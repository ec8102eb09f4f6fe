/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The interface of engine.c and events.c, which interpret each message
 */
#ifndef NTRACE_ENGINE_H
#define NTRACE_ENGINE_H

#include "flow.h"

/* Add an item for the current message. Return the item, which is valid until the next item is added. */
struct nt_item *nt_engine_event(struct nt_flow *flow, struct nt_source *src,
				enum nt_item_type type);

/*
 * Decode one message if @single is set, or as many as fit into the batch. If all bytes are used,
 * return NT_OK even without an item. After NT_E_NOMEM, the caller may repeat the call.
 */
int nt_engine_run(struct nt_flow *flow, bool single);

/* ---- messages that do not report the flow (events.c) ---- */

/*
 * Handle a message that reports data written by software, or in-circuit trace. Only some dialects
 * have such messages. Return false for any other message.
 */
bool nt_event_begin(struct nt_flow *flow, struct nt_source *src);

/* Handle an Ownership message that is not a context, but a value that software wrote. */
void nt_event_owner(struct nt_flow *flow, struct nt_source *src);

#endif /* NTRACE_ENGINE_H */
