/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Recordings that other drivers and their perf make. Two kinds of recordings have the type 8 in
 * PERF_RECORD_AUXTRACE_INFO.
 *
 * - Recordings of gtrace, and of rvtrace, which is older. The private data is one word with the type of the PMU.
 * - Recordings of the perf of SpacemiT's K3. The private data is one word with the type of the PMU (bits 63:32)
 *   and the number of CPUs (bits 31:0), and then several words for each CPU (enum k3_word in foreign.c).
 *
 * These functions translate the private data to the words of <linux/ntrace.h>. They determine from the trace
 * what those recordings do not contain.
 *
 * perf and the session library compile this file.
 */
#ifndef NTRACE_FOREIGN_H
#define NTRACE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

#define NT_FOREIGN_TYPE		8
#define NT_FOREIGN_CPUS		4096	/* maximum number of CPUs */

struct nt_foreign;

/* A conversion of cycles to perf's time (PERF_RECORD_TIME_CONV). A @mult of 0 means that it is unknown. */
struct nt_foreign_clock {
	uint64_t	shift, mult, zero;
};

/*
 * nt_foreign_new() - begin to read a recording. Return NULL on failure.
 * @words: The @nr words of private data of PERF_RECORD_AUXTRACE_INFO, which may be freed after the call
 * @error: Set to a sentence about the error if the function returns NULL
 */
struct nt_foreign *nt_foreign_new(const uint64_t *words, size_t nr, const char **error);
void nt_foreign_free(struct nt_foreign *foreign);

/* nt_foreign_name() - return a name, for users, of the program that made the recording */
const char *nt_foreign_name(const struct nt_foreign *foreign);

/*
 * nt_foreign_flags() - convert PERF_RECORD_AUX::flags, whose format bits each driver defines itself
 *
 * Return: The flags with the format bits of <linux/ntrace.h>. nt_foreign_settle() reports an unknown format.
 */
uint64_t nt_foreign_flags(struct nt_foreign *foreign, uint64_t flags);

/* nt_foreign_add_id() - add @id, the hw_id of PERF_RECORD_AUX_OUTPUT_HW_ID; @cpu is -1 if it is unknown */
void nt_foreign_add_id(struct nt_foreign *foreign, int cpu, uint64_t id);

/* nt_foreign_learn() - determine settings from a part of the trace, which may begin inside a message */
void nt_foreign_learn(struct nt_foreign *foreign, const uint8_t *data, size_t size);

/*
 * nt_foreign_settle() - complete the metadata after the whole recording was read
 * @nr_cpus: Number of CPUs of the machine, or 0 if it is unknown
 *
 * Return: NULL, or a sentence if the trace cannot be decoded
 */
const char *nt_foreign_settle(struct nt_foreign *foreign, uint32_t nr_cpus,
			      const struct nt_foreign_clock *clock);

/* nt_foreign_words() - return @nr words of metadata in the layout of <linux/ntrace.h> */
const uint64_t *nt_foreign_words(const struct nt_foreign *foreign, size_t *nr);

/* The trace of a record that is a ring, in which the newest bytes have overwritten the oldest */
struct nt_foreign_ring {
	uint64_t	old;	/* number of bytes at the start that are trace of earlier sessions */
	/* offset at which 64 bytes are missing, because the driver gtrace does not read them; 0 if it is unknown */
	uint64_t	seam;
};

/* One of the pieces of memory that contain a record */
struct nt_foreign_bytes {
	const uint8_t	*data;
	size_t		size;
};

/* nt_foreign_wrapped() - return true if a record of @size bytes is a whole ring */
bool nt_foreign_wrapped(const struct nt_foreign *foreign, uint64_t size);

/*
 * nt_foreign_ring() - find old and missing bytes in a record for which nt_foreign_wrapped() returned true
 * @config: Configuration of the encoders of the record
 * @pieces: The bytes of the record, in order
 * @position: Number of bytes of the AUX buffer from the previous such record, or from the start of
 *	the buffer, to this record
 */
void nt_foreign_ring(const struct nt_config *config, const struct nt_foreign_bytes *pieces, size_t nr,
		     uint64_t position, struct nt_foreign_ring *ring);

#endif
