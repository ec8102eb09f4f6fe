// SPDX-License-Identifier: GPL-2.0-only
/*
 * The metadata that perf record wrote. The file may be damaged, so each word may have any value.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/zalloc.h>

#include "debug.h"
#include "ntrace.h"
#include "ntrace-priv.h"
#include "pmus.h"

#define NTRACE_MAX_CPUS		4096

const char *ntrace_missing_hint(const char *pmu_name)
{
#ifdef __riscv
	static const char *const hint[] = {
		". The driver is not loaded, or found no trace encoder. Try 'modprobe ntrace'; then 'dmesg | grep ntrace' shows the encoders that it found",
	};
#else
	static const char *const hint[] = {
		". Only a RISC-V machine with a trace encoder can record N-Trace. This machine can only decode such recordings",
	};
#endif

	return strcmp(pmu_name, NTRACE_PMU_NAME) || perf_pmus__find(NTRACE_PMU_NAME) ? "" : hint[0];
}

/* Return word @i of the metadata, or 0 if a file of an older version does not have it */
static u64 ntrace_word(const __u64 *words, u64 nr, unsigned int i)
{
	return i < nr ? words[i] : 0;
}

static int ntrace_info_check(const __u64 *word, u64 nr)
{
	u64 header, per_cpu, cpus;

	if (nr <= NTRACE_INFO_NR_CPUS || word[NTRACE_INFO_MAGIC] != NTRACE_INFO_MAGIC_VALUE) {
		pr_err("N-Trace: the metadata in this file is not that of N-Trace. Was the file recorded by a perf with N-Trace?\n");
		return -EINVAL;
	}
	if (word[NTRACE_INFO_VERSION] >> 32 != NTRACE_INFO_VERSION_MAJOR) {
		pr_err("N-Trace: the metadata has version %u.%u, but this perf reads version %u. Decode with the perf that recorded the file.\n",
		       (u32)(word[NTRACE_INFO_VERSION] >> 32), (u32)word[NTRACE_INFO_VERSION],
		       NTRACE_INFO_VERSION_MAJOR);
		return -EINVAL;
	}
	header = word[NTRACE_INFO_HEADER_WORDS];
	per_cpu = word[NTRACE_INFO_CPU_WORDS];
	cpus = word[NTRACE_INFO_NR_CPUS];
	if (header <= NTRACE_INFO_NR_CPUS || header > nr || !per_cpu || per_cpu > nr ||
	    !cpus || cpus > NTRACE_MAX_CPUS || cpus * per_cpu > nr - header) {
		pr_err("N-Trace: the metadata is damaged: it has %llu words, too few for a header of %llu and %llu for each of %llu CPUs\n",
		       (unsigned long long)nr, (unsigned long long)header,
		       (unsigned long long)per_cpu, (unsigned long long)cpus);
		return -EINVAL;
	}
	return 0;
}

static void ntrace_info_parse_cpu(struct ntrace_cpu *cpu, const __u64 *word, u64 nr)
{
	cpu->cpu = ntrace_word(word, nr, NTRACE_INFO_CPU_ID);
	cpu->impl = ntrace_word(word, nr, NTRACE_INFO_CPU_IMPL);
	cpu->config = ntrace_word(word, nr, NTRACE_INFO_CPU_CONFIG);
	cpu->src_bits = ntrace_word(word, nr, NTRACE_INFO_CPU_SRC_BITS);
	cpu->src_id = ntrace_word(word, nr, NTRACE_INFO_CPU_SRC_ID);
	cpu->ts_width = ntrace_word(word, nr, NTRACE_INFO_CPU_TS_WIDTH);
	cpu->ts_freq = ntrace_word(word, nr, NTRACE_INFO_CPU_TS_FREQ);
	cpu->ir_mode = ntrace_word(word, nr, NTRACE_INFO_CPU_IR_MODE);
	cpu->xlen = ntrace_word(word, nr, NTRACE_INFO_CPU_XLEN);
	cpu->trace_id = ntrace_word(word, nr, NTRACE_INFO_CPU_TRACE_ID);
	cpu->dialect = min_t(u64, ntrace_word(word, nr, NTRACE_INFO_CPU_DIALECT), UINT32_MAX);
	cpu->addr_bits = min_t(u64, ntrace_word(word, nr, NTRACE_INFO_CPU_ADDR_BITS), UINT32_MAX);
	cpu->ts_base = ntrace_word(word, nr, NTRACE_INFO_CPU_TS_BASE);
	cpu->ts_base_time = ntrace_word(word, nr, NTRACE_INFO_CPU_TS_BASE_TIME);
	cpu->sink = ntrace_word(word, nr, NTRACE_INFO_CPU_SINK);
}

