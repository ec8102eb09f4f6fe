/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Sinks that several encoders share, and the CPUs whose trace a full sink has lost.
 *
 * A sink writes one window after the other, each to the AUX buffer of one of its CPUs. If a window
 * is full, trace of any of the sink's encoders is lost, and the encoders do not report it, because
 * the driver drops the messages that they still hold. The CPUs executed the code of the lost trace
 * after the record of the previous window, which may be in the buffer of another CPU, and before the
 * next window begins.
 *
 * perf and the session library compile this file. A CPU is identified by its index in the metadata.
 */
#ifndef NTRACE_SINKS_H
#define NTRACE_SINKS_H

#include <stdbool.h>
#include <stdint.h>

struct nt_sinks;

/* nt_sinks_new() - return sinks for @nr_cpus CPUs, assuming that none sends SRC; NULL if out of memory */
struct nt_sinks *nt_sinks_new(unsigned int nr_cpus);
void nt_sinks_free(struct nt_sinks *sinks);

/*
 * nt_sinks_set_cpu() - note that the encoder of @cpu sends SRC
 * @number: Number of the CPU's sink in the metadata, or 0 if the metadata has no such number
 */
void nt_sinks_set_cpu(struct nt_sinks *sinks, unsigned int cpu, uint32_t number);

/* nt_sinks_join() - note that the AUX buffer of one of two CPUs has messages of the other CPU */
void nt_sinks_join(struct nt_sinks *sinks, unsigned int a, unsigned int b);

/*
 * nt_sinks_share() - check if two CPUs may write to one sink
 *
 * Messages cannot show that two CPUs have different sinks, because a sink may write to two buffers
 * that have no common source. It is better to report too many losses than to hide one.
 *
 * Return: True if the CPUs write to one sink, or if the metadata does not show that their sinks
 * differ.
 */
bool nt_sinks_share(const struct nt_sinks *sinks, unsigned int a, unsigned int b);

/*
 * nt_sinks_add_window() - add a window in the buffer of @cpu, whose record has @time (ns)
 *
 * Return: False if out of memory.
 */
bool nt_sinks_add_window(struct nt_sinks *sinks, unsigned int cpu, uint64_t time);

/* nt_sinks_settle() - sort the windows after the last nt_sinks_add_window() */
void nt_sinks_settle(struct nt_sinks *sinks);

/*
 * nt_sinks_before() - find the last window before @time that the sink of @cpu certainly wrote
 *
 * Context: Several threads may call this at the same time.
 * Return: The time of the window's record, or 0 if no such window is known.
 */
uint64_t nt_sinks_before(const struct nt_sinks *sinks, unsigned int cpu, uint64_t time);

#endif /* NTRACE_SINKS_H */
