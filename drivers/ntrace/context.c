// SPDX-License-Identifier: GPL-2.0-only
/*
 * scontext: which thread a hart runs, for the encoder's Ownership messages.
 *
 * While an event wants it, the thread id (in the initial pid namespace) is
 * written at each task switch; else nothing is hooked. sched_switch is not
 * exported to modules by name, but can be looked up.
 *
 * The CSR is part of the Debug specification's Sdtrig, optional, and may be
 * closed by the firmware (Smstateen): it is tried, once on each CPU, with an
 * access that survives the illegal instruction exception.
 */
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/tracepoint.h>

#include <asm/asm-extable.h>

#include "ntrace.h"

/* Not in <asm/csr.h> of the supported kernels; as a number in the code */
#define NTRACE_CSR_SCONTEXT	"0x5a8"

static DEFINE_MUTEX(ntrace_context_mutex);
static struct tracepoint *ntrace_tp_switch;
static unsigned int ntrace_context_users;
static bool ntrace_context_hooked;
/* CPUs that were tried, and of these the ones that have the CSR */
static struct cpumask ntrace_context_tried;
static struct cpumask ntrace_context_present;
/* The thread of the last switch, -1 before the first that was seen */
static DEFINE_PER_CPU(pid_t, ntrace_context_thread) = -1;

static void ntrace_scontext_write(unsigned long val)
{
	asm volatile("csrw " NTRACE_CSR_SCONTEXT ", %0" : : "r" (val) : "memory");
}

/* csrr that leaves 0 in @ok if it traps */
static bool ntrace_scontext_try(void)
{
	unsigned long ok = 0, val;

	asm volatile("1:	csrr %1, " NTRACE_CSR_SCONTEXT "\n"
		     "2:	csrw " NTRACE_CSR_SCONTEXT ", %1\n"
		     "	li %0, 1\n"
		     "3:\n"
		     _ASM_EXTABLE(1b, 3b)
		     _ASM_EXTABLE(2b, 3b)
		     : "+r" (ok), "=&r" (val) : : "memory");
	return ok;
}

static void ntrace_context_try(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (ntrace_scontext_try())
		cpumask_set_cpu(cpu, &ntrace_context_present);
	else
		cpumask_clear_cpu(cpu, &ntrace_context_present);
	cpumask_set_cpu(cpu, &ntrace_context_tried);
}

/* Try @cpu; may sleep */
void ntrace_context_probe(unsigned int cpu)
{
	smp_call_function_single(cpu, ntrace_context_try, NULL, 1);
}

static void ntrace_context_find(struct tracepoint *tp, void *unused)
{
	if (!strcmp(tp->name, "sched_switch"))
		ntrace_tp_switch = tp;
}

/* Why scontext is not written, NULL if it is */
const char *ntrace_context_missing(void)
{
	if (!ntrace_tp_switch)
		for_each_kernel_tracepoint(ntrace_context_find, NULL);
	if (!ntrace_tp_switch)
		return "the kernel has no tracepoint sched_switch";
	if (!cpumask_subset(ntrace_cpus(), &ntrace_context_tried))
		return "not yet tried on all CPUs";
	if (!cpumask_subset(ntrace_cpus(), &ntrace_context_present))
		return "no scontext CSR, or the firmware keeps it closed";
	return NULL;
}

/*
 * Write what runs now: when tracing starts, and after a CPU lost its state. An
 * event of a cgroup starts within a switch, where current is still the old task.
 */
void ntrace_context_prime(void)
{
	pid_t thread = __this_cpu_read(ntrace_context_thread);

	if (cpumask_test_cpu(smp_processor_id(), &ntrace_context_present))
		ntrace_scontext_write(thread < 0 ? task_pid_nr(current) : thread);
}

/* Runs with the runqueue locked and interrupts off, just before the switch */
static notrace void ntrace_context_switch(void *data, bool preempt, struct task_struct *prev,
					  struct task_struct *next, unsigned int prev_state)
{
	pid_t thread = task_pid_nr(next);

	__this_cpu_write(ntrace_context_thread, thread);
	if (likely(cpumask_test_cpu(smp_processor_id(), &ntrace_context_present)))
		ntrace_scontext_write(thread);
}

/* An event wants scontext; may sleep. 0 also where there is none to write. */
int ntrace_context_get(void)
{
	unsigned int cpu;
	int ret = 0;

	mutex_lock(&ntrace_context_mutex);
	if (!ntrace_context_hooked && !ntrace_context_missing()) {
		ret = tracepoint_probe_register(ntrace_tp_switch, ntrace_context_switch, NULL);
		ntrace_context_hooked = !ret;
		/* what an earlier hook left; no event is there yet to use it */
		for_each_possible_cpu(cpu)
			per_cpu(ntrace_context_thread, cpu) = -1;
	}
	if (!ret)
		ntrace_context_users++;
	mutex_unlock(&ntrace_context_mutex);
	return ret;
}

void ntrace_context_put(void)
{
	mutex_lock(&ntrace_context_mutex);
	if (!--ntrace_context_users && ntrace_context_hooked) {
		tracepoint_probe_unregister(ntrace_tp_switch, ntrace_context_switch, NULL);
		ntrace_context_hooked = false;
	}
	mutex_unlock(&ntrace_context_mutex);
}

/* Before the module goes: no CPU is in ntrace_context_switch() any more */
void ntrace_context_exit(void)
{
	tracepoint_synchronize_unregister();
}
