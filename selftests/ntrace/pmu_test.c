// SPDX-License-Identifier: GPL-2.0-only
/* The attributes of the PMU in sysfs */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
	{ "trigger", NTRACE_CONFIG_TRIGGER }, { "sram", NTRACE_CONFIG_SRAM },
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
	char file[96], text[256];
	unsigned int i, cpu, n = 0;

	for (cpu = 0; cpu < 64; cpu++) {
		snprintf(file, sizeof(file), "cpu%u/cpu", cpu);
		if (!pmu_text(file, text, sizeof(text)))
			continue;
		n++;
		EXPECT_EQ(atoi(text), cpu);
		for (i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
			snprintf(file, sizeof(file), "cpu%u/%s", cpu, files[i]);
			EXPECT_TRUE(pmu_text(file, text, sizeof(text))) TH_LOG("no %s", file);
		}
		/* an encoder, of version 1.x or of SiFive's version 0 */
		snprintf(file, sizeof(file), "cpu%u/impl", cpu);
		EXPECT_EQ(pmu_number(file, 0) & 0xf00, 0x100);
		EXPECT_LE(pmu_number(file, ~0ULL) & 0xf, 1);
	}
	EXPECT_GE(n, 1);
	EXPECT_EQ(n, pmu_nr_cpus());
}

TEST_F(pmu, default_config_is_accepted)
{
	struct perf_event_attr attr;
	struct recording rec;
	char file[64];

	snprintf(file, sizeof(file), "cpu%d/default_config", self->cpu);
	event_attr(&attr, pmu_number(file, 0));
	EXPECT_NE(attr.config & NTRACE_CONFIG_MODE, 0);
	EXPECT_TRUE(record_open(&rec, &attr, 0, -1, 1 << 16, false)) TH_LOG("%s", strerror(rec.err));
	record_close(&rec);
}

TEST_F(pmu, named_events_set_their_field)
{
	static const struct {
		const char *name, *cap, *config;
		char value;
	} named[] = {
		{ "ntrace", "mode", "mode=0", 0 }, { "branches", "mode", "mode=0", 0 },
		{ "btm", "mode", "mode=3", '3' }, { "htm", "mode", "mode=6", '6' },
		{ "firmware", "firmware", "firmware=1", '1' },
		{ "lossless", "stall", "stall=1", '1' },
	};
	char file[64], text[64], cap[64];
	unsigned int i;

	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
		snprintf(file, sizeof(file), "caps/%s", named[i].cap);
		ASSERT_TRUE(pmu_text(file, cap, sizeof(cap)));
		snprintf(file, sizeof(file), "events/%s", named[i].name);
		/* what the hardware cannot do has no name */
		EXPECT_EQ(pmu_text(file, text, sizeof(text)),
			  !named[i].value || strchr(cap, named[i].value)) {
			TH_LOG("%s, %s", file, cap);
		}
		if (!named[i].value || strchr(cap, named[i].value))
			EXPECT_STREQ(text, named[i].config);
	}
}

