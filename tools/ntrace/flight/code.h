/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the code of the kernel that crashed. flight/running.c takes it from the running kernel if that
 * is the same build, and flight/vmcore.c from a crash dump.
 */
#ifndef NTRACE_TOOL_FLIGHT_CODE_H
#define NTRACE_TOOL_FLIGHT_CODE_H

#include <stdio.h>

#include "flight.h"
#include "session/array.h"

/* A part of the kernel: where it is in the source, and where it was */
struct flight_part {
	char		name[64];	/* of a module; empty: the kernel itself */
	uint64_t	now, then, size;
	bool		in_dump;
};

struct flight_code {
	const struct ns_flight *f;
	NS_ARRAY(struct flight_part) parts;	/* those whose code is there */
	const struct ns_dump *dump;	/* for flight_vmcore */
	void		*of_source;
};

/* A source of code. open(), then read() and symbols() as often as one likes, then close(). */
struct flight_source {
	/* 1: parts are there; 0: there is no code, which was reported; -1: out of memory */
	int (*open)(struct flight_code *code);
	/* Code of a part, as it was; false: it cannot be read */
	bool (*read)(const struct flight_code *code, const struct flight_part *part, uint8_t *to);
	/* Lines as of /proc/kallsyms with the addresses of then; false: not all of them */
	bool (*symbols)(const struct flight_code *code, FILE *out);
	/* Also after open() has failed */
	void (*close)(struct flight_code *code);
};

extern const struct flight_source flight_running, flight_vmcore;

/* Is the kernel that runs the same build as the one that crashed? */
bool flight_is_running(const struct ns_flight *flight);

/* flight_running's parts of the modules alone; false: out of memory */
bool flight_running_modules(struct flight_code *code);

/* There is no code, and @why. Returns 0 */
int flight_no_code(const char *why);

#endif /* NTRACE_TOOL_FLIGHT_CODE_H */
