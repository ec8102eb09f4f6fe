/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Sinks that several encoders share, and whose trace a full sink has lost.
 *
 * A sink writes one window after the other, each to the AUX buffer of one of its CPUs. A window that
 * is full has lost trace of any of the sink's encoders, which do not know it: the driver drops the
 * messages that they still hold. What was lost was executed after the record of the window before,
 * which may be in the buffer of another CPU, and before the next window begins.
 *
 * perf and the session library compile this file. A CPU is known by its place in the metadata.
 */
#ifndef NTRACE_SINKS_H
#define NTRACE_SINKS_H

#include <stdbool.h>
#include <stdint.h>

struct nt_sinks;

/* nt_sinks_new() - Return the sinks of @nr_cpus CPUs that send no SRC, or NULL without memory */
struct nt_sinks *nt_sinks_new(unsigned int nr_cpus);
void nt_sinks_free(struct nt_sinks *sinks);

/*
 * nt_sinks_set_cpu() - note that the encoder of @cpu sends SRC
 * @number: number of its sink in the metadata, or 0 if the metadata has none
 */
void nt_sinks_set_cpu(struct nt_sinks *sinks, unsigned int cpu, uint32_t number);

/* nt_sinks_join() - one of two CPUs has messages in the AUX buffer of the other */
void nt_sinks_join(struct nt_sinks *sinks, unsigned int a, unsigned int b);

/*
 * nt_sinks_share() - Return: true if two CPUs write to one sink, or if the metadata does not say that they
 * do not. Messages cannot show that: a sink may have written to two buffers without a common source. It is
 * better to report too many losses than to hide one.
 */
bool nt_sinks_share(const struct nt_sinks *sinks, unsigned int a, unsigned int b);

/*
 * nt_sinks_add_window() - the record of a window in the buffer of @cpu has @time (ns)
 *
 * Return: false: out of memory.
 */
bool nt_sinks_add_window(struct nt_sinks *sinks, unsigned int cpu, uint64_t time);

/* nt_sinks_settle() - to be called after the last nt_sinks_add_window() */
void nt_sinks_settle(struct nt_sinks *sinks);

/*
 * nt_sinks_before() - Return: the time of the last record before @time that is of a window of the sink of
 * @cpu, as far as the recording shows that; 0: there is none. Several threads may call this.
 */
uint64_t nt_sinks_before(const struct nt_sinks *sinks, unsigned int cpu, uint64_t time);

#endif /* NTRACE_SINKS_H */
