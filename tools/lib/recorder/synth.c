// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file writes records for the kernel, modules, threads and maps that existed before the
 * recording. All these records have the time 0.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recorder-priv.h"

#define KERNEL_PID	((uint32_t)-1)
#define NO_TASK		2	/* return value if the task has already ended */

struct map_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	char name[PATH_MAX + sizeof(struct pd_written_id) + 8];
};

struct map2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t prot, flags;
	char name[PATH_MAX + sizeof(struct pd_written_id) + 8];
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
	struct pd_written_id id;
};

/*
 * Return the size of a record that ends with @name and struct sample_id. Set all bytes after the
 * name to 0. The record must have room for these bytes.
 */
static uint16_t end_of_name(const void *record, char *name)
{
	size_t len = strlen(name) + 1, padding = -len % 8;

	memset(name + len, 0, padding + sizeof(struct pd_written_id));
	return name + len + padding + sizeof(struct pd_written_id) - (const char *)record;
}

/* ---- Write the records of the kernel and its modules ---- */

static int put_kernel_map(struct nt_recorder *r, const char *name, uint64_t addr, uint64_t len,
			  uint64_t pgoff)
{
	struct map_record record = {
		.header = { .type = PERF_RECORD_MMAP, .misc = PERF_RECORD_MISC_KERNEL },
		.pid = KERNEL_PID, .addr = addr, .len = len, .pgoff = pgoff,
	};

	snprintf(record.name, PATH_MAX, "%s", name);
	record.header.size = end_of_name(&record, record.name);
	return rec_output_record(r, &record, record.header.size);
}

/* Get the addresses of @nr symbols, or 0 for a symbol that does not exist or is hidden. */
static void find_symbols(const struct nt_recorder *r, const char *const *names, uint64_t *addrs, unsigned int nr)
{
	FILE *f = rec_kallsyms(r);
	char line[512], type, name[256];
	unsigned int i, found = 0;
	uint64_t addr;

	memset(addrs, 0, nr * sizeof(*addrs));
	while (f && found < nr && fgets(line, sizeof(line), f)) {
		for (i = 0; i < nr; i++) {
			/* Call sscanf() for few lines only, because it is slow. */
			if (!addrs[i] && strstr(line, names[i]) &&
			    sscanf(line, "%" SCNx64 " %c %255s", &addr, &type, name) == 3 && !strcmp(name, names[i])) {
				addrs[i] = addr;
				found++;
			}
		}
	}
	if (f)
		fclose(f);
}

static int put_kernel(struct nt_recorder *r)
{
	static const char *const names[] = { "_text", "_stext", "_end" };
	uint64_t addrs[3];
	int first;
	char name[64];

	find_symbols(r, names, addrs, 3);
	first = addrs[0] ? 0 : 1;
	if (!addrs[first] || addrs[2] <= addrs[first])
		return 0;
	snprintf(name, sizeof(name), "[kernel.kallsyms]%s", names[first]);
	return put_kernel_map(r, name, addrs[first], addrs[2] - addrs[first], addrs[first]);
}

/* Write records for /proc/modules, whose lines have name, size, use count, users, state and address. */
static int put_modules(struct nt_recorder *r)
{
	FILE *f = fopen("/proc/modules", "re");
	char line[1024], name[64], path[80];
	uint64_t addr, size;
	int err = 0;

	while (f && !err && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %" SCNu64 " %*s %*s %*s 0x%" SCNx64, name, &size, &addr) != 3 ||
		    !addr)
			continue;
		snprintf(path, sizeof(path), "[%s]", name);
		err = put_kernel_map(r, path, addr, size, 0);
	}
	if (f)
		fclose(f);
	return err;
}

/* ---- Threads ---- */

struct task {
	struct nt_recorder *r;
	pid_t	pid;
};

static int put_comm(struct nt_recorder *r, pid_t pid, pid_t tid)
{
	struct pd_comm_record record = {
		.header = { .type = PERF_RECORD_COMM, .size = sizeof(record) },
		.pid = pid, .tid = tid,
	};
	char path[64], comm[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	if (!rec_read_line(path, comm, sizeof(comm)))
		return NO_TASK;
	snprintf(record.comm, sizeof(record.comm), "%.15s", comm);
	return rec_output_record(r, &record, sizeof(record));
}

static pid_t parent_of(pid_t pid)
{
	char path[64], line[256];
	pid_t parent = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "PPid: %d", &parent) == 1)
			break;
	}
	if (f)
		fclose(f);
	return parent;
}

