/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Find source lines and inlined functions. The library elfutils reads them from the object's file,
 * or from separate debug information (.gnu_debuglink, /usr/lib/debug, or debuginfod if
 * DEBUGINFOD_URLS names servers). The file kmodule.h describes how files of kernel modules are
 * found. Programs that use these functions must link with libdw.
 */
#ifndef NTRACE_SESSION_LINES_H
#define NTRACE_SESSION_LINES_H

#include "session/session.h"

struct nt_lines;

/* A function that contains an instruction, and the position of the instruction in the source */
struct nt_frame {
	const char	*function;	/* name of the function, demangled if possible; NULL: not known */
	const char	*file;		/* source file of @line; NULL: not known */
	/*
	 * number of a line. In the first frame, it is the line of the instruction. In the other
	 * frames, it is the line of the inlined call. 0: not known
	 */
	int		line;
	bool		inlined;	/* the compiler has inlined the function into that of the next frame */
	/* linkage (mangled) name of the function; @function if the function has no such name */
	const char	*linkage;
	int		start;		/* first line of the function; 0: not known */
	unsigned int	discriminator;	/* DWARF discriminator, which distinguishes positions in the same line */
};

/* A source line that has code, or a function with its first line */
struct nt_line {
	const char	*file;		/* source file */
	int		line;		/* number of the line in @file, from 1 */
	const char	*function;	/* name of the function; NULL: the structure describes a line with code */
	int		entry;		/* line of the first instruction of @function; 0: not known */
	uint64_t	address;	/* address of the code (see struct nt_place) */
};

/* nt_lines_new() - prepare to look up lines of a session. Return NULL if out of memory. */
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
 * nt_lines_each() - call @fn for all lines with instructions and functions in an object's debug information
 *
 * The lines and functions are in no particular order. Return 0 after the last line or function. If
 * @fn returns another value than 0, stop and return this value.
 */
int nt_lines_each(struct nt_lines *lines, const char *object,
		  int (*fn)(void *ctx, const struct nt_line *line), void *ctx);

/*
 * nt_lines_missing() - get the kernel module with index @nth, from 0, of the modules whose files
 * were needed for lines but not found
 *
 * The modules include the kernel if files were found, but none of them is the recorded kernel. A
 * recording contains the code of modules, but not their lines. Return false after the last module.
 */
bool nt_lines_missing(const struct nt_lines *lines, size_t nth, const char **object, const char **why);

#endif /* NTRACE_SESSION_LINES_H */
