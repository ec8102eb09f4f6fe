/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Branches of a recording with their source and destination, and the places at which trace started,
 * stopped or was lost.
 */
#ifndef NTRACE_SESSION_BRANCH_H
#define NTRACE_SESSION_BRANCH_H

#include "session/session.h"

enum nt_branch_kind {
	NT_BRANCH_CONDITIONAL	= 1,	/* a conditional branch that was taken */
	NT_BRANCH_JUMP,
	NT_BRANCH_CALL,
	NT_BRANCH_RETURN,
	NT_BRANCH_SYSCALL,		/* a system call, by the instruction ecall */
	NT_BRANCH_EXCEPTION,
	NT_BRANCH_INTERRUPT,
	NT_BRANCH_TRAP_RETURN,
	NT_BRANCH_NONE,			/* the trace begins or stops, and no jump is known */
};

#define NT_BRANCH_BEGIN		(1 << 0)	/* the trace begins at @to; @from is 0 */
#define NT_BRANCH_END		(1 << 1)	/* the trace stops after @from; @to is 0 */
/* Added to NT_BRANCH_BEGIN if the recording lacks code that the thread executed before @to */
#define NT_BRANCH_MISSING	(1 << 2)
/*
 * Added to NT_BRANCH_MISSING if the encoder sends no messages for returns (implicit returns). The code
 * that the recording lacks may then have returned to code that the recording has, and that was executed
 * before @to, but could not be decoded.
 */
#define NT_BRANCH_HIDDEN	(1 << 3)

struct nt_branch {
	uint64_t	from, to;
	uint64_t	time;		/* time in ns, which is never less than that of the previous branch */
	/* number of instructions that retired after the previous branch, including the one at @from */
	uint64_t	insns;
	uint8_t		kind;		/* enum nt_branch_kind */
	uint8_t		flags;		/* NT_BRANCH_BEGIN and the other flags above */
	/* length of the instruction at @from in bytes; 0 if no instruction retired there */
	uint8_t		length;
};

/*
 * Functions that receive branches. The library calls begin() and end() in the same way as those of
 * struct nt_consumer.
 */
struct nt_branch_sink {
	size_t	size;
	void	*(*begin)(void *ctx, uint64_t stretch);
	int	(*branch)(void *part, const struct nt_who *who, const struct nt_branch *branch);
	/* Called if the trace cannot be decoded, code is missing, or the encoder lost trace. May be NULL. */
	int	(*error)(void *part, const struct nt_who *who, const struct nt_item *item);
	int	(*end)(void *ctx, void *part, const struct nt_who *who, bool lost);
	/* Periods of time to decode, with the same meaning as in struct nt_consumer */
	const struct nt_window *windows;
	size_t	nr_windows;
};

/*
 * nt_session_branches() - decode the recording, and pass its branches to @sink. Return the same
 * values as nt_session_decode().
 */
int nt_session_branches(struct nt_session *session, const struct nt_branch_sink *sink, void *ctx);

/* Context of the consumer that ns_branch_consumer() makes. Only the library uses this structure. */
struct ns_branch_job {
	struct nt_session *session;
	const struct nt_branch_sink *sink;
	void		*ctx;
};

/*
 * ns_branch_consumer() - make a consumer that passes branches to @sink. Pass a struct ns_branch_job
 * as @ctx of nt_session_decode().
 */
struct nt_consumer ns_branch_consumer(const struct nt_branch_sink *sink);

#endif /* NTRACE_SESSION_BRANCH_H */
