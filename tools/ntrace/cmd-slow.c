// SPDX-License-Identifier: GPL-2.0-only
/* ntrace slow: the slowest call of a function, compared with the median call. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ntrace.h"
#include "options.h"
#include "recording.h"
#include "session/calltree.h"

static const char help[] =
	"usage: ntrace slow [OPTIONS] FUNCTION\n\n"
	"Print what the slowest call of FUNCTION in a recording of perf did, as a tree down into the\n"
	"kernel and interrupts, with the median call beside it. Exits 1 if there is no such call.\n\n"
	RECORDING_HELP
	"  --limit N            at most N lines (20), 0: all\n"
	"  --nth N              the Nth slowest call instead of the slowest (1)\n";

enum { OPT_LIMIT = OPT_RECORDING_END, OPT_NTH };

struct slow {
	struct recording_options recording;
	const char	*function;
	unsigned long	limit, nth;
};

/* A line: a node of the slow call, and the same one of the median call if that has it */
struct line {
	const struct nt_node *node, *beside;
};

struct lines {
	const struct nt_node *slow, *median;
	size_t		nr_slow, nr_median;
	struct line	*at;
	size_t		nr;
	uint64_t	least;		/* ns: nodes below that are left out */
};

/* What the kernel did at the program's request, for a fault of it, and for a device */
struct kernel {
	uint64_t	ns[NT_BRANCH_NONE], calls[NT_BRANCH_NONE];	/* by how it was entered */
};

static bool same_function(const struct nt_node *a, const struct nt_node *b)
{
	return a->object == b->object && a->symbol == b->symbol;
}

static const struct nt_node *find_beside(const struct lines *l, const struct nt_node *parent,
					 const struct nt_node *node)
{
	uint32_t i;

	for (i = parent ? parent->first : 0; i; i = l->median[i].next) {
		if (same_function(&l->median[i], node))
			return &l->median[i];
	}
	return NULL;
}

static int node_cmp(const void *a, const void *b)
{
	const struct nt_node *const *x = a, *const *y = b;

	if ((*x)->ns != (*y)->ns)
		return (*x)->ns > (*y)->ns ? -1 : 1;
	return *x < *y ? -1 : *x > *y;
}

/* The node, then its children, the longest first */
static bool add_lines(struct lines *l, const struct nt_node *node, const struct nt_node *beside)
{
	const struct nt_node **children;
	size_t nr = 0, i;
	uint32_t child;
	bool ok = true;

	l->at[l->nr++] = (struct line){ node, beside };
	for (child = node->first; child; child = l->slow[child].next)
		nr++;
	children = calloc(nr + 1, sizeof(*children));
	if (!children)
		return false;
	for (nr = 0, child = node->first; child; child = l->slow[child].next) {
		if (l->slow[child].ns >= l->least)
			children[nr++] = &l->slow[child];
	}
	qsort(children, nr, sizeof(*children), node_cmp);
	for (i = 0; ok && i < nr; i++)
		ok = add_lines(l, children[i], find_beside(l, beside, children[i]));
	free(children);
	return ok;
}

/* ---- Text ---- */

static const char *entry(const struct nt_node *node)
{
	switch (node->kind) {
	case NT_BRANCH_SYSCALL:
		return "(system call) ";
	case NT_BRANCH_EXCEPTION:
		return "(exception) ";
	case NT_BRANCH_INTERRUPT:
		return "(interrupt) ";
	}
	return "";
}

/* Does the line after this one say nothing but who called it? Then it is printed after an arrow. */
static bool goes_on(const struct lines *l, size_t i)
{
	const struct nt_node *n = l->at[i].node, *next = i + 1 < l->nr ? l->at[i + 1].node : NULL;
	size_t j;

	if (!next || next->depth != n->depth + 1 || next->calls != n->calls ||
	    next->ns < n->ns - n->ns / 10 || !l->at[i].beside != !l->at[i + 1].beside)
		return false;
	for (j = i + 2; j < l->nr && l->at[j].node->depth > n->depth; j++) {
		if (l->at[j].node->depth == n->depth + 1)
			return false;
	}
	return true;
}

static void print_name(const struct nt_node *node)
{
	printf("%s%s", entry(node), node->symbol ? node->symbol : "[unknown]");
}

