// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace profile --callgrind - write the format that "Callgrind Format Specification" in valgrind's
 * manual describes. The output contains the number of instructions of each line of each function,
 * and for each pair of caller and called function the number of calls and their instructions.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "session/hash.h"
#include "views/nested-calls.h"
#include "profile.h"

struct cost {
	const char	*object, *function, *file;	/* @file is "" if it is not known */
	int		line;
	uint64_t	insns;
};

struct arc {
	const struct nt_function *from, *to;
	uint64_t	calls, insns;
};

/*
 * An arc (a pair of caller and called function) with the names of both functions. It does not point
 * to the functions, because they are not valid after all calls were passed.
 */
struct named_arc {
	const char	*from_object, *from, *to_object, *to;
	uint64_t	calls, insns;
};

struct callgrind {
	struct profile	*profile;
	struct nested_calls nested;
	NS_ARRAY(struct cost) costs;	/* costs, sorted by object, function, file, line */
	NS_ARRAY(struct named_arc) arcs;
	NS_ARRAY(struct arc) counted;
	struct ns_hash	hash;		/* hash table that finds an arc in @counted */
};

static const char *text(const char *name, const char *unknown)
{
	return name ? name : unknown;
}

/* ---- Instructions ---- */

static int cost_cmp(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;

	return strcmp(x->object, y->object) ?: strcmp(x->function, y->function) ?:
		strcmp(x->file, y->file) ?: ns_order(x->line, y->line);
}

static bool add_costs(struct callgrind *c)
{
	const struct nt_profile_insn *insns;
	struct nt_frame frames[PROFILE_FRAMES];
	struct cost cost;
	size_t nr, i;

	insns = nt_profile_insns(c->profile->counts, &nr);
	for (i = 0; i < nr; i++) {
		if (c->profile->recording.filter.object && !profile_wants(c->profile, insns[i].object))
			continue;
		nt_lines_at(c->profile->lines, insns[i].object, insns[i].address, frames, PROFILE_FRAMES);
		cost = (struct cost){
			.object = text(insns[i].object, "???"), .function = text(insns[i].symbol, "???"),
			.file = text(frames[0].file, ""), .line = frames[0].line, .insns = insns[i].count,
		};
		if (!ns_array_add(&c->costs, cost))
			return false;
	}
	return true;
}

/* ---- Calls ---- */

static struct arc *arc_of(struct callgrind *c, const struct nt_function *from, const struct nt_function *to)
{
	const struct arc new = { .from = from, .to = to };
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&c->hash, ns_hash_mix((uintptr_t)from * 31 + (uintptr_t)to),
			    c->counted.at[i].from == from && c->counted.at[i].to == to);
	if (!slot || (!slot->index && !ns_array_add(&c->counted, new)))
		return NULL;
	if (!slot->index)
		ns_hash_set(&c->hash, slot, c->counted.nr - 1);
	return &c->counted.at[slot->index - 1];
}

static int leave(void *ctx, const struct nested_call *call)
{
	struct callgrind *c = ctx;
	struct arc *arc;

	if (!call->depth)
		return 0;
	arc = arc_of(c, c->nested.open.at[call->depth - 1].function, call->function);
	if (!arc)
		return -1;
	arc->calls++;
	arc->insns += call->call.insns;
	return 0;
}

static int arc_cmp(const void *a, const void *b)
{
	const struct named_arc *x = a, *y = b;

	return strcmp(x->from_object, y->from_object) ?: strcmp(x->from, y->from) ?:
		strcmp(x->to_object, y->to_object) ?: strcmp(x->to, y->to);
}

