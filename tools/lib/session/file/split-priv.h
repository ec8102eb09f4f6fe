/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of split share; not for others. */
#ifndef NTRACE_SESSION_SPLIT_PRIV_H
#define NTRACE_SESSION_SPLIT_PRIV_H

#include "session/session-priv.h"
#include "split.h"

/* Where a shard begins: in the order of queues, and of offsets in them */
struct split_cut {
	uint32_t	queue;
	uint64_t	offset;
	uint32_t	shared;		/* bytes from there that the shard before has, too */
	const struct ns_stretch *before;	/* the last stretch of that queue before; NULL: none */
};

/*
 * split_plan() - make @cuts[1] to @cuts[@shards - 1]; @cuts[0] is the begin, and @cuts[@shards] is
 * after all that there is
 *
 * Return: 0; -1: nt_session_error().
 */
int split_plan(struct nt_session *session, struct split_cut *cuts, unsigned int shards);

/*
 * split_inside() - find places in a stretch where it can be cut: for each of @targets, offsets in
 * order, the first one from there on
 * @cuts: offset and shared are set; shared is 0 if there is no such place
 *
 * Return: 0; -1: out of memory.
 */
int split_inside(struct nt_session *session, const struct ns_stretch *stretch,
		 const uint64_t *targets, struct split_cut *cuts, unsigned int nr);

#endif /* NTRACE_SESSION_SPLIT_PRIV_H */
