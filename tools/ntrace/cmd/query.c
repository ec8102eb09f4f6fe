// SPDX-License-Identifier: GPL-2.0-only
/* ntrace query - print the calls of a recording that a question selects. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "ntrace.h"
#include "views/query.h"

static const char usage[] =
	"usage: ntrace query [OPTIONS] QUERY\n\n"
	"Print the calls of a recording of perf that QUERY selects, such as 'request ns>1ms has rehash'.\n"
	"All of its conditions must hold:\n\n"
	"  NAME                  the function has this name, or matches a pattern such as 'mem*'\n"
	"  FIELD COMPARE VALUE   such as ns>=1ms, insns<5k, time>12.5, depth=2, cpu=0, tid!=1, pid=7,\n"
	"                        function='mem*', caller=main, object='*/libc.so.6', comm=nginx\n"
	"  in ONE, has ONE       the call is inside, or contains, a call that ONE selects\n"
	"  after ONE, before ONE the call began after such a call ended, or ended before one began\n"
	"  not ONE, A or B       ONE is a condition, or several in ( )\n";

enum print { PRINT_CALLS, PRINT_JSON, PRINT_COUNT, PRINT_TIME, PRINT_WINDOW };
enum sort { SORT_TIME, SORT_NS, SORT_INSNS, SORT_NOT_GIVEN };

struct command {
	struct recording_options recording;
	struct query	query;
	uint32_t	print, sort;	/* what to print (enum print), and the order (enum sort) */
	unsigned long	limit;		/* calls to print at most; 0: all; ULONG_MAX: all (--limit not given) */
};

/* ---- Output ---- */

static int by_time(const void *a, const void *b)
{
	const struct query_call *x = a, *y = b;

	return ns_order(x->begin, y->begin) ?: ns_order(x->id, y->id);
}

static int by_ns(const void *a, const void *b)
{
	const struct query_call *x = a, *y = b;

	return ns_order(y->ns, x->ns) ?: by_time(x, y);
}

static int by_insns(const void *a, const void *b)
{
	const struct query_call *x = a, *y = b;

	return ns_order(y->insns, x->insns) ?: by_time(x, y);
}

static const char *name_of(const struct query *q, uint32_t number)
{
	const struct nt_function *f = nt_calls_function(q->nested.calls, number);

	return f ? f->symbol ?: "[unknown]" : NULL;
}

static void add_json(struct lines *l, const struct query *q, const struct query_call *call)
{
	const char *comm;
	int32_t pid;

	nt_session_thread(q->session, call->tid, call->begin, &pid, &comm);
	lines_add(l, "{\"time\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"insns\": %" PRIu64 ", \"pid\": %d, \"tid\": %d, \"comm\": ",
		  call->begin, call->ns, call->insns, pid, call->tid);
	lines_add_string(l, comm);
	lines_add(l, ", \"cpu\": %d, \"depth\": %" PRIu32 ", \"function\": ", call->cpu, call->depth);
	lines_add_string(l, nt_calls_function(q->nested.calls, call->function)->symbol);
	lines_add(l, ", \"object\": ");
	lines_add_string(l, nt_calls_function(q->nested.calls, call->function)->object);
	lines_add(l, ", \"caller\": ");
	lines_add_string(l, name_of(q, call->caller));
	lines_add(l, "}\n");
}

static void add_text(struct lines *l, const struct query *q, const struct query_call *call)
{
	const char *comm, *caller = name_of(q, call->caller);
	int32_t pid;

	nt_session_thread(q->session, call->tid, call->begin, &pid, &comm);
	lines_add(l, "%16s %7d/%-7d %5" PRIu64 ".%09" PRIu64 ": %10" PRIu64 " ns %10" PRIu64 " insns  ",
		  comm, pid, call->tid, TIME_ARGS(call->begin), call->ns, call->insns);
	lines_add_text(l, name_of(q, call->function));
	if (caller) {
		lines_add_text(l, " < ");
		lines_add_text(l, caller);
	}
	lines_add_text(l, "\n");
}

static void add_call(struct lines *l, const struct command *c, const struct query_call *call)
{
	switch (c->print) {
	case PRINT_JSON:
		add_json(l, &c->query, call);
		break;
	case PRINT_TIME:
		lines_add(l, TIME_FORMAT "\n", TIME_ARGS(call->begin));
		break;
	case PRINT_WINDOW:
		lines_add(l, TIME_FORMAT "," TIME_FORMAT "\n", TIME_ARGS(call->begin), TIME_ARGS(call->begin + call->ns));
		break;
	default:
		add_text(l, &c->query, call);
	}
}

