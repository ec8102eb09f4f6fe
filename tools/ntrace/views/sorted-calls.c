// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library reports a call when the call ends. The position of the call in its thread is known only after
 * the library has decoded the whole trace. Until then, the first calls are stored in memory, and the other
 * calls in an unnamed file. The calls are divided into runs of RUN_CALLS. The runs are sorted one after the
 * other, and then merged.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "cli/output.h"
#include "cli/recording.h"
#include "session/array.h"
#include "sorted-calls.h"

/*
 * number of calls of a run, which are sorted together; they have 14 MiB, and partly fit into the
 * processor's caches
 */
#define RUN_CALLS	(1 << 18)
#define KEPT_RUNS	5		/* number of runs (of RUN_CALLS calls) that stay in memory (70 MiB) */
#define READ_CALLS	1024		/* number of calls that a merge reads from each sorted run at a time */
#define READ_LEAST	32
#define READ_ALL	(1 << 20)	/* maximum number of calls that a merge reads from all runs together (56 MiB) */
#define RUNS_MAX	(1 << 14)
#define DIGIT		11		/* number of bits of a value that one pass of the radix sort compares */
/*
 * maximum size in bytes of the calls that one byte of trace reports; with calls of 48 bytes, 6 to
 * 17 were measured
 */
#define CALLS_BYTES	20

/* Values by which calls are sorted first; inside_cmp() compares calls for which they are all equal */
struct place {
	uint64_t	time;		/* start time of the call, ns; 0 if calls are sorted by thread */
	uint32_t	thread;
	uint64_t	at;
};

struct key {
	uint64_t	value;
	uint32_t	index;
};

struct run {
	struct nt_call	*calls;		/* buffer with the next calls of the sorted run */
	size_t		nr, next;
	uint64_t	offset, left;	/* file offset of the calls that were not read yet, and their number */
	struct place	place;		/* first part of the sort key of the next call */
};

struct all_calls {
	struct sorted_calls *sorted;
	struct nt_calls	*calls;
	struct nt_call	*run, *spare_run;
	size_t		nr;		/* number of calls in @run */
	struct nt_call	*kept[KEPT_RUNS];	/* full runs of RUN_CALLS calls that stay in memory */
	size_t		nr_kept;
	struct key	*keys, *spare;
	FILE		*file;		/* file with the other runs of calls; NULL: all calls fit into memory */
	uint64_t	in_file;
	size_t		read_calls;	/* number of calls to read from each sorted run at a time, at most READ_CALLS */
	/* a callback of @sorted is being called or has failed, so that an error may be one of writing the output */
	bool		giving;
};

/* ---- Order ---- */

static struct place place_of(const struct all_calls *all, const struct nt_call *call)
{
	return (struct place){
		.time = all->sorted->by_thread ? 0 : call->begin,
		.thread = nt_calls_slice(all->calls, call->slice)->thread, .at = call->at,
	};
}

static int place_cmp(const struct place *x, const struct place *y)
{
	return ns_order(x->time, y->time) ?: ns_order(x->thread, y->thread) ?:
	       ns_order(x->at, y->at);
}

/*
 * Compare the names of two functions. Their numbers cannot be compared, because a number depends on
 * the worker that first found the function.
 */
static int name_cmp(const struct nt_function *x, const struct nt_function *y)
{
	return strcmp(x->symbol ?: "", y->symbol ?: "") ?: strcmp(x->object ?: "", y->object ?: "");
}

/*
 * Compare two calls that begin at the same instruction. Compare their start times first, because
 * one call may have ended before the other began, such as a trap at the end of a stretch. At the
 * same time, the call with more instructions is the outer call. For example, an interrupt before
 * the first instruction of a call is inside that call.
 */
static int inside_cmp(const void *a, const void *b, void *calls)
{
	const struct nt_call *x = a, *y = b;

	return ns_order(x->begin, y->begin) ?: ns_order(y->insns, x->insns) ?: ns_order(y->ns, x->ns) ?:
		name_cmp(nt_calls_function(calls, x->function), nt_calls_function(calls, y->function));
}

/* ---- Sort one run, which is up to RUN_CALLS calls ---- */

