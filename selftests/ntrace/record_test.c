// SPDX-License-Identifier: GPL-2.0-only
/* Test events whose AUX buffer is read during tracing. */
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(record) {
	struct perf_event_attr attr;
	struct recording rec;
	struct stretches *st;
	int cpu;
};

FIXTURE_SETUP(record)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->cpu = pmu_first_cpu();
	event_attr(&self->attr, pmu_config(self->cpu));
	self->st = calloc(1, sizeof(*self->st));
	self->rec.fd = -1;
}

FIXTURE_TEARDOWN(record)
{
	record_close(&self->rec);
	free(self->st);
}

/*
 * Check that the trace of each AUX record consists of whole messages, begins with a synchronising message,
 * and ends with a ProgTraceCorrelation message. If a record reports that trace is missing at its end, its
 * last message may be incomplete.
 */
#define check_stretches(_rec, _st) ({							\
	unsigned int _i;								\
	EXPECT_EQ((_st)->nr_gaps, 0);							\
	for (_i = 0; _i < (_st)->nr; _i++)						\
		check_stretch(_metadata, _rec, &(_st)->at[_i]);				\
})

static void check_stretch(struct __test_metadata *_metadata, struct recording *rec,
			  const struct stretch *s)
{
	uint8_t *buf = malloc(s->size);
	unsigned int n = 0, first_sync = ~0u;
	struct message msg;
	size_t pos = 0;
	int ret;

	record_copy(rec, s->offset, buf, s->size);
	while ((ret = next_message(buf, s->size, &pos, rec->src_bits, &msg)) > 0) {
		if (msg.is_sync && first_sync == ~0u)
			first_sync = n;
		n++;
	}
	if (n)
		EXPECT_EQ(first_sync, 0);
	if (!(s->flags & (PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_TRUNCATED))) {
		EXPECT_EQ(ret, 0) TH_LOG("no message at %zu of %llu", pos,
					 (unsigned long long)s->size);
		if (n)
			EXPECT_EQ(msg.tcode, MSG_CORRELATION);
	}
	free(buf);
}

TEST_F(record, own_thread)
{
	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false))
		TH_LOG("%s", strerror(self->rec.err));
	record_work(&self->rec, 10000);

	record_stretches(&self->rec, self->st);
	EXPECT_GE(self->st->nr, 1);
	EXPECT_GE(self->st->bytes, 100);
	EXPECT_EQ(self->st->bytes, self->rec.page->aux_head);
	EXPECT_EQ(self->st->nr_truncated, 0);
	check_stretches(&self->rec, self->st);
}

TEST_F(record, nothing_before_enable_and_after_disable)
{
	uint64_t head;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	busy(10000);
	EXPECT_EQ(self->rec.page->aux_head, 0);
	record_work(&self->rec, 1000);
	head = self->rec.page->aux_head;
	EXPECT_GT(head, 0);
	busy(10000);
	EXPECT_EQ(self->rec.page->aux_head, head);
}

/* Run the work @turns times, and return the number of bytes of trace of all these runs. */
static uint64_t work_bytes(struct recording *rec, unsigned int turns)
{
	uint64_t head = rec->page->aux_head;

	record_work(rec, turns);
	return rec->page->aux_head - head;
}

TEST_F(record, more_work_more_trace)
{
	uint64_t small = ~0ULL, bytes;
	int i;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 22, false));
	/* repeat the measurement, because an interrupt may generate more trace than the work */
	for (i = 0; i < 5; i++) {
		bytes = work_bytes(&self->rec, 1000);
		if (bytes < small)
			small = bytes;
	}
	EXPECT_GT(work_bytes(&self->rec, 200000), 4 * small)
		TH_LOG("%llu bytes of a little work", (unsigned long long)small);
	record_stretches(&self->rec, self->st);
	EXPECT_EQ(self->st->bytes, self->rec.page->aux_head);
	check_stretches(&self->rec, self->st);
}

TEST_F(record, each_cpu_system_wide)
{
	int cpu, n = 0;

	for (cpu = 0; cpu < 64; cpu++) {
		if (!cpu_is_traced(cpu))
			continue;
		ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, cpu, 1 << 22, false))
			TH_LOG("cpu %d: %s", cpu, strerror(self->rec.err));
		record_start(&self->rec);
		usleep(20000);
		record_stop(&self->rec);
		record_take(&self->rec, self->st);
		EXPECT_GT(self->st->bytes, 0) TH_LOG("no trace of cpu %d", cpu);
		EXPECT_EQ(self->st->bytes, self->rec.page->aux_head);
		check_stretches(&self->rec, self->st);
		record_close(&self->rec);
		n++;
	}
	EXPECT_EQ(n, pmu_nr_cpus());
}

