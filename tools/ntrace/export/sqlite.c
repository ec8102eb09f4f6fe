// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format sqlite - write a database. With the texts of each call, its rows would be
 * large and slow to write. A row therefore contains the numbers of the thread and the function, and
 * the view "calls" adds the texts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export.h"
#include "cli/json-text.h"

#ifdef HAVE_SQLITE
#include <sqlite3.h>

#include "session/counts/profile.h"

static const char create[] =
	"PRAGMA page_size = 65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
	"BEGIN;"
	"CREATE TABLE threads (id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, comm TEXT);"
	"CREATE TABLE functions (id INTEGER PRIMARY KEY, function TEXT, object TEXT, address INTEGER);"
	"CREATE TABLE spans (id INTEGER PRIMARY KEY, time INTEGER, ns INTEGER, on_cpu_ns INTEGER, insns INTEGER,"
	" depth INTEGER, caller INTEGER, thread INTEGER, function INTEGER, open INTEGER,"
	" last INTEGER, stack INTEGER, cpu INTEGER);"
	"CREATE TABLE samples (object TEXT, function TEXT, offset INTEGER, address INTEGER, count INTEGER);"
	"CREATE TABLE events (time INTEGER, cpu INTEGER, pid INTEGER, tid INTEGER, comm TEXT, event TEXT, fields TEXT);"
	"CREATE VIEW calls AS SELECT s.id, s.time, s.ns, s.on_cpu_ns, s.insns, t.pid, t.tid, t.comm, f.function,"
	" f.object, s.depth, s.caller, s.last, s.stack, s.cpu FROM spans s JOIN threads t ON t.id = s.thread"
	" JOIN functions f ON f.id = s.function WHERE NOT s.open;"
	"CREATE VIEW inside AS SELECT o.id AS outer, i.id AS id FROM spans o JOIN spans i ON i.id BETWEEN o.id + 1 AND o.last;"
	"CREATE VIEW totals AS SELECT f.function, f.object, count(*) AS calls, sum(s.ns) AS ns, max(s.ns) AS max_ns, sum(s.on_cpu_ns) AS on_cpu_ns,"
	" sum(s.insns) AS insns FROM spans s JOIN functions f ON f.id = s.function WHERE NOT s.open GROUP BY f.id;";

/*
 * Do not set the id of a row. sqlite then assigns the next id, which is the number of the call, and
 * appends the row to the table, which is faster.
 */
#define ADD_SPANS	"INSERT INTO spans(time, ns, on_cpu_ns, insns, depth, caller, thread, function, open, last, stack, cpu) VALUES "
#define ROW		"(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
#define FOUR_ROWS	ROW ", " ROW ", " ROW ", " ROW

enum {
	SPAN_COLUMNS	= 12,
	/* number of rows of a statement; with one row per statement, sqlite takes nearly twice as long */
	SPANS		= 16,
};

/* A row of the table "spans", in the order of its columns */
struct span {
	int64_t		time, ns, on_cpu_ns, insns, depth, caller, thread, function, open, last, stack, cpu;
};

struct database {
	sqlite3		*db;
	sqlite3_stmt	*span, *spans, *thread, *event, *last;
	struct span	waiting[SPANS];
	size_t		nr_waiting;
};

static int failed(int code)
{
	errno = code == SQLITE_FULL ? ENOSPC : code == SQLITE_NOMEM ? ENOMEM : code == SQLITE_CANTOPEN ? ENOENT : EIO;
	return -1;
}

/* Execute a statement after its values were bound. */
static int put(sqlite3_stmt *statement)
{
	int code = sqlite3_step(statement);

	sqlite3_reset(statement);
	return code == SQLITE_DONE ? 0 : failed(code);
}

/* Bind a text. Convert it to UTF-8, which a database requires, because file names need not be UTF-8. */
static void bind_text(sqlite3_stmt *statement, int column, const char *text)
{
	size_t size = text ? strlen(text) : 0;
	char *copy = text ? sqlite3_malloc64(size + 1) : NULL;

	if (copy)
		utf8_copy(copy, text, size);
	sqlite3_bind_text(statement, column, copy, size, sqlite3_free);
}