/* Sort the keys by one digit of their values. Keys with the same digit keep their order. */
static void sort_digit(struct all_calls *all, unsigned int shift)
{
	uint32_t counts[(1 << DIGIT) + 1] = { 0 };
	struct key *swap = all->keys;
	size_t i;

	for (i = 0; i < all->nr; i++)
		counts[(all->keys[i].value >> shift & ((1 << DIGIT) - 1)) + 1]++;
	for (i = 1; i < 1 << DIGIT; i++)
		counts[i] += counts[i - 1];
	for (i = 0; i < all->nr; i++)
		all->spare[counts[all->keys[i].value >> shift & ((1 << DIGIT) - 1)]++] = all->keys[i];
	all->keys = all->spare;
	all->spare = swap;
}

static uint64_t value_of(const struct all_calls *all, const struct nt_call *call, unsigned int field)
{
	return field == 0 ? call->at : field == 1 ? nt_calls_slice(all->calls, call->slice)->thread : call->begin;
}

/* Sort the keys by one member of struct place. Keys with the same value keep their order. */
static void sort_field(struct all_calls *all, unsigned int field)
{
	uint64_t least = UINT64_MAX, most = 0, value;
	unsigned int shift;
	size_t i;

	for (i = 0; i < all->nr; i++) {
		value = all->keys[i].value = value_of(all, &all->run[all->keys[i].index], field);
		least = value < least ? value : least;
		most = value > most ? value : most;
	}
	for (i = 0; i < all->nr; i++)
		all->keys[i].value -= least;
	for (shift = 0; shift < 64 && (most - least) >> shift; shift += DIGIT)
		sort_digit(all, shift);
}

static void sort_equals(struct all_calls *all, struct nt_call *calls)
{
	struct place first, place;
	size_t i, begin = 0;

	for (i = 1; i <= all->nr; i++) {
		/* place_of() looks up slices, so call it only for the few calls that have the same nt_call::at */
		if (i < all->nr && calls[i].at == calls[begin].at) {
			first = place_of(all, &calls[begin]);
			place = place_of(all, &calls[i]);
			if (!place_cmp(&first, &place))
				continue;
		}
		if (i - begin > 1)
			qsort_r(calls + begin, i - begin, sizeof(*calls), inside_cmp, all->calls);
		begin = i;
	}
}

/* Copy the calls in the order of the keys. */
static void move_calls(struct all_calls *all)
{
	struct nt_call *swap = all->run;
	size_t i;

	for (i = 0; i < all->nr; i++)
		all->spare_run[i] = all->run[all->keys[i].index];
	all->run = all->spare_run;
	all->spare_run = swap;
}

static void sort_run(struct all_calls *all)
{
	size_t i;

	for (i = 0; i < all->nr; i++) {
		all->run[i].at += nt_calls_slice(all->calls, all->run[i].slice)->at;
		all->keys[i].index = i;
	}
	sort_field(all, 0);
	sort_field(all, 1);
	if (!all->sorted->by_thread)
		sort_field(all, 2);
	move_calls(all);
	sort_equals(all, all->run);
}

static int give(struct all_calls *all, const struct nt_call *call)
{
	all->giving = true;
	if (all->sorted->take(all->sorted->ctx, call, nt_calls_function(all->calls, call->function)))
		return -1;
	all->giving = false;
	return 0;
}

/* ---- The file ---- */

static int spill(struct all_calls *all)
{
	if (!all->file)
		all->file = tmpfile();
	if (!all->file || fwrite(all->run, sizeof(*all->run), all->nr, all->file) != all->nr)
		return -1;
	all->in_file += all->nr;
	all->nr = 0;
	return 0;
}

/*
 * Store the full run @run in memory, and start a new run. If KEPT_RUNS runs are already in memory,
 * write it to the file.
 */
static int keep(struct all_calls *all)
{
	struct nt_call *next = all->nr_kept < KEPT_RUNS ? malloc(RUN_CALLS * sizeof(*next)) : NULL;

	if (!next)
		return spill(all);
	all->kept[all->nr_kept++] = all->run;
	all->run = next;
	all->nr = 0;
	return 0;
}

static int take_call(void *ctx, const struct nt_call *call)
{
	struct all_calls *all = ctx;

	all->run[all->nr++] = *call;
	return all->nr < RUN_CALLS ? 0 : keep(all);
}

