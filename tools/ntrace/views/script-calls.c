// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script --calls - print each call that started and ended in the recording, in the order of the starts. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/output.h"
#include "script.h"
#include "sorted-calls.h"

static void add_call(struct script_part *p, const struct nt_call *call,
		     const struct nt_function *f)
{
	struct nt_who who = { .tid = call->tid, .pid = -1, .cpu = -1, .comm = "" };
	struct lines *l = &p->lines;

	nt_session_thread(p->script->session, call->tid, call->begin, &who.pid, &who.comm);
	if (p->script->json) {
		lines_add(l, "{\"time\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"on_cpu_ns\": %" PRIu64 ", \"insns\": %" PRIu64
			  ", \"pid\": %d, \"tid\": %d, \"comm\": ", call->begin, call->ns, call->ran, call->insns, who.pid, who.tid);
		lines_add_string(l, who.comm);
		lines_add(l, ", \"function\": ");
		lines_add_string(l, f->symbol);
		lines_add(l, ", \"object\": ");
		lines_add_string(l, f->object);
		lines_add(l, "}\n");
		return;
	}
	script_add_who(p, &who, call->begin);
	lines_add(l, "%10" PRIu64 " ns %10" PRIu64 " insns", call->ns, call->insns);
	if (script_has(p->script, F_SYM))
		lines_add(l, "  %s", f->symbol ? f->symbol : "[unknown]");
	if (script_has(p->script, F_DSO))
		lines_add(l, " (%s)", f->object ? f->object : "[unknown]");
	lines_add(l, "\n");
}

/* Number of instructions that a thread had executed at the end of its last call of the selected function */
struct inside {
	uint64_t	end;
	bool		known;
};

struct call_script {
	struct script_part part;
	const struct nt_calls *calls;
	NS_ARRAY(struct inside) inside;	/* the index is nt_slice::thread */
};

static int begin_calls(void *ctx, const struct nt_calls *calls)
{
	struct call_script *c = ctx;

	c->calls = calls;
	return 0;
}

/*
 * Return 1 if a call is inside a call of the selected function, 0 if not, and -1 if out of memory.
 * This function gets the calls of a thread in the order of their starts; if several start at the same
 * time, it gets the outermost first. Therefore a call is inside the previous call of the selected
 * function if it does not end after that call.
 */
static int is_inside(struct call_script *c, const struct nt_call *call,
		     const struct nt_function *function)
{
	uint32_t thread = nt_calls_slice(c->calls, call->slice)->thread;
	const struct inside none = { 0 };
	struct inside *inside;

	while (c->inside.nr <= thread) {
		if (!ns_array_add(&c->inside, none))
			return -1;
	}
	inside = &c->inside.at[thread];
	if (inside->known && call->at + call->insns <= inside->end)
		return 1;
	if (!nt_session_is(c->part.script->session, function->object, function->address, c->part.script->function))
		return 0;
	*inside = (struct inside){ .end = call->at + call->insns, .known = true };
	return 1;
}

static int print_call(void *ctx, const struct nt_call *call, const struct nt_function *function)
{
	struct call_script *c = ctx;
	struct script_part *p = &c->part;
	int inside = p->script->function ? is_inside(c, call, function) : 1;
	size_t len;

	/* do not print a call whose end was not recorded, but print the calls inside it */
	if (inside <= 0 || call->open)
		return inside < 0 ? -1 : 0;
	if (script_print_events(p, call->begin))
		return -1;

	add_call(p, call, function);
	len = p->lines.len;
	p->lines.len = 0;
	return p->lines.failed || lines_print(p->lines.text, len) ? -1 : 0;
}

int script_calls(struct script *script)
{
	struct call_script c = { .part.script = script };
	struct sorted_calls sorted = {
		.session = script->session, .filter = &script->filter, .open = script->function,
		.begin = begin_calls, .take = print_call, .ctx = &c, .output = "-",
	};
	int err;

	/* do not print the CPU, because a thread may move to another CPU during a call */
	script->fields &= ~(1U << F_CPU);
	err = sorted_calls_each(&sorted);
	if (!err && script_print_events(&c.part, UINT64_MAX))
		err = output_failed("-");
	lines_free(&c.part.lines);
	free(c.inside.at);
	return err;
}
