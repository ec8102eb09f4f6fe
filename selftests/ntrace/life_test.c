// SPDX-License-Identifier: GPL-2.0-only
/* Test the removal and the return of the module, of CPUs and of events. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(life) {
	struct perf_event_attr attr;
	struct recording rec;
};

FIXTURE_SETUP(life)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	event_attr(&self->attr, pmu_config(pmu_first_cpu()));
	self->rec.fd = -1;
}

FIXTURE_TEARDOWN(life)
{
	record_close(&self->rec);
}

TEST_F(life, module_in_use_stays)
{
	if (access("/sys/module/ntrace/refcnt", F_OK))
		SKIP(return, "built in");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, false));
	EXPECT_EQ(syscall(SYS_delete_module, "ntrace", O_NONBLOCK), -1);
	EXPECT_EQ(errno, EWOULDBLOCK);
	record_close(&self->rec);
}

/*
 * Fork a process that opens an event with a large buffer, and then sends each byte that it reads from @from
 * back to @to.
 */
static pid_t answer(struct perf_event_attr *attr, int from, int to, int not_ours)
{
	struct recording rec;
	pid_t child = fork();
	char c;

	if (child)
		return child;
	close(not_ours);
	pin(0);
	if (!record_open(&rec, attr, 0, -1, 1 << 22, false))
		_exit(1);
	record_start(&rec);
	while (read(from, &c, 1) == 1 && write(to, &c, 1) == 1)
		;
	_exit(0);
}

/*
 * The driver must not use the slow timer of an event with a large buffer for the next event, whose
 * buffer is small. With NTRACE_EXACT=1, the guest's time counts instructions, so that the timer is exact.
 * Otherwise the host may cause a late timer.
 */
TEST_F(life, small_buffer_after_a_large_one)
{
	struct stretches *st = calloc(1, sizeof(*st));
	int ask[2], reply[2], status;
	unsigned int i, j;
	pid_t child;
	char c = 0;

	if (!getenv("NTRACE_EXACT"))
		SKIP(return, "the host may be late");
	event_attr_user(&self->attr);
	if (!event_attr_much(&self->attr))
		SKIP(return, "the hardware has no BTM");
	ASSERT_EQ(pipe2(ask, O_CLOEXEC), 0);
	ASSERT_EQ(pipe2(reply, O_CLOEXEC), 0);
	child = answer(&self->attr, ask[0], reply[1], ask[1]);
	close(ask[0]);
	close(reply[1]);
	pin(0);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 17, false));
	record_start(&self->rec);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(write(ask[1], &c, 1), 1);
		ASSERT_EQ(read(reply[0], &c, 1), 1);
		for (j = 0; j < 100; j++) {
			busy(500);
			record_empty(&self->rec);
		}
	}
	record_stop(&self->rec);
	close(ask[1]);
	ASSERT_EQ(waitpid(child, &status, 0), child);
	EXPECT_EQ(WEXITSTATUS(status), 0);
	record_stretches(&self->rec, st);
	printf("# figure: %u of %u stretches of a small buffer are partial, %u truncated, %llu bytes\n",
	       st->nr_partial, st->nr, st->nr_truncated, (unsigned long long)st->bytes);
	EXPECT_GT(st->nr, 20);
	EXPECT_EQ(st->nr_partial, 0);
	close(reply[0]);
	free(st);
}

TEST_F(life, thousand_starts_and_stops)
{
	uint64_t head = 0, now;
	int i;

	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 18, false));
	for (i = 0; i < 1000; i++) {
		record_work(&self->rec, 20);
		now = self->rec.page->aux_head;
		ASSERT_GT(now, head) TH_LOG("start %d", i);
		head = now;
		__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	}
}

TEST_F(life, thread_that_migrates)
{
	int cpu, n = sysconf(_SC_NPROCESSORS_ONLN), i;
	uint64_t head = 0, now;

	if (n < 2)
		SKIP(return, "one CPU");
	/* the kernel disables an event whose buffer is full, so no event of this test may fill its buffer */
	event_attr_user(&self->attr);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	record_start(&self->rec);
	for (i = 0; i < 100; i++) {
		cpu = i % n;
		pin(cpu);
		busy(100);
		now = __atomic_load_n(&self->rec.page->aux_head, __ATOMIC_ACQUIRE);
		if (i)
			ASSERT_GT(now, head) TH_LOG("migration %d", i);
		head = now;
		__atomic_store_n(&self->rec.page->aux_tail, head, __ATOMIC_RELEASE);
	}
	record_stop(&self->rec);
}

