// SPDX-License-Identifier: GPL-2.0-only
/*
 * This module simulates a hypervisor. When it is loaded, it writes @value to hcontext of all CPUs. To read hcontext
 * of each CPU, read the parameter "now".
 */
#include <linux/cpumask.h>
#include <linux/module.h>
#include <linux/smp.h>

/* <asm/csr.h> of the supported kernels lacks hcontext, so use its number. */
#define HCONTEXT	"0x6a8"

static unsigned long value = 1;
module_param(value, ulong, 0444);

static void hcontext_set(void *unused)
{
	asm volatile("csrw " HCONTEXT ", %0" : : "r" (value));
}

static void hcontext_get(void *arg)
{
	asm volatile("csrr %0, " HCONTEXT : "=r" (*(unsigned long *)arg));
}

static int now_get(char *buf, const struct kernel_param *param)
{
	unsigned int cpu;
	int len = 0;

	for_each_online_cpu(cpu) {
		unsigned long has = ~0UL;

		smp_call_function_single(cpu, hcontext_get, &has, 1);
		len += sysfs_emit_at(buf, len, len ? " %lu" : "%lu", has);
	}
	return len + sysfs_emit_at(buf, len, "\n");
}

static const struct kernel_param_ops now_ops = { .get = now_get };
module_param_cb(now, &now_ops, NULL, 0444);

static int __init hcontext_init(void)
{
	on_each_cpu(hcontext_set, NULL, 1);
	return 0;
}
module_init(hcontext_init);

static void __exit hcontext_exit(void)
{
}
module_exit(hcontext_exit);

MODULE_DESCRIPTION("hcontext as a hypervisor has left it");
MODULE_LICENSE("GPL");
