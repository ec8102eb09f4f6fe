/* SPDX-License-Identifier: GPL-2.0-only */
/* `ntrace flight`: cmd/flight.c, flight/save.c, flight/kernel.c, flight/running.c,
 * flight/vmcore.c, flight/calls.c. */
#ifndef NTRACE_TOOL_FLIGHT_H
#define NTRACE_TOOL_FLIGHT_H

#include "session/file/dump.h"
#include "session/file/flight.h"

#define FLIGHT_SYSFS	"/sys/devices/platform/ntrace-flight"

struct flight_output {
	const char	*path;		/* a file; a folder if the kernel's code goes with it */
	bool		no_kernel;	/* the kernel's code is left out */
};

/*
 * flight_kernel() - write the code of the kernel that crashed to FOLDER/kcore_dir
 * @dump: its crash dump, which has the code as it ran; NULL: the code is that of the running kernel,
 *	if that is the same build, and each part goes to the address that it had. Code that was patched
 *	differently, and modules that are not loaded now, are missing then.
 *
 * Return: 1: it was written; 0: there is none, which was reported; -1: writing failed, which was
 * reported
 */
int flight_kernel(const struct ns_flight *flight, const struct ns_dump *dump, const char *folder);

/* flight_save() - write a perf recording. Return 0; -1: it failed, which was reported */
int flight_save(const struct ns_flight *flight, const struct ns_dump *dump,
		const struct flight_output *output);

/*
 * flight_calls() - print the last @wanted calls of each CPU of a recording, a column for each CPU
 * @errors: the trace or the code had some
 *
 * Return: 0; -1: it failed, which was reported
 */
int flight_calls(const char *path, size_t wanted, bool *errors);

#endif /* NTRACE_TOOL_FLIGHT_H */
