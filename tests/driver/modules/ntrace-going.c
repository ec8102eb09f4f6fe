// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delay a CPU that goes offline at a time when drivers have been notified, and when the CPU is still online.
 *
 *	insmod ntrace-going.ko ms=N
 *
 * Load this module before the drivers, because the kernel notifies hotplug callbacks in the reverse order of their
 * registration.
 */
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/module.h>

static unsigned int ms = 2000;
module_param(ms, uint, 0444);

static int going_state;

static int going_offline(unsigned int cpu)
{
	msleep(ms);
	return 0;
}

static int __init going_init(void)
{
	going_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "ntrace-going", NULL, going_offline);
	return going_state < 0 ? going_state : 0;
}
module_init(going_init);

static void __exit going_exit(void)
{
	cpuhp_remove_state_nocalls(going_state);
}
module_exit(going_exit);

MODULE_DESCRIPTION("CPUs that go offline slowly");
MODULE_LICENSE("GPL");