int ntrace_info_words(struct ntrace_info *info, const __u64 *word, u64 nr)
{
	u64 header, per_cpu;
	unsigned int i;
	int err = ntrace_info_check(word, nr);

	if (err)
		return err;

	header = word[NTRACE_INFO_HEADER_WORDS];
	per_cpu = word[NTRACE_INFO_CPU_WORDS];
	info->nr_cpus = word[NTRACE_INFO_NR_CPUS];
	info->pmu_type = ntrace_word(word, header, NTRACE_INFO_PMU_TYPE);
	info->flags = ntrace_word(word, header, NTRACE_INFO_FLAGS);
	info->time_shift = ntrace_word(word, header, NTRACE_INFO_TIME_SHIFT);
	info->time_mult = ntrace_word(word, header, NTRACE_INFO_TIME_MULT);
	info->time_zero = ntrace_word(word, header, NTRACE_INFO_TIME_ZERO);
	if (info->time_shift > 63 || !info->time_mult || info->time_mult > UINT32_MAX)
		info->flags &= ~NTRACE_INFO_FLAG_TIME_CONV;

	info->cpus = calloc(info->nr_cpus, sizeof(*info->cpus));
	if (!info->cpus)
		return -ENOMEM;
	for (i = 0; i < info->nr_cpus; i++)
		ntrace_info_parse_cpu(&info->cpus[i], word + header + i * per_cpu, per_cpu);
	return 0;
}

int ntrace_info_parse(struct ntrace_info *info, const struct perf_record_auxtrace_info *event)
{
	if (event->header.size < sizeof(*event))
		return -EINVAL;
	return ntrace_info_words(info, event->priv, (event->header.size - sizeof(*event)) / sizeof(u64));
}

void ntrace_info_exit(struct ntrace_info *info)
{
	zfree(&info->cpus);
}

void ntrace_info_print(const struct ntrace_info *info, FILE *fp)
{
	unsigned int i;

	fprintf(fp, "  PMU type            %u\n", info->pmu_type);
	fprintf(fp, "  Snapshot mode       %d\n", !!(info->flags & NTRACE_INFO_FLAG_SNAPSHOT));
	fprintf(fp, "  Per-CPU buffers     %d\n", !!(info->flags & NTRACE_INFO_FLAG_PER_CPU));
	fprintf(fp, "  Address filter      %d\n", !!(info->flags & NTRACE_INFO_FLAG_FILTER));
	fprintf(fp, "  Thread in scontext  %d\n", !(info->flags & NTRACE_INFO_FLAG_NO_SCONTEXT));
	fprintf(fp, "  Time shift          %" PRIu64 "\n", info->time_shift);
	fprintf(fp, "  Time multiplier     %" PRIu64 "\n", info->time_mult);
	fprintf(fp, "  Time zero           %" PRIu64 "\n", info->time_zero);
	for (i = 0; i < info->nr_cpus; i++) {
		const struct ntrace_cpu *cpu = &info->cpus[i];

		fprintf(fp, "  CPU %d: impl %#x config %#x SRC %u of %u bits, timestamp %u bits",
			cpu->cpu, cpu->impl, cpu->config, cpu->src_id, cpu->src_bits,
			cpu->ts_width);
		fprintf(fp, " %" PRIu64 " Hz, implicit return mode %u, RV%u", cpu->ts_freq,
			cpu->ir_mode, cpu->xlen);
		if (cpu->trace_id)
			fprintf(fp, ", trace ID %u", cpu->trace_id);
		if (cpu->dialect)
			fprintf(fp, ", dialect %u", cpu->dialect);
		if (cpu->sink)
			fprintf(fp, ", sink %#x", cpu->sink);
		fprintf(fp, "\n");
	}
}

const struct ntrace_cpu *ntrace_info_cpu(const struct ntrace_info *info, int cpu)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		if (info->cpus[i].cpu == cpu)
			return &info->cpus[i];
	}
	return NULL;
}

bool ntrace_cpu_has_src(const struct ntrace_cpu *cpu)
{
	return cpu->src_bits && !(cpu->config & NTRACE_CONFIG_INHIBIT_SRC);
}

const struct ntrace_cpu *ntrace_info_source(const struct ntrace_info *info,
					    const struct ntrace_cpu *own, int src)
{
	unsigned int i;

	for (i = 0; i < info->nr_cpus; i++) {
		const struct ntrace_cpu *cpu = &info->cpus[i];

		if (!ntrace_cpu_has_src(cpu) || cpu->src_id != (u32)src)
			continue;
		/* Encoders of different sinks may have the same SRC */
		if (!own || !own->sink || !cpu->sink || own->sink == cpu->sink)
			return cpu;
	}
	return NULL;
}

bool ntrace_cpu_config(const struct ntrace_cpu *cpu, struct nt_config *config)
{
	nt_config_init(config, sizeof(*config));
	config->xlen = cpu->xlen;
	config->src_bits = ntrace_cpu_has_src(cpu) ? cpu->src_bits : 0;
	config->timestamp = !!(cpu->config & NTRACE_CONFIG_TIMESTAMP);
	config->tstamp_bits = cpu->ts_width;
	if (cpu->config & NTRACE_CONFIG_IMPLICIT_RETURN)
		config->return_depth = nt_encoder_return_depth(cpu->dialect);
	config->sequential_jump = !!(cpu->config & NTRACE_CONFIG_SEQUENTIAL_JUMP);
	config->all_jumps = !!(cpu->config & NTRACE_CONFIG_ALL_JUMPS);
	config->extend_addr = !!(cpu->config & NTRACE_CONFIG_EXTEND_ADDR);
	/* The values of NTRACE_DIALECT_* (in the metadata) and of NT_DIALECT_* (in the decoder) are the same */
	config->dialect = cpu->dialect;
	/* A driver of both RV32 and RV64 may report the width of the addresses of RV64. */
	if (cpu->xlen == 64)
		config->addr_bits = cpu->addr_bits;
	return nt_config_check(config) == NT_OK;
}
