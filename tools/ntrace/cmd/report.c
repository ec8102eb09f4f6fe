// SPDX-License-Identifier: GPL-2.0-only
/* ntrace report - print how often each function was called, and how long its calls took. */
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
#include "views/report.h"
#include "session/array.h"
#include "session/calls/calls.h"

static const char usage[] =
	"usage: ntrace report [OPTIONS]\n\n"
	"Print a line for each function that was called in a recording of perf: its calls, the time\n"
	"and the instructions they took, with and without what they called, and the slowest one.\n"
	"Time is that of a clock on the wall; self is the time in which the thread ran. Or count\n"
	"instructions, exactly and without samples, by function, line or instruction.\n";

#define THREADS	8	/* maximum number of threads to print */

enum sort { TOTAL, ON_CPU, SELF, MAX, CALLS, INSNS, SELF_INSNS };

static const char *const sort_names[] = {
	[TOTAL] = "total", [ON_CPU] = "on-cpu", [SELF] = "self", [MAX] = "max", [CALLS] = "calls", [INSNS] = "insns",
	[SELF_INSNS] = "self-insns",
};

static uint64_t sort_value(const struct nt_function *f, unsigned int sort)
{
	const uint64_t values[] = {
		[TOTAL] = f->total_ns, [ON_CPU] = f->total_ran, [SELF] = f->self_ns, [MAX] = f->max_ns,
		[CALLS] = f->calls + f->open, [INSNS] = f->total_insns, [SELF_INSNS] = f->self_insns,
	};

	return values[sort];
}

/* ---- Table ---- */

/* Format a time. Return a dash if @nr is 0, so that no call has a time, or if the recording has no times. */
static const char *time_of(uint64_t nr, uint64_t ns, bool has_time, char text[16])
{
	return nr && has_time ? duration(ns, text) : "-";
}

static void print_function(const struct nt_session *session, const struct nt_function *f, bool has_time)
{
	char t[5][16], calls[CALLS_TEXT];

	/* print a dash for p99 of fewer than 100 calls, because p99 equals the maximum */
	printf("%9s %9s %9s %9s %9s %9s %13" PRIu64 "  %s [%s]", calls_text(f->calls, f->open, calls),
	       time_of(1, f->total_ns, has_time, t[0]), time_of(1, f->self_ns, has_time, t[1]),
	       time_of(f->calls, nt_function_quantile(f, 500), has_time, t[2]),
	       time_of(f->calls / 100, nt_function_quantile(f, 990), has_time, t[3]),
	       time_of(f->calls, f->max_ns, has_time, t[4]), f->self_insns, f->symbol ? f->symbol : "[unknown]",
	       nt_base_name(f->object) ?: "unknown");
	print_on_cpu(session, f->total_ns, f->total_ran);
	putchar('\n');
}

static void print_function_json(const struct nt_session *session, const struct nt_function *f, bool has_time)
{
	putchar('{');
	json_print("function", f->symbol);
	json_print("object", f->object);
	printf("\"calls\": %" PRIu64 ", \"open\": %" PRIu64 ", \"total_ns\": %" PRIu64 ", \"on_cpu_ns\": %" PRIu64 ", \"self_ns\": %" PRIu64 ", ",
	       f->calls, f->open, f->total_ns, f->total_ran, f->self_ns);
	if (f->calls)
		printf("\"median_ns\": %" PRIu64 ", \"p99_ns\": %" PRIu64 ", \"max_ns\": %" PRIu64 ", ",
		       nt_function_quantile(f, 500), nt_function_quantile(f, 990), f->max_ns);
	printf("\"insns\": %" PRIu64 ", \"self_insns\": %" PRIu64 "}\n", f->total_insns, f->self_insns);
}

static void print_slowest(const struct nt_function *f)
{
	char t[16];

	printf("\nThe slowest call of %s took %s: thread %d, from " TIME_FORMAT " on\n",
	       f->symbol ? f->symbol : "[unknown]", duration(f->max_ns, t), f->max_tid,
	       TIME_ARGS(f->max_begin));
}

