// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace in several ways, for each of which the driver does other work with interrupts disabled. The board measures the
 * longest time (--model latency=on). Each CPU has a task with many branches and another task to which it switches. One
 * event traces a CPU, another one a task. Each has an AUX area of 4 MiB, which a reader empties or which wraps around.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "switches.h"

#define PAGE		4096UL
#define AUX		(4UL << 20)
#define DATA		(PAGE * 65)
#define LINE		64UL
/* Stop if the area is not full after this number of calls of branches(), for example because trace is lost */
#define ROUNDS_MAX	300

struct event {
	int fd;
	volatile struct perf_event_mmap_page *page;
	void *aux;
};

static struct event open_event(int pid, int cpu, bool snapshot)
{
	struct perf_event_attr attr = {
		.type = number("ntrace/type"), .size = sizeof(attr), .config = number("ntrace/cpu0/default_config"), .disabled = 1,
	};
	struct event e;

	/* Prefer BTM, because it has more trace than HTM */
	attr.config = (attr.config & ~NTRACE_CONFIG_MODE) | 3ULL << NTRACE_CONFIG_MODE_SHIFT;
	e.fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	attr.config &= ~NTRACE_CONFIG_MODE;
	if (e.fd < 0)
		e.fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	if (e.fd < 0) {
		perror("latency: perf_event_open");
		exit(1);
	}
	e.page = mmap(NULL, DATA, PROT_READ | PROT_WRITE, MAP_SHARED, e.fd, 0);
	e.page->aux_offset = DATA;
	e.page->aux_size = AUX;
	e.aux = mmap(NULL, AUX, snapshot ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, e.fd, DATA);
	if (e.page == MAP_FAILED || e.aux == MAP_FAILED) {
		perror("latency: mmap");
		exit(1);
	}
	return e;
}

static void close_event(struct event *e)
{
	munmap(e->aux, AUX);
	munmap((void *)e->page, DATA);
	close(e->fd);
}

/*
 * Trace has no 64 zero bytes in a row. A cache line of zeros is the old contents of the area, because the driver has not
 * invalidated the line.
 */
static void check(const struct event *e, uint64_t from, uint64_t to)
{
	static const uint8_t zero[LINE];
	uint64_t at;

	for (at = (from + LINE - 1) & ~(LINE - 1); at + LINE <= to; at += LINE)
		if (!memcmp((uint8_t *)e->aux + at % AUX, zero, LINE)) {
			fprintf(stderr, "latency: the trace from %#lx to %#lx has no bytes at %#lx\n", (long)from, (long)to,
				(long)at);
			exit(1);
		}
}

static volatile unsigned int sum;

/* Execute many branches that are hard to predict */
static void branches(unsigned int n)
{
	unsigned int x = 1;

	for (; n; n--) {
		x = x * 1664525 + 1013904223;
		if (x & 1 << 16)
			sum++;
		if (x & 1 << 20)
			sum += 3;
		if (x & 1 << 24)
			sum ^= x;
	}
}

/* Run until somewhat more than the AUX area was traced, with a switch to another task in each round */
static void work(struct event *e, bool snapshot, int to, int from)
{
	uint64_t before = 0, total = 0, head;
	unsigned int i;
	char c = 0;

	for (i = 0; i < ROUNDS_MAX && total < AUX + AUX / 8; i++) {
		branches(20000);
		if (write(to, &c, 1) != 1 || read(from, &c, 1) != 1)
			exit(1);
		e->page->data_tail = e->page->data_head;
		if (snapshot) {
			total += 20000 * 2;
			continue;
		}
		head = e->page->aux_head;
		__sync_synchronize();
		check(e, before, head);
		total += head - before;
		before = head;
		e->page->aux_tail = head;
	}
}

static void on_cpu(int cpu, bool snapshot, bool task)
{
	cpu_set_t set;
	int to[2], from[2], pid;
	struct event e;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (pipe(to) || pipe(from))
		exit(1);
	pid = start_partner(to, from);
	e = open_event(task ? 0 : -1, task ? -1 : cpu, snapshot);
	ioctl(e.fd, PERF_EVENT_IOC_ENABLE, 0);
	work(&e, snapshot, to[1], from[0]);
	ioctl(e.fd, PERF_EVENT_IOC_DISABLE, 0);
	if (snapshot)
		check(&e, 0, e.page->aux_head < AUX ? e.page->aux_head : AUX);
	ioctl(e.fd, PERF_EVENT_IOC_ENABLE, 0);
	branches(1000);
	close_event(&e);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	int cpus = sysconf(_SC_NPROCESSORS_ONLN), how, cpu, status, failed = 0;

	for (how = 0; how < 4; how++) {
		for (cpu = 0; cpu < cpus; cpu++)
			if (!fork()) {
				on_cpu(cpu, how & 1, how & 2);
				_exit(0);
			}
		while (wait(&status) > 0)
			failed |= status;
	}
	return failed ? 1 : 0;
}
