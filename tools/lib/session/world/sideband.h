/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The sideband lists the threads, processes and maps at each time of a recording. It is built once
 * from the records other than trace. Afterwards, any number of threads may read it.
 *
 * A generation is the code of one process during an interval in which no map was replaced. A new
 * map at unused addresses is added to the current generation, because no code can have been
 * executed there before. If a map replaces another one, or the process calls exec, a new generation
 * begins.
 */
#ifndef NTRACE_SESSION_SIDEBAND_H
#define NTRACE_SESSION_SIDEBAND_H

#include <stdbool.h>
#include <stdint.h>

#include "session/array.h"
#include "maps.h"
#include "session/file/perfdata.h"

struct ns_objects;

struct ns_generation {
	uint64_t	since;		/* ns */
	int32_t		pid;
	uint32_t	image;		/* number of the exec that started it; the first is 1 */
	uint32_t	epoch;		/* see maps.h */
	struct ns_map_node *maps;	/* maps that do not overlap */
};

struct ns_process {
	int32_t		pid;
	NS_ARRAY(uint32_t) generations;	/* indices, by time */
};

/* An interval in which a thread id had this name and process. It begins at @since; ids are reused. */
struct ns_era {
	uint64_t	since;
	int32_t		pid;
	const char	*comm;		/* name in the recording; never NULL */
};

struct ns_thread {
	int32_t		tid;
	NS_ARRAY(struct ns_era) eras;	/* sorted by time */
};

/* A context switch of a CPU to a thread */
struct ns_switch {
	uint64_t	time;
	int32_t		cpu, tid;
};

struct ns_sideband {
	struct ns_objects *objects;
	NS_ARRAY(struct ns_generation) generations;
	NS_ARRAY(struct ns_process) processes;	/* sorted by pid */
	NS_ARRAY(struct ns_thread) threads;	/* sorted by tid */
	NS_ARRAY(struct ns_switch) switches;	/* sorted by CPU, then time */
	NS_ARRAY(uint64_t) changes;	/* times at which code, or a thread's name or process, changed */
	struct ns_map_store store;
	uint32_t	epochs;
	uint32_t	images;
	uint64_t	lost;		/* records that the kernel could not write */
};

/* Return true if ns_sideband_build() needs the record. */
bool ns_sideband_wants(const struct perf_event_header *header);

/*
 * ns_sideband_build() - build from all records that it needs, sorted by time
 *
 * Return: 0, or -1 if out of memory.
 */
int ns_sideband_build(struct ns_sideband *sb, struct ns_objects *objects,
		      const struct pd_record *records, size_t nr);
void ns_sideband_free(struct ns_sideband *sb);

/*
 * ns_sideband_add_map() - add a map of a process from @time on; calls must be in the order of time
 * ns_sideband_add_thread() - record that a CPU always executes this thread
 *
 * Return false if out of memory. The caller owns @comm, which must stay valid.
 */
bool ns_sideband_add_map(struct ns_sideband *sb, int32_t pid, uint64_t time, const struct ns_map *map);
bool ns_sideband_add_thread(struct ns_sideband *sb, int32_t cpu, int32_t pid, int32_t tid, const char *comm);

/* Return the name and process of a thread id at @time, or NULL if they are not known. */
const struct ns_era *ns_sideband_era(const struct ns_sideband *sb, int32_t tid, uint64_t time);

/* Return the index of a generation, or -1 if the process is not known. */
int64_t ns_sideband_generation(const struct ns_sideband *sb, int32_t pid, uint64_t time);

/* Return the thread that the CPU executes, or -1 if it is not known. */
int32_t ns_sideband_running(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/*
 * Return true if the thread may have executed on the CPU between @from and @to. This is always
 * possible on a CPU without switch events.
 */
bool ns_sideband_ran(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
		     uint64_t to);

/*
 * Return for how many ns between @from and @to the CPU executed other threads, according to its
 * switch events.
 */
uint64_t ns_sideband_away(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
			  uint64_t to);

/* Return the time of the CPU's first switch after @time; UINT64_MAX if there is none. */
uint64_t ns_sideband_next_switch(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/* Return the time of the first change after @time; UINT64_MAX if none. */
uint64_t ns_sideband_next_change(const struct ns_sideband *sb, uint64_t time);

/* Return the map that contains @addr, or NULL. */
const struct ns_map *ns_generation_map(const struct ns_generation *gen, uint64_t addr);

#endif /* NTRACE_SESSION_SIDEBAND_H */
