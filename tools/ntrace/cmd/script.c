// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script prints branches, calls, instructions or events of a recording in the order of time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "views/disasm.h"
#include "ntrace.h"
#include "cli/nothing.h"
#include "cli/options.h"
#include "cli/recording.h"
#include "views/script.h"
#include "cli/output.h"

static const char usage[] =
	"usage: ntrace script [OPTIONS]\n\n"
	"Print each branch that was taken in a recording of perf: who, when, from where to where,\n"
	"in the order of time.\n";

enum what { WHAT_NONE, WHAT_BRANCHES, WHAT_CALLS, WHAT_INSNS, WHAT_EVENTS };

static const char *const field_names[F_MAX] = {
	"comm", "pid", "tid", "cpu", "time", "flags", "ip", "sym", "dso", "addr", "symoff",
};

/* Return true if the recording has the trace of a single CPU, in one buffer that CPUs do not share. */
static bool has_one_cpu(struct nt_session *session)
{
	struct nt_session_info info;
	struct nt_config config;
	int cpu;

	nt_session_info(session, &info, sizeof(info));
	return info.buffers == 1 && nt_session_cpu(session, 0, &cpu, &config) && !config.src_bits;
}

/* If the user has selected a function, find the calls that have begun but not ended before each stretch of trace. */
static bool know_calls(struct script *s)
{
	if (!s->function)
		return true;
	s->chains = nt_chains_new(s->session);
	if (s->chains)
		nt_chains_watch(s->chains, s->function);
	else
		recording_failed(s->session);
	return s->chains;
}

static int merged(struct script *s, int (*print)(struct script *script))
{
	int err;

	if (!know_calls(s))
		return -1;
	s->merge = merge_new();
	if (!s->merge)
		return -1;
	if (has_one_cpu(s->session) && !events_any(&s->events))
		merge_directly(s->merge);
	errno = 0;
	err = script_merge_events(s) ?: print(s);
	if (err && nt_session_error(s->session)[0])
		recording_failed(s->session);
	else if (err)
		output_failed("-");
	if (merge_print(s->merge))
		err = output_failed("-");
	merge_free(s->merge);
	return err;
}

static int open_events(struct script *s)
{
	int err = events_open(&s->events, s->session, &s->filter);

	if (err)
		perror("ntrace");
	return err;
}

static int print_what(struct script *s, enum what what)
{
	if (!s->function && open_events(s))
		return -1;
	if (what == WHAT_EVENTS)
		return script_events(s);
	if (what == WHAT_CALLS)
		return script_calls(s);
	return merged(s, what == WHAT_BRANCHES ? script_branches :
			 s->function ? script_insns_inside : script_insns);
}

static int no_lines(const struct recording_options *options, struct script *s, enum what what)
{
	if (what != WHAT_EVENTS || events_any(&s->events))
		return nothing_matched(options, s->session, s->function);
	fputs("ntrace: the recording has no tracepoints. perf record -e ntrace// -e sched:sched_switch records some\n",
	      stderr);
	return EXIT_TRACE;
}

struct command {
	struct recording_options recording;
	struct script	script;
	enum what	what;
	bool		fields_given;
};

static int run(void *ctx, struct nt_session *session)
{
	struct command *c = ctx;
	struct script *s = &c->script;
	int err, status;

	s->session = session;
	s->filter = c->recording.filter;
	err = print_what(s, c->what);
	if (!err && !lines_were_printed())
		status = no_lines(&c->recording, s, c->what);
	else
		status = err ? EXIT_USAGE : recording_status(&c->recording, s->events.errors);
	nt_chains_free(s->chains);
	events_close(&s->events);
	return status;
}

