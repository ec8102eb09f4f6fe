/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The events of a segment that change the callers of later code. A call that returns in the same
 * segment has no effect on the model of calls (callstack.h) any more, and neither have the calls
 * that it made. They are left out, so that few events show the callers at the end of a recording.
 */
#ifndef NTRACE_SESSION_REPLAY_PAIRS_H
#define NTRACE_SESSION_REPLAY_PAIRS_H

#include "replay-priv.h"

struct ns_pairs;

struct ns_pairs *ns_pairs_new(struct nt_replay *replay);
void ns_pairs_free(struct ns_pairs *pairs);

/*
 * ns_pairs_take() - take a branch to @to of the thread that executed the last event
 *
 * Return 1; 0 if the branch must be passed to ns_pairs_add(); -1 if out of memory.
 */
int ns_pairs_take(struct ns_pairs *pairs, const struct nt_who *who, const struct nt_range *range, uint64_t to,
		  uint64_t time);

/* ns_pairs_add() - add an event that may need the calls from before the segment. Return false if out of memory. */
bool ns_pairs_add(struct ns_pairs *pairs, const struct ns_call_event *event);

/* ns_pairs_end() - end the segment, and move its events to *s. Return false if out of memory. */
bool ns_pairs_end(struct ns_pairs *pairs, struct ns_chunk *s);

#endif /* NTRACE_SESSION_REPLAY_PAIRS_H */
