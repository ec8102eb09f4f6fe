// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace all CPUs of a busy system. If the reader is fast enough, no trace may be lost. Otherwise the
 * records must report the loss.
 *
 * NTRACE_LOAD_AUX: Size of the buffer of each CPU in MiB, by default 1.
 * NTRACE_LOAD_SECONDS: Duration in seconds, by default 3.
 * NTRACE_LOAD_OUT: Folder for files with the trace of each sink and the offsets after which trace is
 * missing. The caller compares the trace with the executed code.
 * NTRACE_LOAD_ROOM: Limit for this trace in MiB, by default 256.
 * NTRACE_LOAD_SLOW: Number of real seconds in which the clock of the CPUs advances by one second, by
 * default 1.
 * NTRACE_LOAD_STALL: Trace user mode, and stall harts before trace is lost.
 * NTRACE_LOAD_PAUSE: Length of idle phases of the CPUs in microseconds.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define MAX_CPUS	8
#define MIB		(1 << 20)

/*
 * The trace of a sink, which is written to a file at the end. If CPUs share the sink, the sink writes to
 * the buffers of these CPUs in turn. The file contains the pieces of trace in the order in which perf
 * received them.
 */
struct kept {
	int file;		/* file for the trace, or 0 if the trace is not stored */
	FILE *lost;		/* file for the offsets after which trace is missing */
	uint8_t *data;
	size_t size, room;
	struct piece {
		uint64_t time;
		size_t at, size;
		bool lost;	/* trace is missing after this piece */
	} *pieces;
	size_t nr_pieces;
};

FIXTURE(load) {
	struct recording rec[MAX_CPUS];
	struct stretches *st[MAX_CPUS];
	pthread_t worker[MAX_CPUS];
	struct kept kept[MAX_CPUS];
	int sharer[MAX_CPUS];	/* for each CPU, the index of the first CPU that uses the same sink */
	int cpu[MAX_CPUS];
	int nr;
};

static volatile bool stop;

static double given(const char *name, double otherwise)
{
	const char *s = getenv(name);

	return s ? atof(s) : otherwise;
}

static size_t aux_size(void)
{
	return MIB * given("NTRACE_LOAD_AUX", 1);
}

static double seconds(void)
{
	return given("NTRACE_LOAD_SECONDS", 3);
}

/*
 * Allocate memory for the trace of a sink that @nr CPUs share. @cpu is the first of these CPUs. Populate
 * all pages, so that no page fault occurs during tracing.
 */
