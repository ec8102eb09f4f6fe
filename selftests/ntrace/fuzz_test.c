// SPDX-License-Identifier: GPL-2.0-only
/*
 * Open events of the PMU with random attributes, and call mmap, ioctl, read, fork and close in random
 * order. The PMU must refuse invalid requests with an error, and the kernel must not report faults on the
 * console.
 *
 * NTRACE_FUZZ_SECONDS: Duration in seconds, by default 3.
 * NTRACE_SEED: Seed of the random order.
 * NTRACE_FUZZ_USER: Run as an ordinary user.
 */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

#define EVENTS	16
#define PAGE	4096UL

static struct fuzzed {
	int fd;
	void *ring, *aux;
	size_t ring_size, aux_size;
} events[EVENTS];

static unsigned int opened, refused, errors[256];
/* values from sysfs, which are read only once, because reading is slow */
static struct perf_event_attr usual;

static uint64_t rnd(void)
{
	return (uint64_t)random() << 33 ^ (uint64_t)random() << 11 ^ random();
}

static bool one_in(unsigned int n)
{
	return !(random() % n);
}

/* Make valid attributes, and sometimes change some of their fields. */
static void random_attr(struct perf_event_attr *attr)
{
	unsigned int i;

	*attr = usual;
	attr->disabled = random();
	attr->exclude_kernel = usual.exclude_kernel ? !one_in(8) : one_in(3);
	if (one_in(2))
		return;
	if (one_in(6))
		attr->config = rnd() & NTRACE_CONFIG_VALID;
	if (one_in(6))
		attr->config ^= 1ULL << random() % 64;
	if (one_in(30))
		attr->config2 = rnd() << 32;
	attr->inherit = one_in(4);
	attr->exclude_user = one_in(6);
	attr->exclude_hv = usual.exclude_hv ^ one_in(8);
	attr->exclude_idle = one_in(20);
	attr->exclude_host = one_in(40);
	attr->exclude_guest = one_in(8);
	attr->enable_on_exec = one_in(8);
	attr->pinned = one_in(8);
	attr->exclusive = one_in(20);
	attr->task = one_in(3);
	attr->comm = one_in(3);
	attr->mmap = one_in(3);
	attr->context_switch = one_in(3);
	attr->aux_output = one_in(50);
	attr->freq = one_in(50);
	attr->watermark = one_in(4);
	attr->aux_watermark = one_in(4) ? rnd() & 0xfffff : 0;
	attr->aux_sample_size = one_in(30) ? rnd() & 0xffff : 0;
	attr->sample_type = one_in(20) ? rnd() & (PERF_SAMPLE_MAX - 1) :
						attr->sample_type ^ (one_in(3) ? 1 << random() % 24 : 0);
	attr->read_format = one_in(6) ? rnd() & 31 : 0;
	attr->sample_period = one_in(8) ? rnd() : 1;
	for (i = 0; one_in(12) && i < 4; i++)
		((uint8_t *)attr)[random() % sizeof(*attr)] = random();
	/*
	 * use another PMU only once in 50 times, because this test does not search for faults of other PMUs
	 */
	if (!one_in(50))
		attr->type = usual.type;
}

static void fuzz_open(struct fuzzed *e)
{
	static const int pids[] = { 0, 0, 0, 0, -1, 1 };
	struct perf_event_attr attr;
	int leader = events[random() % EVENTS].fd;

	if (e->fd >= 0)
		return;
	random_attr(&attr);
	errno = 0;
	e->fd = syscall(SYS_perf_event_open, &attr, pids[random() % 6],
			one_in(2) ? -1 : (int)(random() % (sysconf(_SC_NPROCESSORS_ONLN) + 1)), one_in(16) ? leader : -1,
			one_in(40) ? rnd() & 15 : PERF_FLAG_FD_CLOEXEC);
	if (e->fd < 0) {
		refused++;
		errors[errno & 255]++;
	} else {
		opened++;
	}
}

