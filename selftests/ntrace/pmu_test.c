// SPDX-License-Identifier: GPL-2.0-only
/* Test the attributes of the PMU in sysfs. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

static const struct {
	const char	*name;
	uint64_t	mask;
} fields[] = {
	{ "context", NTRACE_CONFIG_CONTEXT }, { "timestamp", NTRACE_CONFIG_TIMESTAMP },
	{ "mode", NTRACE_CONFIG_MODE }, { "sync_mode", NTRACE_CONFIG_SYNC_MODE },
	{ "sync_max", NTRACE_CONFIG_SYNC_MAX },
	{ "implicit_return", NTRACE_CONFIG_IMPLICIT_RETURN },
	{ "sequential_jump", NTRACE_CONFIG_SEQUENTIAL_JUMP },
	{ "repeated_history", NTRACE_CONFIG_REPEATED_HISTORY },
	{ "all_jumps", NTRACE_CONFIG_ALL_JUMPS }, { "extend_addr", NTRACE_CONFIG_EXTEND_ADDR },
	{ "firmware", NTRACE_CONFIG_FIRMWARE }, { "stall", NTRACE_CONFIG_STALL },
	{ "ts_prescale", NTRACE_CONFIG_TS_PRESCALE }, { "ts_mode", NTRACE_CONFIG_TS_MODE },
	{ "inhibit_src", NTRACE_CONFIG_INHIBIT_SRC }, { "exclude", NTRACE_CONFIG_EXCLUDE },
};

FIXTURE(pmu) {
	int cpu;
};

FIXTURE_SETUP(pmu)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->cpu = pmu_first_cpu();
}

FIXTURE_TEARDOWN(pmu)
{
}

static int cpu_write(int cpu, const char *file, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), PMU_DIR "/cpu%d/%s", cpu, file);
	return write_text(path, text);
}

static uint64_t time_csr(void)
{
	uint64_t time;

	__asm__ volatile("rdtime %0" : "=r"(time));
	return time;
}

/* Return the number of ticks of the time CSR in a second, or 0 if it is unknown. */
static double timebase(void)
{
	FILE *f = fopen("/proc/device-tree/cpus/timebase-frequency", "r");
	unsigned char be[4] = { 0 };

	if (f) {
		if (fread(be, sizeof(be), 1, f) != 1)
			memset(be, 0, sizeof(be));
		fclose(f);
	}
	return be[0] << 24 | be[1] << 16 | be[2] << 8 | be[3];
}

/* Properties of the timestamp counter of a CPU, which a tool reads after it has opened an event */
struct clock {
	unsigned long long	base, base_time;
	double			frequency;	/* frequency in Hz, or 0 if it is unknown */
};

static struct clock clock_of(int cpu)
{
	struct clock c = { 0 };
	char text[64];

	if (!timebase() || !cpu_text(cpu, "timestamp/base", text, sizeof(text)) ||
	    sscanf(text, "%llu %llu", &c.base, &c.base_time) != 2 || !c.base_time)
		return c;
	c.frequency = cpu_number(cpu, "timestamp/frequency", 0);
	return c;
}

/* Return the value of the counter at a time that follows from its base and frequency. */
static double counter_at(const struct clock *clock, uint64_t time)
{
	return clock->base + (double)(time - clock->base_time) * clock->frequency / timebase();
}

/*
 * Return by how many seconds the counter of @cpu is behind the value that follows from its base and
 * frequency. A busy host may stop the guest at any time, so the counter may have any value between those
 * of the times before and after the counter is read.
 */
static double counter_is_late(int cpu, const struct clock *clock)
{
	unsigned int prescale;
	uint64_t counter;
	double least, most;

	prescale = cpu_number(cpu, "timestamp/prescale", 0);
	least = counter_at(clock, time_csr());
	counter = cpu_number(cpu, "timestamp/counter", 0) << 2 * prescale;
	most = counter_at(clock, time_csr());
	return ((counter < least ? least : counter > most ? most : counter) - counter) / clock->frequency;
}

/*
 * A tool reads base and frequency of the counter after it has opened an event. They must be valid while the
 * event is open. This test must be the first of the file, so that no earlier test has traced a CPU.
 */
