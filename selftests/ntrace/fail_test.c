// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make functions of the driver fail by the module ntrace-fail, and check how the driver reacts. Without
 * this module, or without kprobes in the kernel, all tests of this file are skipped.
 *
 * NTRACE_MODULES=DIR sets the folder of ntrace-fail.ko and ntrace.ko. The default is /usr/lib/ntrace.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define DRIVER_DIR	"/sys/bus/platform/drivers/ntrace"
#define AUX_SIZE	(1 << 17)

/* Load a module of the driver with parameters. Return 0 or an errno. */
static int load(const char *module, const char *params)
{
	const char *dir = getenv("NTRACE_MODULES");
	char file[256];
	int fd, ret;

	snprintf(file, sizeof(file), "%s/%s.ko", dir ? dir : "/usr/lib/ntrace", module);
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	ret = syscall(SYS_finit_module, fd, params, 0) ? errno : 0;
	close(fd);
	return ret;
}

static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? errno : 0;
}

/* Return the value of a parameter of ntrace-fail. */
static unsigned int fail_count(const char *name)
{
	char file[128];

	snprintf(file, sizeof(file), "/sys/module/ntrace_fail/parameters/%s", name);
	return file_number(file, 0);
}

/*
 * Make functions fail until fail_end(). The formatted text contains the parameters of ntrace-fail. Return
 * 0 or an errno.
 */
static int __attribute__((format(printf, 1, 2))) fail_begin(const char *fmt, ...)
{
	char params[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(params, sizeof(params), fmt, args);
	va_end(args);
	return load("ntrace-fail", params);
}

static unsigned int fail_end(void)
{
	unsigned int hits = fail_count("hits");

	unload("ntrace_fail");
	return hits;
}

FIXTURE(fail) {
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
	int cpu;
};

FIXTURE_SETUP(fail)
{
	int err;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	err = fail_begin("function=ntrace_path_recover times=0");
	if (err)
		SKIP(return, "no module ntrace-fail, or no kprobes: %s", strerror(err));
	fail_end();
	self->cpu = pmu_first_cpu();
	self->rec.fd = -1;
	self->st = calloc(1, sizeof(*self->st));
	event_attr(&self->attr, pmu_config(self->cpu));
	ASSERT_TRUE(pin(self->cpu));
}

FIXTURE_TEARDOWN(fail)
{
	fail_end();
	record_close(&self->rec);
	free(self->st);
}

/* Read the new trace, and discard it. Return its number of bytes. */
static uint64_t drain(struct recording *rec, struct stretches *st)
{
	uint64_t head = __atomic_load_n(&rec->page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t bytes = head - rec->page->aux_tail;

	record_stretches(rec, st);
	__atomic_store_n(&rec->page->aux_tail, head, __ATOMIC_RELEASE);
	return bytes;
}

/* Return the number of bytes of trace that arrive within a short time, while the event continues */
static uint64_t goes_on(struct recording *rec, struct stretches *st)
{
	uint64_t bytes = 0;
	int i;

	drain(rec, st);
	for (i = 0; i < 20 && !bytes; i++) {
		busy(20000);
		usleep(5000);
		bytes = drain(rec, st);
	}
	return bytes;
}

/* A traced program must be able to fork() even if the hardware of its event fails. */
TEST_F(fail, fork_of_a_program_whose_encoder_fails)
{
	struct recording other;
	int status = 1;
	pid_t child;

	self->attr.inherit = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, self->cpu, 1 << 22, false));
	record_start(&self->rec);
	ASSERT_EQ(fail_begin("function=ntrace_path_recover error=%d", -EIO), 0);
	child = fork();
	if (!child) {
		busy(1000);
		_exit(0);
	}
	EXPECT_GT(child, 0) TH_LOG("fork() failed: %s", strerror(errno));
	if (child > 0)
		waitpid(child, &status, 0);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(fail_count("hits"), 0);
	/* perf_event_open() must return the error of the hardware */
	EXPECT_FALSE(record_open(&other, &self->attr, 0, self->cpu, AUX_SIZE, false));
	EXPECT_EQ(other.err, EIO);
	EXPECT_GT(fail_end(), 0);
	record_stop(&self->rec);
	EXPECT_GT(drain(&self->rec, self->st), 0);
}

