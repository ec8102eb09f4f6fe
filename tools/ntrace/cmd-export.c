// SPDX-License-Identifier: GPL-2.0-only
/* ntrace export: the calls of a recording, for viewers of traces and for databases. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lines.h"
#include "ntrace.h"
#include "options.h"
#include "recording.h"
#include "sorted-calls.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>
#endif

static const char help[] =
	"usage: ntrace export [OPTIONS] --format FORMAT -o FILE\n\n"
	"Write each call that began and ended in a recording of perf for another program. Exits 1 if\n"
	"the trace or the code has errors.\n\n"
	RECORDING_HELP
	FILTER_HELP
	"  -o, --output FILE    the file to write; - is the standard output, but for sqlite\n"
	"  --format chrome      JSON for ui.perfetto.dev, speedscope.app and chrome://tracing\n"
	"           jsonl       an object of JSON a line\n"
	"           sqlite      a database with the table calls\n";

enum { OPT_FORMAT = OPT_RECORDING_END };

struct export;

struct format {
	const char	*name;
	bool		(*begin)(struct export *e);
	int		(*call)(void *export, const struct nt_call *call,
				const struct nt_function *function);
	bool		(*end)(struct export *e);
};

struct export {
	struct recording_options recording;
	const struct format *format;
	const char	*output;
	struct nt_session *session;
	FILE		*file;
	struct lines	lines;
	uint64_t	nr;
#ifdef HAVE_SQLITE
	sqlite3		*db;
	sqlite3_stmt	*insert;
#endif
};

/* ---- Files of text ---- */

static bool open_text(struct export *e)
{
	e->file = strcmp(e->output, "-") ? fopen(e->output, "we") : stdout;
	return e->file;
}

static int put_line(struct export *e)
{
	size_t len = e->lines.len;

	e->nr++;
	e->lines.len = 0;
	return e->lines.failed || fwrite(e->lines.text, 1, len, e->file) != len ? -1 : 0;
}

static bool close_text(struct export *e)
{
	bool ok = !fflush(e->file) && !ferror(e->file);

	lines_free(&e->lines);
	return (e->file == stdout || !fclose(e->file)) && ok;
}

static int jsonl_call(void *export, const struct nt_call *call, const struct nt_function *f)
{
	struct export *e = export;
	const char *comm;
	int32_t pid;

	nt_session_thread(e->session, call->tid, call->begin, &pid, &comm);
	lines_add(&e->lines, "{\"time\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"insns\": %" PRIu64
		  ", \"pid\": %d, \"tid\": %d, \"comm\": ", call->begin, call->ns, call->insns, pid,
		  call->tid);
	lines_add_string(&e->lines, comm);
	lines_add(&e->lines, ", \"function\": ");
	lines_add_string(&e->lines, f->symbol);
	lines_add(&e->lines, ", \"object\": ");
	lines_add_string(&e->lines, f->object);
	lines_add(&e->lines, "}\n");
	return put_line(e);
}

/* ---- Chrome's trace format: "Trace Event Format", complete events ---- */

static bool chrome_begin(struct export *e)
{
	return open_text(e) && fputs("{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n", e->file) >= 0;
}

static int chrome_call(void *export, const struct nt_call *call, const struct nt_function *f)
{
	struct export *e = export;
	const char *comm;
	int32_t pid;

	nt_session_thread(e->session, call->tid, call->begin, &pid, &comm);
	lines_add(&e->lines, "%s{\"ph\": \"X\", \"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": %" PRIu64
		  ".%03" PRIu64 ", \"pid\": %d, \"tid\": %d, \"name\": ", e->nr ? ",\n" : "",
		  call->begin / 1000, call->begin % 1000, call->ns / 1000, call->ns % 1000, pid,
		  call->tid);
	lines_add_string(&e->lines, f->symbol ? f->symbol : "[unknown]");
	lines_add(&e->lines, ", \"cat\": ");
	lines_add_string(&e->lines, f->object ? f->object : "[unknown]");
	lines_add(&e->lines, ", \"args\": {\"insns\": %" PRIu64 "}}", call->insns);
	return put_line(e);
}

static bool chrome_end(struct export *e)
{
	fputs("\n]}\n", e->file);
	return close_text(e);
}

/* ---- SQLite ---- */

#ifdef HAVE_SQLITE
static const char create[] =
	"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;"
	"CREATE TABLE calls (time INTEGER, ns INTEGER, insns INTEGER, pid INTEGER, tid INTEGER,"
	" comm TEXT, function TEXT, object TEXT)";

