/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Find how much trace of each CPU was decoded, and how much is missing. */
#ifndef NTRACE_SESSION_MISSING_H
#define NTRACE_SESSION_MISSING_H

#include "session/array.h"
#include "session/session.h"

/*
 * The times and losses of a part that was decoded. A part is the messages of one encoder in one
 * stretch (see sources.h).
 */
struct ns_traced {
	int32_t		cpu;
	bool		has_time;	/* at least one item of the part has a time */
	/*
	 * the consumer has counts(), so that ranges have no times, but all other items have times
	 */
	bool		counted;
	bool		lost_before;	/* trace is missing before the part because the sink was full */
	bool		lost_after;	/* trace is missing after time @last */
	enum nt_lost	why;		/* last reason for which trace is missing, if @lost_after is set */
	uint64_t	first, last;	/* times of the first and the last item, ns */
	uint64_t	end;		/* time of the end of the stretch, ns */
	/* number of executed instructions. If @counted is set, this is instead the size of the part's trace in bytes */
	uint64_t	insns;
	struct nt_lost_sum lost[NT_LOST_NR];	/* losses inside of the part, by reason */
};

/* ns_traced_lose() - note that trace is missing after the last item */
void ns_traced_lose(struct ns_traced *t, enum nt_lost why);

/* ns_traced_count() - add the instructions of a batch that has no times */
void ns_traced_count(struct ns_traced *t, const struct nt_batch *batch);

/* ns_traced_add() - add a batch of ranges, or an item of another kind; it lasts from @from to @to (ns) */
void ns_traced_add(struct ns_traced *t, const struct nt_batch *batch, uint64_t from, uint64_t to);

/* ns_traced_settle() - set nt_session::missing after all parts were decoded. Return false if out of memory. */
bool ns_traced_settle(struct nt_session *session);

#endif /* NTRACE_SESSION_MISSING_H */