struct row {
	const struct nt_function *f;
	uint64_t	value;
};

static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const char *xs = x->f->symbol ? x->f->symbol : "", *ys = y->f->symbol ? y->f->symbol : "";

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return strcmp(xs, ys);
}

static bool is_wanted(const struct report *report, struct nt_session *session, const struct nt_function *f)
{
	if (!f->calls && !f->open)
		return false;
	return !report->function || nt_session_is(session, f->object, f->address, report->function);
}

static void print_share(uint64_t ns, const char *what)
{
	char t[16];

	if (ns)
		printf(" + %s %s", duration(ns, t), what);
}

static uint64_t tracer_time(const struct nt_calls *calls)
{
	const struct nt_function *f;
	uint64_t ns = 0;
	size_t i;

	for (i = 0; (f = nt_calls_function(calls, i)); i++)
		ns += f->object && !strcmp(f->object, "[ntrace]") ? f->self_ns : 0;
	return ns;
}

/*
 * Print how each CPU spent its time. The sum of the self times of all functions is the time in
 * which threads ran.
 */
static void print_cpus(struct nt_session *session, const struct nt_calls *calls)
{
	static const char *const names[NT_IN_NR] = {
		[NT_IN_USER] = "user", [NT_IN_SYSCALL] = "system calls", [NT_IN_EXCEPTION] = "faults",
		[NT_IN_INTERRUPT] = "interrupts", [NT_IN_KERNEL] = "other kernel", [NT_IN_IDLE] = "idle",
		[NT_IN_UNTRACED] = "not traced",
	};
	uint64_t modes[NT_IN_NR], missing, used, rest, tracer = tracer_time(calls);
	struct nt_missing cpu;
	size_t i, mode, why;
	char t[2][16];

	for (i = 0; nt_session_lost(session, i, &cpu); i++) {
		/* leave out NT_LOST_CODE, because a thread runs while its code is missing, so @modes has this time */
		for (missing = 0, why = 0; why < NT_LOST_CODE; why++)
			missing += cpu.why[why].ns;
		missing = missing < cpu.ns ? missing : cpu.ns;
		used = nt_calls_ran(calls, cpu.cpu, modes) + missing;
		rest = cpu.all_ns > used ? cpu.all_ns - used : 0;
		/* a CPU may also have executed code that an address filter excludes */
		if (nt_session_is_filtered(session)) {
			modes[NT_IN_UNTRACED] += rest;
			rest = 0;
		}
		printf("%sCPU %d: %s = %s %s", i ? "" : "\n", cpu.cpu, duration(cpu.all_ns, t[0]),
		       duration(modes[NT_IN_USER], t[1]), names[NT_IN_USER]);
		for (mode = NT_IN_USER + 1; mode < NT_IN_NR; mode++)
			print_share(modes[mode], names[mode]);
		print_share(rest, "not running");
		print_share(missing, "missing");
		putchar('\n');
	}
	if (tracer)
		printf("The kernel's time contains %s of the tracer, in functions of [ntrace]\n", duration(tracer, t[0]));
}

static int by_id(const void *a, const void *b)
{
	const struct nt_thread *x = a, *y = b;

	return ns_order(x->tid, y->tid);
}

static int by_time(const void *a, const void *b)
{
	const struct nt_thread *x = a, *y = b;

	/* idle threads are last, although they may have run for the longest time */
	return ns_order(!x->tid, !y->tid) ?: ns_order(y->ran, x->ran) ?: ns_order(y->insns, x->insns) ?: by_id(a, b);
}

static void add_cpu(struct nt_thread *to, const struct nt_thread *cpu)
{
	to->end = cpu->end > to->end ? cpu->end : to->end;
	to->insns += cpu->insns;
	to->ran += cpu->ran;
}

/*
 * Print the threads that ran for the longest time, if the recording has several threads, so that the user can choose
 * one. Return false if out of memory.
 */
