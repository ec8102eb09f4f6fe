/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace this thread for `ntrace probe`. */
#ifndef NTRACE_PROBE_TRACE_H
#define NTRACE_PROBE_TRACE_H

/* Trace a short loop on each CPU, and print the bytes of trace in a section [trace CPU]. */
void probe_trace(void);

#endif /* NTRACE_PROBE_TRACE_H */