/* Print a line, and those that it goes on with; returns the next one */
static size_t print_line(const struct lines *l, size_t i, unsigned int indent)
{
	const struct nt_node *n = l->at[i].node, *b = l->at[i].beside;
	char t[2][16], calls[24] = "";
	size_t last = i;

	if (b)
		snprintf(calls, sizeof(calls), "%" PRIu64 " x", b->calls);
	printf("%9s %8" PRIu64 " x %9s %10s  %*s", duration(n->ns, t[0]), n->calls,
	       b ? duration(b->ns, t[1]) : "-", calls, 2 * (int)indent, "");
	print_name(n);
	while (goes_on(l, last))
		last++;
	if (last > i + 2)
		printf(" > ...");
	for (i = last > i + 2 ? last : i + 1; i <= last; i++) {
		printf(" > ");
		print_name(l->at[i].node);
	}
	putchar('\n');
	return last + 1;
}

/* How many lines are printed */
static size_t count_lines(const struct lines *l)
{
	size_t i, nr = 0;

	for (i = 0; i < l->nr; i++)
		nr += !goes_on(l, i);
	return nr;
}

/* The smallest time that leaves at most @limit lines */
static uint64_t least_of(const struct nt_node *nodes, size_t nr, unsigned long limit)
{
	const struct nt_node **all;
	uint64_t least = 0;
	size_t i;

	if (!limit || nr <= limit)
		return 0;
	all = calloc(nr, sizeof(*all));
	if (!all)
		return 0;
	for (i = 0; i < nr; i++)
		all[i] = &nodes[i];
	qsort(all, nr, sizeof(*all), node_cmp);
	least = all[limit - 1]->ns;
	/*
	 * several lines may have exactly this time, which would make more lines than the user wants
	 */
	if (all[limit]->ns == least)
		least++;
	free(all);
	return least;
}

/* As many nodes as fit on @limit lines; false: out of memory */
static bool choose_lines(struct lines *l, unsigned long limit)
{
	unsigned long nodes;

	for (nodes = 4 * limit; ; nodes -= nodes / 8 + 1) {
		l->nr = 0;
		l->least = least_of(l->slow, l->nr_slow, nodes);
		if (!add_lines(l, l->slow, l->nr_median ? l->median : NULL))
			return false;
		if (!limit || nodes <= limit || count_lines(l) <= limit)
			return true;
	}
}

/* How deep a line is printed: lines that others go on with have no depth of their own */
static void print_lines(const struct lines *l)
{
	unsigned int indent[256] = { 0 }, depth, this;
	size_t i = 0, next;

	while (i < l->nr) {
		depth = l->at[i].node->depth;
		this = depth < 256 ? indent[depth] : 254;
		next = print_line(l, i, this);
		for (; i < next; i++) {
			if (l->at[i].node->depth < 255)
				indent[l->at[i].node->depth + 1] = this + 1;
		}
	}
}

/* ---- What was different ---- */

static bool is_kernel_entry(const struct nt_node *node)
{
	return node->kind == NT_BRANCH_SYSCALL || node->kind == NT_BRANCH_EXCEPTION ||
	       node->kind == NT_BRANCH_INTERRUPT;
}

/* Time in the kernel counts once, also if an interrupt comes while it handles a fault. */
static void add_kernel(struct kernel *kernel, const struct nt_node *nodes,
		       const struct nt_node *node)
{
	uint32_t child;

	if (is_kernel_entry(node)) {
		kernel->ns[node->kind] += node->ns;
		kernel->calls[node->kind] += node->calls;
		return;
	}
	for (child = node->first; child; child = nodes[child].next)
		add_kernel(kernel, nodes, &nodes[child]);
}

/* The node that took longest of those that the median call has not */
static const struct nt_node *find_extra(const struct lines *l, const struct nt_node *node,
					const struct nt_node *beside)
{
	const struct nt_node *extra = NULL, *found;
	uint32_t child;

	if (!beside)
		return node;
	for (child = node->first; child; child = l->slow[child].next) {
		found = find_extra(l, &l->slow[child], find_beside(l, beside, &l->slow[child]));
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
		printf("%s of it in %" PRIu64 " %s; the median call: %s in %" PRIu64 ".\n",
		       duration(slow->ns[kind], t[0]), slow->calls[kind],
		       slow->calls[kind] == 1 ? kinds[i].one : kinds[i].many,
		       duration(median->ns[kind], t[1]), median->calls[kind]);
	}
}

/* Two calls of one function that took equally long need no explanation. */
static void print_difference(const struct lines *l)
{
	const struct nt_node *median = l->nr_median ? l->median : NULL, *extra;
	struct kernel kernels[2] = { 0 };
	char t[2][16];

	if (!median || l->slow->ns <= median->ns)
		return;
	printf("\nThis call took %s longer than the median one.",
	       duration(l->slow->ns - median->ns, t[0]));
	extra = find_extra(l, l->slow, median);
	if (extra && extra->ns > (l->slow->ns - median->ns) / 10)
		printf(" It called %s, which the median one did not: %s.",
		       extra->symbol ? extra->symbol : "[unknown]", duration(extra->ns, t[1]));
	putchar('\n');
	add_kernel(&kernels[0], l->slow, l->slow);
	add_kernel(&kernels[1], l->median, median);
	print_kernel(&kernels[0], &kernels[1]);
}

