// SPDX-License-Identifier: GPL-2.0-only
/* ntrace slow - compare the slowest call of a function with the median call. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
	/* arguments of --limit (ULONG_MAX if not given), and of --nth: 1 for the slowest call, 2 for the second */
	unsigned long	limit, nth;
	bool		json;
};

/* Kinds of code that is executed in a call. Each kind excludes the others. */
enum part { OFF_CPU, SYSCALLS, EXCEPTIONS, INTERRUPTS, OTHER_CODE, NR_PARTS };

#define CAUSES_MAX	4

struct parts {
	uint64_t	ns[NR_PARTS], nr[NR_PARTS];	/* @nr counts instructions for OTHER_CODE, else traps */
	uint64_t	longest[NR_PARTS];	/* time that the longest trap ran, ns */
	/* functions that handled exceptions, and number of exceptions that other functions handled */
	struct {
		const char	*symbol;
		uint64_t	nr;
	} causes[CAUSES_MAX];
	uint64_t	other_causes;
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

/* Return the kind of code to which the code of @node belongs, if @node is called in code of the kind @in. */
static enum part part_of(const struct nt_node *node, enum part in)
{
	switch (node->trap) {
	case NT_BRANCH_SYSCALL:
		return SYSCALLS;
	case NT_BRANCH_EXCEPTION:
		return EXCEPTIONS;
	case NT_BRANCH_INTERRUPT:
		return INTERRUPTS;
	}
	return in;
}

static void add_cause(struct parts *parts, const struct nt_node *handler)
{
	size_t i;

	for (i = 0; i < CAUSES_MAX; i++) {
		if (parts->causes[i].symbol && strcmp(parts->causes[i].symbol, handler->symbol))
			continue;
		parts->causes[i].symbol = handler->symbol;
		parts->causes[i].nr += handler->calls + handler->open;
		return;
	}
	parts->other_causes += handler->calls + handler->open;
}

/* Return a - b, or 0 if b is greater. This can happen because times at which slices overlap are counted twice. */
static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * Divide the calls below @node, whose code is of the kind @in, among the kinds of code. The code of an interrupt that
 * occurs in an exception belongs to the interrupt.
 */
static void add_calls(struct parts *parts, const struct nt_node *nodes, const struct nt_node *node, enum part in)
{
	const struct nt_node *child;
	enum part part;
	uint32_t i;

	for (i = node->first; i; i = child->next) {
		child = &nodes[i];
		part = part_of(child, in);
		if (child->trap) {
			parts->ns[part] += child->ran;
			parts->ns[in] = less(parts->ns[in], child->ran);
			parts->nr[part] += child->calls + child->open;
			if (parts->longest[part] < child->longest_ran)
				parts->longest[part] = child->longest_ran;
			parts->nr[in] = less(parts->nr[in], in == OTHER_CODE ? child->insns : 0);
		} else if (node->trap == NT_BRANCH_EXCEPTION && node != &nodes[1]) {
			add_cause(parts, child);
		}
		add_calls(parts, nodes, child, part);
	}
}

static struct parts parts_of(const struct nt_node *nodes)
{
	const struct nt_node *call = &nodes[1];
	struct parts parts = {
		.ns = { [OFF_CPU] = less(call->ns, call->ran), [OTHER_CODE] = call->ran }, .nr[OTHER_CODE] = call->insns,
	};

