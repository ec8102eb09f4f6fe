// SPDX-License-Identifier: GPL-2.0-only
/* ntrace info - print the length of a recording, and its missing trace. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "ntrace.h"
#include "cli/losses.h"
#include "cli/nothing.h"
#include "cli/options.h"

static const char usage[] =
	"usage: ntrace info [OPTIONS]\n\n"
	"Decode a recording of perf, and print how much trace it has of each CPU, how much is\n"
	"missing, why, and what helps. Missing instructions and bytes are estimates.\n";

/* This consumer stores nothing, because nt_session_decode() counts the missing trace. */
static void *begin(void *ctx, uint64_t stretch)
{
	return ctx;
}

static int ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	return 0;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	return 0;
}

static int print_info(void *ctx, struct nt_session *session)
{
	const struct recording_options *options = ctx;
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = ranges, .end = end,
	};
	struct nt_session_info info;
	struct nt_missing cpu;
	char t[16];
	size_t i;

	if (nt_session_decode(session, &consumer, session))
		return recording_failed(session);
	nt_session_info(session, &info, sizeof(info));
	if (!info.stretches)
		return nothing_matched(options, session, NULL);
	printf("%s, %s, %s of trace in %s\n", COUNTED(info.cpus, "CPU"), COUNTED(info.buffers, "buffer"),
	       COUNTED(info.trace_bytes, "byte"), COUNTED(info.stretches, "stretch"));
	for (i = 0; nt_session_lost(session, i, &cpu); i++)
		printf("CPU %d: %" PRIu64 " instructions were decoded, of %s\n", cpu.cpu, cpu.traced_insns,
		       duration(cpu.all_ns, t));
	if (!losses_print(session))
		printf("No trace is missing\n");
	else
		return recording_status(options, true);
	return EXIT_CLEAN;
}

int cmd_info(int argc, char **argv)
{
	struct recording_options recording = { 0 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&recording),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &recording, NULL, print_info);
}
