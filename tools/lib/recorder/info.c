// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file writes a description of the encoders to the recording, in the format of <linux/ntrace.h>,
 * so that another machine can decode the trace.
 */
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "recorder-priv.h"

static uint64_t cpu_number(int cpu, const char *name, uint64_t none)
{
	char path[64];

	snprintf(path, sizeof(path), "cpu%d/%s", cpu, name);
	return rec_pmu_number(path, none);
}

/*
 * If timestamps are not values of the time CSR, store the values that the counter of timestamps and
 * the time CSR had when the event was opened.
 */
static void fill_base(int cpu, uint64_t *word)
{
	unsigned long long base, time;
	char path[128], text[64];

	snprintf(path, sizeof(path), REC_PMU "/cpu%d/timestamp/base", cpu);
	if (!rec_read_line(path, text, sizeof(text)) || sscanf(text, "%llu %llu", &base, &time) != 2)
		return;
	word[NTRACE_INFO_CPU_TS_BASE] = base;
	word[NTRACE_INFO_CPU_TS_BASE_TIME] = time;
}

/*
 * Return true if the files "frequency" and "base" in sysfs are valid for @config. They are valid
 * only for the prescaler in the file "prescale", and for the timestamp mode in the file "mode". An
 * event without a mode uses the mode in that file.
 */
