// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file handles the traced processes, which are existing processes or the command that the
 * recorder starts.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perf/cpumap.h>
#include <perf/threadmap.h>

#include "recorder-priv.h"

int rec_target_each(pid_t pid, int (*take)(void *ctx, pid_t tid), void *ctx)
{
	const struct dirent *entry;
	char path[64], *end;
	int ret = 0;
	pid_t tid;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir)
		return -1;
	while (!ret && (entry = readdir(dir))) {
		tid = strtol(entry->d_name, &end, 10);
		if (!*end && tid > 0)
			ret = take(ctx, tid);
	}
	closedir(dir);
	return ret;
}

static int add_thread(void *ctx, pid_t tid)
{
	struct rec_pids *pids = ctx;

	return ns_array_add(&pids->tids, tid) ? 0 : 1;
}

int rec_target_threads(struct nt_recorder *r, struct rec_pids *pids)
{
	const char *at = r->options.pids;
	char *end;
	long pid;
	int ret;

	do {
		pid = strtol(at, &end, 10);
		if (end == at || (*end && *end != ',') || pid <= 0 || pid > INT_MAX)
			return rec_fail(r, "-p expects a list of process IDs such as 12,34, not '%s'",
					r->options.pids);
		ret = rec_target_each(pid, add_thread, pids);
		if (ret)
			return ret < 0 ? rec_fail(r, "there is no process %ld", pid) :
					 rec_fail(r, "out of memory");
		at = end + 1;
	} while (*end);
	return 0;
}

/*
 * The child process runs this function. Wait until the parent writes to the pipe @ready, and execute
 * the command. If exec fails, write errno to the pipe @failed.
 */
static void exec_command(char *const *command, int ready, int failed)
{
	char byte;
	int err;

	if (read(ready, &byte, 1) != 1)
		_exit(127);
	execvp(command[0], command);
	err = errno;
	if (write(failed, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

int rec_target_fork(struct nt_recorder *r)
{
	int ready[2], failed[2];

	if (pipe2(ready, O_CLOEXEC) || pipe2(failed, O_CLOEXEC))
		return rec_fail(r, "cannot create a pipe: %s", strerror(errno));
	r->child = fork();
	if (r->child < 0)
		return rec_fail(r, "fork failed: %s", strerror(errno));
	if (!r->child) {
		close(ready[1]);
		exec_command(r->options.command, ready[0], failed[1]);
	}
	close(ready[0]);
	close(failed[1]);
	r->go = ready[1];
	r->failed = failed[0];
	return 0;
}

int rec_target_go(struct nt_recorder *r)
{
	int err = 0;

	if (write(r->go, "", 1) != 1)
		return rec_fail(r, "the child process ended before it could execute %s", r->options.command[0]);
	if (read(r->failed, &err, sizeof(err)) != sizeof(err))
		return 0;
	return rec_fail(r, "%s cannot be executed: %s", r->options.command[0], strerror(err));
}

bool rec_target_ended(struct nt_recorder *r, bool wait)
{
	int status;

	if (r->child <= 0)
		return true;
	if (waitpid(r->child, &status, wait ? 0 : WNOHANG) != r->child)
		return false;
	r->info.status = status;
	r->child = -1;
	return true;
}

struct perf_cpu_map *rec_target_cpus(struct nt_recorder *r, const struct perf_cpu_map *traced)
{
	struct perf_cpu_map *cpus;
	struct perf_cpu cpu;
	int i;

	if (!r->options.cpus)
		return perf_cpu_map__new_online_cpus();
	cpus = perf_cpu_map__new(r->options.cpus);
	if (!cpus || perf_cpu_map__is_any_cpu_or_is_empty(cpus)) {
		rec_fail(r, "-C expects a list of CPUs such as 0,2-3, not '%s'", r->options.cpus);
		perf_cpu_map__put(cpus);
		return NULL;
	}
	perf_cpu_map__for_each_cpu(cpu, i, cpus) {
		if (perf_cpu_map__has(traced, cpu))
			continue;
		rec_fail(r, "CPU %d is offline, or has no trace encoder; " REC_PMU "/cpumask lists the CPUs with a trace encoder",
			 cpu.cpu);
		perf_cpu_map__put(cpus);
		return NULL;
	}
	return cpus;
}

struct perf_thread_map *rec_target_thread_map(struct nt_recorder *r)
{
	struct rec_pids pids = { 0 };
	struct perf_thread_map *threads = NULL;

	if (r->options.all || r->options.cpus)
		return perf_thread_map__new_dummy();
	if (!r->options.pids)
		return perf_thread_map__new_array(1, &r->child);
	if (!rec_target_threads(r, &pids))
		threads = perf_thread_map__new_array(pids.tids.nr, pids.tids.at);
	free(pids.tids.at);
	return threads;
}
