// SPDX-License-Identifier: GPL-2.0-only
/*
 * Select a function that the driver contains or calls. Let this function return an error immediately, or delay its
 * calls.
 *
 *	insmod ntrace-fail.ko function=NAME error=-5 [times=N] [device=NAME] [break=1] [watch=1]
 *	insmod ntrace-fail.ko function=NAME delay=MS [cpu=N]
 *
 *	times		let only the first N calls fail, or all without this parameter
 *	device		select only calls whose first argument is the device with this name
 *	break		also mark the component in the first argument of the call as stuck. The argument can be
 *			a structure that begins with a component
 *	watch		let no call fail, but count the calls. The first argument must be as for break
 *	delay		let no call fail, but delay each selected call by MS milliseconds. During the delay, the module
 *			wakes idle CPUs by interrupts, every 20 ms
 *	cpu		select only calls on this CPU
 *
 * The parameter "hits" is the number of selected calls, and "stuck" is the number of calls that found the component
 * marked stuck. When the module is removed, the function works normally.
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

/* Return true if the module's parameters select this call */
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

	/* If the function runs with interrupts enabled, allow interrupts during this delay */
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
	/*
	 * Return to the caller immediately, because the function has not executed its first instruction, and has
	 * saved nothing
	 */
	regs->a0 = error;
	regs->epc = regs->ra;
	return 1;
}

/*
 * Do nothing. If a probe has no post-handler, the kernel may replace the probe by a jump, and the pre-handler can then
 * not change the address at which the CPU continues
 */
static void fail_after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe fail_probe = {
	.pre_handler = fail_before,
	.post_handler = fail_after,
};

/*
 * size in bytes of the first two instructions of a function, which ftrace replaces. If a kernel cannot place a probe
 * there, the probe is after them.
 */
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
