// SPDX-License-Identifier: GPL-2.0-only
/* Test which users can trace which code. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(security) {
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
	bool filter;
};

FIXTURE_SETUP(security)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	self->attr.config &= ~NTRACE_CONFIG_FIRMWARE;
	self->filter = pmu_number("caps/privilege", 0) != 0;
	self->st = calloc(1, sizeof(*self->st));
	self->rec.fd = -1;
}

FIXTURE_TEARDOWN(security)
{
	record_close(&self->rec);
	free(self->st);
}

struct seen {
	unsigned int user, kernel, firmware, prv[4];
};

static void look(struct recording *rec, struct stretches *st, struct seen *seen)
{
	struct message msg;
	unsigned int i;
	uint8_t *buf;
	size_t pos;

	memset(seen, 0, sizeof(*seen));
	record_take(rec, st);
	for (i = 0; i < st->nr; i++) {
		buf = malloc(st->at[i].size);
		record_copy(rec, st->at[i].offset, buf, st->at[i].size);
		for (pos = 0; next_message(buf, st->at[i].size, &pos, rec->src_bits, &msg) > 0;) {
			if (msg.tcode == MSG_OWNERSHIP)
				seen->prv[msg.prv]++;
			if (!msg.is_sync)
				continue;
			if (msg.addr >> 63)
				seen->kernel++;
			else if (msg.addr >> 31 == 1)
				seen->firmware++;	/* a physical address in the board's RAM */
			else
				seen->user++;
		}
		free(buf);
	}
}

