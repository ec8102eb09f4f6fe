/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Decode a part of the trace for the index, or one of its segments. */
#ifndef NTRACE_SESSION_REPLAY_PART_H
#define NTRACE_SESSION_REPLAY_PART_H

#include "replay-priv.h"
#include "session/calls/running.h"

#define NS_NOTED	256	/* number of entries of ns_replay_part::noted */

/* Entry of a cache of ranges that are already in ns_chunk::code. If @end is 0, the entry is empty. */
struct ns_noted {
	uint64_t	start, end;
};

struct ns_replay_part {
	struct nt_replay *replay;
	struct ns_decoded *out;		/* result of decoding a segment; NULL while the index is being made */
	struct nt_consumer branches;	/* receives the branches, if @branch_part is not NULL */
	struct ns_branch_job job;
	void		*branch_part;
	struct ns_running running;
	struct ns_pairs	*pairs;		/* events of the current segment for the index, or NULL */
	struct ns_chunk now;		/* current segment */
	struct ns_noted	noted[NS_NOTED];	/* ranges of the current segment that executed recently */
	struct ns_run	last;		/* last run of the current segment, if nt_replay_options::paths is set */
	NS_ARRAY(struct ns_chunk) segments;	/* earlier segments of the part */
	NS_ARRAY(int32_t) tids;
	NS_ARRAY(uint64_t) spaces;
	NS_ARRAY(struct ns_gap) gaps;
	uint64_t	number;
	uint64_t	time;
	uint64_t	lost;		/* time from which on trace is missing, ns; 0: no trace is missing */
	uint64_t	cut;		/* offset of a SYNC at which the next segment can begin; 0: none */
	bool		cut_restarts;	/* trace starts or restarts at the SYNC at offset @cut */
	bool		no_code;	/* code was missing after the last range */
	unsigned int	owners;		/* number of Ownership messages after the SYNC at offset @cut */
	uint32_t	next_run;	/* index in the segment of the first run after the current range */
	int32_t		tid;		/* thread of the last branch */
	bool		can_cut, has_time, gap, trap, slice, skip, has_first;
	bool		follows;	/* trace has not started between the last branch and the next range */
	uint64_t	first;		/* time of the first range */
};

/*
 * ns_replay_part_new() - begin to decode part @number, and make the events of calls if @has_events is set
 *
 * Return NULL if out of memory.
 */
struct ns_replay_part *ns_replay_part_new(struct nt_replay *replay, uint64_t number, bool has_events);
void ns_replay_part_free(struct ns_replay_part *p);

/* Functions of struct nt_consumer */
int ns_replay_part_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch);
int ns_replay_part_item(void *part, const struct nt_who *who, const struct nt_item *item);

/* ns_replay_part_lose() - note that trace is missing after the last range */
void ns_replay_part_lose(struct ns_replay_part *p);
/* ns_replay_part_found() - end the missing trace at time @to, if trace is missing. Return false if out of memory. */
bool ns_replay_part_found(struct ns_replay_part *p, uint64_t to);

/* ---- pairs.c ---- */

struct ns_pairs *ns_pairs_new(struct nt_replay *replay);
void ns_pairs_free(struct ns_pairs *pairs);

/*
 * ns_pairs_take() - apply the branch from the end of @range to @to. The previous branch must be of the same thread.
 *
 * Return 1; 0 if the branch must be passed to ns_pairs_add(); -1 if out of memory.
 */
int ns_pairs_take(struct ns_pairs *pairs, const struct nt_who *who, const struct nt_range *range, uint64_t to,
		  uint64_t time);

/* ns_pairs_add() - add an event whose effect may depend on calls before the segment. Return false if out of memory. */
bool ns_pairs_add(struct ns_pairs *pairs, const struct ns_call_event *event);

/* ns_pairs_end() - end the segment, and move its events to *s. Return false if out of memory. */
bool ns_pairs_end(struct ns_pairs *pairs, struct ns_chunk *s);

#endif /* NTRACE_SESSION_REPLAY_PART_H */
