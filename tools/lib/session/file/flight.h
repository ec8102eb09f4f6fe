/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read the record that the driver's flight recorder has left in memory. <linux/ntrace-flight.h>
 * describes its format. Each byte of the record may be damaged. Entries with a wrong checksum are
 * not used, but counted in ns_flight::damaged.
 */
#ifndef NTRACE_SESSION_FLIGHT_H
#define NTRACE_SESSION_FLIGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/ntrace-flight.h>

#include "session/world/setup.h"

/* How ns_flight_read_trace() found the end of a sink's trace */
enum ns_flight_end {
	NS_FLIGHT_END_NONE,		/* the sink wrote nothing */
	NS_FLIGHT_END_STOPPED,		/* the driver stopped the sink, so no byte is missing */
	NS_FLIGHT_END_RESET,		/* the sink did not stop at a reset; trace from after the reset was removed */
	/* the end was found in the bytes of the area; up to a few thousand of the last bytes are missing */
	NS_FLIGHT_END_FOUND,
	/* the end is the last position that the driver saved; up to a quarter of a second of trace is missing */
	NS_FLIGHT_END_SAVED,
	/* the sink continued to write after the reset until it had overwritten all trace from before the reset */
	NS_FLIGHT_END_OVERWRITTEN,
};

/* The trace of a sink */
struct ns_flight_trace {
	const struct ntrace_flight_sink *sink;
	const uint8_t	*area;		/* bytes of the sink's ring in the record */
	uint64_t	area_size;
	uint8_t		*bytes;		/* trace, the oldest first; idle bytes may precede the trace */
	uint64_t	size;
	/* the first byte may be inside a message, because the ring has wrapped */
	bool		middle;
	enum ns_flight_end end;
	uint64_t	end_time;	/* value of the time CSR at the end of the trace; 0: not known */
};

struct ns_flight {
	const uint8_t	*data;
	size_t		size;
	struct ntrace_flight_header head;
	struct ntrace_flight_machine machine;
	char		*kernel;	/* lines NAME=VALUE that the kernel wrote; never NULL */
	struct ntrace_flight_cpu *cpus;
	size_t		nr_cpus;
	struct ntrace_flight_sink *sinks;
	struct ns_flight_trace *traces;	/* trace of each sink */
	size_t		nr_sinks;
	struct ntrace_flight_module *modules;
	size_t		nr_modules;
	struct ntrace_flight_switch *switches;	/* context switches, sorted by time */
	uint32_t	*switch_cpus;	/* CPU of each element of @switches */
	size_t		nr_switches;
	struct ntrace_flight_session *sessions;	/* sessions (perf events) whose trace is in the area of a sink */
	size_t		nr_sessions;
	struct ntrace_flight_gap *gaps;	/* periods without trace, sorted by time */
	size_t		nr_gaps;
	struct ntrace_flight_cause cause;
	bool		has_cause;
	size_t		damaged;	/* number of entries with a wrong checksum */
	struct ns_setup	setup;
	char		error[256];
};

/*
 * ns_flight_open() - check a record, and find its parts
 * @data: Must stay valid until ns_flight_close()
 *
 * Return: 0, or -1 with a sentence in flight->error. Call ns_flight_close() in both cases.
 */
int ns_flight_open(struct ns_flight *flight, const void *data, size_t size);
void ns_flight_close(struct ns_flight *flight);

/*
 * Return true if @data is the header of a complete record. It must have sizeof(struct
 * ntrace_flight_header) bytes.
 */
bool ns_flight_is_header(const void *data);

/*
 * ns_flight_find() - find the record in a crash dump, which is an ELF core or raw physical memory
 * @record: Set to a copy, in which pages that the dump omits are 0; the caller frees it
 * @record_size: Set to the size of the copy in bytes
 *
 * In an ELF core, the function ignores copies of a record in the page cache, which are at other addresses.
 *
 * Return: 0; -1 if out of memory; 1 if the dump has no record
 */
int ns_flight_find(const void *dump, size_t size, uint8_t **record, size_t *record_size);

/*
 * ns_flight_words() - return the words of PERF_RECORD_AUXTRACE_INFO, after its type
 * @nr: Set to the number of words
 *
 * The caller frees the words. Return NULL if out of memory.
 */
uint64_t *ns_flight_words(const struct ns_flight *flight, size_t *nr);

/* ns_flight_time() - convert a value of the time CSR to ns of the crashed kernel's log */
uint64_t ns_flight_time(const struct ns_flight *flight, uint64_t ticks);

/*
 * ns_flight_line() - find the line @name=VALUE of ns_flight::kernel, and copy VALUE to @value
 *
 * Return false if the text does not have the line.
 */
bool ns_flight_line(const struct ns_flight *flight, const char *name, char *value, size_t size);

/* Return the text that messages show for a cause, or for enum ns_flight_end. */
const char *ns_flight_cause_name(uint32_t code);
const char *ns_flight_end_text(enum ns_flight_end end);

/* ---- Functions of flight-parts.c, which flight.c and flight-trace.c call ---- */

int ns_flight_fail(struct ns_flight *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Copy the header to ns_flight::head, and check it. Return 0, or -1 with ns_flight::error. */
int ns_flight_check_header(struct ns_flight *f);

/* Return the first part of a type whose entries have at least @entry bytes, or NULL. */
const struct ntrace_flight_part *ns_flight_part(const struct ns_flight *f, uint32_t type, size_t entry);

/*
 * ns_flight_copy_part() - copy the first @entry bytes of each entry of a part, and set *nr to their number
 * ns_flight_copy_sealed() - do the same, and check the checksum of the whole part
 * ns_flight_read_entries() - copy only the valid entries; @where, if not NULL, receives their indices
 *
 * Return NULL with ns_flight::error if out of memory, or if a sealed part is missing or has a wrong checksum.
 */
void *ns_flight_copy_part(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr);
void *ns_flight_copy_sealed(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr, const char *what);
void *ns_flight_read_entries(struct ns_flight *f, uint32_t type, size_t entry, size_t *nr, uint32_t *where);

/* Return true if the checksum of an entry is right. Otherwise count it as damaged, unless all its bytes are 0. */
bool ns_flight_entry_is_good(struct ns_flight *f, const void *entry, size_t size, uint32_t type,
			     size_t nth);

/* ---- Function of flight-trace.c, which flight.c calls ---- */

/* Find the trace of a sink. Return 0, or -1 with ns_flight::error. */
int ns_flight_read_trace(struct ns_flight *f, size_t sink);

#endif /* NTRACE_SESSION_FLIGHT_H */