static void fuzz_close(struct fuzzed *e)
{
	if (e->aux && one_in(2)) {
		munmap(e->aux, e->aux_size);
		e->aux = NULL;
	}
	if (e->fd >= 0)
		close(e->fd);
	e->fd = -1;
	if (e->ring && one_in(2))
		munmap(e->ring, e->ring_size);
	else if (e->ring)
		mprotect(e->ring, PAGE, PROT_READ);
	if (e->ring)
		munmap(e->ring, e->ring_size);
	if (e->aux)
		munmap(e->aux, e->aux_size);
	e->ring = NULL;
	e->aux = NULL;
}

static void *map(int fd, size_t size, off_t offset)
{
	int prot = PROT_READ | (one_in(5) ? 0 : PROT_WRITE);
	void *p = mmap(NULL, size, prot, one_in(20) ? MAP_PRIVATE : MAP_SHARED, fd, offset);

	return p == MAP_FAILED ? NULL : p;
}

static void fuzz_mmap(struct fuzzed *e)
{
	struct perf_event_mmap_page *page;

	if (e->fd < 0)
		return;
	if (!e->ring) {
		e->ring_size = PAGE * (1 + (one_in(6) ? random() % 20 : 1UL << random() % 6));
		e->ring = map(e->fd, e->ring_size, 0);
		return;
	}
	if (e->aux)
		return;
	page = e->ring;
	e->aux_size = PAGE * (one_in(6) ? random() % 20 : 1UL << random() % 9);
	/* a ring may be mapped read-only; make its page writable to set the fields for an AUX buffer */
	if (mprotect(e->ring, PAGE, PROT_READ | PROT_WRITE))
		return;
	page->aux_offset = one_in(10) ? rnd() & ~(PAGE - 1) : e->ring_size;
	page->aux_size = one_in(10) ? rnd() : e->aux_size;
	if (e->aux_size)
		e->aux = map(e->fd, e->aux_size, page->aux_offset & 0x7fffffffffffULL);
}

static void fuzz_ioctl(struct fuzzed *e)
{
	static const char *const filters[] = {
		"filter 0x10000/0x1000", "start 0x10000", "stop 0x10000", "filter 0/0", "",
		"filter 0x10000/0x1000@/usr/lib/selftests/ntrace/fuzz_test", "filter", "x",
		"filter 0xffffffff80000000/0x100000", "filter 0x1000/0x10,filter 0x3000/0x10",
	};
	uint64_t val = rnd();

	if (e->fd < 0)
		return;
	switch (random() % 10) {
	case 0: case 1: case 2:
		ioctl(e->fd, PERF_EVENT_IOC_ENABLE, one_in(8));
		break;
	case 3: case 4:
		ioctl(e->fd, PERF_EVENT_IOC_DISABLE, one_in(8));
		break;
	case 5:
		ioctl(e->fd, PERF_EVENT_IOC_SET_FILTER, filters[random() % 10]);
		break;
	case 6:
		ioctl(e->fd, PERF_EVENT_IOC_PERIOD, &val);
		break;
	case 7:
		ioctl(e->fd, PERF_EVENT_IOC_SET_OUTPUT, one_in(2) ? -1 : events[random() % EVENTS].fd);
		break;
	case 8:
		ioctl(e->fd, PERF_EVENT_IOC_PAUSE_OUTPUT, random() & 1);
		break;
	case 9:
		ioctl(e->fd, one_in(4) ? (unsigned long)random() : PERF_EVENT_IOC_REFRESH, random() & 3);
		break;
	}
}

static void fuzz_read(struct fuzzed *e)
{
	struct pollfd p = { .fd = e->fd, .events = POLLIN };
	struct perf_event_mmap_page *page = e->ring;
	char buf[256];

	if (e->fd < 0)
		return;
	poll(&p, 1, 0);
	if (read(e->fd, buf, random() % sizeof(buf)) < 0)
		errno = 0;
	if (!page || mprotect(page, PAGE, PROT_READ | PROT_WRITE))
		return;
	page->data_tail = one_in(8) ? rnd() : page->data_head;
	page->aux_tail = one_in(8) ? rnd() : page->aux_head;
}

