// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the thread that executes a branch, and the time that it has run (running.h). */
#include <string.h>

#include "running.h"
#include "session/session-priv.h"
#include "session/flow/worker.h"

/*
 * Maximum number of instructions between the write of the next thread's id and the switch. The kernel
 * needs a few thousand instructions. If it has executed more than this number, no switch follows,
 * because the thread with the id was already running.
 */
#define SWITCH_INSNS	20000

/* Return true if the code after the branch belongs to the next thread. */
static bool has_switched(struct ns_running *running, const struct nt_who *who,
			 const struct nt_branch *branch)
{
	struct nt_place place;

	running->insns += branch->insns;
	if (branch->flags & NT_BRANCH_BEGIN || who->cpu != running->who.cpu ||
	    running->insns > SWITCH_INSNS || branch->from < ns_kernel_start(running->session))
		return true;
	if (branch->kind != NT_BRANCH_RETURN)
		return false;
	nt_session_where(running->session, nt_who_space(who, branch->from), branch->from, &place);
	if (!place.symbol || strcmp(place.symbol, "__switch_to"))
		return false;
	running->last_insns = branch->insns;
	return true;
}

/*
 * Divide the time between the previous and the next thread. The previous thread runs until the kernel records the
 * switch, even if its last branch was much earlier. Without such a record, it runs until the kernel writes the next
 * thread's id. The emulated board may pause between the write of the id and the record, and sched_switch has the time
 * of the record.
 */
static void divide_time(struct ns_running *running, const struct nt_who *who, const struct nt_branch *branch)
{
	uint64_t end = branch->time > running->last ? branch->time : running->last;
	uint64_t time = ns_sideband_switched(&running->session->sideband, who->cpu, who->tid, running->since, end);

	if (time == running->since)
		time = running->chosen;
	if (time > running->last)
		running->last = time;
	running->late = running->last - time;
}

const struct nt_who *ns_running_slow(struct ns_running *running, const struct nt_who *who,
				     const struct nt_branch *branch)
{
	running->late = 0;
	running->last_insns = 0;
	if (running->known && who->tid != running->who.tid) {
		if (!running->switching)
			running->chosen = who->time > ns_who_now(who) ? who->time : ns_who_now(who);
		running->insns = running->switching ? running->insns : 0;
		running->switching = !has_switched(running, who, branch);
		if (!running->switching && !(branch->flags & NT_BRANCH_BEGIN))
			divide_time(running, who, branch);
	} else {
		running->switching = false;
	}
	if (!running->known && who->tid != running->who.tid)
		running->last = branch->time;
	running->known = !(branch->flags & NT_BRANCH_END);
	if (running->switching) {
		running->switching = running->known;
		return &running->who;
	}
	running->who = *who;
	running->since = running->last;
	return who;
}

uint64_t ns_running_away(const struct ns_running *running, const struct nt_who *who, const struct nt_branch *begin)
{
	/*
	 * after a trap or an ecall, trace starts at the address at which it stopped, or behind the ecall; if it
	 * starts elsewhere, a filter had stopped it
	 */
	if (nt_session_is_filtered(running->session) && begin->to != running->stop && begin->to != running->stop + 4)
		return begin->time - running->last;
	return ns_sideband_away(&running->session->sideband, who->cpu, who->tid, running->last, begin->time);
}
