/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Declarations that only the files of split share. */
#ifndef NTRACE_SESSION_SPLIT_PRIV_H
#define NTRACE_SESSION_SPLIT_PRIV_H

#include "session/session-priv.h"
#include "split.h"

/* Start of a shard. Shards are in the order of queues, and of offsets in them. */
struct split_cut {
	uint32_t	queue;
	uint64_t	offset;
	uint32_t	shared;		/* bytes from there that the previous shard also contains */
	const struct ns_stretch *before;	/* the previous stretch of that queue; NULL: none */
};

/*
 * split_plan() - set @cuts[1] to @cuts[@shards - 1]
 *
 * @cuts[0] is the start, and @cuts[@shards] is after all trace. Return: 0, or -1 with
 * nt_session_error().
 */
int split_plan(struct nt_session *session, struct split_cut *cuts, unsigned int shards);

/*
 * split_inside() - find positions at which a stretch can be cut
 * @targets: Offsets in increasing order; for each, the first position from there on is
 *	found
 * @cuts: Sets offset and shared; shared is 0 if the stretch has no position from the offset
 *	on
 *
 * Return: 0, or -1 if out of memory.
 */
int split_inside(struct nt_session *session, const struct ns_stretch *stretch,
		 const uint64_t *targets, struct split_cut *cuts, unsigned int nr);

#endif /* NTRACE_SESSION_SPLIT_PRIV_H */
