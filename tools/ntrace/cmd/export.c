// SPDX-License-Identifier: GPL-2.0-only
/* ntrace export - write the calls of a recording for trace viewers and databases. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/export.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/output.h"

static const char usage[] =
	"usage: ntrace export [OPTIONS] --format FORMAT -o FILE\n\n"
	"Write the calls of a recording of perf for another program, and its tracepoints for those that show\n"
	"them (perfetto, chrome, jsonl, sqlite).\n";

static const struct export_format *const formats[] = {
	&export_perfetto, &export_chrome, &export_speedscope, &export_folded, &export_jsonl, &export_parquet,
	&export_pprof,
#ifdef HAVE_SQLITE
	&export_sqlite,
#endif
};

#define FORMATS	"perfetto, chrome, speedscope, folded, jsonl, parquet, pprof"

/* ---- Tracepoints ---- */

static int give_event(struct export *e, const struct nt_event *event)
{
	struct export_event full = {
		.event = *event, .name = event_name(event), .json = event_json(event),
	};
	int err = -1;

	nt_session_thread(e->session, event->tid, event->time, &full.pid, &full.comm);
	if (full.pid < 0)
		full.pid = event->pid;
	e->nr_events++;
	if (full.name && full.json)
		err = e->format->event(e, &full);
	else
		errno = ENOMEM;
	free(full.name);
	free(full.json);
	return err;
}

static int give_events(struct export *e, uint64_t until)
{
	struct nt_event event;

	while (e->format->event && events_next(&e->events, until, &event)) {
		if (give_event(e, &event))
			return -1;
	}
	return 0;
}

/* ---- Calls ---- */

static int begin(void *ctx, const struct nt_calls *calls)
{
	struct export *e = ctx;

	e->calls = calls;
	return e->format->begin ? e->format->begin(e) : 0;
}

static int take(void *ctx, const struct nt_call *call, const struct nt_function *function)
{
	struct export *e = ctx;

	if (give_events(e, call->begin))
		return -1;
	e->nr++;
	return e->format->take(e, call, function);
}

static int enter(void *ctx, struct nested_call *call)
{
	struct export *e = ctx;

	e->nr++;
	return e->format->enter(e, call);
}

static int leave(void *ctx, const struct nested_call *call)
{
	struct export *e = ctx;

	return e->format->leave ? e->format->leave(e, call) : 0;
}

static int end(void *ctx)
{
	struct export *e = ctx;

	if (give_events(e, UINT64_MAX) || (e->format->end && e->format->end(e)))
		return -1;
	return e->file ? export_flush(e) : 0;
}

static int each_call(struct export *e)
{
	struct sorted_calls sorted = {
		.session = e->session, .filter = &e->recording.filter, .begin = begin,
		.take = take, .end = end, .ctx = e, .output = e->output,
	};

	if (e->format->take)
		return sorted_calls_each(&sorted);
	e->nested = (struct nested_calls){
		.session = e->session, .filter = &e->recording.filter, .begin = begin,
		.enter = enter, .leave = leave, .end = end, .ctx = e, .output = e->output,
	};
	return nested_calls_each(&e->nested);
}

/* ---- Command ---- */

static int export_calls(struct export *e)
{
	bool found;
	int err;

	if (!e->format->own_file) {
		e->file = whole_file_open(&e->whole, e->output);
		if (!e->file)
			return output_failed(e->output);
	}
	err = each_call(e);
	found = e->nr || e->nr_events;
	if (e->file && whole_file_close(&e->whole, e->file, !err && found) && !err)
		return output_failed(e->output);
	if (!e->file && whole_file_end(&e->whole, !err && found) && !err)
		return output_failed(e->output);
	if (err)
		return EXIT_USAGE;
	if (!found)
		return nothing_matched(&e->recording, e->session, NULL);
	if (strcmp(e->output, "-"))
		fprintf(stderr, "ntrace: wrote %s to %s\n", COUNTED(e->nr, "call"), e->output);
	return recording_status(&e->recording, e->events.errors);
}

static void free_export(struct export *e)
{
	size_t i;

	if (e->format->free)
		e->format->free(e);
	for (i = 0; i < e->names.nr; i++) {
		free(e->names.at[i].symbol.text);
		free(e->names.at[i].object.text);
		free(e->names.at[i].symbol_or_null.text);
		free(e->names.at[i].object_or_null.text);
	}
	for (i = 0; i < e->threads.nr; i++)
		free(e->threads.at[i].json.text);
	free(e->names.at);
	free(e->threads.at);
	free(e->text);
	events_close(&e->events);
}

static bool check(void *ctx)
{
	struct export *e = ctx;

	if (!e->format || !e->output)
		return refuse("export needs --format and -o; `ntrace help export` lists them");
	if (e->insns && strcmp(e->format->name, "folded"))
		return refuse("--insns is for --format folded");
	e->recording.session.keep_events = e->format->event;
	return true;
}

static int run(void *ctx, struct nt_session *session)
{
	struct export *e = ctx;
	int status;

	e->session = session;
	status = events_open(&e->events, session, &e->recording.filter) ? output_failed(e->output) : export_calls(e);
	free_export(e);
	return status;
}

static bool set_format(const struct option_entry *option, const char *arg)
{
	struct export *e = option->to;
	size_t i;

	e->format = NULL;
	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(arg, formats[i]->name))
			e->format = formats[i];
	}
	if (!e->format)
		fprintf(stderr, "ntrace: --format is %s%s, not '%s'\n", FORMATS,
			sizeof(formats) / sizeof(*formats) > 7 ? " or sqlite" :
			" (and sqlite in a build with libsqlite3-dev)", arg);
	return e->format;
}

int cmd_export(int argc, char **argv)
{
	struct export e = { 0 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&e.recording),
		FILTER_OPTIONS(&e.recording),
		OPTION_TEXT('o', "output", "FILE", &e.output, "the file to write; - is the standard output, but for sqlite; a folder for parquet"),
		OPTION_CALL(0, "format", "FORMAT", set_format, &e,
			    "perfetto    protobuf for ui.perfetto.dev\n"
			    "chrome      JSON for chrome://tracing and others\n"
			    "speedscope  JSON for speedscope.app\n"
			    "folded      one line for each stack, for flamegraph.pl\n"
			    "jsonl       one JSON object in each line\n"
			    "parquet     a folder of tables: calls, functions, threads, losses\n"
			    "pprof       a profile for go tool pprof, Pyroscope and others\n"
			    "sqlite      a database: calls, functions, threads, samples"),
		OPTION_FLAG(0, "insns", &e.insns, "folded counts instructions instead of ns"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &e, check, run);
}
