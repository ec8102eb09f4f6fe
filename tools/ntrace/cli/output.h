/* SPDX-License-Identifier: GPL-2.0-only */
/* What all commands do about the files and the standard output that they write. */
#ifndef NTRACE_TOOL_OUTPUT_H
#define NTRACE_TOOL_OUTPUT_H

/* output_begin() - keep files that are opened later apart from standard streams that are closed */
void output_begin(void);

/* output_failed() - report that writing @path failed with errno. Return EXIT_USAGE */
int output_failed(const char *path);

/* output_end() - write what waits for the standard output. Return @status, or EXIT_USAGE if that failed */
int output_end(int status);

#endif /* NTRACE_TOOL_OUTPUT_H */