/* Bind numbers to the column @first and the columns after it. */
static void bind_numbers(sqlite3_stmt *statement, int first, size_t nr, const int64_t *numbers)
{
	while (nr--)
		sqlite3_bind_int64(statement, first++, *numbers++);
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

/*
 * Make an empty output file, because sqlite would keep the contents of an existing file. Return the name of
 * the file, or NULL with errno on failure. If the output is a pipe or a device, fail, because sqlite cannot
 * write to it.
 */
static const char *make_file(struct export *e)
{
	const char *name = whole_file_begin(&e->whole, e->output, 0666);
	struct stat st;

	if (!name || stat(name, &st))
		return NULL;
	if (S_ISREG(st.st_mode))
		return truncate(name, 0) ? NULL : name;
	errno = ESPIPE;
	return NULL;
}

static int open_file(struct export *e)
{
	const char *name = strcmp(e->output, "-") ? make_file(e) : NULL;
	struct database *d = e->state;
	int code;

	if (!name) {
		errno = strcmp(e->output, "-") ? errno : ESPIPE;
		return -1;
	}
	/*
	 * disable locks and memory statistics, because only one thread uses the database. They
	 * would take 14 % of all instructions
	 */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	code = sqlite3_open_v2(name, &d->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			       SQLITE_OPEN_NOMUTEX, NULL);
	if (!code)
		code = sqlite3_exec(d->db, create, NULL, NULL, NULL);
	return code ? failed(code) : 0;
}

static int sqlite_begin(struct export *e)
{
	struct database *d = e->state = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	if (open_file(e) || put_functions(e))
		return -1;
	if (prepare(e, ADD_SPANS ROW, &d->span))
		return -1;
	if (prepare(e, ADD_SPANS FOUR_ROWS ", " FOUR_ROWS ", " FOUR_ROWS ", " FOUR_ROWS, &d->spans))
		return -1;
	if (prepare(e, "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", &d->event))
		return -1;
	if (prepare(e, "UPDATE spans SET last = ? WHERE id = ?", &d->last))
		return -1;
	return prepare(e, "INSERT INTO threads VALUES (?, ?, ?, ?)", &d->thread);
}

static int put_thread(struct export *e, const struct export_thread *thread)
{
	struct database *d = e->state;

	bind_numbers(d->thread, 1, 3, (int64_t[]){ thread->number, thread->pid, thread->tid });
	bind_text(d->thread, 4, thread->comm);
	return put(d->thread);
}

/* Bind the values of one row of the statement. Set the caller of an outermost call to NULL. */
static void bind_span(sqlite3_stmt *statement, size_t row, const struct span *span)
{
	bind_numbers(statement, row * SPAN_COLUMNS + 1, SPAN_COLUMNS, (const int64_t *)span);
	if (!span->depth)
		sqlite3_bind_null(statement, row * SPAN_COLUMNS + 6);
}

/* Write the rows in database::waiting. If there are SPANS rows, write them in one statement, otherwise one by one. */
static int put_spans(struct database *d)
{
	bool full = d->nr_waiting == SPANS;
	size_t i;
	int err = 0;

	for (i = 0; !err && i < d->nr_waiting; i++) {
		bind_span(full ? d->spans : d->span, full ? i : 0, &d->waiting[i]);
		if (!full)
			err = put(d->span);
	}
	d->nr_waiting = 0;
	return full ? put(d->spans) : err;
}

static int sqlite_enter(struct export *e, struct nested_call *call)
{
	const struct export_thread *thread = export_thread(e, &call->call);
	struct database *d = e->state;

	if (!thread || (thread->is_new && put_thread(e, thread)))
		return -1;
	call->user = e->nr;
	d->waiting[d->nr_waiting++] = (struct span) {
		.time = call->call.begin, .ns = call->call.ns, .on_cpu_ns = call->call.ran, .insns = call->call.insns,
		.depth = call->depth, .caller = call->depth ? e->nested.open.at[call->depth - 1].user : 0,
		.thread = thread->number, .function = call->call.function, .open = call->call.open,
		.last = e->nr, .stack = call->thread,
		.cpu = nt_calls_slice(e->calls, call->call.slice)->cpu,
	};
	return d->nr_waiting == SPANS ? put_spans(d) : 0;
}

/*
 * Set the column "last" of a call to the number of the last call inside it. If the row is already
 * in the database, change it there.
 */
static int sqlite_leave(struct export *e, const struct nested_call *call)
{
	struct database *d = e->state;

	if (call->user + d->nr_waiting > e->nr) {
		d->waiting[call->user + d->nr_waiting - e->nr - 1].last = e->nr;
		return 0;
	}
	if (call->user == e->nr)
		return 0;
	bind_numbers(d->last, 1, 2, (int64_t[]){ e->nr, call->user });
	return put(d->last);
}

static int sqlite_event(struct export *e, const struct export_event *event)
{
	struct database *d = e->state;

	bind_numbers(d->event, 1, 4, (int64_t[]){
		event->event.time, event->event.cpu, event->pid, event->event.tid });
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
		bind_numbers(statement, 3, 3, (int64_t[]){
			insns[i].offset, insns[i].address, insns[i].count });
		err = put(statement);
	}
	sqlite3_finalize(statement);
	return err;
}

/* Write the counts of instructions, for which the trace is decoded a second time, in counting mode. */
static int sqlite_end(struct export *e)
{
	struct nt_profile *profile = nt_profile_new(e->session, &e->recording.filter);
	struct database *d = e->state;
	int err = -1, code;

	errno = ENOMEM;
	if (profile && !put_spans(d) && !nt_profile_run(profile))
		err = put_samples(e, profile);
	nt_profile_free(profile);
	if (err)
		return -1;
	code = sqlite3_exec(d->db, "COMMIT", NULL, NULL, NULL);
	return code ? failed(code) : 0;
}

static void sqlite_free(struct export *e)
{
	struct database *d = e->state;

	if (d) {
		sqlite3_finalize(d->span);
		sqlite3_finalize(d->spans);
		sqlite3_finalize(d->thread);
		sqlite3_finalize(d->event);
		sqlite3_finalize(d->last);
		sqlite3_close(d->db);
	}
	free(d);
}

const struct export_format export_sqlite = {
	.name = "sqlite", .begin = sqlite_begin, .enter = sqlite_enter,
	.leave = sqlite_leave, .event = sqlite_event, .end = sqlite_end,
	.free = sqlite_free, .own_file = true,
};
#endif
