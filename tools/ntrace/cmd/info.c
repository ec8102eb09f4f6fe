// SPDX-License-Identifier: GPL-2.0-only
/* ntrace info - print the origin of a recording, the trace of each CPU and thread, and the missing trace. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "cli/json-text.h"
#include "cli/losses.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "session/array.h"
#include "session/calls/calls.h"

#define DEFAULT_THREADS	20

static const char usage[] =
	"usage: ntrace info [OPTIONS]\n\n"
	"Decode a recording of perf, and print how it was made, how much trace it has of each CPU\n"
	"and thread, how much is missing, why, and what helps. Missing instructions and bytes are\n"
	"estimates.\n";

struct info_options {
	struct recording_options recording;
	bool		json;
	unsigned long	limit;		/* maximum number of threads to print; 0: no limit; ULONG_MAX: not given */
};

typedef NS_ARRAY(struct nt_thread) row_list;

/* ---- The header of the recording ---- */

/*
 * Print a word of a command with the quotes that a shell needs. Print control characters as "?",
 * because they may change the state of the terminal.
 */
static void print_word(const char *word)
{
	bool quoted = !*word || strpbrk(word, " '\"$\\|&;<>()*?");

	fputs(quoted ? " '" : " ", stdout);
	for (; *word; word++) {
		if (*word == '\'')
			fputs("'\\''", stdout);
		else
			putchar((unsigned char)*word < ' ' || *word == 0x7f ? '?' : *word);
	}
	fputs(quoted ? "'" : "", stdout);
}

static void print_origin(const struct nt_session *session, const struct nt_session_info *info)
{
	const char *word;
	uint32_t nth;

	for (nth = 0; (word = nt_session_argument(session, nth)); nth++) {
		fputs(nth ? "" : "Command:", stdout);
		print_word(word);
	}
	fputs(nth ? "\n" : "", stdout);
	if (!info->host && !info->kernel)
		return;
	fputs("Recorded", stdout);
	if (info->host && strcmp(info->host, "(none)")) {
		fputs(" on", stdout);
		print_word(info->host);
	}
	if (info->kernel) {
		fputs(" with Linux", stdout);
		print_word(info->kernel);
	}
	putchar('\n');
}

/* ---- Settings ---- */

static void print_setting(const struct nt_config *c)
{
	printf("%s, %s, %s", c->mode == NT_MODE_BTM ? "a message for each branch (BTM)" : "branch history (HTM)",
	       c->timestamp ? "timestamps" : "no timestamps", c->flow_only ? "no thread ids" : "thread ids");
	if (c->return_depth)
		printf(", no targets of returns (implicit_return)");
	if (c->sequential_jump)
		printf(", sequential_jump");
	if (c->all_jumps)
		printf(", all_jumps");
	if (c->dialect)
		printf(", messages of --encoder %s", nt_encoder_name(c->dialect));
	putchar('\n');
}

/* Return true if two encoders have the same settings, as far as print_setting() prints them. */
static bool is_same(const struct nt_config *a, const struct nt_config *b)
{
	return a->mode == b->mode && a->timestamp == b->timestamp && a->flow_only == b->flow_only &&
	       a->return_depth == b->return_depth && a->sequential_jump == b->sequential_jump &&
	       a->all_jumps == b->all_jumps && a->dialect == b->dialect;
}

static void print_settings(struct nt_session *session)
{
	struct nt_config first = { .size = sizeof(first) }, config = first;
	bool same = true;
	size_t i;
	int cpu;

	if (!nt_session_cpu(session, 0, &cpu, &first))
		return;
	for (i = 1; same && nt_session_cpu(session, i, &cpu, &config); i++)
		same = is_same(&first, &config);
	if (same) {
		fputs("Trace: ", stdout);
		print_setting(&first);
		return;
	}
	for (i = 0; nt_session_cpu(session, i, &cpu, &config); i++) {
		printf("Trace of CPU %d: ", cpu);
		print_setting(&config);
	}
}

