/* SPDX-License-Identifier: GPL-2.0-only */
/* What the kinds of `ntrace report` share; each is one file, report-*.c. */
#ifndef NTRACE_TOOL_REPORT_H
#define NTRACE_TOOL_REPORT_H

#include "recording.h"

enum report_kind {
	REPORT_CALLS,			/* latencies of functions */
	REPORT_FUNCTIONS,
	REPORT_LINES,
	REPORT_INSNS,
};

struct report {
	struct recording_options recording;
	enum report_kind kind;
	unsigned int	sort;		/* column of REPORT_CALLS */
	unsigned long	limit;		/* 0: none */
	const char	*function;	/* only this one; NULL: all */
	bool		inlined;	/* lines with the functions they were inlined into */
};

/* report_profile() - exact counts by function, line or instruction. Return: the exit status */
int report_profile(const struct report *report, struct nt_session *session);

/* Can this build tell lines? It needs elfutils' libdw */
bool report_has_lines(void);

#endif /* NTRACE_TOOL_REPORT_H */