static bool write_file(const char *path, const char *text)
{
	return !write_text(path, text);
}

static bool cpu_online(int cpu, bool on)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/online", cpu);
	return write_file(path, on ? "1" : "0");
}

TEST_F(life, cpu_goes_and_comes)
{
	uint64_t head;
	int i;

	if (!cpu_online(1, true) && errno)
		SKIP(return, "CPU 1 cannot be taken offline");
	for (i = 0; i < 3; i++) {
		if (!record_open(&self->rec, &self->attr, -1, 1, 1 << 18, false))
			SKIP(return, "CPU 1 is not traced");
		record_start(&self->rec);
		usleep(10000);
		ASSERT_TRUE(cpu_online(1, false));
		head = self->rec.page->aux_head;
		EXPECT_GT(head, 0);
		usleep(10000);
		EXPECT_EQ(self->rec.page->aux_head, head);
		ASSERT_TRUE(cpu_online(1, true));
		record_close(&self->rec);
	}
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 18, false));
	record_start(&self->rec);
	usleep(10000);
	record_stop(&self->rec);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

/* Return the number of a CPU hotplug state below that of the driver, or -1 on failure. */
static int hotplug_state_below(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/hotplug/states", "r");
	char line[128];
	int n = -1;

	while (f && fgets(line, sizeof(line), f))
		if (strstr(line, "workqueue:online"))
			n = atoi(line);
	if (f)
		fclose(f);
	return n;
}

/*
 * Read trace until twice the size of the buffer has arrived, because up to one buffer of this trace may be
 * old. Return true, or false if less trace arrives in 20 s. Like perf, enable the event after each read,
 * because the kernel disables an event whose buffer is full.
 */
static bool trace_goes_on(struct recording *rec, uint64_t size)
{
	uint64_t from = rec->page->aux_head;
	int i;

	for (i = 0; i < 4000 && rec->page->aux_head - from < 2 * size; i++) {
		usleep(5000);
		rec->page->data_tail = rec->page->data_head;
		record_empty(rec);
		record_start(rec);
	}
	return rec->page->aux_head - from >= 2 * size;
}

/* The driver agrees that CPU 1 goes offline, but another part of the kernel refuses. The event must continue. */
TEST_F(life, offline_that_is_refused_does_not_end_the_trace)
{
	char state[16];
	bool gone;
	int pid;

	snprintf(state, sizeof(state), "%d", hotplug_state_below());
	if (!write_file("/sys/devices/system/cpu/cpu1/hotplug/fail", state))
		SKIP(return, "CPU 1 cannot be made to refuse");
	pid = fork();
	while (!pid) {
		/*
		 * The kernel moves the process to CPU 0 before CPU 1 goes offline, so move the
		 * process back
		 */
		pin(1);
		busy(1000);
	}
	pin(0);
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, 1, 1 << 16, false));
	record_start(&self->rec);
	EXPECT_TRUE(trace_goes_on(&self->rec, 1 << 16));
	gone = cpu_online(1, false);
	write_file("/sys/devices/system/cpu/cpu1/hotplug/fail", "-1");
	EXPECT_FALSE(gone);
	EXPECT_TRUE(trace_goes_on(&self->rec, 1 << 16));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	if (gone)
		cpu_online(1, true);
}

/* Return the number of interrupts of all trace sinks so far, or -1 if no sink has an interrupt. */
static long sink_interrupts(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	long n, sum = -1;
	char line[1024], *p, *end;

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		p = strchr(line, ':');
		if (!p || !strstr(p, ".trace"))
			continue;
		sum = sum < 0 ? 0 : sum;
		for (p++; n = strtol(p, &end, 10), end != p; p = end)
			sum += n;
	}
	fclose(f);
	return sum;
}

/*
 * A window is full immediately, and the interrupt of the sink opens the next window. If the interrupt is
 * lost, the timer opens the next window. NTRACE_IRQ is "lost" if the hardware loses interrupts, or
 * "spurious" if it sends interrupts without a cause.
 */
