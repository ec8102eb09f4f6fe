// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace threads of an ordinary user on harts that may share a sink. Each thread has its own event. The
 * threads yield all the time, so that events start and stop on each hart while other harts use the sink.
 * No thread may get trace of another thread. Trace must not be damaged, and must not be lost without a
 * flag.
 *
 * NTRACE_SECONDS=N sets the duration of each case in seconds. The default is 2.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define THREADS		8
#define AUX_SIZE	(16 << 10)

struct yielder {
	pthread_t		thread;
	unsigned int		index;
	pid_t			tid;
	struct recording	rec;
	uint64_t		yields, bytes;
	uint64_t		most;	/* maximum number of bytes of trace that were not yet read */
	uint64_t		late;	/* bytes that arrived in the second half of the test time */
};

static struct yielder yielders[THREADS];
static pthread_barrier_t barrier;
static struct perf_event_attr attr;
static bool one_owner;
static unsigned int seconds;

/* Read the new trace, and discard it. */
static void drain(struct yielder *y)
{
	struct perf_event_mmap_page *page = y->rec.page;
	uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);

	if (head - page->aux_tail > y->most)
		y->most = head - page->aux_tail;
	y->bytes += head - page->aux_tail;
	__atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
	__atomic_store_n(&page->data_tail, page->data_head, __ATOMIC_RELEASE);
}

/* Read the trace. Like perf, enable the event if the kernel disabled it because its buffer was full. */
static void drain_and_go_on(struct yielder *y)
{
	drain(y);
	record_start(&y->rec);
}

static void yield_until(struct yielder *y, double end)
{
	double half = end - seconds / 2.0;

	while (now() < end) {
		uint64_t before = y->bytes;
		unsigned int i;

		for (i = 0; i < 16; i++)
			sched_yield();
		y->yields += i;
		drain_and_go_on(y);
		if (now() > half)
			y->late += y->bytes - before;
	}
}

static void *yielder_run(void *arg)
{
	struct yielder *y = arg;
	pin(y->index % sysconf(_SC_NPROCESSORS_ONLN));
	y->tid = syscall(SYS_gettid);
	if (!one_owner)
		record_open(&y->rec, &attr, 0, -1, AUX_SIZE, false);
	/* Wait until all threads have a thread id, and until all events are open */
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	if (y->rec.fd < 0)
		return NULL;
	record_start(&y->rec);
	yield_until(y, now() + seconds);
	record_stop(&y->rec);
	drain(y);
	return NULL;
}

/*
 * Run all threads as an ordinary user. Return 0 if all events could be opened and at least one has trace,
 * else an exit status. An event may have no trace, because another event uses its sink, or because the sink
 * writes the trace of all events to the buffer of one event.
 */
static int yield_all(void)
{
	uint64_t yields = 0, bytes = 0, late = 0;
	unsigned int i, opened = 0, traced = 0;

	if (!become_user())
		return 1;
	pthread_barrier_init(&barrier, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++) {
		yielders[i] = (struct yielder){ .index = i, .rec.fd = -1 };
		pthread_create(&yielders[i].thread, NULL, yielder_run, &yielders[i]);
	}
	pthread_barrier_wait(&barrier);
	for (i = 0; one_owner && i < THREADS; i++)
		record_open(&yielders[i].rec, &attr, yielders[i].tid, -1, AUX_SIZE, false);
	pthread_barrier_wait(&barrier);
	for (i = 0; i < THREADS; i++) {
		pthread_join(yielders[i].thread, NULL);
		opened += yielders[i].rec.fd >= 0;
		traced += yielders[i].bytes > 0;
		yields += yielders[i].yields;
		bytes += yielders[i].bytes;
		late += yielders[i].late;
		record_close(&yielders[i].rec);
	}
	printf("# figure: %u threads, %llu yields, %llu bytes of trace (%llu in the second half), %u of %u events have trace\n",
	       THREADS, (unsigned long long)yields, (unsigned long long)bytes,
	       (unsigned long long)late, traced, opened);
	if (opened < THREADS)
		return 2;
	if (!traced)
		return 3;
	return late ? 0 : 4;
}

FIXTURE(share) {
	int unused;
};

FIXTURE_VARIANT(share) {
	bool one_owner;
};

