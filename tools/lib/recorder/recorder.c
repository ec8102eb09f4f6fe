// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* This file controls a recording from start to end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder-priv.h"

#define PRIORITY	(-20)

enum { CAP_SYS_ADMIN_ = 21, CAP_PERFMON_ = 38 };

const char *nt_recorder_error(const struct nt_recorder *recorder)
{
	return recorder->error;
}

/* ---- Create a recorder, and check its options ---- */

static bool has_capabilities(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long caps = 0;
	char line[128];

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			break;
	}
	if (f)
		fclose(f);
	return caps & (1ULL << CAP_SYS_ADMIN_ | 1ULL << CAP_PERFMON_);
}

/*
 * Return true if the user is allowed to trace the whole system. Root is always allowed. On some systems,
 * all users are allowed.
 */
static bool is_privileged(void)
{
	char line[32];

	return has_capabilities() ||
	       (rec_read_line("/proc/sys/kernel/perf_event_paranoid", line, sizeof(line)) &&
		atoi(line) < 0);
}

static int parse_events(struct nt_recorder *r)
{
	static const char *const standard[] = { "ntrace//" };
	const char *const *names = r->options.nr_events ? r->options.events : standard;
	size_t nr = r->options.nr_events ? r->options.nr_events : 1, i;
	struct rec_event first;

	/* Two more events may be needed for sideband records. */
	if (nr > REC_MAX_EVENTS - 2)
		return rec_fail(r, "%zu events are too many: %d at most", nr, REC_MAX_EVENTS - 2);
	for (i = 0; i < nr; i++, r->nr_events++) {
		if (rec_event_parse(r, names[i], &r->events[i]))
			return -1;
		if (!r->events[i].is_trace || !i)
			continue;
		if (r->events[0].is_trace)
			return rec_fail(r, "there may be only one event ntrace//");
		first = r->events[i];
		r->events[i] = r->events[0];
		r->events[0] = first;
	}
	r->pmu_type = r->events[0].attr.type;
	return r->events[0].is_trace ? 0 :
	       rec_fail(r, "one of the events must be the trace event, ntrace//");
}

static int check_options(struct nt_recorder *r)
{
	const struct nt_recorder_options *o = &r->options;

	if (!!o->all + !!o->cpus + !!o->pids > 1)
		return rec_fail(r, "-a, -C and -p exclude each other: all CPUs, some CPUs, or processes");
	if (!o->command && !o->all && !o->cpus && !o->pids)
		return rec_fail(r, "nothing to trace: give a command after --, or -a, -C CPUS or -p PID");
	if (o->per_thread && (o->all || o->cpus))
		return rec_fail(r, "--per-thread can be used with -p or a command, but not with -a or -C");
	if (o->per_thread && o->snapshot)
		return rec_fail(r, "snapshots (-S) need a buffer for each CPU: leave --per-thread out");
	return parse_events(r);
}

static void decide_kcore(struct nt_recorder *r)
{
	if (r->options.no_kcore || !r->privileged || !rec_event_kernel(&r->events[0]) ||
	    access("/proc/kcore", R_OK))
		return;
	snprintf(r->folder, sizeof(r->folder), "%s", r->options.output);
}

int nt_recorder_new(struct nt_recorder **recorder, const struct nt_recorder_options *options)
{
	struct nt_recorder *r = calloc(1, sizeof(*r));

	*recorder = r;
	if (!r)
		return -1;
	memcpy(&r->options, options, options->size < sizeof(*options) ? options->size :
	       sizeof(*options));
	r->out.w.fd = r->out.reserve = r->go = r->failed = -1;
	r->child = -1;
	r->info.status = -1;
	r->privileged = is_privileged();
	if (check_options(r))
		return -1;
	decide_kcore(r);
	return 0;
}