TEST_F(pmu, times_follow_from_the_base)
{
	unsigned int i, known = 0;
	struct perf_event_attr attr;
	struct recording rec;
	struct clock clock;
	double late;

	for (i = 0; i < 2; i++) {
		if (i && cpu_write(self->cpu, "timestamp/prescale", "1"))
			break;
		event_attr(&attr, pmu_config(self->cpu));
		ASSERT_TRUE(record_open(&rec, &attr, -1, self->cpu, 1 << 20, true));
		clock = clock_of(self->cpu);
		if (clock.frequency) {
			known++;
			record_start(&rec);
			record_stop(&rec);
			/* let the CPU idle */
			usleep(300000);
			late = counter_is_late(self->cpu, &clock);
			EXPECT_TRUE(late > -0.1 && late < 0.1)
				TH_LOG("prescale %u: the counter is %.3f s late", i, late);
		}
		record_close(&rec);
	}
	cpu_write(self->cpu, "timestamp/prescale", "0");
	if (!known)
		SKIP(return, "the counter is the time CSR, or its clock is not known");
}

/* Return the number of function call interrupts of all CPUs except the first CPU. */
static unsigned long calls_of_others(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long n = 0;
	char line[4096], *at, *end;

	while (f && fgets(line, sizeof(line), f)) {
		if (!strstr(line, "Function call interrupts"))
			continue;
		strtoul(strchr(line, ':') + 1, &at, 10);
		for (;; at = end) {
			n += strtoul(at, &end, 10);
			if (end == at)
				break;
		}
	}
	if (f)
		fclose(f);
	return n;
}

/* A user who opens many events must not interrupt the other CPUs at each of them. */
TEST_F(pmu, opening_events_leaves_other_cpus_alone)
{
	unsigned int cpus = pmu_nr_cpus(), opened = 0, i;
	struct perf_event_attr attr;
	unsigned long calls;
	pid_t child[64];
	double end;
	int fd;

	if (cpus < 2)
		SKIP(return, "there is one encoder only");
	/*
	 * Keep the other CPUs busy. The counter of an idle CPU may restart, and the driver would
	 * have to interrupt this CPU to read the counter
	 */
	for (i = 1; i < cpus && i < 64; i++) {
		child[i] = fork();
		if (!child[i]) {
			pin(i);
			for (;;)
				busy(1000);
		}
	}
	event_attr(&attr, pmu_config(self->cpu));
	pin(0);
	usleep(100000);
	calls = calls_of_others();
	for (end = now() + 30; opened < 200 && now() < end; opened++) {
		fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
		ASSERT_GE(fd, 0);
		close(fd);
	}
	calls = calls_of_others() - calls;
	pin(-1);
	for (i = 1; i < cpus && i < 64; i++) {
		kill(child[i], SIGKILL);
		waitpid(child[i], NULL, 0);
	}
	TH_LOG("%u events, %lu interrupts of other CPUs", opened, calls);
	EXPECT_LT(calls, opened * (cpus - 1) / 2);
}

/* Times must be correct after a buffer was full, and the remaining trace in the encoder was lost. */
TEST_F(pmu, times_follow_after_a_loss)
{
	struct stretches *st = calloc(1, sizeof(*st));
	struct perf_event_attr attr;
	struct recording rec;
	struct clock clock;
	double late, end;

	event_attr(&attr, pmu_config(self->cpu));
	event_attr_much(&attr);
	pin(self->cpu);
	ASSERT_TRUE(record_open(&rec, &attr, -1, self->cpu, 1 << 14, false));
	clock = clock_of(self->cpu);
	for (end = now() + 1; now() < end; ) {
		/* the kernel has disabled the event if its buffer was full */
		record_start(&rec);
		busy(10000);
		record_empty(&rec);
	}
	record_stop(&rec);
	late = clock.frequency ? counter_is_late(self->cpu, &clock) : 0;
	record_stretches(&rec, st);
	record_close(&rec);
	if (!clock.frequency || !(st->nr_partial + st->nr_truncated))
		SKIP(return, "nothing was lost, or the counter is the time CSR, or its clock is not known");
	EXPECT_TRUE(late > -0.1 && late < 0.1)
		TH_LOG("%u stretches, %u partial, %u truncated: the counter is %.3f s late", st->nr,
		       st->nr_partial, st->nr_truncated, late);
	free(st);
}

static uint64_t parse_mask(const char *text)
{
	unsigned int low, high;

	switch (sscanf(text, "config:%u-%u", &low, &high)) {
	case 1:
		return 1ULL << low;
	case 2:
		return ((2ULL << high) - 1) & ~((1ULL << low) - 1);
	default:
		return 0;
	}
}

