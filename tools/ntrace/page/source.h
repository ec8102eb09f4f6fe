/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Find the source code that was executed in a recording, and the number of executed instructions of
 * each line, for the page.
 */
#ifndef NTRACE_TOOL_HTML_SOURCE_H
#define NTRACE_TOOL_HTML_SOURCE_H

#include <stdio.h>

#include "session/calls/calls.h"

struct sources;

/*
 * sources_new() - find the source lines, for which the recording is decoded once more
 *
 * Return NULL on failure.
 */
struct sources *sources_new(struct nt_session *session, const struct nt_filter *filter,
			    const char *symfs);
void sources_free(struct sources *sources);

/*
 * sources_find() - return the index of the file that contains a function, and set *line to the line
 * of the function; -1 if not known
 */
int sources_find(struct sources *sources, const struct nt_function *function, int *line);

/*
 * sources_write() - write a JSON script element for each file
 *
 * The element contains the name of the file, the text of the file or null, and for each executed
 * line its number and the number of instructions. Return false on failure.
 */
bool sources_write(const struct sources *sources, FILE *file);

/*
 * source_text() - return the text of a source file, which free() frees, or NULL
 * @symfs: Folder below which the file is searched first; NULL: none
 */
char *source_text(const char *symfs, const char *file);

#endif /* NTRACE_TOOL_HTML_SOURCE_H */
