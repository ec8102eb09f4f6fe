// SPDX-License-Identifier: GPL-2.0-only
/*
 * scontext: which thread a hart runs, for the encoder's Ownership messages.
 *
 * While an event wants it, and for a second more, the thread id (in the initial
 * pid namespace) is written at each task switch; else nothing is hooked.
 * sched_switch is not exported to modules by name, but can be looked up.
 *
 * The CSR is part of the Debug specification's Sdtrig, optional, and may be
 * closed by the firmware (Smstateen): it is tried, and always written, with an
 * access that survives the illegal instruction exception.
 */
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <asm/asm-extable.h>

#include "encoder.h"

/* Not in <asm/csr.h> of the supported kernels; as a number in the code */
#define NTRACE_CSR_SCONTEXT	"0x5a8"

static DEFINE_MUTEX(ntrace_context_mutex);
static struct tracepoint *ntrace_tp_switch;
static unsigned int ntrace_context_users;
/* The hook that is registered, NULL if there is none */
static void *ntrace_context_hook;
/* CPUs that were tried, and of these the ones that have the CSR */
static struct cpumask ntrace_context_tried;
static struct cpumask ntrace_context_present;

/* If the access traps, nothing is written */
static __always_inline void ntrace_scontext_write(unsigned long val)
{
	asm volatile("1:	csrw " NTRACE_CSR_SCONTEXT ", %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : : "r" (val) : "memory");
}

/* As above; returns false if the access trapped */
static bool ntrace_scontext_try(unsigned long val)
{
	unsigned long ok = 0;

	asm volatile("1:	csrw " NTRACE_CSR_SCONTEXT ", %1\n"
		     "	li %0, 1\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : "+r" (ok) : "r" (val) : "memory");
	return ok;
}

/* Interrupts are off: current is the thread that runs, and no other comes between */
static void ntrace_context_try(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (ntrace_scontext_try(task_pid_nr(current)))
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

/* This CPU may have lost its state. Interrupts are off. */
void ntrace_context_restore(void)
{
	if (cpumask_test_cpu(smp_processor_id(), &ntrace_context_present))
		ntrace_scontext_write(task_pid_nr(current));
}

struct ntrace_tp_search {
	const char		*name;
	struct tracepoint	*tp;
};

static void ntrace_match_tracepoint(struct tracepoint *tp, void *priv)
{
	struct ntrace_tp_search *search = priv;

	if (!strcmp(tp->name, search->name))
		search->tp = tp;
}

/* A tracepoint that is not exported by name; NULL: there is none */
struct tracepoint *ntrace_find_tracepoint(const char *name)
{
	struct ntrace_tp_search search = { .name = name };

	for_each_kernel_tracepoint(ntrace_match_tracepoint, &search);
	return search.tp;
}

/* Why scontext is not written on all of @cpus, NULL if it is */
const char *ntrace_context_missing(const struct cpumask *cpus)
{
	if (!ntrace_tp_switch)
		ntrace_tp_switch = ntrace_find_tracepoint("sched_switch");
	if (!ntrace_tp_switch)
		return "the kernel has no tracepoint sched_switch";
	if (!cpumask_subset(cpus, &ntrace_context_tried))
		return "not yet tried on all CPUs";
	if (!cpumask_subset(cpus, &ntrace_context_present))
		return "no scontext CSR, or the firmware keeps it closed";
	return NULL;
}

/* Runs with the runqueue locked and interrupts off, just before the switch */
static notrace void ntrace_context_switch(void *data, bool preempt, struct task_struct *prev,
					  struct task_struct *next, unsigned int prev_state)
{
	ntrace_scontext_write(task_pid_nr(next));
}

/* The same if some CPUs have no scontext: a trap at each switch would cost too much */
static notrace void ntrace_context_switch_some(void *data, bool preempt, struct task_struct *prev,
					       struct task_struct *next, unsigned int prev_state)
{
	if (cpumask_test_cpu(smp_processor_id(), &ntrace_context_present))
		ntrace_scontext_write(task_pid_nr(next));
}

/* No event has wanted scontext for a second. One may have come back meanwhile */
static void ntrace_context_idle(struct work_struct *work)
{
	mutex_lock(&ntrace_context_mutex);
	if (!ntrace_context_users && ntrace_context_hook) {
		tracepoint_probe_unregister(ntrace_tp_switch, ntrace_context_hook, NULL);
		ntrace_context_hook = NULL;
	}
	mutex_unlock(&ntrace_context_mutex);
}

static DECLARE_DELAYED_WORK(ntrace_context_work, ntrace_context_idle);

/* From now on, each CPU that has scontext holds the id of its current thread there */
static int ntrace_context_register(void)
{
	void *hook = ntrace_context_switch;
	int ret;

	on_each_cpu(ntrace_context_try, NULL, 1);
	if (!cpumask_subset(cpu_possible_mask, &ntrace_context_present))
		hook = ntrace_context_switch_some;
	ret = tracepoint_probe_register(ntrace_tp_switch, hook, NULL);
	if (ret)
		return ret;
	/* The hook did not see earlier switches, so scontext is written once on each CPU */
	on_each_cpu(ntrace_context_try, NULL, 1);
	ntrace_context_hook = hook;
	return 0;
}

/* An event wants scontext of the traced @cpus; may sleep. 0 also if there is none to write. */
int ntrace_context_get(const struct cpumask *cpus)
{
	int ret = 0;

	mutex_lock(&ntrace_context_mutex);
	if (!ntrace_context_hook && !ntrace_context_missing(cpus))
		ret = ntrace_context_register();
	if (!ret)
		ntrace_context_users++;
	mutex_unlock(&ntrace_context_mutex);
	return ret;
}

/*
 * The hook stays for a second, as that of perf does: unregistering and registering it waits for RCU
 * and patches the kernel's code, and a program that opens one event after the other should not pay
 * for that each time.
 */
void ntrace_context_put(void)
{
	mutex_lock(&ntrace_context_mutex);
	if (!--ntrace_context_users && ntrace_context_hook)
		schedule_delayed_work(&ntrace_context_work, HZ);
	mutex_unlock(&ntrace_context_mutex);
}

/* Before the module goes: no CPU is in ntrace_context_switch() any more */
void ntrace_context_exit(void)
{
	flush_delayed_work(&ntrace_context_work);
	tracepoint_synchronize_unregister();
}
