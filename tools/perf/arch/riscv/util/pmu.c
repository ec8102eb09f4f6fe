// SPDX-License-Identifier: GPL-2.0-only
/* Set-up of the PMUs of RISC-V that perf recognises by name. */
#include <string.h>

#include "../../../util/mem-events.h"
#include "../../../util/ntrace.h"
#include "../../../util/pmu.h"

void perf_pmu__arch_init(struct perf_pmu *pmu)
{
	/* Set the memory events of a core PMU, as perf's default function (__weak) of this name does */
	if (pmu->is_core)
		pmu->mem_events = perf_mem_events;

	if (strcmp(pmu->name, NTRACE_PMU_NAME))
		return;

	pmu->auxtrace = true;
	pmu->selectable = true;
	pmu->is_uncore = false;
	pmu->perf_event_attr_init_default = ntrace_pmu_default_config;
}