static int put_fork(struct nt_recorder *r, pid_t pid, pid_t tid)
{
	struct fork_record record = {
		.header = { .type = PERF_RECORD_FORK, .misc = PERF_RECORD_MISC_FORK_EXEC,
			    .size = sizeof(record) },
		.pid = pid, .tid = tid,
	};

	record.ppid = record.ptid = tid == pid ? parent_of(pid) : pid;
	return rec_output_record(r, &record, sizeof(record));
}

/* Write a record for the map in a line of /proc/PID/maps, if the map is executable. */
static int put_map(struct nt_recorder *r, pid_t pid, const char *line)
{
	struct map2_record record = {
		.header = { .type = PERF_RECORD_MMAP2, .misc = PERF_RECORD_MISC_USER },
		.pid = pid, .tid = pid,
	};
	char prot[5] = "";
	uint64_t end;
	int name = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %x:%x %" SCNu64 " %n", &record.addr,
		   &end, prot, &record.pgoff, &record.major, &record.minor, &record.inode, &name) < 7)
		return 0;
	if (prot[2] != 'x')
		return 0;
	record.len = end - record.addr;
	record.prot = (prot[0] == 'r' ? PROT_READ : 0) | (prot[1] == 'w' ? PROT_WRITE : 0) | PROT_EXEC;
	record.flags = prot[3] == 's' ? MAP_SHARED : MAP_PRIVATE;
	snprintf(record.name, PATH_MAX, "%s", name && line[name] ? line + name : "//anon");
	record.header.size = end_of_name(&record, record.name);
	return rec_output_record(r, &record, record.header.size);
}

/* Write the maps of a thread's process. Return 1 if the thread has maps, 0 if the thread has ended, and -1 on failure. */
static int put_maps(void *ctx, pid_t tid)
{
	const struct task *task = ctx;
	char path[64], *line = NULL;
	size_t room = 0;
	int found = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/maps", task->pid, tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (found >= 0 && getline(&line, &room, f) > 0) {
		line[strcspn(line, "\n")] = '\0';
		found = put_map(task->r, task->pid, line) ? -1 : 1;
	}
	free(line);
	fclose(f);
	return found;
}

static int put_thread(void *ctx, pid_t tid)
{
	const struct task *task = ctx;
	/* A fork sets a thread's name to that of its process. Write its own name after the fork. */
	int err = put_fork(task->r, task->pid, tid);

	err = err ? : put_comm(task->r, task->pid, tid);
	return err == NO_TASK ? 0 : err;
}

/* Write the records of a process. It is not a failure if the process ends at the same time. */
static int put_process(struct nt_recorder *r, pid_t pid)
{
	struct task task = { r, pid };
	int err = rec_target_each(pid, put_thread, &task);

	if (err < 0 && r->out.error)
		return -1;
	/* try the threads until one has maps, because the first one may have ended before the others */
	rec_target_each(pid, put_maps, &task);
	return r->out.error ? -1 : 0;
}

static int put_processes(struct nt_recorder *r)
{
	const struct dirent *entry;
	DIR *dir = opendir("/proc");
	int err = 0;
	char *end;
	long pid;

	if (!dir)
		return rec_fail(r, "/proc: %s", strerror(errno));
	while (!err && (entry = readdir(dir))) {
		pid = strtol(entry->d_name, &end, 10);
		if (!*end && pid > 0)
			err = put_process(r, pid);
	}
	closedir(dir);
	return err;
}

static int put_listed(struct nt_recorder *r)
{
	const char *at = r->options.pids;
	char *end;
	int err;

	do {
		err = put_process(r, strtol(at, &end, 10));
		at = end + 1;
	} while (!err && *end);
	return err;
}

int rec_synth_all(struct nt_recorder *r)
{
	if (rec_event_kernel(&r->events[0]) && (put_kernel(r) || put_modules(r)))
		return -1;
	if (r->options.all || r->options.cpus)
		return put_processes(r);
	return r->options.pids ? put_listed(r) : put_process(r, r->child);
}
