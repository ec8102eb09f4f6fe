/* SPDX-License-Identifier: GPL-2.0-only */
/* Print the progress of a long job on a line of the standard error */
#ifndef NTRACE_TOOL_PROGRESS_H
#define NTRACE_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* progress_now() - return the time of a clock that only goes forward, in seconds */
double progress_now(void);

/* progress_wanted() - return true if progress shall be printed, because the standard error is a terminal */
bool progress_wanted(void);

/*
 * progress_print() - print the progress; this is a function for nt_session_options::progress
 *
 * The line appears after one second, is updated twice per second, and is removed when @done equals
 * @all.
 */
void progress_print(void *ctx, uint64_t done, uint64_t all);

#endif /* NTRACE_TOOL_PROGRESS_H */