/* ---- Threads ---- */

static int by_time(const void *a, const void *b)
{
	const struct nt_thread *x = a, *y = b;

	return ns_order(y->ran, x->ran) ?: ns_order(y->insns, x->insns) ?: ns_order(x->tid, y->tid) ?: ns_order(x->cpu, y->cpu);
}

static bool find_rows(row_list *rows, const struct nt_calls *calls)
{
	size_t i, nr;
	const struct nt_thread *threads = nt_calls_threads(calls, &nr);

	for (i = 0; i < nr; i++) {
		if (!ns_array_add(rows, threads[i]))
			return false;
	}
	ns_array_sort(rows, by_time);
	return true;
}

/* Find the process and the name of a thread. Return the path of the thread's program, or NULL. */
static const char *program_of(const struct nt_session *session, const struct nt_thread *row, int32_t *pid, const char **comm)
{
	nt_session_thread(session, row->tid, row->end, pid, comm);
	return row->tid > 0 ? nt_session_program(session, *pid, row->end) : NULL;
}

/* Print one row of the table of threads, with the program of the thread's process. */
static void print_row(struct nt_session *session, const struct nt_thread *row)
{
	char t[16], id[BUILD_ID_TEXT];
	const char *comm, *program;
	int32_t pid;

	program = program_of(session, row, &pid, &comm);
	printf("%11s %13" PRIu64 " %4d", duration(row->ran, t), row->insns, row->cpu);
	if (row->tid < 0) {
		puts("  unknown");
		return;
	}
	printf("  %s (%d", *comm ? comm : "thread", row->tid);
	if (pid >= 0 && pid != row->tid)
		printf(" of process %d", pid);
	putchar(')');
	if (program)
		printf(" %s", program);
	if (program && recording_build_id(session, program, id))
		printf(", build id %s", id);
	putchar('\n');
}

static void print_threads(struct nt_session *session, const row_list *rows, unsigned long limit)
{
	size_t i, shown = limit && limit < rows->nr ? limit : rows->nr;

	printf("\n%11s %13s %4s  thread\n", nt_session_is_filtered(session) ? "traced" : "ran", "instructions", "CPU");
	for (i = 0; i < shown; i++)
		print_row(session, &rows->at[i]);
	if (i < rows->nr)
		printf("... and %zu more: --limit 0 shows all\n", rows->nr - i);
}

/* ---- CPUs ---- */

/* Print how many bytes of trace were written per second, so that the user can choose the size of the AUX buffer. */
static void print_rate(const struct nt_session_info *info, uint64_t insns, uint64_t ns)
{
	double rate = ns ? info->trace_bytes * 1e9 / ns : 0;

	if (insns)
		printf("An instruction takes %.2f bits of trace", 8.0 * info->trace_bytes / insns);
	if (rate)
		printf("%s CPU writes %.2f MB a second, so -m 1M holds %.3g s", insns ? ", and a" : "A", rate / 1e6,
		       (1 << 20) / rate);
	if (insns || rate)
		putchar('\n');
}

static void print_cpus(const struct nt_session *session, const struct nt_session_info *info)
{
	uint64_t insns = 0, ns = 0;
	struct nt_missing cpu;
	char t[16];
	size_t i;

	printf("%s, %s, %s of trace in %s\n", COUNTED(info->cpus, "CPU"), COUNTED(info->buffers, "buffer"),
	       COUNTED(info->trace_bytes, "byte"), COUNTED(info->stretches, "stretch"));
	for (i = 0; nt_session_lost(session, i, &cpu); i++) {
		printf("CPU %d: %" PRIu64 " instructions were decoded, in %s\n", cpu.cpu, cpu.traced_insns,
		       duration(cpu.all_ns, t));
		insns += cpu.traced_insns;
		ns += cpu.all_ns - cpu.ns;
	}
	print_rate(info, insns, ns);
}

