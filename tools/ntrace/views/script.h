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
	unsigned int	fields;		/* bit mask of enum field */
	bool		json, disasm;
	struct nt_filter filter;
	const char	*function;	/* function whose calls select the output; NULL: all */
	struct nt_chains *chains;	/* NULL: everything is printed, or the kind does not need chains */
	struct merge	*merge;
	struct events	events;		/* no events are printed with @function */
	bool		errors;
};

/* Each function prints the whole recording. Return 0, or -1 after an error, which was reported. */
int script_branches(struct script *script);
int script_insns(struct script *script);
int script_insns_inside(struct script *script);
int script_calls(struct script *script);
int script_events(struct script *script);

struct script_part;

/*
 * script_add_event() - add the line of a tracepoint
 * script_merge_events() - add all tracepoints to script::merge
 * script_print_events() - print tracepoints up to a time to the standard output
 *
 * Return -1 with errno if out of memory, or if writing failed.
 */
int script_add_event(struct script_part *p, const struct nt_event *event);
int script_merge_events(struct script *script);
int script_print_events(struct script_part *p, uint64_t until);

static inline bool script_has(const struct script *script, enum field field)
{
	return script->fields >> field & 1;
}

/* The text for name, thread and CPU in a line, and for the time */
struct script_ids {
	const char *comm;
	int32_t	pid, tid, cpu;
	size_t	len;		/* 0: not known */
	char	text[128];
	uint64_t time;
	size_t	time_len;	/* 0: not known */
	char	time_text[32];
};

/*
 * Cache of the places of earlier branches, which often repeat. Each of the two columns has its own
 * cache.
 */
#define SCRIPT_PLACES	1024

enum script_column { SCRIPT_FROM, SCRIPT_TO, SCRIPT_COLUMNS };

struct script_place {
	uint64_t	space, addr;
	size_t		symbol_len, object_len;
	struct nt_place	place;
};

#define SCRIPT_PLACE_SIZE	100	/* bytes of the text of a place, without the names */

/* The text of one stretch, whatever its kind */
struct script_part {
	struct script	*script;
	struct lines	lines;
	struct nt_chain	*chain;		/* cursor of script::chains */
	uint64_t	at;		/* current address for --insns inside calls; 0: not known */
	/* a line was added; the first one reports an earlier loss, see nt_who::lost */
	bool		has_lines;
	struct script_ids ids;		/* ids of the last line */
	struct script_place places[SCRIPT_COLUMNS][SCRIPT_PLACES];	/* hash tables by address */
	struct put_high	high[SCRIPT_COLUMNS];	/* digits of the last address */
	bool		errors;
};

/* Functions for struct nt_consumer and struct nt_branch_sink */
void *script_begin(void *ctx, uint64_t stretch);
int script_error(void *part, const struct nt_who *who, const struct nt_item *item);
int script_end(void *ctx, void *part, const struct nt_who *who, bool lost);

/*
 * script_line() - start a line of @who with @time, after a line that reports an earlier loss. Return -1 if out
 * of memory.
 */
int script_line(struct script_part *p, const struct nt_who *who, uint64_t time);

/* script_free() - free a part */
void script_free(struct script_part *p);

/*
 * script_inside() - process a branch, and check for calls of script::function
 * @before: Set to true if one of its calls is open before the branch
 * @after: Set to true if one of its calls is open after the branch
 *
 * Both are true without a function. Return -1 if out of memory.
 */
int script_inside(struct script_part *p, const struct nt_who *who, const struct nt_branch *branch,
		  bool *before, bool *after);

void script_add_who(struct script_part *p, const struct nt_who *who, uint64_t time);

/*
 * script_place() - return the place of an address, valid until the next call for the same column
 * script_put_place() - write its text, for which the names and SCRIPT_PLACE_SIZE are sufficient
 * space
 *
 * The place is empty if no names are printed. The two functions call script_find_place() and
 * script_put_names() if names are printed.
 */
const struct script_place *script_find_place(struct script_part *p, enum script_column column,
					     const struct nt_who *who, uint64_t addr);
char *script_put_names(const struct script *s, char *to, const struct script_place *at);

/* Return no place for address 0, at which processes have no code. */
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

/* Start a JSON object; add a member "name": {address, symbol, offset, object}. */
void script_json_who(struct script_part *p, const struct nt_who *who, uint64_t time);
void script_json_place(struct script_part *p, const char *name, enum script_column column,
		       const struct nt_who *who, uint64_t addr);

#endif /* NTRACE_TOOL_SCRIPT_H */
