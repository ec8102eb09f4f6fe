/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the kinds of `ntrace report` share. Each kind is one file, views/report-*.c. */
#ifndef NTRACE_TOOL_REPORT_H
#define NTRACE_TOOL_REPORT_H

#include "cli/recording.h"
#include "session/calls/calls.h"

enum report_kind {
	REPORT_CALLS,			/* durations of calls for each function */
	REPORT_FUNCTIONS,
	REPORT_LINES,
	REPORT_INSNS,
	REPORT_STACK,			/* a tree of calls */
};

struct report {
	struct recording_options recording;
	enum report_kind kind;
	unsigned int	sort;		/* number of the column by which REPORT_CALLS sorts */
	unsigned long	limit;		/* maximum number of lines to print; 0: no limit */
	const char	*function;	/* name of the only function to report; NULL: all */
	/* REPORT_LINES prints each line with the functions into which it was inlined */
	bool		inlined;
	/* REPORT_STACK prints the callers of @function, and not the functions that @function called */
	bool		callers;
	bool		sort_given;
	bool		json;
};

/* explains a time of 0 ns beside a number of instructions */
#define REPORT_NO_TIME	"0 ns: the time did not advance in this code, because only messages of the trace have times\n"

/*
 * report_profile() - print exact counts by function, line or instruction. Return the exit status.
 */
int report_profile(const struct report *report, struct nt_session *session);

/* report_stack() - print a tree of calls. Return the exit status. */
int report_stack(const struct report *report, struct nt_session *session);

/* report_totals() - print the first line of a report about calls */
void report_totals(const struct nt_calls_totals *totals);

/* report_json() - print the first object of a report in JSON */
void report_json(uint64_t insns, uint64_t losses, uint64_t errors, uint64_t gaps);

/* report_missing() - print the end of the first line, with the numbers of losses, and an empty line */
void report_missing(uint64_t losses, uint64_t errors, uint64_t gaps);

#endif /* NTRACE_TOOL_REPORT_H */
