/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Threads, processes and maps at each time of a recording. This is made once from the events beside
 * the trace, and later any number of threads read it.
 *
 * A generation is the code of one process for a while: the maps that nothing contradicted.
 * A new map in an empty place joins the generation that there is, since nobody can have
 * executed there before. A map over another one, or exec, begins a new generation.
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
	uint32_t	image;		/* number of the exec that it comes from, from 1 on */
	uint32_t	epoch;		/* see maps.h */
	struct ns_map_node *maps;	/* none overlaps another */
};

struct ns_process {
	int32_t		pid;
	NS_ARRAY(uint32_t) generations;	/* indices, by time */
};

/* The name and process of a thread id from a time on: ids are used again */
struct ns_era {
	uint64_t	since;
	int32_t		pid;
	const char	*comm;		/* in the recording; never NULL */
};

struct ns_thread {
	int32_t		tid;
	NS_ARRAY(struct ns_era) eras;	/* by time */
};

/* The thread that a CPU executes from a time on */
struct ns_switch {
	uint64_t	time;
	int32_t		cpu, tid;
};

struct ns_sideband {
	struct ns_objects *objects;
	NS_ARRAY(struct ns_generation) generations;
	NS_ARRAY(struct ns_process) processes;	/* by pid */
	NS_ARRAY(struct ns_thread) threads;	/* by tid */
	NS_ARRAY(struct ns_switch) switches;	/* by CPU, then time */
	NS_ARRAY(uint64_t) changes;	/* times at which a generation or an id has changed */
	struct ns_map_store store;
	uint32_t	epochs;
	uint32_t	images;
	uint64_t	lost;		/* records that the kernel could not write */
};

/* Records that ns_sideband_build() wants: others need not be kept */
bool ns_sideband_wants(const struct perf_event_header *header);

/*
 * ns_sideband_build() - from all records it wants, sorted by time
 *
 * Return: 0; -1: out of memory.
 */
int ns_sideband_build(struct ns_sideband *sb, struct ns_objects *objects,
		      const struct pd_record *records, size_t nr);
void ns_sideband_free(struct ns_sideband *sb);

/* NULL: the recording does not know the thread at that time */
const struct ns_era *ns_sideband_era(const struct ns_sideband *sb, int32_t tid, uint64_t time);

/* Index of a generation; -1: nothing of the process is known */
int64_t ns_sideband_generation(const struct ns_sideband *sb, int32_t pid, uint64_t time);

/* The thread that the CPU executes; -1: not known */
int32_t ns_sideband_running(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/* May the thread have executed on the CPU in that time? Without events of switches it may. */
bool ns_sideband_ran(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
		     uint64_t to);

/* Return how many ns of that time the CPU executed other threads, according to the events of switches */
uint64_t ns_sideband_away(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
			  uint64_t to);

/* When the CPU switches to another thread after @time; UINT64_MAX: never */
uint64_t ns_sideband_next_switch(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/* The first change after @time; UINT64_MAX: there is none */
uint64_t ns_sideband_next_change(const struct ns_sideband *sb, uint64_t time);

/* The map that has @addr; NULL: none */
const struct ns_map *ns_generation_map(const struct ns_generation *gen, uint64_t addr);

#endif /* NTRACE_SESSION_SIDEBAND_H */
