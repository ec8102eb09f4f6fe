// SPDX-License-Identifier: GPL-2.0-only
/* Call stack and branch stack of each thread, from the executed branches. */
#include <errno.h>
#include <stdlib.h>

#include "addr_location.h"
#include "callchain.h"
#include "event.h"
#include "map.h"
#include "ntrace-priv.h"
#include "symbol.h"
#include "thread-stack.h"
#include "thread.h"

/* Find the function that contains @addr. Return false if there is no symbol for it. */
static bool ntrace_find_function(struct ntrace_queue *q, u64 addr, u64 *start, u64 *end)
{
	struct addr_location al;
	struct symbol *sym;

	addr_location__init(&al);
	sym = thread__find_symbol(q->thread, ntrace_sample_cpumode(q, addr, addr), addr, &al);
	if (sym) {
		*start = map__unmap_ip(al.map, sym->start);
		*end = map__unmap_ip(al.map, sym->end);
	}
	addr_location__exit(&al);
	return sym;
}

static int ntrace_stack_event(struct ntrace_queue *q, const struct ntrace_branch *branch, u64 to)
{
	return thread_stack__event(q->thread, q->cpu, branch->flags, branch->from, to,
				   branch->insn_len, q->trace_nr, q->nt->callstack,
				   q->nt->br_stack_sz, false);
}

/*
 * Handle a return to an address without a matching call, such as longjmp() or an exception that is
 * caught. The function that continues at this address has made a call, which ends here together with
 * the calls inside it, so unwind the stack to the last call that this function made.
 */
static int ntrace_unwind(struct ntrace_queue *q, const struct ntrace_branch *branch, size_t depth)
{
	size_t i, size = 2 * depth + 8;
	struct ip_callchain *chain;
	u64 start, end;
	int err = 0;

	if (!ntrace_find_function(q, branch->to, &start, &end))
		return 0;
	chain = malloc(sizeof(*chain) + size * sizeof(chain->ips[0]));
	if (!chain)
		return -ENOMEM;
	thread_stack__sample(q->thread, q->cpu, chain, size, branch->from, q->nt->kernel_start);
	/* The first entry is a context, the second is the address of the return instruction */
	for (i = 2; i < chain->nr; i++) {
		if (chain->ips[i] < start || chain->ips[i] >= end)
			continue;
		/* Pass the size 0 for the branch stack, so that no branch is added to it */
		err = thread_stack__event(q->thread, q->cpu, branch->flags, branch->from,
					  chain->ips[i], branch->insn_len, q->trace_nr, true,
					  0, false);
		break;
	}
	free(chain);
	return err;
}

#define NTRACE_IS_RETURN(flags)							\
	(((flags) & (PERF_IP_FLAG_RETURN | PERF_IP_FLAG_INTERRUPT)) == PERF_IP_FLAG_RETURN)

/*
 * Return true for a trap whose handler is not traced. When the handler returns, the program
 * continues after the ecall or at the instruction that trapped, or first executes a signal handler.
 * With an address filter, trace may end anywhere, so its end does not indicate a trap.
 */
static bool ntrace_is_hidden_trap(struct ntrace_queue *q, const struct ntrace_branch *branch)
{
	u32 other = PERF_IP_FLAG_SYSCALLRET | PERF_IP_FLAG_INTERRUPT;

	if (!(branch->flags & PERF_IP_FLAG_TRACE_END) || branch->to ||
	    branch->from >= q->nt->kernel_start || q->nt->info.flags & NTRACE_INFO_FLAG_FILTER)
		return false;
	return !(branch->flags & (PERF_IP_FLAG_CALL | PERF_IP_FLAG_RETURN)) ||
	       branch->flags & other;
}

static int ntrace_push_trap(struct ntrace_queue *q, u64 from)
{
	return thread_stack__event(q->thread, q->cpu, PERF_IP_FLAG_BRANCH | PERF_IP_FLAG_CALL,
				   from, q->nt->kernel_start, ntrace_is_ecall(q, from) ? 4 : 0,
				   q->trace_nr, true, 0, false);
}

/* Drop the call stack of the old program when the first code of a new program is executed */
static void ntrace_drop_old_program(struct ntrace_queue *q, const struct ntrace_branch *branch)
{
	u32 ends = PERF_IP_FLAG_INTERRUPT | PERF_IP_FLAG_TRACE_BEGIN;

	if (branch->flags & ends && branch->to && branch->to < q->nt->kernel_start &&
	    ntrace_code_executed(q->nt, q->pid))
		thread_stack__flush(q->thread);
}

int ntrace_stack(struct ntrace_queue *q, const struct ntrace_branch *branch)
{
	size_t depth;
	int err;

	if (q->nt->callstack)
		ntrace_drop_old_program(q, branch);
	if (q->nt->callstack && ntrace_is_hidden_trap(q, branch)) {
		err = ntrace_stack_event(q, branch, branch->to);
		return err ? : ntrace_push_trap(q, branch->from);
	}
	if (!q->nt->callstack || !NTRACE_IS_RETURN(branch->flags) ||
	    branch->to >= q->nt->kernel_start)
		return ntrace_stack_event(q, branch, branch->to);
	depth = thread_stack__depth(q->thread, q->cpu);
	err = ntrace_stack_event(q, branch, branch->to);
	if (!err && depth && thread_stack__depth(q->thread, q->cpu) == depth)
		err = ntrace_unwind(q, branch, depth);
	return err;
}
