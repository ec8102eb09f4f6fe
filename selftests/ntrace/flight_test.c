// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test that an ordinary user cannot stop the flight recorder, and cannot take a sink from it, because the
 * recorder belongs to the administrator.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ntrace-flight.h>

#include "kselftest_harness.h"
#include "trace.h"

#define FLIGHT	"/sys/devices/platform/ntrace-flight/"

/*
 * First messages that the kernel prints when it is in trouble. An ordinary user can give a process a name
 * that consists of the first 15 characters of one of these messages, and the kernel prints this name if the
 * process crashes.
 */
static const char * const troubles[] = {
	"Kernel panic - not syncing: a test",
	"Unable to handle kernel a test",
	"kernel BUG at a test",
	"Oops [#1]",
	"watchdog: BUG: soft lockup - CPU#0 stuck",
	"watchdog: CPU0: Watchdog detected hard LOCKUP on cpu 1",
	"rcu: INFO: rcu_sched self-detected stall",
};

static void flight_write(const char *file, const char *text)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), FLIGHT "%s", file);
	err = write_text(path, text);
	if (err)
		printf("# %s: %s\n", path, strerror(err));
}

static bool flight_is(const char *state)
{
	char text[32];

	return file_text(FLIGHT "state", text, sizeof(text)) && !strcmp(text, state);
}

/* Return the number of the last gap of the record, or -1 on failure. Set *ended if this gap has ended. */
static int flight_last_gap(bool *ended)
{
	struct ntrace_flight_header head;
	struct ntrace_flight_gap gap;
	int fd = open(FLIGHT "record", O_RDONLY), most = -1;
	unsigned int i, k;

	*ended = false;
	if (fd < 0 || read(fd, &head, sizeof(head)) != sizeof(head))
		head.nr_parts = 0;
	for (i = 0; i < head.nr_parts && i < NTRACE_FLIGHT_MAX_PARTS; i++) {
		if (head.parts[i].type != NTRACE_FLIGHT_GAPS)
			continue;
		most = 0;
		for (k = 0; k < head.parts[i].size / sizeof(gap); k++) {
			if (pread(fd, &gap, sizeof(gap), head.parts[i].offset + k * sizeof(gap)) !=
			    sizeof(gap) || (int)gap.number <= most)
				continue;
			most = gap.number;
			*ended = gap.to;
		}
	}
	close(fd);
	return most;
}

/* Return the number of times that sinks of the recorder stopped, or -1 on failure. */
static int flight_gaps(void)
{
	bool ended;

	return flight_last_gap(&ended);
}

/* Set the log level of the console to the text @level. Store the previous level in @old. */
static void console_level(const char *level, char *old, size_t size)
{
	FILE *f = fopen("/proc/sys/kernel/printk", "r+");

	if (!f)
		return;
	if (old && !fgets(old, size, f))
		old[0] = 0;
	rewind(f);
	fputs(level, f);
	fclose(f);
}

FIXTURE(flight) {
	char level[64];
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
};

FIXTURE_SETUP(flight)
{
	if (access(FLIGHT "state", R_OK))
		SKIP(return, "there is no flight recorder");
	if (geteuid())
		SKIP(return, "it takes root to read the record");
	if (!flight_is("recording"))
		SKIP(return, "the flight recorder does not record");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	self->attr.config &= ~NTRACE_CONFIG_FIRMWARE;
	self->attr.exclude_kernel = 1;
	self->st = calloc(1, sizeof(*self->st));
	self->rec.fd = -1;
	/*
	 * Let the kernel print no messages to the console, because these tests cause messages, and the
	 * scripts that run the tests search the console for faults of the kernel
	 */
	console_level("1", self->level, sizeof(self->level));
	set_paranoid(2);
}

FIXTURE_TEARDOWN(flight)
{
	record_close(&self->rec);
	free(self->st);
	console_level(self->level, NULL, 0);
	if (!flight_is("recording")) {
		flight_write("clear", "1");
		flight_write("enable", "1");
	}
}

