/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Calls of one function, to find the slowest and the median one among them later, in memory that
 * does not grow with the calls. Not for users of the library.
 *
 * Up to NS_WATCHED_EXACT calls are kept. Of more, the slowest ones are kept, and one for each bucket
 * of durations.h: the median call is then one that takes at most 1/64 longer or less long than it.
 */
#ifndef NTRACE_SESSION_WATCHED_H
#define NTRACE_SESSION_WATCHED_H

#include "session/array.h"
#include "calls.h"

#define NS_WATCHED_EXACT	(1 << 19)
#define NS_WATCHED_SLOWEST	1024

/* Calls of one bucket */
struct ns_example {
	uint64_t	nr;
	struct nt_call	call;		/* one of them */
};

struct ns_watched {
	uint64_t	nr;
	NS_ARRAY(struct nt_call) calls;	/* those that are not in @examples yet */
	struct ns_example *examples;	/* one for each bucket; NULL: @calls has all */
	NS_ARRAY(struct nt_call) slowest;	/* of @examples, the slowest first */
};

/* ns_watched_add() - false: out of memory */
bool ns_watched_add(struct ns_watched *watched, const struct nt_call *call);

/* ns_watched_end() - there are no more, so that ns_watched_get() may be called. false: no memory */
bool ns_watched_end(struct ns_watched *watched);

/* ns_watched_get() - as nt_calls_watched() */
bool ns_watched_get(const struct ns_watched *watched, uint64_t nth, struct nt_watched *found);

void ns_watched_free(struct ns_watched *watched);

#endif /* NTRACE_SESSION_WATCHED_H */
