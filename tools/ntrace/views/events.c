// SPDX-License-Identifier: GPL-2.0-only
/* Read the tracepoints of a recording, and convert them to text (events.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "cli/json-text.h"

int events_open(struct events *events, struct nt_session *session, const struct nt_filter *filter)
{
	*events = (struct events){ .session = session, .filter = filter, .all = nt_events_new(session) };
	if (!events->all)
		return -1;
	events->errors = nt_events_error(events->all);
	if (events->errors)
		fprintf(stderr, "ntrace: %s\n", nt_events_error(events->all));
	return 0;
}

bool events_next(struct events *events, uint64_t until, struct nt_event *event)
{
	for (; events->all && nt_events_get(events->all, events->next, event); events->next++) {
		if (event->time > until)
			return false;
		/* a filter by file of code (object) leaves out all tracepoints, because they have no address */
		if (!nt_filter_passes(events->filter, event->time, event->cpu, event->tid) || events->filter->object)
			continue;
		events->next++;
		return true;
	}
	return false;
}

bool events_any(const struct events *events)
{
	struct nt_event event;

	return events->all && nt_events_get(events->all, 0, &event);
}

void events_close(struct events *events)
{
	nt_events_free(events->all);
	events->all = NULL;
}

static void print_bytes(FILE *to, const struct nt_event_field *field)
{
	const uint8_t *bytes = field->bytes;
	uint64_t number = 0;
	size_t i;

	for (i = 0; i + field->each <= field->size; i += field->each) {
		memcpy(&number, bytes + i, field->each);
		if (field->each == 1)
			fprintf(to, "%02" PRIx64, number);
		else
			fprintf(to, "%s%#" PRIx64, i ? "," : "", number);
	}
}

/* Print a text. Escape control characters, because a terminal would interpret them. */
static void print_text(FILE *to, const struct nt_event_field *field)
{
	const unsigned char *text = field->bytes;
	size_t i;

	for (i = 0; i < field->size; i++)
		fprintf(to, text[i] < 0x20 || text[i] == 0x7f ? "\\x%02x" : "%c", text[i]);
}

static void print_field(FILE *to, const struct nt_event_field *field)
{
	switch (field->kind) {
	case NT_FIELD_SIGNED:
		fprintf(to, "%" PRId64, (int64_t)field->number);
		break;
	case NT_FIELD_UNSIGNED:
		fprintf(to, "%" PRIu64, field->number);
		break;
	case NT_FIELD_ADDRESS:
		fprintf(to, "%#" PRIx64, field->number);
		break;
	case NT_FIELD_TEXT:
		print_text(to, field);
		break;
	case NT_FIELD_BYTES:
		print_bytes(to, field);
		break;
	case NT_FIELD_DAMAGED:
		fputs("[damaged]", to);
	}
}

static void put_string(FILE *to, const void *bytes, size_t size)
{
	char *text = strndup(bytes, size), *json = text ? json_text(text, &size) : NULL;

	fputs(json ? json : "null", to);
	free(json);
	free(text);
}

static void put_json(FILE *to, const struct nt_event_field *field)
{
	bool quotes = field->kind == NT_FIELD_ADDRESS || field->kind == NT_FIELD_BYTES;

	if (field->kind == NT_FIELD_TEXT) {
		put_string(to, field->bytes, field->size);
	} else if (field->kind == NT_FIELD_DAMAGED) {
		fputs("null", to);
	} else {
		fputs(quotes ? "\"" : "", to);
		print_field(to, field);
		fputs(quotes ? "\"" : "", to);
	}
}

static char *print_all(const struct nt_event *event, bool json)
{
	struct nt_event_field field;
	char *text = NULL;
	size_t size, i;
	FILE *to = open_memstream(&text, &size);

	if (!to)
		return NULL;
	fputs(json ? "{" : "", to);
	for (i = 0; nt_event_field(event, i, &field); i++) {
		fputs(!i ? "" : json ? ", " : " ", to);
		if (json)
			put_string(to, field.name, strlen(field.name));
		else
			fputs(field.name, to);
		fputs(json ? ": " : "=", to);
		(json ? put_json : print_field)(to, &field);
	}
	fputs(json ? "}" : "", to);
	if (!fclose(to))
		return text;
	free(text);
	return NULL;
}

char *event_fields(const struct nt_event *event)
{
	return print_all(event, false);
}

char *event_json(const struct nt_event *event)
{
	return print_all(event, true);
}

/* Return the name of an event, or "tracepoint:ID" if the recording does not have the format of this event. */
char *event_name(const struct nt_event *event)
{
	char *name;
	char *c;
	int n = event->name ? asprintf(&name, "%s:%s", event->system, event->name) :
			      asprintf(&name, "tracepoint:%" PRIu64, event->id);

	if (n < 0)
		return NULL;
	for (c = name; *c; c++) {
		if (*c <= ' ' || *c >= 0x7f || *c == '"' || *c == '\\')
			*c = '?';
	}
	return name;
}
