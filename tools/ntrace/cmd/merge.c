// SPDX-License-Identifier: GPL-2.0-only
/* ntrace merge - add up the counts of several recordings, machines and shards. */
#include <stdio.h>

#include "ntrace.h"
#include "cli/option.h"
#include "session/counts/sums.h"
#include "cli/output.h"
#include "session/file/whole-file.h"

static const char usage[] =
	"usage: ntrace merge [-o FILE] COUNTS...\n\n"
	"Add up files of counts that ntrace profile wrote, of any number of recordings, machines and\n"
	"shards (ntrace split), or that ntrace merge wrote. Counts of all shards of a recording are\n"
	"those of the recording, byte for byte. Exits 1 if shards are missing.\n";

#define MAX_REPORTED	20

static bool report_missing(const struct nt_sums *sums)
{
	struct nt_shard shard;
	size_t i;

	for (i = 0; nt_sums_missing(sums, i, &shard); i++) {
		if (i < MAX_REPORTED)
			fprintf(stderr, "ntrace: shard %u of %u of %s is missing\n", shard.nth,
				shard.of, shard.name);
	}
	if (i > MAX_REPORTED)
		fprintf(stderr, "ntrace: ... and %zu more\n", i - MAX_REPORTED);
	return i;
}

static int write_sums(struct nt_sums *sums, const char *output)
{
	struct whole_file whole;
	FILE *file = whole_file_open(&whole, output);

	if (!file || whole_file_close(&whole, file, !nt_sums_write(sums, file)))
		return output_failed(output);
	return report_missing(sums) ? EXIT_TRACE : EXIT_CLEAN;
}

static int merge(char **files, int nr, const char *output)
{
	struct nt_sums *sums = nt_sums_new();
	int status = EXIT_CLEAN, i;

	for (i = 0; i < nr && status == EXIT_CLEAN; i++) {
		if (!sums || nt_sums_read(sums, files[i])) {
			fprintf(stderr, "ntrace: %s\n", nt_sums_error(sums));
			status = EXIT_USAGE;
		}
	}
	if (status == EXIT_CLEAN)
		status = write_sums(sums, output);
	nt_sums_free(sums);
	return status;
}

int cmd_merge(int argc, char **argv)
{
	const char *output = "-";
	const struct option_entry options[] = {
		OPTION_TEXT('o', "output", "FILE", &output, "the file to write (standard output)"),
		{ 0 }
	};
	int status;

	status = options_parse(argc, argv, "", usage, options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return usage_error("merge needs files of counts; `ntrace help merge` says more");
	return merge(argv + optind, argc - optind, output);
}
