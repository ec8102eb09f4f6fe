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
#include "cli/options.h"

#ifndef HAVE_LIBPERF

int cmd_record(int argc, char **argv)
{
	fputs("ntrace: this ntrace was built without libperf, so it cannot record: make tool KSRC=/path/to/linux builds one that can, or use perf record -e ntrace//\n",
	      stderr);
	return EXIT_USAGE;
}

#else

#include "recorder/recorder.h"
#include "cli/output.h"
#include "cli/recording.h"

static const char help[] =
	"usage: ntrace record [OPTIONS] [-- COMMAND...]\n\n"
	"Record the trace of a command, of processes or of CPUs, for ntrace and for perf. SIGINT ends\n"
	"a recording. Exits with the status of the command, or 2 if recording failed or could not start.\n\n"
	"  -a, --all-cpus       all CPUs\n"
	"  -C, --cpu LIST       these CPUs, such as 0,2-3\n"
	"  -p, --pid LIST       these processes with their threads, such as 12,34\n"
	"      --per-thread     a buffer for each thread instead of each CPU\n"
	"  -e, --event EVENT    the event (ntrace//), such as ntrace/timestamp=0/u; other events may be\n"
	"                       recorded beside it by more -e\n"
	"  -m, --trace-size N   bytes of a trace buffer, such as 64K or 16M (4M; 128K without root)\n"
	"  -S, --snapshot       keep the last trace; SIGUSR2 writes it, and so does the end\n"
	"      --strobe ON/PERIOD  trace ON milliseconds at the start of each PERIOD milliseconds\n"
	"  -o, --output FILE    the recording (perf.data); a folder if the kernel is traced by root, as\n"
	"                       then its code is copied\n"
	"      --no-kcore       do not copy the kernel's code\n"
	"      --no-cache       do not copy programs to the build-id cache\n"
	"      --buildid-dir DIR  the build-id cache (~/.debug)\n"
	"  -q, --quiet          print nothing but errors\n";

enum { OPT_PER_THREAD = 256, OPT_NO_KCORE, OPT_NO_CACHE, OPT_CACHE, OPT_STROBE };

#define MAX_EVENTS	16

struct record {
	struct nt_recorder_options options;
	const char	*events[MAX_EVENTS];
	bool		quiet;
	bool		progress;	/* print progress on a terminal */
};

/* ---- Signals ---- */

static struct nt_recorder *recorder;

static void on_end(int nr)
{
	nt_recorder_stop(recorder);
}

static void on_snapshot(int nr)
{
	nt_recorder_snapshot(recorder);
}

/*
 * Catch the signals that end the recording. The traced command does not inherit the handlers,
 * because exec resets them.
 */
static void catch_signals(const struct record *record)
{
	struct sigaction end = { .sa_handler = on_end }, snapshot = { .sa_handler = on_snapshot };

	sigaction(SIGINT, &end, NULL);
	sigaction(SIGTERM, &end, NULL);
	sigaction(SIGHUP, &end, NULL);
	if (record->options.snapshot)
		sigaction(SIGUSR2, &snapshot, NULL);
}

/* ---- Progress ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void print_progress(double begin)
{
	static double last_time, last_bytes;
	struct nt_recorder_info info;
	double t = now();

	if (t - last_time < 0.5)
		return;
	nt_recorder_info(recorder, &info, sizeof(info));
	fprintf(stderr, "\rntrace: %.0f s, %.1f MB, %.1f MB/s, ", t - begin, info.bytes / 1e6,
		last_time ? (info.bytes - last_bytes) / 1e6 / (t - last_time) : 0);
	if (info.cut_stretches || info.busy_stretches)
		fprintf(stderr, "trace was lost %llu times",
			(unsigned long long)(info.cut_stretches + info.busy_stretches));
	else
		fprintf(stderr, "nothing lost");
	fprintf(stderr, "\033[K");
	last_time = t;
	last_bytes = info.bytes;
}

static void print_end(const struct record *record)
{
	struct nt_recorder_info info;

	nt_recorder_info(recorder, &info, sizeof(info));
	if (record->progress)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "ntrace: wrote %s: %.3f MB, of which %.3f MB are trace\n",
		record->options.output, info.bytes / 1e6, info.trace_bytes / 1e6);
	if (info.only_user)
		fprintf(stderr, "ntrace: the kernel was not recorded, because this user may only trace programs\n");
	if (info.cut_stretches)
		fprintf(stderr, "ntrace: trace was lost %llu times, because it was produced faster than it was written: try a larger buffer (-m)\n",
			(unsigned long long)info.cut_stretches);
	if (info.busy_stretches)
		fprintf(stderr, "ntrace: another program had the trace sink %llu times, so trace is missing\n",
			(unsigned long long)info.busy_stretches);
	if (info.lost_events)
		fprintf(stderr, "ntrace: the kernel lost %llu records beside the trace: names and maps may be wrong\n",
			(unsigned long long)info.lost_events);
}

/* ---- Command ---- */

