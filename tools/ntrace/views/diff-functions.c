// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the functions in two sets (sides) of recordings. For each function, print the means of
 * both sides, and the spread within each side.
 *
 * The score of a function is the difference between the means, divided by the standard error of
 * this difference. If the standard error is less than the median of all functions, the median is
 * used, because the few recordings of a side can be equal by chance.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "session/array.h"
#include "session/calls/calls.h"
#include "session/hash.h"

#define SCORE	4	/* functions with a lower score are not printed, as chance may explain their difference */

enum { CALLS, INSNS, TIME, NR_VALUES };

struct function {
	char		*name, *object;
	double		*values;	/* [recording][CALLS, INSNS, TIME]; recordings of A, then of B */
	double		error, score;	/* standard error of the difference in proportion to the mean; score */
};

struct diff_functions {
	const struct diff_options *options;
	unsigned int	runs[2];
	NS_ARRAY(struct function) all;
	struct ns_hash	index;
	bool		has_time;
};

/* ---- Functions ---- */

static struct function *find_function(struct diff_functions *d, const char *object, const char *name)
{
	struct function f = { 0 };
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&d->index, ns_hash_mix(ns_hash_bytes(ns_hash_text(name), object, strlen(object))),
			    !strcmp(d->all.at[i].name, name) && !strcmp(d->all.at[i].object, object));
	if (!slot)
		return NULL;
	if (slot->index)
		return &d->all.at[slot->index - 1];
	f.name = strdup(name);
	f.object = strdup(object);
	f.values = calloc((d->runs[0] + d->runs[1]) * NR_VALUES, sizeof(*f.values));
	if (!f.name || !f.object || !f.values || !ns_array_add(&d->all, f)) {
		free(f.name);
		free(f.object);
		free(f.values);
		return NULL;
	}
	ns_hash_set(&d->index, slot, d->all.nr - 1);
	return &d->all.at[d->all.nr - 1];
}

static bool is_kernel(const char *object)
{
	return object[0] == '[' && strcmp(object, "[vdso]");
}

static bool add_functions(struct diff_functions *d, size_t run, const struct nt_calls *calls)
{
	const struct nt_function *f;
	struct function *to;
	size_t i;

	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		const char *object = f->object ? f->object : "unknown";

		if ((!d->options->kernel && is_kernel(object)) || !(f->calls + f->open + f->self_insns))
			continue;
		to = find_function(d, nt_base_name(object), f->symbol ? f->symbol : "[unknown]");
		if (!to)
			return false;
		to->values[run * NR_VALUES + CALLS] += f->calls + f->open;
		to->values[run * NR_VALUES + INSNS] += f->self_insns;
		to->values[run * NR_VALUES + TIME] += f->self_ns;
		d->has_time |= f->self_ns;
	}
	return true;
}

bool diff_functions_add(struct diff_functions *d, unsigned int side, unsigned int run, struct nt_session *session)
{
	struct nt_filter filter = d->options->recording.filter;
	struct nt_calls *calls = nt_calls_new(session);
	bool ok;

	filter.session = session;
	if (calls)
		nt_calls_filter(calls, &filter);
	ok = calls && !nt_calls_run(calls) && add_functions(d, run + (side ? d->runs[0] : 0), calls);

	if (!ok)
		recording_failed(session);
	nt_calls_free(calls);
	return ok;
}

/* ---- Compute how sure the difference of a function is ---- */

/* Return the mean of a value over the recordings of one side, A or B, and set *spread to its standard deviation. */
static double mean_of(const struct diff_functions *d, const struct function *f, unsigned int side, unsigned int value, double *spread)
{
	const double *first = f->values + (side ? d->runs[0] * NR_VALUES : 0) + value;
	unsigned int nr = d->runs[side], i;
	double mean = 0, squares = 0;

	for (i = 0; i < nr; i++)
		mean += first[i * NR_VALUES] / nr;
	for (i = 0; i < nr; i++)
		squares += pow(first[i * NR_VALUES] - mean, 2);
	*spread = nr > 1 ? sqrt(squares / (nr - 1)) : 0;
	return mean;
}

static int error_cmp(const void *a, const void *b)
{
	return ns_order(((const struct function *)a)->error, ((const struct function *)b)->error);
}

