/* SPDX-License-Identifier: GPL-2.0-only */
/* The source that a recording executed, with the instructions of each line: for the page */
#ifndef NTRACE_TOOL_HTML_SOURCE_H
#define NTRACE_TOOL_HTML_SOURCE_H

#include <stdio.h>

#include "session/calls/calls.h"

struct sources;

/* sources_new() - decode the recording once more. NULL: it failed, or this build has no libdw */
struct sources *sources_new(struct nt_session *session, const struct nt_filter *filter,
			    const char *symfs);
void sources_free(struct sources *sources);

/* sources_find() - where a function is written: the number of the file, or -1 */
int sources_find(struct sources *sources, const struct nt_function *function, int *line);

/*
 * sources_write() - a script element of JSON for each file: its name, its text or null, and pairs of
 * line and instructions. false: it failed
 */
bool sources_write(const struct sources *sources, FILE *file);

#endif /* NTRACE_TOOL_HTML_SOURCE_H */
