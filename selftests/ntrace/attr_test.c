// SPDX-License-Identifier: GPL-2.0-only
/* Test that the PMU refuses invalid events with the right error. */
#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "trace.h"

FIXTURE(attr) {
	struct perf_event_attr attr;
	int cpu;
};

FIXTURE_SETUP(attr)
{
	if (pmu_type() < 0)
		SKIP(return, "there is no PMU ntrace");
	self->cpu = pmu_first_cpu();
	event_attr(&self->attr, pmu_config(self->cpu));
}

FIXTURE_TEARDOWN(attr)
{
}

/* Open and close an event. Return 0, or the errno of perf_event_open(). */
static int try_open(struct perf_event_attr *attr, int pid, int cpu)
{
	int fd = syscall(SYS_perf_event_open, attr, pid, cpu, -1, 0);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static uint64_t with(uint64_t config, uint64_t mask, unsigned int val)
{
	return (config & ~mask) | (uint64_t)val * (mask & -mask);
}

TEST_F(attr, good_one_opens)
{
	EXPECT_EQ(try_open(&self->attr, 0, -1), 0);
	EXPECT_EQ(try_open(&self->attr, -1, self->cpu), 0);
	EXPECT_EQ(try_open(&self->attr, 0, self->cpu), 0);
}

TEST_F(attr, unknown_config_bits_are_invalid)
{
	uint64_t config = self->attr.config;
	unsigned int bit;

	for (bit = 27; bit < 64; bit++) {
		self->attr.config = config | 1ULL << bit;
		EXPECT_EQ(try_open(&self->attr, 0, -1), EINVAL) TH_LOG("bit %u", bit);
	}
	self->attr.config = config;
	self->attr.config1 = 1;
	EXPECT_EQ(try_open(&self->attr, 0, -1), EINVAL);
	self->attr.config1 = 0;
	self->attr.config2 = 1;
	EXPECT_EQ(try_open(&self->attr, 0, -1), EINVAL);
}

/* An event with config4 must fail, even in a kernel that does not know this field. */
TEST_F(attr, unknown_config4_is_invalid)
{
	union {
		struct perf_event_attr attr;
		uint64_t words[144 / 8];
	} more = { .words[17] = 1 };
	int ret;

	memcpy(&more.attr, &self->attr, 17 * sizeof(uint64_t) < sizeof(self->attr) ?
					17 * sizeof(uint64_t) : sizeof(self->attr));
	more.attr.size = sizeof(more.words);
	ret = try_open(&more.attr, 0, -1);
	EXPECT_TRUE(ret == EINVAL || ret == E2BIG) TH_LOG("%d", ret);
}

TEST_F(attr, modes_that_no_n_trace_encoder_has_are_invalid)
{
	static const unsigned int modes[] = { 1, 2, 4, 5, 7 };
	uint64_t config = self->attr.config;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		self->attr.config = with(config, NTRACE_CONFIG_MODE, modes[i]);
		EXPECT_EQ(try_open(&self->attr, 0, -1), EINVAL) TH_LOG("mode %u", modes[i]);
	}
}

TEST_F(attr, frequency_is_invalid)
{
	self->attr.freq = 1;
	self->attr.sample_freq = 1000;
	EXPECT_EQ(try_open(&self->attr, 0, -1), EINVAL);
}

