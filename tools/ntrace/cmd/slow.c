// SPDX-License-Identifier: GPL-2.0-only
/* ntrace slow - compare the slowest call of a function with the median call. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "views/inlines.h"
#include "ntrace.h"
#include "cli/json-text.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "session/calls/stacks.h"
#include "views/tree-lines.h"

static const char usage[] =
	"usage: ntrace slow [OPTIONS] FUNCTION\n\n"
	"Print what the slowest call of FUNCTION in a recording of perf did, as a tree down into the\n"
	"kernel and interrupts, with the median call beside it. Exits 1 if there is no such call.\n";

#define DEFAULT_LINES	9

struct slow {
	struct recording_options recording;
	unsigned long	limit, nth;	/* @limit is ULONG_MAX if it was not given */
	bool		json;
};

/* Time in the kernel for system calls, faults and interrupts */
struct kernel {
	uint64_t	ns[NT_BRANCH_NONE], calls[NT_BRANCH_NONE];	/* indexed by enum nt_branch_kind of the trap */
};

/* ---- Lines ---- */

static void print_line(const struct tree_line *line)
{
	const struct nt_node *n = line->node, *b = line->beside;
	char t[2][16], calls[2][CALLS_TEXT];

	printf("%9s %8s x %10s %7s %s  ", duration(n->ns, t[0]), calls_text(n->calls, n->open, calls[0]),
	       b ? duration(b->ns, t[1]) : "-", b ? calls_text(b->calls, b->open, calls[1]) : "", b ? "x" : " ");
}

/* ---- Differences ---- */

static bool is_kernel_entry(const struct nt_node *node)
{
	return node->kind == NT_BRANCH_SYSCALL || node->kind == NT_BRANCH_EXCEPTION ||
	       node->kind == NT_BRANCH_INTERRUPT;
}

/*
 * Add the time that @node and its children spent in the kernel. If an interrupt occurs while the kernel handles
 * a fault, only the fault is counted, because its time includes the interrupt.
 */
static void add_kernel(struct kernel *kernel, const struct nt_node *nodes,
		       const struct nt_node *node)
{
	uint32_t child;

	if (is_kernel_entry(node)) {
		kernel->ns[node->kind] += node->ns;
		kernel->calls[node->kind] += node->calls + node->open;
		return;
	}
	for (child = node->first; child; child = nodes[child].next)
		add_kernel(kernel, nodes, &nodes[child]);
}

/* Return the slowest node among the nodes that the slow call has and the median call does not have. */
static const struct nt_node *find_extra(const struct tree_lines *l, const struct nt_node *node,
					const struct nt_node *beside)
{
	const struct nt_node *extra = NULL, *found;
	uint32_t child;

	if (!beside)
		return node;
	for (child = node->first; child; child = l->nodes[child].next) {
		found = find_extra(l, &l->nodes[child],
				   tree_lines_beside(l, beside, &l->nodes[child]));
		if (found && (!extra || found->ns > extra->ns))
			extra = found;
	}
	return extra;
}

static void print_kernel(const struct kernel *slow, const struct kernel *median)
{
	static const struct {
		unsigned int	kind;
		const char	*one, *many;
	} kinds[] = {
		{ NT_BRANCH_SYSCALL, "system call", "system calls" },
		{ NT_BRANCH_EXCEPTION, "exception (such as a page fault)", "exceptions (such as page faults)" },
		{ NT_BRANCH_INTERRUPT, "interrupt", "interrupts" },
	};
	char t[2][16];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		unsigned int kind = kinds[i].kind;

		if (!slow->calls[kind])
			continue;
		printf("  %s of it passed in %" PRIu64 " %s", duration(slow->ns[kind], t[0]),
		       slow->calls[kind], slow->calls[kind] == 1 ? kinds[i].one : kinds[i].many);
		if (median->calls[kind])
			printf("; in the median call, %s in %" PRIu64 "\n",
			       duration(median->ns[kind], t[1]), median->calls[kind]);
		else
			printf("; the median call had none\n");
	}
}

/*
 * Print the difference, unless both calls took equally long. The tree excludes the time that the thread spent on other
 * stacks.
 */
static void print_difference(const struct tree_lines *l, const struct nt_watched *found)
{
	const struct nt_node *slow = &l->nodes[1], *median = l->others ? &l->others[1] : NULL;
	uint64_t elsewhere = found->slow.ns - slow->ns;
	const struct nt_node *extra;
	struct kernel kernels[2] = { 0 };
	char t[2][16];

	if (elsewhere)
		printf("For %s of it, its thread ran on other stacks, such as those of coroutines.\n", duration(elsewhere, t[0]));
	if (!median || slow->ns <= median->ns)
		return;
	printf("Why it took %s longer than the median call:\n", duration(slow->ns - median->ns, t[0]));
	extra = find_extra(l, slow, median);
	if (extra && extra->ns > (slow->ns - median->ns) / 10)
		printf("  it called %s, which took %s; the median call did not call that\n",
		       extra->symbol ? extra->symbol : "[unknown]", duration(extra->ns, t[1]));
	add_kernel(&kernels[0], l->nodes, slow);
	add_kernel(&kernels[1], l->others, median);
	print_kernel(&kernels[0], &kernels[1]);
	putchar('\n');
}

