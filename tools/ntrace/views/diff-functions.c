// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of several recordings, on two sides, with the difference of their means beside the spread within each side.
 *
 * The score of a function is the difference divided by its standard error, both in proportion to the mean. The standard
 * error is at least the median of all functions, because the few runs of a function can be equal by chance.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "session/array.h"
#include "session/calls/calls.h"
#include "session/hash.h"

#define SCORE	4	/* a function with this score differs more than within a side */

enum { CALLS, INSNS, TIME, NR_VALUES };

struct function {
	char		*name, *object;
	double		*values;	/* NR_VALUES for each run of both sides */
	double		mean[2], spread[2];	/* of the value that is compared */
	double		error, score;
};

struct diff_functions {
	const struct diff_options *options;
	unsigned int	runs[2];
	NS_ARRAY(struct function) all;
	struct ns_hash	index;
	bool		has_time;
};

/* ---- Functions ---- */

static uint32_t hash_text(const char *text)
{
	uint32_t hash = 2166136261u;

	while (*text)
		hash = (hash ^ (uint8_t)*text++) * 16777619u;
	return hash;
}

static struct function *find_function(struct diff_functions *d, const char *object, const char *name)
{
	struct function f = { 0 };
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&d->index, ns_hash_mix((uint64_t)hash_text(name) << 32 | hash_text(object)),
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
		const char *object = f->object ? f->object : "unknown", *base = strrchr(object, '/');

		if (!d->options->kernel && is_kernel(object))
			continue;
		to = find_function(d, base ? base + 1 : object, f->symbol ? f->symbol : "[unknown]");
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
	struct nt_calls *calls = nt_calls_new(session);
	bool ok = calls && !nt_calls_run(calls) && add_functions(d, run + (side ? d->runs[0] : 0), calls);

	if (!ok)
		recording_failed(session);
	nt_calls_free(calls);
	return ok;
}

/* ---- One against one ---- */

static double value_of(const struct function *f, unsigned int run, unsigned int value)
{
	return f->values[run * NR_VALUES + value];
}

static double change_of(const struct function *f, unsigned int value)
{
	return fabs(value_of(f, 1, value) - value_of(f, 0, value));
}

static int change_cmp(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return ns_order(change_of(y, INSNS), change_of(x, INSNS)) ?: ns_order(change_of(y, CALLS), change_of(x, CALLS)) ?:
	       strcmp(x->name, y->name);
}

static bool print_change(const struct function *f)
{
	char t[2][16];

	if (!change_of(f, INSNS) && !change_of(f, CALLS))
		return false;
	printf("%9.0f %9.0f %13.0f %13.0f %9s %9s  %s [%s]\n", value_of(f, 0, CALLS), value_of(f, 1, CALLS),
	       value_of(f, 0, INSNS), value_of(f, 1, INSNS), duration(value_of(f, 0, TIME), t[0]),
	       duration(value_of(f, 1, TIME), t[1]), f->name, f->object);
	return true;
}

/* ---- Several against several ---- */

/* Compute the mean and the standard deviation of one side. */
static void sum_up(const struct diff_functions *d, struct function *f, unsigned int side, unsigned int value)
{
	unsigned int first = side ? d->runs[0] : 0, nr = d->runs[side], i;
	double sum = 0, squares = 0;

	for (i = 0; i < nr; i++)
		sum += value_of(f, first + i, value);
	f->mean[side] = sum / nr;
	for (i = 0; i < nr; i++)
		squares += pow(value_of(f, first + i, value) - f->mean[side], 2);
	f->spread[side] = nr > 1 ? sqrt(squares / (nr - 1)) : 0;
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

static void compute_scores(struct diff_functions *d)
{
	unsigned int value = d->has_time ? TIME : INSNS;
	struct function *f, *end = d->all.at + d->all.nr;
	double least, change, mean;

	for (f = d->all.at; f < end; f++) {
		sum_up(d, f, 0, value);
		sum_up(d, f, 1, value);
		mean = (f->mean[0] + f->mean[1]) / 2;
		f->error = mean ? sqrt(pow(f->spread[0], 2) / d->runs[0] + pow(f->spread[1], 2) / d->runs[1]) / mean : 0;
	}
	ns_array_sort(&d->all, error_cmp);
	least = d->all.nr ? d->all.at[d->all.nr / 2].error : 0;
	for (f = d->all.at; f < end; f++) {
		mean = (f->mean[0] + f->mean[1]) / 2;
		change = mean ? fabs(f->mean[1] - f->mean[0]) / mean : 0;
		f->score = change ? change / fmax(f->error, least) : 0;
	}
	ns_array_sort(&d->all, score_cmp);
}

static bool print_score(const struct diff_functions *d, const struct function *f)
{
	double values[4] = { f->mean[0], f->mean[1], f->spread[0], f->spread[1] };
	char t[4][16];
	unsigned int i;

	if (f->score < SCORE)
		return false;
	for (i = 0; i < 4; i++) {
		if (d->has_time)
			duration(values[i], t[i]);
		else
			snprintf(t[i], sizeof(t[i]), "%.0f", values[i]);
	}
	printf("%13s %13s %+8.2f %9s %9s %7.1f  %s [%s]\n", t[0], t[1],
	       f->mean[0] ? 100 * (f->mean[1] - f->mean[0]) / f->mean[0] : 100, t[2], t[3], f->score, f->name, f->object);
	return true;
}

/* ---- All ---- */

ssize_t diff_functions_print(struct diff_functions *d)
{
	bool many = d->runs[0] > 1 || d->runs[1] > 1;
	size_t nr = 0, more = 0, i;

	if (many)
		compute_scores(d);
	else
		ns_array_sort(&d->all, change_cmp);
	for (i = 0; i < d->all.nr; i++) {
		const struct function *f = &d->all.at[i];

		if (many ? f->score < SCORE : !change_of(f, INSNS) && !change_of(f, CALLS))
			break;
		if (!nr && many)
			printf("%13s %13s %8s %9s %9s %7s  %s\n", "mean of A", "mean of B", "%", "spread A", "spread B",
			       "score", d->has_time ? "self time of" : "self insns of");
		else if (!nr)
			printf("\n%9s %9s %13s %13s %9s %9s  %s\n", "calls A", "calls B", "self insns A", "self insns B",
			       "self A", "self B", "function");
		more += d->options->limit && nr >= d->options->limit;
		if (!more)
			many ? print_score(d, f) : print_change(f);
		nr++;
	}
	if (more)
		printf("... and %zu more: --limit 0 shows all\n", more);
	return nr;
}

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
