/* SPDX-License-Identifier: GPL-2.0-only */
/* ntrace profile: what its formats share */
#ifndef NTRACE_TOOL_PROFILE_H
#define NTRACE_TOOL_PROFILE_H

#include <stdio.h>

#include "cli/recording.h"
#include "session/array.h"
#include "session/code/lines.h"
#include "session/counts/profile.h"

#define PROFILE_FRAMES	32	/* functions that an instruction is inlined into */

struct profile {
	struct recording_options recording;
	const struct profile_format *format;
	const char	*output;
	const char	*object;	/* --object; NULL: all of them, or the one with most instructions */
	struct nt_session *session;
	struct nt_profile *counts;
	struct nt_lines	*lines;
	FILE		*file;
};

/* Return: 0; -1: errno says what failed */
struct profile_format {
	const char	*name;
	bool		needs_trace;	/* a file of counts is not enough */
	bool		needs_lines;	/* without line information there is nothing to write */
	int		(*write)(struct profile *profile);
};

extern const struct profile_format profile_counts, profile_lcov, profile_gcov, profile_llvm,
				   profile_gcc, profile_bolt, profile_callgrind;

/* profile_wants() - is the object one that --object names, or is it not given? */
bool profile_wants(const struct profile *profile, const char *object);

/* profile_executed() - the instruction at an address of an object; NULL: it was not executed */
const struct nt_profile_insn *profile_executed(const struct profile *profile, const char *object,
					       uint64_t address);

/* A line of the source and how often it was executed, or a branch or function of it */
struct profile_line {
	const char	*file;
	int		line;
	uint64_t	copy;		/* which function it stands in, and what that is inlined into */
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
 * A line is executed as often as its most frequent instruction; if it stands in several functions,
 * as a template or an inlined function does, as often as all of them together.
 */
struct profile_source {
	NS_ARRAY(struct profile_line) lines;	/* by file, then line; with those that were not executed */
	NS_ARRAY(struct profile_branch) branches;	/* by file, line, address; the executed ones */
	NS_ARRAY(struct profile_function) functions;	/* by file, line, name */
};

/* profile_source_make() - 0; -1: errno */
int profile_source_make(struct profile_source *source, struct profile *profile);
void profile_source_free(struct profile_source *source);

#endif /* NTRACE_TOOL_PROFILE_H */
