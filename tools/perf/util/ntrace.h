/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef INCLUDE__PERF_NTRACE_H__
#define INCLUDE__PERF_NTRACE_H__

#define NTRACE_PMU_NAME "ntrace"

#include <stdbool.h>
#include <linux/types.h>

union perf_event;
struct auxtrace_record;
struct perf_event_attr;
struct perf_insn;
struct perf_pmu;
struct perf_session;

/* Set the default configuration of an event for perf record; in arch/riscv/util/auxtrace.c */
void ntrace_pmu_default_config(const struct perf_pmu *pmu, struct perf_event_attr *attr);

/* Return the text to append to perf's message about a missing PMU, or "" if it is not the PMU "ntrace" */
const char *ntrace_missing_hint(const char *pmu_name);

/* Do the same as perf's dump_insn() and arch_is_uncond_branch(), also for RISC-V code; in util/ntrace-insn.c */
const char *ntrace_dump_insn(struct perf_insn *x, u64 ip, u8 *inbuf, int inlen, int *lenp);
bool ntrace_is_uncond_branch(const struct perf_insn *x, const u8 *buf, size_t len);

/* Begin to decode N-Trace, on a machine of any architecture; in util/ntrace.c. Return 0 or an error. */
int ntrace_process_auxtrace_info(union perf_event *event, struct perf_session *session);

#endif
