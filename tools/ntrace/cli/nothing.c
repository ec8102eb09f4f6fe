// SPDX-License-Identifier: GPL-2.0-only
/* Report why a command has no result, and list the CPUs, threads and functions to select (nothing.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "losses.h"
#include "nothing.h"
#include "ntrace.h"
#include "raw/deframer.h"
#include "session/array.h"
#include "session/calls/calls.h"

#define MAX_LISTED	12
#define NEAR		5

/* The CPUs, threads and times of a recording, found by decoding it without a filter */
struct there {
	NS_ARRAY(int32_t) cpus;
	NS_ARRAY(int32_t) tids;
	uint64_t	from, to;
};

static int ignore(void *ctx, const struct nt_call *call)
{
	return 0;
}

static int number_cmp(const void *a, const void *b)
{
	return ns_order(*(const int32_t *)a, *(const int32_t *)b);
}

static bool find_there(struct there *there, const struct nt_calls *calls)
{
	const struct nt_slice *s;
	size_t i;

	there->from = UINT64_MAX;
	for (i = 0; (s = nt_calls_slice(calls, i)); i++) {
		if (!ns_array_add(&there->cpus, s->cpu) || !ns_array_add(&there->tids, s->tid))
			return false;
		there->from = s->begin < there->from ? s->begin : there->from;
		there->to = s->end > there->to ? s->end : there->to;
	}
	if (!i)
		return false;
	ns_array_join(&there->cpus, number_cmp, (void)b);
	ns_array_join(&there->tids, number_cmp, (void)b);
	return true;
}

/* ---- Similar names ---- */

/*
 * Return the number of characters by which two names differ, for a search for similar names. If @b
 * contains @a, return the number of other characters in @b, at most 64. Otherwise compare the names
 * without their common start and end.
 */
static unsigned int distance(const char *a, const char *b)
{
	size_t common = 0, la = strlen(a), lb = strlen(b);

	if (strstr(b, a))
		return lb - la > 64 ? 64 : lb - la;
	while (a[common] && a[common] == b[common])
		common++;
	while (la > common && lb > common && a[la - 1] == b[lb - 1]) {
		la--;
		lb--;
	}
	return 64 + (la > lb ? la : lb) - common;
}

static void list_near(const struct nt_calls *calls, const char *name)
{
	const struct nt_function *f;
	struct { const char *name; unsigned int distance; } near[NEAR + 1], one;
	size_t nr = 0, i, k;

	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		if (!f->symbol || !(f->calls + f->open))
			continue;
		one.name = f->symbol;
		one.distance = distance(name, f->symbol);
		for (k = 0; k < nr && strcmp(near[k].name, one.name); k++)
			;
		if (k < nr)
			continue;
		for (k = nr; k && near[k - 1].distance > one.distance; k--)
			near[k] = near[k - 1];
		near[k].name = one.name;
		near[k].distance = one.distance;
		nr += nr < NEAR;
	}
	for (i = 0; i < nr; i++)
		fprintf(stderr, "%s%s", i ? ", " : ". The nearest names of functions that ran are ", near[i].name);
}

/* ---- Print why a command found nothing ---- */

/* Return the number of calls of the functions with a name, and add to @open the number of calls without start or end. */
static uint64_t count_calls(struct nt_session *session, const struct nt_calls *calls, const char *name, uint64_t *open)
{
	const struct nt_function *f;
	uint64_t nr = 0;
	size_t i;

	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		if (!nt_session_is(session, f->object, f->address, name))
			continue;
		nr += f->calls;
		*open += f->open;
	}
	return nr;
}

/* List the files of the called functions. */
static void list_objects(const struct nt_calls *calls)
{
	const char *listed[MAX_LISTED];
	const struct nt_function *f;
	size_t nr = 0, i, k;

	for (i = 0; nr < MAX_LISTED && (f = nt_calls_function(calls, i)); i++) {
		for (k = 0; k < nr && listed[k] != f->object; k++)
			;
		if (k < nr || !f->object)
			continue;
		fprintf(stderr, ", %s%s", nr ? "" : "code of ", f->object);
		listed[nr++] = f->object;
	}
}

static void list_cpus(const struct there *there)
{
	size_t i;

	for (i = 0; i < there->cpus.nr && i < MAX_LISTED; i++)
		fprintf(stderr, "%s%d", i ? ", " : there->cpus.nr > 1 ? " of CPUs " : " of CPU ", there->cpus.at[i]);
	if (i < there->cpus.nr)
		fprintf(stderr, " and %zu more", there->cpus.nr - i);
}

static void list_threads(const struct there *there, const struct nt_session *session)
{
	const char *comm;
	int32_t pid;
	size_t i;

	for (i = 0; i < there->tids.nr && i < MAX_LISTED; i++) {
		nt_session_thread(session, there->tids.at[i], there->to, &pid, &comm);
		fprintf(stderr, "%s%d", i ? ", " : there->tids.nr > 1 ? ", threads " : ", thread ", there->tids.at[i]);
		if (*comm)
			fprintf(stderr, " (%s)", comm);
	}
	if (i < there->tids.nr)
		fprintf(stderr, " and %zu more", there->tids.nr - i);
}

