// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Number the called functions, and add up the times and instructions of its calls. */
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "session/calls/calls-priv.h"
#include "session/calls/durations.h"
#include "object.h"

/* ---- Number the functions ---- */

/*
 * A function is identified by its object and its start address in the object, because names of
 * functions are not unique.
 */
struct identity {
	const char	*object;
	uint64_t	address;
	int64_t		number;
};

static int identity_cmp(const void *a, const void *b)
{
	const struct identity *x = a, *y = b;

	return ns_order(x->object, y->object) ?: ns_order(x->address, y->address);
}

static bool add_function(struct ns_functions *functions, const struct nt_place *place, uint64_t address)
{
	struct nt_function new = { .object = place->object, .symbol = place->symbol, .address = address };

	if (!new.symbol) {
		new.symbol = ns_name_of(place->object, address);
		if (!new.symbol || !ns_array_add(&functions->names, (char *)new.symbol)) {
			free((char *)new.symbol);
			return false;
		}
	}
	return ns_array_add(&functions->all, new);
}

int64_t ns_functions_number(struct ns_functions *functions, const struct nt_place *place)
{
	struct identity wanted = {
		.object = place->object, .address = place->address - (place->symbol ? place->offset : 0),
		.number = functions->all.nr,
	}, **known, *identity;

	known = tsearch(&wanted, &functions->tree, identity_cmp);
	if (!known || *known != &wanted)
		return known ? (*known)->number : -1;
	identity = malloc(sizeof(*identity));
	if (identity && add_function(functions, place, wanted.address)) {
		*identity = wanted;
		*known = identity;
		return identity->number;
	}
	tdelete(&wanted, &functions->tree, identity_cmp);
	free(identity);
	return -1;
}

void ns_functions_free(struct ns_functions *functions)
{
	size_t i;

	tdestroy(functions->tree, free);
	for (i = 0; i < functions->all.nr; i++)
		ns_durations_free(functions->all.at[i].durations);
	for (i = 0; i < functions->names.nr; i++)
		free(functions->names.at[i]);
	free(functions->names.at);
	free(functions->all.at);
}

/* ---- Calls ---- */

/*
 * Store a call in nt_function::max_* if it is the slowest call so far. Of equally slow calls, store
 * the earliest, so that the result does not depend on the order in which threads add calls.
 */
static void note_slowest(struct nt_function *f, uint64_t ns, uint64_t begin, int32_t tid)
{
	bool later = begin > f->max_begin || (begin == f->max_begin && tid >= f->max_tid);

	if (f->calls && (ns < f->max_ns || (ns == f->max_ns && later)))
		return;
	f->max_ns = ns;
	f->max_begin = begin;
	f->max_tid = tid;
}

bool ns_function_count(struct nt_function *f, const struct ns_frame *frame, const struct ns_event *e, int32_t tid,
		       bool seen)
{
	f->self_ns += e->ran - frame->ran - frame->child_ran;
	f->self_insns += e->insns - frame->insns - frame->child_insns;
	if (!seen) {
		f->open++;
		return true;
	}
	note_slowest(f, e->time - frame->begin, frame->begin, tid);
	f->calls++;
	return ns_durations_add(&f->durations, e->time - frame->begin);
}

bool ns_function_add(struct nt_function *to, const struct nt_function *from)
{
	to->self_ns += from->self_ns;
	to->self_insns += from->self_insns;
	to->open += from->open;
	if (!from->calls)
		return true;
	note_slowest(to, from->max_ns, from->max_begin, from->max_tid);
	to->calls += from->calls;
	return ns_durations_merge(&to->durations, from->durations);
}

uint64_t nt_function_quantile(const struct nt_function *function, unsigned int per_mille)
{
	uint64_t ns = ns_durations_quantile(function->durations, per_mille);

	return ns < function->max_ns ? ns : function->max_ns;
}

static void add_bucket(void *buckets, uint64_t ns, uint64_t nr)
{
	unsigned int log = ns < 16 ? 0 : 63 - __builtin_clzll(ns);

	((uint64_t *)buckets)[ns < 16 ? ns : (log - 3) * 16 + (ns >> (log - 4) & 15)] += nr;
}

void nt_function_buckets(const struct nt_function *function, uint64_t buckets[NT_CALLS_BUCKETS])
{
	memset(buckets, 0, NT_CALLS_BUCKETS * sizeof(*buckets));
	ns_durations_each(function->durations, add_bucket, buckets);
}
