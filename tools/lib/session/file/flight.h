/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The record of a flight recorder: what the driver left in memory, as <linux/ntrace-flight.h>
 * describes it. Each byte of it may be damaged: what has a wrong check is left out, and counted.
 */
#ifndef NTRACE_SESSION_FLIGHT_H
#define NTRACE_SESSION_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ntrace-flight.h>

#include "session/world/setup.h"

/* How the end of the trace of a sink was found */
enum ns_flight_end {
	NS_FLIGHT_END_NONE,		/* the sink wrote nothing */
	NS_FLIGHT_END_STOPPED,		/* the driver stopped it: not a byte is missing */
	NS_FLIGHT_END_RESET,		/* it ran through a reset, and what came after that was cut off */
	NS_FLIGHT_END_FOUND,		/* by its bytes: up to a few thousand of the last are missing */
	NS_FLIGHT_END_SAVED,		/* as it was saved last: up to a quarter of a second is missing */
	NS_FLIGHT_END_OVERWRITTEN,	/* it ran on after the reset until nothing of before was left */
};

/* The trace of a sink */
struct ns_flight_trace {
	const struct ntrace_flight_sink *sink;
	const uint8_t	*area;		/* its bytes in the record */
	uint64_t	area_size;
	uint8_t		*bytes;		/* in order, oldest first; idle bytes are before the first */
	uint64_t	size;
	bool		middle;		/* begins anywhere in a message: the ring has wrapped */
	enum ns_flight_end end;
	uint64_t	end_time;	/* of the time CSR; 0: not known */
};

struct ns_flight {
	const uint8_t	*data;
	size_t		size;
	struct ntrace_flight_header head;
	struct ntrace_flight_machine machine;
	char		*kernel;	/* text of the kernel: lines NAME=VALUE; never NULL */
	struct ntrace_flight_cpu *cpus;
	size_t		nr_cpus;
	struct ntrace_flight_sink *sinks;
	struct ns_flight_trace *traces;	/* one for each sink */
	size_t		nr_sinks;
	struct ntrace_flight_module *modules;
	size_t		nr_modules;
	struct ntrace_flight_switch *switches;	/* by time; reserved is not there */
	uint32_t	*switch_cpus;	/* the CPU of each */
	size_t		nr_switches;
	struct ntrace_flight_session *sessions;	/* of perf, whose trace the area of a sink has */
	size_t		nr_sessions;
	struct ntrace_flight_gap *gaps;	/* by time */
	size_t		nr_gaps;
	struct ntrace_flight_cause cause;
	bool		has_cause;
	size_t		damaged;	/* entries with a wrong check */
	struct ns_setup	setup;
	char		error[256];
};

/*
 * ns_flight_open() - check a record, and find its parts
 * @data: must stay until ns_flight_close()
 *
 * Return: 0; -1: flight->error says why in a sentence. Call ns_flight_close() in both cases.
 */
int ns_flight_open(struct ns_flight *flight, const void *data, size_t size);
void ns_flight_close(struct ns_flight *flight);

/* Is this the header of a record, which is complete? sizeof(struct ntrace_flight_header) bytes are there. */
bool ns_flight_is_header(const void *data);

/*
 * ns_flight_find() - the record in a crash dump: an ELF core of physical memory, or memory as it is
 * @record: set to a copy, which the caller frees; pages that the dump leaves out are 0
 * @record_size: set to its size
 *
 * Copies of a record, which may be in any page of a file that is in memory, are not taken for one.
 *
 * Return: 0; -1: out of memory; 1: there is none
 */
int ns_flight_find(const void *dump, size_t size, uint8_t **record, size_t *record_size);

/*
 * ns_flight_words() - the words of PERF_RECORD_AUXTRACE_INFO, after its type
 * @nr: set to their number
 *
 * Return: the words, which the caller frees; NULL: out of memory
 */
uint64_t *ns_flight_words(const struct ns_flight *flight, size_t *nr);

/* ns_flight_time() - ns of the crashed kernel's log, of a value of the time CSR */
uint64_t ns_flight_time(const struct ns_flight *flight, uint64_t ticks);

/* ns_flight_line() - the value of a line of the kernel's text, copied to @value; false: none */
bool ns_flight_line(const struct ns_flight *flight, const char *name, char *value, size_t size);

/* Names for people */
const char *ns_flight_cause_name(uint32_t code);
const char *ns_flight_end_text(enum ns_flight_end end);

#endif /* NTRACE_SESSION_FLIGHT_H */