	add_calls(&parts, nodes, call, OTHER_CODE);
	return parts;
}

/* Return the slowest function that the slow call has called and the median call has not called. */
static const struct nt_node *find_extra(const struct tree_lines *l, const struct nt_node *node,
					const struct nt_node *beside)
{
	const struct nt_node *extra = NULL, *found;
	uint32_t child;

	if (node->trap && node != &l->nodes[1])
		return NULL;
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

static void print_causes(const struct parts *parts)
{
	size_t i;

	for (i = 0; i < CAUSES_MAX && parts->causes[i].symbol; i++)
		printf("%s%" PRIu64 " %s", i ? ", " : " (", parts->causes[i].nr, parts->causes[i].symbol);
	if (parts->other_causes)
		printf(", %" PRIu64 " others", parts->other_causes);
	fputs(i ? ")" : "", stdout);
}

/* Print the time of one kind of code in both calls. */
static void print_part(const struct nt_session *session, enum part part, const struct parts *slow, const struct parts *median)
{
	static const char *const names[] = {
		[SYSCALLS] = "system call", [EXCEPTIONS] = "exception", [INTERRUPTS] = "interrupt", [OTHER_CODE] = "instruction",
	};
	char t[16];

	printf("  %s ", duration(slow->ns[part], t));
	if (part == OFF_CPU) {
		printf("in which its thread %s; in the median call, %s\n", nt_session_is_filtered(session) ? "was not traced" : "did not run",
		       duration(median->ns[part], t));
		return;
	}
	printf("in %s", COUNTED(slow->nr[part], names[part]));
	if (part == EXCEPTIONS)
		print_causes(slow);
	if (part == OTHER_CODE)
		fputs(" of the function and its callees", stdout);
	if (part != OTHER_CODE)
		print_longest(slow->nr[part], slow->ns[part], slow->longest[part]);
	if (median->nr[part])
		printf("; in the median call, %s in %" PRIu64 "\n", duration(median->ns[part], t), median->nr[part]);
	else
		puts("; the median call had none");
}

/*
 * Print the kinds of code in which the slow call took longer than the median call. @ns is the difference of both calls,
 * and kinds that explain less than 2 % of it are left out.
 */
static void print_parts(const struct nt_session *session, const struct parts *slow, const struct parts *median, uint64_t ns, bool explained)
{
	enum part part;

	for (part = 0; part < NR_PARTS; part++) {
		if (slow->ns[part] > median->ns[part] + ns / 50)
			print_part(session, part, slow, median);
	}
	if (!explained && slow->ns[OTHER_CODE] > median->ns[OTHER_CODE] + ns / 50 &&
	    slow->nr[OTHER_CODE] <= median->nr[OTHER_CODE] + median->nr[OTHER_CODE] / 8)
		puts("  The same number of instructions took longer. Memory, firmware or untraced kernel code delayed them, or the trace has too few timestamps to tell.");
}

/*
 * Print the difference between the slow and the median call, unless both took equally long. The times in the tree do
 * not include the time that the thread spent on other stacks, so report that time first.
 */
static void print_difference(const struct tree_lines *l, const struct nt_watched *found)
{
	const struct nt_node *slow = &l->nodes[1], *median = l->others ? &l->others[1] : NULL;
	uint64_t elsewhere = found->slow.ns - slow->ns;
	struct parts parts[2];
	const struct nt_node *extra;
	char t[2][16];

	if (elsewhere)
		printf("For %s of it, its thread ran on other stacks, such as those of coroutines.\n", duration(elsewhere, t[0]));
	if (!median || slow->ns <= median->ns)
		return;
	printf("Why it took %s longer than the median call:\n", duration(slow->ns - median->ns, t[0]));
	extra = find_extra(l, slow, median);
	if (extra && extra->ns <= (slow->ns - median->ns) / 10)
		extra = NULL;
	if (extra)
		printf("  it called %s, which took %s; the median call did not call that\n", extra->symbol, duration(extra->ns, t[1]));
	parts[0] = parts_of(l->nodes);
	parts[1] = parts_of(l->others);
	print_parts(l->session, &parts[0], &parts[1], slow->ns - median->ns, extra);
	putchar('\n');
}

static bool print_trees(const struct slow *slow, const struct nt_session *session, const struct nt_watched *found, const struct nt_stacks *slowest,
			const struct nt_stacks *median)
{
	struct tree_lines l = { .session = session };
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

static void print_head(const struct slow *slow, const struct nt_session *session, const struct nt_watched *found)
{
	char t[3][16];

	if (slow->json) {
		putchar('{');
		json_print("function", slow->recording.argument);
		printf("\"calls\": %" PRIu64 ", \"number\": %" PRIu64 ", \"tid\": %d, \"begin\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"on_cpu_ns\": %"
		       PRIu64 ", \"median_ns\": %" PRIu64 ", \"median_on_cpu_ns\": %" PRIu64 ", \"exact\": %s}\n", found->calls, found->number,
		       found->slow.tid, found->slow.begin, found->slow.ns, found->slow.ran, found->median.ns, found->median.ran,
		       found->exact ? "true" : "false");
		return;
	}
	printf("%s was called %s. A median call took %s%s; ", slow->recording.argument, COUNTED(found->calls, "time"),
	       found->exact ? "" : "about ", duration(found->median.ns, t[0]));
	if (slow->nth == 1)
		printf("the slowest");
	else
		printf("number %lu of the slowest", slow->nth);
	printf(" took %s, of which its thread %s for %s:\n", duration(found->slow.ns, t[1]),
	       nt_session_is_filtered(session) ? "was traced" : "ran", duration(found->slow.ran, t[2]));
	if (found->number)
		printf("call %" PRIu64 " of %" PRIu64 ", in ", found->number, found->calls);
	printf("thread %d, from " TIME_FORMAT " s on.\n\n", found->slow.tid, TIME_ARGS(found->slow.begin));
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
		print_head(slow, session, &found);
		if (print_trees(slow, session, &found, slowest, median))
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
