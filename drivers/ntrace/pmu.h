/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The PMU, for the platform driver.
 */
#ifndef NTRACE_PMU_H
#define NTRACE_PMU_H

struct ntrace_encoder;
struct ntrace_sink;

int ntrace_pmu_register(void);
void ntrace_pmu_unregister(void);
void ntrace_pmu_link(struct ntrace_encoder *enc);
void ntrace_pmu_unlink(struct ntrace_encoder *enc);
void ntrace_pmu_detach(struct ntrace_encoder *enc);
void ntrace_pmu_add_sink(struct ntrace_sink *sink);
void ntrace_pmu_del_sink(struct ntrace_sink *sink);
void ntrace_pmu_suspend(void);
void ntrace_pmu_resume(void);
int ntrace_cpus_init(void (*came)(void));
void ntrace_cpus_exit(void);

#endif /* NTRACE_PMU_H */
