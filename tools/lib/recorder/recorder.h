/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Record N-Trace by libperf, as perf record -e ntrace// does, into a file that perf and the session
 * library read.
 *
 *	nt_recorder_new() -- nt_recorder_start() -- nt_recorder_step()... -- nt_recorder_finish()
 *	-- nt_recorder_free()
 *
 * The library prints nothing. Each function that returns -1 has left a sentence in
 * nt_recorder_error(). One thread uses a recorder; nt_recorder_stop() and nt_recorder_snapshot()
 * may be called by a signal handler.
 */
#ifndef NTRACE_RECORDER_RECORDER_H
#define NTRACE_RECORDER_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct nt_recorder;

struct nt_recorder_options {
	size_t		size;		/* sizeof(struct nt_recorder_options) */
	const char	*output;	/* a file; a folder if the kernel is copied */
	const char	*const *events;	/* as ntrace/timestamp=0/u; none: ntrace// */
	size_t		nr_events;
	bool		all;		/* all CPUs */
	const char	*cpus;		/* these CPUs, as 0,2-3 */
	const char	*pids;		/* these processes, as 12,34 */
	bool		per_thread;	/* a buffer for each thread instead of each CPU */
	uint64_t	trace_size;	/* bytes of the buffer of trace; 0: the default */
	uint64_t	ring_size;	/* bytes of the buffer of events; 0: the default */
	bool		snapshot;	/* keep the last trace, and write it when asked for */
	bool		no_kcore;	/* do not copy the kernel */
	bool		no_cache;	/* do not copy programs to the build-id cache */
	const char	*cache;		/* the build-id cache; NULL: ~/.debug */
	bool		watch;		/* count losses while it records */
	char		*const *command;	/* NULL: none */
	char		*const *argv;	/* for the header; ends with NULL */
	const char	*version;	/* for the header */
};

/* nt_recorder_new() - check the options; *@recorder is set unless there is no memory (NULL) */
int nt_recorder_new(struct nt_recorder **recorder, const struct nt_recorder_options *options);
const char *nt_recorder_error(const struct nt_recorder *recorder);
void nt_recorder_free(struct nt_recorder *recorder);

/* nt_recorder_start() - open buffers and file, and let the command begin */
int nt_recorder_start(struct nt_recorder *recorder);

/*
 * nt_recorder_step() - wait for trace and events, at most @timeout ms (-1: any time), and write them
 *
 * Return: 1: go on; 0: the command or the threads have ended, or nt_recorder_stop() was called;
 * -1: writing failed. nt_recorder_finish() is to be called in each case.
 */
int nt_recorder_step(struct nt_recorder *recorder, int timeout);
void nt_recorder_stop(struct nt_recorder *recorder);
void nt_recorder_snapshot(struct nt_recorder *recorder);

/*
 * nt_recorder_finish() - stop tracing, write the rest: the file can be read, also after an error.
 * After nt_recorder_stop() the command is ended by SIGTERM, else it is waited for.
 */
int nt_recorder_finish(struct nt_recorder *recorder);

struct nt_recorder_info {
	size_t		size;
	uint64_t	bytes;		/* of the file */
	uint64_t	trace_bytes;
	uint64_t	stretches;	/* PERF_RECORD_AUX */
	uint64_t	cut_stretches;	/* after which trace is missing, as it came too fast */
	uint64_t	lost_events;	/* beside the trace */
	bool		has_kcore;
	bool		only_user;	/* this user may not trace the kernel */
	int		status;		/* of the command, as wait() gives it; -1: none has ended */
	uint64_t	busy_stretches;	/* trace is missing, as another program had the sink */
};
void nt_recorder_info(const struct nt_recorder *recorder, struct nt_recorder_info *info,
		      size_t size);

#endif /* NTRACE_RECORDER_RECORDER_H */
