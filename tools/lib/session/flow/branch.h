/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Branches of a recording with their source and destination, and the places at which trace started,
 * stopped or was lost.
 */
#ifndef NTRACE_SESSION_BRANCH_H
#define NTRACE_SESSION_BRANCH_H

#include "session/session.h"

enum nt_branch_kind {
	NT_BRANCH_CONDITIONAL	= 1,	/* a taken branch */
	NT_BRANCH_JUMP,
	NT_BRANCH_CALL,
	NT_BRANCH_RETURN,
	NT_BRANCH_SYSCALL,		/* ecall */
	NT_BRANCH_EXCEPTION,
	NT_BRANCH_INTERRUPT,
	NT_BRANCH_TRAP_RETURN,
	NT_BRANCH_NONE,			/* trace begins or stops, without a jump */
};

#define NT_BRANCH_BEGIN		(1 << 0)	/* earlier code is unknown; @from is 0 */
#define NT_BRANCH_END		(1 << 1)	/* trace stops; @to is 0 */
/* Set with NT_BRANCH_BEGIN if the recording lacks code that the thread executed before @to */
#define NT_BRANCH_MISSING	(1 << 2)
/*
 * Set with NT_BRANCH_MISSING if the thread may also have executed known code, because returns are
 * implicit
 */
#define NT_BRANCH_HIDDEN	(1 << 3)

struct nt_branch {
	uint64_t	from, to;
	uint64_t	time;		/* time in ns, not earlier than the previous branch */
	/* instructions retired since the previous branch, including this one */
	uint64_t	insns;
	uint8_t		kind;		/* enum nt_branch_kind */
	uint8_t		flags;		/* NT_BRANCH_BEGIN, NT_BRANCH_END */
	/* length of the instruction at @from in bytes; 0: none retired */
	uint8_t		length;
};

/* Functions that receive branches. begin() and end() are those of struct nt_consumer. */
struct nt_branch_sink {
	size_t	size;
	void	*(*begin)(void *ctx, uint64_t stretch);
	int	(*branch)(void *part, const struct nt_who *who, const struct nt_branch *branch);
	/* Called if the flow is lost, or code is missing, or the encoder lost trace. May be NULL. */
	int	(*error)(void *part, const struct nt_who *who, const struct nt_item *item);
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/* Same as in struct nt_consumer */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/* nt_session_branches() - decode the recording. Return the same values as nt_session_decode(). */
int nt_session_branches(struct nt_session *session, const struct nt_branch_sink *sink, void *ctx);

/* Context of the functions of ns_branch_consumer(), which only the library uses */
struct ns_branch_job {
	struct nt_session *session;
	const struct nt_branch_sink *sink;
	void		*ctx;
};

/* ns_branch_consumer() - make a consumer that passes branches to @sink; its context is a struct ns_branch_job */
struct nt_consumer ns_branch_consumer(const struct nt_branch_sink *sink);

#endif /* NTRACE_SESSION_BRANCH_H */