static int score_cmp(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return ns_order(y->score, x->score) ?: strcmp(x->name, y->name);
}

/*
 * Compute the scores of all functions if a side has several recordings. If each side has only one,
 * the score is the sum of the changes of instructions and calls.
 */
static void compute_scores(struct diff_functions *d)
{
	unsigned int value = d->options->many && d->has_time ? TIME : INSNS, side;
	struct function *f, *end = d->all.at + d->all.nr;
	double mean[2], spread[2], calls[2], least;

	for (f = d->all.at; f < end; f++) {
		for (side = 0; side < 2; side++) {
			calls[side] = mean_of(d, f, side, CALLS, &spread[side]);
			mean[side] = mean_of(d, f, side, value, &spread[side]);
		}
		f->score = fabs(mean[1] - mean[0]);
		if (!d->options->many)
			f->score += fabs(calls[1] - calls[0]);
		else if (f->score)
			f->score /= (mean[0] + mean[1]) / 2;
		f->error = mean[0] + mean[1] ? sqrt(pow(spread[0], 2) / d->runs[0] + pow(spread[1], 2) / d->runs[1]) /
			   ((mean[0] + mean[1]) / 2) : 0;
	}
	ns_array_sort(&d->all, error_cmp);
	least = d->all.nr ? d->all.at[d->all.nr / 2].error : 0;
	for (f = d->all.at; d->options->many && f < end; f++) {
		if (f->score)
			f->score /= fmax(f->error, least);
	}
	ns_array_sort(&d->all, score_cmp);
}

/* ---- Table ---- */

static void print_function(const struct diff_functions *d, const struct function *f)
{
	double spread[2], mean[2];
	unsigned int value;
	char t[2][16];

	for (value = CALLS; value < NR_VALUES; value++) {
		mean[0] = mean_of(d, f, 0, value, &spread[0]);
		mean[1] = mean_of(d, f, 1, value, &spread[1]);
		if (value == TIME)
			printf("%9s %9s ", duration(mean[0], t[0]), duration(mean[1], t[1]));
		else
			printf("%*.0f %*.0f ", value == CALLS ? 9 : 13, mean[0], value == CALLS ? 9 : 13, mean[1]);
		if (d->options->many && value == (d->has_time ? TIME : INSNS))
			printf("%+8.2f %8.2f %8.2f %7.1f ", mean[0] ? 100 * (mean[1] - mean[0]) / mean[0] : 100,
			       mean[0] ? 100 * spread[0] / mean[0] : 0, mean[1] ? 100 * spread[1] / mean[1] : 0, f->score);
	}
	printf(" %s [%s]\n", f->name, f->object);
}

ssize_t diff_functions_print(struct diff_functions *d)
{
	static const char spread[] = "       % spread A spread B   score ";
	unsigned long limit = d->options->limit;
	size_t nr;

	if (!d->all.nr) {
		refuse("no recording has code to compare%s", d->options->kernel ? "" : "; --kernel includes the kernel");
		return -1;
	}
	compute_scores(d);
	for (nr = 0; nr < d->all.nr && d->all.at[nr].score && (!d->options->many || d->all.at[nr].score >= SCORE); nr++) {
		if (!nr)
			printf("%9s %9s %13s %13s %s%9s %9s %s function\n", "calls A", "calls B", "self insns A", "self insns B",
			       d->options->many && !d->has_time ? spread : "", "self A", "self B", d->options->many && d->has_time ? spread : "");
		if (!limit || nr < limit)
			print_function(d, &d->all.at[nr]);
	}
	if (limit && nr > limit)
		printf("... and %zu more: --limit 0 shows all\n", nr - limit);
	return nr;
}

/* ---- All ---- */

struct diff_functions *diff_functions_new(const struct diff_options *options, const unsigned int runs[2])
{
	struct diff_functions *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->options = options;
	d->runs[0] = runs[0];
	d->runs[1] = runs[1];
	return d;
}

void diff_functions_free(struct diff_functions *d)
{
	size_t i;

	for (i = 0; d && i < d->all.nr; i++) {
		free(d->all.at[i].name);
		free(d->all.at[i].object);
		free(d->all.at[i].values);
	}
	if (d) {
		free(d->all.at);
		free(d->index.slots);
	}
	free(d);
}
