// SPDX-License-Identifier: GPL-2.0-only
/* Test AUX sampling, which adds the newest trace to the samples of another event. */
#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define SAMPLE_SIZE	4096

FIXTURE(sample) {
	struct perf_event_attr attr, sampler;
	struct recording rec;
	uint8_t trace[SAMPLE_SIZE];
	bool can;
	int fd;
};

FIXTURE_SETUP(sample)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->can = pmu_number("caps/aux_sampling", 0);
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	memset(&self->sampler, 0, sizeof(self->sampler));
	self->sampler.size = sizeof(self->sampler);
	self->sampler.type = PERF_TYPE_SOFTWARE;
	self->sampler.config = PERF_COUNT_SW_TASK_CLOCK;
	self->sampler.sample_period = 200000;
	self->sampler.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_AUX;
	self->sampler.aux_sample_size = SAMPLE_SIZE;
	self->fd = -1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, true))
		TH_LOG("%s", strerror(self->rec.err));
}

FIXTURE_TEARDOWN(sample)
{
	if (self->fd >= 0)
		close(self->fd);
	record_close(&self->rec);
}

/* Open the event whose samples contain trace. It writes its samples to the buffer of the recording. */
static int open_sampler(struct recording *rec, struct perf_event_attr *attr)
{
	int fd = syscall(SYS_perf_event_open, attr, 0, -1, rec->fd, PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, rec->fd)) {
		close(fd);
		return -1;
	}
	return fd;
}

/*
 * Copy the trace of the first sample after *tail to @trace, and set *size to its size. Return false if
 * there is no sample. Add the number of samples that did not fit into the buffer to *lost.
 */
static bool next_sample(struct recording *rec, uint64_t *tail, uint8_t *trace, uint64_t *size,
			uint64_t *lost)
{
	uint64_t head = __atomic_load_n(&rec->page->data_head, __ATOMIC_ACQUIRE), at, nr;
	struct perf_event_header header;

	while (*tail < head) {
		record_data(rec, *tail, &header, sizeof(header));
		at = *tail + sizeof(header);
		*tail += header.size;
		if (header.type == PERF_RECORD_LOST) {
			record_data(rec, at + sizeof(uint64_t), &nr, sizeof(nr));
			*lost += nr;
		}
		at += 3 * sizeof(uint64_t);
		if (header.type != PERF_RECORD_SAMPLE)
			continue;
		record_data(rec, at, size, sizeof(*size));
		if (*size <= SAMPLE_SIZE)
			record_data(rec, at + sizeof(*size), trace, *size);
		return true;
	}
	return false;
}

/*
 * Return the number of messages in a sample, or -1 if a message is invalid. The first message may lack its
 * beginning. The last message must report that the encoder was stopped.
 */
static int messages(const uint8_t *trace, size_t size, unsigned int src_bits)
{
	struct message msg = { };
	size_t pos = 0;
	int n = 0, ret;

	if (trace[0] != 0xff)
		while (pos < size && (trace[pos++] & 3) != 3)
			;
	while ((ret = next_message(trace, size, &pos, src_bits, &msg)) > 0)
		n++;
	if (n && msg.tcode != MSG_CORRELATION)
		return -1;
	return ret < 0 ? -1 : n;
}

struct samples {
	uint64_t tail, lost;
	unsigned int nr, with_trace, broken;
};

/* Check the samples since the last call. @trace has room for one sample. */
static void take_samples(struct recording *rec, uint8_t *trace, struct samples *samples)
{
	uint64_t size;
	int n;

	while (next_sample(rec, &samples->tail, trace, &size, &samples->lost)) {
		samples->nr++;
		if (size == SAMPLE_SIZE && pmu_number("cpu0/trace_id", 0))
			frames_to_messages(trace, size);
		n = size == SAMPLE_SIZE ? messages(trace, size, rec->src_bits) : -1;
		samples->broken += n < 0;
		samples->with_trace += n > 0;
	}
	rec->page->data_tail = samples->tail;
}

