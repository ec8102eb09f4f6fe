// SPDX-License-Identifier: GPL-2.0-only
/* Find the thread that a CPU executes, and its privilege mode. */
#include <string.h>

#include <linux/kernel.h>

#include "machine.h"
#include "ntrace-priv.h"
#include "session.h"
#include "symbol_conf.h"
#include "thread.h"

static pid_t ntrace_queue_sideband_tid(struct ntrace_queue *q)
{
	struct auxtrace_queue *queue = &q->nt->queues.queue_array[q->queue_nr];
	const struct ntrace_stretch *stretch = NULL;
	pid_t tid = -1;

	if (q->flow_piece < q->nr_pieces)
		stretch = q->pieces[q->flow_piece].stretch;
	if (queue->cpu == -1)
		return queue->tid;
	if (q->cpu >= 0)
		tid = machine__get_current_tid(q->nt->machine, q->cpu);
	return tid == -1 && stretch ? stretch->tid : tid;
}

static u8 ntrace_cpumode(const struct nt_context *context)
{
	if (!context->has_priv)
		return PERF_RECORD_MISC_CPUMODE_UNKNOWN;
	switch (context->priv) {
	case NT_PRIV_U:
		return PERF_RECORD_MISC_USER;
	case NT_PRIV_S:
		return PERF_RECORD_MISC_KERNEL;
	case NT_PRIV_VU:
		return PERF_RECORD_MISC_GUEST_USER;
	case NT_PRIV_VS:
		return PERF_RECORD_MISC_GUEST_KERNEL;
	default:
		return PERF_RECORD_MISC_HYPERVISOR;
	}
}

/*
 * Return the cpumode of a sample. Without Ownership messages, determine it by the address. Also do so
 * for a guest with --guest-code, whose user code is that of the process that runs the guest.
 */
u8 ntrace_sample_cpumode(struct ntrace_queue *q, u64 ip, u64 addr)
{
	if (symbol_conf.guest_code && ntrace_is_guest(&q->context))
		return (ip ? : addr) >= q->nt->kernel_start ? PERF_RECORD_MISC_GUEST_KERNEL :
							      PERF_RECORD_MISC_GUEST_USER;
	if (q->cpumode != PERF_RECORD_MISC_CPUMODE_UNKNOWN)
		return q->cpumode;
	return (ip ? : addr) >= q->nt->kernel_start ? PERF_RECORD_MISC_KERNEL :
						      PERF_RECORD_MISC_USER;
}

/*
 * Return true if Ownership messages report scontext and the kernel writes its thread IDs to
 * scontext
 */
bool ntrace_has_scontext(const struct ntrace_queue *q, const struct nt_context *context)
{
	return context->has_scontext && !(q->nt->info.flags & NTRACE_INFO_FLAG_NO_SCONTEXT);
}

/* Return the thread ID from scontext of Ownership messages, otherwise from sideband events */
static pid_t ntrace_context_tid(struct ntrace_queue *q, const struct nt_context *context)
{
	return ntrace_has_scontext(q, context) ? (pid_t)context->scontext :
						 ntrace_queue_sideband_tid(q);
}

static struct thread *ntrace_find_thread(struct ntrace_queue *q, pid_t tid)
{
	struct machine *machine = q->nt->machine;
	struct thread *thread = tid == -1 ? NULL : machine__find_thread(machine, -1, tid);

	return thread || tid ? thread : machine__findnew_thread(machine, 0, 0);
}

pid_t ntrace_context_pid(struct ntrace_queue *q, const struct nt_context *context)
{
	pid_t tid = ntrace_context_tid(q, context), pid = -1;
	struct thread *thread;

	if (q->thread && q->tid == tid && q->pid != -1)
		return q->pid;
	thread = ntrace_find_thread(q, tid);
	if (thread)
		pid = thread__pid(thread);
	thread__put(thread);
	return pid;
}

/*
 * Find the task that executes in a guest. perf inject --guest-data has added the events that were
 * recorded in the guest, and has recorded which host thread runs each virtual CPU.
 */
void ntrace_find_guest_task(struct ntrace_queue *q, const struct nt_context *context,
			    struct ntrace_guest *guest)
{
	struct machine *machine;
	struct thread *thread, *task = NULL;

	memset(guest, 0, sizeof(*guest));
	if (!q->nt->have_guest)
		return;
	thread = ntrace_find_thread(q, ntrace_context_tid(q, context));
	if (!thread)
		return;
	guest->machine = thread__pid(thread);
	guest->vcpu = thread__guest_cpu(thread);
	machine = machines__find(&q->nt->session->machines, guest->machine);
	if (machine && !machine__is_host(machine) && guest->vcpu >= 0) {
		guest->tid = machine__get_current_tid(machine, guest->vcpu);
		if (guest->tid > 0)
			task = machine__find_thread(machine, -1, guest->tid);
	}
	if (task)
		guest->pid = max(thread__pid(task), 0);
	thread__put(task);
	thread__put(thread);
}

void ntrace_queue_set_thread(struct ntrace_queue *q, const struct nt_context *context)
{
	pid_t tid = ntrace_context_tid(q, context);

	q->cpumode = ntrace_cpumode(context);
	if (q->thread && q->tid == tid && q->pid != -1)
		return;
	thread__zput(q->thread);
	q->tid = tid;
	q->thread = ntrace_find_thread(q, tid);
	q->pid = q->thread ? thread__pid(q->thread) : -1;
	ntrace_gap_enter(q);
}
