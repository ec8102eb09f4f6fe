// SPDX-License-Identifier: GPL-2.0-only
/* Test the fields of an event for excluded ranges and SRC. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

/* PERF_RECORD_AUX_OUTPUT_HW_ID, which the header of the C library may lack */
#define RECORD_AUX_OUTPUT_HW_ID	21

/* The buffer also has room for the trace of a debug kernel, if the encoder cannot exclude the kernel */
#define AUX_SIZE	(1 << 23)

FIXTURE(field) {
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
	int cpu;
};

FIXTURE_SETUP(field)
{

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->cpu = pmu_first_cpu();
	self->rec.fd = -1;
	event_attr(&self->attr, pmu_config(self->cpu));
	self->st = calloc(1, sizeof(*self->st));
	pin(self->cpu);
}

FIXTURE_TEARDOWN(field)
{
	record_close(&self->rec);
	free(self->st);
}

static int refused(struct perf_event_attr *attr, int pid, int cpu)
{
	struct recording rec;
	int err = record_open(&rec, attr, pid, cpu, 1 << 16, false) ? 0 : rec.err;

	record_close(&rec);
	return err;
}

/* Return the bytes of trace of a loop that executes the same code in each call */
static uint64_t fixed_work(struct recording *rec)
{
	uint64_t before = rec->page->aux_head;

	record_work(rec, 50000);
	return rec->page->aux_head - before;
}

TEST_F(field, ranges_that_are_left_out)
{
	char text[64], path[256] = "", filter[300];
	uint64_t all, without;

	event_attr_user(&self->attr);
	if (!pmu_number("caps/exclude_filters", 0)) {
		self->attr.config |= NTRACE_CONFIG_EXCLUDE;
		EXPECT_EQ(refused(&self->attr, 0, -1), EOPNOTSUPP);
		SKIP(return, "the hardware cannot leave ranges out");
	}
	ASSERT_TRUE(pmu_text("caps/exclude", text, sizeof(text)));
	EXPECT_STREQ(text, "1");
	self->attr.config |= NTRACE_CONFIG_EXCLUDE;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, AUX_SIZE, false));
	all = fixed_work(&self->rec);
	/*
	 * Exclude all code of this program, which is nearly all code that runs. Lockdep of Linux
	 * 7.3 complains about the order in which perf and /proc/self/exe take their locks, so use
	 * the path of the file itself.
	 */
	ASSERT_GT(readlink("/proc/self/exe", path, sizeof(path) - 1), 0);
	snprintf(filter, sizeof(filter), "filter 0x0/0x10000000@%s", path);
	ASSERT_EQ(ioctl(self->rec.fd, PERF_EVENT_IOC_SET_FILTER, filter), 0)
		TH_LOG("%s", strerror(errno));
	without = fixed_work(&self->rec);
	TH_LOG("%llu bytes, %llu without this program", (unsigned long long)all,
	       (unsigned long long)without);
	EXPECT_GT(all, 10000);
	EXPECT_LT(without, all / 4);
}

/* If several encoders share a sink, exactly one record must report the SRC of this CPU. */
TEST_F(field, src_is_told)
{
	struct perf_event_header header;
	unsigned int found = 0, i;
	uint64_t id = 0, tail = 0;

	if (!cpu_number(self->cpu, "src_bits", 0))
		SKIP(return, "messages have no SRC");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, AUX_SIZE, false));
	for (i = 0; i < 3; i++) {
		record_work(&self->rec, 100);
	}
	for (; tail < self->rec.page->data_head; tail += header.size) {
		memcpy(&header, self->rec.data + tail, sizeof(header));
		if (header.type != RECORD_AUX_OUTPUT_HW_ID)
			continue;
		memcpy(&id, self->rec.data + tail + sizeof(header), sizeof(id));
		found++;
	}
	EXPECT_EQ(found, 1);
	EXPECT_EQ(id >> 16 & 0xf, cpu_number(self->cpu, "src_bits", 0));
	EXPECT_EQ(id & NTRACE_HW_ID_SRC, cpu_number(self->cpu, "src_id", 99));
}

TEST_HARNESS_MAIN
