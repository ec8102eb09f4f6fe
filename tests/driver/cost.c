// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how many retired instructions the driver costs. Two tasks on one CPU pass a byte back and forth. Run this
 * program on the board with one hart and --icount, so that a tick of the time CSR is 50 retired instructions.
 */
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
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

/* If this flag is set, ntrace-null.c writes no records */
#define NULL_QUIET	(1 << 12)

#define BATCH	8
#define BATCHES	512
#define INSTRUCTIONS_PER_TICK	50
#define PAGE	4096UL
#define AUX	(1UL << 20)

static int to[2], from[2];

static uint64_t ticks(void)
{
	uint64_t n;

	asm volatile("csrr %0, time" : "=r" (n));
	return n;
}

static struct perf_event_mmap_page *page;
static void *aux;
static int aux_prot = PROT_READ | PROT_WRITE;

/* Open an event of @pmu with an AUX area. If @pid is -1, the event traces @cpu and not a task. */
static int event(const char *pmu, uint64_t config, int pid, int cpu)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .config = config, .sample_period = 1,
		.sample_type = PERF_SAMPLE_TID, .sample_id_all = 1, .disabled = 1,
	};
	char file[64];
	int fd;

	snprintf(file, sizeof(file), "%s/type", pmu);
	attr.type = number(file);
	fd = syscall(SYS_perf_event_open, &attr, pid, cpu, -1, 0);
	if (fd < 0) {
		perror("cost: perf_event_open");
		exit(1);
	}
	page = mmap(NULL, PAGE * 65, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	page->aux_offset = 65 * PAGE;
	page->aux_size = AUX;
	aux = mmap(NULL, AUX, aux_prot, MAP_SHARED, fd, 65 * PAGE);
	if (aux == MAP_FAILED) {
		perror("cost: AUX area");
		exit(1);
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	return fd;
}

static void end(int fd)
{
	munmap(aux, AUX);
	munmap(page, 65 * PAGE);
	page = NULL;
	close(fd);
}

static void read_all(void)
{
	if (!page)
		return;
	/* Empty the ring, because the kernel drops records if the ring is full, and this takes less time */
	page->data_tail = page->data_head;
	if (aux_prot & PROT_WRITE)
		page->aux_tail = page->aux_head;
}

/* Return the number of instructions of a round, in which the CPU switches to the other task and back */
static double round_trips(void)
{
	uint64_t best = ~0ULL, start, n;
	unsigned int i, j;
	char c = 0;

	/*
	 * Timers sometimes interrupt a measurement, so measure many times. The shortest time has no timer interrupt
	 */
	for (i = 0; i < BATCHES; i++) {
		read_all();
		start = ticks();
		for (j = 0; j < BATCH; j++)
			if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
				exit(1);
		n = ticks() - start;
		best = n < best ? n : best;
	}
	return (double)best * INSTRUCTIONS_PER_TICK / BATCH;
}

/* Print the cost of a round, in which the scheduler switches the traced task in and out once */
static void say(const char *what, double n, double than)
{
	printf("%-60s %8.0f  %+8.0f\n", what, n, n - than);
}

/*
 * "cost mmio": switch tasks so often that nearly all register accesses that the board counts are caused by task
 * switches
 */
static int only_switch(uint64_t config, int pid)
{
	event("ntrace", config, pid, -1);
	round_trips();
	printf("%u switches in and out\n", BATCH * BATCHES);
	kill(pid, SIGKILL);
	return 0;
}

static void flight_recorder(const char *on)
{
	FILE *f = fopen("/sys/devices/platform/ntrace-flight/enable", "w");

	if (!f || fputs(on, f) < 0 || fclose(f)) {
		perror("the flight recorder");
		exit(1);
	}
}

/*
 * "cost flight": measure the cost of the flight recorder per task switch, with scontext and thread
 * names
 */
static int only_flight(int pid)
{
	double off, on;

	flight_recorder("0");
	off = round_trips();
	flight_recorder("1");
	on = round_trips();
	printf("cost: task switch while the flight recorder records: %.1f\n", (on - off) / 2);
	kill(pid, SIGKILL);
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t config = number("ntrace/cpu0/default_config") & ~(uint64_t)NTRACE_CONFIG_CONTEXT;
	double base, null, record, quiet, traced, snap, off, all, context, again, snap_record, snap_quiet;
	struct sched_param param = { .sched_priority = 10 };
	int pid, fd;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(to) || pipe(from))
		return 1;
	/* No other task may run between the switches of the two tasks */
	sched_setscheduler(0, SCHED_FIFO, &param);
	pid = start_partner(to, from);
	close(to[0]);
	if (argc > 1)
		return strcmp(argv[1], "flight") ? only_switch(config, pid) : only_flight(pid);

	printf("%-60s %8s  %8s\n", "instructions of a round trip between two tasks", "", "more");
	base = round_trips();
	say("no event", base, base);

	fd = event("ntrace_null", 0, pid, -1);
	null = round_trips();
	say("a bare AUX PMU on one of them", null, base);
	end(fd);
	fd = event("ntrace_null", 64, pid, -1);
	record = round_trips();
	say("the same, handing over 64 bytes each time", record, null);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	quiet = round_trips();
	say("the same, disabled", quiet, base);
	end(fd);

	fd = event("ntrace", config, pid, -1);
	traced = round_trips();
	say("ntrace on one of them, beyond the bare PMU", traced, null);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	off = round_trips();
	say("the same, disabled, beyond the bare PMU disabled", off, quiet);
	end(fd);

	/* Map the AUX buffer read-only, so that new trace overwrites old trace (snapshot mode) */
	aux_prot = PROT_READ;
	fd = event("ntrace_null", NULL_QUIET | 64, pid, -1);
	snap_quiet = round_trips();
	say("a bare AUX PMU on one of them, snapshot without a record", snap_quiet, null);
	end(fd);
	fd = event("ntrace_null", 64, pid, -1);
	snap_record = round_trips();
	say("the same, handing over 64 bytes each time", snap_record, snap_quiet);
	end(fd);
	fd = event("ntrace", config, pid, -1);
	snap = round_trips();
	say("ntrace on one of them, snapshot, beyond the bare PMU", snap, null);
	end(fd);
	aux_prot = PROT_READ | PROT_WRITE;

	fd = event("ntrace", config, -1, 0);
	all = round_trips();
	say("ntrace on the CPU", all, base);
	end(fd);
	fd = event("ntrace", config | NTRACE_CONFIG_CONTEXT, -1, 0);
	context = round_trips();
	say("the same, with context", context, all);
	end(fd);
	/* wait until perf removes its hooks from task switches, which it does a second after the last event */
	sleep(3);
	again = round_trips();
	say("no event any more", again, base);

	printf("cost: sched-in and sched-out beyond a bare AUX PMU: %.0f, of these for what perf does with bytes: %.0f\n",
	       traced - null, record - null);
	printf("cost: snapshot beyond a bare AUX PMU: %.0f, of these for what perf does with bytes: %.0f\n",
	       snap - snap_quiet, snap_record - snap_quiet);
	printf("cost: task switch with context: %.1f\n", (context - all) / 2);
	printf("cost: event not active: %.0f, no event any more: %.0f\n", off - quiet, again - base);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
