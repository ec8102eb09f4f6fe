/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read the configuration of each CPU's encoder, and the meaning of its timestamps, from
 * PERF_RECORD_AUXTRACE_INFO. <linux/ntrace.h> describes the words of this record.
 */
#ifndef NTRACE_SESSION_SETUP_H
#define NTRACE_SESSION_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

struct ns_cpu {
	int		cpu;
	uint32_t	config;		/* NTRACE_CONFIG_* */
	uint32_t	src_id;
	uint32_t	trace_id;	/* trace ID of its ATB bridge; 0: none */
	uint32_t	ts_width;	/* bits of the counter; 0: unknown */
	uint64_t	ts_freq;	/* frequency before the prescaler in Hz; 0: unknown */
	uint32_t	sink;		/* number of the sink; 0: not known */
	/* value of the counter when the time CSR was @ts_base_time */
	uint64_t	ts_base;
	uint64_t	ts_base_time;	/* 0: the counter equals the time CSR */
	bool		has_time;	/* its timestamps can be converted to perf's clock */
	bool		valid;		/* the library accepts the configuration in @nt */
	struct nt_config nt;
};

struct ns_setup {
	uint64_t	flags;		/* NTRACE_INFO_FLAG_* */
	uint64_t	time_shift, time_mult, time_zero;
	bool		has_time;
	uint32_t	pmu_type;
	struct ns_cpu	*cpus;
	size_t		nr_cpus;
	/* maximum number of parts of a stretch (flow/sources.h): @nr_cpus, or 1 without SRC */
	size_t		parts;
	bool		has_sources;	/* an encoder sends SRC */
};

/*
 * ns_setup_parse() - read the configuration
 * @words: Words of the record after its type
 *
 * Return NULL, or a sentence about the error.
 */
const char *ns_setup_parse(struct ns_setup *setup, const uint64_t *words, size_t nr);
void ns_setup_free(struct ns_setup *setup);

/* Return a CPU, or NULL if it is not in the recording. */
const struct ns_cpu *ns_setup_cpu(const struct ns_setup *setup, int cpu);

/* ns_setup_time() - convert a full counter value of @cpu's encoder to ns of perf's clock */
uint64_t ns_setup_time(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks);

/* ns_cpu_next_tstamp() - return the full timestamp of a message without SYNC that follows @last */
uint64_t ns_cpu_next_tstamp(const struct ns_cpu *cpu, uint64_t last, uint64_t tstamp);

/* ns_setup_ticks() - convert ns of perf's clock to a counter value */
uint64_t ns_setup_ticks(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t time);

/*
 * ns_setup_widen() - extend a counter value of ts_width bits to 64 bits
 *
 * Return the latest such value that is not after @end_time, the end of the stretch.
 */
uint64_t ns_setup_widen(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks,
			uint64_t end_time);

#endif /* NTRACE_SESSION_SETUP_H */
