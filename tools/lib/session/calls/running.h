/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Find the thread that executes a branch, and the time that it has run. Users of the library do not
 * include this.
 *
 * The kernel writes the next thread's id before it switches to that thread. Until the return from
 * the switch, code still runs for the previous thread. The time between the last branch of a thread
 * and the first branch of the next thread is divided at the switch, if the recording has the event
 * of the switch.
 */
#ifndef NTRACE_SESSION_RUNNING_H
#define NTRACE_SESSION_RUNNING_H

#include "session/flow/branch.h"

struct ns_running {
	struct nt_session *session;
	struct nt_who	who;		/* thread, CPU and time of the last branch */
	bool		known;		/* trace has not stopped since the last branch */
	bool		switching;
	uint64_t	insns;		/* number of instructions since the kernel wrote the next thread's id */
	uint64_t	last_insns;	/* instructions of the branch before the switch, if the thread changes */
	uint64_t	from, last;	/* times of the slice's start and of the last branch or switch, ns */
	uint64_t	since;		/* time at which the thread became known, ns; its next switch is later */
	uint64_t	chosen;		/* time at which the kernel wrote the chosen next thread's id, ns */
	/*
	 * ns from the kernel's record of the switch (or @chosen) to the end of the switch, while the last branch is
	 * the first one of the new thread; else 0
	 */
	uint64_t	late;
	uint64_t	away;		/* time between @from and @last in which other threads ran, ns */
	uint64_t	stop;		/* address at which trace has stopped */
};

/* ns_running_slow() - do the work of ns_running_who() in the uncommon case that the thread may have changed */
const struct nt_who *ns_running_slow(struct ns_running *running, const struct nt_who *who,
				     const struct nt_branch *branch);

/* ns_running_is() - return true if the thread of the last branch continues */
static inline bool ns_running_is(const struct ns_running *running, const struct nt_who *who)
{
	return running->known && who->tid == running->who.tid && !running->switching;
}

/*
 * ns_running_who() - return the thread that executed @branch
 * @who: Thread according to the trace, which may already be the next thread
 */
static inline const struct nt_who *ns_running_who(struct ns_running *running, const struct nt_who *who,
						  const struct nt_branch *branch)
{
	return ns_running_is(running, who) ? who : ns_running_slow(running, who, branch);
}

/* ns_running_begin() - start a slice with the branch for which ns_running_who() was last called */
static inline void ns_running_begin(struct ns_running *running)
{
	running->from = running->last;
	running->away = 0;
}

/* ns_running_stop() - forget the thread, because trace has stopped */
static inline void ns_running_stop(struct ns_running *running)
{
	running->known = running->switching = false;
	running->who.tid = INT32_MIN;
}

/*
 * ns_running_away() - return the ns for which other threads ran, or a filter had stopped the trace, before
 *	trace starts at @begin
 */
uint64_t ns_running_away(const struct ns_running *running, const struct nt_who *who, const struct nt_branch *begin);

/* ns_running_take() - return the time that the thread has run in the slice up to the branch, ns */
static inline uint64_t ns_running_take(struct ns_running *running, const struct nt_who *who,
				       const struct nt_branch *branch)
{
	if (branch->flags & NT_BRANCH_BEGIN)
		running->away += ns_running_away(running, who, branch);
	if (branch->flags & NT_BRANCH_END)
		running->stop = branch->kind == NT_BRANCH_NONE ? branch->from : 0;
	/*
	 * a branch that no message reports separately gets the time of the last message before it. If this message is
	 * older than a switch of threads, this time is earlier than @last, which is the time of the switch
	 */
	if (branch->time > running->last)
		running->last = branch->time;
	return running->last - running->from - running->away;
}

#endif /* NTRACE_SESSION_RUNNING_H */
