/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Branches of a recording: from where to where the flow jumped, and where trace began, stopped or was
 * lost.
 */
#ifndef NTRACE_SESSION_BRANCH_H
#define NTRACE_SESSION_BRANCH_H

#include "session/session.h"

enum nt_branch_kind {
	NT_BRANCH_CONDITIONAL	= 1,	/* it was taken */
	NT_BRANCH_JUMP,
	NT_BRANCH_CALL,
	NT_BRANCH_RETURN,
	NT_BRANCH_SYSCALL,		/* ecall */
	NT_BRANCH_EXCEPTION,
	NT_BRANCH_INTERRUPT,
	NT_BRANCH_TRAP_RETURN,
	NT_BRANCH_NONE,			/* trace begins or stops, without a jump */
};

#define NT_BRANCH_BEGIN		(1 << 0)	/* what ran before is unknown; @from is 0 */
#define NT_BRANCH_END		(1 << 1)	/* trace stops; @to is 0 */

struct nt_branch {
	uint64_t	from, to;
	uint64_t	time;		/* ns; not earlier than the branch before */
	uint64_t	insns;		/* retired since the branch before, with this one */
	uint8_t		kind;		/* enum nt_branch_kind */
	uint8_t		flags;		/* NT_BRANCH_BEGIN, NT_BRANCH_END */
	uint8_t		length;		/* bytes of the instruction at @from; 0: none retired */
};

/* As struct nt_consumer, whose begin() and end() it has; see there */
struct nt_branch_sink {
	size_t	size;
	void	*(*begin)(void *ctx, uint64_t stretch);
	int	(*branch)(void *part, const struct nt_who *who, const struct nt_branch *branch);
	/* The flow is lost, or the encoder lost trace. May be NULL. */
	int	(*error)(void *part, const struct nt_who *who, const struct nt_item *item);
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/* As in struct nt_consumer */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/* nt_session_branches() - decode the recording. Return: as nt_session_decode() */
int nt_session_branches(struct nt_session *session, const struct nt_branch_sink *sink, void *ctx);

#endif /* NTRACE_SESSION_BRANCH_H */
