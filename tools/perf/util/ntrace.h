/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_H__
#define INCLUDE__PERF_NTRACE_H__

#define NTRACE_PMU_NAME "ntrace"

union perf_event;
struct auxtrace_record;
struct perf_event_attr;
struct perf_pmu;
struct perf_session;

/* Recording, arch/riscv/util/auxtrace.c */
void ntrace_pmu_default_config(const struct perf_pmu *pmu, struct perf_event_attr *attr);

/* Decoding, util/ntrace.c: on any architecture */
int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session);

#endif
