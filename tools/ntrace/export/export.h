/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace export: what the formats share */
#ifndef NTRACE_TOOL_EXPORT_H
#define NTRACE_TOOL_EXPORT_H

#include <stdio.h>

#include "views/events.h"
#include "views/nested-calls.h"
#include "cli/put-text.h"
#include "cli/recording.h"
#include "session/file/whole-file.h"

struct export;

/* A string as JSON, or null */
struct export_text {
	char	*text;
	size_t	size;
};

/* The names of a function, for the formats that want a string: what is not known is "[unknown]" */
struct export_name {
	struct export_text symbol, object;	/* text is NULL: not made yet */
	struct export_text symbol_or_null, object_or_null;
};

/* A thread under one name */
struct export_thread {
	int32_t		pid, tid;
	const char	*comm;
	struct export_text json;	/* of comm */
	uint32_t	number;		/* from 0, of all that were met */
	bool		is_new;		/* it was not met before */
};

/* A tracepoint, and its thread */
struct export_event {
	struct nt_event	event;
	int32_t		pid;
	const char	*comm;
	char		*name, *json;		/* "sched:sched_switch", its fields */
};

/*
 * Calls are given to take() by time, or thread by thread to enter() and leave(). Each call returns
 * 0, or -1: errno says what failed.
 */
struct export_format {
	const char	*name;
	int	(*begin)(struct export *e);	/* all functions and slices are known */
	int	(*take)(struct export *e, const struct nt_call *call,
			const struct nt_function *function);
	int	(*enter)(struct export *e, struct nested_call *call);
	int	(*leave)(struct export *e, const struct nested_call *call);
	/* A tracepoint: by time between the calls for take(), after all of them for enter(). May be NULL */
	int	(*event)(struct export *e, const struct export_event *event);
	int	(*end)(struct export *e);	/* all calls were given */
	void	(*free)(struct export *e);
	bool	own_file;			/* the format opens export::whole by itself */
};

/* Who runs in a slice, if it is one thread under one name. Calls that come by time are of a slice on each CPU. */
#define EXPORT_SLICES	64

struct export_slice {
	bool		known;
	uint32_t	number, thread;
};

struct export {
	struct recording_options recording;
	const struct export_format *format;
	const char	*output;
	bool		insns;		/* --insns: folded counts instructions, not ns */
	struct nt_session *session;
	const struct nt_calls *calls;
	struct nested_calls nested;
	FILE		*file;
	struct whole_file whole;
	char		*text;		/* what is not yet written */
	size_t		len, room;
	uint64_t	nr;		/* calls */
	uint64_t	nr_events;
	struct events	events;
	NS_ARRAY(struct export_name) names;
	NS_ARRAY(struct export_thread) threads;
	struct export_slice slices[EXPORT_SLICES];	/* by their numbers */
	void		*state;		/* the format's */
};

extern const struct export_format export_chrome, export_jsonl, export_speedscope, export_folded,
				  export_perfetto, export_sqlite;

/*
 * export_room() - where to write up to @size bytes of the file; NULL: errno says what failed
 * export_done() - they end at @end. Returns 0, so that a format can end with it
 */
char *export_room(struct export *e, size_t size);
int export_done(struct export *e, const char *end);

/* export_flush() - write what waits */
int export_flush(struct export *e);

/* export_name() - NULL: no memory */
const struct export_name *export_name(struct export *e, uint32_t function);

/* export_thread() - who makes a call; NULL: no memory. It stays until the next one is asked for */
const struct export_thread *export_thread(struct export *e, const struct nt_call *call);

#endif /* NTRACE_TOOL_EXPORT_H */
