/* SPDX-License-Identifier: GPL-2.0-only */
/* Declarations that the formats of `ntrace profile` share */
#ifndef NTRACE_TOOL_PROFILE_H
#define NTRACE_TOOL_PROFILE_H

#include <stdio.h>

#include "cli/recording.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/counts/profile.h"

#define PROFILE_FRAMES	32	/* maximum number of nested inlined functions */

struct profile {
	struct recording_options recording;
	const struct profile_format *format;
	const char	*output;
	struct nt_session *session;
	struct nt_profile *counts;
	struct nt_lines	*lines;
	FILE		*file;
};

/* A format of the output. write() returns 0, or -1 with errno. */
struct profile_format {
	const char	*name;
	/* the format needs a recording with trace, because a file of counts lacks some of its data */
	bool		needs_trace;
	bool		needs_lines;	/* the format requires line information */
	int		(*write)(struct profile *profile);
};

extern const struct profile_format profile_counts, profile_lcov, profile_gcov, profile_llvm,
				   profile_bolt, profile_callgrind;

/* profile_wants() - return true if --object names @object, or if --object was not given */
bool profile_wants(const struct profile *profile, const char *object);

/*
 * profile_executed() - return the counts of the instruction at an address of an object; NULL if the
 * instruction was not executed
 */
const struct nt_profile_insn *profile_executed(const struct profile *profile, const char *object,
					       uint64_t address);

/* A source line, and how often it was executed */
struct profile_line {
	const char	*file;
	int		line;
	/*
	 * identifier of one of the copies of the line that inlining makes, which is a hash of the function
	 * that contains the line, and of the functions into which it is inlined; 0: not executed
	 */
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
 * functions contain the line, such as instances of a template or copies of an inlined function, the
 * counts of all these functions are added up.
 */
struct profile_source {
	/* executed and other lines, sorted by file, then line */
	NS_ARRAY(struct profile_line) lines;
	NS_ARRAY(struct profile_branch) branches;	/* executed branches, sorted by file, line, address */
	NS_ARRAY(struct profile_function) functions;	/* functions, sorted by file, line, name */
};

/* profile_source_make() - compute the counts. Return 0, or -1 with errno. */
int profile_source_make(struct profile_source *source, struct profile *profile);
void profile_source_free(struct profile_source *source);

#endif /* NTRACE_TOOL_PROFILE_H */
