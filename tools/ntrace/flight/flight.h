/* SPDX-License-Identifier: GPL-2.0-only */
/* `ntrace flight`: cmd/flight.c, flight/save.c, flight/kernel.c, flight/running.c,
 * flight/vmcore.c, flight/calls.c. */
#ifndef NTRACE_TOOL_FLIGHT_H
#define NTRACE_TOOL_FLIGHT_H

#include "session/file/dump.h"
#include "session/file/flight.h"

#define FLIGHT_SYSFS	"/sys/devices/platform/ntrace-flight"

struct flight_output {
	/* path of a file, or of a folder if the kernel's code is included */
	const char	*path;
	bool		no_kernel;	/* leave out the kernel's code */
};

/*
 * flight_kernel() - write the code of the crashed kernel to FOLDER/kcore_dir
 * @dump: Its crash dump, which has the code that was executed, or NULL to copy the code of
 *	the running kernel if that is the same build
 *
 * Without a dump, each part is moved to the address that it had in the crashed kernel. Code that
 * was patched differently, and modules that are not loaded now, are missing in this case.
 *
 * Return: 1 if it was written; 0 if there is none, which was reported; -1 if writing failed, which
 * was reported
 */
int flight_kernel(const struct ns_flight *flight, const struct ns_dump *dump, const char *folder);

/* flight_save() - write a perf recording. Return 0, or -1 after an error, which was reported. */
int flight_save(const struct ns_flight *flight, const struct ns_dump *dump,
		const struct flight_output *output);

/*
 * flight_calls() - print the last @wanted calls of each CPU of a recording, in a column for each
 * CPU
 *
 * Return the exit status, which is EXIT_TRACE if the trace or the code had errors.
 */
int flight_calls(const char *path, size_t wanted);

#endif /* NTRACE_TOOL_FLIGHT_H */
