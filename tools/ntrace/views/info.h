/* SPDX-License-Identifier: GPL-2.0-only */
/* What `ntrace info` prints */
#ifndef NTRACE_TOOL_INFO_H
#define NTRACE_TOOL_INFO_H

#include "cli/recording.h"

/*
 * info_print() - print the origin of a recording, the trace of each CPU and thread, and the missing trace
 *
 * Return the exit status.
 */
int info_print(const struct recording_options *options, struct nt_session *session);

#endif /* NTRACE_TOOL_INFO_H */