static bool print_trees(const struct slow *slow, const struct nt_watched *found, const struct nt_stacks *slowest,
			const struct nt_stacks *median)
{
	struct tree_lines l = { 0 };
	size_t nr_median;
	bool ok;

	l.nodes = nt_stacks_nodes(slowest, &l.nr_nodes);
	l.others = nt_stacks_nodes(median, &nr_median);
	if (l.nr_nodes < 2)
		return false;
	if (nr_median < 2)
		l.others = NULL;
	ok = tree_lines_choose(&l, slow->limit != ULONG_MAX ? slow->limit : slow->json ? 0 : DEFAULT_LINES);
	if (slow->json) {
		tree_lines_json(&l);
		tree_lines_free(&l);
		return ok;
	}
	print_difference(&l, found);
	printf("%20s %20s\n", slow->nth == 1 ? "the slowest call" : "this call", "a median call");
	printf("%9s %10s %10s %9s  what was called, the longest first\n", "took", "calls", "took", "calls");
	tree_lines_print(&l, print_line);
	if (l.nr + 1 < l.nr_nodes)
		printf("... and %zu more, each shorter: --limit 0 shows all\n", l.nr_nodes - 1 - l.nr);
	tree_lines_free(&l);
	return ok;
}

static void print_head(const struct slow *slow, const struct nt_watched *found)
{
	char t[3][16];

	if (slow->json) {
		putchar('{');
		json_print("function", slow->recording.argument);
		printf("\"calls\": %" PRIu64 ", \"tid\": %d, \"begin\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"on_cpu_ns\": %" PRIu64
		       ", \"median_ns\": %" PRIu64 ", \"median_on_cpu_ns\": %" PRIu64 ", \"exact\": %s}\n", found->calls, found->slow.tid,
		       found->slow.begin, found->slow.ns, found->slow.ran, found->median.ns, found->median.ran, found->exact ? "true" : "false");
		return;
	}
	printf("%s was called %s. A median call took %s%s; ", slow->recording.argument, COUNTED(found->calls, "time"),
	       found->exact ? "" : "about ", duration(found->median.ns, t[0]));
	if (slow->nth == 1)
		printf("the slowest");
	else
		printf("number %lu of the slowest", slow->nth);
	printf(" took %s, of which its thread ran for %s:\nthread %d, from " TIME_FORMAT " s on.\n\n", duration(found->slow.ns, t[1]),
	       duration(found->slow.ran, t[2]), found->slow.tid, TIME_ARGS(found->slow.begin));
}

/* ---- Command ---- */

static int no_such_call(const struct slow *slow, struct nt_session *session,
			const struct nt_watched *found)
{
	if (!found->calls)
		return nothing_matched(&slow->recording, session, slow->recording.argument);
	fprintf(stderr, "ntrace: the recording has %s of %s that began and ended in it%s\n",
		COUNTED(found->calls, "call"), slow->recording.argument, found->exact ? "" :
		", which are too many to sort, so --nth finds only the 1024 slowest");
	return EXIT_TRACE;
}

static int print_slow(const struct slow *slow, struct nt_session *session, const struct nt_chains *chains)
{
	struct nt_stacks *slowest, *median;
	int status = EXIT_USAGE;
	struct nt_watched found;
	struct inlines *inlines;
	nt_inlined_fn inlined;

	if (!nt_calls_watched(nt_chains_calls(chains), slow->nth, &found))
		return no_such_call(slow, session, &found);
	inlines = inlines_new(session);
	inlined = inlines ? inlines_at : NULL;
	slowest = nt_stacks_of(session, chains, &found.slow, inlined, inlines);
	median = nt_stacks_of(session, chains, &found.median, inlined, inlines);
	if (slowest && median) {
		print_head(slow, &found);
		if (print_trees(slow, &found, slowest, median))
			status = EXIT_CLEAN;
	}
	if (status != EXIT_CLEAN)
		recording_failed(session);
	nt_stacks_free(slowest);
	nt_stacks_free(median);
	inlines_free(inlines);
	return status;
}

static int run(void *ctx, struct nt_session *session)
{
	const struct slow *slow = ctx;
	struct nt_chains *chains = nt_chains_of(session, &slow->recording.filter, slow->recording.argument);
	int status = chains ? print_slow(slow, session, chains) : recording_failed(session);

	nt_chains_free(chains);
	return status;
}

int cmd_slow(int argc, char **argv)
{
	struct slow slow = { .recording.argument_is = "the name of one function", .limit = ULONG_MAX, .nth = 1 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&slow.recording),
		FILTER_OPTIONS(&slow.recording),
		OPTION_NUMBER(0, "limit", "N", &slow.limit, 0, "at most N lines of the tree (9, and all with --json), 0: all"),
		OPTION_FLAG(0, "json", &slow.json, "objects of JSON: the calls, and each line of the tree"),
		OPTION_NUMBER(0, "nth", "N", &slow.nth, 1, "the Nth slowest call instead of the slowest (1)"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &slow, NULL, run);
}
