/* SPDX-License-Identifier: GPL-2.0-only */
/* What is missing in a recording, for all commands that decode it */
#ifndef NTRACE_TOOL_LOSSES_H
#define NTRACE_TOOL_LOSSES_H

#include "session/session.h"

/*
 * losses_print() - print how much trace of each CPU is missing, and the three worst reasons with
 * their cures
 *
 * Print nothing if no trace is missing. Call it after nt_session_decode().
 *
 * Return: true if trace is missing.
 */
bool losses_print(const struct nt_session *session);

#endif /* NTRACE_TOOL_LOSSES_H */
