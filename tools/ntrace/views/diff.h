/* SPDX-License-Identifier: GPL-2.0-only */
/* Compare recordings for `ntrace diff`, and print the differences. */
#ifndef NTRACE_TOOL_DIFF_H
#define NTRACE_TOOL_DIFF_H

#include "cli/recording.h"

struct diff_options {
	struct recording_options recording;
	bool		kernel;		/* compare code of the kernel in addition to programs */
	bool		many;		/* several recordings were given for A or B */
	bool		by_function;	/* compare no threads, only functions */
	unsigned long	limit;		/* maximum number of functions to print; 0: all */
};

/* Result of the comparison of two recordings */
struct diff_result {
	uint64_t	threads, differences, gaps;
	uint64_t	insns;		/* number of instructions of all threads of the first recording */
	/* after a difference, no equal calls were found, so the rest of the trace was not compared */
	bool		lost;
};

/*
 * diff_threads() - print the first difference of each pair of threads. Return false after an error,
 * which was reported.
 */
bool diff_threads(const struct diff_options *options, struct nt_session *sessions[2], struct diff_result *result);

/* The functions of several recordings, for the comparison of two sides */
struct diff_functions;

struct diff_functions *diff_functions_new(const struct diff_options *options, const unsigned int runs[2]);
void diff_functions_free(struct diff_functions *functions);

/* diff_functions_add() - add the functions of recording @run of a side. Return false after an error, which was reported. */
bool diff_functions_add(struct diff_functions *functions, unsigned int side, unsigned int run, struct nt_session *session);

/*
 * diff_functions_print() - print the functions that differ. Return their number, or -1 if no recording has code to compare,
 * which was reported.
 */
ssize_t diff_functions_print(struct diff_functions *functions);

#endif /* NTRACE_TOOL_DIFF_H */
