/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the kernels Linux 6.12 to 7.3, which are all handled in this file.
 */
#ifndef NTRACE_COMPAT_H
#define NTRACE_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/panic.h>
#include <linux/perf_event.h>
#include <linux/version.h>
#include <linux/workqueue.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void ntrace_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*fn)(struct hrtimer *),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#else
#define ntrace_hrtimer_setup	hrtimer_setup
#endif

/* Workqueues have new names since Linux 6.17, and Linux 7.2 warns about the old names */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 17, 0)
#define system_percpu_wq	system_wq
#define system_dfl_wq		system_unbound_wq
#endif

/*
 * This capability requests long runs of contiguous AUX pages, which the driver needs for long
 * windows. In kernels without this capability, every PMU gets long runs.
 */
#ifdef PERF_PMU_CAP_AUX_PREFER_LARGE
#define NTRACE_PMU_CAP_LARGE	PERF_PMU_CAP_AUX_PREFER_LARGE
#else
#define NTRACE_PMU_CAP_LARGE	0
#endif

/*
 * With this capability, which exists since Linux 6.13 and in some kernels of version 6.12, other
 * events can pause and resume AUX area tracing
 */
#ifdef PERF_PMU_CAP_AUX_PAUSE
#define NTRACE_PMU_CAP_PAUSE	PERF_PMU_CAP_AUX_PAUSE
#define NTRACE_EF_PAUSE		PERF_EF_PAUSE
#define NTRACE_EF_RESUME	PERF_EF_RESUME
static inline bool ntrace_event_is_paused(const struct perf_event *event)
{
	return READ_ONCE(event->hw.aux_paused);
}
#else
#define NTRACE_PMU_CAP_PAUSE	0
#define NTRACE_EF_PAUSE		0
#define NTRACE_EF_RESUME	0
static inline bool ntrace_event_is_paused(const struct perf_event *event)
{
	return false;
}
#endif

/*
 * Return true if this CPU panics. Linux 6.18 exports this information, and so do later stable
 * releases of 6.12. On an older kernel, the driver treats a panic as an oops until its panic
 * notifiers run.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 18, 0) || \
	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 12, 117) && \
	 LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0))
#define ntrace_cpu_panics	panic_on_this_cpu
#else
static inline bool ntrace_cpu_panics(void)
{
	return false;
}
#endif

/* Functions of binary files take const arguments since Linux 6.17 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define NTRACE_BIN_ATTR		const struct bin_attribute
#else
#define NTRACE_BIN_ATTR		struct bin_attribute
#endif

/*
 * Return true if one of the fields config1 to config4 of perf_event_attr is set. Events of this PMU
 * use only the field config.
 */
static inline bool ntrace_attr_has_more(const struct perf_event_attr *attr)
{
#ifdef PERF_ATTR_SIZE_VER9
	if (attr->config4)
		return true;
#endif
	return attr->config1 || attr->config2 || attr->config3;
}

#endif /* NTRACE_COMPAT_H */