/* sqlite would add to a file that is there */
static bool sqlite_begin(struct export *e)
{
	if (!strcmp(e->output, "-")) {
		errno = ESPIPE;
		return false;
	}
	errno = 0;
	if (unlink(e->output) && errno != ENOENT)
		return false;
	errno = 0;
	if (!sqlite3_open(e->output, &e->db) && !sqlite3_exec(e->db, create, NULL, NULL, NULL) &&
	    !sqlite3_prepare_v2(e->db, "INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?)", -1,
				&e->insert, NULL))
		return true;
	errno = errno ? errno : EIO;
	return false;
}

static int sqlite_call(void *export, const struct nt_call *call, const struct nt_function *f)
{
	struct export *e = export;
	const char *comm;
	int32_t pid;
	int ret;

	nt_session_thread(e->session, call->tid, call->begin, &pid, &comm);
	sqlite3_bind_int64(e->insert, 1, call->begin);
	sqlite3_bind_int64(e->insert, 2, call->ns);
	sqlite3_bind_int64(e->insert, 3, call->insns);
	sqlite3_bind_int(e->insert, 4, pid);
	sqlite3_bind_int(e->insert, 5, call->tid);
	sqlite3_bind_text(e->insert, 6, comm, -1, SQLITE_STATIC);
	sqlite3_bind_text(e->insert, 7, f->symbol, -1, SQLITE_STATIC);
	sqlite3_bind_text(e->insert, 8, f->object, -1, SQLITE_STATIC);
	ret = sqlite3_step(e->insert);
	sqlite3_reset(e->insert);
	e->nr++;
	if (ret == SQLITE_DONE)
		return 0;
	errno = ret == SQLITE_FULL ? ENOSPC : EIO;
	return -1;
}

static bool sqlite_end(struct export *e)
{
	bool ok = !sqlite3_exec(e->db, "COMMIT", NULL, NULL, NULL);

	errno = ok ? 0 : EIO;
	sqlite3_finalize(e->insert);
	sqlite3_close(e->db);
	return ok;
}
#endif

static const struct format formats[] = {
	{ "chrome", chrome_begin, chrome_call, chrome_end },
	{ "jsonl", open_text, jsonl_call, close_text },
#ifdef HAVE_SQLITE
	{ "sqlite", sqlite_begin, sqlite_call, sqlite_end },
#endif
};

/* ---- Command ---- */

static int write_failed(const struct export *e)
{
	fprintf(stderr, "ntrace: writing %s failed: %s\n", e->output, strerror(errno));
	return EXIT_TRACE;
}

static int export_calls(struct export *e)
{
	struct sorted_calls sorted = {
		.session = e->session, .filter = &e->recording.filter, .take = e->format->call, .ctx = e,
	};
	int err;

	if (!e->format->begin(e))
		return write_failed(e);
	err = sorted_calls_each(&sorted);
	if (!e->format->end(e) && !err)
		return write_failed(e);
	if (err)
		return EXIT_TRACE;
	if (strcmp(e->output, "-"))
		fprintf(stderr, "ntrace: wrote %" PRIu64 " calls to %s\n", e->nr, e->output);
	return sorted.errors ? EXIT_TRACE : EXIT_CLEAN;
}

static bool set_format(struct export *e, const char *arg)
{
	size_t i;

	for (i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		if (!strcmp(arg, formats[i].name))
			e->format = &formats[i];
	}
	if (!e->format)
		fprintf(stderr, "ntrace: --format is chrome, jsonl%s, not '%s'\n",
			sizeof(formats) / sizeof(*formats) > 2 ? " or sqlite" :
			" (and sqlite in a build with libsqlite3-dev)", arg);
	return e->format;
}

static bool set_option(void *ctx, int opt, const char *arg)
{
	struct export *e = ctx;

	switch (opt) {
	case 'o':
		e->output = arg;
		return true;
	case OPT_FORMAT:
		e->format = NULL;
		return set_format(e, arg);
	}
	return recording_set(&e->recording, opt, arg);
}

int cmd_export(int argc, char **argv)
{
	static const struct option long_options[] = {
		RECORDING_OPTIONS,
		FILTER_OPTIONS,
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPT_FORMAT },
		{ 0 }
	};
	struct export e = { 0 };
	int status;

	recording_init(&e.recording);
	status = recording_parse(argc, argv, "i:o:h", long_options, help, set_option, &e);
	if (status >= 0)
		return status;
	if (optind != argc)
		return recording_no_argument(argv[0], argv[optind]);
	if (!e.format || !e.output) {
		fputs("ntrace: export needs --format and -o; `ntrace help export` lists them\n", stderr);
		return EXIT_USAGE;
	}
	e.session = recording_open(&e.recording);
	if (!e.session)
		return EXIT_USAGE;
	status = export_calls(&e);
	recording_report(e.session);
	nt_session_close(e.session);
	return status;
}
