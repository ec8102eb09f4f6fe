/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Source lines and inlined functions, read by elfutils from the file, or from separate debug
 * information (.gnu_debuglink, /usr/lib/debug, or debuginfod if DEBUGINFOD_URLS names servers).
 * kmodule.h describes how files of kernel modules are found. Programs that use this must link with
 * libdw.
 */
#ifndef NTRACE_SESSION_LINES_H
#define NTRACE_SESSION_LINES_H

#include "session/session.h"

struct nt_lines;

/* A function that contains an instruction, and the position in it */
struct nt_frame {
	const char	*function;	/* name, demangled if possible; NULL: not known */
	const char	*file;		/* NULL: not known */
	/*
	 * line of the instruction in the first frame, line of the call in others, or 0 if not known
	 */
	int		line;
	bool		inlined;	/* inlined into the next frame */
	const char	*linkage;	/* linkage name; @function if it has no other */
	int		start;		/* first line of the function; 0: not known */
	unsigned int	discriminator;	/* DWARF discriminator of the position in its line */
};

/* A line that has code, or the start of a function */
struct nt_line {
	const char	*file;
	int		line;
	const char	*function;	/* NULL: the entry is a line */
	int		entry;		/* first line with code of a function; 0: not known */
	uint64_t	address;	/* same as in struct nt_place */
};

/* nt_lines_new() - create the lines of a session. Return NULL if out of memory. */
struct nt_lines *nt_lines_new(struct nt_session *session);
void nt_lines_free(struct nt_lines *lines);

/*
 * nt_lines_at() - get the frames of an instruction, the innermost first
 * @object: Object as in struct nt_place, or NULL
 * @address: Address as in struct nt_place
 *
 * Return the number of frames, from 1 to @max. Names stay valid until nt_lines_free().
 */
size_t nt_lines_at(struct nt_lines *lines, const char *object, uint64_t address,
		   struct nt_frame *frames, size_t max);

/*
 * nt_lines_each() - call @fn for all lines and functions in the debug information of an object
 *
 * They are in no particular order. Return 0, or the other value that @fn returned.
 */
int nt_lines_each(struct nt_lines *lines, const char *object,
		  int (*fn)(void *ctx, const struct nt_line *line), void *ctx);

/*
 * nt_lines_missing() - get kernel module @nth (from 0) of those whose files were needed for lines
 * and not found
 *
 * This includes the kernel if its file was refused. The code of a module is in the recording, but
 * its lines are not. Return false after the last one.
 */
bool nt_lines_missing(const struct nt_lines *lines, size_t nth, const char **object, const char **why);

#endif /* NTRACE_SESSION_LINES_H */
