/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Read the tracepoints of a recording, for the commands that print them.
 */
#ifndef NTRACE_TOOL_EVENTS_H
#define NTRACE_TOOL_EVENTS_H

#include "session/world/events.h"
#include "session/session.h"

struct events {
	struct nt_session *session;
	const struct nt_filter *filter;
	struct nt_events *all;
	size_t		next;
	bool		errors;		/* the formats cannot be read, which was reported */
};

/*
 * events_open() - open the events of a session, which was opened with
 * nt_session_options::keep_events. Return -1 with errno if out of memory.
 * events_next() - get the next event that passes the filter, in the order of time, up to the time
 * @until (ns)
 *
 * events_next() returns false after the last event.
 */
int events_open(struct events *events, struct nt_session *session, const struct nt_filter *filter);
bool events_next(struct events *events, uint64_t until, struct nt_event *event);
bool events_any(const struct events *events);
void events_close(struct events *events);

/*
 * event_name() - return a name such as "sched:sched_switch", in characters that JSON and terminals
 * accept unchanged
 * event_fields() - return a text such as "prev_comm=sh prev_pid=1 ...", without control characters
 * event_json() - return a JSON object such as {"prev_comm": "sh", ...}
 *
 * The caller frees the text. Return NULL with errno if out of memory.
 */
char *event_name(const struct nt_event *event);
char *event_fields(const struct nt_event *event);
char *event_json(const struct nt_event *event);

#endif /* NTRACE_TOOL_EVENTS_H */
