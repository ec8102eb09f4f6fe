/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and structures that the formats of ntrace export share */
#ifndef NTRACE_TOOL_EXPORT_H
#define NTRACE_TOOL_EXPORT_H

#include <stdio.h>

#include "views/events.h"
#include "views/nested-calls.h"
#include "cli/put-text.h"
#include "cli/recording.h"
#include "session/file/whole-file.h"

struct export;

/* A JSON string, or null */
struct export_text {
	char	*text;
	size_t	size;
};

/*
 * The names of a function. An unknown name is "[unknown]" for formats that require a string, or
 * null.
 */
struct export_name {
	struct export_text symbol, object;	/* text is NULL until they are created */
	struct export_text symbol_or_null, object_or_null;
};

/* A thread under one name */
struct export_thread {
	int32_t		pid, tid;
	const char	*comm;
	struct export_text json;	/* @comm as JSON */
	uint32_t	number;		/* number of the thread, from 0, in the order of first use */
	bool		is_new;		/* export_thread() has returned it for the first time */
};

/* A tracepoint, and its thread */
struct export_event {
	struct nt_event	event;
	int32_t		pid;
	const char	*comm;
	char		*name, *json;		/* name such as "sched:sched_switch", and fields as JSON */
};

/*
 * Functions of a format. Calls are passed to take() by time, or thread by thread to enter() and
 * leave(). Each function returns 0, or -1 with errno.
 */
struct export_format {
	const char	*name;
	int	(*begin)(struct export *e);	/* called when all functions and slices are known */
	int	(*take)(struct export *e, const struct nt_call *call,
			const struct nt_function *function);
	int	(*enter)(struct export *e, struct nested_call *call);
	int	(*leave)(struct export *e, const struct nested_call *call);
	/*
	 * Called with a tracepoint, by time between the calls of take(), or after all calls of
	 * enter(). May be NULL
	 */
	int	(*event)(struct export *e, const struct export_event *event);
	int	(*end)(struct export *e);	/* called after the last call */
	void	(*free)(struct export *e);
	bool	own_file;			/* the format itself opens export::whole */
};

/*
 * Cache of the thread of a slice, if the slice has one thread under one name. Calls that arrive by
 * time belong to one slice on each CPU.
 */
#define EXPORT_SLICES	64

struct export_slice {
	bool		known;
	uint32_t	number, thread;
};

struct export {
	struct recording_options recording;
	const struct export_format *format;
	const char	*output;
	bool		insns;		/* --insns; folded stacks count instructions instead of ns */
	struct nt_session *session;
	const struct nt_calls *calls;
	struct nested_calls nested;
	FILE		*file;
	struct whole_file whole;
	char		*text;		/* buffer of text to write */
	size_t		len, room;
	uint64_t	nr;		/* number of calls */
	uint64_t	nr_events;
	struct events	events;
	NS_ARRAY(struct export_name) names;
	NS_ARRAY(struct export_thread) threads;
	struct export_slice slices[EXPORT_SLICES];	/* indexed by slice number, modulo EXPORT_SLICES */
	void		*state;		/* state of the format */
	void		*writer;	/* state of a format that writes stacks */
};

extern const struct export_format export_chrome, export_jsonl, export_speedscope, export_folded,
				  export_perfetto, export_sqlite, export_parquet, export_pprof;

/*
 * export_room() - return space for up to @size bytes of the file, or NULL with errno
 * export_done() - end the bytes at @end. Return 0, so that a format's function can return this
 */
char *export_room(struct export *e, size_t size);
int export_done(struct export *e, const char *end);

/* export_flush() - write the buffer */
int export_flush(struct export *e);

/* export_name() - return the names of a function, or NULL if out of memory */
const struct export_name *export_name(struct export *e, uint32_t function);

/*
 * export_thread() - return the thread of a call, valid until the next call of this; NULL if out of
 * memory
 */
const struct export_thread *export_thread(struct export *e, const struct nt_call *call);

/* All calls of a thread with the same callers, without the calls that they made */
struct export_stack {
	const struct export_thread *thread;
	uint32_t	*path;			/* numbers of functions, the innermost first */
	uint32_t	depth;			/* number of functions in @path */
	uint64_t	calls, ns, insns;
};

/* Functions of a format that writes the sums of stacks. They use export::state. */
int export_stacks_begin(struct export *e);
int export_stacks_enter(struct export *e, struct nested_call *call);
int export_stacks_leave(struct export *e, const struct nested_call *call);
void export_stacks_free(struct export *e);

/* export_stacks_each() - pass each stack to @take. Return 0, or the value that @take returned */
int export_stacks_each(struct export *e, int (*take)(struct export *e, const struct export_stack *stack));

#endif /* NTRACE_TOOL_EXPORT_H */
