// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Read the configuration of each CPU's encoder, and convert its timestamps (setup.h). */
#include <stdlib.h>

#include <linux/ntrace.h>

#include "session/array.h"
#include "setup.h"

#define NS_PER_S	1000000000ULL
#define CPUS_MAX	65536

/* Return word @which of a record, or 0 if an earlier version, which did not have this word, wrote the record. */
static uint64_t word(const uint64_t *words, uint64_t nr, unsigned int which)
{
	return which < nr ? words[which] : 0;
}

static uint32_t small_word(const uint64_t *words, uint64_t nr, unsigned int which)
{
	uint64_t value = word(words, nr, which);

	return value < UINT32_MAX ? value : UINT32_MAX;
}

static const char *setup_check(const uint64_t *words, size_t nr)
{
	uint64_t header, per_cpu, cpus;

	if (nr < NTRACE_INFO_NR_CPUS + 1 || words[NTRACE_INFO_MAGIC] != NTRACE_INFO_MAGIC_VALUE)
		return "the metadata of the trace is not that of N-Trace";
	if (words[NTRACE_INFO_VERSION] >> 32 != NTRACE_INFO_VERSION_MAJOR)
		return "the recording has a later format than this program reads";
	header = words[NTRACE_INFO_HEADER_WORDS];
	per_cpu = words[NTRACE_INFO_CPU_WORDS];
	cpus = words[NTRACE_INFO_NR_CPUS];
	if (header < NTRACE_INFO_NR_CPUS + 1 || header > nr || !cpus || cpus > CPUS_MAX ||
	    !per_cpu || per_cpu > nr || cpus * per_cpu > nr - header)
		return "the metadata of the trace is damaged: its sizes contradict each other";
	return NULL;
}

/*
 * Return true if timestamps can be converted to perf's clock. They must be values of the time CSR, of
 * a counter of the same frequency, or of a counter that the driver has read together with the time CSR.
 */
static bool cpu_has_time(const struct ns_setup *setup, const struct ns_cpu *cpu)
{
	uint64_t freq, diff;

	if (!setup->has_time || !(cpu->config & NTRACE_CONFIG_TIMESTAMP))
		return false;
	if (!cpu->ts_freq)
		return false;
	if (cpu->ts_base_time)
		return true;
	freq = (uint64_t)(((unsigned __int128)NS_PER_S << setup->time_shift) / setup->time_mult);
	diff = freq > cpu->ts_freq ? freq - cpu->ts_freq : cpu->ts_freq - freq;
	return diff <= freq / 100;
}

static void cpu_parse(const struct ns_setup *setup, struct ns_cpu *cpu, const uint64_t *words,
		      uint64_t nr)
{
	struct nt_config *nt = &cpu->nt;

	cpu->cpu = (int)word(words, nr, NTRACE_INFO_CPU_ID);
	cpu->config = word(words, nr, NTRACE_INFO_CPU_CONFIG);
	cpu->src_id = word(words, nr, NTRACE_INFO_CPU_SRC_ID);
	cpu->trace_id = word(words, nr, NTRACE_INFO_CPU_TRACE_ID);
	cpu->ts_width = word(words, nr, NTRACE_INFO_CPU_TS_WIDTH);
	cpu->ts_freq = word(words, nr, NTRACE_INFO_CPU_TS_FREQ);
	cpu->ts_base = word(words, nr, NTRACE_INFO_CPU_TS_BASE);
	cpu->ts_base_time = word(words, nr, NTRACE_INFO_CPU_TS_BASE_TIME);
	cpu->sink = small_word(words, nr, NTRACE_INFO_CPU_SINK);
	cpu->has_time = cpu_has_time(setup, cpu);
	nt_config_init(nt, sizeof(*nt));
	nt->xlen = word(words, nr, NTRACE_INFO_CPU_XLEN);
	nt->src_bits = cpu->config & NTRACE_CONFIG_INHIBIT_SRC ? 0 :
		       word(words, nr, NTRACE_INFO_CPU_SRC_BITS);
	nt->timestamp = !!(cpu->config & NTRACE_CONFIG_TIMESTAMP);
	nt->tstamp_bits = cpu->ts_width;
	/* NTRACE_DIALECT_* and nt_config::dialect have the same values; nt_config_check() rejects other values */
	nt->dialect = small_word(words, nr, NTRACE_INFO_CPU_DIALECT);
	/* A driver of both RV32 and RV64 may report the width of the addresses of RV64. */
	if (nt->xlen == 64)
		nt->addr_bits = small_word(words, nr, NTRACE_INFO_CPU_ADDR_BITS);
	if (cpu->config & NTRACE_CONFIG_IMPLICIT_RETURN)
		nt->return_depth = nt_encoder_return_depth(nt->dialect);
	nt->sequential_jump = !!(cpu->config & NTRACE_CONFIG_SEQUENTIAL_JUMP);
	nt->all_jumps = !!(cpu->config & NTRACE_CONFIG_ALL_JUMPS);
	nt->extend_addr = !!(cpu->config & NTRACE_CONFIG_EXTEND_ADDR);
	cpu->valid = nt_config_check(nt) == NT_OK && (!nt->src_bits || !(cpu->src_id >> nt->src_bits));
}