TEST_F(life, interrupt_of_a_full_sink)
{
	static struct stretches st;
	const char *irq = getenv("NTRACE_IRQ");
	long before = sink_interrupts();
	unsigned int i;

	if (before < 0)
		SKIP(return, "no sink has an interrupt");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 13, false));
	record_start(&self->rec);
	for (i = 0; i < 2000 && st.nr < 100; i++) {
		busy(2000);
		record_stretches(&self->rec, &st);
		__atomic_store_n(&self->rec.page->aux_tail, st.end, __ATOMIC_RELEASE);
		record_start(&self->rec);
	}
	record_stop(&self->rec);
	TH_LOG("%u stretches, %u partial, %u truncated, %ld interrupts", st.nr, st.nr_partial,
	       st.nr_truncated, sink_interrupts() - before);
	EXPECT_GE(st.nr, 100);
	EXPECT_EQ(st.nr_gaps, 0);
	if (irq && !strcmp(irq, "lost")) {
		EXPECT_EQ(sink_interrupts(), before);
	} else {
		EXPECT_GT(sink_interrupts(), before);
	}
	/* An interrupt without a cause must not report a loss */
	if (irq && !strcmp(irq, "spurious"))
		EXPECT_GT(sink_interrupts() - before, st.nr_partial);
}

/* Return how often @cpu was in idle states that are deeper than WFI, or -1 if it has none. */
static long deep_sleeps(int cpu)
{
	long n, sum = -1;
	unsigned long state;
	char path[96];

	for (state = 1;; state++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cpuidle/state%lu/usage",
			 cpu, state);
		n = file_number(path, -1);
		if (n < 0)
			return sum;
		sum = (sum < 0 ? 0 : sum) + n;
	}
}

/*
 * Check the AUX records since the last call. The trace of a record must be complete, unless the record reports
 * that trace is missing. Return the number of records whose trace is complete. Set *own to the number of
 * Ownership messages of this thread in these records.
 */
static unsigned int whole_stretches(struct __test_metadata *_metadata, struct recording *rec, struct stretches *st,
				    unsigned int *own)
{
	/* no AUX record has more trace than the largest AUX area of these tests */
	static uint8_t buf[1 << 24];
	unsigned int i, whole = 0;
	struct message msg;
	size_t pos, size;
	int ret;

	st->nr = 0;
	*own = 0;
	record_stretches(rec, st);
	for (i = 0; i < st->nr && i < sizeof(st->at) / sizeof(st->at[0]); i++) {
		size = st->at[i].size;
		if (st->at[i].flags & PERF_AUX_FLAG_PARTIAL || size > sizeof(buf))
			continue;
		record_copy(rec, st->at[i].offset, buf, size);
		for (pos = 0; pos < size && buf[pos] == 0xff; pos++)
			;
		memset(&msg, 0, sizeof(msg));
		while ((ret = next_message(buf, size, &pos, rec->src_bits, &msg)) > 0)
			*own += msg.tcode == MSG_OWNERSHIP && msg.format == 2 && msg.context == gettid();
		EXPECT_EQ(ret, 0) TH_LOG("stretch %u, byte %zu of %zu", i, pos, size);
		EXPECT_EQ(msg.tcode, MSG_CORRELATION);
		whole++;
	}
	__atomic_store_n(&rec->page->aux_tail, st->end, __ATOMIC_RELEASE);
	return whole;
}

/*
 * The event must continue after an idle state in which hart and encoder lose their state. The trace of each AUX
 * record must be complete. After the idle state, scontext must contain the id of the thread.
 */
