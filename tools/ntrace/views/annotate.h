/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the code of functions with exact counts. */
#ifndef NTRACE_TOOL_ANNOTATE_H
#define NTRACE_TOOL_ANNOTATE_H

#include "cli/recording.h"

struct annotate {
	struct recording_options recording;	/* its argument is the name or pattern */
	bool		json;
};

/* annotate_print() - print the functions that have the name. Return the exit status. */
int annotate_print(void *annotate, struct nt_session *session);

#endif /* NTRACE_TOOL_ANNOTATE_H */
