/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * This library records N-Trace by libperf, like perf record -e ntrace//, to a file that perf and
 * the session library read.
 *
 *	nt_recorder_new() -- nt_recorder_start() -- nt_recorder_step()... -- nt_recorder_finish()
 *	-- nt_recorder_free()
 *
 * The library prints nothing. If a function returns -1, nt_recorder_error() returns a sentence
 * about the error. Only one thread may use a recorder. A signal handler may call nt_recorder_stop()
 * and nt_recorder_snapshot().
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
	const char	*output;	/* name of a file, or of a folder if the kernel is copied */
	const char	*const *events;	/* events such as ntrace/timestamp=0/u; ntrace// by default */
	size_t		nr_events;
	bool		all;		/* trace all CPUs */
	const char	*cpus;		/* trace a list of CPUs such as 0,2-3 */
	const char	*pids;		/* trace a list of processes such as 12,34 */
	bool		per_thread;	/* use one buffer for each thread instead of each CPU */
	uint64_t	trace_size;	/* size of an AUX buffer in bytes; 0 for the default */
	uint64_t	ring_size;	/* size of a ring of records in bytes; 0 for the default */
	bool		snapshot;	/* overwrite old trace; nt_recorder_snapshot() writes the newest trace */
	bool		no_kcore;	/* do not copy the kernel */
	bool		no_cache;	/* do not copy programs to the build-id cache */
	const char	*cache;		/* folder of the build-id cache; NULL for ~/.debug */
	bool		watch;		/* count losses during the recording */
	char		*const *command;	/* command to run, or NULL */
	char		*const *argv;	/* command line to store in the header; ends with NULL */
	const char	*version;	/* version of the recorder to store in the header */
	unsigned int	strobe_on;	/* trace this number of ms at the start of each period */
	unsigned int	strobe_period;	/* length of a period in ms; 0 to trace all the time */
};

/*
 * nt_recorder_new() - make a recorder, and check its options
 * @recorder: Set to the recorder even if the function fails; or to NULL if out of memory
 */
int nt_recorder_new(struct nt_recorder **recorder, const struct nt_recorder_options *options);
const char *nt_recorder_error(const struct nt_recorder *recorder);
void nt_recorder_free(struct nt_recorder *recorder);

/* nt_recorder_start() - open the buffers and the file, and start the command */
int nt_recorder_start(struct nt_recorder *recorder);

/*
 * nt_recorder_step() - wait for trace and events, and write them
 * @timeout: Maximum time to wait in ms, or -1 for no limit
 *
 * Return: 1 if the caller must call the function again; 0 if the command or the threads have ended,
 * or if nt_recorder_stop() was called; -1 if writing failed. Call nt_recorder_finish() after 0 and
 * after -1.
 */
int nt_recorder_step(struct nt_recorder *recorder, int timeout);
void nt_recorder_stop(struct nt_recorder *recorder);
void nt_recorder_snapshot(struct nt_recorder *recorder);

/*
 * nt_recorder_finish() - stop tracing, and write the rest of the trace and of the records
 *
 * The file can be read even after an error. If nt_recorder_stop() was called, the function sends
 * SIGTERM to the command. Otherwise it waits for the end of the command.
 */
int nt_recorder_finish(struct nt_recorder *recorder);

struct nt_recorder_info {
	size_t		size;
	uint64_t	bytes;		/* size of the file in bytes */
	uint64_t	trace_bytes;
	uint64_t	stretches;	/* number of PERF_RECORD_AUX */
	uint64_t	cut_stretches;	/* number of PERF_RECORD_AUX with lost trace, because a buffer was full */
	uint64_t	lost_events;	/* number of records other than trace that were lost */
	bool		has_kcore;
	bool		only_user;	/* the kernel is not traced, because the user is not allowed to trace it */
	int		status;		/* wait() status of the command; -1 if it has not ended */
	uint64_t	busy_stretches;	/* number of PERF_RECORD_AUX without trace, because the sink was in use */
};
void nt_recorder_info(const struct nt_recorder *recorder, struct nt_recorder_info *info,
		      size_t size);

#endif /* NTRACE_RECORDER_RECORDER_H */
