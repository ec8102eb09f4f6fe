// SPDX-License-Identifier: GPL-2.0-only
/* ntrace info - print the origin, the contents and the missing trace of a recording. */
#include <limits.h>

#include "ntrace.h"
#include "cli/options.h"
#include "views/info.h"

static const char usage[] =
	"usage: ntrace info [OPTIONS]\n\n"
	"Decode a recording of perf, and print how it was made, how much trace it has of each CPU\n"
	"and thread, how much is missing, why, and what helps. Missing instructions and bytes are\n"
	"estimates.\n";

static int print_info(void *options, struct nt_session *session)
{
	return info_print(options, session);
}

int cmd_info(int argc, char **argv)
{
	struct info_options info = { .limit = ULONG_MAX };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&info.recording),
		OPTION_FLAG(0, "json", &info.json, "objects of JSON: the recording, threads, CPUs"),
		OPTION_NUMBER(0, "limit", "N", &info.limit, 0, "at most N threads (20, and all with --json), 0: all"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &info, NULL, print_info);
}
