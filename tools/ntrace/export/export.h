/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions and structures that the formats of `ntrace export` share */
#ifndef NTRACE_TOOL_EXPORT_H
#define NTRACE_TOOL_EXPORT_H

#include <stdio.h>

#include "views/events.h"
#include "views/nested-calls.h"
#include "cli/put-text.h"
#include "cli/recording.h"
#include "session/file/whole-file.h"

struct export;

/* A JSON string, or the text null */
struct export_text {
	char	*text;
	size_t	size;
};

/*
 * The names of a function as JSON. An unknown name is "[unknown]" in @symbol and @object, for
 * formats that require a string, and null in the other members.
 */
struct export_name {
	struct export_text symbol, object;	/* export_text::text is NULL before the names are created */
	struct export_text symbol_or_null, object_or_null;
};

/* A thread with one name. A thread that changes its name has several of these structures. */
struct export_thread {
	int32_t		pid, tid;
	const char	*comm;
	struct export_text json;	/* @comm as a JSON string, or null */
	uint32_t	number;		/* index in export::threads, which are in the order of first use */
	/* the last call of export_thread() has created this thread */
	bool		is_new;
};

/* A tracepoint, with the process and the name of its thread */
struct export_event {
	struct nt_event	event;
	int32_t		pid;
	const char	*comm;
	char		*name, *json;		/* name such as "sched:sched_switch", and fields as JSON */
};

/*
 * The functions of a format. Calls are passed to take() in the order of time. If take() is NULL,
 * they are passed to enter() and leave(), one thread after the other. Each function returns 0, or
 * -1 with errno.
 */
struct export_format {
	const char	*name;
	/* called before the first call, when all functions and slices are known */
	int	(*begin)(struct export *e);
	int	(*take)(struct export *e, const struct nt_call *call,
			const struct nt_function *function);
	int	(*enter)(struct export *e, struct nested_call *call);
	int	(*leave)(struct export *e, const struct nested_call *call);
	/*
	 * Called with each tracepoint, in the order of time. For a format with take(), it is called
	 * between the calls of take(); for one with enter(), after all calls. NULL: no tracepoints
	 */
	int	(*event)(struct export *e, const struct export_event *event);
	int	(*end)(struct export *e);	/* called after the last call */
	void	(*free)(struct export *e);
	bool	own_file;			/* the format opens its output itself */
};

/*
 * Number of entries in export::slices, which caches the threads of slices. A slice is a part of the
 * trace of a CPU in which the CPU executed one thread. Calls in the order of time belong to the
 * current slice of each CPU, so that one entry for each CPU is enough.
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
	bool		insns;		/* --insns is given; folded stacks count instructions instead of ns */
	struct nt_session *session;
	const struct nt_calls *calls;
	struct nested_calls nested;
	FILE		*file;
	struct whole_file whole;
	char		*text;		/* buffer of bytes that are not yet written */
	size_t		len, room;
	uint64_t	nr;		/* number of calls that were exported */
	uint64_t	nr_events;
	struct events	events;
	NS_ARRAY(struct export_name) names;
	NS_ARRAY(struct export_thread) threads;
	/*
	 * cache of the threads of slices; the index is the number of the slice modulo EXPORT_SLICES
	 */
	struct export_slice slices[EXPORT_SLICES];
	void		*state;		/* data that only the functions of the format use */
	void		*writer;	/* same as @state, for formats whose @state is used by export_stacks_*() */
};

extern const struct export_format export_chrome, export_jsonl, export_speedscope, export_folded,
				  export_perfetto, export_sqlite, export_parquet, export_pprof;

/*
 * export_room() - return memory to which the caller writes up to @size bytes of the file, or NULL
 * with errno
 * export_done() - complete these bytes, which end at @end. Always return 0, so that a format's
 * function can return this value
 */
char *export_room(struct export *e, size_t size);
int export_done(struct export *e, const char *end);

/* export_flush() - write the bytes in the buffer to the file */
int export_flush(struct export *e);

/* export_name() - return the names of a function, or NULL if out of memory */
const struct export_name *export_name(struct export *e, uint32_t function);

/*
 * export_thread() - return the thread of a call, which is valid until the next call of this
 * function; NULL if out of memory
 */
const struct export_thread *export_thread(struct export *e, const struct nt_call *call);

/*
 * The sum of all calls of a function with the same callers in a thread. @ns and @insns do not
 * include the functions that it called.
 */
struct export_stack {
	const struct export_thread *thread;
	uint32_t	*path;			/* numbers of functions, the innermost first */
	uint32_t	depth;			/* number of functions in @path */
	uint64_t	calls, ns, ran, insns;
};

/* Functions for the formats that write the sums of stacks. They store their data in export::state. */
int export_stacks_begin(struct export *e);
int export_stacks_enter(struct export *e, struct nested_call *call);
int export_stacks_leave(struct export *e, const struct nested_call *call);
void export_stacks_free(struct export *e);

/* export_stacks_each() - pass each stack to @take. Return 0, or the value that @take returned */
int export_stacks_each(struct export *e, int (*take)(struct export *e, const struct export_stack *stack));

#endif /* NTRACE_TOOL_EXPORT_H */