static void print_sentence(const struct recording_options *options, struct nt_session *session,
			   const char *function, const struct nt_calls *calls, const struct there *there)
{
	const struct nt_filter *filter = &options->filter;
	uint64_t open = 0, whole = function ? count_calls(session, calls, function, &open) : 0;

	if (function)
		fprintf(stderr, "ntrace: no call of %s was recorded%s", function, whole || open ? " from its start to its end" : "");
	else if (nt_filter_is_set(filter) || filter->object)
		fputs("ntrace: nothing matched", stderr);
	else
		fputs("ntrace: nothing was found", stderr);
	if (filter->cpu >= 0)
		fprintf(stderr, " with --cpu %d", filter->cpu);
	if (filter->tid >= 0)
		fprintf(stderr, " with --tid %d", filter->tid);
	if (filter->pid)
		fprintf(stderr, " with --pid %lu", filter->pid);
	if (filter->comm)
		fprintf(stderr, " with --comm %s", filter->comm);
	if (filter->object)
		fprintf(stderr, " with --object %s", filter->object);
	if (filter->time.to)
		fputs(" in the time of --time", stderr);
	if (open && !whole)
		fprintf(stderr, ", because the trace does not show the start or the end of %s", open > 1 ? "its calls" : "its only call");
	else if (function && !whole)
		list_near(calls, function);
	fputs(". The recording has trace", stderr);
	list_cpus(there);
	list_threads(there, session);
	if (filter->object)
		list_objects(calls);
	if (there->to)
		fprintf(stderr, ", from " TIME_FORMAT " to " TIME_FORMAT, TIME_ARGS(there->from), TIME_ARGS(there->to));
	fputs("\n", stderr);
}

int nothing_matched(const struct recording_options *options, struct nt_session *session,
		    const char *function)
{
	struct nt_calls *calls = nt_calls_new(session);
	struct there there = { 0 };
	int status = EXIT_TRACE;

	if (calls)
		nt_calls_each(calls, ignore, NULL);
	if (!calls || nt_calls_run(calls))
		status = recording_failed(session);
	else if (find_there(&there, calls))
		print_sentence(options, session, function, calls, &there);
	else if (options->filter.object)
		fprintf(stderr, "ntrace: nothing matched with --object %s\n", options->filter.object);
	else if (!losses_any(session))
		fputs("ntrace: this recording has no trace that can be decoded: nothing that the event selects has run, or the recorder was killed\n",
		      stderr);
	nt_calls_free(calls);
	free(there.cpus.at);
	free(there.tids.at);
	return status;
}

int nothing_of_lines(const char *object)
{
	fprintf(stderr, "ntrace: there is no line information, for example of %s: %s\n", object ? object : "code without a file",
		object && *object == '[' && strcmp(object, "[vdso]") && strncmp(object, "[anon", 5) ? "name a folder that has vmlinux or the files of modules, with debug information, by --modules" :
		"build programs with -g, or name the folder of their debug files by --symfs or --buildid-dir");
	return EXIT_TRACE;
}

/* ---- Raw trace ---- */

static void list_bits(const char *name, const uint64_t *bits, size_t nr)
{
	const char *before = name;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (!(bits[i / 64] >> (i % 64) & 1))
			continue;
		fprintf(stderr, "%s%zu", before, i);
		before = ", ";
	}
	fputs(before == name ? ". It has no message\n" : "\n", stderr);
}

#define SRC_LISTED	4096

/* The trace IDs and sources that a file contains */
struct sources {
	struct nt_reader *reader;
	uint64_t	ids[2], sources[SRC_LISTED / 64];
};

static bool begin(void *ctx, unsigned int id, uint64_t offset, bool middle)
{
	struct sources *s = ctx;

	s->ids[id / 64] |= 1ULL << (id % 64);
	nt_reader_seek(s->reader, offset, middle);
	return true;
}

static bool find_sources(void *ctx, unsigned int id, const uint8_t *data, size_t size)
{
	struct sources *s = ctx;
	struct nt_message msg;
	int ret;

	nt_reader_feed(s->reader, data, size);
	while ((ret = nt_reader_next(s->reader, &msg)) != 0) {
		if (ret > 0 && msg.src < SRC_LISTED)
			s->sources[msg.src / 64] |= 1ULL << (msg.src % 64);
	}
	return true;
}

/* Read the whole file again, without selecting a source or trace ID. */
static bool read_again(struct sources *s, const struct options *options, const char *path)
{
	static const struct input_streams streams = { begin, find_sources, NULL };
	struct options all = *options;
	int status;

	all.frame_id = DEFRAMER_ANY;
	all.config.src_id = NT_SRC_ANY;
	s->reader = nt_reader_new(&all.config);
	status = s->reader ? input_each(path, &all, &streams, s) : EXIT_USAGE;
	nt_reader_free(s->reader);
	return status != EXIT_USAGE;
}

int nothing_of_source(const struct options *options, const char *path)
{
	struct sources s = { 0 };
	bool frames = options->frames && options->frame_id != DEFRAMER_ANY;

	if (!frames && options->config.src_id == NT_SRC_ANY)
		return EXIT_CLEAN;
	fprintf(stderr, "ntrace: no message matched");
	if (frames)
		fprintf(stderr, " --frames=%u", options->frame_id);
	if (options->config.src_id != NT_SRC_ANY)
		fprintf(stderr, " --src %u", options->config.src_id);
	/* do not read the standard input again, because this is impossible */
	if (!strcmp(path, "-") || !read_again(&s, options, path))
		fputs("\n", stderr);
	else if (frames)
		list_bits(". The trace has the trace IDs ", s.ids, 128);
	else
		list_bits(". The trace has the sources ", s.sources, SRC_LISTED);
	return EXIT_TRACE;
}