TEST_F(sample, refused_where_the_kernel_does_not_let_it)
{
	self->fd = open_sampler(&self->rec, &self->sampler);
	EXPECT_EQ(self->fd >= 0, self->can) TH_LOG("%s", strerror(errno));
	/* the kernel must refuse aux_sample_size in an event that takes no samples */
	self->attr.aux_sample_size = SAMPLE_SIZE;
	EXPECT_EQ(syscall(SYS_perf_event_open, &self->attr, 0, -1, -1, 0), -1);
	EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(sample, each_ends_where_the_encoder_was_stopped)
{
	struct samples samples = { };
	int round;

	if (!self->can)
		SKIP(return, "no AUX sampling in this kernel");
	self->fd = open_sampler(&self->rec, &self->sampler);
	ASSERT_GE(self->fd, 0);
	for (round = 0; round < 100; round++) {
		record_work(&self->rec, 20000);
		take_samples(&self->rec, self->trace, &samples);
	}
	EXPECT_GT(samples.nr, 10);
	EXPECT_EQ(samples.broken, 0);
	EXPECT_GT(2 * samples.with_trace, samples.nr);
}

/*
 * Take samples in the scheduler, while it holds its locks. A sleep causes no task switch if it ends before
 * the kernel reaches the scheduler, so the sleeps are long enough for a slow kernel.
 */
TEST_F(sample, at_each_task_switch)
{
	struct samples samples = { };
	uint64_t switches = 0;
	int round;

	if (!self->can)
		SKIP(return, "no AUX sampling in this kernel");
	self->sampler.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	self->sampler.sample_period = 1;
	self->fd = open_sampler(&self->rec, &self->sampler);
	ASSERT_GE(self->fd, 0);
	record_start(&self->rec);
	for (round = 0; round < 20; round++) {
		busy(1000);
		usleep(10000);
		take_samples(&self->rec, self->trace, &samples);
	}
	record_stop(&self->rec);
	take_samples(&self->rec, self->trace, &samples);
	ASSERT_EQ(read(self->fd, &switches, sizeof(switches)), sizeof(switches));
	EXPECT_GE(switches, 20);
	/*
	 * If the host stops the reader, the buffer may fill up, and samples or AUX records are
	 * lost.
	 */
	EXPECT_LE(samples.nr, switches);
	if (!samples.lost)
		EXPECT_EQ(samples.nr, switches);
	EXPECT_GE(samples.nr, 20);
	EXPECT_EQ(samples.broken, 0);
	EXPECT_GT(2 * samples.with_trace, samples.nr);
	TH_LOG("%u samples, %llu lost, %llu switches", samples.nr, (unsigned long long)samples.lost,
	       (unsigned long long)switches);
}

/* A sample must not change the AUX buffer. A snapshot must have the same trace as without samples. */
TEST_F(sample, the_buffer_goes_on)
{
	uint8_t *buf = malloc(1 << 16);
	uint64_t tail = 0, size, head, lost = 0;
	bool found = false;
	unsigned int i;

	if (!self->can)
		SKIP(return, "no AUX sampling in this kernel");
	self->fd = open_sampler(&self->rec, &self->sampler);
	ASSERT_GE(self->fd, 0);
	record_start(&self->rec);
	/* repeat this, because the host may run the timer of the sampler late */
	for (i = 0; i < 100 && !found; i++) {
		busy(50000);
		found = next_sample(&self->rec, &tail, self->trace, &size, &lost);
	}
	record_stop(&self->rec);
	head = self->rec.page->aux_head;
	EXPECT_GT(head, 1000);
	size = head < self->rec.aux_size ? head : self->rec.aux_size;
	record_copy(&self->rec, head - size, buf, size);
	EXPECT_GT(messages(buf, size, self->rec.src_bits), 100);
	EXPECT_TRUE(found);
	free(buf);
}

TEST_HARNESS_MAIN