/* Open a counter that the kernel starts and stops by calls to the firmware (SBI, "Performance Monitoring"). */
static int open_counter(void)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr), .type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES, .disabled = 1,
	};

	return syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void work(struct recording *rec)
{
	int counter = open_counter();
	unsigned int i;

	record_start(rec);
	for (i = 0; i < 200; i++) {
		busy(500);
		getppid();
		ioctl(counter, i & 1 ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
		if (i % 50 == 0)
			usleep(1000);
	}
	record_stop(rec);
	close(counter);
}

TEST_F(security, exclude_kernel_shows_no_kernel)
{
	struct seen seen;

	if (!self->filter)
		SKIP(return, "the hardware does not filter");
	self->attr.exclude_kernel = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	work(&self->rec);
	look(&self->rec, self->st, &seen);
	EXPECT_GT(seen.user, 0);
	EXPECT_EQ(seen.kernel, 0);
	EXPECT_EQ(seen.firmware, 0);
	EXPECT_EQ(seen.prv[1], 0);
	EXPECT_EQ(seen.prv[3], 0);
}

TEST_F(security, exclude_user_shows_no_user)
{
	struct seen seen;

	if (!self->filter)
		SKIP(return, "the hardware does not filter");
	self->attr.exclude_user = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	work(&self->rec);
	look(&self->rec, self->st, &seen);
	EXPECT_GT(seen.kernel, 0);
	EXPECT_EQ(seen.user, 0);
	EXPECT_EQ(seen.firmware, 0);
}

TEST_F(security, firmware_is_left_out_where_it_can_be)
{
	struct seen seen;

	if (!self->filter)
		SKIP(return, "the hardware does not filter");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	work(&self->rec);
	look(&self->rec, self->st, &seen);
	EXPECT_GT(seen.kernel, 0);
	EXPECT_GT(seen.prv[0], 0);
	EXPECT_GT(seen.prv[1], 0);
	EXPECT_EQ(seen.firmware, 0);
	EXPECT_EQ(seen.prv[3], 0);
}

/* Check that the work calls the firmware, because otherwise the test above would always pass. */
TEST_F(security, firmware_is_there_if_asked_for)
{
	int counter = open_counter();
	struct seen seen = { .firmware = 0 };
	unsigned int round;

	close(counter);
	if (counter < 0)
		SKIP(return, "nothing here is known to go to the firmware");
	self->attr.config |= NTRACE_CONFIG_FIRMWARE;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	/*
	 * Without Ownership messages, the trace shows the firmware only if a periodic SYNC occurs in
	 * the firmware
	 */
	for (round = 0; round < 100 && !(seen.firmware + seen.prv[3]); round++) {
		work(&self->rec);
		look(&self->rec, self->st, &seen);
		record_empty(&self->rec);
	}
	EXPECT_GT(seen.firmware + seen.prv[3], 0);
}

static int open_unprivileged(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd, status;
	pid_t child = fork();

	if (!child) {
		if (!become_user())
			_exit(255);
		fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, 0);
		_exit(fd < 0 ? errno : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

TEST_F(security, unprivileged_needs_the_filter)
{
	int ret;

	set_paranoid(2);
	self->attr.exclude_kernel = 1;
	self->attr.exclude_hv = 1;
	ret = open_unprivileged(&self->attr, 0, -1);
	EXPECT_EQ(ret, self->filter ? 0 : EOPNOTSUPP);
}

TEST_F(security, unprivileged_sees_no_kernel)
{
	set_paranoid(2);
	EXPECT_EQ(open_unprivileged(&self->attr, 0, -1), EACCES);
}

TEST_F(security, unprivileged_sees_no_system)
{
	int ret;

	set_paranoid(2);
	self->attr.exclude_kernel = 1;
	ret = open_unprivileged(&self->attr, -1, pmu_first_cpu());
	EXPECT_EQ(ret, self->filter ? EACCES : EOPNOTSUPP);
}

/*
 * An ordinary user must not stall a hart, because a stalled hart does not take interrupts, and other CPUs
 * would wait for it.
 */
TEST_F(security, unprivileged_does_not_stall_a_hart)
{
	int ret;

	set_paranoid(-1);
	self->attr.exclude_kernel = 1;
	self->attr.config |= NTRACE_CONFIG_STALL;
	ret = open_unprivileged(&self->attr, 0, -1);
	EXPECT_EQ(ret, EACCES);
}

/* An ordinary user may not trace the firmware, even if all users may trace the kernel */
TEST_F(security, paranoid_minus_one_does_not_open_firmware)
{
	int ret;

	set_paranoid(-1);
	self->attr.config |= NTRACE_CONFIG_FIRMWARE;
	ret = open_unprivileged(&self->attr, 0, -1);
	EXPECT_EQ(ret, EACCES);
}

/* If the encoder lacks privilege filters, an ordinary user may not trace, because nothing excludes the firmware. */
TEST_F(security, paranoid_minus_one_needs_the_filter_too)
{
	set_paranoid(-1);
	EXPECT_EQ(open_unprivileged(&self->attr, 0, -1), self->filter ? 0 : EACCES);
}

/*
 * Only the tracing process needs the right to trace. A traced program without this right must be able to
 * fork.
 */
TEST_F(security, traced_program_that_gave_up_its_rights_forks)
{
	int status, fd, ready[2];
	pid_t child;
	char c;

	set_paranoid(2);
	ASSERT_EQ(pipe(ready), 0);
	child = fork();
	if (!child) {
		if (read(ready[0], &c, 1) != 1 || !become_user())
			_exit(255);
		child = fork();
		if (!child)
			_exit(0);
		_exit(child < 0 ? errno : 0);
	}
	self->attr.config |= NTRACE_CONFIG_FIRMWARE;
	self->attr.disabled = 0;
	self->attr.inherit = 1;
	fd = syscall(SYS_perf_event_open, &self->attr, child, -1, -1, PERF_FLAG_FD_CLOEXEC);
	EXPECT_GE(fd, 0);
	EXPECT_EQ(write(ready[1], "", 1), 1);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_EQ(WEXITSTATUS(status), 0);
	close(fd);
	close(ready[0]);
	close(ready[1]);
}

/*
 * scontext contains thread ids of the initial pid namespace. A process in another pid namespace must not
 * see them.
 */
TEST_F(security, thread_ids_of_the_system_are_not_for_a_container)
{
	int ret, status;
	pid_t child;

	if (!self->filter || !pmu_number("caps/context", 0))
		SKIP(return, "the hardware has no filter or no context");
	self->attr.config |= NTRACE_CONFIG_CONTEXT;
	self->attr.exclude_kernel = 1;
	self->attr.exclude_hv = 1;
	set_paranoid(2);
	EXPECT_EQ(open_unprivileged(&self->attr, 0, -1), 0);
	child = fork();
	if (!child) {
		if (unshare(CLONE_NEWPID))
			_exit(255);
		_exit(open_unprivileged(&self->attr, 0, -1));
	}
	ret = waitpid(child, &status, 0);
	ASSERT_EQ(ret, child);
	EXPECT_EQ(WEXITSTATUS(status), EACCES);
}

TEST_HARNESS_MAIN
