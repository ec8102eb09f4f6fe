// SPDX-License-Identifier: GPL-2.0-only
/* Test snapshot mode, in which new trace overwrites old trace, and the buffer has the newest trace. */
#include <stdlib.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(snapshot) {
	struct perf_event_attr attr;
	struct recording rec;
	uint8_t *buf;
};

FIXTURE_SETUP(snapshot)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	self->rec.fd = -1;
}

FIXTURE_TEARDOWN(snapshot)
{
	record_close(&self->rec);
	free(self->buf);
}

/* Return the number of messages after the first whole message, or -1 if a message is invalid. */
static int messages(const uint8_t *buf, size_t len, unsigned int src_bits, struct message *last)
{
	size_t pos = 0;
	int n = 0, ret;

	/* the buffer may start in the middle of a message, so skip this message */
	while (pos < len && (buf[pos++] & 3) != 3)
		;
	while ((ret = next_message(buf, len, &pos, src_bits, last)) > 0)
		n++;
	return ret < 0 ? -1 : n;
}

/*
 * Return the offset at which the newest trace without a loss starts. The kernel must report each loss. If
 * an ETR wrapped around in its window, the first part of the trace of an AUX record is lost. If a sink stopped at the
 * end of its window, the last part of this trace is lost, and the last message may be incomplete.
 */
static uint64_t newest(struct recording *rec, struct stretches *st)
{
	uint64_t head = rec->page->aux_head, from = 0, lost;
	const struct stretch *s = st->at;

	if (head > rec->aux_size)
		from = head - rec->aux_size;
	record_stretches(rec, st);
	for (; s < st->at + st->nr && s < st->at + sizeof(st->at) / sizeof(st->at[0]); s++) {
		if (!(s->flags & PERF_AUX_FLAG_PARTIAL))
			continue;
		lost = s->flags & NTRACE_AUX_FORMAT_FRAMES ? s->offset - s->size : s->offset;
		if (lost > from)
			from = lost;
	}
	return from;
}

/* Return the number of messages in the buffer after the offset @from, or -1 if a message is invalid. */
static int newest_messages(struct recording *rec, uint8_t *buf, uint64_t from, struct message *last)
{
	uint64_t head = rec->page->aux_head;

	record_copy(rec, from, buf, head - from);
	return messages(buf, head - from, rec->src_bits, last);
}

TEST_F(snapshot, newest_survives)
{
	static struct stretches st;
	struct message last;
	uint64_t head, from;
	int round, n;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, true))
		TH_LOG("%s", strerror(self->rec.err));
	self->buf = malloc(self->rec.aux_size);
	memset(&st, 0, sizeof(st));
	for (round = 0; round < 20; round++) {
		record_work(&self->rec, 20000 + 1234 * round);
		head = self->rec.page->aux_head;
		from = newest(&self->rec, &st);
		/*
		 * On a busy host, the last window may have become full, so that trace was lost shortly before the end.
		 * Ignore this round, because too little trace follows the loss.
		 */
		if (head < self->rec.aux_size || head - from < self->rec.aux_size / 4)
			continue;
		n = newest_messages(&self->rec, self->buf, from, &last);
		EXPECT_GT(n, 100) TH_LOG("round %d, head %llu", round, (unsigned long long)head);
		EXPECT_EQ(last.tcode, MSG_CORRELATION);
	}
	EXPECT_GT(self->rec.page->aux_head, 2 * self->rec.aux_size);
	if (st.nr_partial)
		printf("# figure: trace is missing, as the kernel says, before %u of %u stretches\n",
		       st.nr_partial, st.nr);
}

/*
 * Record a long trace, and then short ones. The trace of each AUX record must begin at the end of the previous record,
 * without unwritten bytes between them.
 */
TEST_F(snapshot, short_stretches_follow_long_ones)
{
	static struct stretches st;
	uint64_t head = 0, before;
	struct message last;
	int round, n;

	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, true));
	self->buf = malloc(self->rec.aux_size);
	memset(&st, 0, sizeof(st));
	for (round = 0; round < 8; round++) {
		before = head;
		record_work(&self->rec, round % 2 ? 50 : 3000);
		head = self->rec.page->aux_head;
		ASSERT_GT(head, before);
		if (round % 2)
			EXPECT_LT(head - before, self->rec.aux_size / 2)
				TH_LOG("round %d, from %llu to %llu", round,
				       (unsigned long long)before, (unsigned long long)head);
		n = newest_messages(&self->rec, self->buf, newest(&self->rec, &st), &last);
		EXPECT_GT(n, round);
		EXPECT_EQ(last.tcode, MSG_CORRELATION);
	}
	EXPECT_EQ(st.nr_partial, 0);
}

/*
 * An AUX record that passes the end of the buffer must not have more trace than other AUX records of the same work. On
 * a busy machine, interrupts add messages to all records, so compare with the largest of the other records. If sinks
 * write frames, the driver may skip up to half of the buffer before its end, and the head includes these bytes.
 */
TEST_F(snapshot, end_of_the_buffer_adds_no_trace)
{
	uint64_t head, before, first = 0, most = 0, most_past = 0;
	unsigned int turns = 3000;
	bool frames = pmu_number("cpu0/trace_id", 0);
	int round;

	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, true));
	do {
		before = self->rec.page->aux_head;
		turns *= 2;
		record_work(&self->rec, turns);
		first = self->rec.page->aux_head - before;
	} while (first < self->rec.aux_size / 4 && turns < 1 << 20);
	for (round = 0; round < 12; round++) {
		before = self->rec.page->aux_head;
		record_work(&self->rec, turns);
		head = self->rec.page->aux_head;
		if (before / self->rec.aux_size == (head - 1) / self->rec.aux_size)
			most = head - before > most ? head - before : most;
		else
			most_past = head - before > most_past ? head - before : most_past;
	}
	EXPECT_GT(most, 0);
	EXPECT_GT(most_past, 0);
	EXPECT_LT(most_past, most + most / 2 + (frames ? self->rec.aux_size / 2 : 0));
}

TEST_F(snapshot, small_one_is_whole)
{
	struct message last;
	uint64_t head;
	size_t pos = 0;
	int ret, n = 0;

	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, true));
	record_work(&self->rec, 1000);
	head = self->rec.page->aux_head;
	ASSERT_GT(head, 0);
	ASSERT_LT(head, self->rec.aux_size);
	self->buf = malloc(head);
	record_copy(&self->rec, 0, self->buf, head);
	while ((ret = next_message(self->buf, head, &pos, self->rec.src_bits, &last)) > 0)
		n++;
	EXPECT_EQ(ret, 0);
	EXPECT_GT(n, 10);
	EXPECT_EQ(last.tcode, MSG_CORRELATION);
}

TEST_F(snapshot, event_is_never_disabled)
{
	uint64_t head;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, true));
	record_work(&self->rec, 500000);
	head = self->rec.page->aux_head;
	/*
	 * Check that the trace has filled the buffer at least once. The buffer is small, because only as
	 * much trace as fits into the SRAM of a sink reaches the buffer.
	 */
	EXPECT_GE(head, self->rec.aux_size);
	record_work(&self->rec, 1000);
	EXPECT_GT(self->rec.page->aux_head, head);
}

TEST_HARNESS_MAIN
