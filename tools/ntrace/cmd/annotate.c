// SPDX-License-Identifier: GPL-2.0-only
/* ntrace annotate - print the code of a function with the exact number of executions of each instruction. */
#include "cli/options.h"
#include "ntrace.h"
#include "views/annotate.h"

static const char usage[] =
	"usage: ntrace annotate [OPTIONS] FUNCTION\n\n"
	"Print the source and the instructions of a function, with the exact number of times that each\n"
	"was executed, how often branches were taken, where indirect jumps went, and how often loops\n"
	"iterated. FUNCTION may be a pattern such as 'foo::*'.\n";

int cmd_annotate(int argc, char **argv)
{
	struct annotate annotate = { .recording.argument_is = "the name of one function" };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&annotate.recording),
		FILTER_OPTIONS(&annotate.recording),
		OPTION_FLAG(0, "json", &annotate.json, "one JSON object a line for each instruction and each loop"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &annotate, NULL, annotate_print);
}
