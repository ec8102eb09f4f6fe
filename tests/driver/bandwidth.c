// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure how many bytes of trace the flight recorder writes for 1,000 retired instructions of a fixed workload, with
 * each setting of the encoder. The kernel executes most of the workload: two tasks pass a byte back and forth, a task
 * reads files, and processes start and end. Run this program on the board with one hart, --icount and --flight 8M, so
 * that a tick of the time CSR is 50 retired instructions.
 *
 * This program writes settings to the files of the recorder, and reads the number of bytes from the recorder's
 * record.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ntrace-flight.h>
#include <linux/ntrace.h>

#define FLIGHT			"/sys/devices/platform/ntrace-flight/"
#define INSTRUCTIONS_PER_TICK	50
#define ROUNDS			60
#define META			(1 << 20)

static uint64_t ticks(void)
{
	uint64_t n;

	asm volatile("csrr %0, time" : "=r" (n));
	return n;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		die(file);
	close(fd);
}

static uint64_t default_config(void)
{
	char text[64] = "";
	FILE *f = fopen("/sys/bus/event_source/devices/ntrace/cpu0/default_config", "r");

	if (!f || !fgets(text, sizeof(text), f))
		die("default_config");
	fclose(f);
	return strtoull(text, NULL, 0);
}

/* ---- The workload whose trace is measured ---- */

static int to[2], from[2];

static void echo(void)
{
	char c;

	while (read(to[0], &c, 1) == 1)
		if (write(from[1], &c, 1) != 1)
			break;
	_exit(0);
}

static void one_round(void)
{
	char text[4096], c = 0;
	int i, fd, pid;

	for (i = 0; i < 8; i++)
		if (write(to[1], &c, 1) != 1 || read(from[0], &c, 1) != 1)
			exit(1);
	fd = open("/proc/self/stat", O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text)) <= 0)
		die("/proc/self/stat");
	close(fd);
	pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
}

/* ---- The number of bytes in the record of the flight recorder ---- */

/* Return the number of bytes that the board's only sink has written */
static uint64_t bytes_written(void)
{
	static uint8_t meta[META];
	const struct ntrace_flight_header *head = (void *)meta;
	const struct ntrace_flight_pointer *p, *last = NULL;
	int fd = open(FLIGHT "record", O_RDONLY);
	ssize_t n = 0, got = 0;
	unsigned int i, k;

	while (fd >= 0 && got < META && (n = read(fd, meta + got, META - got)) > 0)
		got += n;
	if (got < META || head->magic != NTRACE_FLIGHT_MAGIC)
		die(FLIGHT "record");
	close(fd);
	for (i = 0; i < head->nr_parts; i++) {
		if (head->parts[i].type != NTRACE_FLIGHT_POINTERS)
			continue;
		p = (const void *)(meta + head->parts[i].offset);
		for (k = 0; k < 2; k++)
			if (p[k].check && (!last || p[k].number > last->number))
				last = &p[k];
	}
	if (!last || last->flags & NTRACE_FLIGHT_POINTER_WRAPPED) {
		fputs("bandwidth: the record is too small\n", stderr);
		exit(1);
	}
	return last->offset;
}

/* Start a new record with the settings that were last written. */
static void begin(void)
{
	static int has_one;

	if (has_one) {
		put(FLIGHT "clear", "1");
	} else {
		put(FLIGHT "enable", "0");
		put(FLIGHT "enable", "1");
	}
	has_one = 1;
}

/* Return the number of bytes for 1,000 instructions with the encoder settings @config */
static double measure(uint64_t config, int user)
{
	uint64_t start, n;
	char text[32];
	int i;

	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)config);
	put(FLIGHT "config", text);
	put(FLIGHT "user_mode", user ? "1" : "0");
	begin();
	start = ticks();
	for (i = 0; i < ROUNDS; i++)
		one_round();
	n = (ticks() - start) * INSTRUCTIONS_PER_TICK;
	put(FLIGHT "trigger", "bandwidth");
	return 1000.0 * bytes_written() / n;
}

static void say(const char *what, uint64_t config)
{
	double kernel = measure(config, 0), all = measure(config, 1);

	printf("bandwidth: %-44s %8.1f %8.1f\n", what, kernel, all);
}

#define WITH(field, value) ((base & ~NTRACE_CONFIG_##field) | \
			    (uint64_t)(value) << NTRACE_CONFIG_##field##_SHIFT)

int main(void)
{
	struct sched_param param = { .sched_priority = 10 };
	uint64_t base = default_config();
	char what[64];
	int pid, i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	/* Change the default settings like the recorder does */
	base = (base & ~(NTRACE_CONFIG_SEQUENTIAL_JUMP | NTRACE_CONFIG_INHIBIT_SRC)) |
	       NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_CONTEXT;
	if (pipe(to) || pipe(from))
		die("pipe");
	sched_setscheduler(0, SCHED_FIFO, &param);
	pid = fork();
	if (!pid)
		echo();
	printf("bandwidth: %-44s %8s %8s\n", "bytes for 1,000 retired instructions", "kernel", "all");
	/* Ignore the first measurement, because it executes more code */
	measure(base, 0);
	say("as it is: SYNC each 2^12 messages", base);
	say("BTM", WITH(MODE, 3));
	say("no timestamps", base & ~NTRACE_CONFIG_TIMESTAMP);
	say("no context", base & ~NTRACE_CONFIG_CONTEXT);
	say("no repeated history", base & ~NTRACE_CONFIG_REPEATED_HISTORY);
	say("no implicit return", base & ~NTRACE_CONFIG_IMPLICIT_RETURN);
	say("neither of both", base & ~(NTRACE_CONFIG_REPEATED_HISTORY | NTRACE_CONFIG_IMPLICIT_RETURN));
	say("sequential jumps, too (code has to be known)", base | NTRACE_CONFIG_SEQUENTIAL_JUMP);
	say("no SYNC but the first", WITH(SYNC_MODE, 0));
	base = WITH(SYNC_MODE, 2);
	for (i = 4; i <= 14; i += 2) {
		snprintf(what, sizeof(what), "SYNC each 2^%d cycles", i + 4);
		say(what, WITH(SYNC_MAX, i));
	}
	base = WITH(SYNC_MODE, 1);
	for (i = 2; i <= 8; i += 2) {
		snprintf(what, sizeof(what), "SYNC each 2^%d messages", i + 4);
		say(what, WITH(SYNC_MAX, i));
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
