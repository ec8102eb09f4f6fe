/* SPDX-License-Identifier: GPL-2.0-only */
/* The missing trace of a recording, for all commands that decode it */
#ifndef NTRACE_TOOL_LOSSES_H
#define NTRACE_TOOL_LOSSES_H

#include "session/session.h"

/*
 * losses_print() - print on standard output how much trace of each CPU is missing
 *
 * Print nothing if no trace is missing. Call this function after nt_session_decode().
 *
 * Return: true if trace is missing.
 */
bool losses_print(const struct nt_session *session);

/* losses_json() - print an object of JSON about the trace of a CPU and its losses. Return true if it has losses. */
bool losses_json(const struct nt_missing *missing);

/* losses_reason() - return why trace is missing, as "the sink was full" */
const char *losses_reason(enum nt_lost why);

/*
 * losses_report() - print on standard error how much trace of all CPUs is missing, and the three
 * worst reasons with their cures
 * @trace_bytes: Bytes of trace that the recording has
 *
 * recording_report() calls it for every command.
 */
void losses_report(const struct nt_session *session, uint64_t trace_bytes);

#endif /* NTRACE_TOOL_LOSSES_H */
