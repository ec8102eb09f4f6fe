// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let one CPU panic while another CPU, which has stopped, holds all locks of the driver.
 *
 *	insmod ntrace-locks.ko comps=ADDRESS busy=ADDRESS mutexes=ADDRESS,... locks=ADDRESS,...
 *
 * The addresses from /proc/kallsyms are those of ntrace_comps and ntrace_record_busy, of the driver's mutexes, and of
 * the driver's raw spinlocks that do not belong to a component. If no parameter is set, nothing happens. In this
 * case, the module is only loaded so that a test can read its code from memory.
 */
#include <linux/kthread.h>
#include <linux/lockdep.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/spinlock.h>

#include "sink.h"

#define MAX_LOCKS	8

static unsigned long comps, busy, mutexes[MAX_LOCKS], locks[MAX_LOCKS];
static int nr_mutexes, nr_locks;
module_param(comps, ulong, 0444);
module_param(busy, ulong, 0444);
module_param_array(mutexes, ulong, &nr_mutexes, 0444);
module_param_array(locks, ulong, &nr_locks, 0444);

/* 0 until all locks are held, and the number of locks afterwards */
static unsigned int held;

static unsigned int hold_mutexes(void)
{
	int i;

	for (i = 0; i < nr_mutexes; i++)
		mutex_lock((struct mutex *)mutexes[i]);
	return nr_mutexes;
}

/* Take all locks. The caller has disabled interrupts, which remain disabled. */
static unsigned int hold_locks(void)
{
	struct ntrace_comp *comp;
	unsigned int nr = 0;
	int i;

	list_for_each_entry(comp, (struct list_head *)comps, node) {
		if (comp->ops->is_sink) {
			raw_spin_lock(&to_ntrace_sink(comp)->lock);
			nr++;
		}
		raw_spin_lock(&comp->lock);
		nr++;
	}
	for (i = 0; i < nr_locks; i++, nr++)
		raw_spin_lock((raw_spinlock_t *)locks[i]);
	while (atomic_cmpxchg((atomic_t *)busy, 0, 1))
		cpu_relax();
	return nr + 1;
}

static int hold_all(void *unused)
{
	unsigned int nr;

	/* Switch lockdep off, because it would report that one CPU holds several locks of the same class. */
	lockdep_off();
	nr = hold_mutexes();
	local_irq_disable();
	WRITE_ONCE(held, nr + hold_locks());
	for (;;)
		cpu_relax();
	return 0;
}

static noinline void guilty_of_locks(unsigned int nr)
{
	panic("locks: a dead CPU holds %u", nr);
}

static int __init locks_init(void)
{
	struct task_struct *task;
	unsigned int cpu, nr;

	if (!comps && !busy)
		return 0;
	if (!comps || !busy || !nr_mutexes || !nr_locks)
		return -EINVAL;
	task = kthread_create(hold_all, NULL, "ntrace-locks");
	if (IS_ERR(task))
		return PTR_ERR(task);
	cpu = get_cpu();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, cpu));
	wake_up_process(task);
	do {
		nr = READ_ONCE(held);
	} while (!nr);
	guilty_of_locks(nr);
	return 0;
}
module_init(locks_init);

MODULE_DESCRIPTION("Locks of the driver that a dead CPU holds, for tests of the flight recorder");
MODULE_LICENSE("GPL");
