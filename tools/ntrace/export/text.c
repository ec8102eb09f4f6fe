// SPDX-License-Identifier: GPL-2.0-only
/* ntrace export - write calls as text in the formats jsonl, chrome and speedscope. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"
#include "cli/json-text.h"

/* maximum size in bytes of all numbers of a line and of the constant text between them */
#define NUMBERS		(8 * 20 + 256)

/*
 * Get the thread and the names of the function of a call. Return memory for the line of the call,
 * or NULL with errno on failure.
 */
static char *begin_line(struct export *e, const struct nt_call *call, const struct export_thread **thread,
			const struct export_name **name)
{
	*thread = export_thread(e, call);
	*name = export_name(e, call->function);
	if (!*thread || !*name)
		return NULL;
	/* for an unknown name, the line has "null", which is shorter than "[unknown]", whose size is counted here */
	return export_room(e, NUMBERS + (*thread)->json.size + (*name)->symbol.size + (*name)->object.size);
}

/* Write the constant text @key, and a JSON string or null. */
#define PUT_JSON(at, key, json)	put_bytes(PUT(at, key), (json)->text, (json)->size)

/* ---- JSON lines ---- */

static int jsonl_take(struct export *e, const struct nt_call *call, const struct nt_function *f)
{
	const struct export_thread *thread;
	const struct export_name *name;
	char *at = begin_line(e, call, &thread, &name);

	if (!at)
		return -1;
	at = put_unsigned(PUT(at, "{\"time\": "), call->begin);
	at = put_unsigned(PUT(at, ", \"ns\": "), call->ns);
	at = put_unsigned(PUT(at, ", \"on_cpu_ns\": "), call->ran);
	at = put_unsigned(PUT(at, ", \"insns\": "), call->insns);
	at = put_number(PUT(at, ", \"pid\": "), thread->pid);
	at = put_number(PUT(at, ", \"tid\": "), thread->tid);
	at = PUT_JSON(at, ", \"comm\": ", &thread->json);
	at = PUT_JSON(at, ", \"function\": ", &name->symbol_or_null);
	at = PUT_JSON(at, ", \"object\": ", &name->object_or_null);
	return export_done(e, PUT(at, "}\n"));
}

/* Return memory for the line of an event and @more bytes, or NULL with errno on failure. */
static char *event_room(struct export *e, const struct export_event *event, size_t more)
{
	return export_room(e, NUMBERS + strlen(event->name) + strlen(event->json) + more);
}

static int jsonl_event(struct export *e, const struct export_event *event)
{
	size_t size;
	char *comm = json_text(event->comm, &size);
	char *at = comm ? event_room(e, event, size) : NULL;

	if (at) {
		at = put_unsigned(PUT(at, "{\"time\": "), event->event.time);
		at = put_number(PUT(at, ", \"cpu\": "), event->event.cpu);
		at = put_number(PUT(at, ", \"pid\": "), event->pid);
		at = put_number(PUT(at, ", \"tid\": "), event->event.tid);
		at = put_bytes(PUT(at, ", \"comm\": "), comm, size);
		at = PUT(at, ", \"event\": \"");
		at = put_bytes(at, event->name, strlen(event->name));
		at = PUT(at, "\", \"fields\": ");
		at = put_bytes(at, event->json, strlen(event->json));
		export_done(e, PUT(at, "}\n"));
	}
	free(comm);
	return at ? 0 : -1;
}

const struct export_format export_jsonl = { .name = "jsonl", .take = jsonl_take, .event = jsonl_event };

/* ---- Chrome's trace format: "Trace Event Format", complete events ---- */

/* Write a time in ns as microseconds with three decimal places. */
static char *put_us(char *at, uint64_t ns)
{
	at = put_unsigned(at, ns / 1000);
	*at++ = '.';
	*at++ = '0' + ns / 100 % 10;
	*at++ = '0' + ns / 10 % 10;
	*at++ = '0' + ns % 10;
	return at;
}

/* Write a text. Return -1 with errno on failure. */
static int put_text(struct export *e, const char *text)
{
	size_t size = strlen(text);
	char *at = export_room(e, size);

	return at ? export_done(e, put_bytes(at, text, size)) : -1;
}

static int chrome_begin(struct export *e)
{
	return put_text(e, "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n");
}

static int chrome_take(struct export *e, const struct nt_call *call, const struct nt_function *f)
{
	const struct export_thread *thread;
	const struct export_name *name;
	char *at = begin_line(e, call, &thread, &name);

	if (!at)
		return -1;
	if (e->nr + e->nr_events > 1)
		at = PUT(at, ",\n");
	at = put_us(PUT(at, "{\"ph\": \"X\", \"ts\": "), call->begin);
	at = put_us(PUT(at, ", \"dur\": "), call->ns);
	at = put_number(PUT(at, ", \"pid\": "), thread->pid);
	at = put_number(PUT(at, ", \"tid\": "), thread->tid);
	at = PUT_JSON(at, ", \"name\": ", &name->symbol);
	at = PUT_JSON(at, ", \"cat\": ", &name->object);
	at = put_unsigned(PUT(at, ", \"args\": {\"insns\": "), call->insns);
	at = put_unsigned(PUT(at, ", \"on_cpu_ns\": "), call->ran);
	return export_done(e, PUT(at, "}}"));
}

