/* SPDX-License-Identifier: GPL-2.0-only */
/* What `ntrace info` prints */
#ifndef NTRACE_TOOL_INFO_H
#define NTRACE_TOOL_INFO_H

#include "cli/recording.h"

/*
 * info_print() - print how a recording was made, how much of each CPU and thread it has, and what is missing
 *
 * Return the exit status.
 */
int info_print(const struct recording_options *options, struct nt_session *session);

#endif /* NTRACE_TOOL_INFO_H */
