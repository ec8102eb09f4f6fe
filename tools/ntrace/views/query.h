/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A question about the calls of a recording, such as "request ns>1ms has rehash".
 *
 * Documentation/man/ntrace-query.1 describes the language. query-parse.c makes a tree of the text, and
 * query-run.c finds the calls that it selects.
 */
#ifndef NTRACE_TOOL_QUERY_H
#define NTRACE_TOOL_QUERY_H

#include "session/array.h"
#include "nested-calls.h"

enum query_kind {
	QUERY_AND, QUERY_OR, QUERY_NOT,
	QUERY_IN, QUERY_HAS, QUERY_AFTER, QUERY_BEFORE,
	QUERY_FUNCTION, QUERY_CALLER, QUERY_OBJECT, QUERY_COMM,		/* compared with a pattern */
	QUERY_NS, QUERY_INSNS, QUERY_DEPTH, QUERY_TIME, QUERY_CPU, QUERY_TID, QUERY_PID,	/* compared with a number */
};

/* Results of a comparison that satisfy a condition */
#define QUERY_LESS	(1 << 0)
#define QUERY_EQUAL	(1 << 1)
#define QUERY_MORE	(1 << 2)

struct query_call {
	uint64_t	begin, ns, insns;
	uint64_t	id, last;	/* number of the call, and of the last call inside it; calls of a stack follow each other */
	uint32_t	function, caller;	/* numbers for nt_calls_function(); @caller is QUERY_NO_CALLER if not known */
	uint32_t	stack, depth;
	int32_t		tid, cpu;
	bool		open;		/* the end was not recorded */
};

#define QUERY_NO_CALLER	UINT32_MAX

/* Calls that a condition selects, by id */
struct query_group {
	NS_ARRAY(struct query_call) calls;
	NS_ARRAY(size_t) open;		/* indexes in @calls of the calls whose last call is not known */
	/* the highest last of all calls up to this call, and the lowest last of calls on its stack */
	uint64_t	*latest, *earliest;
};

struct query_node {
	enum query_kind	kind;
	struct query_node *left, *right;	/* conditions that this condition combines */
	unsigned int	compare;		/* QUERY_LESS | QUERY_EQUAL | QUERY_MORE */
	int64_t		value;
	char		*pattern;
	NS_ARRAY(uint8_t) matches;		/* 1 + result for each function, 0: not known */
	struct query_group group;		/* calls that @left selects, for QUERY_IN to QUERY_BEFORE */
};

struct query_error {
	size_t		at;			/* offset in the text */
	char		text[160];
};

/* query_parse() - return the tree of a question, or NULL with an error */
struct query_node *query_parse(const char *text, struct query_error *error);
void query_free(struct query_node *node);

struct query {
	struct nt_session *session;
	struct query_node *node;
	/* Called with the calls that were found, by id. Return 0, or -1 with errno. */
	int		(*done)(struct query *query);
	void		*ctx;		/* for done() */
	struct query_group found;
	uint64_t	nr_calls;	/* number of calls in the recording */
	const char	*unknown;	/* pattern that no function matches, if nothing was found; NULL: none */
	struct nested_calls nested;
};

/* query_run() - find the calls. Return 0, or -1 after an error, which was reported. */
int query_run(struct query *query, const struct nt_filter *filter);

#endif /* NTRACE_TOOL_QUERY_H */
