/* SPDX-License-Identifier: GPL-2.0-only */
/* The components, the route from each encoder to its sink, and their files in sysfs and debugfs. */
#ifndef NTRACE_TOPOLOGY_H
#define NTRACE_TOPOLOGY_H

#include <linux/cleanup.h>
#include <linux/cpumask.h>
#include <linux/list.h>
#include <linux/mod_devicetable.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "power.h"

struct attribute_group;
struct ntrace_comp;
struct ntrace_encoder;
struct ntrace_sink;

/* A scope in which all CPUs are kept awake */
DEFINE_LOCK_GUARD_0(ntrace_awake, ntrace_keep_awake(), ntrace_let_sleep())

/* registry.c */
extern struct mutex ntrace_mutex;
extern struct list_head ntrace_comps;
struct ntrace_encoder *ntrace_encoder_of(unsigned int cpu);
const struct cpumask *ntrace_cpus(void);
void ntrace_take_bases(const struct cpumask *cpus);
void ntrace_recount(struct ntrace_encoder *enc);
struct ntrace_sink *ntrace_sink_at(unsigned int index);
unsigned int ntrace_nr_sinks(void);
void ntrace_registry_add_encoder(struct ntrace_encoder *enc);
void ntrace_registry_del_encoder(struct ntrace_encoder *enc);
int ntrace_registry_add_sink(struct ntrace_sink *sink);
void ntrace_registry_del_sink(struct ntrace_sink *sink);

/* topology.c */
#define NTRACE_COMPATIBLE	"riscv,trace-component"
extern const struct of_device_id ntrace_of_match[];
int ntrace_cpu_hold(unsigned int cpu);
void ntrace_cpu_release(unsigned int cpu);
struct ntrace_encoder *ntrace_connect(void);
void ntrace_disconnect(struct ntrace_encoder *enc);
struct ntrace_encoder *ntrace_encoder_through(const struct ntrace_comp *comp);
void ntrace_report_unconnected(void);
bool ntrace_is_held(const struct ntrace_comp *comp);

/* sysfs.c */
const struct attribute_group **ntrace_comp_groups(const struct ntrace_comp *comp);

/* debugfs.c */
void ntrace_debugfs_add(struct ntrace_comp *comp);
void ntrace_debugfs_remove(struct ntrace_comp *comp);
void ntrace_debugfs_init(void);
void ntrace_debugfs_exit(void);

#endif /* NTRACE_TOPOLOGY_H */
