// SPDX-License-Identifier: GPL-2.0-only
/*
 * This module is an AUX PMU without hardware, which does only the work that perf requires. tests/driver/cost.c
 * compares a task switch of the driver with a task switch of this PMU. config is the number of bytes, below 4096,
 * that the PMU reports as written each time. In a snapshot buffer, the PMU returns the new head instead, because the
 * kernel expects the new head there. If NULL_QUIET is set, the PMU reports 0 bytes in a snapshot buffer, so that perf
 * writes no record.
 */
#include <linux/module.h>
#include <linux/perf_event.h>
#include <linux/slab.h>

#define NULL_QUIET	BIT(12)

static DEFINE_PER_CPU(struct perf_output_handle, null_handle);

static int null_event_init(struct perf_event *event)
{
	if (event->attr.type != event->pmu->type)
		return -ENOENT;
	return event->attr.config < 2 * NULL_QUIET ? 0 : -EINVAL;
}

static void null_start(struct perf_event *event, int flags)
{
	event->hw.state = 0;
	if (!perf_aux_output_begin(this_cpu_ptr(&null_handle), event))
		event->hw.state = PERF_HES_STOPPED;
}

static void null_stop(struct perf_event *event, int flags)
{
	struct perf_output_handle *handle = this_cpu_ptr(&null_handle);
	unsigned long size = event->attr.config & (NULL_QUIET - 1);
	const bool *overwrite;

	if (event->hw.state & PERF_HES_STOPPED)
		return;
	event->hw.state |= PERF_HES_STOPPED | PERF_HES_UPTODATE;
	overwrite = perf_get_aux(handle);
	if (*overwrite)
		handle->head += size;
	perf_aux_output_end(handle, event->attr.config & NULL_QUIET ? 0 : size);
}

static int null_add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_UPTODATE | PERF_HES_STOPPED;
	if (flags & PERF_EF_START)
		null_start(event, 0);
	return 0;
}

static void null_del(struct perf_event *event, int flags)
{
	null_stop(event, PERF_EF_UPDATE);
}

static void null_read(struct perf_event *event)
{
}

static void *null_setup_aux(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	bool *mode = kzalloc(sizeof(*mode), GFP_KERNEL);

	if (mode)
		*mode = overwrite;
	return mode;
}

static void null_free_aux(void *aux)
{
	kfree(aux);
}

static struct pmu null_pmu = {
	.module		= THIS_MODULE,
	.capabilities	= PERF_PMU_CAP_EXCLUSIVE | PERF_PMU_CAP_ITRACE,
	.task_ctx_nr	= perf_sw_context,
	.event_init	= null_event_init,
	.add		= null_add,
	.del		= null_del,
	.start		= null_start,
	.stop		= null_stop,
	.read		= null_read,
	.setup_aux	= null_setup_aux,
	.free_aux	= null_free_aux,
};

static int __init null_init(void)
{
	return perf_pmu_register(&null_pmu, "ntrace_null", -1);
}
module_init(null_init);

static void __exit null_exit(void)
{
	perf_pmu_unregister(&null_pmu);
}
module_exit(null_exit);

MODULE_DESCRIPTION("An AUX PMU that does nothing");
MODULE_LICENSE("GPL");