static int failed(const struct record *record)
{
	if (record->progress)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "ntrace: %s\n", recorder ? nt_recorder_error(recorder) : "out of memory");
	return EXIT_USAGE;
}

static int command_status(void)
{
	struct nt_recorder_info info;

	nt_recorder_info(recorder, &info, sizeof(info));
	if (info.status < 0)
		return EXIT_CLEAN;
	return WIFSIGNALED(info.status) ? 128 + WTERMSIG(info.status) : WEXITSTATUS(info.status);
}

static int run(struct record *record)
{
	double begin = now();
	int ret, status = 0;

	if (nt_recorder_new(&recorder, &record->options))
		return failed(record);
	catch_signals(record);
	if (nt_recorder_start(recorder))
		return failed(record);
	do {
		ret = nt_recorder_step(recorder, record->progress ? 500 : -1);
		if (record->progress)
			print_progress(begin);
	} while (ret > 0);
	if (ret)
		status = failed(record);
	if (nt_recorder_finish(recorder) && !status)
		status = failed(record);
	if (!record->quiet)
		print_end(record);
	return status ? status : command_status();
}

static bool set_size(struct record *record, const char *arg)
{
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
	fprintf(stderr, "ntrace: -m expects a number of bytes such as 64K or 16M, not '%s'\n", arg);
	return false;
}

static bool set_strobe(struct record *record, const char *arg)
{
	unsigned int on, period;
	char end;

	if (strspn(arg, "0123456789/") == strlen(arg) &&
	    sscanf(arg, "%9u/%9u%c", &on, &period, &end) == 2 && on && on < period) {
		record->options.strobe_on = on;
		record->options.strobe_period = period;
		return true;
	}
	fprintf(stderr, "ntrace: --strobe expects ON/PERIOD in milliseconds, ON less than PERIOD, as 10/100, and not '%s'\n",
		arg);
	return false;
}

static bool add_event(struct record *record, const char *arg)
{
	if (record->options.nr_events == MAX_EVENTS) {
		fprintf(stderr, "ntrace: too many events are given\n");
		return false;
	}
	record->events[record->options.nr_events++] = arg;
	return true;
}

static bool set_option(struct record *record, int opt, const char *arg)
{
	switch (opt) {
	case 'a':
		record->options.all = true;
		return true;
	case 'C':
		record->options.cpus = arg;
		return true;
	case 'p':
		record->options.pids = arg;
		return true;
	case 'e':
		return add_event(record, arg);
	case 'm':
		return set_size(record, arg);
	case 'S':
		record->options.snapshot = true;
		return true;
	case 'o':
		record->options.output = arg;
		return !output_is_pipe("record", arg);
	case 'q':
		record->quiet = true;
		return true;
	case OPT_PER_THREAD:
		record->options.per_thread = true;
		return true;
	case OPT_NO_KCORE:
		record->options.no_kcore = true;
		return true;
	case OPT_NO_CACHE:
		record->options.no_cache = true;
		return true;
	case OPT_STROBE:
		return set_strobe(record, arg);
	case OPT_CACHE:
		record->options.cache = arg;
		return true;
	}
	return false;
}

int cmd_record(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "all-cpus", no_argument, NULL, 'a' },
		{ "cpu", required_argument, NULL, 'C' },
		{ "pid", required_argument, NULL, 'p' },
		{ "per-thread", no_argument, NULL, OPT_PER_THREAD },
		{ "event", required_argument, NULL, 'e' },
		{ "trace-size", required_argument, NULL, 'm' },
		{ "snapshot", no_argument, NULL, 'S' },
		{ "strobe", required_argument, NULL, OPT_STROBE },
		{ "output", required_argument, NULL, 'o' },
		{ "no-kcore", no_argument, NULL, OPT_NO_KCORE },
		{ "no-cache", no_argument, NULL, OPT_NO_CACHE },
		{ "buildid-dir", required_argument, NULL, OPT_CACHE },
		{ "quiet", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct record record = {
		.options = { .size = sizeof(record.options), .output = "perf.data",
			     .version = NTRACE_VERSION, .argv = argv },
	};
	int opt, status;

	record.options.events = record.events;
	/* "+" leaves options after the command to the command */
	while ((opt = getopt_long(argc, argv, "+aC:p:e:m:So:qh", long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_CLEAN;
		}
		if (opt == '?')
			return options_hint(argv[0]);
		if (!set_option(&record, opt, optarg))
			return EXIT_USAGE;
	}
	if (optind < argc)
		record.options.command = argv + optind;
	record.progress = !record.quiet && isatty(STDERR_FILENO);
	record.options.watch = record.progress;
	status = run(&record);
	nt_recorder_free(recorder);
	return status;
}

#endif