/* Each thread opens its own event. Events that different threads opened must not share a sink. */
FIXTURE_VARIANT_ADD(share, each_its_own) {
};

/* One thread opens all events, so the driver allows them to share a sink. */
FIXTURE_VARIANT_ADD(share, one_owner) {
	.one_owner = true,
};

FIXTURE_SETUP(share)
{
	const char *s = getenv("NTRACE_SECONDS");

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	if (!pmu_number("caps/privilege", 0))
		SKIP(return, "the hardware does not filter: no event is for an ordinary user");
	seconds = s ? strtoul(s, NULL, 0) : 2;
	one_owner = variant->one_owner;
	event_attr(&attr, pmu_config(pmu_first_cpu()));
	attr.config &= ~(NTRACE_CONFIG_FIRMWARE | NTRACE_CONFIG_CONTEXT);
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	set_paranoid(2);
}

FIXTURE_TEARDOWN(share)
{
}

TEST_F_TIMEOUT(share, yielding_threads_of_an_ordinary_user, 3600)
{
	struct recording later;
	int status;
	pid_t child = fork();

	if (!child) {
		status = yield_all();
		fflush(stdout);
		_exit(status);
	}
	ASSERT_EQ(waitpid(child, &status, 0), child);
	ASSERT_TRUE(WIFEXITED(status));
	EXPECT_NE(WEXITSTATUS(status), 1) TH_LOG("cannot become an ordinary user");
	EXPECT_NE(WEXITSTATUS(status), 2) TH_LOG("an event could not be opened");
	EXPECT_NE(WEXITSTATUS(status), 3) TH_LOG("no event has trace");
	EXPECT_NE(WEXITSTATUS(status), 4) TH_LOG("all events have stopped for good");
	EXPECT_EQ(WEXITSTATUS(status), 0);

	/* check that the sink is free after all threads have ended */
	attr.exclude_kernel = 0;
	attr.exclude_hv = 0;
	ASSERT_TRUE(record_open(&later, &attr, 0, -1, 1 << 20, false));
	record_work(&later, 1000);
	EXPECT_GT(later.page->aux_head, 0);
	record_close(&later);
}

/* An event that has to wait for a sink must get exactly one record with the reason. */
TEST(event_that_waits_is_told_once)
{
	struct recording first, second;
	struct stretches *st = calloc(1, sizeof(*st));
	double start;
	bool shared;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	if (pmu_nr_cpus() < 2)
		SKIP(return, "there is one encoder only");
	shared = cpus_share_sink(0, 1);
	event_attr(&attr, pmu_config(0));
	/* the buffer must be so large that it is not full when it is read */
	ASSERT_TRUE(record_open(&second, &attr, -1, 1, 1 << 22, false));
	attr.config ^= NTRACE_CONFIG_TIMESTAMP;
	ASSERT_TRUE(record_open(&first, &attr, -1, 0, 1 << 16, true));
	/* keep this CPU busy, because an idle CPU may lose its state and release its sink */
	pin(0);
	record_start(&first);
	record_start(&second);
	for (start = now(); now() < start + 0.1;)
		busy(100);
	record_stretches(&second, st);
	EXPECT_EQ(st->nr_collided, shared);
	EXPECT_EQ(st->nr_truncated, 0);
	if (shared)
		EXPECT_EQ(st->nr_partial, 1);

	/* after the first event is closed, the second event must trace */
	record_close(&first);
	pin(1);
	for (start = now(); now() < start + 0.05;)
		busy(100);
	busy(1000);
	record_stop(&second);
	record_stretches(&second, st);
	EXPECT_EQ(st->nr_collided, shared);
	EXPECT_GT(st->bytes, 0);
	record_close(&second);
	pin(-1);
	free(st);
}

#define ROOMY_SIZE	(64 * AUX_SIZE)

/* Limit the free space of the AUX buffer to @room bytes. */
static void leave_room(struct recording *rec, uint64_t room)
{
	uint64_t head = __atomic_load_n(&rec->page->aux_head, __ATOMIC_ACQUIRE);

	__atomic_store_n(&rec->page->aux_tail, head - (rec->aux_size - 1 - room), __ATOMIC_RELEASE);
}

