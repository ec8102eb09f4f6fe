/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Branches from ranges: what was jumped from where to where, and where trace began, stopped
 * or was lost. A consumer of nt_session_decode() gives it the batches and items of a stretch.
 */
#ifndef NTRACE_SESSION_BRANCH_H
#define NTRACE_SESSION_BRANCH_H

#include "session.h"

enum nt_branch_kind {
	NT_BRANCH_CONDITIONAL	= 1,	/* it was taken */
	NT_BRANCH_JUMP,
	NT_BRANCH_CALL,
	NT_BRANCH_RETURN,
	NT_BRANCH_SYSCALL,		/* ecall */
	NT_BRANCH_EXCEPTION,
	NT_BRANCH_INTERRUPT,
	NT_BRANCH_TRAP_RETURN,
	NT_BRANCH_NONE,			/* trace begins or stops, and nothing was jumped */
};

#define NT_BRANCH_BEGIN		(1 << 0)	/* nothing is known of what was before; @from is 0 */
#define NT_BRANCH_END		(1 << 1)	/* trace stops; @to is 0 */

struct nt_branch {
	uint64_t	from, to;
	uint64_t	time;		/* ns; not earlier than the branch before */
	uint64_t	insns;		/* retired since the branch before, with this one */
	uint8_t		kind;		/* enum nt_branch_kind */
	uint8_t		flags;		/* NT_BRANCH_BEGIN, NT_BRANCH_END */
	uint8_t		length;		/* bytes of the instruction at @from; 0: none retired */
};

struct nt_branch_sink {
	int	(*branch)(void *part, const struct nt_who *who, const struct nt_branch *branch);
	/* The flow is lost, or the encoder lost trace. May be NULL. */
	int	(*error)(void *part, const struct nt_who *who, const struct nt_item *item);
};

/* State of one source (SRC) of a stretch */
struct nt_branch_source {
	bool		begin;		/* the first branch is to be NT_BRANCH_BEGIN */
	bool		resume;		/* the next range comes after a gap without a SYNC */
	bool		ended;		/* the last branch was NT_BRANCH_END */
	uint64_t	begin_addr, begin_time;
	uint64_t	time;
	uint64_t	insns;
};

struct nt_branches {
	const struct nt_branch_sink *sink;
	void		*part;
	struct nt_branch_source *sources;
	size_t		nr_sources;
};

/* nt_branches_init() - a stretch begins; @part is given to @sink */
void nt_branches_init(struct nt_branches *branches, const struct nt_branch_sink *sink, void *part);
void nt_branches_exit(struct nt_branches *branches);

/* To be called from a consumer's ranges() and item(); they return what @sink does, or -1 */
int nt_branches_ranges(struct nt_branches *branches, const struct nt_who *who,
		       const struct nt_batch *batch);
int nt_branches_item(struct nt_branches *branches, const struct nt_who *who,
		     const struct nt_item *item);

#endif /* NTRACE_SESSION_BRANCH_H */