/* Read calls from the file, or write calls to it, at @offset, which is a number of calls. */
static int transfer(struct all_calls *all, uint64_t offset, struct nt_call *calls, size_t nr,
		    bool write)
{
	size_t done;

	if (fseeko(all->file, offset * sizeof(*calls), SEEK_SET))
		return -1;
	done = write ? fwrite(calls, sizeof(*calls), nr, all->file) :
		       fread(calls, sizeof(*calls), nr, all->file);
	return done == nr ? 0 : -1;
}

static void sort_kept(struct all_calls *all)
{
	struct nt_call *run = all->run;
	size_t i;

	all->nr = RUN_CALLS;
	for (i = 0; i < all->nr_kept; i++) {
		all->run = all->kept[i];
		sort_run(all);
		all->kept[i] = all->run;
	}
	all->run = run;
}

static int sort_file(struct all_calls *all)
{
	uint64_t at;

	for (at = 0; at < all->in_file; at += all->nr) {
		all->nr = all->in_file - at < RUN_CALLS ? all->in_file - at : RUN_CALLS;
		if (transfer(all, at, all->run, all->nr, false))
			return -1;
		sort_run(all);
		if (transfer(all, at, all->run, all->nr, true))
			return -1;
	}
	return 0;
}

/* ---- Merge the sorted runs ---- */

/*
 * Move to the next call of the sorted run. Return 1, or 0 after the last call, or -1 if reading
 * failed.
 */
static int refill(struct all_calls *all, struct run *run)
{
	if (++run->next < run->nr) {
		run->place = place_of(all, &run->calls[run->next]);
		return 1;
	}
	run->nr = run->left < all->read_calls ? run->left : all->read_calls;
	run->next = 0;
	if (!run->nr)
		return 0;
	if (transfer(all, run->offset, run->calls, run->nr, false))
		return -1;
	run->offset += run->nr;
	run->left -= run->nr;
	run->place = place_of(all, run->calls);
	return 1;
}

static bool comes_first(const struct all_calls *all, const struct run *x, const struct run *y)
{
	return (place_cmp(&x->place, &y->place) ?: inside_cmp(&x->calls[x->next], &y->calls[y->next], all->calls)) < 0;
}

/*
 * Restore the order of the binary heap of runs, after the run at index @at has changed, by moving that
 * run down. In this order, the next call of a run never precedes the next call of the run's parent.
 */
