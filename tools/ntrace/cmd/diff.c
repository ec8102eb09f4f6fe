// SPDX-License-Identifier: GPL-2.0-only
/* ntrace diff - print the branch at which the threads of two recordings first differ, and what else differs. */
#include <stdio.h>
#include <string.h>

#include "ntrace.h"
#include "cli/losses.h"
#include "cli/option.h"
#include "views/diff.h"

/*
 * Bytes of memory that the comparison of two equal recordings needs per byte of trace of one; measured: 87 to 108
 */
#define PATH_BYTES	108

static const char usage[] =
	"usage: ntrace diff [OPTIONS] A B\n"
	"       ntrace diff [OPTIONS] A... -- B...\n\n"
	"Print where each thread of recording B first went another way than in recording A, and the functions\n"
	"whose calls and instructions differ. With several recordings on a side, print the functions whose\n"
	"time differs more between the sides than within a side. Exits 1 if there is a difference.\n";

static struct nt_session *open_one(const struct diff_options *options, const char *path)
{
	struct recording_options recording = options->recording;

	recording.input = path;
	return recording_open(&recording);
}

static bool add_run(const struct diff_options *options, struct diff_functions *functions, unsigned int side, unsigned int run,
		    const char *path, bool *lost)
{
	struct nt_session *session = open_one(options, path);
	bool ok = session && diff_functions_add(functions, side, run, session);

	if (session && options->by_function)
		recording_report(session);
	*lost |= session && losses_any(session);
	nt_session_close(session);
	return ok;
}

/*
 * Print the functions that differ. Return their number, or -1 after an error. Set *lost to true if a recording has lost
 * trace.
 */
static ssize_t diff_runs(const struct diff_options *options, char **paths[2], const unsigned int runs[2], bool *lost)
{
	struct diff_functions *functions = diff_functions_new(options, runs);
	unsigned int side, i;
	ssize_t nr = -1;
	bool ok = functions;

	for (side = 0; side < 2; side++) {
		for (i = 0; ok && i < runs[side]; i++)
			ok = add_run(options, functions, side, i, paths[side][i], lost);
	}
	if (ok)
		nr = diff_functions_print(functions);
	diff_functions_free(functions);
	return nr;
}

static int diff_many(const struct diff_options *options, char **paths[2], const unsigned int runs[2])
{
	bool lost = false;
	ssize_t nr = diff_runs(options, paths, runs, &lost);

	if (!nr)
		printf("No function differs%s\n", options->many ? " more between the sides than within a side" : "");
	return nr < 0 ? EXIT_USAGE : nr ? EXIT_TRACE : recording_status(&options->recording, lost);
}

/* Compare the threads of two recordings. Return EXIT_TRACE if they differ. */
static int diff_pair(const struct diff_options *options, char **paths[2])
{
	struct nt_session *sessions[2] = { open_one(options, paths[0][0]), NULL };
	struct diff_result result = { 0 };
	int status = EXIT_USAGE;
	unsigned int i;

	if (sessions[0])
		sessions[1] = open_one(options, paths[1][0]);
	for (i = 0; sessions[1] && i < 2; i++)
		recording_limit_memory(sessions[i], PATH_BYTES, "compare shorter recordings");
	if (!sessions[1] || !diff_threads(options, sessions, &result))
		goto out;
	if (!result.threads && !result.differences) {
		usage_error("neither recording has code to compare%s", options->kernel ? "" : "; --kernel includes the kernel");
	} else if (result.differences) {
		putchar('\n');
		status = EXIT_TRACE;
	} else {
		fputs("No difference in ", stdout);
		/* with a filter, do not print the number, because it includes threads that the filter leaves out */
		if (!nt_filter_is_set(&options->recording.filter))
			printf("%s of ", COUNTED(result.insns, "instruction"));
		puts(COUNTED(result.threads, "thread"));
		status = result.lost ? EXIT_USAGE :
			 recording_status(&options->recording, result.gaps || losses_any(sessions[0]) || losses_any(sessions[1]));
	}
out:
	for (i = 0; i < 2; i++) {
		if (sessions[i])
			recording_report(sessions[i]);
		nt_session_close(sessions[i]);
	}
	return status;
}

int cmd_diff(int argc, char **argv)
{
	struct diff_options diff = { .limit = 20 };
	const struct option_entry options[] = {
		SESSION_OPTIONS(&diff.recording),
		FILTER_OPTIONS(&diff.recording),
		NAME_OPTIONS(&diff.recording),
		OPTION_FLAG(0, "kernel", &diff.kernel, "compare the kernel, interrupts and signals as well"),
		OPTION_NUMBER(0, "limit", "N", &diff.limit, 0, "at most N functions (20), 0: all"),
		{ 0 }
	};
	const struct nt_filter *filter = &diff.recording.filter;
	char **paths[2];
	unsigned int runs[2];
	int status, split = 1;
	bool lost = false;

	recording_init(&diff.recording);
	diff.recording.session.keep_records = true;
	while (split < argc && strcmp(argv[split], "--"))
		split++;
	status = options_parse(split, argv, "", usage, options);
	if (status >= 0)
		return status;
	runs[0] = split - optind;
	runs[1] = split < argc ? argc - split - 1 : 1;
	paths[0] = argv + optind;
	paths[1] = argv + (split < argc ? split + 1 : optind + 1);
	if (split == argc && runs[0]-- != 2)
		return usage_error("diff needs two recordings, or recordings on both sides of --; `ntrace help diff` says more");
	if (!runs[0] || !runs[1])
		return usage_error("diff needs recordings on both sides of --");
	diff.many = runs[0] > 1 || runs[1] > 1;
	/*
	 * --time, --cpu and --object select parts of threads. The parts of two runs may begin at different instructions,
	 * so compare the totals of each function, and not the order of the instructions.
	 */
	diff.by_function = diff.many || filter->time.to || filter->cpu >= 0 || filter->object;
	if (diff.by_function)
		return diff_many(&diff, paths, runs);
	status = diff_pair(&diff, paths);
	return status == EXIT_TRACE && diff_runs(&diff, paths, runs, &lost) < 0 ? EXIT_USAGE : status;
}
