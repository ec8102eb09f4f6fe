/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Call chains at each branch of a recording, for samples.
 *
 * Stretches are decoded in parallel and in no particular order, and a call in one stretch may
 * return in another. The recording is therefore decoded twice. nt_chains_new() finds the calls that
 * are open at the start of each slice and stores them in an unnamed file. A cursor for a stretch
 * starts with these calls.
 */
#ifndef NTRACE_SESSION_CHAINS_H
#define NTRACE_SESSION_CHAINS_H

#include "session/flow/branch.h"

struct nt_chains;
struct nt_chain;

/*
 * nt_chains_new() - decode the recording
 *
 * Return NULL on an error, which nt_session_error() describes, or if out of memory.
 */
struct nt_chains *nt_chains_new(struct nt_session *session);

/*
 * nt_chains_of() - do the work of nt_chains_new(), and store the calls of one function for nt_calls_watched()
 * @filter: Calls to store, see nt_calls_filter()
 * @symbol: Name of the function
 */
struct nt_chains *nt_chains_of(struct nt_session *session, const struct nt_filter *filter, const char *symbol);
void nt_chains_free(struct nt_chains *chains);

/* nt_chains_calls() - return the calls that nt_chains_new() or nt_chains_of() has counted */
const struct nt_calls *nt_chains_calls(const struct nt_chains *chains);

/*
 * nt_chains_watch() - select the functions with that name for nt_chain_inside()
 *
 * Call it before nt_chain_new(). The caller owns @symbol, which must stay valid.
 */
void nt_chains_watch(struct nt_chains *chains, const char *symbol);

/*
 * nt_chain_new() - create a cursor for a stretch. A consumer's begin() calls this function.
 *
 * Return NULL if out of memory.
 */
struct nt_chain *nt_chain_new(const struct nt_chains *chains, uint64_t stretch);
void nt_chain_free(struct nt_chain *chain);

/*
 * Call nt_chain_branch() for each branch of the stretch, and nt_chain_error() for each error.
 * nt_chain_branch() returns -1 if out of memory.
 */
int nt_chain_branch(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch);
void nt_chain_error(struct nt_chain *chain, const struct nt_item *item);

/*
 * nt_chain_inside() - call nt_chain_branch(), and check for calls of nt_chains_watch()
 * @before: Set to true if a watched call is open before the branch
 * @after: Set to true if a watched call is open after the branch
 *
 * Calls that had started before the trace are ignored.
 */
int nt_chain_inside(struct nt_chain *chain, const struct nt_who *who,
		    const struct nt_branch *branch, bool *before, bool *after);

/* How a branch violates the rules of calls */
enum nt_alarm {
	NT_ALARM_NONE,
	NT_ALARM_RETURN,	/* a return that does not go to the instruction after the call */
	NT_ALARM_CALL,		/* an indirect call into the middle of a function */
	NT_ALARM_JUMP,		/* an indirect jump into the middle of another function */
};

struct nt_audit {
	enum nt_alarm	alarm;
	int32_t		tid, cpu;	/* thread that executed the branch */
	uint64_t	from_space, to_space;
	uint64_t	expected, expected_space;	/* return address of the call, for NT_ALARM_RETURN */
	bool		needs_pad;	/* Zicfilp requires an lpad at the target of this indirect call or jump */
};

/* nt_chain_audit() - call nt_chain_branch(), and set *audit for the branch. Return -1 if out of memory. */
int nt_chain_audit(struct nt_chain *chain, const struct nt_who *who, const struct nt_branch *branch,
		   struct nt_audit *audit);

/*
 * nt_chain_get() - get the return addresses of the open calls, the newest first
 *
 * Return their number, which is at most @max.
 */
size_t nt_chain_get(const struct nt_chain *chain, uint64_t *returns, size_t max);

#endif /* NTRACE_SESSION_CHAINS_H */
