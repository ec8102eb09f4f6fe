/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Private definitions that the files of the recorder share. Unless a comment describes the result, a
 * function that returns int returns 0, or -1 after rec_fail() has stored the reason.
 */
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
	char		*name;		/* name of the event in the form that the user wrote */
	bool		is_trace;
	bool		any_privilege;	/* the user gave the event neither the modifier u nor k */
	const uint64_t	*ids;		/* IDs of the event, which libperf owns; set when the event is open */
	size_t		nr_ids;
};

struct rec_chunk {
	uint64_t	offset, size;	/* offset and size of a PERF_RECORD_AUXTRACE in the file */
};

struct rec_output {
	char		path[PATH_MAX];
	char		name[PATH_MAX];	/* name of the recording, which is @path or its folder */
	char		old[PATH_MAX];	/* new name of an older recording; empty if none existed */
	bool		created;	/* @name is a new file or folder */
	struct pd_writer w;
	int		reserve;	/* unnamed file that reserves room for the last records, or -1 */
	int		error;		/* errno of a failed write, after which no trace is written; or 0 */
	NS_ARRAY(struct rec_chunk) chunks;
};

struct rec_rings;

struct nt_recorder {
	struct nt_recorder_options options;
	struct rec_event events[REC_MAX_EVENTS];
	size_t		nr_events;
	unsigned int	pmu_type;
	bool		privileged;	/* the user is allowed to trace the whole system */
	struct rec_output out;
	struct rec_rings *rings;
	pid_t		child;		/* process of the command, or -1 */
	int		go;		/* write end of the pipe that starts the child */
	int		failed;		/* read end of the pipe that reports errno of exec */
	bool		started;
	bool		strobe_off;	/* the trace is disabled until the next period begins (strobing) */
	volatile sig_atomic_t stop, snapshot;
	struct nt_recorder_info info;
	char		folder[PATH_MAX];	/* folder of a recording with kcore, or empty */
	char		error[512];
};

int rec_fail(struct nt_recorder *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- parse the events that the user selects (event.c) ---- */

/* rec_event_parse() - convert the user's text to struct perf_event_attr */
int rec_event_parse(struct nt_recorder *r, const char *text, struct rec_event *event);
/* rec_event_explain() - set the error text for an event that the kernel refused with @err; return -1 */
int rec_event_explain(struct nt_recorder *r, const struct rec_event *event, int err);
bool rec_event_kernel(const struct rec_event *event);

/* Return the number in file @name of the PMU's folder in /sys, or @none if it cannot be read. */
uint64_t rec_pmu_number(const char *name, uint64_t none);
/* Read the first line of a file, without the newline. Return false on failure. */
bool rec_read_line(const char *path, char *line, int size);

/* ---- open and read the ring buffers of events with libperf (rings.c) ---- */

/* Values of struct perf_event_mmap_page that convert the time CSR to the perf clock */
struct rec_clock {
	uint64_t	shift, mult, zero;
	bool		known;
};

int rec_rings_open(struct nt_recorder *r);
void rec_rings_close(struct nt_recorder *r);
int rec_rings_enable(struct nt_recorder *r);
void rec_rings_disable(struct nt_recorder *r);
/* Read records, and trace if @with_trace is set. Return the number of bytes read, or -1 on failure. */
int64_t rec_rings_read(struct nt_recorder *r, bool with_trace);
int rec_rings_snapshot(struct nt_recorder *r);
int rec_rings_strobe(struct nt_recorder *r, int timeout);
/* Wait for data for at most @timeout ms. Return false if all traced threads have ended. */
bool rec_rings_wait(struct nt_recorder *r, int timeout);
void rec_rings_clock(const struct nt_recorder *r, struct rec_clock *clock);
bool rec_rings_per_cpu(const struct nt_recorder *r);

/* ---- select CPUs and threads to trace, and start the command (target.c) ---- */

struct perf_cpu_map;
struct perf_thread_map;

struct rec_pids {
	NS_ARRAY(pid_t)	tids;
};
/* Get the threads of the processes that the options list. */
int rec_target_threads(struct nt_recorder *r, struct rec_pids *pids);
/*
 * Return libperf's map of the CPUs, or of the threads, to trace. Return NULL on failure. @traced is
 * the map of the CPUs with an encoder.
 */
struct perf_cpu_map *rec_target_cpus(struct nt_recorder *r, const struct perf_cpu_map *traced);
struct perf_thread_map *rec_target_thread_map(struct nt_recorder *r);
/* Fork a process for the command. It executes the command when rec_target_go() is called. */
int rec_target_fork(struct nt_recorder *r);
int rec_target_go(struct nt_recorder *r);
/* Return true if the command has ended. If @wait is set, first wait until it ends. */
bool rec_target_ended(struct nt_recorder *r, bool wait);
/*
 * Call @take for each thread of process @pid, until a call does not return 0. Return the result of the
 * last call, or -1 if the process does not exist.
 */
int rec_target_each(pid_t pid, int (*take)(void *ctx, pid_t tid), void *ctx);

/* ---- write the file perf.data (output.c) ---- */

int rec_output_open(struct nt_recorder *r, const char *path);
void rec_output_close(struct nt_recorder *r);
/* Remove the output of a recorder that cannot start, and rename an older recording to its old name. */
void rec_output_undo(struct nt_recorder *r);
/* Write the attributes and ids of the events to the file. */
int rec_output_events(struct nt_recorder *r);
/* Contiguous bytes of a buffer. Bytes that wrap around the end of a ring consist of two pieces. */
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

/* ---- make the features, which follow the records in perf.data (features.c) ---- */

/* Make the features of the header of perf.data. The index of @features is enum pd_feature. */
void rec_features(struct nt_recorder *r, struct pd_bytes *features);

/* ---- data to decode the trace (synth.c, info.c, kcore.c, buildid.c) ---- */

/* Write records for the kernel, modules, threads and maps that exist before the recording starts. */
int rec_synth_all(struct nt_recorder *r);
/* Write PERF_RECORD_AUXTRACE_INFO. */
int rec_info_write(struct nt_recorder *r);
/* Copy kcore, kallsyms and modules to @folder. */
int rec_kcore_copy(struct nt_recorder *r, const char *folder);
/* Open the recording's copy of kallsyms, or, without a copy, /proc/kallsyms, which is slower to read. */
FILE *rec_kallsyms(const struct nt_recorder *r);
/* Count the record in *info if it is PERF_RECORD_AUX, or if it reports lost records. */
void rec_count(struct nt_recorder_info *info, const struct perf_event_header *header);
/*
 * Add the build ids of the programs in the file to *to, and copy the programs to the cache. Also
 * count the losses that the records of the file report.
 */
void rec_build_ids(struct nt_recorder *r, struct pd_bytes *to);

#endif /* NTRACE_RECORDER_RECORDER_PRIV_H */
