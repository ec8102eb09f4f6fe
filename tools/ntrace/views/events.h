/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of a recording, for the commands that print them; none in a build without libtraceevent */
#ifndef NTRACE_TOOL_EVENTS_H
#define NTRACE_TOOL_EVENTS_H

#include "session/world/events.h"
#include "session/session.h"

struct events {
	struct nt_session *session;
	const struct nt_filter *filter;
	struct nt_events *all;
	size_t		next;
	bool		errors;		/* the formats are damaged, which was reported */
};

/*
 * events_open() - of a session with keep_events. -1: out of memory, errno
 * events_next() - by time, up to @until, of those that pass the filter; false: no more
 */
int events_open(struct events *events, struct nt_session *session, const struct nt_filter *filter);
bool events_next(struct events *events, uint64_t until, struct nt_event *event);
bool events_any(const struct events *events);
void events_close(struct events *events);

/*
 * event_name() - "sched:sched_switch", of characters that JSON and terminals take as they are; event_fields() - "prev_comm=sh prev_pid=1 ...", without control
 * characters; event_json() - {"prev_comm": "sh", ...}. The caller's to free; NULL: no memory, errno
 */
char *event_name(const struct nt_event *event);
char *event_fields(const struct nt_event *event);
char *event_json(const struct nt_event *event);

#endif /* NTRACE_TOOL_EVENTS_H */
