/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Count how often each instruction of a recording was executed. The counts are exact and not from
 * samples.
 *
 * Without a filter the trace is only counted, which is several times as fast as decoding each
 * range.
 */
#ifndef NTRACE_SESSION_PROFILE_H
#define NTRACE_SESSION_PROFILE_H

#include "session/session.h"

struct nt_profile;

/* An instruction, with the number of executions by all processes */
struct nt_profile_insn {
	const char	*object;	/* same as in struct nt_place */
	const char	*symbol;	/* NULL: none */
	uint64_t	offset;		/* offset from the start of the symbol */
	uint64_t	address;	/* same as in struct nt_place */
	uint64_t	count;
	/* address of the instruction in one of the processes, for nt_session_read() */
	uint64_t	space, addr;
};

struct nt_profile_totals {
	uint64_t	insns;
	uint64_t	errors, gaps, losses;	/* places after which executed code is unknown */
};

/* nt_profile_new() - create a profile; @filter may be NULL. Return NULL if out of memory. */
struct nt_profile *nt_profile_new(struct nt_session *session, const struct nt_filter *filter);
void nt_profile_free(struct nt_profile *profile);

/* nt_profile_run() - decode the recording. Return the same values as nt_session_decode(). */
int nt_profile_run(struct nt_profile *profile);

/*
 * nt_profile_insns() - return the instructions, sorted by object, then address; valid until
 * nt_profile_free()
 */
const struct nt_profile_insn *nt_profile_insns(const struct nt_profile *profile, size_t *nr);

/*
 * nt_profile_count() - get blocks, branches and edges one by one, from *at = 0
 *
 * They are returned as struct nt_count of libntrace, in the order of nt_counts_sort(). Return false
 * after the last one.
 */
bool nt_profile_count(const struct nt_profile *profile, uint64_t *at, struct nt_count *count);
void nt_profile_totals(const struct nt_profile *profile, struct nt_profile_totals *totals);

#endif /* NTRACE_SESSION_PROFILE_H */
