/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The sideband lists the threads, processes and maps at each time of a recording. The library builds
 * it once from the records that are not trace. Then any number of threads may read it.
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
	uint64_t	since;		/* start time of the generation, ns */
	int32_t		pid;
	/* number of the exec that started the program, from 1; several generations may have the same number */
	uint32_t	image;
	uint32_t	epoch;		/* number of the version (epoch) of the tree @maps, see maps.h */
	struct ns_map_node *maps;	/* tree of the generation's maps, which do not overlap */
};

struct ns_process {
	int32_t		pid;
	NS_ARRAY(uint32_t) generations;	/* indices in ns_sideband::generations, sorted by time */
};

/* An interval that begins at @since, in which a thread id has one name and one process. Linux reuses thread ids. */
struct ns_era {
	uint64_t	since;
	int32_t		pid;
	const char	*comm;		/* name of the thread; never NULL */
	bool		traced;		/* true if the trace contains code that the thread executed in this interval */
};

struct ns_thread {
	int32_t		tid;
	NS_ARRAY(struct ns_era) eras;	/* intervals, sorted by time */
};

/* A context switch of a CPU to a thread, at the time of the first record that the kernel wrote about it */
struct ns_switch {
	uint64_t	time;
	int32_t		cpu, tid;
};

struct ns_sideband {
	struct ns_objects *objects;
	NS_ARRAY(struct ns_generation) generations;
	NS_ARRAY(struct ns_process) processes;	/* processes, sorted by pid */
	NS_ARRAY(struct ns_thread) threads;	/* threads, sorted by tid */
	NS_ARRAY(struct ns_switch) switches;	/* context switches, sorted by CPU, then time */
	/* number of the tracepoint sched_switch, and offset of its field next_pid; 0: not yet read */
	unsigned int	sched_switch, next_pid;
	/* times at which the code of any process, or the name or process of any thread, changed; sorted, ns */
	NS_ARRAY(uint64_t) changes;
	struct ns_map_store store;
	uint32_t	epochs;
	uint32_t	images;
	uint64_t	lost;		/* number of records that the kernel could not write */
};

/* Return true if ns_sideband_build() needs the record. */
bool ns_sideband_wants(const struct perf_event_header *header);

/*
 * ns_sideband_add_sample() - add the switch of a tracepoint's sample, if the tracepoint is sched:sched_switch
 * @formats: Formats of the tracepoints of the recording
 * @event: Number of the tracepoint
 * @raw: Fields of the sample
 *
 * Call it before ns_sideband_build(). Return false if out of memory.
 */
bool ns_sideband_add_sample(struct ns_sideband *sb, const struct pd_section *formats, const struct pd_record *sample,
			    uint64_t event, const struct pd_section *raw);

/*
 * ns_sideband_build() - build the sideband from records, sorted by time, for which
 * ns_sideband_wants() returns true
 *
 * Return: 0, or -1 if out of memory.
 */
int ns_sideband_build(struct ns_sideband *sb, struct ns_objects *objects,
		      const struct pd_record *records, size_t nr);
void ns_sideband_free(struct ns_sideband *sb);

/*
 * ns_sideband_add_map() - add a map that a process has from @time; call it in the order of the times
 * ns_sideband_add_thread() - add a thread, which the CPU executes from time 0
 *
 * Return false if out of memory. The caller owns @comm, which must stay valid.
 */
bool ns_sideband_add_map(struct ns_sideband *sb, int32_t pid, uint64_t time, const struct ns_map *map);
bool ns_sideband_add_thread(struct ns_sideband *sb, int32_t cpu, int32_t pid, int32_t tid, const char *comm);

/* Return the name and process of a thread id at @time, or NULL if they are not known. */
const struct ns_era *ns_sideband_era(const struct ns_sideband *sb, int32_t tid, uint64_t time);

/* Note that the trace contains the thread at @time (ns_era::traced). Several threads may call this function at once. */
void ns_sideband_mark(const struct ns_sideband *sb, int32_t tid, uint64_t time);

/* Return the index of the generation of a process at @time, or -1 if the process is not known. */
int64_t ns_sideband_generation(const struct ns_sideband *sb, int32_t pid, uint64_t time);

/* Return the thread that the CPU executes at @time, or -1 if the thread is not known. */
int32_t ns_sideband_running(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/*
 * Return true if the thread may have executed on the CPU between @from and @to. Also return true if
 * the recording has no switch of this CPU before @from.
 */
bool ns_sideband_ran(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
		     uint64_t to);

/* If the CPU's last switch in (@from, @to] was to the thread, return the time of this switch, otherwise @from. */
uint64_t ns_sideband_switched(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from, uint64_t to);

/* Return for how many ns from @from to @to the CPU ran other threads than @tid, according to its context switches. */
uint64_t ns_sideband_away(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
			  uint64_t to);

/* Return the time of the CPU's first context switch after @time, or UINT64_MAX. */
uint64_t ns_sideband_next_switch(const struct ns_sideband *sb, int32_t cpu, uint64_t time);

/* Return the first time in ns_sideband::changes that is after @time, or UINT64_MAX. */
uint64_t ns_sideband_next_change(const struct ns_sideband *sb, uint64_t time);

/* Return the map that contains @addr, or NULL. */
const struct ns_map *ns_generation_map(const struct ns_generation *gen, uint64_t addr);

#endif /* NTRACE_SESSION_SIDEBAND_H */
