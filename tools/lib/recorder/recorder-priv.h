/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Private definitions that the files of the recorder share */
#ifndef NTRACE_RECORDER_RECORDER_PRIV_H
#define NTRACE_RECORDER_RECORDER_PRIV_H

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include <linux/perf_event.h>

#include "recorder.h"
#include "session/array.h"
#include "session/file/perfdata-write.h"

#define REC_PMU		"/sys/bus/event_source/devices/ntrace"
#define REC_MAX_EVENTS	16

struct rec_event {
	struct perf_event_attr attr;
	char		*name;		/* name of the event that the user wrote */
	bool		is_trace;
	bool		any_privilege;	/* the user wrote neither u nor k */
	const uint64_t	*ids;		/* libperf's ids, after the event is open */
	size_t		nr_ids;
};

struct rec_chunk {
	uint64_t	offset, size;	/* place in the file of a PERF_RECORD_AUXTRACE */
};

struct rec_output {
	char		path[PATH_MAX];
	char		name[PATH_MAX];	/* the recording, which is @path or its folder */
	char		old[PATH_MAX];	/* new name of an older recording; "": there was none */
	bool		created;	/* @name is a new file or folder */
	struct pd_writer w;
	int		reserve;	/* unnamed file that reserves room for the end, or -1 */
	int		error;		/* errno of a failed write; then trace is not written */
	NS_ARRAY(struct rec_chunk) chunks;
};

struct rec_rings;

struct nt_recorder {
	struct nt_recorder_options options;
	struct rec_event events[REC_MAX_EVENTS];
	size_t		nr_events;
	unsigned int	pmu_type;
	bool		privileged;	/* the user may trace the whole system */
	struct rec_output out;
	struct rec_rings *rings;
	pid_t		child;		/* process of the command, or -1 */
	int		go;		/* write end of the pipe that starts the child */
	int		failed;		/* read end of the pipe that reports errno of exec */
	bool		started;
	bool		strobe_off;	/* strobing has disabled the trace */
	volatile sig_atomic_t stop, snapshot;
	struct nt_recorder_info info;
	char		folder[PATH_MAX];	/* folder of a recording with kcore, or empty */
	char		error[512];
};

int rec_fail(struct nt_recorder *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- event.c ---- */

/* rec_event_parse() - convert the user's text to struct perf_event_attr */
int rec_event_parse(struct nt_recorder *r, const char *text, struct rec_event *event);
/* rec_event_explain() - set the error text for an event that the kernel refused with @err */
int rec_event_explain(struct nt_recorder *r, const struct rec_event *event, int err);
bool rec_event_kernel(const struct rec_event *event);

/* Return the number in a file of the PMU in /sys, or @none if there is none. */
uint64_t rec_pmu_number(const char *name, uint64_t none);
/* Read the first line of a file, without the newline. Return false on failure. */
bool rec_read_line(const char *path, char *line, int size);

/* ---- rings.c: libperf ---- */

/* Values of struct perf_event_mmap_page */
struct rec_clock {
	uint64_t	shift, mult, zero;
	bool		known;
};

int rec_rings_open(struct nt_recorder *r);
void rec_rings_close(struct nt_recorder *r);
int rec_rings_enable(struct nt_recorder *r);
void rec_rings_disable(struct nt_recorder *r);
/* Return the number of bytes read from the buffers, or -1 on failure. */
int64_t rec_rings_read(struct nt_recorder *r, bool with_trace);
int rec_rings_snapshot(struct nt_recorder *r);
int rec_rings_strobe(struct nt_recorder *r, int timeout);
/* Return false if all threads have ended. */
bool rec_rings_wait(struct nt_recorder *r, int timeout);
void rec_rings_clock(const struct nt_recorder *r, struct rec_clock *clock);
bool rec_rings_per_cpu(const struct nt_recorder *r);

/* ---- target.c: the traced processes ---- */

struct perf_cpu_map;
struct perf_thread_map;

struct rec_pids {
	NS_ARRAY(pid_t)	tids;
};
/* Get the threads of the processes in the options. */
int rec_target_threads(struct nt_recorder *r, struct rec_pids *pids);
/* Make libperf's maps of the CPUs and threads to trace, or return NULL. @traced: CPUs with an encoder */
struct perf_cpu_map *rec_target_cpus(struct nt_recorder *r, const struct perf_cpu_map *traced);
struct perf_thread_map *rec_target_thread_map(struct nt_recorder *r);
/* Fork a process for the command, which waits for rec_target_go(). */
int rec_target_fork(struct nt_recorder *r);
int rec_target_go(struct nt_recorder *r);
/* Return false if the command still runs. */
bool rec_target_ended(struct nt_recorder *r, bool wait);
/* Call @take for every thread of a process in /proc until it does not return 0. */
int rec_target_each(pid_t pid, int (*take)(void *ctx, pid_t tid), void *ctx);

/* ---- output.c ---- */

int rec_output_open(struct nt_recorder *r, const char *path);
void rec_output_close(struct nt_recorder *r);
/* Remove the output of a recorder that cannot start, and give an older recording its name back */
void rec_output_undo(struct nt_recorder *r);
/* Write the events with their ids. */
int rec_output_events(struct nt_recorder *r);
/* Some bytes of a buffer. If the bytes wrap around the end of a ring, there are two pieces. */
struct rec_piece {
	const void	*data;
	size_t		size;
};
/* Write whole records. If the disk is full, keep the records that are completely written. */
int rec_output_records(struct nt_recorder *r, const struct rec_piece pieces[2]);
int rec_output_record(struct nt_recorder *r, const void *record, size_t size);
/* Write a record with trace. */
int rec_output_trace(struct nt_recorder *r, uint64_t offset, uint32_t idx, int32_t tid,
		     int32_t cpu, const struct rec_piece pieces[2]);
int rec_output_finish(struct nt_recorder *r);

/* ---- features.c: the features after the records ---- */

/* Make the features of the header, which are indexed by enum pd_feature. */
void rec_features(struct nt_recorder *r, struct pd_bytes *features);

/* ---- synth.c, info.c, kcore.c, buildid.c ---- */

/* Synthesise records for the kernel, modules, threads and maps that already exist. */
int rec_synth_all(struct nt_recorder *r);
/* Write PERF_RECORD_AUXTRACE_INFO. */
int rec_info_write(struct nt_recorder *r);
/* Copy kcore, kallsyms and modules to @folder. */
int rec_kcore_copy(struct nt_recorder *r, const char *folder);
/* Count the losses that a record of the file or of a ring reports. */
void rec_count(struct nt_recorder_info *info, const struct perf_event_header *header);
/* Add the build ids of the programs in the file, copy these to the cache, and count all losses. */
void rec_build_ids(struct nt_recorder *r, struct pd_bytes *to);

#endif /* NTRACE_RECORDER_RECORDER_PRIV_H */
