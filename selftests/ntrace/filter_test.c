// SPDX-License-Identifier: GPL-2.0-only
/* Test address filters with ranges, and with addresses at which trace starts and stops. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(filter) {
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
	unsigned int ranges, starts;
};

FIXTURE_SETUP(filter)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->ranges = pmu_number("caps/address_filters", 0);
	self->starts = pmu_number("caps/start_filters", 0);
	if (!self->ranges)
		SKIP(return, "the hardware has no address filters");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	event_attr_user(&self->attr);
	self->st = calloc(1, sizeof(*self->st));
	/*
	 * stay on one CPU, because the encoder of another CPU would not know that the thread has executed the
	 * start of the filter
	 */
	pin(pmu_first_cpu());
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
}

FIXTURE_TEARDOWN(filter)
{
	record_close(&self->rec);
	free(self->st);
}

/* The filters of these tests start trace at begin(), and stop trace at end() */
static __attribute__((noinline)) void begin(void)
{
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void end(void)
{
	__asm__ volatile("nop" ::: "memory");
}

/* Return the offset of @addr in the file of this program, as perf needs it. Set @path to that file. */
static uint64_t in_file(uint64_t addr, char *path)
{
	unsigned long long from, to, offset;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %255s", &from, &to, &offset, path) != 4)
			continue;
		if (addr < from || addr >= to)
			continue;
		fclose(maps);
		return addr - from + offset;
	}
	abort();
}

static int set_filter(struct recording *rec, const char *text)
{
	return ioctl(rec->fd, PERF_EVENT_IOC_SET_FILTER, text) ? errno : 0;
}

/* Set a filter that starts trace at @a and stops it at @b. NULL omits the start or the stop. */
static int set_start_stop(struct recording *rec, void (*a)(void), void (*b)(void))
{
	char text[1200] = "", path[256];

	if (a)
		snprintf(text, sizeof(text), "start 0x%llx@%s",
			 (unsigned long long)in_file((uintptr_t)a, path), path);
	if (b) {
		unsigned long long at = in_file((uintptr_t)b, path);

		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sstop 0x%llx@%s",
			 a ? "," : "", at, path);
	}
	return set_filter(rec, text);
}

/* Stop and start the event. Return the number of bytes of trace since the last call. */
static uint64_t traced(struct recording *rec, uint64_t *head)
{
	uint64_t before = *head;

	record_stop(rec);
	*head = rec->page->aux_head;
	record_start(rec);
	return *head - before;
}

/* Return the first address in the trace */
static uint64_t first_address(struct recording *rec, struct stretches *st)
{
	struct message msg;
	uint64_t addr = 0;
	uint8_t *buf;
	size_t pos;
	unsigned int i;

	record_stretches(rec, st);
	for (i = 0; i < st->nr && !addr; i++) {
		buf = malloc(st->at[i].size);
		record_copy(rec, st->at[i].offset, buf, st->at[i].size);
		for (pos = 0; !addr && next_message(buf, st->at[i].size, &pos, rec->src_bits, &msg) > 0;)
			if (msg.is_sync)
				addr = msg.addr;
		free(buf);
	}
	return addr;
}

/* The driver must refuse filters that the hardware lacks. If it accepts a filter, no trace may be missing. */
TEST_F(filter, more_than_the_hardware_has_are_refused)
{
	char text[4096] = "";
	unsigned int i;

	EXPECT_GE(pmu_number("nr_addr_filters", 0), self->ranges);
	for (i = 0; i < 40; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%sfilter 0x%x/0x10",
			 i ? "," : "", 0x1000 + 0x100 * i);
		EXPECT_EQ(set_filter(&self->rec, text), i < self->ranges ? 0 : EOPNOTSUPP)
			TH_LOG("%u filters of %u", i + 1, self->ranges);
	}
	record_work(&self->rec, 1000);
	record_stretches(&self->rec, self->st);
	EXPECT_EQ(self->st->nr_truncated, 0);
}

/* An event that excludes ranges also accepts filters that start and stop trace, because these are not ranges. */
TEST_F(filter, an_event_that_excludes_ranges_traces_from_start_to_stop)
{
	uint64_t head = 0;

	if (!self->starts || !pmu_number("caps/exclude_filters", 0))
		SKIP(return, "the hardware has no starts, or excludes no ranges");
	record_close(&self->rec);
	self->attr.config |= NTRACE_CONFIG_EXCLUDE;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	ASSERT_EQ(set_start_stop(&self->rec, begin, end), 0);
	record_start(&self->rec);
	begin();
	busy(10000);
	end();
	EXPECT_GT(traced(&self->rec, &head), 1000);
	record_stretches(&self->rec, self->st);
	EXPECT_EQ(self->st->nr_truncated, 0);
}

