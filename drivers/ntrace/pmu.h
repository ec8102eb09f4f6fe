/* SPDX-License-Identifier: GPL-2.0-only */
/* The PMU, its attributes, the checks of an event, and the functions for the platform driver */
#ifndef NTRACE_PMU_H
#define NTRACE_PMU_H

#include "encoder.h"
#include "session.h"

struct attribute_group;
struct device;
struct perf_event;

/**
 * struct ntrace_event - private data of an event
 * @want: Its settings
 * @cpu: CPU on which it last ran, for a filter with a latch
 * @holds: The event keeps components resumed; false for an inherited event, whose parent keeps them
 * @context: The event has called ntrace_context_get()
 */
struct ntrace_event {
	struct ntrace_want	want;
	unsigned int		cpu;
	bool			holds;
	bool			context;
};

/* pmu-attrs.c */
extern const struct attribute_group *ntrace_pmu_groups[];
struct ntrace_caps ntrace_common_caps(void);
unsigned int ntrace_nr_ranges(bool latch);
void ntrace_fields_init(void);

/* pmu-check.c */
int ntrace_event_check(struct perf_event *event, struct ntrace_event *priv);
void ntrace_event_inherit(const struct perf_event *event, struct ntrace_event *priv);
void ntrace_event_release(const struct perf_event *event, unsigned int end);

/* pmu.c */
int ntrace_pmu_register(void);
void ntrace_pmu_unregister(void);
void ntrace_pmu_link(struct ntrace_encoder *enc);
void ntrace_pmu_unlink(struct ntrace_encoder *enc);
void ntrace_pmu_detach(struct ntrace_encoder *enc);
int ntrace_pmu_suspend(struct device *dev);
int ntrace_pmu_resume(struct device *dev);
int ntrace_cpus_init(void (*came)(void));
void ntrace_cpus_exit(void);

#endif /* NTRACE_PMU_H */
