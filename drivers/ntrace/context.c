// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver writes the id of the thread that a hart runs to the CSR scontext. The encoder sends
 * this id in Ownership messages.
 *
 * While an event needs scontext, and for one second more, the driver writes the thread id (in the
 * initial pid namespace) at each task switch. At other times, the driver does not hook task
 * switches. The tracepoint sched_switch is not exported to modules by name, so the driver looks it
 * up.
 *
 * The CSR scontext is part of the Debug specification's Sdtrig. It is optional,
 * and the firmware may deny access to it (Smstateen). So the driver tries to
 * write it on each CPU. Each write handles an illegal instruction exception.
 */
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <asm/asm-extable.h>

#include "encoder.h"

/*
 * CSR number as text for the assembler, because <asm/csr.h> of the supported kernels does not
 * define it
 */
#define NTRACE_CSR_SCONTEXT	"0x5a8"

static DEFINE_MUTEX(ntrace_context_mutex);
static struct tracepoint *ntrace_tp_switch;
static unsigned int ntrace_context_users;
/* Function that is registered at the tracepoint sched_switch, or NULL */
static void *ntrace_context_hook;
/* CPUs that have tried to write the CSR, and the CPUs on which this has succeeded */
static struct cpumask ntrace_context_tried;
static struct cpumask ntrace_context_present;

/* Write the CSR. Nothing is written if the access traps. */
static __always_inline void ntrace_scontext_write(unsigned long val)
{
	asm volatile("1:	csrw " NTRACE_CSR_SCONTEXT ", %0\n"
		     "2:\n"
		     _ASM_EXTABLE(1b, 2b)
		     : : "r" (val) : "memory");
}

/* Write the CSR. Return false if the access trapped. */
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

/*
 * Try to write the id of the current thread to the CSR of this CPU. Interrupts are off, so this
 * thread continues to run until the next task switch, and that switch also writes the CSR.
 */
static void ntrace_context_try(void *unused)
{
	unsigned int cpu = smp_processor_id();

	if (ntrace_scontext_try(task_pid_nr(current)))
		cpumask_set_cpu(cpu, &ntrace_context_present);
	else
		cpumask_clear_cpu(cpu, &ntrace_context_present);
	cpumask_set_cpu(cpu, &ntrace_context_tried);
}

/* Try to write the CSR on @cpu. May sleep. */
void ntrace_context_probe(unsigned int cpu)
{
	smp_call_function_single(cpu, ntrace_context_try, NULL, 1);
}

/* Write the CSR again, because this CPU may have lost its state. Interrupts are off. */
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

/*
 * Find a tracepoint by its name, because the kernel does not export it. Return NULL if it does not
 * exist.
 */
struct tracepoint *ntrace_find_tracepoint(const char *name)
{
	struct ntrace_tp_search search = { .name = name };

	for_each_kernel_tracepoint(ntrace_match_tracepoint, &search);
	return search.tp;
}

/* Return the reason why scontext is not written on all of @cpus, or NULL if it is written on all */
const char *ntrace_context_missing(const struct cpumask *cpus)
{
	if (!ntrace_tp_switch)
		ntrace_tp_switch = ntrace_find_tracepoint("sched_switch");
	if (!ntrace_tp_switch)
		return "the kernel has no tracepoint sched_switch";
	if (!cpumask_subset(cpus, &ntrace_context_tried))
		return "not yet tried on all CPUs";
	if (!cpumask_subset(cpus, &ntrace_context_present))
		return "no scontext CSR, or the firmware denies access to it";
	return NULL;
}

/* Called just before the switch, with the runqueue locked and interrupts off */
static notrace void ntrace_context_switch(void *data, bool preempt, struct task_struct *prev,
					  struct task_struct *next, unsigned int prev_state)
{
	ntrace_scontext_write(task_pid_nr(next));
}

/*
 * Like ntrace_context_switch(), but write nothing on a CPU without scontext, because a trap at each
 * switch would cost too much
 */
static notrace void ntrace_context_switch_some(void *data, bool preempt, struct task_struct *prev,
					       struct task_struct *next, unsigned int prev_state)
{
	if (cpumask_test_cpu(smp_processor_id(), &ntrace_context_present))
		ntrace_scontext_write(task_pid_nr(next));
}

/*
 * Remove the tracepoint hook one second after the last event that used scontext, unless a new event
 * started
 */
static void ntrace_context_idle(struct work_struct *work)
{
	guard(mutex)(&ntrace_context_mutex);
	if (!ntrace_context_users && ntrace_context_hook) {
		tracepoint_probe_unregister(ntrace_tp_switch, ntrace_context_hook, NULL);
		ntrace_context_hook = NULL;
	}
}

static DECLARE_DELAYED_WORK(ntrace_context_work, ntrace_context_idle);

/* Register the hook, and write the current thread id on each CPU that has scontext */
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
	/* The hook was not called for earlier task switches, so write scontext once on each CPU */
	on_each_cpu(ntrace_context_try, NULL, 1);
	ntrace_context_hook = hook;
	return 0;
}

/* Enable scontext for an event on the traced @cpus. May sleep. Return 0 even if no CPU has it. */
int ntrace_context_get(const struct cpumask *cpus)
{
	int ret = 0;

	guard(mutex)(&ntrace_context_mutex);
	if (!ntrace_context_hook && !ntrace_context_missing(cpus))
		ret = ntrace_context_register();
	if (!ret)
		ntrace_context_users++;
	return ret;
}

/*
 * Release scontext for an event. The hook stays registered for one second, like perf's own hooks.
 * Unregistering and registering a hook waits for RCU and patches the kernel's code, which would
 * delay a program that opens one event after another.
 */
void ntrace_context_put(void)
{
	guard(mutex)(&ntrace_context_mutex);
	if (!--ntrace_context_users && ntrace_context_hook)
		schedule_delayed_work(&ntrace_context_work, HZ);
}

/* Unregister the hook, and wait until no CPU runs it, because the module is being unloaded */
void ntrace_context_exit(void)
{
	flush_delayed_work(&ntrace_context_work);
	tracepoint_synchronize_unregister();
}