static int end(void *ctx)
{
	struct callgrind *c = ctx;
	const struct arc *arc;
	struct named_arc named;
	size_t i;

	for (i = 0; i < c->counted.nr; i++) {
		arc = &c->counted.at[i];
		named = (struct named_arc){
			.from_object = text(arc->from->object, "???"), .from = strdup(text(arc->from->symbol, "???")),
			.to_object = text(arc->to->object, "???"), .to = strdup(text(arc->to->symbol, "???")),
			.calls = arc->calls, .insns = arc->insns,
		};
		if (!named.from || !named.to || !ns_array_add(&c->arcs, named)) {
			free((char *)named.from);
			free((char *)named.to);
			return -1;
		}
	}
	ns_array_sort(&c->arcs, arc_cmp);
	return 0;
}

/* ---- Text ---- */

/* Write @key and a name, which extends to the end of the line. Replace control characters in the name. */
static void put_name(FILE *out, const char *key, const char *name)
{
	fputs(key, out);
	for (; *name; name++)
		fputc((unsigned char)*name < ' ' ? '?' : *name, out);
	fputc('\n', out);
}

static void put_arcs(const struct callgrind *c, const struct cost *function)
{
	FILE *out = c->profile->file;
	const struct named_arc *arc;
	const struct named_arc key = {
		.from_object = function->object, .from = function->function, .to_object = "", .to = "",
	};

	arc = c->arcs.at + ns_lower_bound(c->arcs.nr, arc_cmp(&c->arcs.at[i], &key) < 0);
	for (; arc < c->arcs.at + c->arcs.nr && !strcmp(arc->from, key.from) &&
	     !strcmp(arc->from_object, key.from_object); arc++) {
		put_name(out, "cob=", arc->to_object);
		put_name(out, "cfn=", arc->to);
		/* use the first line of the caller, because the line of the call is not known */
		fprintf(out, "calls=%" PRIu64 " 0\n%d %" PRIu64 "\n", arc->calls, function->line, arc->insns);
	}
}

static void put_all(const struct callgrind *c)
{
	FILE *out = c->profile->file;
	const struct cost *cost, *before = NULL, *first = NULL;
	uint64_t all = 0;

	for (cost = c->costs.at; cost < c->costs.at + c->costs.nr; cost++)
		all += cost->insns;
	fprintf(out, "# callgrind format\nversion: 1\ncreator: ntrace\npositions: line\nevents: Ir\n"
		"summary: %" PRIu64 "\n", all);
	for (cost = c->costs.at; cost < c->costs.at + c->costs.nr; before = cost++) {
		if (!before || strcmp(before->object, cost->object) || strcmp(before->function, cost->function)) {
			if (first)
				put_arcs(c, first);
			fputc('\n', out);
			put_name(out, "ob=", cost->object);
			put_name(out, "fl=", cost->file[0] ? cost->file : "???");
			put_name(out, "fn=", cost->function);
			first = cost;
		} else if (strcmp(before->file, cost->file)) {
			put_name(out, strcmp(first->file, cost->file) ? "fi=" : "fe=", cost->file);
		}
		fprintf(out, "%d %" PRIu64 "\n", cost->line, cost->insns);
	}
	if (first)
		put_arcs(c, first);
}

static int callgrind_write(struct profile *profile)
{
	/*
	 * do not filter calls by object file, because a call in another file must still be added to the costs of its
	 * caller in a selected file
	 */
	struct nt_filter filter = profile->recording.filter;
	struct callgrind c = { .profile = profile };
	int err = -1;
	size_t i;

	filter.object = NULL;
	c.nested = (struct nested_calls){
		.session = profile->session, .filter = &filter, .leave = leave,
		.end = end, .ctx = &c, .output = profile->output,
	};
	if (add_costs(&c)) {
		ns_array_join(&c.costs, cost_cmp, a->insns += b->insns);
		err = nested_calls_each(&c.nested);
		if (!err)
			put_all(&c);
	}
	for (i = 0; i < c.arcs.nr; i++) {
		free((char *)c.arcs.at[i].from);
		free((char *)c.arcs.at[i].to);
	}
	free(c.costs.at);
	free(c.arcs.at);
	free(c.counted.at);
	free(c.hash.slots);
	return err;
}

const struct profile_format profile_callgrind = { .name = "callgrind", .needs_trace = true, .write = callgrind_write };