/* Get the names of at most @max components of the driver. Return their number. */
static unsigned int components(char names[][64], unsigned int max)
{
	DIR *dir = opendir(DRIVER_DIR);
	struct dirent *entry;
	unsigned int n = 0;

	while (dir && n < max && (entry = readdir(dir)))
		if (strlen(entry->d_name) > 2 && strchr(entry->d_name, '.'))
			snprintf(names[n++], sizeof(names[0]), "%.63s", entry->d_name);
	if (dir)
		closedir(dir);
	return n;
}

/* Read the capabilities of all components, and open events, so that the driver accesses all components. */
static void look_at_all(const struct perf_event_attr *wanted)
{
	struct perf_event_attr attr = *wanted;
	char names[32][64], file[256], text[256];
	unsigned int n = components(names, 32), i;
	struct recording rec;
	FILE *f;
	int cpu;

	for (i = 0; i < n; i++) {
		snprintf(file, sizeof(file), "/sys/kernel/debug/ntrace/%.63s/caps", names[i]);
		f = fopen(file, "r");
		while (f && fgets(text, sizeof(text), f))
			;
		if (f)
			fclose(f);
	}
	attr.type = pmu_type();
	for (cpu = 0; cpu < 8; cpu++) {
		if (!record_open(&rec, &attr, -1, cpu, AUX_SIZE, false))
			continue;
		record_start(&rec);
		busy(1000);
		record_close(&rec);
	}
}

/* If the sysfs files of a component cannot be created, the driver does not use the component, and frees it. */
TEST_F(fail, component_without_attributes)
{
	unsigned int n, i, cpus = pmu_nr_cpus();
	char names[32][64], file[256];

	n = components(names, 32);
	ASSERT_GT(n, 1);
	for (i = 0; i < n; i++) {
		ASSERT_EQ(unload("ntrace"), 0);
		ASSERT_EQ(fail_begin("function=device_add_groups error=%d times=1 device=%s", -ENOMEM,
				     names[i]), 0);
		ASSERT_EQ(load("ntrace", ""), 0);
		EXPECT_EQ(fail_end(), 1) TH_LOG("%s", names[i]);
		snprintf(file, sizeof(file), DRIVER_DIR "/%.63s", names[i]);
		EXPECT_NE(access(file, F_OK), 0) TH_LOG("%s is used", names[i]);
		look_at_all(&self->attr);
	}
	ASSERT_EQ(unload("ntrace"), 0);
	ASSERT_EQ(load("ntrace", ""), 0);
	EXPECT_EQ(pmu_nr_cpus(), cpus);
	self->attr.type = pmu_type();
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
	record_start(&self->rec);
	EXPECT_GT(goes_on(&self->rec, self->st), 0);
}

/*
 * Check that trace continues. Then let the start of a window fail with @error, at most @times times. Wait
 * until @wanted starts have failed. Return a description of a problem, or NULL.
 */
static const char *next_windows_fail(FIXTURE_DATA(fail) *self, int error, unsigned int times,
				     unsigned int wanted)
{
	unsigned int i;

	/*
	 * Use windows of 64 KiB, because the driver reports the trace of a window when it is full, and
	 * the test reads trace long before the whole buffer is full
	 */
	self->attr.aux_watermark = 1 << 16;
	if (!record_open(&self->rec, &self->attr, -1, self->cpu, 1 << 22, false))
		return "the event is refused";
	record_start(&self->rec);
	if (!goes_on(&self->rec, self->st))
		return "there is no trace";
	if (fail_begin("function=ntrace_sink_start error=%d times=%u", error, times))
		return "the module ntrace-fail cannot be loaded";
	/*
	 * Empty the buffer. It may be full of trace of the kernel code that loaded the module ntrace-fail,
	 * which lets functions of the driver fail
	 */
	drain(&self->rec, self->st);
	record_start(&self->rec);
	for (i = 0; i < 200 && fail_count("hits") < wanted; i++) {
		busy(20000);
		usleep(5000);
		drain(&self->rec, self->st);
	}
	return NULL;
}

/*
 * No task switch restarts an event that belongs to a CPU. If another event uses the sink when the next
 * window of this event must start, the driver tries again later. One record reports that trace is
 * missing.
 */
