/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Counts of files: what any number of recordings have executed, added up by file and offset.
 *
 * They are kept as text. Equal counts are equal text, byte for byte, in whatever parts and order
 * they were added. Memory depends on how much code was executed, and not on how long.
 *
 *	ntrace counts 1
 *	xlen 64
 *	lost 0 0 0				losses, errors, places without code
 *	shard ID 3 8 NAME			the third of eight; none if all of them are here
 *	file BUILD-ID PATH			they are numbered from 0; "-": there is no build id
 *	b 0 FROM TO COUNT INSNS			a block of file 0, up to TO
 *	c 0 FROM TAKEN NOT-TAKEN		a conditional branch
 *	e 0 FROM 1 TO HOW COUNT			an edge to file 1 (enum nt_end)
 *	end LINES
 *
 * FROM and TO are offsets in the file as hexadecimal digits; those of the kernel, whose file is
 * "[kernel.kallsyms]", are addresses. Counts of a kernel that was loaded elsewhere are of another
 * file: its build id is made from the addresses of its symbols.
 */
#ifndef NTRACE_SESSION_SUMS_H
#define NTRACE_SESSION_SUMS_H

#include <stdio.h>

#include "profile.h"

struct nt_sums;

/* nt_sums_new() - NULL: out of memory */
struct nt_sums *nt_sums_new(void);
void nt_sums_free(struct nt_sums *sums);

/* nt_sums_error() - why a call has failed, in a sentence */
const char *nt_sums_error(const struct nt_sums *sums);

/*
 * nt_sums_add() - add what nt_profile_run() has counted
 *
 * Return: 0; -1: nt_sums_error().
 */
int nt_sums_add(struct nt_sums *sums, const struct nt_profile *profile);

/* nt_sums_read() - add what nt_sums_write() wrote to a file. Return: 0; -1: nt_sums_error() */
int nt_sums_read(struct nt_sums *sums, const char *path);

/* nt_sums_write() - as text. Return: 0; -1: errno */
int nt_sums_write(struct nt_sums *sums, FILE *file);

/* nt_sums_missing() - shards that were not added, from @nth = 0; false: there are no more */
bool nt_sums_missing(const struct nt_sums *sums, size_t nth, struct nt_shard *shard);

/* nt_sums_is_file() - does the file begin as one of counts does? */
bool nt_sums_is_file(const char *path);

/*
 * nt_session_open_counts() - as nt_session_open(), of a file of counts: nt_profile_run() takes them.
 * There is no trace in it to be decoded.
 */
int nt_session_open_counts(struct nt_session **session, const char *path,
			   const struct nt_session_options *options);

/*
 * nt_session_lacks_kernel() - has the file counts of a kernel that is not the one of
 * nt_session_options::kcore? nt_profile_run() leaves them out.
 */
bool nt_session_lacks_kernel(const struct nt_session *session);

#endif /* NTRACE_SESSION_SUMS_H */