static int pmu_write(const char *file, const char *text)
{
	char path[256];
	int fd, ret;

	snprintf(path, sizeof(path), PMU_DIR "/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0)
		return errno;
	ret = write(fd, text, strlen(text)) < 0 ? errno : 0;
	close(fd);
	return ret;
}

TEST_F(pmu, defaults_can_be_changed)
{
	char mode[64], period[64], config[64], old[64], text[64];
	unsigned int least, most;
	bool takes;

	snprintf(mode, sizeof(mode), "cpu%d/sync/mode", self->cpu);
	snprintf(period, sizeof(period), "cpu%d/sync/period", self->cpu);
	snprintf(config, sizeof(config), "cpu%d/default_config", self->cpu);
	ASSERT_TRUE(pmu_text(config, old, sizeof(old)));

	EXPECT_EQ(pmu_write(mode, "4"), EINVAL);
	EXPECT_EQ(pmu_write(mode, "x"), EINVAL);
	EXPECT_EQ(pmu_write(period, "100"), EINVAL);
	EXPECT_EQ(pmu_write(period, "8"), EINVAL);
	EXPECT_EQ(pmu_write(config, "0x8000000"), EINVAL);
	ASSERT_TRUE(pmu_text("caps/sync_max", text, sizeof(text)));
	/* 64 is 2^(2 + 4); hardware that can do little has one value */
	takes = sscanf(text, "%u-%u", &least, &most) == 2 && least <= 2 && most >= 2;
	EXPECT_EQ(pmu_write(period, "64"), takes ? 0 : EOPNOTSUPP);
	if (takes) {
		EXPECT_EQ(pmu_number(period, 0), 64);
		EXPECT_EQ((pmu_number(config, 0) & NTRACE_CONFIG_SYNC_MAX) >>
			  NTRACE_CONFIG_SYNC_MAX_SHIFT, 2);
	}
	EXPECT_EQ(pmu_write(config, old), 0);
	ASSERT_TRUE(pmu_text(config, text, sizeof(text)));
	EXPECT_STREQ(text, old);
}

TEST_F(pmu, defaults_are_busy_while_tracing)
{
	struct perf_event_attr attr;
	struct recording rec;
	char config[64], old[64];

	snprintf(config, sizeof(config), "cpu%d/default_config", self->cpu);
	ASSERT_TRUE(pmu_text(config, old, sizeof(old)));
	event_attr(&attr, pmu_config(self->cpu));
	ASSERT_TRUE(record_open(&rec, &attr, -1, self->cpu, 1 << 20, true));
	ioctl(rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	EXPECT_EQ(pmu_write(config, old), EBUSY);
	ioctl(rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_EQ(pmu_write(config, old), 0);
	record_close(&rec);
}

TEST_F(pmu, timestamp_counter_counts)
{
	uint64_t before, after;
	char file[64];

	snprintf(file, sizeof(file), "cpu%d/timestamp/mode", self->cpu);
	if (!pmu_number(file, 0))
		SKIP(return, "no timestamps");
	snprintf(file, sizeof(file), "cpu%d/timestamp/counter", self->cpu);
	before = pmu_number(file, 0);
	usleep(10000);
	after = pmu_number(file, 0);
	EXPECT_GT(after, before);
}

/* "cpuN/../NAME/timestamp/FILE" of the funnel before the sink; false if there is none */
static bool funnel_file(int cpu, const char *file, char *path, size_t size)
{
	char text[256], *name[8], *save;
	unsigned int n = 0;

	snprintf(path, size, "cpu%d/path", cpu);
	if (!pmu_text(path, text, sizeof(text)))
		return false;
	for (name[0] = strtok_r(text, " \n", &save); n < 7 && name[n];)
		name[++n] = strtok_r(NULL, " \n", &save);
	if (n < 3)
		return false;
	snprintf(path, size, "cpu%d/../%s/timestamp/%s", cpu, name[n - 2], file);
	return pmu_text(path, text, sizeof(text));
}

TEST_F(pmu, funnel_timestamp_can_be_set)
{
	char mode[256], prescale[256], counter[256], encoder[64], text[64];
	uint64_t before, shared, after;
	struct perf_event_attr attr;
	struct recording rec;

	if (!funnel_file(self->cpu, "mode", mode, sizeof(mode)))
		SKIP(return, "no funnel with a timestamp unit");
	ASSERT_TRUE(funnel_file(self->cpu, "prescale", prescale, sizeof(prescale)));
	ASSERT_TRUE(funnel_file(self->cpu, "counter", counter, sizeof(counter)));
	ASSERT_TRUE(funnel_file(self->cpu, "modes_available", text, sizeof(text)));
	EXPECT_EQ(pmu_write(mode, "8"), EINVAL);
	EXPECT_EQ(pmu_write(mode, "x"), EINVAL);
	EXPECT_EQ(pmu_write(prescale, "4"), EINVAL);
	/* a funnel has no timestamp unit of a core */
	EXPECT_EQ(pmu_write(mode, "3"), EOPNOTSUPP);
	EXPECT_EQ(pmu_number(mode, 0), 1);

	EXPECT_EQ(pmu_write(mode, "2"), 0);
	EXPECT_EQ(pmu_write(prescale, "1"), 0);
	EXPECT_EQ(pmu_number(mode, 0), 2);
	EXPECT_EQ(pmu_number(prescale, 0), 1);

	/* an encoder that shares it counts what it counts */
	event_attr(&attr, pmu_config(self->cpu) & ~NTRACE_CONFIG_TS_MODE);
	attr.config |= NTRACE_CONFIG_TIMESTAMP | 4ULL << NTRACE_CONFIG_TS_MODE_SHIFT;
	ASSERT_TRUE(record_open(&rec, &attr, -1, self->cpu, 1 << 20, true));
	ioctl(rec.fd, PERF_EVENT_IOC_ENABLE, 0);
	EXPECT_EQ(pmu_write(mode, "1"), EBUSY);
	EXPECT_EQ(pmu_write(prescale, "0"), EBUSY);
	/* where idle states cost power, an encoder forgets a mode that no event has */
	snprintf(encoder, sizeof(encoder), "cpu%d/timestamp/counter", self->cpu);
	before = pmu_number(counter, 0);
	shared = pmu_number(encoder, 0);
	after = pmu_number(counter, 0);
	ioctl(rec.fd, PERF_EVENT_IOC_DISABLE, 0);
	EXPECT_GT(before, 0);
	EXPECT_LE(before, shared);
	EXPECT_LE(shared, after);
	record_close(&rec);

	EXPECT_EQ(pmu_write(prescale, "0"), 0);
	EXPECT_EQ(pmu_write(mode, "1"), 0);
}

TEST_HARNESS_MAIN
