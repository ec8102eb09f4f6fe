/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the code of the kernel that crashed. The file flight/running.c takes it from the running kernel if that
 * is the same build, and flight/vmcore.c from a crash dump.
 */
#ifndef NTRACE_TOOL_FLIGHT_CODE_H
#define NTRACE_TOOL_FLIGHT_CODE_H

#include <stdio.h>

#include "flight.h"
#include "session/array.h"

/* A module, or the kernel without its modules */
struct flight_part {
	char		name[64];	/* name of a module; empty for the kernel itself */
	uint64_t	now;		/* address in the kernel or dump from which the code is read */
	uint64_t	then;		/* address in the crashed kernel */
	uint64_t	size;
	bool		in_dump;
};

struct flight_code {
	const struct ns_flight *f;
	NS_ARRAY(struct flight_part) parts;	/* parts whose code is available */
	const struct ns_dump *dump;	/* crash dump, for flight_vmcore */
	void		*of_source;
};

/*
 * Functions that read the code of the crashed kernel from the running kernel or from a crash dump. Call open(), then
 * read() and symbols() any number of times, then close().
 */
struct flight_source {
	/*
	 * Return: 1 if parts were found; 0 if no code was found, which was reported; -1 if out of
	 * memory
	 */
	int (*open)(struct flight_code *code);
	/* Read the code of a part of the crashed kernel. Return false if it cannot be read. */
	bool (*read)(const struct flight_code *code, const struct flight_part *part, uint8_t *to);
	/*
	 * Write lines like /proc/kallsyms with the addresses of the crashed kernel. Return false if
	 * some are missing.
	 */
	bool (*symbols)(const struct flight_code *code, FILE *out);
	/* Must be called even if open() failed */
	void (*close)(struct flight_code *code);
};

extern const struct flight_source flight_running, flight_vmcore;

/* Return true if the running kernel is the same build as the crashed kernel. */
bool flight_is_running(const struct ns_flight *flight);

/* Add the modules of the running kernel, but no other code, to code->parts. Return false if out of memory. */
bool flight_running_modules(struct flight_code *code);

/* Report that code is not available for the reason @why. Return 0. */
int flight_no_code(const char *why);

#endif /* NTRACE_TOOL_FLIGHT_CODE_H */
