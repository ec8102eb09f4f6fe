/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read tracepoints that were recorded together with the trace. The recording contains their
 * formats.
 *
 * A recording may be malicious. libtraceevent reads the formats, but their print expressions are
 * not evaluated, because they can read any address. Fields are returned as they are in the sample.
 *
 * Without libtraceevent the library does not have these functions.
 */
#ifndef NTRACE_SESSION_EVENTS_H
#define NTRACE_SESSION_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nt_session;
struct nt_events;

struct nt_event {
	uint64_t	time;		/* ns */
	int32_t		cpu, pid, tid;	/* -1: not known */
	const char	*system, *name;	/* "sched", "sched_switch"; NULL: the recording has no format of it */
	uint64_t	id;		/* number that the recorded kernel gave the tracepoint */
	const void	*raw;		/* raw data of the sample */
	size_t		raw_size;
	const void	*priv;
};

enum nt_event_field_kind {
	NT_FIELD_SIGNED,	/* @number, as int64_t */
	NT_FIELD_UNSIGNED,
	NT_FIELD_ADDRESS,	/* an address, or flags; both are easier to read in hexadecimal */
	NT_FIELD_TEXT,		/* @bytes, with @size bytes and no NUL */
	NT_FIELD_BYTES,		/* an array */
	NT_FIELD_DAMAGED,	/* the sample is too short for the field */
};

struct nt_event_field {
	const char	*name;
	enum nt_event_field_kind kind;
	uint64_t	number;
	const void	*bytes;
	size_t		size;
	size_t		each;		/* bytes of an element of the array: 1, 2, 4 or 8 */
};

/*
 * nt_events_new() - read the tracepoints of a session opened with nt_session_options::keep_events
 *
 * Return NULL if out of memory. nt_events_error() reports damaged formats; tracepoints whose
 * formats precede the damage have names and fields.
 */
struct nt_events *nt_events_new(const struct nt_session *session);
void nt_events_free(struct nt_events *events);

/*
 * nt_events_error() - return a sentence with the reason why formats could not be read; NULL if all
 * could
 */
const char *nt_events_error(const struct nt_events *events);

/*
 * nt_events_get() - get an event, by time, from @nth = 0
 *
 * Return false after the last one. The event stays valid until nt_events_free().
 */
bool nt_events_get(const struct nt_events *events, size_t nth, struct nt_event *event);

/*
 * nt_event_field() - get a field that is specific to this event, from @nth = 0
 *
 * Return false after the last one.
 */
bool nt_event_field(const struct nt_event *event, size_t nth, struct nt_event_field *field);

#endif /* NTRACE_SESSION_EVENTS_H */