TEST_F(life, deep_idle)
{
	static struct stretches st;
	int cpu = pmu_first_cpu();
	unsigned int i, whole, own;
	long before, first, last, slept;
	struct rusage usage;
	long switches;

	if (deep_sleeps(cpu) < 0)
		SKIP(return, "no idle state beyond WFI");
	pin(cpu);
	/* A debug kernel executes much code on a busy host, so 4 MiB are not enough */
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, cpu, 1 << 24, false));
	before = deep_sleeps(cpu);
	record_start(&self->rec);
	first = deep_sleeps(cpu);
	getrusage(RUSAGE_THREAD, &usage);
	switches = -usage.ru_nvcsw;
	for (i = 0; i < 100; i++) {
		usleep(2000);
		busy(50);
	}
	getrusage(RUSAGE_THREAD, &usage);
	switches += usage.ru_nvcsw;
	last = deep_sleeps(cpu);
	record_stop(&self->rec);
	slept = deep_sleeps(cpu) - before;
	whole = whole_stretches(_metadata, &self->rec, &st, &own);
	TH_LOG("slept %ld times, %ld of them for certain in the trace, %u stretches of %llu bytes in all, %u Ownership messages of the test",
	       slept, last - first, st.nr, (unsigned long long)st.bytes, own);
	if (!slept)
		SKIP(return, "the governor chose no idle state beyond WFI");
	/*
	 * An AUX record is written at each sleep, and when half of a window is full. A window is as long as
	 * the contiguous pages, or 64 KiB in an SRAM.
	 */
	EXPECT_GT(st.nr, last - first);
	EXPECT_LE(st.nr, slept + 1 + st.bytes / 32768);
	EXPECT_EQ(whole + st.nr_partial, st.nr);
	EXPECT_EQ(st.nr_gaps, 0);
	EXPECT_EQ(st.nr_truncated, 0);
	/* a small SRAM may be full before a busy host runs the timer, but then the record reports the loss */
	EXPECT_LE(st.nr_partial, st.nr / 20);
	/* A timer may expire before the thread sleeps, if the host had no time for the guest */
	EXPECT_GE(switches, 50);
	if (self->attr.config & NTRACE_CONFIG_CONTEXT && !st.nr_partial)
		EXPECT_GE(own, switches);
}

/* Trace this thread for a moment by an event of @cpu, and collect its AUX records in @st */
static bool trace_a_moment(struct recording *rec, struct perf_event_attr *attr, int cpu, struct stretches *st)
{
	if (!record_open(rec, attr, -1, cpu, 1 << 20, false))
		return false;
	record_work(rec, 1000);
	record_take(rec, st);
	record_close(rec);
	return true;
}

/*
 * Trace @cpu until the sink is full, so that some trace remains in the encoder. The sink gets full because
 * a mode that generates much trace fills it before the timer of the driver fires. Return 1 if the sink
 * was full, 0 if it was not, or -1 if the event could not be opened.
 */
static int fill_up(const struct perf_event_attr *attr, int cpu)
{
	struct stretches *st = calloc(1, sizeof(*st));
	struct perf_event_attr much = *attr;
	struct recording rec;
	unsigned int i, full = 0;

	event_attr_much(&much);
	pin(cpu);
	if (!record_open(&rec, &much, -1, cpu, 1 << 14, false))
		return -1;
	for (i = 0; i < 200 && !full; i++) {
		record_work(&rec, 2000);
		record_take(&rec, st);
		full = st->nr && st->at[(st->nr - 1) % ARRAY_SIZE(st->at)].flags & PERF_AUX_FLAG_PARTIAL;
		record_empty(&rec);
	}
	record_close(&rec);
	free(st);
	return full;
}

/*
 * A full sink did not accept all trace of an encoder. The CPU of the encoder then idles or goes offline,
 * and CPU and encoder lose their power. Another CPU that uses the sink must not access this encoder.
 */
TEST_F(life, full_sink_of_a_cpu_without_power)
{
	int cpus[2] = { pmu_first_cpu(), pmu_first_cpu() + 1 };
	static struct stretches st;
	unsigned int i, full = 0;
	bool gone = false;
	int ret;

	if (pmu_nr_cpus() < 2)
		SKIP(return, "there is one encoder only");
	for (i = 0; i < 12; i++) {
		int cpu = cpus[i & 1], other = cpus[~i & 1];

		ret = fill_up(&self->attr, cpu);
		ASSERT_GE(ret, 0);
		full += ret;
		pin(other);
		if (i % 3 == 2)
			gone = cpu_online(cpu, false);
		else
			usleep(30000);
		ASSERT_TRUE(trace_a_moment(&self->rec, &self->attr, other, &st));
		EXPECT_GT(st.bytes, 0);
		EXPECT_EQ(st.nr_partial, 0);
		if (gone)
			EXPECT_TRUE(cpu_online(cpu, true));
		gone = false;
	}
	TH_LOG("%u times of %u, the sink was full", full, i);
	if (!full)
		SKIP(return, "the sink never was full");
}

/*
 * Harts that share a sink execute in bursts, and idle without power between the bursts. The sink gets full
 * repeatedly. All events must continue, and the driver must not access components without power.
 */
