/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Who has called whom at each branch of a recording: call chains for samples.
 *
 * Stretches are decoded at once and in no order, and what was called in one returns in another. So
 * the recording is decoded twice: nt_chains_new() finds what is open at the begin of each slice,
 * which it keeps in a file without a name; a cursor goes on from there.
 */
#ifndef NTRACE_SESSION_CHAINS_H
#define NTRACE_SESSION_CHAINS_H

#include "session/flow/branch.h"

struct nt_chains;
struct nt_chain;

/* nt_chains_new() - decode the recording. NULL: nt_session_error() says why, or no memory */
struct nt_chains *nt_chains_new(struct nt_session *session);
void nt_chains_free(struct nt_chains *chains);

/*
 * nt_chains_watch() - nt_chain_inside() is to be about calls of the functions with that name; before
 * nt_chain_new(). @symbol stays the caller's
 */
void nt_chains_watch(struct nt_chains *chains, const char *symbol);

/* nt_chain_new() - for a stretch, in begin() of a consumer. NULL: out of memory */
struct nt_chain *nt_chain_new(const struct nt_chains *chains, uint64_t stretch);
void nt_chain_free(struct nt_chain *chain);

/* To be called for each branch and error of the stretch. -1: out of memory */
int nt_chain_branch(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch);
void nt_chain_error(struct nt_chain *chain);

/*
 * nt_chain_inside() - as nt_chain_branch(); besides, sets @before and @after: is a call of the function
 *	of nt_chains_watch() open before and after the branch? Only calls that began in the trace count.
 */
int nt_chain_inside(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch, bool *before, bool *after);

/* nt_chain_get() - where the open calls return to, the newest first: how many, at most @max */
size_t nt_chain_get(const struct nt_chain *chain, uint64_t *returns, size_t max);

#endif /* NTRACE_SESSION_CHAINS_H */