/* ---- JSON ---- */

static void put_recording(const struct nt_session *session, const struct nt_session_info *info)
{
	const char *word;
	uint32_t nth;

	putchar('{');
	json_print("host", info->host);
	json_print("kernel", info->kernel);
	printf("\"cpus\": %u, \"buffers\": %u, \"bytes\": %" PRIu64 ", \"stretches\": %" PRIu64 ", \"command\": [", info->cpus,
	       info->buffers, info->trace_bytes, info->stretches);
	for (nth = 0; (word = nt_session_argument(session, nth)); nth++) {
		fputs(nth ? ", " : "", stdout);
		json_write(stdout, word);
	}
	puts("]}");
}

static void put_row(struct nt_session *session, const struct nt_thread *row)
{
	const char *comm, *program;
	char id[BUILD_ID_TEXT];
	int32_t pid;

	program = program_of(session, row, &pid, &comm);
	putchar('{');
	json_print("comm", comm);
	json_print("program", program);
	json_print("build_id", program ? recording_build_id(session, program, id) : NULL);
	printf("\"pid\": %d, \"tid\": %d, \"cpu\": %d, \"on_cpu_ns\": %" PRIu64 ", \"instructions\": %" PRIu64 "}\n", pid, row->tid,
	       row->cpu, row->ran, row->insns);
}

/* Write all information as JSON. Return true if the recording reports that trace is missing. */
static bool put_all(struct nt_session *session, const struct nt_session_info *info, const row_list *rows,
		    unsigned long limit)
{
	struct nt_missing cpu;
	bool missing = false;
	size_t i;

	put_recording(session, info);
	for (i = 0; i < rows->nr && (!limit || i < limit); i++)
		put_row(session, &rows->at[i]);
	for (i = 0; nt_session_lost(session, i, &cpu); i++)
		missing |= losses_json(&cpu);
	return missing;
}

/* ---- All information ---- */

/* Print all information as text. Return true if the recording reports that trace is missing. */
static bool print_all(struct nt_session *session, const struct nt_session_info *info, const row_list *rows,
		      unsigned long limit)
{
	bool missing;

	print_origin(session, info);
	print_settings(session);
	print_cpus(session, info);
	missing = losses_print(session);
	if (!missing)
		puts("No trace is missing");
	print_threads(session, rows, limit);
	return missing;
}

static int answer(const struct info_options *options, struct nt_session *session, const struct nt_calls *calls)
{
	unsigned long limit = options->limit != ULONG_MAX ? options->limit : options->json ? 0 : DEFAULT_THREADS;
	struct nt_session_info info;
	row_list rows = { 0 };
	bool missing = false, ok;

	nt_session_info(session, &info, sizeof(info));
	if (!info.stretches)
		return nothing_matched(&options->recording, session, NULL);
	ok = find_rows(&rows, calls);
	if (ok)
		missing = options->json ? put_all(session, &info, &rows, limit) : print_all(session, &info, &rows, limit);
	free(rows.at);
	return ok ? recording_status(&options->recording, missing) : usage_error("out of memory");
}

static int info_print(void *options, struct nt_session *session)
{
	struct nt_calls *calls = nt_calls_new(session);
	int status;

	if (!calls)
		return usage_error("out of memory");
	status = nt_calls_run(calls) ? recording_failed(session) : answer(options, session, calls);
	nt_calls_free(calls);
	return status;
}

int cmd_info(int argc, char **argv)
{
	struct info_options info = { .limit = ULONG_MAX };
	const struct option_entry options[] = {
		RECORDED_OPTIONS(&info.recording),
		RAW_OPTIONS(&info.recording),
		OPTION_FLAG(0, "json", &info.json, "objects of JSON: the recording, threads, CPUs"),
		OPTION_NUMBER(0, "limit", "N", &info.limit, 0, "at most N threads (20, and all with --json), 0: all"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &info, NULL, info_print);
}