/*
 * Let the event @roomy of CPU 0 share its sink with the event @tight of CPU 1, whose buffer has @room free
 * bytes. Run until the reader of @roomy has some trace. Return the bytes of trace, or 0 if the events
 * cannot share the sink. Set *most to the largest number of bytes that @roomy had not read.
 */
static uint64_t share_beside(struct recording *roomy, struct recording *tight, uint64_t room,
			     uint64_t *most)
{
	struct yielder y = { 0 };
	double end;

	if (pmu_type() < 0 || pmu_nr_cpus() < 2 || !cpus_share_sink(0, 1))
		return 0;
	event_attr(&attr, pmu_config(0));
	event_attr_much(&attr);
	if (!record_open(roomy, &attr, -1, 0, ROOMY_SIZE, false) ||
	    !record_open(tight, &attr, -1, 1, AUX_SIZE, false))
		return 1;
	leave_room(tight, room);
	y.rec = *roomy;
	pin(0);
	record_start(roomy);
	record_start(tight);
	for (end = now() + 20; y.bytes < ROOMY_SIZE && now() < end; drain_and_go_on(&y))
		busy(100);
	*most = y.most;
	return y.bytes;
}

/*
 * The driver must not open a window in the buffer with little room. The window would be full immediately,
 * and trace of both CPUs would be lost.
 */
TEST(shared_sink_goes_to_the_buffer_with_room)
{
	struct stretches *st = calloc(1, sizeof(*st));
	struct recording roomy, tight;
	uint64_t bytes, most;
	unsigned int i;

	/* repeat this, because on a busy host the reader may be so late that both buffers are full */
	for (i = 0, most = UINT64_MAX; i < 5 && most > ROOMY_SIZE * 3 / 4; i++) {
		bytes = share_beside(&roomy, &tight, 300, &most);
		if (!bytes)
			SKIP(return, "no two encoders share a sink");
		record_stretches(&tight, st);
		record_close(&tight);
		record_close(&roomy);
	}
	pin(-1);
	if (most > ROOMY_SIZE * 3 / 4)
		SKIP(return, "the reader was too late five times");
	EXPECT_GE(bytes, ROOMY_SIZE);
	EXPECT_EQ(st->nr, 0);
	EXPECT_EQ(st->nr_partial, 0);
	free(st);
}

/*
 * The event of CPU 0 ends. CPU 1 then executes without trace, because the buffer of its event has no room.
 * A record must report this.
 */
TEST(member_that_loses_its_sink_is_reported)
{
	struct stretches *st = calloc(1, sizeof(*st));
	struct recording roomy, tight;
	uint64_t most, bytes = share_beside(&roomy, &tight, 100, &most);
	unsigned int i, full = 0;

	if (!bytes)
		SKIP(return, "no two encoders share a sink");
	record_stop(&roomy);
	leave_room(&tight, tight.aux_size - 1);
	usleep(100000);
	record_stop(&tight);
	record_stretches(&tight, st);
	for (i = 0; i < st->nr; i++)
		full += !!(st->at[i].flags & PERF_AUX_FLAG_PARTIAL);
	/* the record that reports the untraced time has no bytes */
	EXPECT_GT(st->nr_partial, full);
	EXPECT_GT(st->bytes, 0);
	record_close(&tight);
	record_close(&roomy);
	pin(-1);
	free(st);
}

/*
 * The task of an event is never switched out. First the buffer of the event is full. Then another event uses
 * its sink. The event must continue as soon as its buffer has room and the sink is free.
 */
TEST(system_wide_event_waits_for_its_sink)
{
	struct recording first, second;
	struct yielder y;
	uint64_t config;
	unsigned int i;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	if (pmu_nr_cpus() < 2)
		SKIP(return, "there is one encoder only");
	config = pmu_config(0);
	event_attr(&attr, config);
	ASSERT_TRUE(record_open(&second, &attr, -1, 1, 1 << 13, false));
	/* the events have different settings, so they cannot share a sink */
	attr.config = config ^ NTRACE_CONFIG_TIMESTAMP;
	ASSERT_TRUE(record_open(&first, &attr, -1, 0, 1 << 16, true));
	y = (struct yielder){ .rec = second };
	pin(1);
	record_start(&second);
	for (i = 0; i < 10; i++) {
		busy(20000);
		usleep(5000);
	}
	EXPECT_GT(second.page->aux_head, 1 << 12);
	record_start(&first);
	drain(&y);
	record_start(&second);
	usleep(50000);
	record_close(&first);
	y.bytes = 0;
	for (i = 0; i < 10; i++) {
		usleep(5000);
		busy(1000);
		drain(&y);
	}
	record_stop(&second);
	drain(&y);
	EXPECT_GT(y.bytes, 100);
	record_close(&second);
}

