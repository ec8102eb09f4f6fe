// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* This file writes the features of the header, which describe the system and the recording. */
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "recorder-priv.h"

/* Values of the enum in the kernel's tools/perf/util/header.h that enum pd_feature does not have */
enum {
	FEAT_VERSION		= 5,
	FEAT_ARCH		= 6,
	FEAT_NRCPUS		= 7,
	FEAT_TOTAL_MEM		= 10,
	FEAT_EVENT_DESC		= 12,
	FEAT_PMU_MAPPINGS	= 16,
	FEAT_AUXTRACE		= 18,
	FEAT_DIR_FORMAT		= 24,
};

#define NAME_ALIGN	64	/* strings are padded to a multiple */

static void add_u32(struct rec_text *text, uint32_t value)
{
	rec_text_add(text, &value, sizeof(value));
}

static void add_u64(struct rec_text *text, uint64_t value)
{
	rec_text_add(text, &value, sizeof(value));
}

void rec_text_string(struct rec_text *text, const char *string)
{
	static const char zeros[NAME_ALIGN];
	size_t len = strlen(string) + 1, padding = -len % NAME_ALIGN;

	add_u32(text, len + padding);
	rec_text_add(text, string, len);
	rec_text_add(text, zeros, padding);
}

static void add_cmdline(const struct nt_recorder *r, struct rec_text *text)
{
	uint32_t nr = 0;

	while (r->options.argv && r->options.argv[nr])
		nr++;
	add_u32(text, nr);
	for (uint32_t i = 0; i < nr; i++)
		rec_text_string(text, r->options.argv[i]);
}

static void add_events(const struct nt_recorder *r, struct rec_text *text)
{
	const struct rec_event *e;

	add_u32(text, r->nr_events);
	add_u32(text, sizeof(e->attr));
	for (e = r->events; e < r->events + r->nr_events; e++) {
		rec_text_add(text, &e->attr, sizeof(e->attr));
		add_u32(text, e->nr_ids);
		rec_text_string(text, e->name);
		rec_text_add(text, e->ids, 8 * e->nr_ids);
	}
}

/* Add the places of trace in the file, so that a reader finds it without reading all events. */
static void add_index(const struct nt_recorder *r, struct rec_text *text)
{
	add_u64(text, r->out.chunks.nr);
	rec_text_add(text, r->out.chunks.at, r->out.chunks.nr * sizeof(*r->out.chunks.at));
}

static void add_cpus(struct rec_text *text)
{
	add_u32(text, sysconf(_SC_NPROCESSORS_CONF));
	add_u32(text, sysconf(_SC_NPROCESSORS_ONLN));
}

static void add_pmu(const struct nt_recorder *r, struct rec_text *text)
{
	add_u32(text, 1);
	add_u32(text, r->pmu_type);
	rec_text_string(text, "ntrace");
}

bool rec_feature(struct nt_recorder *r, unsigned int nth, struct rec_text *text)
{
	struct utsname uts;

	uname(&uts);
	switch (nth) {
	case PD_FEAT_BUILD_ID:
		rec_build_ids(r, text);
		return text->bytes.nr;
	case PD_FEAT_HOSTNAME:
		rec_text_string(text, uts.nodename);
		return true;
	case PD_FEAT_OSRELEASE:
		rec_text_string(text, uts.release);
		return true;
	case FEAT_VERSION:
		rec_text_string(text, r->options.version ? r->options.version : "");
		return true;
	case FEAT_ARCH:
		rec_text_string(text, uts.machine);
		return true;
	case FEAT_NRCPUS:
		add_cpus(text);
		return true;
	case FEAT_TOTAL_MEM:
		add_u64(text, (uint64_t)sysconf(_SC_PHYS_PAGES) * (sysconf(_SC_PAGESIZE) / 1024));
		return true;
	case PD_FEAT_CMDLINE:
		add_cmdline(r, text);
		return true;
	case FEAT_EVENT_DESC:
		add_events(r, text);
		return true;
	case FEAT_PMU_MAPPINGS:
		add_pmu(r, text);
		return true;
	case FEAT_AUXTRACE:
		add_index(r, text);
		return true;
	case FEAT_DIR_FORMAT:
		add_u64(text, 0);
		return *r->folder;
	}
	return false;
}