static bool print_threads(struct nt_session *session, const struct nt_calls *calls)
{
	NS_ARRAY(struct nt_thread) threads = { 0 };
	const struct nt_thread *t;
	const char *comm;
	bool ok = true;
	int32_t pid;
	char text[16];
	size_t i, nr;

	for (t = nt_calls_threads(calls, &nr), i = 0; ok && i < nr; i++)
		ok = ns_array_add(&threads, t[i]);
	ns_array_join(&threads, by_id, add_cpu(a, b));
	ns_array_sort(&threads, by_time);
	if (threads.nr > 1)
		printf("%9s %13s  thread (--tid N shows the functions of one thread)\n", "ran", "insns");
	for (t = threads.at; threads.nr > 1 && t < threads.at + threads.nr && t < threads.at + THREADS; t++) {
		nt_session_thread(session, t->tid, t->end, &pid, &comm);
		printf("%9s %13" PRIu64 "  %s (%d)\n", time_of(1, t->ran, t->end, text), t->insns, *comm ? comm : "thread", t->tid);
	}
	if (threads.nr > THREADS)
		printf("... and %zu more: `ntrace info --limit 0` shows all\n", threads.nr - THREADS);
	fputs(threads.nr > 1 ? "\n" : "", stdout);
	free(threads.at);
	return ok;
}

/* Return true if the table must also describe the whole recording. In JSON, the table has only functions. */
static bool is_whole(const struct report *report)
{
	return !report->json && !report->function && !nt_filter_is_set(&report->recording.filter) && !report->recording.filter.object;
}

/* Print the table. Return the number of functions, or -1 if out of memory. */
static ssize_t print_table(const struct report *report, struct nt_session *session, const struct nt_calls *calls)
{
	const struct nt_function *f;
	unsigned int sort = report->sort;
	size_t i, nr = 0, shown;
	bool has_time = false, no_time = false;
	struct row *rows;

	for (i = 0; (f = nt_calls_function(calls, i)); i++)
		has_time |= f->total_ns;
	/* if the recording has no times, sort by instructions, unless the user has chosen an order */
	if (!has_time && !report->sort_given)
		sort = INSNS;
	rows = calloc(i + 1, sizeof(*rows));
	if (!rows)
		return -1;
	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		if (is_wanted(report, session, f))
			rows[nr++] = (struct row){ f, sort_value(f, sort) };
	}
	qsort(rows, nr, sizeof(*rows), row_cmp);
	if (!report->json)
		printf("%9s %9s %9s %9s %9s %9s %13s  %s\n", "calls", "total", "self", "median", "p99", "max",
	              "self insns", "function");
	shown = report->limit && report->limit < nr ? report->limit : nr;
	for (i = 0; i < shown; i++) {
		(report->json ? print_function_json : print_function)(session, rows[i].f, has_time);
		no_time |= !rows[i].f->self_ns && rows[i].f->self_insns;
	}
	if (shown < nr && !report->json)
		printf("... and %zu more: --limit 0 shows all\n", nr - shown);
	if (no_time && has_time && !report->json)
		printf(REPORT_NO_TIME);
	if (nr && rows[0].f->max_ns && !report->json)
		print_slowest(rows[0].f);
	if (is_whole(report) && has_time)
		print_cpus(session, calls);
	free(rows);
	return nr;
}

/* ---- Command ---- */

static int report_calls(const struct report *report, struct nt_session *session)
{
	struct nt_calls *calls = nt_calls_new(session);
	struct nt_calls_totals totals;
	int status = EXIT_USAGE;
	ssize_t nr;

	if (calls)
		nt_calls_filter(calls, &report->recording.filter);
	if (!calls || nt_calls_run(calls)) {
		recording_failed(session);
		goto out;
	}
	nt_calls_totals(calls, &totals);
	if (report->json)
		report_json(totals.insns, totals.losses, totals.errors, totals.gaps);
	else
		report_totals(&totals);
	if (!report->json && losses_print(session))
		putchar('\n');
	nr = is_whole(report) && !print_threads(session, calls) ? -1 : print_table(report, session, calls);
	if (nr < 0)
		fprintf(stderr, "ntrace: out of memory\n");
	else if (!nr)
		status = nothing_matched(&report->recording, session, report->function);
	else
		status = EXIT_CLEAN;
out:
	nt_calls_free(calls);
	return status;
}

