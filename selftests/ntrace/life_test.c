// SPDX-License-Identifier: GPL-2.0-only
/* The module, the CPUs, and events that come and go */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(life) {
	struct perf_event_attr attr;
	struct recording rec;
};

FIXTURE_SETUP(life)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	self->rec.fd = -1;
}

FIXTURE_TEARDOWN(life)
{
	record_close(&self->rec);
}

TEST_F(life, module_in_use_stays)
{
	if (access("/sys/module/ntrace/refcnt", F_OK))
		SKIP(return, "built in");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false));
	EXPECT_EQ(syscall(SYS_delete_module, "ntrace", O_NONBLOCK), -1);
	EXPECT_EQ(errno, EWOULDBLOCK);
	record_close(&self->rec);
}

TEST_F_TIMEOUT(life, thousand_starts_and_stops, 200)
{
	uint64_t head = 0, now;
	int i;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 18, false));
	for (i = 0; i < 1000; i++) {
		ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
		busy(20);
		ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
		now = self->rec.page->aux_head;
		ASSERT_GT(now, head) TH_LOG("start %d", i);
		head = now;
		__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	}
}

TEST_F_TIMEOUT(life, thread_that_migrates, 200)
{
	int cpu, n = sysconf(_SC_NPROCESSORS_ONLN), i;
	uint64_t head = 0, now;
	cpu_set_t set;

	if (n < 2)
		SKIP(return, "one CPU");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 100; i++) {
		cpu = i % n;
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
		busy(100);
		now = __atomic_load_n(&self->rec.page->aux_head, __ATOMIC_ACQUIRE);
		if (i)
			ASSERT_GT(now, head) TH_LOG("migration %d", i);
		head = now;
		__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	}
	ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
}

static bool cpu_online(int cpu, bool on)
{
	char path[96];
	int fd, ret;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return false;
	ret = write(fd, on ? "1" : "0", 1);
	close(fd);
	return ret == 1;
}

TEST_F_TIMEOUT(life, cpu_goes_and_comes, 200)
{
	uint64_t head;
	int i;

	if (!cpu_online(1, true) && errno)
		SKIP(return, "CPU 1 cannot be taken offline");
	for (i = 0; i < 3; i++) {
		if (!record_open(&self->rec, &self->attr, -1, 1, 1 << 18, false))
			SKIP(return, "CPU 1 is not traced");
		ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
		usleep(10000);
		ASSERT_TRUE(cpu_online(1, false));
		head = self->rec.page->aux_head;
		EXPECT_GT(head, 0);
		usleep(10000);
		EXPECT_EQ(self->rec.page->aux_head, head);
		ASSERT_TRUE(cpu_online(1, true));
		record_close(&self->rec);
	}
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 18, false));
	ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	usleep(10000);
	ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/*
 * All that happens in a system suspend but for the sleep: other CPUs go, and the
 * last one says that it loses its state. The event goes on behind it.
 */
TEST_F_TIMEOUT(life, system_suspend, 120)
{
	struct message msg;
	uint64_t before, head;
	uint8_t buf[65536];
	size_t pos = 0, n;
	int ret;

	write_file("/sys/module/suspend/parameters/pm_test_delay", "1");
	if (!system("grep -q ' 9p ' /proc/mounts"))
		SKIP(return, "a 9p file system is mounted, which does not survive it");
	write_file("/sys/power/mem_sleep", "deep");
	if (!write_file("/sys/power/pm_test", "core"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, pmu_first_cpu(), 1 << 22, false));
	ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	ret = write_file("/sys/power/state", "mem");
	if (!ret && write_file("/sys/power/pm_test", "devices"))
		/* only to idle: devices go, and CPUs stay */
		ret = write_file("/sys/power/state", "freeze");
	before = __atomic_load_n(&self->rec.page->aux_head, __ATOMIC_ACQUIRE);
	busy(20000);
	ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	write_file("/sys/power/pm_test", "none");
	if (!ret)
		SKIP(return, "the kernel does not suspend");
	head = self->rec.page->aux_head;
	EXPECT_GT(head, before);
	/* what came last is whole, and ends as a trace does */
	n = head - before < sizeof(buf) ? head - before : sizeof(buf);
	record_copy(&self->rec, head - n, buf, n);
	while (pos < n && (buf[pos++] & 3) != 3)
		;
	while ((ret = next_message(buf, n, &pos, self->rec.src_bits, &msg)) > 0)
		;
	EXPECT_EQ(ret, 0);
	EXPECT_EQ(msg.tcode, MSG_CORRELATION);
	record_close(&self->rec);

	/* and all CPUs can be traced again */
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	busy(1000);
	ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

TEST_F_TIMEOUT(life, fork_storm, 200)
{
	int i, status;

	self->attr.inherit = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, pmu_first_cpu(), 1 << 20, false));
	ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid) {
			busy(50);
			_exit(0);
		}
		ASSERT_GT(pid, 0);
		waitpid(pid, &status, 0);
		EXPECT_EQ(status, 0);
		__atomic_store_n(&self->rec.page->aux_tail, self->rec.page->aux_head,
				 __ATOMIC_RELEASE);
	}
	ioctl(self->rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

TEST_F_TIMEOUT(life, closed_while_running, 200)
{
	int i;

	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, i & 1));
		ioctl(self->rec.fd, PERF_EVENT_IOC_ENABLE, 0);
		busy(100);
		if (i & 2)	/* the AUX area first */
			munmap(self->rec.aux, self->rec.aux_size);
		record_close(&self->rec);
	}
}

TEST_HARNESS_MAIN