static bool counter_is_known(int cpu, uint64_t config)
{
	uint64_t mode = (config & NTRACE_CONFIG_TS_MODE) >> NTRACE_CONFIG_TS_MODE_SHIFT;
	uint64_t prescale = (config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT;

	if (cpu_number(cpu, "timestamp/prescale", 0) != prescale)
		return false;
	return !mode || cpu_number(cpu, "timestamp/mode", mode) == mode;
}

/* Return a hash of the name of the encoder's sink, or 0 if the name is not known. */
static uint32_t sink_number(int cpu)
{
	char file[512], path[256];
	uint32_t hash = 0;
	const char *name;

	snprintf(file, sizeof(file), REC_PMU "/cpu%d/path", cpu);
	if (!rec_read_line(file, path, sizeof(path)))
		return 0;
	name = strrchr(path, ' ');
	for (name = name ? name + 1 : path; *name; name++)
		hash = hash * 31 + (unsigned char)*name;
	return hash ? hash : 1;
}

static void fill_cpu(int cpu, const struct perf_event_attr *attr, uint64_t *word)
{
	uint64_t config = attr->config;

	word[NTRACE_INFO_CPU_ID] = cpu;
	word[NTRACE_INFO_CPU_IMPL] = cpu_number(cpu, "impl", 0);
	word[NTRACE_INFO_CPU_CONFIG] = config;
	if (!(config & NTRACE_CONFIG_INHIBIT_SRC))
		word[NTRACE_INFO_CPU_SRC_BITS] = cpu_number(cpu, "src_bits", 0);
	word[NTRACE_INFO_CPU_SRC_ID] = cpu_number(cpu, "src_id", 0);
	word[NTRACE_INFO_CPU_TS_WIDTH] = cpu_number(cpu, "timestamp/width", 64);
	word[NTRACE_INFO_CPU_IR_MODE] = cpu_number(cpu, "implicit_return_mode", 0);
	word[NTRACE_INFO_CPU_XLEN] = 8 * sizeof(long);
	word[NTRACE_INFO_CPU_TRACE_ID] = cpu_number(cpu, "trace_id", 0);
	word[NTRACE_INFO_CPU_DIALECT] = cpu_number(cpu, "dialect", NTRACE_DIALECT_RATIFIED);
	word[NTRACE_INFO_CPU_ADDR_BITS] = cpu_number(cpu, "addr_bits", 0);
	word[NTRACE_INFO_CPU_SINK] = sink_number(cpu);
	fill_base(cpu, word);
	/*
	 * Read the frequency after the base, because it is 0 if the counter has restarted since the
	 * base was read.
	 */
	if (counter_is_known(cpu, config))
		word[NTRACE_INFO_CPU_TS_FREQ] = cpu_number(cpu, "timestamp/frequency", 0);
}

/* Fill in the header. The perf clock is the time CSR, scaled by the values in struct rec_clock. */
static void fill_header(const struct nt_recorder *r, int nr, uint64_t *word)
{
	struct rec_clock clock;

	rec_rings_clock(r, &clock);
	word[NTRACE_INFO_MAGIC] = NTRACE_INFO_MAGIC_VALUE;
	word[NTRACE_INFO_VERSION] = (uint64_t)NTRACE_INFO_VERSION_MAJOR << 32 |
				    NTRACE_INFO_VERSION_MINOR;
	word[NTRACE_INFO_HEADER_WORDS] = NTRACE_INFO_HEADER_MAX;
	word[NTRACE_INFO_CPU_WORDS] = NTRACE_INFO_CPU_MAX;
	word[NTRACE_INFO_NR_CPUS] = nr;
	word[NTRACE_INFO_PMU_TYPE] = r->pmu_type;
	word[NTRACE_INFO_FLAGS] = r->options.snapshot ? NTRACE_INFO_FLAG_SNAPSHOT : 0;
	if (rec_rings_per_cpu(r))
		word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_PER_CPU;
	if (!rec_pmu_number("caps/scontext", 1))
		word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_NO_SCONTEXT;
	if (!clock.known)
		return;
	word[NTRACE_INFO_FLAGS] |= NTRACE_INFO_FLAG_TIME_CONV;
	word[NTRACE_INFO_TIME_SHIFT] = clock.shift;
	word[NTRACE_INFO_TIME_MULT] = clock.mult;
	word[NTRACE_INFO_TIME_ZERO] = clock.zero;
}

/* Store the CPUs of a list like "0,2-3" in @cpus. Return the number of stored CPUs, at most @room. */
static int list_cpus(const char *list, int *cpus, int room)
{
	long first, last;
	int nr = 0;
	char *end;

	for (; *list; list = end + (*end == ',')) {
		first = strtol(list, &end, 10);
		last = *end == '-' ? strtol(end + 1, &end, 10) : first;
		if (end == list || first < 0 || last < first)
			break;
		for (; first <= last; first++, nr++) {
			if (nr < room)
				cpus[nr] = first;
		}
	}
	return nr < room ? nr : room;
}

/*
 * Write PERF_RECORD_TIME_CONV. Programs write files about code that they compile at run time, and
 * perf inject --jit uses this record to convert the times in these files to the perf clock.
 */
static int put_clock(struct nt_recorder *r)
{
	struct pd_clock_record record = {
		.header = { .type = PD_TIME_CONV, .size = sizeof(record) }, .zero_known = 1,
	};
	struct rec_clock clock;

	rec_rings_clock(r, &clock);
	record.shift = clock.shift;
	record.mult = clock.mult;
	record.zero = clock.zero;
	return clock.known ? rec_output_record(r, &record, sizeof(record)) : 0;
}

/* Describe all CPUs that have an encoder, because tasks may run on any CPU. */
int rec_info_write(struct nt_recorder *r)
{
	int cpus[4096], nr, i;
	struct pd_info_record *record;
	char list[4096] = "";
	size_t size;
	int err;

	rec_read_line(REC_PMU "/cpumask", list, sizeof(list));
	nr = list_cpus(list, cpus, 4096);
	size = sizeof(*record) + 8 * (NTRACE_INFO_HEADER_MAX + nr * NTRACE_INFO_CPU_MAX);
	if (size > UINT16_MAX)
		return rec_fail(r, "%d CPUs have trace encoders, but a recording can describe at most %zu CPUs", nr,
				((UINT16_MAX - sizeof(*record)) / 8 - NTRACE_INFO_HEADER_MAX) / NTRACE_INFO_CPU_MAX);
	record = calloc(1, size);
	if (!record)
		return rec_fail(r, "out of memory");
	record->header = (struct perf_event_header){ .type = PD_AUXTRACE_INFO, .size = size };
	record->type = NTRACE_AUXTRACE_TYPE;
	fill_header(r, nr, record->words);
	for (i = 0; i < nr; i++)
		fill_cpu(cpus[i], &r->events[0].attr,
			 record->words + NTRACE_INFO_HEADER_MAX + i * NTRACE_INFO_CPU_MAX);
	err = rec_output_record(r, record, size);
	free(record);
	return err ? err : put_clock(r);
}
