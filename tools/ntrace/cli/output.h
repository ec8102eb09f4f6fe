/* SPDX-License-Identifier: GPL-2.0-only */
/* Handling of output files and of the standard output in all commands */
#ifndef NTRACE_TOOL_OUTPUT_H
#define NTRACE_TOOL_OUTPUT_H

#include <stdbool.h>

/* output_begin() - keep files that are opened later apart from standard streams that are closed */
void output_begin(void);

/* output_failed() - report that writing @path failed with errno. Return EXIT_USAGE */
int output_failed(const char *path);

/* output_is_pipe() - report if a recording is to be written to the standard output, which is impossible */
bool output_is_pipe(const char *command, const char *path);

/* output_end() - flush the standard output. Return @status, or EXIT_USAGE if that failed. */
int output_end(int status);

#endif /* NTRACE_TOOL_OUTPUT_H */