/* Let a process of an ordinary user crash, so that the kernel logs a line that starts with @name. */
static void die_as(const char *name)
{
	int pid = fork();

	if (!pid) {
		become_user();
		int *volatile nowhere = (int *)8;

		prctl(PR_SET_NAME, name);
		raise(SIGSTOP);
		*nowhere = 0;
		_exit(0);
	}
	waitpid(pid, NULL, WUNTRACED);
	kill(pid, SIGCONT);
	waitpid(pid, NULL, 0);
}

TEST_F(flight, the_name_of_a_process_does_not_stop_it)
{
	unsigned int i;

	for (i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		die_as(troubles[i]);
		usleep(300000);
		EXPECT_TRUE(flight_is("recording"))
			TH_LOG("it stopped after a process named %.15s died", troubles[i]);
		if (!flight_is("recording"))
			flight_write("clear", "1");
	}
}

TEST_F(flight, a_line_of_the_log_does_not_stop_it)
{
	int fd = open("/dev/kmsg", O_WRONLY);
	unsigned int i;
	char line[128];

	if (fd < 0)
		SKIP(return, "there is no /dev/kmsg");
	for (i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		/* a message with the level of debug messages does not appear on the console */
		snprintf(line, sizeof(line), "<7>%s", troubles[i]);
		ASSERT_GT(write(fd, line, strlen(line)), 0);
		usleep(300000);
		EXPECT_TRUE(flight_is("recording"))
			TH_LOG("it stopped after the log had: %s", troubles[i]);
		if (!flight_is("recording"))
			flight_write("clear", "1");
	}
	close(fd);
}