TEST_F(pmu, format_is_the_header)
{
	uint64_t all = 0, mask;
	char file[64], text[64];
	unsigned int i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(file, sizeof(file), "format/%s", fields[i].name);
		ASSERT_TRUE(pmu_text(file, text, sizeof(text))) TH_LOG("no %s", file);
		mask = parse_mask(text);
		EXPECT_EQ(mask, fields[i].mask) TH_LOG("%s is %s", file, text);
		EXPECT_EQ(all & mask, 0);
		all |= mask;
	}
	EXPECT_EQ(all, NTRACE_CONFIG_VALID);
}

TEST_F(pmu, each_field_has_a_capability)
{
	char file[64], text[64];
	unsigned int i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(file, sizeof(file), "caps/%s", fields[i].name);
		ASSERT_TRUE(pmu_text(file, text, sizeof(text))) TH_LOG("no %s", file);
		if (!(fields[i].mask & (fields[i].mask - 1)))
			EXPECT_TRUE(!strcmp(text, "0") || !strcmp(text, "1"));
	}
	ASSERT_TRUE(pmu_text("caps/mode", text, sizeof(text)));
	EXPECT_TRUE(strchr(text, '3') || strchr(text, '6')) TH_LOG("modes %s", text);
}

TEST_F(pmu, each_traced_cpu_has_its_encoder)
{
	static const char * const files[] = {
		"impl", "src_bits", "src_id", "cpu", "path", "sink", "implicit_return_mode",
		"default_config", "timestamp/enable", "timestamp/mode",
		"timestamp/modes_available", "timestamp/prescale", "timestamp/width",
		"timestamp/counter", "timestamp/frequency", "sync/mode",
		"sync/modes_available", "sync/period",
	};
	char text[256];
	unsigned int i, cpu, n = 0;

	for (cpu = 0; cpu < 64; cpu++) {
		if (!cpu_text(cpu, "cpu", text, sizeof(text)))
			continue;
		n++;
		EXPECT_EQ(atoi(text), cpu);
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			EXPECT_TRUE(cpu_text(cpu, files[i], text, sizeof(text))) TH_LOG("no %s", files[i]);
		}
		/*
		 * the component must be an encoder, and its version must be 1.x, or 0 for SiFive's encoder
		 */
		EXPECT_EQ(cpu_number(cpu, "impl", 0) & 0xf00, 0x100);
		EXPECT_LE(cpu_number(cpu, "impl", ~0ULL) & 0xf, 1);
	}
	EXPECT_GE(n, 1);
	EXPECT_EQ(n, pmu_nr_cpus());
}

TEST_F(pmu, default_config_is_accepted)
{
	struct perf_event_attr attr;
	struct recording rec;

	event_attr(&attr, cpu_number(self->cpu, "default_config", 0));
	EXPECT_NE(attr.config & NTRACE_CONFIG_MODE, 0);
	EXPECT_TRUE(record_open(&rec, &attr, 0, -1, 1 << 16, false)) TH_LOG("%s", strerror(rec.err));
	record_close(&rec);
}

TEST_F(pmu, defaults_can_be_changed)
{
	char old[64], text[64];
	unsigned int least, most;
	bool takes;

	ASSERT_TRUE(cpu_text(self->cpu, "default_config", old, sizeof(old)));

	EXPECT_EQ(cpu_write(self->cpu, "sync/mode", "4"), EINVAL);
	EXPECT_EQ(cpu_write(self->cpu, "sync/mode", "x"), EINVAL);
	EXPECT_EQ(cpu_write(self->cpu, "sync/period", "100"), EINVAL);
	EXPECT_EQ(cpu_write(self->cpu, "sync/period", "8"), EINVAL);
	EXPECT_EQ(cpu_write(self->cpu, "default_config", "0x8000000"), EINVAL);
	ASSERT_TRUE(pmu_text("caps/sync_max", text, sizeof(text)));
	/*
	 * A period of 64 needs sync_max 2, because the period is 2^(sync_max + 4). Some hardware
	 * has only one value of sync_max.
	 */
	takes = sscanf(text, "%u-%u", &least, &most) == 2 && least <= 2 && most >= 2;
	EXPECT_EQ(cpu_write(self->cpu, "sync/period", "64"), takes ? 0 : EOPNOTSUPP);
	if (takes) {
		EXPECT_EQ(cpu_number(self->cpu, "sync/period", 0), 64);
		EXPECT_EQ((cpu_number(self->cpu, "default_config", 0) & NTRACE_CONFIG_SYNC_MAX) >>
			  NTRACE_CONFIG_SYNC_MAX_SHIFT, 2);
	}
	EXPECT_EQ(cpu_write(self->cpu, "default_config", old), 0);
	ASSERT_TRUE(cpu_text(self->cpu, "default_config", text, sizeof(text)));
	EXPECT_STREQ(text, old);
}

