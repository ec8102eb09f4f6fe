// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace: look into, decode and make RISC-V N-Trace files.
 *
 * Each command is one file, cmd-<name>.c, and one line of the table below.
 */
#include <stdio.h>
#include <string.h>

#include "ntrace.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "dump",	cmd_dump,	"print one line for each message of a trace" },
	{ "decode",	cmd_decode,	"print what the trace says was executed" },
	{ "bench",	cmd_bench,	"measure how fast a trace is decoded" },
	{ "encode",	cmd_encode,	"make a trace from a list of PCs and their code" },
	{ "verify",	cmd_verify,	"compare what was decoded with what ran" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	size_t i;

	fputs("usage: ntrace COMMAND [OPTIONS]\n\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n`ntrace COMMAND --help` lists the options of a command.\n", out);
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_CLEAN;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	fprintf(stderr, "ntrace: no command '%s'; `ntrace help` lists them\n", argv[1]);
	return EXIT_USAGE;
}
