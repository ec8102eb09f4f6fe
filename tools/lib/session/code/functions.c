// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <stdlib.h>
#include <string.h>

#include "session/calls/calls-priv.h"
#include "session/calls/durations.h"

/* ---- Numbers ---- */

static size_t hash_of(const struct ns_functions *functions, const char *object, const char *symbol)
{
	uint64_t h = ((uintptr_t)object * 31 + (uintptr_t)symbol) * 0x9e3779b97f4a7c15ULL;

	return h >> 20 & (functions->hash_size - 1);
}

/*
 * Return the hash index of a function, or of the free entry for it. A name keeps its pointer as
 * long as the session is open.
 */
static size_t find(const struct ns_functions *functions, const char *object, const char *symbol)
{
	size_t at = hash_of(functions, object, symbol);
	const struct nt_function *known;

	for (; functions->hash[at]; at = (at + 1) & (functions->hash_size - 1)) {
		known = &functions->all.at[functions->hash[at] - 1];
		if (known->object == object && known->symbol == symbol)
			break;
	}
	return at;
}

static bool grow_hash(struct ns_functions *functions)
{
	size_t size = functions->hash_size ? 2 * functions->hash_size : 4096, i;
	uint32_t *hash = calloc(size, sizeof(*hash));
	const struct nt_function *f;

	if (!hash)
		return false;
	free(functions->hash);
	functions->hash = hash;
	functions->hash_size = size;
	for (i = 0; i < functions->all.nr; i++) {
		f = &functions->all.at[i];
		hash[find(functions, f->object, f->symbol)] = i + 1;
	}
	return true;
}

int64_t ns_functions_number(struct ns_functions *functions, const struct nt_place *place)
{
	const struct nt_function new = {
		.object = place->object, .symbol = place->symbol,
		.address = place->address - (place->symbol ? place->offset : 0),
	};
	size_t at;

	if (2 * functions->all.nr >= functions->hash_size && !grow_hash(functions))
		return -1;
	at = find(functions, place->object, place->symbol);
	if (!functions->hash[at]) {
		if (!ns_array_add(&functions->all, new))
			return -1;
		functions->hash[at] = functions->all.nr;
	}
	return functions->hash[at] - 1;
}

void ns_functions_free(struct ns_functions *functions)
{
	size_t i;

	for (i = 0; i < functions->all.nr; i++)
		ns_durations_free(functions->all.at[i].durations);
	free(functions->all.at);
	free(functions->hash);
}

/* ---- Calls ---- */

/*
 * Note the slowest call. If several are equally slow, keep the earliest one, because threads add
 * calls in no particular order.
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

bool ns_function_count(struct nt_function *f, const struct ns_frame *frame,
		       const struct nt_call *call, uint64_t ran)
{
	f->self_ns += ran - frame->child_ran;
	f->self_insns += call->insns - frame->child_insns;
	if (call->open) {
		f->open++;
		return true;
	}
	note_slowest(f, call->ns, call->begin, call->tid);
	f->calls++;
	return ns_durations_add(&f->durations, call->ns);
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
