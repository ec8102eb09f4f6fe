// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format sqlite. A row of text for each call would be large and slow, so that calls
 * have numbers of threads and functions, and the view "calls" puts them together.
 *
 * SQLite makes the file with all tables. The rows of calls are written without it, see sqlite-rows.h; then it
 * adds those of the small tables.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "json-text.h"
#include "sqlite-rows.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

#include "session/profile.h"

static const char settings[] =
	"PRAGMA page_size = 65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
	"BEGIN;";

static const char create[] =
	"CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, comm TEXT);"
	"CREATE TABLE functions (id INTEGER PRIMARY KEY, function TEXT, object TEXT, address INTEGER);"
	"CREATE TABLE spans (id INTEGER PRIMARY KEY, time INTEGER, ns INTEGER, insns INTEGER,"
	" depth INTEGER, caller INTEGER, thread INTEGER, function INTEGER, open INTEGER);"
	"CREATE TABLE samples (object TEXT, function TEXT, offset INTEGER, address INTEGER, count INTEGER);"
	"CREATE TABLE events (time INTEGER, cpu INTEGER, pid INTEGER, tid INTEGER, comm TEXT, event TEXT, fields TEXT);"
	"CREATE VIEW calls AS SELECT s.id, s.time, s.ns, s.insns, t.pid, t.tid, t.comm, f.function,"
	" f.object, s.depth, s.caller FROM spans s JOIN threads t ON t.id = s.thread"
	" JOIN functions f ON f.id = s.function WHERE NOT s.open;";

/* Columns of spans, after the id, which is the call's number */
enum { TIME, NS, INSNS, DEPTH, CALLER, THREAD, FUNCTION, OPEN, SPAN_COLUMNS };

struct database {
	const char	*name;
	sqlite3		*db;		/* NULL while rows of calls are written */
	sqlite3_stmt	*event;
	struct sqlite_rows spans;
	int		fd;		/* of those; -1: they are complete */
};

static int failed(int code)
{
	errno = code == SQLITE_FULL ? ENOSPC : code == SQLITE_NOMEM ? ENOMEM : code == SQLITE_CANTOPEN ? ENOENT : EIO;
	return -1;
}

/* Execute a statement whose values are bound. */
static int put(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	return code == SQLITE_DONE ? 0 : failed(code);
}

/* Text of a database is UTF-8, and names of files need not be. */
static void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	char *copy = text ? sqlite3_malloc64(size + 1) : NULL;

	if (copy)
		utf8_copy(copy, text, size);
	sqlite3_bind_text(statement, column, copy, size, sqlite3_free);
}

static int prepare(struct export *e, const char *sql, sqlite3_stmt **statement)
{
	struct database *d = e->state;
	int code = sqlite3_prepare_v2(d->db, sql, -1, statement, NULL);

	return code ? failed(code) : 0;
}

static int put_functions(struct export *e)
{
	const struct nt_function *f;
	sqlite3_stmt *statement;
	int err;
	size_t i;

	err = prepare(e, "INSERT INTO functions VALUES (?, ?, ?, ?)", &statement);
	for (i = 0; !err && (f = nt_calls_function(e->calls, i)); i++) {
		sqlite3_bind_int64(statement, 1, i);
		bind_text(statement, 2, f->symbol);
		bind_text(statement, 3, f->object);
		sqlite3_bind_int64(statement, 4, f->address);
		err = put(statement);
	}
	sqlite3_finalize(statement);
	return err;
}

/* sqlite would add to what a file has, and it cannot write a pipe or a device. NULL: errno */
static const char *make_file(struct export *e)
{
	const char *name = whole_file_begin(&e->whole, e->output);
	struct stat st;

	if (!name || stat(name, &st))
		return NULL;
	if (S_ISREG(st.st_mode))
		return truncate(name, 0) ? NULL : name;
	errno = ESPIPE;
	return NULL;
}

static int execute(struct database *d, const char *sql)
{
	int code = sqlite3_exec(d->db, sql, NULL, NULL, NULL);

	return code ? failed(code) : 0;
}

static int open_database(struct database *d)
{
	int code = sqlite3_open_v2(d->name, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
				   SQLITE_OPEN_NOMUTEX, NULL);

	return code ? failed(code) : execute(d, settings);
}

static int close_database(struct database *d)
{
	int err = execute(d, "COMMIT");

	sqlite3_close(d->db);
	d->db = NULL;
	return err;
}

/* The number that a statement says */
static int read_number(struct export *e, const char *sql, uint32_t *number)
{
	sqlite3_stmt *statement;
	int code = SQLITE_ERROR;

	if (prepare(e, sql, &statement))
		return -1;
	if (sqlite3_step(statement) == SQLITE_ROW) {
		*number = sqlite3_column_int64(statement, 0);
		code = SQLITE_OK;
	}
	sqlite3_finalize(statement);
	return code ? failed(code) : 0;
}