static void fuzz_fork(void)
{
	int status, i;
	pid_t pid;

	if (!one_in(4))
		return;
	pid = fork();
	if (!pid) {
		busy(random() % 500);
		if (one_in(4))
			execl("/bin/true", "true", NULL);
		for (i = 0; i < EVENTS && one_in(2); i++)
			fuzz_ioctl(&events[i]);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
}

static void fuzz_move(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(random() % 4, &set);
	CPU_SET(random() % 4, &set);
	sched_setaffinity(0, sizeof(set), &set);
	busy(random() % 1000);
}

static void fuzz_prctl(void)
{
	if (one_in(4))
		prctl(one_in(2) ? PR_TASK_PERF_EVENTS_DISABLE : PR_TASK_PERF_EVENTS_ENABLE);
}

static struct operation {
	const char *name;
	void (*on_event)(struct fuzzed *e);
	void (*on_task)(void);
	unsigned int weight, n;
	double total, longest;	/* total and longest duration in seconds */
} operations[] = {
	{ "open", .on_event = fuzz_open, .weight = 4 },
	{ "mmap", .on_event = fuzz_mmap, .weight = 3 },
	{ "ioctl", .on_event = fuzz_ioctl, .weight = 3 },
	{ "close", .on_event = fuzz_close, .weight = 1 },
	{ "read", .on_event = fuzz_read, .weight = 2 },
	{ "move", .on_task = fuzz_move, .weight = 1 },
	{ "prctl", .on_task = fuzz_prctl, .weight = 1 },
	{ "fork", .on_task = fuzz_fork, .weight = 1 },
};

static void fuzz_one(void)
{
	struct fuzzed *e = &events[random() % EVENTS];
	struct operation *op = operations;
	unsigned int k = random() % 16;
	double start = now(), took;

	for (; k >= op->weight; op++)
		k -= op->weight;
	if (op->on_event)
		op->on_event(e);
	else
		op->on_task();
	took = now() - start;
	op->n++;
	op->total += took;
	if (took > op->longest)
		op->longest = took;
}

FIXTURE(fuzz) {
};

FIXTURE_SETUP(fuzz)
{
}

FIXTURE_TEARDOWN(fuzz)
{
}

TEST_F_TIMEOUT(fuzz, kernel_stays_well, 3600)
{
	const char *s = getenv("NTRACE_FUZZ_SECONDS"), *seed = getenv("NTRACE_SEED");
	unsigned int n = 0, i, from = seed ? strtoul(seed, NULL, 0) : time(NULL);
	time_t end = time(NULL) + (s ? atoi(s) : 3);
	struct perf_event_attr attr;
	struct recording rec;

	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&usual, pmu_config(pmu_first_cpu()));
	if (getenv("NTRACE_FUZZ_USER")) {
		usual.config &= ~NTRACE_CONFIG_FIRMWARE;
		usual.exclude_kernel = 1;
		usual.exclude_hv = 1;
		set_paranoid(2);
		ASSERT_TRUE(become_user());
	}
	srandom(from);
	signal(SIGIO, SIG_IGN);
	for (i = 0; i < EVENTS; i++)
		events[i].fd = -1;
	for (; time(NULL) < end; n++)
		fuzz_one();
	for (i = 0; i < EVENTS; i++)
		fuzz_close(&events[i]);
	printf("# figure: seed %u, %u operations, %u events opened, %u refused:", from, n, opened, refused);
	for (i = 0; i < 256; i++)
		if (errors[i])
			printf(" %u %s", errors[i], strerrorname_np(i));
	printf("\n");
	for (i = 0; i < sizeof(operations) / sizeof(operations[0]); i++)
		printf("# figure: %s: %u, %.0f ms in all, %.0f ms the longest\n", operations[i].name,
		       operations[i].n, 1e3 * operations[i].total, 1e3 * operations[i].longest);
	EXPECT_GT(opened, 0);
	EXPECT_GT(refused, 0);

	/* the PMU must still be able to trace */
	attr = usual;
	ASSERT_TRUE(record_open(&rec, &attr, 0, -1, 1 << 20, false)) TH_LOG("%s", strerror(rec.err));
	record_work(&rec, 1000);
	EXPECT_GT(rec.page->aux_head, 0);
	record_close(&rec);
}

TEST_HARNESS_MAIN
