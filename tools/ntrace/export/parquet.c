// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format parquet - write a folder with four files, because a Parquet file has one
 * table. A row of calls.parquet contains all names of a call, so that a query over the files of
 * many machines does not need the other tables. Dictionaries keep the file small.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/losses.h"
#include "export.h"
#include "parquet-file.h"

enum { CALLS, THREADS, FUNCTIONS, LOSSES, TABLES };

#define NUMBER(name)	{ name, PARQUET_NUMBER }
#define TEXT(name)	{ name, PARQUET_TEXT }

static const struct {
	const char	*name;
	struct parquet_column columns[PARQUET_COLUMNS];
} tables[TABLES] = {
	[CALLS] = { "calls", {
		NUMBER("id"), NUMBER("time"), NUMBER("ns"), NUMBER("on_cpu_ns"), NUMBER("insns"), NUMBER("depth"),
		NUMBER("caller"), NUMBER("open"), NUMBER("pid"), NUMBER("tid"), TEXT("comm"), TEXT("function"), TEXT("object"),
		TEXT("build_id"),
	} },
	[THREADS] = { "threads", { NUMBER("pid"), NUMBER("tid"), TEXT("comm") } },
	[FUNCTIONS] = { "functions", {
		TEXT("function"), TEXT("object"), TEXT("build_id"), { "address", PARQUET_UNSIGNED }, NUMBER("calls"),
		NUMBER("open"), NUMBER("total_ns"), NUMBER("on_cpu_ns"), NUMBER("self_ns"), NUMBER("total_insns"),
		NUMBER("self_insns"), NUMBER("max_ns"),
	} },
	[LOSSES] = { "losses", { NUMBER("cpu"), TEXT("reason"), NUMBER("times"), NUMBER("ns") } },
};

/* Values of the names of a function in calls.parquet (parquet_text()) */
struct names {
	int64_t		function, object, build_id;
};

struct parquet_folder {
	bool		is_new;			/* this command has created the folder */
	struct whole_file whole[TABLES];
	FILE		*files[TABLES];
	struct parquet	*tables[TABLES];
	struct names	*names;
	NS_ARRAY(int64_t) comms;		/* return value of parquet_text() for the name of each thread */
};

