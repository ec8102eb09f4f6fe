// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls become known when they end. They wait in a file without a name, which is sorted in its
 * place: the kernel writes to the disk what does not fit into memory.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sorted-calls.h"

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

static int give_calls(const struct sorted_calls *sorted, const struct nt_calls *calls,
		      const struct nt_call *all, size_t nr)
{
	int err = 0;
	size_t i;

	for (i = 0; !err && i < nr; i++)
		err = sorted->take(sorted->ctx, &all[i], nt_calls_function(calls, all[i].function));
	return err;
}

/* The file is not needed any longer once it is mapped. */
static int sort_and_give(const struct sorted_calls *sorted, struct nt_calls *calls,
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
	err = give_calls(sorted, calls, map, all->nr);
	munmap(map, all->nr * sizeof(*map));
	return err;
}

int sorted_calls_each(struct sorted_calls *sorted)
{
	struct nt_calls *calls = nt_calls_new(sorted->session);
	struct call_file all = { .file = tmpfile() };
	struct nt_calls_totals totals;
	int err = -1;

	errno = errno ? errno : ENOMEM;
	if (calls && all.file) {
		nt_calls_filter(calls, sorted->filter);
		nt_calls_each(calls, take_call, &all);
		err = nt_calls_run(calls) || sort_and_give(sorted, calls, &all);
		nt_calls_totals(calls, &totals);
		sorted->errors |= totals.errors || totals.gaps || totals.losses;
	}
	if (err)
		fprintf(stderr, "ntrace: %s\n", nt_session_error(sorted->session)[0] ?
			nt_session_error(sorted->session) : strerror(errno));
	if (all.file)
		fclose(all.file);
	nt_calls_free(calls);
	return err ? -1 : 0;
}
