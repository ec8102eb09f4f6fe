// SPDX-License-Identifier: GPL-2.0-only
/*
 * System-wide trace of a busy system into 1 MiB for each CPU. With a reader
 * that keeps up nothing is lost; with one that does not, it is said.
 *
 * NTRACE_LOAD_SECONDS: how long, 3 if not given; NTRACE_LOAD_OUT: folder for the
 * trace of each CPU, of one simple kind, to be compared with what ran, and
 * NTRACE_LOAD_ROOM: the MiB that it may have, 256 if not given;
 * NTRACE_LOAD_SLOW: the clock of the CPUs takes so many seconds for one;
 * NTRACE_LOAD_STALL: user mode, and harts stall rather than lose trace;
 * NTRACE_LOAD_PAUSE: CPUs are idle for so many microseconds now and then
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define MAX_CPUS	8
#define AUX_SIZE	(1 << 20)

/* The trace of a CPU, to be written to a file when all is over */
struct kept {
	int file;		/* 0: it is not kept */
	uint8_t *data;
	size_t size, room;
};

FIXTURE(load) {
	struct recording rec[MAX_CPUS];
	struct stretches *st[MAX_CPUS];
	pthread_t worker[MAX_CPUS];
	struct kept kept[MAX_CPUS];
	int cpu[MAX_CPUS];
	int nr;
};

static volatile bool stop;

static double given(const char *name, double otherwise)
{
	const char *s = getenv(name);

	return s ? atof(s) : otherwise;
}

static double seconds(void)
{
	return given("NTRACE_LOAD_SECONDS", 3);
}

/*
 * Memory for the trace of a CPU. All of it is touched now, so that no page fault happens while
 * trace comes in.
 */
static bool kept_open(struct kept *kept, const char *dir, int cpu)
{
	char path[256];

	if (!dir)
		return true;
	snprintf(path, sizeof(path), "%s/cpu%d.ntrace", dir, cpu);
	kept->file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	kept->room = (1 << 20) * given("NTRACE_LOAD_ROOM", 256);
	kept->data = mmap(NULL, kept->room, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept->file < 0 || kept->data == MAP_FAILED)
		return false;
	madvise(kept->data, kept->room, MADV_HUGEPAGE);
	return !madvise(kept->data, kept->room, MADV_POPULATE_WRITE);
}

/* False if there is no more room */
static bool kept_add(struct kept *kept, const uint8_t *from, size_t size)
{
	if (size > kept->room - kept->size)
		return false;
	memcpy(kept->data + kept->size, from, size);
	kept->size += size;
	return true;
}

/*
 * A thread for each CPU: one alone would write for minutes, where CPUs are slow. Returns
 * an errno in a pointer if not all of it could be written.
 */
static void *kept_close(void *arg)
{
	size_t at = 0, most = 16 << 20, page = getpagesize();
	struct kept *kept = arg;
	ssize_t n = 1;

	if (!kept->file)
		return NULL;
	for (; at < kept->size && n > 0; at += n) {
		n = write(kept->file, kept->data + at,
			  kept->size - at < most ? kept->size - at : most);
		/* the file has it now: the room for the next ones */
		if (n > 0)
			madvise(kept->data, (at + n) / page * page, MADV_DONTNEED);
	}
	munmap(kept->data, kept->room);
	return close(kept->file) || n <= 0 ? (void *)(intptr_t)(errno ?: EIO) : NULL;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* What programs do: loops, and branches and calls that depend on the data */
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
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(*(const int *)arg, &set);
	sched_setaffinity(0, sizeof(set), &set);
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
	struct perf_event_attr attr;
	char file[64];
	int cpu, i;

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
		snprintf(file, sizeof(file), "cpu%d/cpu", cpu);
		if (pmu_number(file, ~0ULL) == ~0ULL)
			continue;
		ASSERT_TRUE(record_open(&self->rec[self->nr], &attr, -1, cpu, AUX_SIZE, false));
		self->st[self->nr] = calloc(1, sizeof(struct stretches));
		ASSERT_TRUE(kept_open(&self->kept[self->nr], out, cpu)) TH_LOG("%s", out);
		self->cpu[self->nr++] = cpu;
	}
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

