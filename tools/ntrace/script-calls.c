// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace script --calls: each call that began and ended in the recording, by its begin.
 *
 * Calls become known when they end. They wait in a file without a name, which is sorted in its
 * place: the kernel writes to the disk what does not fit into memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "script.h"
#include "session/calls.h"

struct call_file {
	FILE	*file;
	size_t	nr;
};

static int take_call(void *ctx, const struct nt_call *call)
{
	struct call_file *all = ctx;

	all->nr++;
	return fwrite(call, sizeof(*call), 1, all->file) == 1 ? 0 : -1;
}

/* The number of a function depends on which thread has met it first; its name does not. */
static int name_cmp(const struct nt_function *x, const struct nt_function *y)
{
	int order = strcmp(x->symbol ? x->symbol : "", y->symbol ? y->symbol : "");

	return order ? order : strcmp(x->object ? x->object : "", y->object ? y->object : "");
}

/* Of calls that begin at one time, the one around the others comes first. */
static int call_cmp(const void *a, const void *b, void *calls)
{
	const struct nt_call *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->insns != y->insns)
		return x->insns > y->insns ? -1 : 1;
	return name_cmp(nt_calls_function(calls, x->function),
			nt_calls_function(calls, y->function));
}

static void print_call(struct script_part *p, const struct nt_call *call,
		       const struct nt_function *f)
{
	struct nt_who who = { .tid = call->tid, .pid = -1, .cpu = -1, .comm = "" };
	struct lines *l = &p->lines;

	nt_session_thread(p->script->session, call->tid, call->begin, &who.pid, &who.comm);
	if (p->script->json) {
		lines_add(l, "{\"time\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"insns\": %" PRIu64
			  ", \"pid\": %d, \"tid\": %d, \"comm\": ", call->begin, call->ns,
			  call->insns, who.pid, who.tid);
		lines_add_string(l, who.comm);
		lines_add(l, ", \"function\": ");
		lines_add_string(l, f->symbol);
		lines_add(l, ", \"object\": ");
		lines_add_string(l, f->object);
		lines_add(l, "}\n");
		return;
	}
	script_add_who(p, &who, call->begin);
	lines_add(l, "%10" PRIu64 " ns %10" PRIu64 " insns", call->ns, call->insns);
	if (script_has(p->script, F_SYM))
		lines_add(l, "  %s", f->symbol ? f->symbol : "[unknown]");
	if (script_has(p->script, F_DSO))
		lines_add(l, " (%s)", f->object ? f->object : "[unknown]");
	lines_add(l, "\n");
}

static int print_calls(struct script *script, const struct nt_calls *calls,
		       const struct nt_call *all, size_t nr)
{
	struct script_part p = { .script = script };
	int err = 0;
	size_t i;

	for (i = 0; !err && i < nr; i++) {
		print_call(&p, &all[i], nt_calls_function(calls, all[i].function));
		if (p.lines.failed || fwrite(p.lines.text, 1, p.lines.len, stdout) != p.lines.len)
			err = -1;
		p.lines.len = 0;
	}
	lines_free(&p.lines);
	return err || fflush(stdout) ? -1 : 0;
}

/* The file is not needed any longer once it is mapped. */
static int sort_and_print(struct script *script, struct nt_calls *calls,
			  const struct call_file *all)
{
	struct nt_call *map;
	int err;

	if (!all->nr)
		return 0;
	if (fflush(all->file))
		return -1;
	map = mmap(NULL, all->nr * sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED,
		   fileno(all->file), 0);
	if (map == MAP_FAILED)
		return -1;
	qsort_r(map, all->nr, sizeof(*map), call_cmp, calls);
	err = print_calls(script, calls, map, all->nr);
	munmap(map, all->nr * sizeof(*map));
	return err;
}

int script_calls(struct script *script)
{
	struct nt_calls *calls = nt_calls_new(script->session);
	struct call_file all = { .file = tmpfile() };
	struct nt_calls_totals totals;
	int err = -1;

	errno = errno ? errno : ENOMEM;
	if (calls && all.file) {
		/* without columns that a call does not have */
		script->fields &= ~(1U << F_CPU);
		nt_calls_filter(calls, &script->filter);
		nt_calls_each(calls, take_call, &all);
		err = nt_calls_run(calls) || sort_and_print(script, calls, &all);
		nt_calls_totals(calls, &totals);
		script->errors |= totals.errors || totals.gaps || totals.losses;
	}
	if (err)
		fprintf(stderr, "ntrace: %s\n", nt_session_error(script->session)[0] ?
			nt_session_error(script->session) : strerror(errno));
	if (all.file)
		fclose(all.file);
	nt_calls_free(calls);
	return err ? -1 : 0;
}