static int begin_spans(struct export *e)
{
	struct database *d = e->state;
	uint32_t root, pages;

	if (read_number(e, "SELECT rootpage FROM sqlite_master WHERE name = 'spans'", &root) ||
	    read_number(e, "PRAGMA page_count", &pages) || close_database(d))
		return -1;
	d->fd = open(d->name, O_RDWR | O_CLOEXEC);
	return d->fd < 0 ? -1 : sqlite_rows_begin(&d->spans, d->fd, root, pages);
}

static int sqlite_begin(struct export *e)
{
	struct database *d = e->state = calloc(1, sizeof(*d));

	if (!d) {
		errno = ENOMEM;
		return -1;
	}
	d->fd = -1;
	d->name = strcmp(e->output, "-") ? make_file(e) : NULL;
	if (!d->name) {
		errno = strcmp(e->output, "-") ? errno : ESPIPE;
		return -1;
	}
	/* one thread uses the database: locks and statistics of memory take 14 % of all instructions */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	if (open_database(d) || execute(d, create) || put_functions(e))
		return -1;
	return begin_spans(e);
}

static int sqlite_enter(struct export *e, struct nested_call *call)
{
	const struct export_thread *thread = export_thread(e, &call->call);
	struct database *d = e->state;

	if (!thread)
		return -1;
	call->user = e->nr;
	const int64_t columns[SPAN_COLUMNS] = {
		[TIME] = call->call.begin, [NS] = call->call.ns, [INSNS] = call->call.insns,
		[DEPTH] = call->depth, [THREAD] = thread->number, [FUNCTION] = call->call.function,
		[CALLER] = call->depth ? e->nested.open.at[call->depth - 1].user : 0,
		[OPEN] = call->call.open,
	};

	return sqlite_rows_add(&d->spans, columns, SPAN_COLUMNS, call->depth ? 0 : 1 << CALLER);
}

static int put_threads(struct export *e)
{
	sqlite3_stmt *statement;
	int err;
	size_t i;

	err = prepare(e, "INSERT INTO threads VALUES (?, ?, ?, ?)", &statement);
	for (i = 0; !err && i < e->threads.nr; i++) {
		sqlite3_bind_int(statement, 1, e->threads.at[i].number);
		sqlite3_bind_int(statement, 2, e->threads.at[i].pid);
		sqlite3_bind_int(statement, 3, e->threads.at[i].tid);
		bind_text(statement, 4, e->threads.at[i].comm);
		err = put(statement);
	}
	sqlite3_finalize(statement);
	return err;
}

/* All calls are written: SQLite has the file again. */
static int end_spans(struct export *e)
{
	struct database *d = e->state;

	if (d->fd < 0)
		return 0;
	if (sqlite_rows_end(&d->spans))
		return -1;
	close(d->fd);
	d->fd = -1;
	if (open_database(d) || put_threads(e))
		return -1;
	return prepare(e, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", &d->event);
}

static int sqlite_event(struct export *e, const struct export_event *event)
{
	struct database *d = e->state;

	if (end_spans(e))
		return -1;
	sqlite3_bind_int64(d->event, 1, event->event.time);
	sqlite3_bind_int(d->event, 2, event->event.cpu);
	sqlite3_bind_int(d->event, 3, event->pid);
	sqlite3_bind_int(d->event, 4, event->event.tid);
	bind_text(d->event, 5, event->comm);
	bind_text(d->event, 6, event->name);
	bind_text(d->event, 7, event->json);
	return put(d->event);
}

static int put_samples(struct export *e, const struct nt_profile *profile)
{
	const struct nt_profile_insn *insns;
	sqlite3_stmt *statement;
	size_t nr, i;
	int err;

	insns = nt_profile_insns(profile, &nr);
	err = prepare(e, "INSERT INTO samples VALUES (?, ?, ?, ?, ?)", &statement);
	for (i = 0; !err && i < nr; i++) {
		bind_text(statement, 1, insns[i].object);
		bind_text(statement, 2, insns[i].symbol);
		sqlite3_bind_int64(statement, 3, insns[i].offset);
		sqlite3_bind_int64(statement, 4, insns[i].address);
		sqlite3_bind_int64(statement, 5, insns[i].count);
		err = put(statement);
	}
	sqlite3_finalize(statement);
	return err;
}

/* How often each instruction was executed needs another look at the trace, which only counts. */
static int sqlite_end(struct export *e)
{
	struct nt_profile *profile;
	struct database *d = e->state;
	int err = -1;

	if (end_spans(e))
		return -1;
	profile = nt_profile_new(e->session, &e->recording.filter);
	errno = ENOMEM;
	if (profile && !nt_profile_run(profile))
		err = put_samples(e, profile);
	nt_profile_free(profile);
	return err ? -1 : execute(d, "COMMIT");
}

static void sqlite_free(struct export *e)
{
	struct database *d = e->state;

	if (d) {
		sqlite3_finalize(d->event);
		sqlite3_close(d->db);
		sqlite_rows_free(&d->spans);
		if (d->fd >= 0)
			close(d->fd);
	}
	free(d);
}

const struct export_format export_sqlite = {
	.name = "sqlite", .begin = sqlite_begin, .enter = sqlite_enter, .event = sqlite_event, .end = sqlite_end,
	.free = sqlite_free, .own_file = true,
};
#endif
