/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions for output files and the standard output, for all commands */
#ifndef NTRACE_TOOL_OUTPUT_H
#define NTRACE_TOOL_OUTPUT_H

#include <stdbool.h>

/* output_begin() - prevent that a file gets the number of a standard stream that is closed */
void output_begin(void);

/* output_failed() - report that writing @path failed with errno. Return EXIT_USAGE */
int output_failed(const char *path);

/*
 * output_is_input() - if the standard output is redirected to a file that the command reads, report
 * this, and return true
 */
bool output_is_input(void);

/*
 * output_is_pipe() - if @path is the standard output, report that a recording cannot be written to
 * it, and return true
 */
bool output_is_pipe(const char *command, const char *path);

/* output_end() - flush the standard output. Return @status, or EXIT_USAGE if writing failed. */
int output_end(int status);

#endif /* NTRACE_TOOL_OUTPUT_H */
