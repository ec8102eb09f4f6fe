/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kinds of `ntrace report` share; each is one file, views/report-*.c. */
#ifndef NTRACE_TOOL_REPORT_H
#define NTRACE_TOOL_REPORT_H

#include "cli/recording.h"
#include "session/calls/calls.h"

enum report_kind {
	REPORT_CALLS,			/* latencies of functions */
	REPORT_FUNCTIONS,
	REPORT_LINES,
	REPORT_INSNS,
	REPORT_STACK,			/* who called whom */
};

struct report {
	struct recording_options recording;
	enum report_kind kind;
	unsigned int	sort;		/* column of REPORT_CALLS */
	unsigned long	limit;		/* 0: none */
	const char	*function;	/* only this one; NULL: all */
	bool		inlined;	/* lines with the functions they were inlined into */
	bool		sort_given;
};

/* report_profile() - exact counts by function, line or instruction. Return: the exit status */
int report_profile(const struct report *report, struct nt_session *session);

/* report_stack() - a tree of calls. Return: the exit status */
int report_stack(const struct report *report, struct nt_session *session);

/* report_totals() - the first line of reports of calls */
void report_totals(const struct nt_calls_totals *totals);

/* report_missing() - the end of that line: how often something is missing, and an empty line */
void report_missing(uint64_t losses, uint64_t errors, uint64_t gaps);

/* Can this build tell lines? It needs elfutils' libdw */
bool report_has_lines(void);

#endif /* NTRACE_TOOL_REPORT_H */
