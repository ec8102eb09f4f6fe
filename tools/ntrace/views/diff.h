/* SPDX-License-Identifier: GPL-2.0-only */
/* What `ntrace diff` prints. */
#ifndef NTRACE_TOOL_DIFF_H
#define NTRACE_TOOL_DIFF_H

#include "cli/recording.h"

struct diff_options {
	struct recording_options recording;
	bool		kernel;		/* also compare code of the kernel */
	bool		many;		/* a side has several recordings */
	unsigned long	limit;		/* most functions that are printed; 0: all */
};

/* Result of the comparison of two recordings */
struct diff_result {
	uint64_t	threads, differences, gaps;
	uint64_t	insns;		/* instructions of all threads of the first recording */
	bool		lost;		/* some of the trace was not compared */
};

/* diff_threads() - print the first difference of each thread. Return false after an error, which was reported. */
bool diff_threads(const struct diff_options *options, struct nt_session *sessions[2], struct diff_result *result);

/* Functions of several recordings */
struct diff_functions;

struct diff_functions *diff_functions_new(const struct diff_options *options, const unsigned int runs[2]);
void diff_functions_free(struct diff_functions *functions);

/* diff_functions_add() - add the functions of recording @run of a side. Return false after an error, which was reported. */
bool diff_functions_add(struct diff_functions *functions, unsigned int side, unsigned int run, struct nt_session *session);

/* diff_functions_print() - print the functions that differ. Return their number, or -1 if out of memory. */
ssize_t diff_functions_print(struct diff_functions *functions);

#endif /* NTRACE_TOOL_DIFF_H */
