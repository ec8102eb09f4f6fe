/* SPDX-License-Identifier: GPL-2.0-only */
/* Source code that a recording executed, with the instructions of each line, for the page */
#ifndef NTRACE_TOOL_HTML_SOURCE_H
#define NTRACE_TOOL_HTML_SOURCE_H

#include <stdio.h>

#include "session/calls/calls.h"

struct sources;

/*
 * sources_new() - decode the recording once more
 *
 * Return NULL on failure.
 */
struct sources *sources_new(struct nt_session *session, const struct nt_filter *filter,
			    const char *symfs);
void sources_free(struct sources *sources);

/* sources_find() - return the number of the file that contains a function, or -1 */
int sources_find(struct sources *sources, const struct nt_function *function, int *line);

/*
 * sources_write() - write a JSON script element for each file
 *
 * It contains the name of the file, its text or null, and pairs of line and instructions. Return
 * false on failure.
 */
bool sources_write(const struct sources *sources, FILE *file);

/*
 * source_text() - return the text of a source file, which free() frees, or NULL
 * @symfs: Folder below which the file is searched first; NULL: none
 */
char *source_text(const char *symfs, const char *file);

#endif /* NTRACE_TOOL_HTML_SOURCE_H */
