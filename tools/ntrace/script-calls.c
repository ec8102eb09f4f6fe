// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script --calls: each call that began and ended in the recording, by its begin. */
#include <inttypes.h>
#include <stdlib.h>

#include "script.h"
#include "sorted-calls.h"

static void add_call(struct script_part *p, const struct nt_call *call,
		     const struct nt_function *f)
{
	struct nt_who who = { .tid = call->tid, .pid = -1, .cpu = -1, .comm = "" };
	struct lines *l = &p->lines;

	nt_session_thread(p->script->session, call->tid, call->begin, &who.pid, &who.comm);
	if (p->script->json) {
		lines_add(l, "{\"time\": %" PRIu64 ", \"ns\": %" PRIu64 ", \"insns\": %" PRIu64
			  ", \"pid\": %d, \"tid\": %d, \"comm\": ", call->begin, call->ns,
			  call->insns, who.pid, who.tid);
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

static int print_call(void *ctx, const struct nt_call *call, const struct nt_function *function)
{
	struct script_part *p = ctx;
	size_t len;

	add_call(p, call, function);
	len = p->lines.len;
	p->lines.len = 0;
	return p->lines.failed || fwrite(p->lines.text, 1, len, stdout) != len ? -1 : 0;
}

int script_calls(struct script *script)
{
	struct script_part part = { .script = script };
	struct sorted_calls sorted = {
		.session = script->session, .filter = &script->filter, .take = print_call, .ctx = &part,
	};
	int err;

	/* without columns that a call does not have */
	script->fields &= ~(1U << F_CPU);
	err = sorted_calls_each(&sorted);
	script->errors |= sorted.errors;
	lines_free(&part.lines);
	if (!err && fflush(stdout)) {
		perror("ntrace: writing failed");
		err = -1;
	}
	return err;
}
