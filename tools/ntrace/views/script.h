/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kinds of `ntrace script` share; each is one file, views/script-*.c. */
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

#define NS_PER_S	UINT64_C(1000000000)

struct script {
	struct nt_session *session;
	unsigned int	fields;		/* bit N: enum field N */
	bool		json, disasm;
	struct nt_filter filter;
	const char	*function;	/* only what is inside its calls; NULL: all */
	struct nt_chains *chains;	/* NULL: all, or the kind needs none */
	struct merge	*merge;
	struct events	events;		/* none with @function */
	bool		errors;
};

/* Each prints all of the recording. 0; -1: it failed, and was reported */
int script_branches(struct script *script);
int script_insns(struct script *script);
int script_insns_inside(struct script *script);
int script_calls(struct script *script);
int script_events(struct script *script);

struct script_part;

/*
 * script_add_event() - the line of a tracepoint; script_merge_events() - all of them to script::merge;
 * script_print_events() - those up to a time to the standard output. -1: no memory, or writing failed: errno
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
	size_t	len;		/* 0: it is not known */
	char	text[128];
	uint64_t time;
	size_t	time_len;	/* 0: it is not known */
	char	time_text[32];
};

/* Places of the branches before: the same ones come again. Each of the two columns has its own. */
#define SCRIPT_PLACES	1024

enum script_column { SCRIPT_FROM, SCRIPT_TO, SCRIPT_COLUMNS };

struct script_place {
	uint64_t	space, addr;
	size_t		symbol_len, object_len;
	struct nt_place	place;
};

#define SCRIPT_PLACE_SIZE	100	/* of the text of a place, beside the names */

/* The text of one stretch, whatever its kind */
struct script_part {
	struct script	*script;
	struct lines	lines;
	struct nt_chain	*chain;		/* of script::chains */
	uint64_t	at;		/* of --insns inside calls: where the CPU executes; 0: not known */
	bool		has_lines;	/* the first one says what was lost before, see nt_who::lost */
	struct script_ids ids;		/* of the last line */
	struct script_place places[SCRIPT_COLUMNS][SCRIPT_PLACES];	/* by address */
	struct put_high	high[SCRIPT_COLUMNS];	/* of the last address */
	bool		errors;
};

/* Calls of struct nt_consumer and struct nt_branch_sink */
void *script_begin(void *ctx, uint64_t stretch);
int script_error(void *part, const struct nt_who *who, const struct nt_item *item);
int script_end(void *ctx, void *part, const struct nt_who *who, bool lost);

/* script_line() - a line of @who begins, after one that says what was lost before. -1: out of memory */
int script_line(struct script_part *p, const struct nt_who *who);

/* script_free() - a part that is no longer needed */
void script_free(struct script_part *p);

/*
 * script_inside() - the branch follows; is a call of script::function open before and after it? Both are
 * true without one. -1: out of memory
 */
int script_inside(struct script_part *p, const struct nt_who *who, const struct nt_branch *branch,
		  bool *before, bool *after);

void script_add_who(struct script_part *p, const struct nt_who *who, uint64_t time);

/*
 * script_place() - what is known of an address, until the next call for the same column; nothing, if no
 * names are printed. script_put_place() - its text, for which names and SCRIPT_PLACE_SIZE are room enough.
 * script_find_place(), script_put_names() - what these two call if names are printed
 */
const struct script_place *script_find_place(struct script_part *p, enum script_column column,
					     const struct nt_who *who, uint64_t addr);
char *script_put_names(const struct script *s, char *to, const struct script_place *at);

/* No process has code at address 0. */
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

/* Members of an object of JSON: begins it; "name": {address, symbol, offset, object} */
void script_json_who(struct script_part *p, const struct nt_who *who, uint64_t time);
void script_json_place(struct script_part *p, const char *name, enum script_column column,
		       const struct nt_who *who, uint64_t addr);

#endif /* NTRACE_TOOL_SCRIPT_H */
