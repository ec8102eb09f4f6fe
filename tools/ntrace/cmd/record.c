// SPDX-License-Identifier: GPL-2.0-only
/* ntrace record - do the same as perf record -e ntrace//, for boards without perf. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/option.h"
#include "cli/progress.h"

#include "recorder/recorder.h"
#include "cli/output.h"

static const char usage[] =
	"usage: ntrace record [OPTIONS] [-- COMMAND...]\n\n"
	"Record the trace of a command, of processes or of CPUs, for ntrace and for perf. SIGINT ends\n"
	"a recording. Exits with the status of the command, or 2 if recording failed or could not start.\n";

#define MAX_EVENTS	16

struct record {
	struct nt_recorder_options options;
	const char	*events[MAX_EVENTS];
	bool		quiet;
	bool		progress;	/* print progress on a terminal */
};

#ifndef HAVE_LIBPERF

static int run(struct record *record)
{
	return usage_error("this ntrace was built without libperf, so it cannot record: make tool KSRC=/path/to/linux builds one that can, or use perf record -e ntrace//");
}

#else

/* ---- Signals ---- */

static struct nt_recorder *recorder;

static void on_end(int nr)
{
	if (recorder)
		nt_recorder_stop(recorder);
}

/* Without --snapshot, or before the recorder exists, the signal does nothing, and so does not end the recording */
static void on_snapshot(int nr)
{
	if (recorder)
		nt_recorder_snapshot(recorder);
}

/*
 * Catch the signals that end the recording. The traced command does not inherit the handlers,
 * because exec resets them.
 */
static void catch_signals(void)
{
	struct sigaction end = { .sa_handler = on_end };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
}

/* ---- Progress ---- */

static void print_progress(double begin)
{
	static double last_time, last_bytes;
	struct nt_recorder_info info;
	double t = progress_now();

	if (t - last_time < 0.5)
		return;
	nt_recorder_info(recorder, &info, sizeof(info));
	fprintf(stderr, "\rntrace: %.0f s, %.1f MB, %.1f MB/s, ", t - begin, info.bytes / 1e6,
		last_time ? (info.bytes - last_bytes) / 1e6 / (t - last_time) : 0);
	if (info.cut_stretches || info.busy_stretches)
		fprintf(stderr, "trace was lost %s", COUNTED(info.cut_stretches + info.busy_stretches, "time"));
	else
		fprintf(stderr, "nothing lost");
	fprintf(stderr, "\033[K");
	last_time = t;
	last_bytes = info.bytes;
}

static void print_end(const struct record *record, double seconds)
{
	double rate;
	struct nt_recorder_info info;

	nt_recorder_info(recorder, &info, sizeof(info));
	rate = info.trace_bytes / seconds;
	if (record->progress)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "ntrace: wrote %s: %.3f MB, of which %.3f MB are trace\n",
		record->options.output, info.bytes / 1e6, info.trace_bytes / 1e6);
	if (rate >= 1)
		fprintf(stderr, "ntrace: %.2f MB of trace a second for %.2f s: a buffer of 1 MiB (-m 1M) holds %.3g s of it\n",
			rate / 1e6, seconds, (1 << 20) / rate);
	if (info.trace_bytes && !info.cut_stretches && !info.busy_stretches)
		fprintf(stderr, "ntrace: no buffer lost trace; ntrace info -i %s prints more\n", record->options.output);
	if (record->options.snapshot && !info.trace_bytes)
		fprintf(stderr, "ntrace: no snapshot has trace: SIGUSR2 must come after recording has begun\n");
	if (info.only_user)
		fprintf(stderr, "ntrace: the kernel was not recorded, because this user may only trace programs\n");
	if (info.cut_stretches)
		fprintf(stderr, "ntrace: trace was lost %s, because it was produced faster than it was written: try a larger buffer (-m)\n",
			COUNTED(info.cut_stretches, "time"));
	if (info.busy_stretches)
		fprintf(stderr, "ntrace: another program had the trace sink %s, so trace is missing\n",
			COUNTED(info.busy_stretches, "time"));
	if (info.lost_events)
		fprintf(stderr, "ntrace: the kernel lost %s of events other than trace, so names of threads and functions may be wrong\n",
			COUNTED(info.lost_events, "record"));
}

/* ---- Command ---- */

static int failed(const struct record *record)
{
	if (record->progress)
		fputs("\r\033[K", stderr);
	return usage_error("%s", recorder ? nt_recorder_error(recorder) : "out of memory");
}

static int command_status(void)
{
	struct nt_recorder_info info;

	nt_recorder_info(recorder, &info, sizeof(info));
	if (info.status < 0)
		return EXIT_CLEAN;
	return WIFSIGNALED(info.status) ? 128 + WTERMSIG(info.status) : WEXITSTATUS(info.status);
}

