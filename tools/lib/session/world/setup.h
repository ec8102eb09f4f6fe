/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * How each CPU's encoder was set up, and what its timestamps mean: the words of
 * PERF_RECORD_AUXTRACE_INFO that <linux/ntrace.h> describes.
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
	uint32_t	trace_id;	/* of its ATB bridge, 0: none */
	uint32_t	ts_width;	/* bits of the counter, 0: unknown */
	uint64_t	ts_freq;	/* Hz before the prescaler, 0: unknown */
	uint32_t	sink;		/* number of the sink; 0: not known */
	uint64_t	ts_base;	/* the counter when the time CSR was @ts_base_time */
	uint64_t	ts_base_time;	/* 0: it counts like the time CSR */
	bool		has_time;	/* its timestamps can be put into perf's time */
	bool		valid;		/* @nt is a configuration that the library takes */
	struct nt_config nt;
};

struct ns_setup {
	uint64_t	flags;		/* NTRACE_INFO_FLAG_* */
	uint64_t	time_shift, time_mult, time_zero;
	bool		has_time;
	uint32_t	pmu_type;
	struct ns_cpu	*cpus;
	size_t		nr_cpus;
	size_t		parts;		/* that a stretch has at most: @nr_cpus, or 1 without SRC */
	bool		has_sources;	/* an encoder sends SRC */
};

/*
 * ns_setup_parse() - @words: what follows the type of the record
 *
 * Return: NULL, or a sentence about what is wrong.
 */
const char *ns_setup_parse(struct ns_setup *setup, const uint64_t *words, size_t nr);
void ns_setup_free(struct ns_setup *setup);

/* NULL: the recording has no such CPU */
const struct ns_cpu *ns_setup_cpu(const struct ns_setup *setup, int cpu);

/* ns_setup_time() - ns of perf's clock, from the counter of @cpu's encoder (all its bits) */
uint64_t ns_setup_time(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks);

/* ns_cpu_next_tstamp() - the timestamp of a message without SYNC, after @last */
uint64_t ns_cpu_next_tstamp(const struct ns_cpu *cpu, uint64_t last, uint64_t tstamp);

/* ns_setup_ticks() - the reverse */
uint64_t ns_setup_ticks(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t time);

/*
 * ns_setup_widen() - all bits of a counter that has ts_width bits, from the time of the end of
 * the stretch in which it was: nothing in a stretch is later than its end
 */
uint64_t ns_setup_widen(const struct ns_setup *setup, const struct ns_cpu *cpu, uint64_t ticks,
			uint64_t end_time);

#endif /* NTRACE_SESSION_SETUP_H */