static bool print_trees(const struct slow *slow, const struct nt_calltree *slowest,
			const struct nt_calltree *median)
{
	struct lines l = { 0 };
	bool ok;

	l.slow = nt_calltree_nodes(slowest, &l.nr_slow);
	l.median = nt_calltree_nodes(median, &l.nr_median);
	if (!l.nr_slow)
		return false;
	l.at = calloc(l.nr_slow, sizeof(*l.at));
	if (!l.at)
		return false;
	ok = choose_lines(&l, slow->limit);
	printf("%20s %20s\n", "this call", "median call");
	print_lines(&l);
	if (l.nr < l.nr_slow)
		printf("... and %zu more, each shorter: --limit 0 shows all\n", l.nr_slow - l.nr);
	print_difference(&l);
	free(l.at);
	return ok;
}

static void print_head(const struct slow *slow, const struct nt_call *calls, size_t nr,
		       const struct nt_call *chosen)
{
	const struct nt_call *median = &calls[(nr - 1) / 2];
	char t[2][16];

	printf("%s: %zu calls, median %s. ", slow->function, nr, duration(median->ns, t[0]));
	if (slow->nth == 1)
		printf("The slowest");
	else
		printf("Number %lu of the slowest", slow->nth);
	printf(" took %s: thread %d, from %" PRIu64 ".%09" PRIu64 " on.\n\n",
	       duration(chosen->ns, t[1]), chosen->tid, chosen->begin / 1000000000,
	       chosen->begin % 1000000000);
}

/* ---- Command ---- */

static int print_slow(const struct slow *slow, struct nt_session *session,
		      const struct nt_calls *calls)
{
	struct nt_calltree *slowest, *median;
	const struct nt_call *all, *chosen;
	int status = EXIT_TRACE;
	size_t nr;

	all = nt_calls_watched(calls, &nr);
	if (nr < slow->nth) {
		fprintf(stderr, "ntrace: the recording has %zu calls of %s that began and ended in it\n",
			nr, slow->function);
		return EXIT_TRACE;
	}
	chosen = &all[nr - slow->nth];
	slowest = nt_calltree_new(session, chosen, slow->function);
	median = nt_calltree_new(session, &all[(nr - 1) / 2], slow->function);
	if (slowest && median) {
		print_head(slow, all, nr, chosen);
		if (print_trees(slow, slowest, median))
			status = EXIT_CLEAN;
	}
	if (status != EXIT_CLEAN)
		recording_failed(session);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "ntrace: writing failed: %s\n", strerror(errno));
		status = EXIT_TRACE;
	}
	nt_calltree_free(slowest);
	nt_calltree_free(median);
	return status;
}

static int run_slow(const struct slow *slow)
{
	struct nt_session *session = recording_open(&slow->recording);
	struct nt_calls *calls;
	int status = EXIT_TRACE;

	if (!session)
		return EXIT_USAGE;
	calls = nt_calls_new(session);
	if (calls) {
		nt_calls_watch(calls, slow->function);
		if (nt_calls_run(calls))
			recording_failed(session);
		else
			status = print_slow(slow, session, calls);
	}
	recording_report(session);
	nt_calls_free(calls);
	nt_session_close(session);
	return status;
}

static bool set_option(void *ctx, int opt, const char *arg)
{
	struct slow *slow = ctx;

	switch (opt) {
	case OPT_LIMIT:
		return recording_number("--limit", 0, arg, &slow->limit);
	case OPT_NTH:
		return recording_number("--nth", 1, arg, &slow->nth);
	}
	return recording_set(&slow->recording, opt, arg);
}

int cmd_slow(int argc, char **argv)
{
	static const struct option long_options[] = {
		RECORDING_OPTIONS,
		{ "limit", required_argument, NULL, OPT_LIMIT },
		{ "nth", required_argument, NULL, OPT_NTH },
		{ 0 }
	};
	struct slow slow = { .limit = 20, .nth = 1 };
	int status;

	recording_init(&slow.recording);
	status = recording_parse(argc, argv, "i:h", long_options, help, set_option, &slow);
	if (status >= 0)
		return status;
	if (optind + 1 != argc) {
		fputs("ntrace: slow takes the name of one function; `ntrace help slow` says more\n",
		      stderr);
		return EXIT_USAGE;
	}
	slow.function = argv[optind];
	return run_slow(&slow);
}
