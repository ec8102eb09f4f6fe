// SPDX-License-Identifier: GPL-2.0-only
/* Test the fields of an event for excluded ranges, sinks and SRC. */
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

/* Copy a stretch of trace to @buf. Return the offset of its first message, which may follow idle bytes. */
static size_t copy_stretch(struct recording *rec, const struct stretch *s, uint8_t *buf)
{
	size_t pos = 0;

	record_copy(rec, s->offset, buf, s->size);
	while (pos < s->size && buf[pos] == 0xff)
		pos++;
	return pos;
}

/*
 * Do a fixed amount of work, and return the number of bytes of its trace. Work of a fixed time would give
 * few bytes on a busy host, and would fill the buffer on a fast host if the kernel is also traced.
 */
static uint64_t some_work(struct recording *rec, struct stretches *st, unsigned int rounds)
{
	unsigned int i;

	memset(st, 0, sizeof(*st));
	record_start(rec);
	for (i = 0; i < rounds; i++) {
		busy(200);
		usleep(2000);
	}
	record_stop(rec);
	record_stretches(rec, st);
	return st->bytes;
}

/* Return the number of bytes of trace of a loop that executes the same code in each call */
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

/* If a sink has SRAM and can also write to system memory, test its SRAM. */
TEST_F(field, sram)
{
	char text[64];

	ASSERT_TRUE(pmu_text("caps/sram", text, sizeof(text)));
	self->attr.config |= NTRACE_CONFIG_SRAM;
	event_attr_user(&self->attr);
	if (text[0] == '0') {
		EXPECT_EQ(refused(&self->attr, 0, -1), EOPNOTSUPP);
		return;
	}
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, AUX_SIZE, false));
	EXPECT_GT(some_work(&self->rec, self->st, 100), 1000);
	EXPECT_EQ(self->st->nr_gaps, 0);
	record_close(&self->rec);
	/* test again in SMEM mode, in which the sink writes to system memory */
	self->attr.config &= ~NTRACE_CONFIG_SRAM;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, AUX_SIZE, false));
	EXPECT_GT(some_work(&self->rec, self->st, 100), 1000);
	EXPECT_EQ(self->st->nr_partial, 0);
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

#define SINKS	8

/*
 * Get the numbers of the sinks that a CPU reaches. The first number is the sink of events that
 * do not choose a sink.
 */
static unsigned int sinks_of(const struct perf_event_attr *attr, int cpu, uint64_t numbers[SINKS])
{
	struct perf_event_attr chosen = *attr;
	struct pmu_sink sinks[SINKS];
	char usual[64];
	unsigned int nr = pmu_sinks(sinks, SINKS), n = 0, i;

	if (!cpu_sink(cpu, usual))
		return 0;
	for (i = 0; i < nr; i++) {
		chosen.config2 = sinks[i].number << 32;
		if (refused(&chosen, -1, cpu))
			continue;
		numbers[n] = sinks[i].number;
		if (!strcmp(usual, sinks[i].name)) {
			numbers[n] = numbers[0];
			numbers[0] = sinks[i].number;
		}
		n++;
	}
	return n;
}

TEST_F(field, sinks)
{
	uint64_t numbers[SINKS];
	unsigned int n, i;

	event_attr_user(&self->attr);
	n = sinks_of(&self->attr, self->cpu, numbers);
	ASSERT_GE(n, 1);
	/* no sink has this number */
	self->attr.config2 = 1ULL << 32;
	EXPECT_EQ(refused(&self->attr, -1, self->cpu), ENODEV);
	/* change from the first sink to each sink, and back to the first sink */
	for (i = 0; i < 2 * n; i++) {
		self->attr.config2 = numbers[i % 2 ? i / 2 : 0] << 32;
		ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
		EXPECT_GT(some_work(&self->rec, self->st, 30), 1000);
		EXPECT_EQ(self->st->nr_partial + self->st->nr_gaps, 0);
		TH_LOG("%llu bytes, %u partial, %u gaps", (unsigned long long)self->st->bytes,
		       self->st->nr_partial, self->st->nr_gaps);
		record_close(&self->rec);
	}
	TH_LOG("%u sinks", n);
}

/*
 * Return the number of messages whose SRC is not that of @cpu, and set *own to the number of messages with
 * the SRC of @cpu. The caller has disabled the event of @rec.
 */
static unsigned int foreign_messages(struct recording *rec, struct stretches *st, int cpu,
				     unsigned int *own)
{
	static uint8_t buf[AUX_SIZE];
	unsigned int i, foreign = 0;
	struct message msg;
	uint64_t src;

	src = cpu_number(cpu, "src_id", 99);
	*own = 0;
	for (i = 0; i < st->nr; i++) {
		size_t size = st->at[i].size, pos = copy_stretch(rec, &st->at[i], buf);

		while (next_message(buf, size, &pos, rec->src_bits, &msg) > 0) {
			*own += msg.src == src;
			foreign += msg.src != src;
		}
	}
	return foreign;
}

/*
 * Two CPUs can send to one sink, and one of these CPUs is traced into another sink. Its encoder sends
 * messages to all of its outputs, but the sink of the other event must not write these messages.
 */
TEST_F(field, sinks_are_kept_apart)
{
	struct recording other = { .fd = -1 };
	static struct stretches others;
	uint64_t numbers[SINKS], theirs[SINKS];
	int second = self->cpu + 1;
	unsigned int own;

	event_attr_user(&self->attr);
	if (sinks_of(&self->attr, self->cpu, numbers) < 2)
		SKIP(return, "this CPU has one sink");
	if (pmu_nr_cpus() < 2 || !sinks_of(&self->attr, second, theirs) || theirs[0] != numbers[0])
		SKIP(return, "no other CPU leads to its sink");
	self->attr.config2 = theirs[0] << 32;
	ASSERT_TRUE(record_open(&other, &self->attr, -1, second, AUX_SIZE, false));
	self->attr.config2 = numbers[1] << 32;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, self->cpu, AUX_SIZE, false));
	memset(&others, 0, sizeof(others));
	record_start(&other);
	some_work(&self->rec, self->st, 200);
	record_stop(&other);
	record_stretches(&other, &others);
	EXPECT_EQ(foreign_messages(&self->rec, self->st, self->cpu, &own), 0);
	EXPECT_GT(own, 1000);
	TH_LOG("%u messages in its own sink, %llu bytes in the other", own,
	       (unsigned long long)others.bytes);
	EXPECT_EQ(foreign_messages(&other, &others, second, &own), 0);
	record_close(&other);
}

TEST_HARNESS_MAIN
