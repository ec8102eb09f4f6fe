// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check the tree of all calls and the table of functions. For each function, both must have the same number of calls,
 * and the same time and instructions without callees. The numbers of a node must be the sum of its self numbers and
 * the numbers of its children. The time in which a node ran must not exceed the time from its start to its end, and the
 * time of a function must not exceed the time in which the CPUs were traced. The self times and instructions of all
 * functions must add up to those of the CPUs. The self times of user functions must add up to the time of user code.
 * The outermost calls of a thread must contain all of its instructions, and together take no longer than the thread was
 * in the recording. For some functions, the tree of the slowest call and of the median call must be the tree of exactly
 * this call.
 *
 *	stacks RECORDING [SYMFS BUILDID-DIR]
 *
 * If the second argument is "paths", print the self instructions of each node, as export --format folded --insns
 * does.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/calls/stacks.h"

struct sums {
	uint64_t calls, open, self_ns, self_insns;
};

static struct sums sum_of(const struct nt_node *nodes, size_t nr, const struct nt_function *f)
{
	struct sums sums = { 0 };
	size_t i;

	for (i = 1; i < nr; i++) {
		if (nodes[i].inlined || nodes[i].address != f->address || strcmp(nodes[i].object ?: "", f->object ?: ""))
			continue;
		sums.calls += nodes[i].calls;
		sums.open += nodes[i].open;
		sums.self_ns += nodes[i].self_ns;
		sums.self_insns += nodes[i].self_insns;
	}
	return sums;
}

/*
 * Return true if the instructions and the running time of a node are its self numbers plus the numbers of its
 * children.
 */
static bool adds_up(const struct nt_node *nodes, const struct nt_node *node)
{
	uint64_t insns = node->self_insns, ran = node->self_ns;
	uint32_t i;

	for (i = node->first; i; i = nodes[i].next) {
		insns += nodes[i].insns;
		ran += nodes[i].ran;
	}
	return insns == node->insns && ran == node->ran && node->ran <= node->ns;
}

/*
 * Report an inlined function at each address with bit 2 set, so that all code seems to have inlined functions.
 */
static size_t inlined(void *ctx, const char *object, uint64_t address, const char **names, size_t max)
{
	*names = "inlined";
	return address & 4 ? 1 : 0;
}

static int compare(const struct nt_calls *calls, const struct nt_stacks *stacks)
{
	const struct nt_function *f;
	const struct nt_node *nodes;
	unsigned int wrong = 0;
	uint64_t all = 0;
	size_t nr, i;

	nodes = nt_stacks_nodes(stacks, &nr);
	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		struct sums sums = sum_of(nodes, nr, f);

		all += sums.calls;
		if (sums.calls == f->calls && sums.open == f->open && sums.self_ns == f->self_ns && sums.self_insns == f->self_insns)
			continue;
		if (wrong++ < 5)
			printf("%s: %" PRIu64 "+%" PRIu64 " calls, %" PRIu64 " ns, %" PRIu64 " instructions, but the table has %" PRIu64
			       "+%" PRIu64 ", %" PRIu64 ", %" PRIu64 "\n", f->symbol, sums.calls, sums.open, sums.self_ns,
			       sums.self_insns, f->calls, f->open, f->self_ns, f->self_insns);
	}
	for (i = 1; i < nr; i++)
		wrong += !adds_up(nodes, &nodes[i]);
	printf("%zu nodes, %" PRIu64 " calls: %u wrong\n", nr, all, wrong);
	return wrong || nr < 2;
}

