// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program ntrace-dev encodes traces, verifies decoders, and measures their speed.
 */
#include <stdio.h>
#include <string.h>

#include "cli/output.h"
#include "dev.h"
#include "ntrace.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "bench",	cmd_bench },
	{ "encode",	cmd_encode },
	{ "verify",	cmd_verify },
};

static int run(int argc, char **argv)
{
	char name[32];
	size_t i;

	for (i = 0; argc > 1 && i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strcmp(argv[1], commands[i].name))
			continue;
		/* getopt_long() begins its messages with argv[0] */
		snprintf(name, sizeof(name), "ntrace %s", argv[1]);
		argv[1] = name;
		return commands[i].run(argc - 1, argv + 1);
	}
	fputs("usage: ntrace-dev bench|encode|verify [OPTIONS]\n", stderr);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	output_begin();
	return output_end(run(argc, argv));
}