void nt_recorder_free(struct nt_recorder *r)
{
	size_t i;

	if (!r)
		return;
	rec_rings_close(r);
	rec_output_close(r);
	if (r->go >= 0)
		close(r->go);
	if (r->failed >= 0)
		close(r->failed);
	/* If the command was not started, the child ends because the pipe is closed on which it waits. */
	if (r->child > 0)
		rec_target_ended(r, !r->started);
	for (i = 0; i < REC_MAX_EVENTS; i++)
		free(r->events[i].name);
	free(r);
}

/* ---- Begin ---- */

static int copy_kernel(struct nt_recorder *r)
{
	char folder[PATH_MAX];

	if (!*r->folder)
		return 0;
	if (snprintf(folder, sizeof(folder), "%s/kcore_dir", r->folder) >= PATH_MAX)
		return rec_fail(r, "%s: the name is too long", r->folder);
	if (mkdir(folder, 0700))
		return rec_fail(r, "%s: %s", folder, strerror(errno));
	return rec_kcore_copy(r, folder);
}

/*
 * Raise the priority of the recorder above that of the recorded programs. Otherwise the programs
 * could fill the buffer of a CPU while the recorder cannot run on that CPU. The process of the
 * command already exists, and its priority does not change.
 */
static void run_first(const struct nt_recorder *r)
{
	if (r->privileged)
		setpriority(PRIO_PROCESS, 0, PRIORITY);
}

int nt_recorder_start(struct nt_recorder *r)
{
	if (r->options.command && rec_target_fork(r))
		return -1;
	run_first(r);
	if (!rec_rings_open(r) && !rec_output_open(r, r->options.output) && !rec_output_events(r) &&
	    !copy_kernel(r) && !rec_info_write(r) && !rec_synth_all(r) && !rec_rings_enable(r)) {
		r->started = true;
		if (!r->options.command || !rec_target_go(r))
			return 0;
	}
	rec_output_undo(r);
	return -1;
}

/* ---- Run ---- */

/*
 * Sleep until a buffer is filled to its watermark, and then read the buffers. If the whole system is
 * traced, the recorder is also traced, and would record mostly itself if it read more often.
 */
int nt_recorder_step(struct nt_recorder *r, int timeout)
{
	bool threads;

	if (r->snapshot && r->options.snapshot) {
		r->snapshot = 0;
		if (rec_rings_snapshot(r))
			return -1;
	}
	if (r->stop)
		return 0;
	threads = rec_rings_wait(r, rec_rings_strobe(r, timeout));
	if (rec_rings_read(r, !r->options.snapshot) < 0)
		return -1;
	if (r->options.command && rec_target_ended(r, false))
		return 0;
	return threads && !r->stop;
}

void nt_recorder_stop(struct nt_recorder *r)
{
	r->stop = 1;
}

void nt_recorder_snapshot(struct nt_recorder *r)
{
	r->snapshot = 1;
}

/*
 * Read the rest of the buffers. If the disk is full, write only the records of the rings, which contain names and maps,
 * and not the trace. The unnamed file rec_output::reserve has kept room for these records.
 */
static int read_rest(struct nt_recorder *r)
{
	bool with_trace = !r->out.error && !r->options.snapshot;
	int64_t n;

	if (r->options.snapshot && !r->out.error && rec_rings_snapshot(r))
		return -1;
	rec_rings_disable(r);
	do {
		n = rec_rings_read(r, with_trace);
	} while (n > 0);
	return n;
}

int nt_recorder_finish(struct nt_recorder *r)
{
	int err;

	if (!r->started)
		return -1;
	err = read_rest(r);
	if (rec_output_finish(r))
		err = -1;
	if (r->child > 0 && r->stop)
		kill(r->child, SIGTERM);
	else if (r->child > 0)
		rec_target_ended(r, true);
	return err;
}

void nt_recorder_info(const struct nt_recorder *r, struct nt_recorder_info *info, size_t size)
{
	struct nt_recorder_info now = r->info;

	if (r->out.w.fd >= 0 && !now.bytes)
		now.bytes = r->out.w.at;
	now.has_kcore = *r->folder;
	memcpy(info, &now, size < sizeof(now) ? size : sizeof(now));
}