TEST_F(record, two_cpus_at_once)
{
	struct recording recs[2];
	int cpu, n = 0;

	for (cpu = 0; cpu < 64 && n < 2; cpu++) {
		if (!cpu_is_traced(cpu))
			continue;
		ASSERT_TRUE(record_open(&recs[n], &self->attr, -1, cpu, 1 << 22, false));
		n++;
	}
	if (n < 2)
		SKIP(return, "one traced CPU");
	record_start(&recs[0]);
	record_start(&recs[1]);
	busy(100000);
	record_stop(&recs[0]);
	record_stop(&recs[1]);
	for (n = 0; n < 2; n++) {
		record_take(&recs[n], self->st);
		EXPECT_GT(self->st->bytes, 0);
		check_stretches(&recs[n], self->st);
		record_close(&recs[n]);
	}
}

TEST_F(record, buffer_goes_around_many_times)
{
	unsigned int round, i;
	uint64_t bytes = 0;
	size_t size;

	event_attr_user(&self->attr);
	/* Each AUX record has about 2 KB, or more than 100 KB on a debug kernel */
	size = self->attr.exclude_kernel ? 1 << 18 : 1 << 21;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, size, false));
	for (round = 0; round < 2000 && bytes <= 2 * self->rec.aux_size; round++) {
		record_work(&self->rec, 2000);
		memset(self->st, 0, sizeof(*self->st));
		self->st->end = bytes;
		record_stretches(&self->rec, self->st);
		EXPECT_EQ(self->st->nr_truncated, 0);
		for (i = 0; i < self->st->nr; i++)
			check_stretch(_metadata, &self->rec, &self->st->at[i]);
		EXPECT_EQ(self->st->nr_gaps, 0);
		bytes += self->st->bytes;
		EXPECT_EQ(bytes, self->rec.page->aux_head);
		__atomic_store_n(&self->rec.page->aux_tail, bytes, __ATOMIC_RELEASE);
	}
	EXPECT_GT(bytes, 2 * self->rec.aux_size);
}

TEST_F(record, full_buffer_is_flagged_and_goes_on_after_reading)
{
	uint64_t head;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false));
	record_work(&self->rec, 1000000);
	record_stretches(&self->rec, self->st);
	EXPECT_GE(self->st->nr_truncated, 1);
	EXPECT_EQ(self->st->nr_gaps, 0);
	head = self->rec.page->aux_head;
	EXPECT_LE(head, self->rec.aux_size);
	EXPECT_EQ(self->st->bytes, head);

	__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	record_work(&self->rec, 1000);
	EXPECT_GT(self->rec.page->aux_head, head);
}

TEST_F(record, own_thread_id_in_ownership)
{
	unsigned int own = 0, other = 0, i;
	struct message msg;
	uint8_t *buf;
	size_t pos;

	if (!pmu_number("caps/scontext", 0))
		SKIP(return, "no scontext");
	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	record_start(&self->rec);
	for (i = 0; i < 100; i++) {
		busy(100);
		sched_yield();
	}
	record_stop(&self->rec);
	record_stretches(&self->rec, self->st);
	for (i = 0; i < self->st->nr; i++) {
		struct stretch *s = &self->st->at[i];

		buf = malloc(s->size);
		record_copy(&self->rec, s->offset, buf, s->size);
		for (pos = 0; next_message(buf, s->size, &pos, self->rec.src_bits, &msg) > 0;)
			if (msg.tcode == MSG_OWNERSHIP && msg.format == 2) {
				own += msg.context == syscall(SYS_gettid);
				other += msg.context != syscall(SYS_gettid);
			}
		free(buf);
	}
	EXPECT_GT(own, 0);
	/* if the kernel is excluded, the trace must not contain the id of another thread */
	if (self->attr.exclude_kernel)
		EXPECT_EQ(other, 0);
}

TEST_F(record, children_are_inherited)
{
	int status, i;
	pid_t pid;

	self->attr.inherit = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, self->cpu, 1 << 22, false));
	record_start(&self->rec);
	for (i = 0; i < 4; i++) {
		pid = fork();
		if (!pid) {
			pin(self->cpu);
			busy(20000);
			_exit(0);
		}
		waitpid(pid, &status, 0);
	}
	record_stop(&self->rec);
	record_stretches(&self->rec, self->st);
	EXPECT_GE(self->st->nr, 4);
	check_stretches(&self->rec, self->st);
}

TEST_F(record, both_modes)
{
	static const unsigned int modes[] = { 3, 6 };
	unsigned int lost = 0;
	uint64_t bytes[2] = { };
	char text[64];
	int i;

	ASSERT_TRUE(pmu_text("caps/mode", text, sizeof(text)));
	/* exclude the kernel, because the number of its interrupts varies */
	event_attr_user(&self->attr);
	for (i = 0; i < 2; i++) {
		if (!strchr(text, '0' + modes[i]))
			continue;
		self->attr.config &= ~NTRACE_CONFIG_MODE;
		self->attr.config |= (uint64_t)modes[i] << NTRACE_CONFIG_MODE_SHIFT;
		ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 22, false));
		record_work(&self->rec, 5000);
		record_take(&self->rec, self->st);
		bytes[i] = self->st->bytes;
		lost += self->st->nr_partial + self->st->nr_truncated;
		EXPECT_GT(bytes[i], 0);
		check_stretches(&self->rec, self->st);
		record_close(&self->rec);
	}
	/*
	 * compare BTM with HTM only if no trace was lost, because a small SRAM that was full contains only
	 * the last trace
	 */
	if (bytes[0] && bytes[1] && !lost)
		EXPECT_LT(bytes[1], bytes[0])
			TH_LOG("history takes %llu bytes, branches %llu", (unsigned long long)bytes[1],
			       (unsigned long long)bytes[0]);
}