static int chrome_event(struct export *e, const struct export_event *event)
{
	char *at = event_room(e, event, 0);

	if (!at)
		return -1;
	if (e->nr + e->nr_events > 1)
		at = PUT(at, ",\n");
	at = put_us(PUT(at, "{\"ph\": \"i\", \"s\": \"t\", \"ts\": "), event->event.time);
	at = put_number(PUT(at, ", \"pid\": "), event->pid);
	at = put_number(PUT(at, ", \"tid\": "), event->event.tid);
	at = PUT(at, ", \"cat\": \"tracepoint\", \"name\": \"");
	at = put_bytes(at, event->name, strlen(event->name));
	at = PUT(at, "\", \"args\": ");
	at = put_bytes(at, event->json, strlen(event->json));
	return export_done(e, PUT(at, "}"));
}

static int chrome_end(struct export *e)
{
	return put_text(e, "\n]}\n");
}

const struct export_format export_chrome = {
	.name = "chrome", .begin = chrome_begin, .take = chrome_take, .event = chrome_event,
	.end = chrome_end,
};

/* ---- speedscope, with an evented profile for each thread ---- */

struct speedscope {
	uint32_t	thread;		/* thread (nested_call::thread) whose profile is being written */
	bool		open;		/* the start of a profile was written, but not its end */
	bool		comma;		/* the next event must follow a comma */
	/* time of the last event, because speedscope requires increasing times */
	uint64_t	last;
};

static int put_frame(struct export *e, uint32_t function)
{
	const struct export_name *name = export_name(e, function);
	char *at = name ? export_room(e, 64 + name->symbol.size + name->object.size) : NULL;

	if (!at)
		return -1;
	at = function ? PUT(at, ",\n{\"name\": ") : PUT(at, "\n{\"name\": ");
	at = put_bytes(at, name->symbol.text, name->symbol.size);
	at = PUT_JSON(at, ", \"file\": ", &name->object);
	return export_done(e, PUT(at, "}"));
}

static int speedscope_begin(struct export *e)
{
	size_t i;

	e->state = calloc(1, sizeof(struct speedscope));
	if (!e->state)
		return -1;
	if (put_text(e, "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\","
			" \"exporter\": \"ntrace\", \"shared\": {\"frames\": ["))
		return -1;
	for (i = 0; nt_calls_function(e->calls, i); i++) {
		if (put_frame(e, i))
			return -1;
	}
	return put_text(e, "]}, \"profiles\": [");
}

static int end_profile(struct export *e)
{
	struct speedscope *s = e->state;
	char *at;

	if (!s->open)
		return 0;
	s->open = false;
	at = export_room(e, NUMBERS);
	if (!at)
		return -1;
	at = put_unsigned(PUT(at, "], \"endValue\": "), s->last);
	return export_done(e, PUT(at, "}"));
}

static int begin_profile(struct export *e, const struct nested_call *call)
{
	const struct export_thread *thread = export_thread(e, &call->call);
	struct speedscope *s = e->state;
	char *at = thread ? export_room(e, NUMBERS + thread->json.size) : NULL;

	if (!at)
		return -1;
	at = e->nr > 1 ? PUT(at, ",\n{") : PUT(at, "\n{");
	at = PUT(at, "\"type\": \"evented\", \"unit\": \"nanoseconds\", \"name\": ");
	/* leave out the closing quote, because the id of the thread follows in the same string */
	at = put_bytes(at, thread->json.text, thread->json.size - 1);
	at = put_number(PUT(at, " "), thread->tid);
	at = put_unsigned(PUT(at, "\", \"startValue\": "), call->call.begin);
	*s = (struct speedscope){ .thread = call->thread, .open = true, .last = call->call.begin };
	return export_done(e, PUT(at, ", \"events\": ["));
}

static int add_event(struct export *e, char type, const struct nt_call *call, uint64_t time)
{
	struct speedscope *s = e->state;
	char *at = export_room(e, NUMBERS);

	if (!at)
		return -1;
	if (time > s->last)
		s->last = time;
	if (s->comma)
		*at++ = ',';
	s->comma = true;
	at = PUT(at, "\n{\"type\": \"");
	*at++ = type;
	at = put_unsigned(PUT(at, "\", \"frame\": "), call->function);
	at = put_unsigned(PUT(at, ", \"at\": "), s->last);
	return export_done(e, PUT(at, "}"));
}

static int speedscope_enter(struct export *e, struct nested_call *call)
{
	struct speedscope *s = e->state;

	if ((!s->open || s->thread != call->thread) && (end_profile(e) || begin_profile(e, call)))
		return -1;
	return add_event(e, 'O', &call->call, call->call.begin);
}

static int speedscope_leave(struct export *e, const struct nested_call *call)
{
	return add_event(e, 'C', &call->call, call->call.begin + call->call.ns);
}

static int speedscope_end(struct export *e)
{
	return end_profile(e) ? -1 : put_text(e, "]}\n");
}

static void speedscope_free(struct export *e)
{
	free(e->state);
}

const struct export_format export_speedscope = {
	.name = "speedscope", .begin = speedscope_begin, .enter = speedscope_enter,
	.leave = speedscope_leave, .end = speedscope_end, .free = speedscope_free,
};
