/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the code of functions, and how often each instruction was executed. */
#ifndef NTRACE_TOOL_ANNOTATE_H
#define NTRACE_TOOL_ANNOTATE_H

#include "cli/recording.h"

struct annotate {
	/* options of the recording; the argument is the name of a function, or a pattern */
	struct recording_options recording;
	bool		json;
};

/* annotate_print() - print the functions that match the name or pattern. Return the exit status. */
int annotate_print(void *annotate, struct nt_session *session);

#endif /* NTRACE_TOOL_ANNOTATE_H */
