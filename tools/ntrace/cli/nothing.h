/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Report why a command has no result, and which CPUs, threads, times or functions the user can
 * select. The commands then exit with EXIT_TRACE.
 */
#ifndef NTRACE_TOOL_NOTHING_H
#define NTRACE_TOOL_NOTHING_H

#include "recording.h"
#include "options.h"

/*
 * nothing_matched() - report that the filter selects no code, or that @function was not called
 * @function: Name of a function that the user gave; NULL: none
 *
 * The report lists the CPUs, threads, times and functions of the recording. Return EXIT_TRACE.
 */
int nothing_matched(const struct recording_options *options, struct nt_session *session,
		    const char *function);

/*
 * nothing_of_lines() - report that no code has line information
 * @object: Path of an object that was executed
 *
 * Return EXIT_TRACE.
 */
int nothing_of_lines(const char *object);

/* nothing_of_source() - report that raw trace contains no message of the source or trace ID that @options select */
int nothing_of_source(const struct options *options, const char *path);

#endif /* NTRACE_TOOL_NOTHING_H */
