// SPDX-License-Identifier: GPL-2.0-only
/* ntrace script - print tracepoints between the other lines, or only tracepoints (--events). */
#include <stdlib.h>

#include "cli/output.h"
#include "script.h"

/* Buffer number for the lines of tracepoints, in place of nt_who::buffer, because tracepoints are in no AUX buffer */
#define EVENTS_BUFFER	UINT32_MAX

static int add_event(struct script_part *p, const struct nt_event *event)
{
	struct nt_who who = { .cpu = event->cpu, .tid = event->tid, .pid = event->pid };
	char *name = event_name(event), *fields = p->script->json ? event_json(event) : event_fields(event);

	nt_session_thread(p->script->session, event->tid, event->time, &who.pid, &who.comm);
	if (who.pid < 0)
		who.pid = event->pid;
	if (name && fields && p->script->json) {
		script_json_who(p, &who, event->time);
		lines_add_text(&p->lines, ", \"event\": ");
		lines_add_string(&p->lines, name);
		lines_add_text(&p->lines, ", \"fields\": ");
		lines_add_text(&p->lines, fields);
		lines_add_text(&p->lines, "}\n");
	} else if (name && fields) {
		script_add_who(p, &who, event->time);
		lines_add_text(&p->lines, name);
		lines_add_text(&p->lines, *fields ? ": " : ":");
		lines_add_text(&p->lines, fields);
		lines_add_text(&p->lines, "\n");
	} else {
		p->lines.failed = true;
	}
	free(name);
	free(fields);
	return p->lines.failed ? -1 : 0;
}

int script_merge_events(struct script *script)
{
	struct script_part p = { .script = script };
	struct nt_event event;
	int err = 0;

	while (!err && events_next(&script->events, UINT64_MAX, &event)) {
		lines_begin(&p.lines, event.cpu);
		err = add_event(&p, &event) || lines_end(&p.lines, event.time);
	}
	err = err || merge_add(script->merge, EVENTS_BUFFER, &p.lines) ? -1 : 0;
	lines_free(&p.lines);
	return err;
}

int script_print_events(struct script_part *p, uint64_t until)
{
	struct nt_event event;
	size_t len;

	while (events_next(&p->script->events, until, &event)) {
		if (add_event(p, &event))
			return -1;
		len = p->lines.len;
		p->lines.len = 0;
		if (lines_print(p->lines.text, len))
			return -1;
	}
	return 0;
}

int script_events(struct script *script)
{
	struct script_part *p = calloc(1, sizeof(*p));
	int err = -1;

	if (p) {
		p->script = script;
		err = script_print_events(p, UINT64_MAX);
		script_free(p);
	}
	return err ? output_failed("-") : 0;
}
