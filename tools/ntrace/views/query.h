/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the calls of a recording that satisfy a question such as "request ns>1ms has rehash".
 *
 * Documentation/man/ntrace-query.1 describes the language. query-parse.c makes a tree of conditions
 * from the text of the question. query-run.c finds the calls that satisfy the conditions.
 */
#ifndef NTRACE_TOOL_QUERY_H
#define NTRACE_TOOL_QUERY_H

#include "session/array.h"
#include "nested-calls.h"

enum query_kind {
	QUERY_AND, QUERY_OR, QUERY_NOT,
	QUERY_IN, QUERY_HAS, QUERY_AFTER, QUERY_BEFORE,
	/* conditions that compare a name with a pattern */
	QUERY_FUNCTION, QUERY_CALLER, QUERY_OBJECT, QUERY_COMM,
	/* conditions that compare a number with query_node::value */
	QUERY_NS, QUERY_INSNS, QUERY_DEPTH, QUERY_TIME, QUERY_CPU, QUERY_TID, QUERY_PID,
};

/* Results of a comparison that satisfy a condition. Conditions such as <= have several of these bits. */
#define QUERY_LESS	(1 << 0)
#define QUERY_EQUAL	(1 << 1)
#define QUERY_MORE	(1 << 2)

struct query_call {
	uint64_t	begin, ns, insns;
	/* number of the call, and number of the last call inside it. The calls of a stack have consecutive numbers. */
	uint64_t	id, last;
	/* numbers of the functions (nt_calls_function()); @caller is QUERY_NO_CALLER if it is not known */
	uint32_t	function, caller;
	uint32_t	stack, depth;
	int32_t		tid, cpu;
	bool		open;		/* the end of the call was not recorded */
};

#define QUERY_NO_CALLER	UINT32_MAX

/* The calls that satisfy a condition, sorted by id */
struct query_group {
	NS_ARRAY(struct query_call) calls;
	NS_ARRAY(size_t) open;		/* indices in @calls of the calls whose query_call::last is still unset */
	/*
	 * For each index n in @calls, latest[n] is the maximum of query_call::last in calls[0] to
	 * calls[n], and earliest[n] is its minimum in those of them that are on the same stack as
	 * calls[n].
	 */
	uint64_t	*latest, *earliest;
};

struct query_node {
	enum query_kind	kind;
	struct query_node *left, *right;	/* conditions that this condition combines; NULL: none */
	/* bits of the results that satisfy the condition, such as QUERY_LESS */
	unsigned int	compare;
	int64_t		value;
	char		*pattern;
	/*
	 * results for each function (number of nt_calls_function()); 2: the name matches, 1: it
	 * does not, 0: not known
	 */
	NS_ARRAY(uint8_t) matches;
	struct query_group group;		/* calls that satisfy @left, if @kind is QUERY_IN to QUERY_BEFORE */
};

struct query_error {
	size_t		at;			/* offset of the error in the text of the question */
	char		text[160];
};

/* query_parse() - return the tree of conditions of a question, or NULL with *error set */
struct query_node *query_parse(const char *text, struct query_error *error);
void query_free(struct query_node *node);

struct query {
	struct nt_session *session;
	struct query_node *node;
	/* Called after the calls were found, with @found set. Return 0, or -1 with errno. */
	int		(*done)(struct query *query);
	void		*ctx;		/* pointer that only done() uses */
	struct query_group found;
	uint64_t	nr_calls;	/* number of calls in the recording */
	/* pattern of the query that no function of the recording matches, set if no call was found; NULL: none */
	const char	*unknown;
	struct nested_calls nested;
};

/* query_run() - find the calls that satisfy a question. Return 0, or -1 after an error, which was reported. */
int query_run(struct query *query, const struct nt_filter *filter);

#endif /* NTRACE_TOOL_QUERY_H */