static int record_trace(struct record *record)
{
	double started, seconds;
	int ret, status = 0;
	/* use SA_RESTART, so that the signal for a snapshot does not interrupt the copy of the kernel's code */
	const struct sigaction snapshot = { .sa_handler = on_snapshot, .sa_flags = SA_RESTART };

	sigaction(SIGUSR2, &snapshot, NULL);
	if (nt_recorder_new(&recorder, &record->options))
		return failed(record);
	catch_signals();
	if (nt_recorder_start(recorder))
		return failed(record);
	if (record->options.snapshot && !record->quiet)
		fprintf(stderr, "ntrace: recording: send SIGUSR2 to process %d for a snapshot\n", getpid());
	started = progress_now();
	do {
		ret = nt_recorder_step(recorder, record->progress ? 500 : -1);
		if (record->progress)
			print_progress(started);
	} while (ret > 0);
	seconds = progress_now() - started;
	if (ret)
		status = failed(record);
	if (nt_recorder_finish(recorder) && !status)
		status = failed(record);
	if (!record->quiet)
		print_end(record, seconds);
	return status ? status : command_status();
}

static int run(struct record *record)
{
	int status = record_trace(record);
	struct nt_recorder *ended = recorder;

	/* the handlers of the signals stay installed */
	recorder = NULL;
	nt_recorder_free(ended);
	return status;
}

#endif

/* ---- Options ---- */

static bool set_size(const struct option_entry *option, const char *arg)
{
	struct record *record = option->to;
	static const char units[] = "BKMG";
	const char *unit;
	char *end;

	errno = 0;
	record->options.trace_size = strtoull(arg, &end, 10);
	unit = *end ? strchr(units, *end) : units;
	if (unit && *end)
		end++;
	if (unit && !*end && end != arg && !errno && record->options.trace_size && *arg != '-' &&
	    record->options.trace_size < 1ULL << 34) {
		record->options.trace_size <<= 10 * (unit - units);
		return true;
	}
	return refuse("-m expects a number of bytes such as 64K or 16M, not '%s'", arg);
}

static bool set_strobe(const struct option_entry *option, const char *arg)
{
	struct record *record = option->to;
	unsigned int on, period;
	char end;

	if (strspn(arg, "0123456789/") == strlen(arg) &&
	    sscanf(arg, "%9u/%9u%c", &on, &period, &end) == 2 && on && on < period) {
		record->options.strobe_on = on;
		record->options.strobe_period = period;
		return true;
	}
	return refuse("--strobe expects ON/PERIOD in milliseconds, ON less than PERIOD, as 10/100, and not '%s'",
		      arg);
}

static bool add_event(const struct option_entry *option, const char *arg)
{
	struct record *record = option->to;

	if (record->options.nr_events == MAX_EVENTS)
		return refuse("too many events are given");
	record->events[record->options.nr_events++] = arg;
	return true;
}

static bool set_output(const struct option_entry *option, const char *arg)
{
	*(const char **)option->to = arg;
	return !output_is_pipe("record", arg);
}

int cmd_record(int argc, char **argv)
{
	struct record record = {
		.options = { .size = sizeof(record.options), .output = "perf.data",
			     .version = NTRACE_VERSION, .argv = argv },
	};
	const struct option_entry options[] = {
		OPTION_FLAG('a', "all-cpus", &record.options.all, "all CPUs"),
		OPTION_TEXT('C', "cpu", "LIST", &record.options.cpus, "these CPUs, such as 0,2-3"),
		OPTION_TEXT('p', "pid", "LIST", &record.options.pids, "these processes with their threads, such as 12,34"),
		OPTION_FLAG(0, "per-thread", &record.options.per_thread, "a buffer for each thread instead of each CPU"),
		OPTION_CALL('e', "event", "EVENT", add_event, &record,
			    "the event (ntrace//), such as ntrace/timestamp=0/u; other events may be\n"
			    "recorded beside it by more -e"),
		OPTION_CALL('m', "trace-size", "N", set_size, &record,
			    "bytes of a trace buffer, such as 64K or 16M (4M; 128K without root)"),
		OPTION_FLAG('S', "snapshot", &record.options.snapshot,
			    "keep the last trace; SIGUSR2 writes it, and so does the end"),
		OPTION_CALL(0, "strobe", "ON/PERIOD", set_strobe, &record,
			    "trace ON milliseconds at the start of each PERIOD milliseconds"),
		OPTION_CALL('o', "output", "FILE", set_output, &record.options.output,
			    "the recording (perf.data); a folder if the kernel is traced by root, as\n"
			    "then its code is copied"),
		OPTION_FLAG(0, "no-kcore", &record.options.no_kcore, "do not copy the kernel's code"),
		OPTION_FLAG(0, "no-cache", &record.options.no_cache, "do not copy programs to the build-id cache"),
		OPTION_TEXT(0, "buildid-dir", "DIR", &record.options.cache, "the build-id cache (~/.debug)"),
		OPTION_FLAG('q', "quiet", &record.quiet, "print nothing but errors"),
		{ 0 }
	};
	int status;

	record.options.events = record.events;
	status = options_parse(argc, argv, "+", usage, options);
	if (status >= 0)
		return status;
	if (optind < argc)
		record.options.command = argv + optind;
	record.progress = !record.quiet && isatty(STDERR_FILENO);
	record.options.watch = record.progress;
	return run(&record);
}