const char *ns_setup_parse(struct ns_setup *setup, const uint64_t *words, size_t nr)
{
	const char *error = setup_check(words, nr);
	uint64_t header, per_cpu;
	size_t i;

	if (error)
		return error;
	header = words[NTRACE_INFO_HEADER_WORDS];
	per_cpu = words[NTRACE_INFO_CPU_WORDS];
	setup->pmu_type = word(words, header, NTRACE_INFO_PMU_TYPE);
	setup->flags = word(words, header, NTRACE_INFO_FLAGS);
	setup->time_shift = word(words, header, NTRACE_INFO_TIME_SHIFT);
	setup->time_mult = word(words, header, NTRACE_INFO_TIME_MULT);
	setup->time_zero = word(words, header, NTRACE_INFO_TIME_ZERO);
	setup->has_time = setup->flags & NTRACE_INFO_FLAG_TIME_CONV && setup->time_shift < 64 &&
			  setup->time_mult && setup->time_mult <= UINT32_MAX;
	free(setup->cpus);
	setup->nr_cpus = words[NTRACE_INFO_NR_CPUS];
	setup->cpus = calloc(setup->nr_cpus, sizeof(*setup->cpus));
	if (!setup->cpus) {
		setup->nr_cpus = 0;
		return "out of memory";
	}
	setup->parts = 1;
	setup->has_sources = false;
	for (i = 0; i < setup->nr_cpus; i++) {
		cpu_parse(setup, &setup->cpus[i], words + header + i * per_cpu, per_cpu);
		setup->has_sources |= setup->cpus[i].valid && setup->cpus[i].nt.src_bits;
	}
	if (setup->has_sources)
		setup->parts = setup->nr_cpus;
	return NULL;
}

void ns_setup_free(struct ns_setup *setup)
{
	free(setup->cpus);
	setup->cpus = NULL;
	setup->nr_cpus = 0;
}

const struct ns_cpu *ns_setup_cpu(const struct ns_setup *setup, int cpu)
{
	size_t i;

	for (i = 0; i < setup->nr_cpus; i++) {
		if (setup->cpus[i].cpu == cpu)
			return &setup->cpus[i];
	}
	return NULL;
}

/* Return log2 of the prescaler. The counter advances every 4^trTsPrescale ticks of its clock. */
static unsigned int prescale_shift(const struct ns_cpu *cpu)
{
	return 2 * ((cpu->config & NTRACE_CONFIG_TS_PRESCALE) >> NTRACE_CONFIG_TS_PRESCALE_SHIFT);
}

static uint64_t csr_to_time(const struct ns_setup *setup, unsigned __int128 cycles)
{
	return setup->time_zero + (uint64_t)(cycles * setup->time_mult >> setup->time_shift);
}

static bool has_own_clock(const struct ns_cpu *cpu)
{
	return cpu->ts_base_time && cpu->ts_freq;
}

/* Return @value * @mul / @div for a value that may be negative. */
static int64_t scale(int64_t value, uint64_t mul, uint64_t div)
{
	return (int64_t)((__int128)value * (int64_t)mul / (int64_t)div);
}

static noinline uint64_t own_to_time(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t counter)
{
	return csr_to_time(setup, cpu->ts_base_time) + scale(counter - cpu->ts_base, NS_PER_S, cpu->ts_freq);
}

uint64_t ns_setup_time(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks)
{
	unsigned __int128 counter = (unsigned __int128)ticks << prescale_shift(cpu);

	return has_own_clock(cpu) ? own_to_time(setup, cpu, counter) : csr_to_time(setup, counter);
}

uint64_t ns_cpu_next_tstamp(const struct ns_cpu *cpu, uint64_t last, uint64_t tstamp)
{
	uint64_t mask = cpu->ts_width && cpu->ts_width < 64 ? (1ULL << cpu->ts_width) - 1 : ~0ULL;

	if (cpu->nt.dialect != NT_DIALECT_SIFIVE0)
		return last + tstamp;
	/*
	 * the field is the XOR of the full timestamp and @last. If the counter has wrapped since @last, the
	 * difference is negative, and the mask adds 2^ts_width to it
	 */
	return last + (((last ^ tstamp) - last) & mask);
}

/* Convert a time in ns of the perf clock to a counter value. */
static noinline uint64_t setup_ticks(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t time)
{
	unsigned __int128 ns = time - setup->time_zero;

	if (has_own_clock(cpu))
		return (cpu->ts_base + (uint64_t)scale(time - csr_to_time(setup, cpu->ts_base_time),
						       cpu->ts_freq, NS_PER_S)) >> prescale_shift(cpu);
	return (uint64_t)((ns << setup->time_shift) / setup->time_mult) >> prescale_shift(cpu);
}

uint64_t ns_setup_widen(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks,
			uint64_t end_time)
{
	uint64_t mask, end;

	if (!cpu->ts_width || cpu->ts_width >= 64 || !end_time)
		return ticks;
	mask = (1ULL << cpu->ts_width) - 1;
	/*
	 * allow times shortly after @end_time, because the kernel reads this time before the
	 * encoder stops
	 */
	end = setup_ticks(setup, cpu, end_time) + (mask >> 4);
	return end - ((end - ticks) & mask);
}
