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
		fprintf(stderr, "ntrace: the file is missing (- is the standard input)\n");
	else
		fprintf(stderr, "ntrace: there may be one file, and not '%s', too\n", argv[optind + 1]);
	options_hint(command);
	return false;
}