TEST_F(pmu, defaults_are_busy_while_tracing)
{
	struct perf_event_attr attr;
	struct recording rec;
	char old[64];

	ASSERT_TRUE(cpu_text(self->cpu, "default_config", old, sizeof(old)));
	event_attr(&attr, pmu_config(self->cpu));
	ASSERT_TRUE(record_open(&rec, &attr, -1, self->cpu, 1 << 20, true));
	record_start(&rec);
	EXPECT_EQ(cpu_write(self->cpu, "default_config", old), EBUSY);
	record_stop(&rec);
	EXPECT_EQ(cpu_write(self->cpu, "default_config", old), 0);
	record_close(&rec);
}

TEST_F(pmu, timestamp_counter_counts)
{
	uint64_t before, after;
	unsigned int tries;
	double end;

	if (!cpu_number(self->cpu, "timestamp/mode", 0))
		SKIP(return, "no timestamps");
	/* keep this CPU busy, because the counter of an idle CPU may lose its power and restart */
	pin(self->cpu);
	for (tries = 0; tries < 20; tries++) {
		before = cpu_number(self->cpu, "timestamp/counter", 0);
		for (end = now() + 0.01; now() < end; )
			busy(100);
		after = cpu_number(self->cpu, "timestamp/counter", 0);
		if (after > before)
			break;
	}
	EXPECT_GT(after, before);
}

/* Return the number of ticks of the counter of @cpu in a second */
static double counter_rate(int cpu)
{
	uint64_t first, last;
	double from, to;

	first = cpu_number(cpu, "timestamp/counter", 0);
	from = now();
	/* sleep for a moment, in which a counter of cycles of the core does not advance */
	usleep(300000);
	last = cpu_number(cpu, "timestamp/counter", 0);
	to = now();
	return (double)(last - first) / (to - from);
}

/* Trace for a moment with an event, and close it. Return false if it cannot be opened. */
static bool had_event(int cpu, uint64_t config)
{
	struct perf_event_attr attr;
	struct recording rec;

	event_attr(&attr, config);
	if (!record_open(&rec, &attr, -1, cpu, 1 << 20, true))
		return false;
	record_start(&rec);
	record_stop(&rec);
	record_close(&rec);
	return true;
}

/*
 * Return the value of the file "frequency", or 0 if the frequency is unknown. Return a negative number if
 * the counter has another frequency.
 */
static double right_frequency(int cpu)
{
	double rate, frequency;
	unsigned int tries;

	frequency = cpu_number(cpu, "timestamp/frequency", 0);
	/* Try again if the rate is wrong, because a busy host may delay the second read of the counter */
	for (tries = 0; tries < 3; tries++) {
		rate = counter_rate(cpu);
		if (!frequency || (rate >= frequency * 0.75 && rate <= frequency * 1.25))
			return frequency;
		printf("# %.0f Hz, and the counter has %.0f\n", frequency, rate);
	}
	return -1;
}

TEST_F(pmu, frequency_is_that_of_the_default_mode)
{
	unsigned int mode, before, known = 0;
	char number[16];
	double frequency;

	before = cpu_number(self->cpu, "timestamp/mode", 0);
	if (!before)
		SKIP(return, "no timestamps");
	for (mode = 1; mode <= 4; mode++) {
		snprintf(number, sizeof(number), "%u", mode);
		if (cpu_write(self->cpu, "timestamp/mode", number))
			continue;
		EXPECT_EQ(cpu_number(self->cpu, "timestamp/mode", 0), mode);
		/* the frequency must also be right after an event has traced with this timestamp mode */
		ASSERT_TRUE(had_event(self->cpu, pmu_config(self->cpu)));
		frequency = right_frequency(self->cpu);
		EXPECT_GE(frequency, 0) TH_LOG("mode %u", mode);
		known += frequency > 0;
	}
	snprintf(number, sizeof(number), "%u", before);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", number), 0);
	TH_LOG("%u frequencies are known", known);
}

/*
 * The driver must refuse a prescaler for a clock that is not internal, and a clock that the encoder does
 * not have.
 */
