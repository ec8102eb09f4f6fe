/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All differences between the perf sources of Linux 6.12 and 7.2. Only perf of 6.12 defines
 * HAVE_AUXTRACE_SUPPORT, because AUX tracing cannot be disabled in 7.2.
 */
#ifndef INCLUDE__PERF_NTRACE_COMPAT_H__
#define INCLUDE__PERF_NTRACE_COMPAT_H__

#include <string.h>

#include <perf/cpumap.h>

#include "evlist.h"
#include "evsel.h"
#include "event.h"
#include "mmap.h"
#include "sample.h"
#include "synthetic-events.h"

#ifdef HAVE_AUXTRACE_SUPPORT

static inline struct perf_evlist *ntrace_evlist_core(struct evlist *evlist)
{
	return &evlist->core;
}

static inline struct mmap *ntrace_evlist_mmap(struct evlist *evlist)
{
	return evlist->mmap;
}

static inline void ntrace_sample_init(struct perf_sample *sample)
{
	memset(sample, 0, sizeof(*sample));
}

static inline void ntrace_sample_exit(struct perf_sample *sample __maybe_unused)
{
}

static inline size_t ntrace_sample_size(struct perf_sample *sample, u64 type,
					u64 branch_type __maybe_unused)
{
	return perf_event__sample_event_size(sample, type, 0);
}

static inline int ntrace_sample_write(union perf_event *event, struct perf_sample *sample,
				      u64 type, u64 branch_type __maybe_unused)
{
	return perf_event__synthesize_sample(event, type, 0, sample);
}

static inline u64 ntrace_synth_id(struct evsel *evsel)
{
	u64 id = evsel->core.id[0] + 1000000000;

	return id ? id : 1;
}

#define ntrace_sample_intval(evsel, sample, name) evsel__intval(evsel, sample, name)

/* In 6.12, arch_evsel__open_strerror() has no error argument and reads errno */
#define NTRACE_OPEN_ERR
#define NTRACE_OPEN_ERRNO errno

#else

static inline struct perf_evlist *ntrace_evlist_core(struct evlist *evlist)
{
	return evlist__core(evlist);
}

static inline struct mmap *ntrace_evlist_mmap(struct evlist *evlist)
{
	return evlist__mmap(evlist);
}

static inline void ntrace_sample_init(struct perf_sample *sample)
{
	perf_sample__init(sample, /*all=*/true);
}

static inline void ntrace_sample_exit(struct perf_sample *sample)
{
	perf_sample__exit(sample);
}

static inline size_t ntrace_sample_size(struct perf_sample *sample, u64 type, u64 branch_type)
{
	return perf_event__sample_event_size(sample, type, 0, branch_type);
}

static inline int ntrace_sample_write(union perf_event *event, struct perf_sample *sample,
				      u64 type, u64 branch_type)
{
	return perf_event__synthesize_sample(event, type, 0, branch_type, sample);
}

#define ntrace_synth_id(evsel) auxtrace_synth_id_range_start(evsel)

static inline u64 ntrace_sample_intval(struct evsel *evsel, struct perf_sample *sample,
				       const char *name)
{
	sample->evsel = evsel;
	return perf_sample__intval(sample, name);
}

#define NTRACE_OPEN_ERR int err,
#define NTRACE_OPEN_ERRNO err

#endif

#endif
