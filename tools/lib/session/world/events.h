/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read tracepoints that were recorded together with the trace. The recording contains the formats
 * of these tracepoints.
 *
 * A recording may be malicious. libtraceevent reads the formats of fields, but print expressions
 * are not evaluated, because such an expression can read any address of this process. The functions
 * return the value of each field as the sample contains it.
 *
 * Without libtraceevent, events have neither names nor fields.
 */
#ifndef NTRACE_SESSION_EVENTS_H
#define NTRACE_SESSION_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nt_session;
struct nt_events;

struct nt_event {
	uint64_t	time;		/* time of the event, ns */
	int32_t		cpu, pid, tid;	/* CPU, process and thread of the event; -1: not known */
	/* names such as "sched" and "sched_switch"; NULL: the format of the tracepoint is missing or damaged */
	const char	*system, *name;
	uint64_t	id;		/* number that the recorded kernel gave the tracepoint */
	const void	*raw;		/* raw data of the sample */
	size_t		raw_size;
	const void	*priv;
};

enum nt_event_field_kind {
	NT_FIELD_SIGNED,	/* a signed integer, in @number as int64_t */
	NT_FIELD_UNSIGNED,
	NT_FIELD_ADDRESS,	/* an address or flags, in @number, which programs should show in hexadecimal */
	NT_FIELD_TEXT,		/* a text in @bytes, with @size bytes and without a NUL */
	NT_FIELD_BYTES,		/* an array, or a number of another size than 1, 2, 4 or 8 bytes, in @bytes */
	NT_FIELD_DAMAGED,	/* the sample is too short for the field */
};

struct nt_event_field {
	const char	*name;
	enum nt_event_field_kind kind;
	uint64_t	number;
	const void	*bytes;
	size_t		size;
	size_t		each;		/* size of an element of the array in bytes, which is 1, 2, 4 or 8 */
};

/*
 * nt_events_new() - read the tracepoints of a session opened with nt_session_options::keep_events
 *
 * Return NULL if out of memory. nt_events_error() reports damaged formats. Tracepoints whose
 * formats precede the damaged format have names and fields.
 */
struct nt_events *nt_events_new(const struct nt_session *session);
void nt_events_free(struct nt_events *events);

/*
 * nt_events_error() - return a sentence with the reason why formats could not be read, or NULL if
 * all formats were read
 */
const char *nt_events_error(const struct nt_events *events);

/*
 * nt_events_get() - get the event with index @nth, from 0, in the order of time
 *
 * Return false after the last event. The event stays valid until nt_events_free().
 */
bool nt_events_get(const struct nt_events *events, size_t nth, struct nt_event *event);

/*
 * nt_event_field() - get the field with index @nth, from 0, of the tracepoint's fields, without the
 * fields that all tracepoints have in common
 *
 * Return false after the last field.
 */
bool nt_event_field(const struct nt_event *event, size_t nth, struct nt_event_field *field);

#endif /* NTRACE_SESSION_EVENTS_H */
