/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Sums are execution counts by file and offset, added up over any number of recordings.
 *
 * Sums are stored as text. Equal counts result in the same text, byte for byte, in whichever order
 * the recordings or their shards were added. The needed memory depends on the amount of executed
 * code, and not on the length of the recordings.
 *
 *	ntrace counts 1
 *	xlen 64
 *	lost 0 0 0				numbers of losses, errors, and places without code
 *	shard ID 3 8 NAME			the third of eight shards; omitted if all were added
 *	file BUILD-ID PATH			a file, numbered from 0; "-" if it has no build id
 *	b 0 FROM TO COUNT INSNS			a block of file 0, from FROM to TO
 *	c 0 FROM TAKEN NOT-TAKEN		a conditional branch of file 0
 *	e 0 FROM 1 TO HOW COUNT			an edge from file 0 to file 1 (enum nt_end)
 *	end LINES
 *
 * FROM and TO are offsets in the file in hexadecimal. For the kernel, whose file is
 * "[kernel.kallsyms]", FROM and TO are addresses. The build id of a kernel is computed from the
 * addresses of its symbols. The same kernel at other addresses is therefore another file.
 */
#ifndef NTRACE_SESSION_SUMS_H
#define NTRACE_SESSION_SUMS_H

#include <stdio.h>

#include "profile.h"

struct nt_sums;

/* nt_sums_new() - create sums without counts. Return NULL if out of memory. */
struct nt_sums *nt_sums_new(void);
void nt_sums_free(struct nt_sums *sums);

/* nt_sums_error() - return a sentence about the error of the last failed call */
const char *nt_sums_error(const struct nt_sums *sums);

/*
 * nt_sums_add() - add the counts of a profile, after nt_profile_run()
 *
 * Return: 0, or -1 with nt_sums_error().
 */
int nt_sums_add(struct nt_sums *sums, const struct nt_profile *profile);

/* nt_sums_read() - add the counts in a file that nt_sums_write() has written. Return: 0, or -1 with nt_sums_error(). */
int nt_sums_read(struct nt_sums *sums, const char *path);

/* nt_sums_write() - write the counts as text. Return: 0, or -1 with errno. */
int nt_sums_write(struct nt_sums *sums, FILE *file);

/*
 * nt_sums_missing() - get the shard with index @nth, from 0, of the shards that were not added
 *
 * Return false after the last shard.
 */
bool nt_sums_missing(const struct nt_sums *sums, size_t nth, struct nt_shard *shard);

/* nt_sums_is_file() - return true if the file starts with the first line of a file of counts */
bool nt_sums_is_file(const char *path);

/*
 * nt_session_open_counts() - open a file of counts as a session, as nt_session_open() opens a
 * recording
 *
 * nt_profile_run() uses the counts of this session, which has no trace to decode.
 */
int nt_session_open_counts(struct nt_session **session, const char *path,
			   const struct nt_session_options *options);

/*
 * nt_session_lacks_kernel() - return true if the counts include a kernel that differs from the one
 * in nt_session_options::kcore
 *
 * nt_profile_run() ignores the counts of that kernel.
 */
bool nt_session_lacks_kernel(const struct nt_session *session);

#endif /* NTRACE_SESSION_SUMS_H */
