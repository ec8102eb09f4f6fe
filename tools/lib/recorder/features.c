// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file writes the features in the header of perf.data, which describe the system and the
 * recording.
 */
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder-priv.h"

static void add_cmdline(const struct nt_recorder *r, struct pd_bytes *to)
{
	uint32_t nr = 0;

	while (r->options.argv && r->options.argv[nr])
		nr++;
	pd_add_u32(to, nr);
	for (uint32_t i = 0; i < nr; i++)
		pd_add_string(to, r->options.argv[i]);
}

static void add_events(const struct nt_recorder *r, struct pd_bytes *to)
{
	const struct rec_event *e;

	pd_add_u32(to, r->nr_events);
	pd_add_u32(to, sizeof(e->attr));
	for (e = r->events; e < r->events + r->nr_events; e++) {
		pd_add(to, &e->attr, sizeof(e->attr));
		pd_add_u32(to, e->nr_ids);
		pd_add_string(to, e->name);
		pd_add(to, e->ids, 8 * e->nr_ids);
	}
}

/* Add the offsets of trace in the file, so that a reader finds the trace without reading all records. */
static void add_index(const struct nt_recorder *r, struct pd_bytes *to)
{
	pd_add_u64(to, r->out.chunks.nr);
	pd_add(to, r->out.chunks.at, r->out.chunks.nr * sizeof(*r->out.chunks.at));
}

void rec_features(struct nt_recorder *r, struct pd_bytes *features)
{
	struct utsname uts;

	uname(&uts);
	rec_build_ids(r, &features[PD_FEAT_BUILD_ID]);
	pd_add_string(&features[PD_FEAT_HOSTNAME], uts.nodename);
	pd_add_string(&features[PD_FEAT_OSRELEASE], uts.release);
	pd_add_string(&features[PD_FEAT_VERSION], r->options.version ?: "");
	pd_add_string(&features[PD_FEAT_ARCH], uts.machine);
	pd_add_u32(&features[PD_FEAT_NRCPUS], sysconf(_SC_NPROCESSORS_CONF));
	pd_add_u32(&features[PD_FEAT_NRCPUS], sysconf(_SC_NPROCESSORS_ONLN));
	pd_add_u64(&features[PD_FEAT_TOTAL_MEM], (uint64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024));
	add_cmdline(r, &features[PD_FEAT_CMDLINE]);
	add_events(r, &features[PD_FEAT_EVENT_DESC]);
	pd_add_u32(&features[PD_FEAT_PMU_MAPPINGS], 1);
	pd_add_u32(&features[PD_FEAT_PMU_MAPPINGS], r->pmu_type);
	pd_add_string(&features[PD_FEAT_PMU_MAPPINGS], "ntrace");
	add_index(r, &features[PD_FEAT_AUXTRACE]);
	if (*r->folder)
		pd_add_u64(&features[PD_FEAT_DIR_FORMAT], 0);
}