/* Check the sums of the instructions of all functions, and of the times in which threads ran. */
static int sums(const struct nt_session *session, const struct nt_calls *calls)
{
	uint64_t ran = 0, insns = 0, cpus = 0, all = 0, user = 0, untraced = 0, self = 0, modes[NT_IN_NR];
	struct nt_calls_totals totals;
	const struct nt_function *f;
	struct nt_missing cpu;
	uint64_t ran_ns;
	unsigned int wrong = 0;
	size_t i;

	nt_calls_totals(calls, &totals);
	for (i = 0; nt_session_lost(session, i, &cpu); i++) {
		ran_ns = nt_calls_ran(calls, cpu.cpu, modes);
		user += modes[NT_IN_USER];
		untraced += modes[NT_IN_UNTRACED];
		cpus += ran_ns;
		all += cpu.all_ns;
		wrong += ran_ns + cpu.ns > cpu.all_ns + cpu.all_ns / 1000;
	}
	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		ran += f->self_ns;
		self += (int64_t)f->address < 0 ? 0 : f->self_ns;
		insns += f->self_insns;
		wrong += f->total_ran > totals.ran_ns || f->self_ns > f->total_ran || f->total_insns > totals.insns;
	}
	printf("%" PRIu64 " ns of %" PRIu64 " on CPUs of %" PRIu64 ", %" PRIu64 " instructions of %" PRIu64
	       ", %u wrong\n", ran, cpus, all, insns, totals.insns, wrong);
	/* the time of untraced code belongs to the function in which the trace stopped */
	printf("%" PRIu64 " ns in user functions, %" PRIu64 " in user code, %" PRIu64 " in untraced code\n", self, user, untraced);
	return wrong || ran != cpus || insns != totals.insns || self < user || self > user + untraced;
}

/* ---- Outermost calls ---- */

struct span {
	int32_t tid;
	uint64_t from, to, insns;
};

struct spans {
	const struct nt_calls *calls;
	struct span of[64];
	size_t nr;
};

static int take_call(void *ctx, const struct nt_call *call)
{
	return 0;
}

/* Find when each thread was in the recording, and the number of its instructions. */
static bool find_spans(struct nt_session *session, struct spans *spans)
{
	struct nt_calls *calls = nt_calls_new(session);
	const struct nt_slice *slice;
	struct span *span;
	bool ok = calls;
	size_t i, at;

	if (!calls)
		return false;
	nt_calls_each(calls, take_call, NULL);
	ok = !nt_calls_run(calls);
	for (i = 0; ok && (slice = nt_calls_slice(calls, i)); i++) {
		for (at = 0; at < spans->nr && spans->of[at].tid != slice->tid; at++)
			;
		ok = at < sizeof(spans->of) / sizeof(spans->of[0]);
		if (!ok)
			break;
		span = &spans->of[at];
		if (at == spans->nr)
			spans->of[spans->nr++] = (struct span){ .tid = slice->tid, .from = slice->begin };
		span->from = slice->begin < span->from ? slice->begin : span->from;
		span->to = slice->end > span->to ? slice->end : span->to;
		span->insns += slice->insns;
	}
	nt_calls_free(calls);
	return ok;
}

static int outermost(struct nt_session *session)
{
	struct nt_filter filter = { .cpu = -1 };
	struct spans spans = { 0 };
	const struct nt_node *nodes;
	struct nt_stacks *stacks;
	const struct span *span;
	unsigned int wrong = 0;
	uint64_t ns, insns;
	uint32_t at;
	size_t nr;

	if (!find_spans(session, &spans))
		return 1;
	/* the idle threads of all CPUs have the same id */
	for (span = spans.of; span < spans.of + spans.nr; span++) {
		filter.tid = span->tid;
		stacks = nt_stacks_new(session, &filter, inlined, NULL);
		nodes = stacks ? nt_stacks_nodes(stacks, &nr) : NULL;
		ns = insns = 0;
		for (at = nodes ? nodes[0].first : 0; at; at = nodes[at].next) {
			ns += nodes[at].ns;
			insns += nodes[at].insns;
		}
		if (insns != span->insns || (span->tid && ns > span->to - span->from)) {
			printf("thread %d: the outermost calls have %" PRIu64 " instructions and take %" PRIu64 " ns, but the thread %"
			       PRIu64 " and %" PRIu64 "\n", span->tid, insns, ns, span->insns, span->to - span->from);
			wrong++;
		}
		nt_stacks_free(stacks);
	}
	printf("%zu threads, %u wrong\n", spans.nr, wrong);
	return wrong || !spans.nr;
}

