// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cause a fault of the system, for tests of the flight recorder. how=NAME selects the fault.
 *
 *	panic		the kernel panics
 *	oops		a write to an invalid address
 *	hang		the CPU hangs with interrupts off, so that only a watchdog resets it
 *	lockup		the CPU hangs with interrupts on, which the soft lockup detector notices
 *	none		nothing happens, and the code is only loaded so that it can be read
 *	deadlock	two threads wait for each other, which the hung task detector notices
 *	spin		two CPUs wait for each other with interrupts off, so that only a watchdog helps
 *
 * The names of functions that the tests search for in the trace begin with "guilty_".
 */
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/panic.h>
#include <linux/spinlock.h>

static char *how = "";
module_param(how, charp, 0444);

static DEFINE_MUTEX(first);
static DEFINE_MUTEX(second);
static unsigned long count;

static noinline void work(void)
{
	WRITE_ONCE(count, count + 1);
}

static noinline void guilty_panic(void)
{
	work();
	panic("trouble: it panics on purpose");
}

static noinline void guilty_oops(void)
{
	work();
	WRITE_ONCE(*(int *)8, 1);
}

static noinline void guilty_step(void)
{
	work();
	cpu_relax();
}

static noinline void guilty_hang(void)
{
	local_irq_disable();
	for (;;)
		guilty_step();
}

static noinline void guilty_lockup(void)
{
	preempt_disable();
	for (;;)
		guilty_step();
}

/* Wait for @mutex. The other thread holds @mutex for ever */
static noinline void guilty_wait(struct mutex *mutex)
{
	mutex_lock(mutex);
	mutex_unlock(mutex);
}

static int guilty_one(void *unused)
{
	mutex_lock(&first);
	msleep(50);
	guilty_wait(&second);
	mutex_unlock(&first);
	return 0;
}

static int guilty_two(void *unused)
{
	mutex_lock(&second);
	msleep(50);
	guilty_wait(&first);
	mutex_unlock(&second);
	return 0;
}

/* Two CPUs hold one lock each. With interrupts off, each CPU waits for the lock of the other CPU */
static DEFINE_SPINLOCK(north);
static DEFINE_SPINLOCK(south);
static atomic_t held = ATOMIC_INIT(0);

static noinline bool try_lock(spinlock_t *lock)
{
	bool got = spin_trylock(lock);

	work();
	return got;
}

static noinline void hold(spinlock_t *lock)
{
	local_irq_disable();
	spin_lock(lock);
	atomic_inc(&held);
	while (atomic_read(&held) < 2)
		cpu_relax();
}

static noinline void guilty_take_south(void)
{
	while (!try_lock(&south))
		cpu_relax();
}

static noinline void guilty_take_north(void)
{
	while (!try_lock(&north))
		cpu_relax();
}

static int north_then_south(void *unused)
{
	hold(&north);
	guilty_take_south();
	return 0;
}

static int south_then_north(void *unused)
{
	hold(&south);
	guilty_take_north();
	return 0;
}

static int spin(void)
{
	struct task_struct *one, *two;

	one = kthread_create_on_cpu(north_then_south, NULL, 0, "trouble-north");
	two = kthread_create_on_cpu(south_then_north, NULL, 1, "trouble-south");
	if (IS_ERR(one) || IS_ERR(two))
		return -ENOMEM;
	wake_up_process(two);
	wake_up_process(one);
	return 0;
}

static int __init trouble_init(void)
{
	/* The deadlock is intended. lockdep would report it, and then ignore all later errors */
	lockdep_set_novalidate_class(&first);
	lockdep_set_novalidate_class(&second);
	if (!strcmp(how, "panic"))
		guilty_panic();
	if (!strcmp(how, "oops"))
		guilty_oops();
	if (!strcmp(how, "hang"))
		guilty_hang();
	if (!strcmp(how, "lockup"))
		guilty_lockup();
	if (!strcmp(how, "none"))
		return 0;
	if (!strcmp(how, "spin"))
		return spin();
	if (strcmp(how, "deadlock"))
		return -EINVAL;
	kthread_run(guilty_one, NULL, "trouble-one");
	kthread_run(guilty_two, NULL, "trouble-two");
	return 0;
}
module_init(trouble_init);

MODULE_DESCRIPTION("Trouble for tests of the flight recorder");
MODULE_LICENSE("GPL");
