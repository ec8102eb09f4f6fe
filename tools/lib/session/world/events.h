/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Tracepoints that were recorded beside the trace, by the formats that the recording has of them.
 *
 * A recording may come from anyone. The formats are read by libtraceevent, but the text that a format says
 * how to print is not made: it can read any address. Fields are given as they stand in the sample.
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
	uint64_t	id;		/* of the kernel that was recorded */
	const void	*raw;		/* of the sample, as the kernel wrote it */
	size_t		raw_size;
	const void	*priv;
};

enum nt_event_field_kind {
	NT_FIELD_SIGNED,	/* @number, as int64_t */
	NT_FIELD_UNSIGNED,
	NT_FIELD_ADDRESS,	/* or flags: a number that reads better in hexadecimal */
	NT_FIELD_TEXT,		/* @bytes, up to @size: no NUL is in them */
	NT_FIELD_BYTES,		/* an array */
	NT_FIELD_DAMAGED,	/* the sample is too short for it */
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
 * nt_events_new() - the tracepoints of a session that was opened with nt_session_options::keep_events
 *
 * Return: NULL: out of memory. Damaged formats are reported by nt_events_error(); the tracepoints whose
 * formats could be read before have names and fields.
 */
struct nt_events *nt_events_new(const struct nt_session *session);
void nt_events_free(struct nt_events *events);

/* nt_events_error() - a sentence that says why formats could not be read; NULL: all could */
const char *nt_events_error(const struct nt_events *events);

/* nt_events_get() - by time, from @nth = 0; false: no more. The event stays until nt_events_free() */
bool nt_events_get(const struct nt_events *events, size_t nth, struct nt_event *event);

/* nt_event_field() - of what belongs to this event alone, from @nth = 0; false: no more */
bool nt_event_field(const struct nt_event *event, size_t nth, struct nt_event_field *field);

#endif /* NTRACE_SESSION_EVENTS_H */