static bool set_fields(const struct option_entry *option, const char *list)
{
	struct command *c = option->to;
	unsigned int *fields = &c->script.fields;
	unsigned int i;
	size_t len;

	c->fields_given = true;
	*fields = 0;
	do {
		len = strcspn(list, ",");
		for (i = 0; i < F_MAX; i++) {
			if (strlen(field_names[i]) == len && !strncmp(list, field_names[i], len))
				break;
		}
		if (i == F_MAX)
			return refuse("no field '%.*s'; `ntrace help script` lists them",
				      (int)len, list);
		*fields |= 1U << i;
		list += len + (list[len] == ',');
	} while (*list);
	return true;
}

static bool set_kind(const struct option_entry *option, const char *arg)
{
	struct command *c = option->to;

	if (c->what && c->what != option->value)
		return refuse("--branches, --calls, --insns (or --disasm) and --events exclude each other");
	c->what = option->value;
	return true;
}

static bool set_disasm(const struct option_entry *option, const char *arg)
{
	struct command *c = option->to;

	c->script.disasm = true;
	if (disasm_available())
		return set_kind(option, arg);
	return refuse("--disasm needs a build with capstone 5 or later; --insns prints the code's bytes");
}

static bool check(void *ctx)
{
	static const char *const names[] = { [WHAT_BRANCHES] = "branches", "calls", "insns", "events" };
	static const unsigned int lacks[] = {
		[WHAT_CALLS] = 1U << F_CPU | 1U << F_FLAGS | 1U << F_IP | 1U << F_ADDR | 1U << F_SYMOFF,
		[WHAT_INSNS] = 1U << F_FLAGS | 1U << F_ADDR,
		[WHAT_EVENTS] = 1U << F_FLAGS | 1U << F_IP | 1U << F_SYM | 1U << F_DSO | 1U << F_ADDR | 1U << F_SYMOFF,
	};
	struct command *c = ctx;
	unsigned int i;

	c->what = c->what ?: WHAT_BRANCHES;
	for (i = 0; c->fields_given && i < F_MAX; i++) {
		if (c->script.fields & lacks[c->what] & 1U << i)
			return refuse("--%s does not print %s, so -F cannot have it", names[c->what], field_names[i]);
	}
	if (c->what == WHAT_EVENTS && c->script.function)
		return refuse("--function is for --branches, --calls and --insns");
	if ((c->script.fields & (1U << F_SYM | 1U << F_SYMOFF)) == 1U << F_SYMOFF)
		return refuse("symoff is the offset in the symbol, so -F needs sym as well");
	if (c->script.json && c->fields_given)
		return refuse("-F is for text: --json has all fields");
	c->recording.session.keep_events = !c->script.function;
	return true;
}

int cmd_script(int argc, char **argv)
{
	struct command c = { .script.fields = (1U << F_SYMOFF) - 1 };
	const struct option_entry options[] = {
		RECORDING_OPTIONS(&c.recording),
		FILTER_OPTIONS(&c.recording),
		OPTION_KIND("branches", NULL, set_kind, &c, WHAT_BRANCHES, "branches (this is the default)"),
		OPTION_KIND("calls", NULL, set_kind, &c, WHAT_CALLS,
			    "calls of functions: when each began, and how long it took"),
		OPTION_KIND("insns", NULL, set_kind, &c, WHAT_INSNS, "instructions"),
		OPTION_KIND("disasm", NULL, set_disasm, &c, WHAT_INSNS, "instructions, disassembled"),
		OPTION_KIND("events", NULL, set_kind, &c, WHAT_EVENTS,
			    "tracepoints that were recorded beside the trace; the others print them,\n"
			    "too, but not with --function"),
		OPTION_TEXT(0, "function", "NAME", &c.script.function,
			    "only what is inside calls of that function: with the branch that calls\n"
			    "it, and the one that returns"),
		OPTION_FLAG(0, "json", &c.script.json, "one JSON object in each line"),
		OPTION_CALL('F', "fields", "LIST", set_fields, &c,
			    "of comm,pid,tid,cpu,time,flags,ip,sym,dso,addr (all), symoff"),
		{ 0 }
	};

	return recording_run(argc, argv, usage, options, &c, check, run);
}
