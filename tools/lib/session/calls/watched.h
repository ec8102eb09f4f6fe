/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Calls of one function, in bounded memory, in which the slowest calls and the median call can be
 * found later. Users of the library do not include this.
 *
 * Up to NS_WATCHED_EXACT calls are stored. If there are more calls, only the slowest calls are stored,
 * and one call for each bucket of durations.h. The median that is found then takes at most 1/64 more or
 * less time than the true median.
 */
#ifndef NTRACE_SESSION_WATCHED_H
#define NTRACE_SESSION_WATCHED_H

#include "session/array.h"
#include "calls.h"

#define NS_WATCHED_EXACT	(1 << 19)
#define NS_WATCHED_SLOWEST	1024

/* Number of the calls whose durations are in one bucket (see durations.h), and one of these calls */
struct ns_example {
	uint64_t	nr;
	struct nt_call	call;		/* example, which is any of the @nr calls */
};

struct ns_watched {
	uint64_t	nr;
	NS_ARRAY(struct nt_call) calls;	/* stored calls, which are not yet counted in @examples */
	/* one element for each bucket of durations.h; NULL if there are so few calls that @calls has all of them */
	struct ns_example *examples;
	NS_ARRAY(struct nt_call) slowest;	/* slowest calls of @examples, the slowest first */
};

/* ns_watched_add() - add a call. Return false if out of memory. */
bool ns_watched_add(struct ns_watched *watched, const struct nt_call *call);

/*
 * ns_watched_end() - prepare for ns_watched_get() after the last call. Return false if out of
 * memory.
 */
bool ns_watched_end(struct ns_watched *watched);

/* ns_watched_get() - find calls like nt_calls_watched() */
bool ns_watched_get(const struct ns_watched *watched, uint64_t nth, struct nt_watched *found);

void ns_watched_free(struct ns_watched *watched);

#endif /* NTRACE_SESSION_WATCHED_H */