TEST_F(fail, event_of_a_cpu_tries_again)
{
	const char *wrong = next_windows_fail(self, -EBUSY, 5, 5);

	ASSERT_EQ(wrong, NULL) TH_LOG("%s", wrong);
	EXPECT_EQ(fail_end(), 5);
	EXPECT_EQ(self->st->nr_collided, 1);
	EXPECT_GT(goes_on(&self->rec, self->st), 0);
}

/*
 * If the hardware fails, the driver does not start the event again. A record has the flag TRUNCATED. The
 * user can then enable the event.
 */
TEST_F(fail, event_of_a_cpu_whose_sink_fails)
{
	const char *wrong = next_windows_fail(self, -EIO, -1, 1);

	ASSERT_EQ(wrong, NULL) TH_LOG("%s", wrong);
	usleep(5000);
	EXPECT_GT(fail_end(), 0);
	drain(&self->rec, self->st);
	EXPECT_GT(self->st->nr_truncated, 0);
	EXPECT_EQ(self->st->nr_collided, 0);
	record_stop(&self->rec);
	record_start(&self->rec);
	EXPECT_GT(goes_on(&self->rec, self->st), 0);
}

/* After a component was stuck, the driver must set it up completely before it uses the component. */
TEST_F(fail, component_that_is_stuck)
{
	unsigned int i, hits;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
	ASSERT_EQ(fail_begin("function=ntrace_ramsink_program error=%d times=1 break=1", -EIO), 0);
	record_start(&self->rec);
	busy(1000);
	hits = fail_end();
	record_close(&self->rec);
	if (!hits)
		SKIP(return, "the sink is not a RAM sink of the Trace Control Interface 1.0");

	/* The driver refuses each event while the component does not leave its reset */
	ASSERT_EQ(fail_begin("function=ntrace_comp_reset error=%d", -ETIMEDOUT), 0);
	for (i = 0; i < 3; i++) {
		EXPECT_FALSE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
		EXPECT_EQ(self->rec.err, EIO);
		record_close(&self->rec);
	}
	EXPECT_EQ(fail_end(), 3);

	/*
	 * The component now leaves its reset. The driver must not start it before all of its
	 * registers are written
	 */
	ASSERT_EQ(fail_begin("function=ntrace_ramsink_comp_revive watch=1"), 0);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
	EXPECT_EQ(fail_count("stuck"), 1);
	EXPECT_GT(fail_end(), 0);
	record_start(&self->rec);
	EXPECT_GT(goes_on(&self->rec, self->st), 0);
}

/* If a component does not send its trace in time, this trace is lost, but the event continues. */
TEST_F(fail, member_of_a_sink_that_is_not_empty_in_time)
{
	struct recording owner;
	unsigned int hits;

	if (pmu_nr_cpus() < 2)
		SKIP(return, "there is one encoder only");
	/* use snapshot mode, in which the driver does not stop the sink to read trace */
	ASSERT_TRUE(record_open(&owner, &self->attr, -1, 0, 1 << 20, true));
	/*
	 * Use small windows. goes_on() counts only the trace of complete windows, and its work hardly
	 * fills a default window, which is half of the buffer
	 */
	self->attr.aux_watermark = 1 << 14;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 20, false));
	record_start(&owner);
	pin(1);
	record_start(&self->rec);
	busy(1000);
	ASSERT_EQ(fail_begin("function=ntrace_comp_flush error=%d times=1", -ETIMEDOUT), 0);
	record_stop(&self->rec);
	hits = fail_end();
	/*
	 * The error of fail_begin() occurs when the event of CPU 1 leaves the sink. This happens at
	 * record_stop(), or earlier if CPU 1 enters a deep idle state. Read the records of both
	 * buffers, because exactly one of these records must report the loss
	 */
	drain(&self->rec, self->st);
	drain(&owner, self->st);
	record_close(&owner);
	if (!hits)
		SKIP(return, "nothing is between encoder and sink, or it empties at once");
	EXPECT_EQ(self->st->nr_truncated, 0);
	EXPECT_EQ(self->st->nr_partial, 1);
	/*
	 * Check that the event still traces. Its trace is in its own buffer, because no other event uses
	 * the sink now.
	 */
	record_start(&self->rec);
	EXPECT_GT(goes_on(&self->rec, self->st), 0);
}

TEST_HARNESS_MAIN
