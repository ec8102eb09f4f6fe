/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Cut a recording into shards: recordings that are decoded apart, on other machines. Each has the
 * events beside the trace, and a part of the trace that begins where a decoder can begin: at a start
 * of the encoder, or at a message with SYNC inside a stretch. That message is in the shard before,
 * too, as it reports what was executed before it.
 *
 * Counts of all shards together are those of the recording (sums.h).
 */
#ifndef NTRACE_SESSION_SPLIT_H
#define NTRACE_SESSION_SPLIT_H

#include "session/session.h"

#define NT_SHARDS_MAX	1000	/* so many files are open at once */

struct nt_split_options {
	size_t		size;	/* sizeof(struct nt_split_options) */
	unsigned int	shards;	/* 1 to NT_SHARDS_MAX */
	const char	*folder;	/* "1.data", "2.data" ... are made in it; it is there */
	const char	*name;	/* of the recording, as a lost shard is named later */
};

/*
 * nt_session_split() - write the shards. A recording with a copy of the kernel makes folders that
 * have it, too (by links, if the file system has them). Memory does not depend on the trace's size.
 *
 * Return: 0; -1: nt_session_error().
 */
int nt_session_split(struct nt_session *session, const struct nt_split_options *options);

#endif /* NTRACE_SESSION_SPLIT_H */