/* Totals over all CPUs since the start */
struct totals {
	uint64_t bytes;
	unsigned int stretches, truncated, partial, gaps, cut, no_room;
	unsigned int whole;	/* of the partial ones: all was in when the window was full */
};

/*
 * Skip the idle bytes from @pos to @end. There may be many, so this goes by words to keep up.
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

/* Is the last message before @last the one that says that the encoder was stopped? */
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

/* Each stretch begins with a message. The next stretch shows how the one before has ended */
static void account(struct recording *rec, struct stretches *st, struct kept *out, struct totals *sum)
{
	uint64_t end = st->end;
	unsigned int i;

	memset(st, 0, offsetof(struct stretches, at));
	st->end = end;
	record_stretches(rec, st);
	for (i = 0; i < st->nr && i < 4096; i++) {
		uint64_t last = st->at[i].offset + st->at[i].size;
		uint64_t pos = skip_idle(rec, st->at[i].offset, last);

		if (st->at[i].flags & PERF_AUX_FLAG_PARTIAL)
			sum->whole += ends_whole(rec, pos, last);
		sum->cut += pos < last && rec->aux[pos % rec->aux_size] & 3;
		/* if the sink was full, the last message is cut off */
		while (out->file && pos < last && (rec->aux[(last - 1) % rec->aux_size] & 3) != 3)
			last--;
		while (out->file && pos < last) {
			uint64_t at = pos % rec->aux_size, n = last - pos;

			n = n < rec->aux_size - at ? n : rec->aux_size - at;
			sum->no_room += !kept_add(out, rec->aux + at, n);
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

/* The sink of a CPU: the last component of its path */
static bool sink_of(int cpu, char *sink, size_t size)
{
	char file[64], path[256];

	snprintf(file, sizeof(file), "cpu%d/path", cpu);
	if (!pmu_text(file, path, sizeof(path)))
		return false;
	snprintf(sink, size, "%.63s", strrchr(path, ' ') ?: path);
	return true;
}

/* How many CPUs fill the sink of the first one */
static int sharers(void)
{
	char first[64], sink[64];
	int cpu, n = 0;

	if (!sink_of(pmu_first_cpu(), first, sizeof(first)))
		return 1;
	for (cpu = 0; cpu < MAX_CPUS; cpu++)
		n += sink_of(cpu, sink, sizeof(sink)) && !strcmp(sink, first);
	return n;
}

TEST_F_TIMEOUT(load, reader_that_keeps_up_loses_nothing, 300)
{
	struct sched_param param = { .sched_priority = 10 };
	struct totals sum = { };
	double start, end, late = 0, before;
	char text[64], file[64];
	int i;

	snprintf(file, sizeof(file), "cpu%d/sink", pmu_first_cpu());
	if (pmu_text(file, text, sizeof(text)) && strncmp(text, "smem", 4))
		SKIP(return, "sink is %s: too small for a busy system", text);
	sched_setscheduler(0, SCHED_FIFO, &param);
	/* no page fault may happen while the trace comes in */
	mlockall(MCL_CURRENT);
	for (i = 0; i < self->nr; i++)
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	start = now();
	do {
		before = now();
		usleep(500);
		for (i = 0; i < self->nr; i++)
			account(&self->rec[i], self->st[i], &self->kept[i], &sum);
		end = now();
		late = end - before > late ? end - before : late;
	} while (end - start < seconds());
	for (i = 0; i < self->nr; i++) {
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		account(&self->rec[i], self->st[i], &self->kept[i], &sum);
	}
	printf("# figure: %.1f s, %d CPUs: %.1f MB, %.1f MB/s, %u stretches, %u truncated, %u partial (%u of them whole), reader up to %.1f ms late\n",
	       end - start, self->nr, sum.bytes / 1e6, sum.bytes / 1e6 / (end - start),
	       sum.stretches, sum.truncated, sum.partial, sum.whole, 1e3 * late);
	EXPECT_GT(sum.bytes, 100000);
	EXPECT_EQ(sum.gaps, 0);
	EXPECT_EQ(sum.cut, 0);
	EXPECT_EQ(sum.no_room, 0);
	/*
	 * Timers of an emulated CPU come when the host has time for it. Half a buffer is full after
	 * 2.5 ms at 200 MB/s, which is what the fastest host makes of one CPU.
	 */
	if ((sum.truncated || sum.partial) &&
	    late > 0.0025 * given("NTRACE_LOAD_SLOW", 1) / sharers())
		SKIP(return, "the reader did not keep up: it was up to %.1f ms late", 1e3 * late);
	EXPECT_EQ(sum.truncated, 0);
	EXPECT_EQ(sum.partial, 0);
}

/* The reader stays away for so long that a buffer could fill many times */
TEST_F_TIMEOUT(load, reader_that_was_away_gets_the_rest, 300)
{
	struct totals sum = { };
	double start, end;
	int i, round;

	for (i = 0; i < self->nr; i++)
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	for (round = 0; round < 2; round++) {
		for (start = now(); (end = now()) - start < seconds() / 2;) {
			usleep(500);
			for (i = 0; i < self->nr; i++)
				account(&self->rec[i], self->st[i], &self->kept[i], &sum);
		}
		if (!round)
			sleep(5);
		for (i = 0; i < self->nr; i++) {
			account(&self->rec[i], self->st[i], &self->kept[i], &sum);
			/* perf does so too: what was truncated is disabled */
			ioctl(self->rec[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		}
	}
	for (i = 0; i < self->nr; i++) {
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		account(&self->rec[i], self->st[i], &self->kept[i], &sum);
	}
	printf("# figure: %d CPUs, reader away for 5 s: %.1f MB, %u stretches, %u truncated, %u partial (%u of them whole)\n",
	       self->nr, sum.bytes / 1e6, sum.stretches, sum.truncated, sum.partial, sum.whole);
	EXPECT_GE(sum.truncated, self->nr);
	EXPECT_EQ(sum.gaps, 0);
	EXPECT_EQ(sum.cut, 0);
	EXPECT_EQ(sum.no_room, 0);
}

TEST_F_TIMEOUT(load, reader_that_stops_is_told, 300)
{
	double end = now() + 60;
	uint64_t head;
	int i;

	for (i = 0; i < self->nr; i++)
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	for (i = 0; i < self->nr; i++) {
		while (!self->st[i]->nr_truncated && now() < end) {
			usleep(10000);
			record_stretches(&self->rec[i], self->st[i]);
		}
		ASSERT_EQ(self->st[i]->nr_truncated, 1) TH_LOG("CPU %d", i);
		EXPECT_EQ(self->st[i]->nr_gaps, 0);

		/* records have reported everything that there is */
		EXPECT_EQ(self->st[i]->bytes, self->rec[i].page->aux_head);
		EXPECT_LE(self->st[i]->bytes, AUX_SIZE);
		EXPECT_GT(self->st[i]->bytes, AUX_SIZE - (128 << 10));
	}
	/* and no more trace comes */
	usleep(50000);
	for (i = 0; i < self->nr; i++)
		EXPECT_EQ(self->rec[i].page->aux_head, self->st[i]->bytes) TH_LOG("CPU %d", i);

	/*
	 * The reader makes room, and trace continues. Events that share the sink may continue as
	 * well, and report loss again.
	 */
	for (i = 0; i < self->nr; i++) {
		head = self->rec[i].page->aux_head;
		__atomic_store_n(&self->rec[i].page->aux_tail, head, __ATOMIC_RELEASE);
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_ENABLE, 0);
		usleep(20000);
		ioctl(self->rec[i].fd, PERF_EVENT_IOC_DISABLE, 0);
		EXPECT_GT(self->rec[i].page->aux_head, head);
	}
}

TEST_HARNESS_MAIN
