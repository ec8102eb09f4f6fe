/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that has its name only when it is whole.
 *
 * It is written beside the one that may have the name already, and takes its place in the end. A
 * command that fails, or that a signal ends, leaves what was there, and no part of what was to come.
 * Pipes and devices are written as they are, and so is a file in a folder where no other can be made.
 */
#ifndef NTRACE_TOOL_WHOLE_FILE_H
#define NTRACE_TOOL_WHOLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct whole_file {
	char	target[PATH_MAX];	/* what it will replace */
	char	part[PATH_MAX];		/* "": it is written as it is */
};

/*
 * whole_file_begin() - the name under which the file is to be written until whole_file_end(); only one
 *	file can be on its way
 *
 * Return: a name that stays as long as @file; NULL: errno.
 */
const char *whole_file_begin(struct whole_file *file, const char *path);

/* whole_file_open() - the same, opened; "-" is the standard output. NULL: errno */
FILE *whole_file_open(struct whole_file *file, const char *path);

/*
 * whole_file_end() - the file is closed and has its name now; if it is not @whole, it is removed
 *
 * Return: 0; -1: errno, of this call only.
 */
int whole_file_end(struct whole_file *file, bool whole);

/* whole_file_close() - close what whole_file_open() returned, and end. -1: errno of the first error */
int whole_file_close(struct whole_file *file, FILE *stream, bool whole);

#endif /* NTRACE_TOOL_WHOLE_FILE_H */