/* Offset of aux_action in struct perf_event_attr, which the headers of the C library may lack */
#define ATTR_AUX_ACTION		(offsetof(struct perf_event_attr, aux_sample_size) + 4)
#define AUX_ACTION_PAUSE	2
#define AUX_ACTION_RESUME	4

static int open_probe(const char *function, uint32_t action, int leader)
{
	struct perf_event_attr probe = { .size = sizeof(probe), .sample_period = 1 };
	int type = file_number("/sys/bus/event_source/devices/kprobe/type", -1);

	if (type < 0)
		return -1;
	probe.type = type;
	probe.kprobe_func = (uintptr_t)function;
	memcpy((char *)&probe + ATTR_AUX_ACTION, &action, sizeof(action));
	type = syscall(SYS_perf_event_open, &probe, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
	return type < 0 ? -errno : type;
}

/*
 * Enable @rec and its probes, work for 300 ms with some system calls, and return the number of bytes of
 * trace.
 */
static uint64_t bytes_beside_probes(const struct recording *rec)
{
	struct yielder y = { .rec = *rec };
	int i;

	ioctl(rec->fd, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
	for (i = 0; i < 300; i++) {
		syscall(SYS_getppid);
		busy(1000);
		drain_and_go_on(&y);
	}
	ioctl(rec->fd, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
	drain(&y);
	return y.bytes;
}

/*
 * An event may pause the trace at any instruction, even in code of the driver that has locked the sink.
 * The pause must not wait for this code. In this test, the code that opens a window pauses the trace, and
 * each getppid() resumes it.
 */
TEST(pause_while_the_sink_is_programmed)
{
	struct recording rec;
	int pause, resume;
	uint64_t bytes;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&attr, pmu_config(pmu_first_cpu()));
	event_attr_user(&attr);
	ASSERT_TRUE(record_open(&rec, &attr, 0, -1, AUX_SIZE, false));
	pause = open_probe("ntrace_ramsink_program", AUX_ACTION_PAUSE, rec.fd);
	resume = open_probe("__riscv_sys_getppid", AUX_ACTION_RESUME, rec.fd);
	if (pause < 0 || resume < 0) {
		record_close(&rec);
		SKIP(return, "this kernel has no aux_action, or no kprobes (%d, %d)", pause, resume);
	}
	bytes = bytes_beside_probes(&rec);
	printf("# figure: %" PRIu64 " bytes of trace in windows that paused it\n", bytes);
	/* the number of bytes depends on the timer that opens windows, which a busy host may run rarely */
	EXPECT_GT(bytes, 1000);
	close(pause);
	close(resume);
	record_close(&rec);
}

/* The trace is paused while the driver opens the buffer again. After that, no event resumes the trace. */
TEST(pause_while_the_buffer_is_opened)
{
	struct recording rec;
	uint64_t bytes;
	int pause;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&attr, pmu_config(pmu_first_cpu()));
	event_attr_user(&attr);
	ASSERT_TRUE(record_open(&rec, &attr, 0, -1, AUX_SIZE, false));
	pause = open_probe("perf_aux_output_begin", AUX_ACTION_PAUSE, rec.fd);
	if (pause < 0) {
		record_close(&rec);
		SKIP(return, "this kernel has no aux_action, or no kprobes (%d)", pause);
	}
	/* avoid task switches, because the driver checks at each of them whether the event is paused */
	pin(pmu_first_cpu());
	bytes = bytes_beside_probes(&rec);
	printf("# figure: %" PRIu64 " bytes of trace before the buffer was opened anew\n", bytes);
	EXPECT_GT(bytes, 0);
	EXPECT_LE(bytes, AUX_SIZE);
	close(pause);
	record_close(&rec);
}

TEST_HARNESS_MAIN
