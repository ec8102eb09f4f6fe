/* SPDX-License-Identifier: GPL-2.0-only */
/* Rules for access to registers of a component */
#ifndef NTRACE_POWER_H
#define NTRACE_POWER_H

#include <linux/types.h>

struct device_node;
struct ntrace_comp;

/* power.c */
void ntrace_sync_cpus(void);
void ntrace_keep_awake(void);
void ntrace_let_sleep(void);
void ntrace_wait_asleep(unsigned int cpu);
void ntrace_cpu_stays(unsigned int cpu);
int ntrace_node_cpu(const struct device_node *node);
bool ntrace_has_power(const struct ntrace_comp *comp);
bool ntrace_waits_for_cpu(const struct ntrace_comp *comp);
bool ntrace_somebody_waits(void);
void ntrace_nobody_waits(void);
bool ntrace_serves_active(const struct ntrace_comp *comp);
int ntrace_power_find(struct ntrace_comp *comp);
int ntrace_power_up(struct ntrace_comp *comp);
void ntrace_power_down(struct ntrace_comp *comp);
int ntrace_power_get(struct ntrace_comp *comp);
void ntrace_power_put(struct ntrace_comp *comp);

#endif /* NTRACE_POWER_H */