/* ---- One call ---- */

static unsigned int wrong_tree(struct nt_session *session, const struct nt_chains *chains, const struct nt_call *call)
{
	struct nt_stacks *stacks = nt_stacks_of(session, chains, call, inlined, NULL);
	const struct nt_node *nodes;
	bool right;
	size_t nr;

	if (!stacks)
		return 1;
	nodes = nt_stacks_nodes(stacks, &nr);
	right = nr > 1 && !nodes[1].next && nodes[1].calls == 1 && nodes[1].insns == call->insns && nodes[1].ns <= call->ns;
	if (!right)
		printf("%s at %" PRIu64 ": %" PRIu64 " instructions, but the call has %" PRIu64 "\n", nr > 1 ? nodes[1].symbol : "nothing",
		       call->begin, nr > 1 ? nodes[1].insns : 0, call->insns);
	nt_stacks_free(stacks);
	return !right;
}

static int single(struct nt_session *session, const struct nt_calls *calls)
{
	const struct nt_filter filter = { .cpu = -1, .tid = -1 };
	unsigned int wrong = 0, nr = 0;
	const struct nt_function *f;
	struct nt_chains *chains;
	struct nt_watched found;
	size_t i;

	for (i = 0; (f = nt_calls_function(calls, i)); i += 4) {
		chains = f->calls ? nt_chains_of(session, &filter, f->symbol) : NULL;
		if (chains && nt_calls_watched(nt_chains_calls(chains), 1, &found)) {
			wrong += wrong_tree(session, chains, &found.slow) + wrong_tree(session, chains, &found.median);
			nr++;
		}
		nt_chains_free(chains);
	}
	printf("calls of %u functions, %u wrong\n", nr, wrong);
	return wrong;
}

static void print_path(const struct nt_node *nodes, uint32_t at)
{
	if (nodes[at].parent) {
		print_path(nodes, nodes[at].parent);
		putchar(';');
	}
	fputs(nodes[at].symbol, stdout);
}

static int print_paths(struct nt_session *session)
{
	const struct nt_filter filter = { .cpu = -1, .tid = -1 };
	struct nt_stacks *stacks = nt_stacks_new(session, &filter, NULL, NULL);
	const struct nt_node *nodes;
	size_t nr, i;

	if (!stacks)
		return 2;
	nodes = nt_stacks_nodes(stacks, &nr);
	for (i = 1; i < nr; i++) {
		if (!nodes[i].self_insns)
			continue;
		print_path(nodes, i);
		printf(" %" PRIu64 "\n", nodes[i].self_insns);
	}
	nt_stacks_free(stacks);
	return 0;
}

int main(int argc, char **argv)
{
	const struct nt_filter filter = { .cpu = -1, .tid = -1 };
	struct nt_session_options options = { .size = sizeof(options) };
	struct nt_session *session;
	struct nt_stacks *stacks;
	struct nt_calls *calls;
	int err = 0, i;

	if (argc > 3) {
		options.symfs = argv[2];
		options.cache = argv[3];
	}
	if (argc < 2 || nt_session_open(&session, argv[1], &options))
		return 2;
	if (argc == 3) {
		err = print_paths(session);
		nt_session_close(session);
		return err;
	}
	calls = nt_calls_new(session);
	if (!calls || nt_calls_run(calls))
		return 2;
	err = sums(session, calls) | outermost(session) | single(session, calls);
	for (i = 0; i < 2; i++) {
		stacks = nt_stacks_new(session, &filter, i ? inlined : NULL, NULL);
		err |= !stacks || compare(calls, stacks);
		nt_stacks_free(stacks);
	}
	nt_calls_free(calls);
	nt_session_close(session);
	return err;
}
