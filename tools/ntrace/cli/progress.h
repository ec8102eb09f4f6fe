/* SPDX-License-Identifier: GPL-2.0-only */
/* How far a long job is, on a line of a terminal that the result does not go to. */
#ifndef NTRACE_TOOL_PROGRESS_H
#define NTRACE_TOOL_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

/* progress_wanted() - is the standard error a terminal? */
bool progress_wanted(void);

/*
 * progress_print() - as nt_session_options::progress; the line comes after a second, is written
 * anew twice a second, and is removed when @done is @all
 */
void progress_print(void *ctx, uint64_t done, uint64_t all);

#endif /* NTRACE_TOOL_PROGRESS_H */