TEST_F(attr, what_caps_lack_is_not_supported)
{
	static const struct {
		const char *cap;
		uint64_t bit;
	} bits[] = {
		{ "caps/context", NTRACE_CONFIG_CONTEXT },
		{ "caps/timestamp", NTRACE_CONFIG_TIMESTAMP },
		{ "caps/implicit_return", NTRACE_CONFIG_IMPLICIT_RETURN },
		{ "caps/sequential_jump", NTRACE_CONFIG_SEQUENTIAL_JUMP },
		{ "caps/repeated_history", NTRACE_CONFIG_REPEATED_HISTORY },
		{ "caps/all_jumps", NTRACE_CONFIG_ALL_JUMPS },
		{ "caps/extend_addr", NTRACE_CONFIG_EXTEND_ADDR },
		{ "caps/stall", NTRACE_CONFIG_STALL },
		{ "caps/inhibit_src", NTRACE_CONFIG_INHIBIT_SRC },
	};
	uint64_t config = self->attr.config;
	unsigned int i;

	for (i = 0; i < sizeof(bits) / sizeof(bits[0]); i++) {
		self->attr.config = config | bits[i].bit;
		EXPECT_EQ(try_open(&self->attr, 0, -1), pmu_number(bits[i].cap, 0) ? 0 : EOPNOTSUPP)
			TH_LOG("%s", bits[i].cap);
	}
}

TEST_F(attr, values_that_caps_lack_are_not_supported)
{
	uint64_t config = self->attr.config & ~NTRACE_CONFIG_TIMESTAMP;
	char text[64];
	unsigned int mode;

	ASSERT_TRUE(pmu_text("caps/sync_mode", text, sizeof(text)));
	for (mode = 0; mode < 4; mode++) {
		bool has = strchr(text, '0' + mode) || (strchr(text, '-') && text[0] - '0' <= mode &&
			   text[strlen(text) - 1] - '0' >= mode);

		self->attr.config = with(config, NTRACE_CONFIG_SYNC_MODE, mode);
		EXPECT_EQ(try_open(&self->attr, 0, -1), has ? 0 : EOPNOTSUPP)
			TH_LOG("sync_mode %u of %s", mode, text);
	}
	self->attr.config = with(config, NTRACE_CONFIG_TS_MODE, 7) | NTRACE_CONFIG_TIMESTAMP;
	EXPECT_EQ(try_open(&self->attr, 0, -1), EOPNOTSUPP);
}

TEST_F(attr, exclude_everything_is_invalid)
{
	self->attr.exclude_user = 1;
	self->attr.exclude_kernel = 1;
	self->attr.config &= ~NTRACE_CONFIG_FIRMWARE;
	EXPECT_NE(try_open(&self->attr, 0, -1), 0);
}

TEST_F(attr, exclude_needs_a_filter)
{
	bool filter = pmu_number("caps/privilege", 0);

	self->attr.exclude_kernel = 1;
	self->attr.config &= ~NTRACE_CONFIG_FIRMWARE;
	EXPECT_EQ(try_open(&self->attr, 0, -1), filter ? 0 : EOPNOTSUPP);
	self->attr.exclude_kernel = 0;
	self->attr.exclude_user = 1;
	EXPECT_EQ(try_open(&self->attr, 0, -1), filter ? 0 : EOPNOTSUPP);
	self->attr.exclude_user = 0;
	self->attr.exclude_idle = 1;
	EXPECT_EQ(try_open(&self->attr, 0, -1), EOPNOTSUPP);
}

TEST_F(attr, cpu_without_encoder_is_refused)
{
	int cpu;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_CONF); cpu++) {
		if (!cpu_is_traced(cpu))
			break;
	}
	if (cpu == sysconf(_SC_NPROCESSORS_CONF))
		SKIP(return, "all CPUs have an encoder");
	EXPECT_EQ(try_open(&self->attr, -1, cpu), ENODEV);
}

TEST_F(attr, second_event_is_busy)
{
	int fd = syscall(SYS_perf_event_open, &self->attr, -1, self->cpu, -1, 0);

	ASSERT_GE(fd, 0);
	EXPECT_EQ(try_open(&self->attr, -1, self->cpu), EBUSY);
	/* an encoder cannot be used by an event of a thread and by an event of a CPU at the same time */
	EXPECT_EQ(try_open(&self->attr, 0, -1), EBUSY);
	close(fd);
	EXPECT_EQ(try_open(&self->attr, -1, self->cpu), 0);
}

TEST_HARNESS_MAIN
