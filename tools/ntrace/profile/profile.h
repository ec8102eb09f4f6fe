/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the formats of ntrace profile share */
#ifndef NTRACE_TOOL_PROFILE_H
#define NTRACE_TOOL_PROFILE_H

#include <stdio.h>

#include "cli/recording.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/counts/profile.h"

#define PROFILE_FRAMES	32	/* limit of nested inlined functions */

struct profile {
	struct recording_options recording;
	const struct profile_format *format;
	const char	*output;
	/* argument of --object; NULL: all objects, or the one with most instructions */
	const char	*object;
	struct nt_session *session;
	struct nt_profile *counts;
	struct nt_lines	*lines;
	FILE		*file;
};

/* A format. write() returns 0, or -1 with errno. */
struct profile_format {
	const char	*name;
	bool		needs_trace;	/* the format needs trace, because a file of counts lacks data */
	bool		needs_lines;	/* the format requires line information */
	int		(*write)(struct profile *profile);
};

extern const struct profile_format profile_counts, profile_lcov, profile_gcov, profile_llvm,
				   profile_bolt, profile_callgrind;

/* profile_wants() - return true if --object names the object or was not given */
bool profile_wants(const struct profile *profile, const char *object);

/*
 * profile_executed() - return the instruction at an address of an object; NULL if it was not
 * executed
 */
const struct nt_profile_insn *profile_executed(const struct profile *profile, const char *object,
					       uint64_t address);

/* A source line and its count, or a branch or function in it */
struct profile_line {
	const char	*file;
	int		line;
	/* identifies the function that contains it and the functions into which that is inlined */
	uint64_t	copy;
	uint64_t	count;
};

struct profile_branch {
	const char	*file;
	int		line;
	uint64_t	address;
	uint64_t	taken, not_taken;
};

struct profile_function {
	const char	*file, *name;
	int		line;
	uint64_t	count;
};

/*
 * Counts of source lines. The count of a line is that of its most frequent instruction. If several
 * functions contain the line, such as instances of a template or copies of an inlined function, it
 * is the sum over all of them.
 */
struct profile_source {
	/* sorted by file, then line, including lines that were not executed */
	NS_ARRAY(struct profile_line) lines;
	NS_ARRAY(struct profile_branch) branches;	/* executed branches by file, line, address */
	NS_ARRAY(struct profile_function) functions;	/* sorted by file, line, name */
};

/* profile_source_make() - compute the counts. Return 0, or -1 with errno. */
int profile_source_make(struct profile_source *source, struct profile *profile);
void profile_source_free(struct profile_source *source);

#endif /* NTRACE_TOOL_PROFILE_H */
