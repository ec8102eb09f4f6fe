/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Lines of the source and inlined functions, by elfutils: from the file, or from the debug
 * information that is kept apart from it (.gnu_debuglink, /usr/lib/debug, debuginfod if
 * DEBUGINFOD_URLS names servers). Files of kernel modules are found as kmodule.h says. Who uses
 * this links with libdw.
 */
#ifndef NTRACE_SESSION_LINES_H
#define NTRACE_SESSION_LINES_H

#include "session/session.h"

struct nt_lines;

/* A function that an instruction belongs to, and where in it */
struct nt_frame {
	const char	*function;	/* NULL: not known */
	const char	*file;		/* NULL: not known */
	int		line;		/* 0: not known; of the call, but for the first frame */
	bool		inlined;	/* into the next one */
	const char	*linkage;	/* name for the linker; @function if it has no other */
	int		start;		/* line that the function begins at; 0: not known */
	unsigned int	discriminator;	/* of the place in its line */
};

/* A line that has code, or a function that begins */
struct nt_line {
	const char	*file;
	int		line;
	const char	*function;	/* NULL: it is a line */
	int		entry;		/* of a function: the line that its code begins at; 0: not known */
	uint64_t	address;	/* as struct nt_place has it */
};

/* nt_lines_new() - NULL: out of memory */
struct nt_lines *nt_lines_new(struct nt_session *session);
void nt_lines_free(struct nt_lines *lines);

/*
 * nt_lines_at() - the frames of an instruction, the innermost first; at least one
 * @object: as struct nt_place has it; NULL is allowed
 * @address: as struct nt_place has it, too
 *
 * Return: how many, at most @max. Names stay until nt_lines_free().
 */
size_t nt_lines_at(struct nt_lines *lines, const char *object, uint64_t address,
		   struct nt_frame *frames, size_t max);

/*
 * nt_lines_each() - all lines and functions that the debug information of an object has, in no order
 *
 * Return: 0, or what @fn returned.
 */
int nt_lines_each(struct nt_lines *lines, const char *object,
		  int (*fn)(void *ctx, const struct nt_line *line), void *ctx);

/*
 * nt_lines_missing() - kernel modules whose lines were asked for, and whose file was not found, and the kernel if its
 * file was refused, one after
 * the other from @nth = 0; false: no more. Code of a module is in the recording, its lines are not.
 */
bool nt_lines_missing(const struct nt_lines *lines, size_t nth, const char **object, const char **why);

#endif /* NTRACE_SESSION_LINES_H */
