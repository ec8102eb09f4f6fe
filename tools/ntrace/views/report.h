/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the kinds of `ntrace report` share. Each kind is one file, views/report-*.c. */
#ifndef NTRACE_TOOL_REPORT_H
#define NTRACE_TOOL_REPORT_H

#include "cli/recording.h"
#include "session/calls/calls.h"

enum report_kind {
	REPORT_CALLS,			/* latencies of functions */
	REPORT_FUNCTIONS,
	REPORT_LINES,
	REPORT_INSNS,
	REPORT_STACK,			/* tree of calls */
};

struct report {
	struct recording_options recording;
	enum report_kind kind;
	unsigned int	sort;		/* sorted column of REPORT_CALLS */
	unsigned long	limit;		/* 0: none */
	const char	*function;	/* name of the only function to report; NULL: all */
	/* print lines with the functions into which they were inlined */
	bool		inlined;
	bool		callers;	/* the tree of REPORT_STACK has the callers of @function */
	bool		sort_given;
	bool		json;
};

/*
 * report_profile() - print exact counts by function, line or instruction. Return the exit status.
 */
int report_profile(const struct report *report, struct nt_session *session);

/* report_stack() - print a tree of calls. Return the exit status. */
int report_stack(const struct report *report, struct nt_session *session);

/* report_totals() - print the first line of reports of calls */
void report_totals(const struct nt_calls_totals *totals);

/* report_json() - print the first object of a report in JSON */
void report_json(uint64_t insns, uint64_t losses, uint64_t errors, uint64_t gaps);

/* report_missing() - print the end of that line with the numbers of losses, and an empty line */
void report_missing(uint64_t losses, uint64_t errors, uint64_t gaps);

#endif /* NTRACE_TOOL_REPORT_H */