static bool set_sort(const struct option_entry *option, const char *arg)
{
	struct report *report = option->to;

	report->sort_given = true;
	for (report->sort = 0; report->sort < sizeof(sort_names) / sizeof(*sort_names);
	     report->sort++) {
		if (!strcmp(arg, sort_names[report->sort]))
			return true;
	}
	return refuse("no column '%s'; `ntrace help report` lists them", arg);
}

static bool set_function(const struct option_entry *option, const char *arg)
{
	struct report *report = option->to;

	if (report->function)
		return refuse("--function, --callers and --callees exclude each other");
	report->function = arg;
	return true;
}

static bool set_kind(const struct option_entry *option, const char *arg)
{
	struct report *report = option->to;

	if (report->kind != REPORT_CALLS && report->kind != option->value)
		return refuse("--functions, --lines (or --inline), --insns and --stack (or --callers, --callees) exclude each other");
	report->kind = option->value;
	return !option->arg || set_function(option, arg);
}

static bool set_inline(const struct option_entry *option, const char *arg)
{
	((struct report *)option->to)->inlined = true;
	return set_kind(option, arg);
}

static bool set_callers(const struct option_entry *option, const char *arg)
{
	((struct report *)option->to)->callers = !strcmp(option->name, "callers");
	return set_kind(option, arg);
}

static bool check(void *ctx)
{
	struct report *report = ctx;

	if (report->sort_given && report->kind != REPORT_CALLS)
		return refuse("--sort is for the table of calls alone");
	if (report->limit == ULONG_MAX)
		report->limit = report->json ? 0 : 40;
	if (report->json && report->kind == REPORT_STACK)
		return refuse("--json is not for trees; `ntrace export --format folded` writes stacks");
	return true;
}

static int run(void *ctx, struct nt_session *session)
{
	const struct report *report = ctx;

	if (report->kind == REPORT_CALLS)
		return report_calls(report, session);
	return report->kind == REPORT_STACK ? report_stack(report, session) : report_profile(report, session);
}

int cmd_report(int argc, char **argv)
{
	struct report report = { .limit = ULONG_MAX };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&report.recording),
		FILTER_OPTIONS(&report.recording),
		OPTION_CALL(0, "sort", "COLUMN", set_sort, &report,
			    "total, on-cpu, self, max, calls, insns or self-insns (total)"),
		OPTION_NUMBER(0, "limit", "N", &report.limit, 0, "at most N functions (40, and all with --json), 0: all"),
		OPTION_CALL(0, "function", "NAME", set_function, &report, "only this one"),
		OPTION_FLAG(0, "json", &report.json, "an object of JSON for each row, after one with the sums"),
		OPTION_KIND("functions", NULL, set_kind, &report, REPORT_FUNCTIONS, "instructions executed in each function"),
		OPTION_KIND("lines", NULL, set_kind, &report, REPORT_LINES, "... in each line of the source"),
		OPTION_KIND("inline", NULL, set_inline, &report, REPORT_LINES,
			    "... with the functions that it was inlined into"),
		OPTION_KIND("insns", NULL, set_kind, &report, REPORT_INSNS, "how often each instruction was executed"),
		OPTION_KIND("stack", NULL, set_kind, &report, REPORT_STACK, "who called whom, as a tree"),
		OPTION_KIND("callers", "NAME", set_callers, &report, REPORT_STACK, "who called this function, as a tree"),
		OPTION_KIND("callees", "NAME", set_callers, &report, REPORT_STACK, "what this function called"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &report, check, run);
}
