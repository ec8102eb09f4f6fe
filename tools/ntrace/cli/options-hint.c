// SPDX-License-Identifier: GPL-2.0-only
#include <stdbool.h>
#include <stdio.h>

#include "ntrace.h"
#include "options.h"

int options_hint(const char *command)
{
	fprintf(stderr, "ntrace: `%s --help` lists the options\n", command);
	return EXIT_USAGE;
}

bool options_are_before_one_file(const char *command, int argc, char **argv)
{
	if (optind + 1 == argc)
		return true;
	if (optind == argc)
		fprintf(stderr, "ntrace: name a file (- is the standard input)\n");
	else
		fprintf(stderr, "ntrace: only one file can be given, so '%s' is one too many\n", argv[optind + 1]);
	options_hint(command);
	return false;
}

int options_parse(int argc, char **argv, const char *short_options, const struct option *long_options,
		  const char *help, bool (*set)(void *ctx, int opt, const char *arg), void *ctx)
{
	int opt;

	while ((opt = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
		if (opt == 'h') {
			fputs(help, stdout);
			return EXIT_CLEAN;
		}
		if (opt == '?')
			return options_hint(argv[0]);
		if (!set(ctx, opt, optarg))
			return EXIT_USAGE;
	}
	return -1;
}
