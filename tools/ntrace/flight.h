/* SPDX-License-Identifier: GPL-2.0-only */
/* `ntrace flight`: cmd-flight.c, flight-save.c, flight-kernel.c, flight-calls.c. */
#ifndef NTRACE_TOOL_FLIGHT_H
#define NTRACE_TOOL_FLIGHT_H

#include "session/flight.h"

#define FLIGHT_SYSFS	"/sys/devices/platform/ntrace-flight"

struct flight_output {
	const char	*path;		/* a file; a folder if the kernel's code goes with it */
	bool		has_kernel;	/* path/kcore_dir has been written */
};

/*
 * flight_kernel() - write the code of the kernel that crashed to FOLDER/kcore_dir
 *
 * It is that of the running kernel, if that is the same one: each part goes to the address that it
 * had. Code that was patched differently, and modules that are not loaded now, are missing.
 *
 * Return: 1: it was written; 0: the running kernel is another one, or cannot be read, which was
 * reported; -1: writing failed, which was reported
 */
int flight_kernel(const struct ns_flight *flight, const char *folder);

/* flight_save() - write a recording of perf. 0; -1: it failed, which was reported */
int flight_save(const struct ns_flight *flight, const struct flight_output *output);

/*
 * flight_calls() - print the last @wanted calls of each CPU of a recording, a column for each CPU
 * @errors: the trace or the code had some
 *
 * Return: 0; -1: it failed, which was reported
 */
int flight_calls(const char *path, size_t wanted, bool *errors);

#endif /* NTRACE_TOOL_FLIGHT_H */
