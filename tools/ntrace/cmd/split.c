// SPDX-License-Identifier: GPL-2.0-only
/* ntrace split - cut a recording into shards that other machines can decode. */
#include <errno.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "session/file/split.h"
#include "session/file/whole-file.h"
#include "cli/output.h"

static const char usage[] =
	"usage: ntrace split [OPTIONS] -n N\n\n"
	"Cut a recording of perf into N shards with about as much trace each: DIR/1.data, DIR/2.data\n"
	"and so on. Each is a recording by itself. ntrace merge adds up the counts of shards.\n";

struct splitting {
	struct recording_options recording;
	const char	*output;
	unsigned long	shards;
};

static int run_split(void *ctx, struct nt_session *session)
{
	struct splitting *splitting = ctx;
	const struct nt_split_options options = {
		.size = sizeof(options), .shards = splitting->shards, .folder = splitting->output,
		.name = splitting->recording.input,
	};
	int status = EXIT_CLEAN, empty;
	struct nt_session_info info;
	bool made;

	nt_session_info(session, &info, sizeof(info));
	made = whole_folder_make(splitting->output);
	if (!made && errno != EEXIST)
		status = output_failed(splitting->output);
	else if (!info.trace_bytes)
		status = nothing_matched(&splitting->recording, session, NULL);
	else if (!recording_has_room(session, splitting->output, 0))
		status = EXIT_USAGE;
	else if ((empty = nt_session_split(session, &options)) < 0)
		status = recording_failed(session);
	else if (empty)
		fprintf(stderr, "ntrace: %d of %lu shards have no trace, because the trace can be cut only where an encoder starts to trace\n",
			empty, splitting->shards);
	if (made && status != EXIT_CLEAN)
		rmdir(splitting->output);
	return status;
}

static bool set_shards(const struct option_entry *option, const char *arg)
{
	if (!option_number(option, arg))
		return false;
	if (*(unsigned long *)option->to <= NT_SHARDS_MAX)
		return true;
	return refuse("there can be %d shards at most", NT_SHARDS_MAX);
}

static bool check(void *ctx)
{
	const struct splitting *splitting = ctx;

	return (splitting->shards || refuse("split needs the number of shards, -n N")) &&
	       (strcmp(splitting->output, "-") || refuse("split writes several files, so -o names a folder and not '-'"));
}

int cmd_split(int argc, char **argv)
{
	struct splitting splitting = { .output = "shards" };
	const struct option_entry options[] = {
		OPTION_TEXT('i', "input", "FILE", &splitting.recording.input,
			    "the recording, - is the standard input (perf.data)"),
		{ 'n', "shards", "N", set_shards, &splitting.shards, 1, "how many shards" },
		OPTION_TEXT('o', "output", "DIR", &splitting.output,
			    "the folder that they are written to; it is made (shards)"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &splitting, check, run_split);
}