TEST_F(flight, an_ordinary_user_is_refused_with_ebusy)
{
	int status, before = flight_gaps(), pid = fork();

	ASSERT_GE(before, 0);
	if (!pid) {
		if (!become_user())
			_exit(1);
		if (record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false)) {
			record_start(&self->rec);
			busy(10000);
			_exit(2);
		}
		_exit(self->rec.err == EBUSY ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(WEXITSTATUS(status), 0)
		TH_LOG("1: no user, 2: the event was opened, 3: another error than EBUSY");
	EXPECT_EQ(flight_gaps(), before);
}

/*
 * An ordinary user opens an event before the recorder starts. The event traces until the recorder
 * starts. After that, it must not take a sink from the recorder, even at many task switches.
 */
TEST_F(flight, an_event_from_before_gives_its_sink_to_the_recorder)
{
	int status, pid, ready[2], go[2];
	char c = 0;

	ASSERT_EQ(pipe(ready) | pipe(go), 0);
	flight_write("enable", "0");
	pid = fork();
	if (!pid) {
		struct recording *rec = &self->rec;
		uint64_t until;
		unsigned int i;

		if (!become_user() || !record_open(rec, &self->attr, 0, -1, 1 << 16, false))
			_exit(1);
		record_start(rec);
		busy(1000);
		if (write(ready[1], &c, 1) != 1 || read(go[0], &c, 1) != 1)
			_exit(1);
		until = rec->page->aux_head;
		for (i = 0; i < 100; i++) {
			busy(1000);
			usleep(1000);
		}
		record_stop(rec);
		record_stretches(rec, self->st);
		if (!until)
			_exit(2);
		if (rec->page->aux_head != until)
			_exit(3);
		_exit(self->st->nr_collided ? 0 : 4);
	}
	ASSERT_EQ(read(ready[0], &c, 1), 1);
	flight_write("enable", "1");
	EXPECT_TRUE(flight_is("recording"));
	ASSERT_EQ(write(go[1], &c, 1), 1);
	waitpid(pid, &status, 0);
	EXPECT_EQ(WEXITSTATUS(status), 0)
		TH_LOG("1: no event, 2: it never traced, 3: it traced on, 4: no COLLISION flag");
	EXPECT_EQ(flight_gaps(), 0);
}

/* Run the task of @rec for @seconds, and read its trace. */
static void run_on(struct recording *rec, struct stretches *st, double seconds)
{
	double end;

	for (end = now() + seconds; now() < end;) {
		busy(1000);
		record_stretches(rec, st);
		record_empty(rec);
	}
}

/*
 * An ordinary user opens an event before the recorder starts. The task never sleeps, so that no task
 * switch stops the event. The recorder must get the sink nevertheless.
 */
TEST_F(flight, an_event_of_a_busy_task_gives_its_sink_to_the_recorder)
{
	struct recording *rec = &self->rec;
	int status, pid;
	uint64_t head;

	flight_write("enable", "0");
	pid = fork();
	if (!pid) {
		if (!become_user() || !record_open(rec, &self->attr, 0, -1, 1 << 16, false))
			_exit(1);
		record_start(rec);
		run_on(rec, self->st, 0.3);
		if (!rec->page->aux_head)
			_exit(2);
		while (!flight_is("recording"))
			run_on(rec, self->st, 0.01);
		run_on(rec, self->st, 0.3);
		head = rec->page->aux_head;
		run_on(rec, self->st, 0.5);
		_exit(rec->page->aux_head != head ? 3 : self->st->nr_collided ? 0 : 4);
	}
	usleep(600000);
	flight_write("enable", "1");
	waitpid(pid, &status, 0);
	EXPECT_EQ(WEXITSTATUS(status), 0)
		TH_LOG("1: no event, 2: it never traced, 3: it traced on, 4: no COLLISION flag");
}

/*
 * The recorder programs the encoder each time that a task with an event is switched out. The encoder then
 * loses the information that the task is between the start and the stop of a filter. The driver must
 * refuse an event with such a filter.
 */
TEST_F(flight, starts_and_stops_are_refused_while_it_records)
{
	int fd;

	if (!pmu_number("caps/start_filters", 0))
		SKIP(return, "no comparator goes from one address to another");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false));
	fd = self->rec.fd;
	EXPECT_NE(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "start 0x1000,stop 0x2000"), 0);
	EXPECT_EQ(errno, EBUSY);
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "filter 0x1000/0x1000"), 0);
	flight_write("enable", "0");
	EXPECT_EQ(ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "start 0x1000,stop 0x2000"), 0);
	/* the recorder starts after the event, but gets the sink, and the event waits */
	flight_write("enable", "1");
	EXPECT_TRUE(flight_is("recording"));
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	busy(10000);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	record_stretches(&self->rec, self->st);
	EXPECT_GT(self->st->nr_collided, 0);
	EXPECT_EQ(self->st->bytes, 0);
}

#define FAIL	"/usr/lib/ntrace/ntrace-fail.ko"

/* If the encoder of an event is stuck, the recorder must continue with the other encoders of the sink. */
TEST_F(flight, an_encoder_that_is_stuck_is_left_out)
{
	bool ended;

	if (access(FAIL, R_OK))
		SKIP(return, "there is no module " FAIL);
	if (pmu_nr_cpus() < 2)
		SKIP(return, "no two CPUs share a sink");
	self->attr.exclude_kernel = 0;
	ASSERT_EQ(system("insmod " FAIL " function=ntrace_encoder_program error=-5 times=1 break=1 cpu=1"),
		  0);
	EXPECT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 16, false));
	record_start(&self->rec);
	usleep(100000);
	record_close(&self->rec);
	system("rmmod ntrace-fail");
	EXPECT_GT(flight_last_gap(&ended), 0);
	EXPECT_TRUE(ended);
	/* the next event must reset the encoder, and so end the fault */
	EXPECT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 16, false));
}

TEST_F(flight, root_takes_its_sink_and_gives_it_back)
{
	int before = flight_gaps();

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false))
		TH_LOG("%s", strerror(self->rec.err));
	record_work(&self->rec, 10000);
	record_stretches(&self->rec, self->st);
	EXPECT_GT(self->st->bytes, 0);
	EXPECT_EQ(self->st->nr_collided, 0);
	EXPECT_GT(flight_gaps(), before);
	EXPECT_TRUE(flight_is("recording"));
}

TEST_HARNESS_MAIN
