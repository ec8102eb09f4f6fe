/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How often each instruction of a recording was executed: exact counts, without samples.
 *
 * Without a filter the trace is only counted, which is several times as fast as looking at it.
 */
#ifndef NTRACE_SESSION_PROFILE_H
#define NTRACE_SESSION_PROFILE_H

#include "session/session.h"

struct nt_profile;

/* An instruction, of all processes that have executed the file together */
struct nt_profile_insn {
	const char	*object;	/* as struct nt_place has it */
	const char	*symbol;	/* NULL: none */
	uint64_t	offset;		/* from the begin of the symbol */
	uint64_t	address;	/* as struct nt_place has it */
	uint64_t	count;
	uint64_t	space, addr;	/* of one process, for nt_session_read() */
};

struct nt_profile_totals {
	uint64_t	insns;
	uint64_t	errors, gaps, losses;	/* nothing is known of what was executed there */
};

/* nt_profile_new() - NULL: out of memory. @filter may be NULL */
struct nt_profile *nt_profile_new(struct nt_session *session, const struct nt_filter *filter);
void nt_profile_free(struct nt_profile *profile);

/* nt_profile_run() - decode the recording. Return: as nt_session_decode() */
int nt_profile_run(struct nt_profile *profile);

/* nt_profile_insns() - by object, then address; they stay as long as @profile */
const struct nt_profile_insn *nt_profile_insns(const struct nt_profile *profile, size_t *nr);

/*
 * nt_profile_count() - blocks, branches and edges as struct nt_count of libntrace has them, one by
 * one from *at = 0, in the order of nt_counts_sort(); false: no more. A profile with a filter has
 * blocks only.
 */
bool nt_profile_count(const struct nt_profile *profile, uint64_t *at, struct nt_count *count);
void nt_profile_totals(const struct nt_profile *profile, struct nt_profile_totals *totals);

#endif /* NTRACE_SESSION_PROFILE_H */
