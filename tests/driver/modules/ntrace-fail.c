// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function of the driver, or one that it calls, fails before it has done anything, or takes long:
 *
 *	insmod ntrace-fail.ko function=NAME error=-5 [times=N] [device=NAME] [break=1] [watch=1]
 *	insmod ntrace-fail.ko function=NAME delay=MS [cpu=N]
 *
 *	times		the first N calls fail; all, if it is left out
 *	device		only calls whose first argument is that device
 *	break		the first argument is a component, or begins with one: it is stuck from now on
 *	watch		no call fails; the first argument is a component, as for break
 *	delay		no call fails; one takes so many milliseconds more, and other CPUs wake meanwhile
 *	cpu		only calls on this CPU
 *
 * The parameter "hits" says how many calls that were, and "stuck" how many of them found the
 * component stuck. Without the module, all is as before.
 */
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/smp.h>
#include <linux/string.h>

#include "component.h"

static char *function = "", *device = "";
static int error = -EIO, cpu = -1;
static unsigned int times = UINT_MAX, delay, hits, stuck;
static bool breaks, watch;
module_param(function, charp, 0444);
module_param(device, charp, 0444);
module_param(error, int, 0444);
module_param(cpu, int, 0444);
module_param(delay, uint, 0444);
module_param(times, uint, 0444);
module_param_named(break, breaks, bool, 0444);
module_param(watch, bool, 0444);
module_param(hits, uint, 0444);
module_param(stuck, uint, 0444);

static DEFINE_RAW_SPINLOCK(fail_lock);

/* Is this a call that counts? */
static bool fail_count(struct ntrace_comp *comp)
{
	unsigned long flags;
	bool counts;

	raw_spin_lock_irqsave(&fail_lock, flags);
	counts = hits < times;
	if (counts) {
		hits++;
		stuck += (breaks || watch) && comp->stuck;
	}
	raw_spin_unlock_irqrestore(&fail_lock, flags);
	return counts;
}

static void fail_woken(void *unused)
{
}

static DEFINE_PER_CPU(call_single_data_t, fail_wake);

#define WAKE_MS	20

static void fail_delay(const struct pt_regs *regs)
{
	unsigned int left, other;

	/* The function may be one during which others can interrupt this CPU */
	if (regs->status & SR_PIE)
		local_irq_enable();
	for (left = delay / WAKE_MS; left; left--) {
		mdelay(WAKE_MS);
		for_each_online_cpu(other)
			if (other != raw_smp_processor_id())
				smp_call_function_single_async(other, &per_cpu(fail_wake, other));
	}
	local_irq_disable();
}

static int fail_before(struct kprobe *probe, struct pt_regs *regs)
{
	void *first = (void *)regs->a0;

	if (*device && strcmp(dev_name(first), device))
		return 0;
	if (cpu >= 0 && cpu != raw_smp_processor_id())
		return 0;
	if (!fail_count(first))
		return 0;
	fail_delay(regs);
	if (watch || delay)
		return 0;
	if (breaks)
		((struct ntrace_comp *)first)->stuck = true;
	/* Back to the caller: the function's first instruction has not saved anything yet */
	regs->a0 = error;
	regs->epc = regs->ra;
	return 1;
}

/* A probe that has one may change where the function goes on */
static void fail_after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe fail_probe = {
	.pre_handler = fail_before,
	.post_handler = fail_after,
};

/* Some kernels have no probe where ftrace has its own: on the two instructions that a function begins with */
#define FTRACE_SIZE	8

static int __init fail_init(void)
{
	unsigned int other;
	int ret;

	for_each_possible_cpu(other)
		INIT_CSD(&per_cpu(fail_wake, other), fail_woken, NULL);
	fail_probe.symbol_name = function;
	ret = register_kprobe(&fail_probe);
	if (ret != -EINVAL)
		return ret;
	fail_probe.addr = NULL;
	fail_probe.flags = 0;
	fail_probe.offset = FTRACE_SIZE;
	return register_kprobe(&fail_probe);
}
module_init(fail_init);

static void __exit fail_exit(void)
{
	unregister_kprobe(&fail_probe);
}
module_exit(fail_exit);

MODULE_DESCRIPTION("Failures and delays of chosen functions, for tests of the driver");
MODULE_LICENSE("GPL");
