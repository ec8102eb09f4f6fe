/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the kinds of `ntrace script` share. Each kind is one file, views/script-*.c. */
#ifndef NTRACE_TOOL_SCRIPT_H
#define NTRACE_TOOL_SCRIPT_H

#include "events.h"
#include "cli/lines.h"
#include "cli/put-text.h"
#include "session/array.h"
#include "session/flow/branch.h"
#include "session/calls/chains.h"

enum field {
	F_COMM, F_PID, F_TID, F_CPU, F_TIME, F_FLAGS, F_IP, F_SYM, F_DSO, F_ADDR, F_SYMOFF, F_MAX,
};

struct script {
	struct nt_session *session;
	unsigned int	fields;		/* columns to print; bit N is set for value N of enum field */
	bool		json, disasm;
	struct nt_filter filter;
	/* function to which the output is limited, including the calls inside it; NULL: all */
	const char	*function;
	struct nt_chains *chains;	/* call chains, to find calls of @function; NULL: not needed */
	struct merge	*merge;
	struct events	events;		/* tracepoints to print; none if @function is set */
};

/* Print the whole recording as one kind of output. Return 0, or -1 after an error, which was reported. */
int script_branches(struct script *script);
int script_insns(struct script *script);
int script_insns_inside(struct script *script);
int script_calls(struct script *script);
int script_events(struct script *script);

struct script_part;

/*
 * script_merge_events() - add all tracepoints to script::merge
 * script_print_events() - print tracepoints up to the time @until to the standard output
 *
 * Return -1 with errno if out of memory, or if writing failed.
 */
int script_merge_events(struct script *script);
int script_print_events(struct script_part *p, uint64_t until);

static inline bool script_has(const struct script *script, enum field field)
{
	return script->fields >> field & 1;
}

/* Cached text of the columns of name, process, thread and CPU, and of the column of the time */
struct script_ids {
	const char *comm;
	int32_t	pid, tid, cpu;
	size_t	len;		/* size of @text in bytes; 0: nothing is cached */
	char	text[128];
	uint64_t time;
	size_t	time_len;	/* size of @time_text in bytes; 0: nothing is cached */
	char	time_text[32];
};

/*
 * Number of entries of a cache of places. Most branches have a source and a destination that were
 * printed before. The columns of source and destination have separate caches.
 */
#define SCRIPT_PLACES	1024

enum script_column { SCRIPT_FROM, SCRIPT_TO, SCRIPT_COLUMNS };

struct script_place {
	uint64_t	space, addr;
	size_t		symbol_len, object_len;
	struct nt_place	place;
};

#define SCRIPT_PLACE_SIZE	100	/* maximum size in bytes of the text of a place without its names */

/* The lines of one stretch, for all kinds of output */
struct script_part {
	struct script	*script;
	struct lines	lines;
	struct nt_chain	*chain;		/* call chain of this stretch, from script::chains; NULL: not needed */
	uint64_t	at;		/* address of the next instruction, for --insns inside calls; 0: not known */
	/* at least one line was added; the first of them reports the loss of trace before it, if nt_who::lost is set */
	bool		has_lines;
	struct script_ids ids;		/* cached columns of the last line */
	/* for each column with an address, a cache of the texts of places, by address */
	struct script_place places[SCRIPT_COLUMNS][SCRIPT_PLACES];
	struct put_high	high[SCRIPT_COLUMNS];	/* for each column, the text of the last address's upper 32 bits */
};

/* Functions of struct nt_consumer and struct nt_branch_sink, for all kinds of output */
void *script_begin(void *ctx, uint64_t stretch);
int script_error(void *part, const struct nt_who *who, const struct nt_item *item);
int script_end(void *ctx, void *part, const struct nt_who *who, bool lost);

/*
 * script_line() - start a line with the thread @who and the time @time. If trace is missing before
 * the stretch, first add a line that reports this loss. Return -1 if out of memory.
 */
int script_line(struct script_part *p, const struct nt_who *who, uint64_t time);

/* script_free() - free the data of a stretch */
void script_free(struct script_part *p);

/*
 * script_inside() - process a branch, and find out if the thread is inside a call of
 * script::function
 * @before: Set to true if the thread is inside a call of the function before the branch
 * @after: Set to true if the thread is inside a call of the function after the branch
 *
 * If script::function is NULL, *before and *after are set to true. Return -1 if out of memory.
 */
int script_inside(struct script_part *p, const struct nt_who *who, const struct nt_branch *branch,
		  bool *before, bool *after);

void script_add_who(struct script_part *p, const struct nt_who *who, uint64_t time);

/*
 * script_place() - return the place of an address, which is valid until the next call with the same
 * column
 * script_put_place() - write the text of a place to @to, which must have room for the names of the
 * place and SCRIPT_PLACE_SIZE more bytes
 *
 * If no names are printed, the place is empty. Otherwise script_place() calls script_find_place(), and
 * script_put_place() calls script_put_names().
 */
const struct script_place *script_find_place(struct script_part *p, enum script_column column,
					     const struct nt_who *who, uint64_t addr);
char *script_put_names(const struct script *s, char *to, const struct script_place *at);

/* Return the place of an address. Address 0 has an empty place, because processes have no code there. */
static inline const struct script_place *script_place(struct script_part *p, enum script_column column,
						      const struct nt_who *who, uint64_t addr)
{
	const unsigned int names = 1U << F_SYM | 1U << F_DSO | 1U << F_SYMOFF;
	static const struct script_place none;

	if (!addr || !(p->script->json || p->script->fields & names))
		return &none;
	return script_find_place(p, column, who, addr);
}

static inline char *script_put_place(struct script_part *p, char *to, enum script_column column,
				     const struct script_place *at, uint64_t addr)
{
	to = put_hex(PUT(to, " "), addr, &p->high[column]);
	return p->script->fields & (1U << F_SYM | 1U << F_DSO) ? script_put_names(p->script, to, at) : to;
}

/*
 * script_json_who() starts a JSON object with the time and the thread. script_json_place() adds a
 * member @name, which is an object with address, symbol, offset and object.
 */
void script_json_who(struct script_part *p, const struct nt_who *who, uint64_t time);
void script_json_place(struct script_part *p, const char *name, enum script_column column,
		       const struct nt_who *who, uint64_t addr);

#endif /* NTRACE_TOOL_SCRIPT_H */
