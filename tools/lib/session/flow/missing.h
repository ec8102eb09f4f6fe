/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Find how much trace of each CPU was decoded, and how much is missing. */
#ifndef NTRACE_SESSION_MISSING_H
#define NTRACE_SESSION_MISSING_H

#include "session/array.h"
#include "session/session.h"

/* A part that was decoded, see sources.h */
struct ns_traced {
	int32_t		cpu;
	bool		has_time;	/* an item of the part has a time */
	bool		counted;	/* ranges are counted, so that only other items have times */
	bool		lost_before;	/* trace is missing before the part because the sink was full */
	bool		lost_after;	/* trace is missing after the part, or after @last in it */
	enum nt_lost	why;		/* the reason for @lost_after */
	uint64_t	first, last;	/* times of the first and the last item, ns */
	uint64_t	end;		/* end of the stretch, ns */
	uint64_t	insns;		/* executed instructions; if @counted, bytes of trace */
	struct nt_lost_sum lost[NT_LOST_NR];	/* losses in the part */
};

/* ns_traced_lose() - note that trace is missing after the last item */
void ns_traced_lose(struct ns_traced *t, enum nt_lost why);

/* ns_traced_count() - add the instructions of ranges without times */
void ns_traced_count(struct ns_traced *t, const struct nt_batch *batch);

/* ns_traced_add() - add ranges, or an item of another kind, which last from @from to @to (ns) */
void ns_traced_add(struct ns_traced *t, const struct nt_batch *batch, uint64_t from, uint64_t to);

/* ns_traced_settle() - find the missing trace between all parts. Return false if out of memory. */
bool ns_traced_settle(struct nt_session *session);

#endif /* NTRACE_SESSION_MISSING_H */