static int print_calls(struct query *q)
{
	static int (*const orders[])(const void *, const void *) = { by_time, by_ns, by_insns, by_time };
	const struct command *c = q->ctx;
	struct query_group *found = &q->found;
	struct lines l = { 0 };
	size_t i;
	int err = 0;

	if (c->print == PRINT_COUNT)
		return found->calls.nr && printf("%zu\n", found->calls.nr) < 0 ? -1 : 0;
	ns_array_sort(&found->calls, orders[c->sort]);
	for (i = 0; !err && i < found->calls.nr && (!c->limit || i < c->limit); i++) {
		l.len = 0;
		add_call(&l, c, &found->calls.at[i]);
		err = l.failed || lines_print(l.text, l.len) ? -1 : 0;
	}
	lines_free(&l);
	return err;
}

/* ---- Command ---- */

static bool parse(void *ctx)
{
	struct command *c = ctx;
	struct query_error error;
	const char *text = c->recording.argument;
	size_t i;

	if (c->print == PRINT_COUNT && (c->limit != ULONG_MAX || c->sort != SORT_NOT_GIVEN))
		return refuse("--count prints one number, so --limit and --sort cannot be given");
	c->query.node = query_parse(text, &error);
	if (c->query.node)
		return true;
	fprintf(stderr, "ntrace: %s\n  ", error.text);
	for (i = 0; text[i]; i++)
		fputc((unsigned char)text[i] < ' ' ? ' ' : text[i], stderr);
	fputs("\n  ", stderr);
	/* count only the first byte of each UTF-8 character, because a character has one column */
	for (i = 0; i < error.at; i++) {
		if ((text[i] & 0xc0) != 0x80)
			fputc(' ', stderr);
	}
	fputs("^\n", stderr);
	return false;
}

static int no_call(const struct command *c)
{
	const struct query *q = &c->query;

	if (q->unknown || !q->nr_calls)
		return nothing_matched(&c->recording, q->session, q->unknown);
	fprintf(stderr, "ntrace: none of the %" PRIu64 " calls of the recording matches '%s': a query with fewer conditions shows which one is not met\n",
		q->nr_calls, c->recording.argument);
	return nothing_matched(&c->recording, q->session, NULL);
}

static int run(void *ctx, struct nt_session *session)
{
	struct command *c = ctx;
	struct query *q = &c->query;

	q->done = print_calls;
	q->ctx = c;
	q->session = session;
	if (query_run(q, &c->recording.filter))
		return EXIT_USAGE;
	return q->found.calls.nr ? EXIT_CLEAN : no_call(c);
}

static bool set_kind(const struct option_entry *option, const char *arg)
{
	uint32_t *print = option->to;

	if (*print && *print != option->value)
		return refuse("--count, --json and --print exclude each other");
	*print = option->value;
	return true;
}

static bool set_print(const struct option_entry *option, const char *arg)
{
	const struct option_entry kind = {
		.to = option->to, .value = strcmp(arg, "window") ? PRINT_TIME : PRINT_WINDOW,
	};

	if (kind.value == PRINT_TIME && strcmp(arg, "time"))
		return refuse("--print is time or window, not '%s'", arg);
	return set_kind(&kind, arg);
}

static bool set_sort(const struct option_entry *option, const char *arg)
{
	static const char *const words[] = { "time", "ns", "insns" };
	uint32_t *sort = option->to;

	for (*sort = 0; *sort < 3; ++*sort) {
		if (!strcmp(arg, words[*sort]))
			return true;
	}
	return refuse("--sort is time, ns or insns, not '%s'", arg);
}

int cmd_query(int argc, char **argv)
{
	struct command c = { .sort = SORT_NOT_GIVEN, .limit = ULONG_MAX, .recording.argument_is = "one query in quotes, such as 'request ns>1ms'" };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&c.recording),
		FILTER_OPTIONS(&c.recording),
		OPTION_KIND("count", NULL, set_kind, &c.print, PRINT_COUNT, "print only how many calls were found"),
		OPTION_KIND("json", NULL, set_kind, &c.print, PRINT_JSON, "one JSON object in each line"),
		OPTION_CALL(0, "print", "WHAT", set_print, &c.print,
			    "time at which each call began, where gdb can start, or window from\n"
			    "its begin to its end, for --time of other commands"),
		OPTION_CALL(0, "sort", "BY", set_sort, &c.sort, "time, or ns or insns with the most first (time)"),
		OPTION_NUMBER(0, "limit", "N", &c.limit, 0, "at most N calls (0: all)"),
		{ 0 }
	};
	int status = recording_run(argc, argv, usage, options, &c, parse, run);

	query_free(c.query.node);
	return status;
}
