/* SPDX-License-Identifier: GPL-2.0-only */
/* Commands without a result report the possible selections, and exit with EXIT_TRACE. */
#ifndef NTRACE_TOOL_NOTHING_H
#define NTRACE_TOOL_NOTHING_H

#include "recording.h"
#include "options.h"

/*
 * nothing_matched() - report that the filter selects nothing, or that @function was not called
 * @function: Name that the user gave; NULL: none
 *
 * The report lists the CPUs, threads, times and functions of the recording.
 */
int nothing_matched(const struct recording_options *options, struct nt_session *session,
		    const char *function);

/*
 * nothing_of_lines() - report that no code has line information
 * @object: An object that was executed
 *
 * Return EXIT_TRACE.
 */
int nothing_of_lines(const char *object);

/* nothing_of_source() - report that no message of raw trace is of the source or trace ID of @options */
int nothing_of_source(const struct options *options, const char *path);

#endif /* NTRACE_TOOL_NOTHING_H */