TEST_F(pmu, clocks_that_it_does_not_have)
{
	char text[16];
	struct perf_event_attr attr;
	struct recording rec;
	unsigned int before, enabled;

	before = cpu_number(self->cpu, "timestamp/mode", 0);
	enabled = cpu_number(self->cpu, "timestamp/enable", 0);
	if (!before)
		SKIP(return, "no timestamps");
	if (before == 1 || before == 4) {
		EXPECT_EQ(cpu_write(self->cpu, "timestamp/prescale", "1"), EOPNOTSUPP);
		event_attr(&attr, pmu_config(self->cpu) | NTRACE_CONFIG_TIMESTAMP |
			   1ULL << NTRACE_CONFIG_TS_PRESCALE_SHIFT);
		EXPECT_FALSE(record_open(&rec, &attr, -1, self->cpu, 1 << 20, true));
	}
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/enable", "0"), 0);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", "7"), EOPNOTSUPP);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", "5"), EOPNOTSUPP);
	EXPECT_EQ(cpu_number(self->cpu, "timestamp/mode", 0), before);
	snprintf(text, sizeof(text), "%u", enabled);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/enable", text), 0);
}

/* An encoder has only one internal counter, so two events must not use it with different clocks. */
TEST_F(pmu, one_counter_has_one_clock)
{
	static const char *const modes[] = { "2", "3" };
	char text[16];
	unsigned int before, i;
	uint64_t config;

	before = cpu_number(self->cpu, "timestamp/mode", 0);
	if (!before)
		SKIP(return, "no timestamps");
	for (i = 0; i < 2 && cpu_write(self->cpu, "timestamp/mode", modes[i]); i++)
		;
	if (i == 2)
		SKIP(return, "no counter of its own");
	config = (pmu_config(self->cpu) & ~NTRACE_CONFIG_TS_MODE) | NTRACE_CONFIG_TIMESTAMP;
	EXPECT_TRUE(had_event(self->cpu, config));
	EXPECT_FALSE(had_event(self->cpu, config | 1ULL << NTRACE_CONFIG_TS_MODE_SHIFT));
	EXPECT_FALSE(had_event(self->cpu, config | 1ULL << NTRACE_CONFIG_TS_PRESCALE_SHIFT));
	/* An event without timestamps does not change the counter */
	EXPECT_TRUE(had_event(self->cpu, config & ~NTRACE_CONFIG_TIMESTAMP));
	if (!cpu_write(self->cpu, "timestamp/prescale", "1")) {
		EXPECT_TRUE(had_event(self->cpu, config | 1ULL << NTRACE_CONFIG_TS_PRESCALE_SHIFT));
		EXPECT_FALSE(had_event(self->cpu, config));
		EXPECT_EQ(cpu_write(self->cpu, "timestamp/prescale", "0"), 0);
	}
	snprintf(text, sizeof(text), "%u", before);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", text), 0);
}

/*
 * The default mode of timestamps must not change while an event is open. Otherwise a tool would read the
 * trace of this event with the wrong clock.
 */
TEST_F(pmu, an_event_keeps_its_default_mode)
{
	char other[16], same[16];
	struct perf_event_attr attr;
	struct recording rec;
	unsigned int mode;

	mode = cpu_number(self->cpu, "timestamp/mode", 0);
	snprintf(same, sizeof(same), "%u", mode);
	snprintf(other, sizeof(other), "%u", mode == 2 ? 3 : 2);
	if (!mode || cpu_write(self->cpu, "timestamp/mode", other))
		SKIP(return, "one mode of timestamps");
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", same), 0);

	/* start and stop the event, which the kernel also does if the thread of the event sleeps */
	event_attr(&attr, pmu_config(self->cpu));
	ASSERT_TRUE(record_open(&rec, &attr, 0, -1, 1 << 20, true));
	record_start(&rec);
	record_stop(&rec);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", other), EBUSY);
	EXPECT_EQ(cpu_number(self->cpu, "timestamp/mode", 0), mode);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", same), 0);
	record_close(&rec);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", other), 0);
	EXPECT_EQ(cpu_write(self->cpu, "timestamp/mode", same), 0);
}

/* The counter must run even if events have no timestamps by default. */
TEST_F(pmu, mode_is_the_one_that_counts)
{
	char config[32], text[32];
	unsigned int mode;

	mode = cpu_number(self->cpu, "timestamp/mode", 0);
	if (!mode)
		SKIP(return, "no timestamps");
	ASSERT_TRUE(cpu_text(self->cpu, "default_config", config, sizeof(config)));
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)
		 (pmu_config(self->cpu) & ~(NTRACE_CONFIG_TIMESTAMP | NTRACE_CONFIG_TS_MODE)));
	EXPECT_EQ(cpu_write(self->cpu, "default_config", text), 0);
	EXPECT_EQ(cpu_number(self->cpu, "timestamp/mode", 0), mode);
	EXPECT_EQ(cpu_write(self->cpu, "default_config", config), 0);
}

TEST_HARNESS_MAIN