TEST_F(filter, combinations_that_cannot_be)
{
	EXPECT_EQ(set_filter(&self->rec, "filter 0x1000/0x100,start 0x2000"), EINVAL);
	EXPECT_EQ(set_filter(&self->rec, "filter 0x1000/0x100,stop 0x2000"), EINVAL);
	EXPECT_EQ(set_filter(&self->rec, "start 0x1000/0x100"), EINVAL);
	EXPECT_EQ(set_filter(&self->rec, "stop 0x1000/0x100"), EINVAL);
	EXPECT_EQ(set_filter(&self->rec, "start 0x1000,stop 0x1100,start 0x2000,stop 0x2100"),
		  EOPNOTSUPP);
	EXPECT_EQ(set_filter(&self->rec, "filter 0x1000/0x100"), 0);
}

TEST_F(filter, starts_that_the_hardware_lacks_are_refused)
{
	char text[4096] = "stop 0x100";
	unsigned int i;

	EXPECT_EQ(set_filter(&self->rec, text), self->starts ? 0 : EOPNOTSUPP);
	for (i = 0; i < 20; i++) {
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ",start 0x%x",
			 0x1000 + 0x100 * i);
		EXPECT_EQ(set_filter(&self->rec, text), i < self->starts ? 0 : EOPNOTSUPP)
			TH_LOG("%u starts of %u", i + 1, self->starts);
	}
}

TEST_F(filter, traces_from_start_to_stop)
{
	uint64_t head = 0;

	if (!self->starts)
		SKIP(return, "no comparator goes from one address to another");
	ASSERT_EQ(set_start_stop(&self->rec, begin, end), 0);
	record_start(&self->rec);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
	begin();
	busy(10000);
	end();
	EXPECT_GT(traced(&self->rec, &head), 1000);
	EXPECT_EQ(first_address(&self->rec, self->st), (uintptr_t)begin);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
	begin();
	busy(10000);
	end();
	busy(10000);
	EXPECT_GT(traced(&self->rec, &head), 1000);
}

/*
 * The buffer gets full many times. Each time, the driver stops and starts the encoder. The filter must remain
 * started.
 */
TEST_F(filter, a_start_outlives_the_window)
{
	uint64_t head = 0, bytes;
	unsigned int i;

	if (!self->starts)
		SKIP(return, "no comparator goes from one address to another");
	ASSERT_EQ(set_start_stop(&self->rec, begin, end), 0);
	record_start(&self->rec);
	begin();
	for (i = 0; i < 100; i++) {
		busy(10000);
		bytes = traced(&self->rec, &head);
		ASSERT_GT(bytes, 1000) TH_LOG("round %u: %llu", i, (unsigned long long)bytes);
		__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	}
	end();
	traced(&self->rec, &head);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
}

TEST_F(filter, a_start_alone_never_stops)
{
	uint64_t head = 0;

	if (!self->starts)
		SKIP(return, "no comparator goes from one address to another");
	ASSERT_EQ(set_start_stop(&self->rec, begin, NULL), 0);
	record_start(&self->rec);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
	begin();
	end();
	busy(10000);
	EXPECT_GT(traced(&self->rec, &head), 1000);
	EXPECT_EQ(first_address(&self->rec, self->st), (uintptr_t)begin);
}

TEST_F(filter, a_stop_alone_ends_it)
{
	uint64_t head = 0;

	if (!self->starts)
		SKIP(return, "no comparator goes from one address to another");
	ASSERT_EQ(set_start_stop(&self->rec, NULL, end), 0);
	record_start(&self->rec);
	busy(10000);
	EXPECT_GT(traced(&self->rec, &head), 1000);
	end();
	traced(&self->rec, &head);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
}

/*
 * A parent has executed the start of a filter, and not the stop. Its child has the same filter, and must
 * not be traced before it executes the start.
 */
TEST_F(filter, a_child_begins_for_itself)
{
	uint64_t head = 0;
	int status;
	pid_t pid;

	if (!self->starts)
		SKIP(return, "no comparator goes from one address to another");
	record_close(&self->rec);
	self->attr.inherit = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, pmu_first_cpu(), 1 << 20, false));
	ASSERT_EQ(set_start_stop(&self->rec, begin, end), 0);
	record_start(&self->rec);
	pid = fork();
	if (!pid) {
		begin();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	traced(&self->rec, &head);
	EXPECT_GT(head, 0);
	busy(10000);
	EXPECT_EQ(traced(&self->rec, &head), 0);
}

TEST_HARNESS_MAIN
