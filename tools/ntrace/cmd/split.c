// SPDX-License-Identifier: GPL-2.0-only
/* ntrace split - cut a recording into shards that other machines can decode. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "session/file/split.h"
#include "cli/output.h"

static const char help[] =
	"usage: ntrace split [OPTIONS] -n N\n\n"
	"Cut a recording of perf into N shards with about as much trace each: DIR/1.data, DIR/2.data\n"
	"and so on. Each is a recording by itself. ntrace merge adds up the counts of shards.\n\n"
	"  -i, --input FILE     the recording, - is the standard input (perf.data)\n"
	"  -n, --shards N       how many shards\n"
	"  -o, --output DIR     the folder that they are written to; it is made (shards)\n";

struct splitting {
	struct recording_options recording;
	const char	*output;
	unsigned long	shards;
};

static int run_split(const struct splitting *splitting)
{
	const struct nt_split_options options = {
		.size = sizeof(options), .shards = splitting->shards, .folder = splitting->output,
		.name = splitting->recording.input,
	};
	struct nt_session *session;
	int status = EXIT_CLEAN;
	struct nt_session_info info;
	bool made;

	session = recording_open(&splitting->recording);
	if (!session)
		return EXIT_USAGE;
	nt_session_info(session, &info, sizeof(info));
	made = !mkdir(splitting->output, 0777);
	if (!made && errno != EEXIST)
		status = output_failed(splitting->output);
	else if (!info.trace_bytes)
		status = nothing_matched(&splitting->recording, session, NULL);
	else if (nt_session_split(session, &options))
		status = recording_failed(session);
	if (made && status != EXIT_CLEAN)
		rmdir(splitting->output);
	recording_report(session);
	nt_session_close(session);
	return status;
}

static bool set_option(void *ctx, int opt, const char *arg)
{
	struct splitting *splitting = ctx;

	switch (opt) {
	case 'o':
		splitting->output = arg;
		return true;
	case 'n':
		if (!recording_number("--shards", 1, arg, &splitting->shards))
			return false;
		if (splitting->shards <= NT_SHARDS_MAX)
			return true;
		fprintf(stderr, "ntrace: there can be %d shards at most\n", NT_SHARDS_MAX);
		return false;
	}
	return recording_set(&splitting->recording, opt, arg);
}

int cmd_split(int argc, char **argv)
{
	static const struct option long_options[] = {
		{ "input", required_argument, NULL, 'i' },
		{ "shards", required_argument, NULL, 'n' },
		{ "output", required_argument, NULL, 'o' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 }
	};
	struct splitting splitting = { .output = "shards" };
	int status;

	recording_init(&splitting.recording);
	status = options_parse(argc, argv, "i:n:o:h", long_options, help, set_option, &splitting);
	if (status >= 0)
		return status;
	if (optind != argc)
		return recording_no_argument(argv[0], argv[optind]);
	if (!splitting.shards) {
		fputs("ntrace: split needs the number of shards, -n N\n", stderr);
		return EXIT_USAGE;
	}
	return run_split(&splitting);
}
