// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace - inspect, decode and create RISC-V N-Trace files.
 *
 * Each command is one file, cmd/<name>.c, and one line of the table below.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef ONLY_RECORD
#include "flight/flight.h"
#endif
#include "ntrace.h"
#include "cli/option.h"
#include "cli/output.h"
#include "cli/pager.h"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);	/* NULL: not in this program, but in ntrace-dev */
	const char *help;
} commands[] = {
#ifdef ONLY_RECORD
	{ "record",	cmd_record,	"record the trace of a command, a process or CPUs" },
	{ "flight",	cmd_flight,	"save the trace that the flight recorder kept of a crash" },
	{ "doctor",	cmd_doctor,	"say what this system lacks for a recording" },
#else
	{ "dump",	cmd_dump,	"print one line for each message of a trace" },
	{ "decode",	cmd_decode,	"print the code that a trace reports as executed" },
	{ "bench",	NULL,		"measure how fast a trace is decoded" },
	{ "record",	cmd_record,	"record the trace of a command, a process or CPUs" },
	{ "flight",	cmd_flight,	"save the trace that the flight recorder kept of a crash" },
	{ "report",	cmd_report,	"print how long each function of a recording took" },
	{ "info",	cmd_info,	"print what a recording has, and what is missing" },
	{ "slow",	cmd_slow,	"print why the slowest call of a function was slow" },
	{ "query",	cmd_query,	"print the calls that meet conditions" },
	{ "diff",	cmd_diff,	"print where two recordings went different ways" },
	{ "annotate",	cmd_annotate,	"print the code of a function with exact counts" },
	{ "audit",	cmd_audit,	"print returns and calls that went where they must not go" },
	{ "gdb",	cmd_gdb,	"let gdb go forwards and backwards through a recording" },
	{ "inject",	cmd_inject,	"write samples that a perf without N-Trace reads" },
	{ "html",	cmd_html,	"write a page that shows a recording" },
	{ "export",	cmd_export,	"write the calls of a recording for other programs" },
	{ "profile",	cmd_profile,	"write counts for compilers and coverage tools" },
	{ "share",	cmd_share,	"write an archive for others, without secrets" },
	{ "split",	cmd_split,	"cut a recording into shards for several machines" },
	{ "merge",	cmd_merge,	"add up the counts of recordings, machines and shards" },
	{ "script",	cmd_script,	"print the branches of a recording of perf" },
	{ "stat",	cmd_stat,	"count the messages of a trace and their bytes" },
	{ "doctor",	cmd_doctor,	"say what this system lacks for a recording" },
	{ "probe",	cmd_probe,	"describe the trace hardware, for a report to the developers" },
	{ "setup",	cmd_setup,	"write a script that traces a board by a debug probe" },
	{ "encode",	NULL,		"make a trace from a list of PCs and their code" },
	{ "verify",	NULL,		"compare decoded code with the code that ran" },
#endif
};

#ifdef ONLY_RECORD
/* With ONLY_RECORD, the command contains no decoder, so these functions that need it only fail. */
int flight_calls(const char *path, size_t wanted)
{
	return usage_error("this ntrace can only record: run ntrace flight calls -i %s with a full build of ntrace",
			   path);
}

int run_dev(int argc, char **argv)
{
	return EXIT_USAGE;
}
#endif

/* Commands whose output a terminal shows in a pager, because it can be long */
static const char paged[] = " dump decode report info slow query diff annotate audit script stat ";

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

static void usage(FILE *out)
{
	size_t i;

	fputs("usage: ntrace [--no-pager] COMMAND [OPTIONS]\n\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n`ntrace help COMMAND` lists the options of a command, `ntrace --version` prints\n"
	      "its version. dump, decode, bench, stat, encode and verify are for raw N-Trace; record, flight,\n"
	      "doctor, probe and setup are for the board that is traced. The others read recordings of perf,\n"
	      "and raw N-Trace if they have the option --raw.\n", out);
}

static int no_command(const char *name)
{
	return usage_error("no command '%s'; `ntrace help` lists them", name);
}

/* getopt_long() begins its messages with argv[0] */
static int run(int argc, char **argv, bool pager)
{
	char name[32];
	size_t i;

	for (i = 0; i < NR_COMMANDS; i++) {
		if (strcmp(argv[0], commands[i].name))
			continue;
		if (!commands[i].run)
			return run_dev(argc, argv);
		snprintf(name, sizeof(name), " %s ", argv[0]);
		if (pager && strstr(paged, name))
			pager_begin();
		snprintf(name, sizeof(name), "ntrace %s", commands[i].name);
		argv[0] = name;
		return commands[i].run(argc, argv);
	}
	return no_command(argv[0]);
}

static bool is_one_of(const char *arg, const char *a, const char *b, const char *c)
{
	return !strcmp(arg, a) || !strcmp(arg, b) || !strcmp(arg, c);
}

static int run_all(int argc, char **argv)
{
	bool pager = argc < 2 || strcmp(argv[1], "--no-pager");

	argv += !pager;
	argc -= !pager;
	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (is_one_of(argv[1], "-h", "--help", "help")) {
		char option[] = "--help", *help[] = { argv[2], option, NULL };

		if (argc > 2)
			return run(2, help, pager);
		usage(stdout);
		return EXIT_CLEAN;
	}
	if (is_one_of(argv[1], "-V", "--version", "version")) {
		printf("ntrace %s\n", NTRACE_VERSION);
		return EXIT_CLEAN;
	}
	return run(argc - 1, argv + 1, pager);
}

int main(int argc, char **argv)
{
	int status;

	output_begin();
	status = output_end(run_all(argc, argv));
	return pager_end() ? status : EXIT_USAGE;
}
