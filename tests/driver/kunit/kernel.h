/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Run the cases of tests/driver/registers*.c in a kernel, as KUnit tests. Include this header before any other
 * header. The model handles accesses to registers, and the driver writes its messages to a buffer that the cases
 * read.
 */
#ifndef KUNIT_KERNEL_H
#define KUNIT_KERNEL_H

#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/limits.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/types.h>

extern char shim_log[16384];
extern unsigned long shim_timebase;
__printf(1, 2) void shim_printk(const char *fmt, ...);
u32 fake_readl(const volatile void *addr);
void fake_writel(u32 val, volatile void *addr);
u64 fake_cycles(void);

static inline int fake_set_mask(struct device *dev, u64 mask)
{
	return mask < 0xffff ? -EIO : 0;
}

#undef readl
#undef readl_relaxed
#undef writel_relaxed
#undef dev_err
#undef dev_warn
#undef dev_info
#undef dev_printk
#define readl				fake_readl
#define readl_relaxed			fake_readl
#define writel_relaxed			fake_writel
#define get_cycles64			fake_cycles
#define riscv_timebase			shim_timebase
#define dma_set_mask_and_coherent	fake_set_mask
#define dev_err(dev, ...)		((void)(dev), shim_printk(__VA_ARGS__))
#define dev_warn(dev, ...)		((void)(dev), shim_printk(__VA_ARGS__))
#define dev_info(dev, ...)		((void)(dev), shim_printk(__VA_ARGS__))
#define dev_printk(level, dev, ...)	((void)(dev), shim_printk(__VA_ARGS__))

#endif
