/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of the recorder share; not for others. */
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
	char		*name;		/* as the user wrote it */
	bool		is_trace;
	bool		any_privilege;	/* the user wrote neither u nor k */
	const uint64_t	*ids;		/* libperf's, once it is open */
	size_t		nr_ids;
};

struct rec_chunk {
	uint64_t	offset, size;	/* of a record in the file, without the trace after it */
};

struct rec_output {
	char		path[PATH_MAX];
	struct pd_writer w;
	int		reserve;	/* a file without a name that keeps room for the end; -1 */
	int		error;		/* errno of what failed: no trace is written any more */
	NS_ARRAY(struct rec_chunk) chunks;
};

struct rec_rings;

struct nt_recorder {
	struct nt_recorder_options options;
	struct rec_event events[REC_MAX_EVENTS];
	size_t		nr_events;
	unsigned int	pmu_type;
	bool		privileged;	/* it may trace the whole system */
	struct rec_output out;
	struct rec_rings *rings;
	pid_t		child;		/* -1: none */
	int		go;		/* write end of what the child waits for */
	int		failed;		/* read end of what says that exec failed */
	bool		started;
	volatile sig_atomic_t stop, snapshot;
	struct nt_recorder_info info;
	char		folder[PATH_MAX];	/* of a recording with the kernel; empty: none */
	char		error[512];
};

int rec_fail(struct nt_recorder *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- event.c ---- */

/* rec_event_parse() - a line of the user's as struct perf_event_attr */
int rec_event_parse(struct nt_recorder *r, const char *text, struct rec_event *event);
/* rec_event_explain() - why the kernel refuses the event of trace with @err */
int rec_event_explain(struct nt_recorder *r, const struct rec_event *event, int err);
bool rec_event_kernel(const struct rec_event *event);

/* A number in a file of /sys; @none if there is none */
uint64_t rec_pmu_number(const char *name, uint64_t none);
/* All of a small file, without the end of its line */
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
/* Bytes that were written; -1: it failed */
int64_t rec_rings_read(struct nt_recorder *r, bool with_trace);
int rec_rings_snapshot(struct nt_recorder *r);
/* false: none of the threads is there any more */
bool rec_rings_wait(struct nt_recorder *r, int timeout);
void rec_rings_clock(const struct nt_recorder *r, struct rec_clock *clock);
bool rec_rings_per_cpu(const struct nt_recorder *r);

/* ---- target.c: whom to trace ---- */

struct rec_pids {
	NS_ARRAY(pid_t)	tids;
};
/* Threads of the processes that the options name */
int rec_target_threads(struct nt_recorder *r, struct rec_pids *pids);
/* Start the command: it waits for rec_target_go() */
int rec_target_fork(struct nt_recorder *r);
int rec_target_go(struct nt_recorder *r);
/* false: the command goes on */
bool rec_target_ended(struct nt_recorder *r, bool wait);
/* Every thread of a process in /proc, for as long as @take returns 0 */
int rec_target_each(pid_t pid, int (*take)(void *ctx, pid_t tid), void *ctx);

/* ---- output.c ---- */

int rec_output_open(struct nt_recorder *r, const char *path);
void rec_output_close(struct nt_recorder *r);
/* The ids of the events are known now */
int rec_output_events(struct nt_recorder *r);
/* Two pieces of a buffer that are one after the other */
struct rec_piece {
	const void	*data;
	size_t		size;
};
/* Whole records; after a full disk, those are kept that were written */
int rec_output_records(struct nt_recorder *r, const struct rec_piece pieces[2]);
int rec_output_record(struct nt_recorder *r, const void *record, size_t size);
/* A record of trace */
int rec_output_trace(struct nt_recorder *r, uint64_t offset, uint32_t idx, int32_t tid,
		     int32_t cpu, const struct rec_piece pieces[2]);
int rec_output_finish(struct nt_recorder *r);

/* ---- features.c: what is written after the records ---- */

struct rec_text {
	NS_ARRAY(uint8_t) bytes;
	bool		failed;		/* out of memory */
};
void rec_text_add(struct rec_text *text, const void *data, size_t size);
void rec_text_string(struct rec_text *text, const char *string);
void rec_text_free(struct rec_text *text);

/* The contents of a feature of the header; false: there is none */
bool rec_feature(struct nt_recorder *r, unsigned int nth, struct rec_text *text);

/* ---- synth.c, info.c, kcore.c, buildid.c ---- */

/* Records of what was there before: the kernel, its modules, threads and their maps */
int rec_synth_all(struct nt_recorder *r);
/* PERF_RECORD_AUXTRACE_INFO */
int rec_info_write(struct nt_recorder *r);
/* kcore, kallsyms and modules, in @folder */
int rec_kcore_copy(struct nt_recorder *r, const char *folder);
/* What was lost, by the records of the file or of a ring */
void rec_count(struct nt_recorder_info *info, const struct perf_event_header *header);
/* Programs that the file names: their build ids, and copies of them in the cache; and what was lost */
void rec_build_ids(struct nt_recorder *r, struct rec_text *text);

#endif /* NTRACE_RECORDER_RECORDER_PRIV_H */
