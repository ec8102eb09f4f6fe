/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Divide a recording into shards, which can be decoded separately on other machines. Each shard
 * has all records that are not trace, and a part of the trace. This part begins where an encoder
 * was started, because a decoder can start there. If no encoder was started in it, it is empty.
 *
 * If the counts of all shards are added, the sum equals the counts of the recording (see sums.h).
 */
#ifndef NTRACE_SESSION_SPLIT_H
#define NTRACE_SESSION_SPLIT_H

#include "session/session.h"

#define NT_SHARDS_MAX	1000	/* maximum number of shards, whose files are all open at once */

struct nt_split_options {
	size_t		size;	/* sizeof(struct nt_split_options) */
	unsigned int	shards;	/* number of shards, from 1 to NT_SHARDS_MAX */
	/* existing folder, in which "1.data", "2.data" and so on are created */
	const char	*folder;
	const char	*name;	/* name of the recording, used to report a missing shard */
};

/*
 * nt_session_split() - write the shards
 *
 * If the recording has a copy of the kernel, the shards are folders that also have this copy (as links,
 * if the file system supports links). The memory that is needed does not depend on the trace's size.
 *
 * Return: the number of shards without trace, or -1 with nt_session_error().
 */
int nt_session_split(struct nt_session *session, const struct nt_split_options *options);

#endif /* NTRACE_SESSION_SPLIT_H */