static bool kept_open(struct kept *kept, const char *dir, int cpu, int nr)
{
	char path[256];

	if (!dir || !nr)
		return true;
	snprintf(path, sizeof(path), "%s/cpu%d.ntrace", dir, cpu);
	kept->file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	kept->room = nr * MIB * given("NTRACE_LOAD_ROOM", 256);
	kept->data = mmap(NULL, kept->room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	snprintf(path, sizeof(path), "%s/cpu%d.lost", dir, cpu);
	kept->lost = fopen(path, "w");
	if (kept->file < 0 || !kept->lost || kept->data == MAP_FAILED)
		return false;
	madvise(kept->data, kept->room, MADV_HUGEPAGE);
	return !madvise(kept->data, kept->room, MADV_POPULATE_WRITE);
}

/*
 * Append trace to the stored trace of a sink. Append it to the last piece if this piece has the same
 * time, and otherwise make a new piece. Return false if the trace does not fit into the memory.
 */
static bool kept_add(struct kept *kept, uint64_t time, bool lost, const uint8_t *from, size_t size)
{
	struct piece *last = kept->pieces + kept->nr_pieces - 1;

	if (size > kept->room - kept->size)
		return false;
	memcpy(kept->data + kept->size, from, size);
	if (!kept->nr_pieces || last->time != time) {
		if (!(kept->nr_pieces & (kept->nr_pieces - 1)))
			kept->pieces = realloc(kept->pieces,
					       2 * (kept->nr_pieces + 1) * sizeof(*kept->pieces));
		last = kept->pieces + kept->nr_pieces++;
		*last = (struct piece){ .time = time, .at = kept->size };
	}
	last->size += size;
	last->lost |= lost;
	kept->size += size;
	return true;
}

static int compare_pieces(const void *a, const void *b)
{
	const struct piece *x = a, *y = b;

	return x->time == y->time ? (x->at > y->at) - (x->at < y->at) :
				    (x->time > y->time) - (x->time < y->time);
}

/*
 * Write a piece to the file, and free its memory. Return false if writing failed.
 */
static bool piece_write(struct kept *kept, const struct piece *piece)
{
	size_t page = getpagesize(), first = (piece->at + page - 1) / page * page;
	size_t end = piece->at + piece->size, at;
	ssize_t n;

	for (at = piece->at; at < end; at += n) {
		n = write(kept->file, kept->data + at, end - at);
		if (n <= 0)
			return false;
	}
	if (first < end / page * page)
		madvise(kept->data + first, end / page * page - first, MADV_DONTNEED);
	return true;
}

/*
 * Write the trace of a sink. Each sink has a thread, because a single thread would write for
 * minutes on slow CPUs. Return an errno in a pointer if not all of it could be written.
 */
static void *kept_close(void *arg)
{
	struct kept *kept = arg;
	bool fine = true;
	size_t i, end = 0;

	if (!kept->file)
		return NULL;
	qsort(kept->pieces, kept->nr_pieces, sizeof(*kept->pieces), compare_pieces);
	for (i = 0; i < kept->nr_pieces && fine; i++) {
		fine = piece_write(kept, &kept->pieces[i]);
		end += kept->pieces[i].size;
		if (kept->pieces[i].lost)
			fprintf(kept->lost, "%zu\n", end);
	}
	fine &= !fclose(kept->lost);
	free(kept->pieces);
	munmap(kept->data, kept->room);
	return close(kept->file) || !fine ? (void *)(intptr_t)(errno ?: EIO) : NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Simulate the work of programs with loops, and branches and calls that depend on the data */
static void compute(uint32_t *values, size_t n)
{
	uint32_t sum = 1;
	size_t i, k;

	for (k = 0; k < 20; k++)
		for (i = 0; i < n; i++) {
			sum = sum * 69069 + i;
			values[i] ^= sum;
		}
	qsort(values, n, sizeof(*values), compare);
}

static void *work(void *arg)
{
	static _Thread_local uint32_t values[2000];
	unsigned int pause = given("NTRACE_LOAD_PAUSE", 0);

	pin(*(const int *)arg);
	while (!stop) {
		compute(values, ARRAY_SIZE(values));
		getppid();
		if (pause)
			usleep(pause);
		else
			sched_yield();
	}
	return NULL;
}

FIXTURE_SETUP(load)
{
	const char *out = getenv("NTRACE_LOAD_OUT");
	int cpu, i, nr[MAX_CPUS] = { };
	struct perf_event_attr attr;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	stop = false;
	event_attr(&attr, pmu_config(pmu_first_cpu()));
	if (getenv("NTRACE_LOAD_STALL")) {
		if (!pmu_number("caps/stall", 0) || !pmu_number("caps/privilege", 0))
			SKIP(return, "the hardware does not stall, or not filter");
		event_attr_user(&attr);
		attr.config |= NTRACE_CONFIG_STALL;
	}
	if (out)
		attr.config &= NTRACE_CONFIG_MODE | NTRACE_CONFIG_SYNC_MODE | NTRACE_CONFIG_SYNC_MAX;
	for (cpu = 0; cpu < MAX_CPUS; cpu++) {
		if (!cpu_is_traced(cpu))
			continue;
		ASSERT_TRUE(record_open(&self->rec[self->nr], &attr, -1, cpu, aux_size(), false));
		self->st[self->nr] = calloc(1, sizeof(struct stretches));
		for (i = 0; i < self->nr && !cpus_share_sink(self->cpu[i], cpu); i++)
			;
		self->sharer[self->nr] = i;
		nr[i]++;
		self->cpu[self->nr++] = cpu;
	}
	for (i = 0; i < self->nr; i++)
		ASSERT_TRUE(kept_open(&self->kept[i], out, self->cpu[i], nr[i])) TH_LOG("%s", out);
	for (i = 0; i < self->nr; i++)
		pthread_create(&self->worker[i], NULL, work, &self->cpu[i]);
}

FIXTURE_TEARDOWN(load)
{
	pthread_t writer[MAX_CPUS];
	void *failed;
	int i;

	stop = true;
	for (i = 0; i < self->nr; i++) {
		pthread_join(self->worker[i], NULL);
		record_close(&self->rec[i]);
		free(self->st[i]);
	}
	for (i = 0; i < self->nr; i++)
		pthread_create(&writer[i], NULL, kept_close, &self->kept[i]);
	for (i = 0; i < self->nr; i++) {
		pthread_join(writer[i], &failed);
		EXPECT_EQ(NULL, failed) TH_LOG("CPU %d: %s", self->cpu[i], strerror((intptr_t)failed));
	}
}

/* Return true if sinks write CoreSight frames, so that the bytes in the AUX buffer are not messages. */
static bool pmu_has_frames(void)
{
	static int frames = -1;

	if (frames < 0)
		frames = !!pmu_number("cpu0/trace_id", 0);
	return frames;
}

/* Sums of all CPUs since the start of the test */
struct totals {
	uint64_t bytes;
	unsigned int stretches, truncated, partial, gaps, cut, no_room;
	unsigned int whole;	/* number of AUX records with the flag PARTIAL whose last message is whole */
};

/*
 * Return the position of the first byte from @pos to @end that is not an idle byte. Compare whole words,
 * because a loop over bytes would be too slow for a large number of idle bytes.
 */
static uint64_t skip_idle(const struct recording *rec, uint64_t pos, uint64_t end)
{
	for (; pos < end; pos++) {
		const uint8_t *at = rec->aux + pos % rec->aux_size;

		while (!(pos & 7) && pos + 8 <= end && *(const uint64_t *)at == ~0ULL) {
			pos += 8;
			at = rec->aux + pos % rec->aux_size;
		}
		if (pos >= end || *at != 0xff)
			break;
	}
	return pos;
}

/* Return true if the last message before @last reports that the encoder was stopped. */
static bool ends_whole(const struct recording *rec, uint64_t pos, uint64_t last)
{
	while (last > pos && rec->aux[(last - 1) % rec->aux_size] == 0xff)
		last--;
	if (last == pos || (rec->aux[(last - 1) % rec->aux_size] & 3) != 3)
		return false;
	for (last--; last > pos && (rec->aux[(last - 1) % rec->aux_size] & 3) != 3; last--)
		;
	return rec->aux[last % rec->aux_size] >> 2 == MSG_CORRELATION;
}

/*
 * Add the trace of the new AUX records to the sums, and store this trace if there is a file. A record whose
 * trace does not begin with a whole message counts as cut.
 */
static void account_one(struct recording *rec, struct stretches *st, struct kept *out, struct totals *sum)
{
	bool frames = pmu_has_frames();
	uint64_t end = st->end;
	unsigned int i;

	memset(st, 0, offsetof(struct stretches, at));
	st->end = end;
	record_stretches(rec, st);
	for (i = 0; i < st->nr && i < 4096; i++) {
		uint64_t last = st->at[i].offset + st->at[i].size;
		uint64_t pos = frames ? st->at[i].offset : skip_idle(rec, st->at[i].offset, last);
		bool lost = st->at[i].flags & (PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_TRUNCATED);

		if (st->at[i].flags & PERF_AUX_FLAG_PARTIAL)
			sum->whole += !frames && ends_whole(rec, pos, last);
		sum->cut += !frames && pos < last && rec->aux[pos % rec->aux_size] & 3;
		/* a full sink may have cut the last message, so do not store an incomplete message */
		while (out->file && !frames && pos < last && (rec->aux[(last - 1) % rec->aux_size] & 3) != 3)
			last--;
		if (out->file && pos == last && lost)
			sum->no_room += !kept_add(out, st->at[i].time, lost, rec->aux, 0);
		while (out->file && pos < last) {
			uint64_t at = pos % rec->aux_size, n = last - pos;

			n = n < rec->aux_size - at ? n : rec->aux_size - at;
			sum->no_room += !kept_add(out, st->at[i].time, lost, rec->aux + at, n);
			pos += n;
		}
	}
	__atomic_store_n(&rec->page->aux_tail, st->end, __ATOMIC_RELEASE);
	sum->bytes += st->bytes;
	sum->stretches += st->nr;
	sum->truncated += st->nr_truncated;
	sum->partial += st->nr_partial;
	sum->gaps += st->nr_gaps;
}

static void start_all(FIXTURE_DATA(load) *self)
{
	int i;

	for (i = 0; i < self->nr; i++)
		record_start(&self->rec[i]);
}

static void account_all(FIXTURE_DATA(load) *self, struct totals *sum)
{
	int i;

	for (i = 0; i < self->nr; i++)
		account_one(&self->rec[i], self->st[i], &self->kept[self->sharer[i]], sum);
}

static void stop_all(FIXTURE_DATA(load) *self, struct totals *sum)
{
	int i;

	for (i = 0; i < self->nr; i++)
		record_stop(&self->rec[i]);
	account_all(self, sum);
}

/* Return the number of CPUs that share the sink of the first CPU. */
static int sharers(const FIXTURE_DATA(load) *self)
{
	int i, n = 0;

	for (i = 0; i < self->nr; i++)
		n += !self->sharer[i];
	return n;
}

TEST_F(load, reader_that_keeps_up_loses_nothing)
{
	struct sched_param param = { .sched_priority = 10 };
	struct totals sum = { };
	double start, end, late = 0, before;
	char text[64];

	if (cpu_text(pmu_first_cpu(), "sink", text, sizeof(text)) && strncmp(text, "smem", 4))
		SKIP(return, "sink is %s: too small for a busy system", text);
	sched_setscheduler(0, SCHED_FIFO, &param);
	/* Prevent page faults during tracing */
	mlockall(MCL_CURRENT);
	start_all(self);
	start = now();
	do {
		before = now();
		usleep(500);
		account_all(self, &sum);
		end = now();
		late = end - before > late ? end - before : late;
	} while (end - start < seconds());
	stop_all(self, &sum);
	printf("# figure: %.1f s, %d CPUs: %.1f MB, %.1f MB/s, %u stretches, %u truncated, %u partial (%u of them whole), reader up to %.1f ms late\n",
	       end - start, self->nr, sum.bytes / 1e6, sum.bytes / 1e6 / (end - start),
	       sum.stretches, sum.truncated, sum.partial, sum.whole, 1e3 * late);
	EXPECT_GT(sum.bytes, 100000);
	EXPECT_EQ(sum.gaps, 0);
	EXPECT_EQ(sum.cut, 0);
	EXPECT_EQ(sum.no_room, 0);
	/*
	 * Timers of an emulated CPU expire late if the host is busy. On the fastest host, one CPU
	 * generates 200 MB/s, and half of a buffer of 1 MiB is full after 2.5 ms.
	 */
	if ((sum.truncated || sum.partial) &&
	    late > 0.0025 * given("NTRACE_LOAD_AUX", 1) * given("NTRACE_LOAD_SLOW", 1) / sharers(self))
		SKIP(return, "the reader did not keep up: it was up to %.1f ms late", 1e3 * late);
	EXPECT_EQ(sum.truncated, 0);
	EXPECT_EQ(sum.partial, 0);
}

/*
 * Trace is lost while the driver reads the SRAM of a sink, or if the SRAM, which is small, is full before
 * the timer fires. The caller checks that the records report each loss at its position, and report no other
 * loss.
 */
TEST_F(load, loss_is_flagged)
{
	struct sched_param param = { .sched_priority = 10 };
	struct totals sum = { };
	double start, end;

	sched_setscheduler(0, SCHED_FIFO, &param);
	mlockall(MCL_CURRENT);
	start_all(self);
	for (start = now(); (end = now()) - start < seconds();) {
		usleep(500);
		account_all(self, &sum);
	}
	stop_all(self, &sum);
	printf("# figure: %.1f s, %d CPUs: %.1f MB, %.1f MB/s, %u stretches, %u truncated, %u partial (%u of them whole)\n",
	       end - start, self->nr, sum.bytes / 1e6, sum.bytes / 1e6 / (end - start),
	       sum.stretches, sum.truncated, sum.partial, sum.whole);
	EXPECT_GT(sum.bytes, 100000);
	EXPECT_EQ(sum.gaps, 0);
	EXPECT_EQ(sum.cut, 0);
	EXPECT_EQ(sum.no_room, 0);
}

/* The reader pauses for so long that the trace could fill the buffer many times. */
TEST_F(load, reader_that_was_away_gets_the_rest)
{
	struct totals sum = { };
	double start, end;
	int round;

	start_all(self);
	for (round = 0; round < 2; round++) {
		for (start = now(); (end = now()) - start < seconds() / 2;) {
			usleep(500);
			account_all(self, &sum);
		}
		if (!round)
			sleep(5);
		account_all(self, &sum);
		/* like perf, enable the events that the kernel disabled because their buffer was full */
		start_all(self);
	}
	stop_all(self, &sum);
	printf("# figure: %d CPUs, reader away for 5 s: %.1f MB, %u stretches, %u truncated, %u partial (%u of them whole)\n",
	       self->nr, sum.bytes / 1e6, sum.stretches, sum.truncated, sum.partial, sum.whole);
	EXPECT_GE(sum.truncated, self->nr);
	EXPECT_EQ(sum.gaps, 0);
	EXPECT_EQ(sum.cut, 0);
	EXPECT_EQ(sum.no_room, 0);
}

TEST_F(load, reader_that_stops_is_told)
{
	double end = now() + 60;
	uint64_t head;
	int i;

	start_all(self);
	for (i = 0; i < self->nr; i++) {
		while (!self->st[i]->nr_truncated && now() < end) {
			usleep(10000);
			record_stretches(&self->rec[i], self->st[i]);
		}
		ASSERT_EQ(self->st[i]->nr_truncated, 1) TH_LOG("CPU %d", i);
		EXPECT_EQ(self->st[i]->nr_gaps, 0);

		/* the records must have reported each byte that the kernel has written to the buffer */
		EXPECT_EQ(self->st[i]->bytes, self->rec[i].page->aux_head);
		EXPECT_LE(self->st[i]->bytes, aux_size());
		EXPECT_GT(self->st[i]->bytes, aux_size() - (128 << 10));
	}
	/* The buffers are full, so the driver must not write more trace to them */
	usleep(50000);
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(self->rec[i].page->aux_head, self->st[i]->bytes) TH_LOG("CPU %d", i);

	/*
	 * The reader has made room, so the trace continues. Events that share the sink may
	 * also continue, and report another loss.
	 */
	for (i = 0; i < self->nr; i++) {
		head = self->rec[i].page->aux_head;
		__atomic_store_n(&self->rec[i].page->aux_tail, head, __ATOMIC_RELEASE);
		record_start(&self->rec[i]);
		usleep(20000);
		record_stop(&self->rec[i]);
		EXPECT_GT(self->rec[i].page->aux_head, head);
	}
}

TEST_HARNESS_MAIN
