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
	uint32_t	trace_id;	/* trace ID of the encoder's ATB bridge; 0: none */
	uint32_t	ts_width;	/* number of bits of the timestamp counter; 0: unknown */
	uint64_t	ts_freq;	/* frequency of the timestamp counter before its prescaler in Hz; 0: unknown */
	uint32_t	sink;		/* number of the sink; 0: not known */
	/* value of the timestamp counter when the time CSR had the value @ts_base_time */
	uint64_t	ts_base;
	/* value of the time CSR when the counter had the value @ts_base; 0: the counter equals the time CSR */
	uint64_t	ts_base_time;
	bool		has_time;	/* the encoder's timestamps can be converted to perf's clock */
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
	/* maximum number of encoders with messages in one stretch, which is @nr_cpus, or 1 if no encoder sends SRC */
	size_t		parts;
	bool		has_sources;	/* at least one encoder sends SRC */
};

/*
 * ns_setup_parse() - read the configuration
 * @words: The @nr words that follow the type in PERF_RECORD_AUXTRACE_INFO
 *
 * Return NULL, or a sentence about the error.
 */
const char *ns_setup_parse(struct ns_setup *setup, const uint64_t *words, size_t nr);
void ns_setup_free(struct ns_setup *setup);

/* Return the configuration of CPU @cpu, or NULL if the recording does not contain it. */
const struct ns_cpu *ns_setup_cpu(const struct ns_setup *setup, int cpu);

/* ns_setup_time() - convert a full counter value of @cpu's encoder to ns of perf's clock */
uint64_t ns_setup_time(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks);

/*
 * ns_cpu_next_tstamp() - return the full timestamp of a message without SYNC, from its timestamp
 * field @tstamp and the full timestamp @last of the previous message
 */
uint64_t ns_cpu_next_tstamp(const struct ns_cpu *cpu, uint64_t last, uint64_t tstamp);

/*
 * ns_setup_widen() - extend a counter value of ts_width bits to 64 bits
 *
 * Return the latest value whose lower bits are @ticks, and that is not later than the end of the stretch, @end_time
 * (ns), plus 1/16 of the counter's range. The 1/16 is added because the encoder may still send messages shortly after
 * the kernel has read @end_time. Return @ticks if ts_width is 0 or 64, or @end_time is 0.
 */
uint64_t ns_setup_widen(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks,
			uint64_t end_time);

#endif /* NTRACE_SESSION_SETUP_H */