static void sift(const struct all_calls *all, struct run **heap, size_t nr, size_t at)
{
	struct run *run = heap[at];
	size_t child;

	while ((child = 2 * at + 1) < nr) {
		if (child + 1 < nr && comes_first(all, heap[child + 1], heap[child]))
			child++;
		if (!comes_first(all, heap[child], run))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = run;
}

static int merge_runs(struct all_calls *all, struct run **heap, size_t nr)
{
	size_t i;
	int more;

	for (i = nr; i--; )
		sift(all, heap, nr, i);
	while (nr) {
		if (give(all, &heap[0]->calls[heap[0]->next]))
			return -1;
		more = refill(all, heap[0]);
		if (more < 0)
			return -1;
		if (!more)
			heap[0] = heap[--nr];
		if (nr)
			sift(all, heap, nr, 0);
	}
	return 0;
}

/*
 * Prepare to read run number @nth. The runs in memory have the first numbers. The runs in the file
 * get a buffer, which the caller frees.
 */
static int open_run(struct all_calls *all, struct run *run, size_t nth)
{
	if (nth < all->nr_kept) {
		*run = (struct run){ .calls = all->kept[nth], .nr = RUN_CALLS };
		run->place = place_of(all, run->calls);
		return 0;
	}
	run->calls = malloc(all->read_calls * sizeof(*run->calls));
	run->offset = (nth - all->nr_kept) * RUN_CALLS;
	run->left = all->in_file - run->offset < RUN_CALLS ? all->in_file - run->offset : RUN_CALLS;
	return run->calls && refill(all, run) > 0 ? 0 : -1;
}

static int merge_all(struct all_calls *all)
{
	size_t nr = all->nr_kept + (all->in_file + RUN_CALLS - 1) / RUN_CALLS, i;
	struct run *runs, **heap;
	int err = 0;

	if (nr > RUNS_MAX)
		return errno = EFBIG, -1;
	all->read_calls = nr > READ_ALL / READ_LEAST ? READ_LEAST : nr > READ_ALL / READ_CALLS ? READ_ALL / nr : READ_CALLS;
	runs = calloc(nr, sizeof(*runs));
	heap = calloc(nr, sizeof(*heap));
	for (i = 0; !err && i < nr; i++) {
		err = runs && heap ? open_run(all, &runs[i], i) : -1;
		if (!err)
			heap[i] = &runs[i];
	}
	err = err ? err : merge_runs(all, heap, nr);
	for (i = all->nr_kept; runs && i < nr; i++)
		free(runs[i].calls);
	free(runs);
	free(heap);
	return err;
}

/* ---- All ---- */

static void free_sorting(struct all_calls *all)
{
	free(all->run);
	free(all->spare_run);
	free(all->keys);
	free(all->spare);
	all->run = all->spare_run = NULL;
	all->keys = all->spare = NULL;
}

static void free_room(struct all_calls *all)
{
	free_sorting(all);
	for (; all->nr_kept; all->nr_kept--)
		free(all->kept[all->nr_kept - 1]);
}

static int sort_and_give(struct all_calls *all)
{
	int err = 0;
	size_t i;

	if (!all->nr_kept && !all->file) {
		sort_run(all);
		for (i = 0; !err && i < all->nr; i++)
			err = give(all, &all->run[i]);
		return err;
	}
	err = spill(all);
	sort_kept(all);
	err = err || sort_file(all);
	/* free the buffers for sorting, because the merge has its own buffers */
	free_sorting(all);
	return err ? -1 : merge_all(all);
}

static int give_all(struct all_calls *all)
{
	const struct sorted_calls *sorted = all->sorted;

	all->giving = true;
	if (sorted->begin && sorted->begin(sorted->ctx, all->calls))
		return -1;
	all->giving = false;
	if (sort_and_give(all))
		return -1;
	all->giving = true;
	return sorted->end ? sorted->end(sorted->ctx) : 0;
}

static bool make_room(struct all_calls *all)
{
	all->calls = nt_calls_new(all->sorted->session);
	all->run = malloc(RUN_CALLS * sizeof(*all->run));
	all->keys = malloc(RUN_CALLS * sizeof(*all->keys));
	all->spare = malloc(RUN_CALLS * sizeof(*all->spare));
	all->spare_run = malloc(RUN_CALLS * sizeof(*all->spare_run));
	return all->calls && all->run && all->keys && all->spare && all->spare_run;
}

static int run_calls(struct all_calls *all)
{
	if (!make_room(all))
		return -1;
	nt_calls_filter(all->calls, all->sorted->filter);
	nt_calls_each(all->calls, take_call, all);
	if (all->sorted->open)
		nt_calls_open(all->calls);
	errno = 0;
	return nt_calls_run(all->calls) || give_all(all) ? -1 : 0;
}

static void report_failure(const struct all_calls *all)
{
	const char *error = nt_session_error(all->sorted->session);

	errno = errno ? errno : ENOMEM;
	if (error[0])
		recording_failed(all->sorted->session);
	else if (all->giving && all->sorted->output)
		output_failed(all->sorted->output);
	else
		fprintf(stderr, "ntrace: %s\n", strerror(errno));
}

/*
 * Warn at the start if the calls may fill the disk on which tmpfile() creates files, because
 * otherwise the error may follow after hours.
 */
static void warn_of_room(const struct sorted_calls *sorted)
{
	const uint64_t kept = KEPT_RUNS * RUN_CALLS * sizeof(struct nt_call);
	struct nt_session_info info;
	struct statvfs disk;
	uint64_t room;

	nt_session_info(sorted->session, &info, sizeof(info));
	if (info.trace_bytes <= kept / CALLS_BYTES || statvfs(P_tmpdir, &disk) || !disk.f_blocks)
		return;
	room = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (info.trace_bytes * CALLS_BYTES - kept > room)
		fprintf(stderr, "ntrace: the calls of %llu bytes of trace can need up to %llu MB in " P_tmpdir ", which has room for %llu MB: --time FROM,TO needs less\n",
			(unsigned long long)info.trace_bytes, (unsigned long long)(info.trace_bytes * CALLS_BYTES - kept) / 1000000 + 1, (unsigned long long)room / 1000000);
}

int sorted_calls_each(struct sorted_calls *sorted)
{
	struct all_calls all = { .sorted = sorted };
	int err;

	warn_of_room(sorted);
	err = run_calls(&all);
	if (err)
		report_failure(&all);
	if (all.file)
		fclose(all.file);
	free_room(&all);
	nt_calls_free(all.calls);
	return err;
}
