/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Count how often each instruction of a recording was executed. The counts are exact, because they
 * are not made from samples.
 *
 * Without a filter, the decoder counts the executed blocks and does not return ranges, which is
 * several times as fast.
 */
#ifndef NTRACE_SESSION_PROFILE_H
#define NTRACE_SESSION_PROFILE_H

#include "session/session.h"

struct nt_profile;

/* An instruction, and how often all processes have executed it */
struct nt_profile_insn {
	const char	*object;	/* object of the instruction (see struct nt_place) */
	const char	*symbol;	/* name of the function that contains the instruction; NULL: none */
	uint64_t	offset;		/* offset of the instruction from the start of @symbol */
	uint64_t	address;	/* address of the instruction (see struct nt_place) */
	uint64_t	count;
	/* address of the instruction in one of the processes, for nt_session_read() */
	uint64_t	space, addr;
};

struct nt_profile_totals {
	uint64_t	insns;
	/* numbers of places after which it is not known which code was executed */
	uint64_t	errors, gaps, losses;
};

/* nt_profile_new() - create a profile; @filter may be NULL. Return NULL if out of memory. */
struct nt_profile *nt_profile_new(struct nt_session *session, const struct nt_filter *filter);
void nt_profile_free(struct nt_profile *profile);

/* nt_profile_run() - decode the recording. Return the same values as nt_session_decode(). */
int nt_profile_run(struct nt_profile *profile);

/*
 * nt_profile_insns() - return *nr instructions, sorted by object, then address. They are valid
 * until nt_profile_free().
 */
const struct nt_profile_insn *nt_profile_insns(const struct nt_profile *profile, size_t *nr);

/*
 * nt_profile_count() - get the next block, branch or edge; set *at to 0 before the first call
 *
 * Blocks, branches and edges are described at struct nt_count of libntrace. They are returned in
 * the order of nt_counts_sort(). Return false after the last one.
 */
bool nt_profile_count(const struct nt_profile *profile, uint64_t *at, struct nt_count *count);
void nt_profile_totals(const struct nt_profile *profile, struct nt_profile_totals *totals);

#endif /* NTRACE_SESSION_PROFILE_H */
