// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check that the tree of all calls and the table of functions have the same number of calls, and
 * the same time and instructions without callees, for each function. No node takes longer than its
 * caller. No function takes longer than all CPUs were traced. The self times and instructions of
 * all functions add up to those of the CPUs.
 *
 *	stacks RECORDING [SYMFS BUILDID-DIR]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/calls/stacks.h"

struct sums {
	uint64_t calls, self_ns, self_insns;
};

static struct sums sum_of(const struct nt_node *nodes, size_t nr, const struct nt_function *f)
{
	struct sums sums = { 0 };
	size_t i;

	for (i = 1; i < nr; i++) {
		if (nodes[i].inlined || nodes[i].address != f->address || strcmp(nodes[i].object ?: "", f->object ?: ""))
			continue;
		sums.calls += nodes[i].calls;
		sums.self_ns += nodes[i].self_ns;
		sums.self_insns += nodes[i].self_insns;
	}
	return sums;
}

static uint64_t of_children(const struct nt_node *nodes, const struct nt_node *node)
{
	uint64_t insns = 0;
	uint32_t i;

	for (i = node->first; i; i = nodes[i].next)
		insns += nodes[i].insns;
	return insns;
}

/*
 * Report an inlined function at each address with bit 2 set, as if all code had inlined functions.
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
		if (sums.calls == f->calls && sums.self_ns == f->self_ns && sums.self_insns == f->self_insns)
			continue;
		if (wrong++ < 5)
			printf("%s: %" PRIu64 " calls, %" PRIu64 " ns, %" PRIu64 " instructions, but the table has %" PRIu64
			       ", %" PRIu64 ", %" PRIu64 "\n", f->symbol, sums.calls, sums.self_ns,
			       sums.self_insns, f->calls, f->self_ns, f->self_insns);
	}
	for (i = 1; i < nr; i++)
		wrong += nodes[i].insns < of_children(nodes, &nodes[i]);
	printf("%zu nodes, %" PRIu64 " calls: %u wrong\n", nr, all, wrong);
	return wrong || nr < 2;
}

/* Instructions of each function, and the time in which a thread ran, add up. */
static int sums(const struct nt_session *session, const struct nt_calls *calls)
{
	uint64_t ran = 0, insns = 0, cpus = 0, all = 0;
	struct nt_calls_totals totals;
	const struct nt_function *f;
	struct nt_missing cpu;
	uint64_t ran_ns;
	unsigned int wrong = 0;
	size_t i;

	nt_calls_totals(calls, &totals);
	for (i = 0; nt_session_lost(session, i, &cpu); i++) {
		ran_ns = nt_calls_ran(calls, cpu.cpu);
		cpus += ran_ns;
		all += cpu.all_ns;
		wrong += ran_ns + cpu.ns > cpu.all_ns + cpu.all_ns / 1000;
	}
	for (i = 0; (f = nt_calls_function(calls, i)); i++) {
		ran += f->self_ns;
		insns += f->self_insns;
		wrong += f->total_ran > totals.ran_ns || f->self_ns > f->total_ran || f->total_insns > totals.insns;
	}
	printf("%" PRIu64 " ns of %" PRIu64 " on CPUs of %" PRIu64 ", %" PRIu64 " instructions of %" PRIu64
	       ", %u wrong\n", ran, cpus, all, insns, totals.insns, wrong);
	return wrong || ran != cpus || insns != totals.insns;
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
	calls = nt_calls_new(session);
	if (!calls || nt_calls_run(calls))
		return 2;
	err = sums(session, calls);
	for (i = 0; i < 2; i++) {
		stacks = nt_stacks_new(session, &filter, i ? inlined : NULL, NULL);
		err |= !stacks || compare(calls, stacks);
		nt_stacks_free(stacks);
	}
	nt_calls_free(calls);
	nt_session_close(session);
	return err;
}