TEST_F(life, bursts_of_harts_that_idle)
{
	struct perf_event_attr attr = self->attr;
	int first = pmu_first_cpu(), nr = pmu_nr_cpus(), i;
	static struct stretches st;
	struct recording recs[16];
	unsigned int n, partial = 0;
	uint64_t bytes = 0;

	if (nr < 2)
		SKIP(return, "there is one encoder only");
	if (deep_sleeps(first) < 0)
		SKIP(return, "no idle state beyond WFI");
	if (nr > 16)
		nr = 16;
	event_attr_much(&attr);
	for (i = 0; i < nr; i++)
		ASSERT_TRUE(record_open(&recs[i], &attr, -1, first + i, 1 << 14, false));
	for (n = 0; n < 120; n++) {
		pin(first + n % nr);
		for (i = 0; i < nr; i++) {
			record_take(&recs[i], &st);
			partial += st.nr_partial;
			bytes += st.bytes;
			record_empty(&recs[i]);
			record_start(&recs[i]);
		}
		busy(500 + n % 7 * 500);
		usleep(n % 5 * 1000);
	}
	for (i = 0; i < nr; i++)
		record_close(&recs[i]);
	TH_LOG("%llu bytes, %u stretches were partial", (unsigned long long)bytes, partial);
	EXPECT_GT(bytes, 0);
	/* the driver must still be able to trace each CPU */
	for (i = 0; i < nr; i++) {
		pin(first + i);
		ASSERT_TRUE(trace_a_moment(&self->rec, &self->attr, first + i, &st));
		EXPECT_GT(st.bytes, 0);
	}
}

/*
 * Test a system suspend by the test mode pm_test of the kernel, which omits only the sleep. All CPUs except
 * one go offline, and this CPU reports that it loses its state. The event must continue after the test.
 */
TEST_F(life, system_suspend)
{
	static struct stretches st;
	unsigned int i, own, whole = 0;
	int ret;

	write_file("/sys/module/suspend/parameters/pm_test_delay", "1");
	if (!system("grep -q ' 9p ' /proc/mounts"))
		SKIP(return, "a 9p file system is mounted, which does not survive it");
	write_file("/sys/power/mem_sleep", "deep");
	if (!write_file("/sys/power/pm_test", "core"))
		SKIP(return, "the kernel has no /sys/power/pm_test");
	ASSERT_TRUE(record_open(&self->rec, &self->attr, -1, pmu_first_cpu(), 1 << 22, false));
	record_start(&self->rec);
	ret = write_file("/sys/power/state", "mem");
	if (!ret && write_file("/sys/power/pm_test", "devices"))
		/* try suspend-to-idle, in which devices suspend, and CPUs stay online */
		ret = write_file("/sys/power/state", "freeze");
	/*
	 * Empty the buffer, which may be full, because hardware without filters writes much in a
	 * suspend
	 */
	whole_stretches(_metadata, &self->rec, &st, &own);
	/* wait, because a timer of the driver starts the trace again, and may be late */
	for (i = 0; i < 50 && !whole; i++) {
		record_work(&self->rec, 20000);
		whole = whole_stretches(_metadata, &self->rec, &st, &own);
	}
	write_file("/sys/power/pm_test", "none");
	if (!ret)
		SKIP(return, "the kernel does not suspend");
	TH_LOG("%u whole stretches after the suspend, %u were partial in all", whole, st.nr_partial);
	EXPECT_GT(whole, 0);
	record_close(&self->rec);

	/* Check that all CPUs can be traced */
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 20, false));
	record_work(&self->rec, 1000);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

TEST_F(life, fork_storm)
{
	int i, status;

	/* the event traces one CPU, so the work must run on this CPU */
	pin(pmu_first_cpu());
	self->attr.inherit = 1;
	ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, pmu_first_cpu(), 1 << 20, false));
	record_start(&self->rec);
	for (i = 0; i < 100; i++) {
		pid_t pid = fork();

		if (!pid) {
			busy(50);
			_exit(0);
		}
		ASSERT_GT(pid, 0);
		waitpid(pid, &status, 0);
		EXPECT_EQ(status, 0);
		record_empty(&self->rec);
	}
	record_stop(&self->rec);
	EXPECT_GT(self->rec.page->aux_head, 0);
}

TEST_F(life, closed_while_running)
{
	int i;

	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(record_open(&self->rec, &self->attr, 0, -1, 1 << 16, i & 1));
		record_start(&self->rec);
		busy(100);
		if (i & 2)	/* close the AUX area before the event */
			munmap(self->rec.aux, self->rec.aux_size);
		record_close(&self->rec);
	}
}

TEST_HARNESS_MAIN