static int open_table(struct export *e, struct parquet_folder *p, int table)
{
	char path[PATH_MAX];
	size_t nr = 0;

	if (snprintf(path, sizeof(path), "%s/%s.parquet", e->output, tables[table].name) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	p->files[table] = whole_file_open(&p->whole[table], path);
	if (!p->files[table])
		return -1;
	while (nr < PARQUET_COLUMNS && tables[table].columns[nr].name)
		nr++;
	p->tables[table] = parquet_new(p->files[table], tables[table].columns, nr);
	return p->tables[table] ? 0 : -1;
}

static int put_functions(struct export *e, struct parquet_folder *p)
{
	struct parquet *table = p->tables[FUNCTIONS], *calls = p->tables[CALLS];
	const struct nt_function *f;
	char text[BUILD_ID_TEXT];
	const char *id;
	size_t i;

	for (i = 0; (f = nt_calls_function(e->calls, i)); i++) {
		id = recording_build_id(e->session, f->object, text);
		p->names[i] = (struct names){
			parquet_text(calls, f->symbol), parquet_text(calls, f->object), parquet_text(calls, id),
		};
		if (parquet_row(table, (int64_t[]){
				parquet_text(table, f->symbol), parquet_text(table, f->object), parquet_text(table, id),
				f->address, f->calls, f->open, f->total_ns, f->total_ran, f->self_ns, f->total_insns,
				f->self_insns, f->max_ns }))
			return -1;
	}
	return 0;
}

static int parquet_begin(struct export *e)
{
	struct parquet_folder *p = e->state = calloc(1, sizeof(*p));
	size_t nr = 0;
	int i;

	errno = ENOMEM;
	while (nt_calls_function(e->calls, nr))
		nr++;
	if (p)
		p->names = calloc(nr + 1, sizeof(*p->names));
	if (!p || !p->names)
		return -1;
	if (!strcmp(e->output, "-")) {
		errno = ENOTDIR;
		return -1;
	}
	p->is_new = whole_folder_make(e->output);
	for (i = 0; i < TABLES; i++) {
		if (open_table(e, p, i))
			return -1;
	}
	return put_functions(e, p);
}

/*
 * Return the value of a thread's name for calls.parquet, or PARQUET_NULL if out of memory. Add a
 * new thread to threads.parquet.
 */
static int64_t comm_of(struct parquet_folder *p, const struct export_thread *thread)
{
	int64_t comm;

	if (!thread->is_new)
		return p->comms.at[thread->number];
	comm = parquet_text(p->tables[THREADS], thread->comm);
	if (parquet_row(p->tables[THREADS], (int64_t[]){ thread->pid, thread->tid, comm }))
		return PARQUET_NULL;
	comm = parquet_text(p->tables[CALLS], thread->comm);
	return ns_array_add(&p->comms, comm) ? comm : PARQUET_NULL;
}

static int parquet_enter(struct export *e, struct nested_call *call)
{
	const struct export_thread *thread = export_thread(e, &call->call);
	struct parquet_folder *p = e->state;
	const struct names *names = &p->names[call->call.function];
	int64_t comm = thread ? comm_of(p, thread) : PARQUET_NULL;

	if (comm == PARQUET_NULL) {
		errno = ENOMEM;
		return -1;
	}
	call->user = e->nr;
	return parquet_row(p->tables[CALLS], (int64_t[]){
		e->nr, call->call.begin, call->call.ns, call->call.ran, call->call.insns, call->depth,
		call->depth ? (int64_t)e->nested.open.at[call->depth - 1].user : PARQUET_NULL, call->call.open,
		thread->pid, thread->tid, comm, names->function, names->object, names->build_id });
}

static int put_losses(struct export *e, struct parquet *table)
{
	struct nt_missing missing;
	size_t nth;
	int why;

	for (nth = 0; nt_session_lost(e->session, nth, &missing); nth++) {
		for (why = 0; why < NT_LOST_NR; why++) {
			if (missing.why[why].times &&
			    parquet_row(table, (int64_t[]){ missing.cpu, parquet_text(table, losses_reason(why)),
							    missing.why[why].times, missing.why[why].ns }))
				return -1;
		}
	}
	return 0;
}

/* Complete the files, unless no call was exported. */
static int parquet_done(struct export *e)
{
	struct parquet_folder *p = e->state;
	FILE *file;
	int i;

	if (!e->nr)
		return 0;
	if (put_losses(e, p->tables[LOSSES]))
		return -1;
	for (i = 0; i < TABLES; i++) {
		/* detect a full disk here, before the first file replaces an older one and gets its name */
		if (parquet_end(p->tables[i]) || fflush(p->files[i]) || fsync(fileno(p->files[i])))
			return -1;
	}
	for (i = 0; i < TABLES; i++) {
		file = p->files[i];
		p->files[i] = NULL;
		if (whole_file_close(&p->whole[i], file, true))
			return -1;
	}
	p->is_new = false;
	return 0;
}

static void parquet_free_folder(struct export *e)
{
	struct parquet_folder *p = e->state;
	int i;

	for (i = 0; p && i < TABLES; i++) {
		if (p->files[i])
			whole_file_close(&p->whole[i], p->files[i], false);
		parquet_free(p->tables[i]);
	}
	if (p) {
		if (p->is_new)
			rmdir(e->output);
		free(p->names);
		free(p->comms.at);
	}
	free(p);
}

const struct export_format export_parquet = {
	.name = "parquet", .begin = parquet_begin, .enter = parquet_enter, .end = parquet_done,
	.free = parquet_free_folder, .own_file = true,
};
