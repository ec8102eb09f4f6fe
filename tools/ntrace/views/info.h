/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the output of `ntrace info`. */
#ifndef NTRACE_TOOL_INFO_H
#define NTRACE_TOOL_INFO_H

#include "cli/recording.h"

struct info_options {
	struct recording_options recording;
	bool		json;
	unsigned long	limit;		/* maximum number of threads to print; 0: no limit; ULONG_MAX: not given */
};

/*
 * info_print() - print the origin of a recording, the trace of each CPU and thread, and the missing trace
 *
 * Return the exit status.
 */
int info_print(const struct info_options *options, struct nt_session *session);

#endif /* NTRACE_TOOL_INFO_H */