/*
 * Return the number of Error messages in the trace of a loop. Set *partial to the number of records with
 * the flag PARTIAL.
 */
static unsigned int errors_of_work(struct recording *rec, struct stretches *st, unsigned int *partial)
{
	struct message msg;
	unsigned int n = 0, i;
	uint8_t *buf;
	size_t pos;

	record_work(rec, 20000);
	record_take(rec, st);
	for (i = 0; i < st->nr; i++) {
		buf = malloc(st->at[i].size);
		record_copy(rec, st->at[i].offset, buf, st->at[i].size);
		for (pos = 0; next_message(buf, st->at[i].size, &pos, rec->src_bits, &msg) > 0;)
			n += msg.tcode == MSG_ERROR;
		free(buf);
	}
	*partial = st->nr_partial;
	return n;
}

/*
 * An encoder whose FIFO is full drops messages. It then sends an Error message, and sets the bit
 * trTeInstStallOrOverflow. The file overflows has the number of times that the driver saw this bit. With
 * stall=1, the encoder sets the same bit, but stalls the hart and does not drop messages. Records must
 * not have the flag PARTIAL, which is about the sink, because the sink accepts all trace.
 *
 * NTRACE_SLOW_FIFO=1 means that the FIFO of the encoder is slow enough to overflow.
 */
TEST_F(record, encoder_without_room_says_so_or_stalls)
{
	bool slow = getenv("NTRACE_SLOW_FIFO");
	unsigned int errors, partial;
	uint64_t before, after;
	int stall;

	if (!pmu_number("caps/stall", 0) || !pmu_number("caps/privilege", 0))
		SKIP(return, "the hardware does not stall, or not filter");
	event_attr_user(&self->attr);
	/* the event and the file overflows belong to one CPU, so the work must run on this CPU */
	ASSERT_TRUE(pin(self->cpu));
	for (stall = 0; stall < 2; stall++) {
		self->attr.config &= ~NTRACE_CONFIG_STALL;
		self->attr.config |= stall ? NTRACE_CONFIG_STALL : 0;
		ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, self->cpu, 1 << 22, false));
		before = cpu_number(self->cpu, "overflows", 0);
		errors = errors_of_work(&self->rec, self->st, &partial);
		after = cpu_number(self->cpu, "overflows", 0);
		printf("# figure: stall=%d: %u Error messages, %llu stretches without room, %llu bytes, %u partial\n",
		       stall, errors, (unsigned long long)(after - before),
		       (unsigned long long)self->st->bytes, partial);
		EXPECT_GT(self->st->bytes, 100);
		EXPECT_EQ(partial, 0);
		if (stall)
			EXPECT_EQ(errors, 0);
		if (slow) {
			EXPECT_GT(after, before) TH_LOG("stall=%d", stall);
			if (!stall)
				EXPECT_GT(errors, 0);
		}
		/*
		 * The last message of an AUX record may be an Error message, because the messages after
		 * it did not fit into the FIFO
		 */
		if (errors) {
			EXPECT_GT(after, before);
		} else {
			check_stretches(&self->rec, self->st);
		}
		record_close(&self->rec);
	}
}

/*
 * A hart that stalls does not take interrupts. If its sink stopped at the end of a full window, the timer
 * that empties the window would never fire, and the hart would hang. Therefore the sink of such an event
 * must not stop. The test uses a window of one page, which is full long before the timer fires.
 */
TEST_F(record, hart_that_stalls_does_not_wait_for_a_full_window)
{
	unsigned int partial = 0, i;

	if (!pmu_number("caps/stall", 0) || !pmu_number("caps/privilege", 0))
		SKIP(return, "the hardware does not stall, or not filter");
	event_attr_user(&self->attr);
	self->attr.config |= NTRACE_CONFIG_STALL;
	ASSERT_TRUE(pin(self->cpu));
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, self->cpu, getpagesize(), false));
	for (i = 0; i < 20; i++) {
		record_work(&self->rec, 20000);
		record_take(&self->rec, self->st);
		EXPECT_GT(self->st->bytes, 0);
		partial += self->st->nr_partial;
		record_empty(&self->rec);
	}
	printf("# figure: %u stretches were overwritten rather than waited for\n", partial);
}

TEST_HARNESS_MAIN
