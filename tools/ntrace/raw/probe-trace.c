// SPDX-License-Identifier: GPL-2.0-only
/* Trace this thread for `ntrace probe`. The program perf is not used, because a board may not have it. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probe-trace.h"

#define PMU		"/sys/bus/event_source/devices/ntrace"
#define TRACE_SIZE	(64u << 10)
#define RECORDS_PAGES	8
#define BYTES_A_LINE	32

struct trace {
	int			fd;
	size_t			page;
	struct perf_event_mmap_page *head;
	uint8_t			*aux;
};

static bool read_number(const char *path, uint64_t *value)
{
	FILE *f = fopen(path, "r");
	bool ok = f && fscanf(f, "%" SCNi64, (int64_t *)value) == 1;

	if (f)
		fclose(f);
	return ok;
}

/*
 * Open a perf event for this thread, which is disabled at first. Without privileges, the event only
 * traces user code.
 */
static int open_event(int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .disabled = 1, .exclude_hv = 1,
	};
	uint64_t type, config;
	char path[128];
	int fd;

	snprintf(path, sizeof(path), PMU "/cpu%d/default_config", cpu);
	if (!read_number(PMU "/type", &type) || !read_number(path, &config))
		return -1;
	attr.type = type;
	attr.config = config;
	fd = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		attr.exclude_kernel = 1;
		fd = syscall(SYS_perf_event_open, &attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	}
	return fd;
}

static bool map_event(struct trace *trace)
{
	size_t size = (RECORDS_PAGES + 1) * trace->page;
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, 0);

	if (p == MAP_FAILED)
		return false;
	trace->head = p;
	trace->head->aux_offset = size;
	trace->head->aux_size = TRACE_SIZE;
	p = mmap(NULL, TRACE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, trace->fd, size);
	if (p == MAP_FAILED)
		return false;
	trace->aux = p;
	return true;
}

static void unmap_event(struct trace *trace)
{
	if (trace->aux)
		munmap(trace->aux, TRACE_SIZE);
	if (trace->head)
		munmap(trace->head, (RECORDS_PAGES + 1) * trace->page);
	if (trace->fd >= 0)
		close(trace->fd);
}

/*
 * Execute branches that are taken and not taken, calls, and system calls. Their number is enough
 * for 64 KiB of trace with most encoders.
 */
static __attribute__((noinline)) unsigned int work(unsigned int n)
{
	unsigned int seed = 1, odd = 0;

	while (n--) {
		seed = seed * 1103515245 + 12345;
		if (seed & 0x10000)
			odd++;
		if (!(n & 1023))
			syscall(SYS_getppid);
	}
	return odd;
}

static void print_bytes(const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		printf("%02x%s", bytes[i],
		       i % BYTES_A_LINE == BYTES_A_LINE - 1 || i == size - 1 ? "\n" : "");
}

/*
 * Return the number of bytes before the first loss of trace. The message before the loss may be
 * incomplete. The bytes after it are not used, because they were written later, after this thread
 * was switched out with a full buffer.
 */
static uint64_t bytes_without_loss(const struct trace *trace, uint64_t size)
{
	const struct {
		struct perf_event_header header;
		uint64_t offset, size, flags;
	} *aux;
	const uint8_t *records = (const uint8_t *)trace->head + trace->page;
	uint64_t head = __atomic_load_n(&trace->head->data_head, __ATOMIC_ACQUIRE), at = 0;

	if (head > RECORDS_PAGES * trace->page)
		head = RECORDS_PAGES * trace->page;
	for (; at + sizeof(*aux) <= head; at += aux->header.size) {
		aux = (const void *)(records + at);
		if (aux->header.type == PERF_RECORD_AUX && aux->size &&
		    aux->flags & (PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL))
			return aux->offset + aux->size < size ? aux->offset + aux->size : size;
		if (!aux->header.size)
			break;
	}
	return size;
}

static void trace_cpu(int cpu)
{
	struct trace trace = { .page = sysconf(_SC_PAGESIZE) };
	cpu_set_t set;
	uint64_t size;

	printf("[trace cpu%d]\n", cpu);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	trace.fd = -1;
	if (!sched_setaffinity(0, sizeof(set), &set))
		trace.fd = open_event(cpu);
	if (trace.fd < 0 || !map_event(&trace)) {
		printf("no trace: %s\n", strerror(errno));
		unmap_event(&trace);
		return;
	}
	ioctl(trace.fd, PERF_EVENT_IOC_ENABLE, 0);
	work(100000);
	ioctl(trace.fd, PERF_EVENT_IOC_DISABLE, 0);
	size = __atomic_load_n(&trace.head->aux_head, __ATOMIC_ACQUIRE);
	size = bytes_without_loss(&trace, size < TRACE_SIZE ? size : TRACE_SIZE);
	printf("bytes %" PRIu64 "\n", size);
	print_bytes(trace.aux, size);
	unmap_event(&trace);
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	return strverscmp((*a)->d_name, (*b)->d_name);
}

static int is_cpu(const struct dirent *entry)
{
	return !strncmp(entry->d_name, "cpu", 3) && entry->d_name[3] >= '0' && entry->d_name[3] <= '9';
}

void probe_trace(void)
{
	struct dirent **cpus;
	int n = scandir(PMU, &cpus, is_cpu, by_number), i;

	for (i = 0; i < n; i++) {
		trace_cpu(atoi(cpus[i]->d_name + 3));
		free(cpus[i]);
	}
	if (n >= 0)
		free(cpus);
}
