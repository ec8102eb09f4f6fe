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
	size_t		nr_median;
	struct line	*at;
	size_t		nr;
	uint64_t	least;		/* ns: nodes below that are left out */
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

static void print_line(const struct line *line)
{
	const struct nt_node *n = line->node, *b = line->beside;
	char t[2][16], calls[24] = "";

	if (b)
		snprintf(calls, sizeof(calls), "%" PRIu64 " x", b->calls);
	printf("%9s %8" PRIu64 " x %9s %10s  %*s%s%s\n", duration(n->ns, t[0]), n->calls,
	       b ? duration(b->ns, t[1]) : "-", calls, 2 * (int)n->depth, "", entry(n),
	       n->symbol ? n->symbol : "[unknown]");
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

static bool print_trees(const struct slow *slow, const struct nt_calltree *slowest,
			const struct nt_calltree *median)
{
	struct lines l = { 0 };
	size_t nr, i;
	bool ok;

	l.slow = nt_calltree_nodes(slowest, &nr);
	l.median = nt_calltree_nodes(median, &l.nr_median);
	if (!nr)
		return false;
	l.least = least_of(l.slow, nr, slow->limit);
	l.at = calloc(nr, sizeof(*l.at));
	if (!l.at)
		return false;
	ok = add_lines(&l, l.slow, l.nr_median ? l.median : NULL);
	printf("%20s %20s\n", "this call", "median call");
	for (i = 0; i < l.nr; i++)
		print_line(&l.at[i]);
	if (l.nr < nr)
		printf("... and %zu more, each shorter: --limit 0 shows all\n", nr - l.nr);
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
