/* SPDX-License-Identifier: GPL-2.0-only */
/* Report the missing trace of a recording, for all commands that decode trace. */
#ifndef NTRACE_TOOL_LOSSES_H
#define NTRACE_TOOL_LOSSES_H

#include "session/session.h"

/* losses_any() - return true if trace is missing or was not decoded. Call this function after nt_session_decode(). */
bool losses_any(const struct nt_session *session);

/*
 * losses_print() - print on standard output how much trace of each CPU is missing
 *
 * Print nothing if no trace is missing. Call this function after nt_session_decode().
 *
 * Return true if trace is missing.
 */
bool losses_print(const struct nt_session *session);

/* losses_json() - print a JSON object about the trace of a CPU and its losses. Return true if the CPU has losses. */
bool losses_json(const struct nt_missing *missing);

/* losses_reason() - return a text with the reason, such as "the sink was full" */
const char *losses_reason(enum nt_lost why);

/*
 * losses_report() - print on standard error how much trace of all CPUs is missing, and the three
 * reasons with the longest missing time, with their cures
 * @trace_bytes: Number of bytes of trace that the recording contains
 *
 * recording_report() calls this function for every command.
 */
void losses_report(const struct nt_session *session, uint64_t trace_bytes);

#endif /* NTRACE_TOOL_LOSSES_H */
