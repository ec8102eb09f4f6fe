// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The header of perf.data contains the formats of tracepoints in the layout of perf's
 * trace-event-info.c:
 *
 *	"\x17\x08\x44tracing" version\0, a byte: big-endian, a byte: sizeof(long), u32: size of a page
 *	"header_page\0" u64 size, text; "header_event\0" u64 size, text
 *	u32 number: u64 size, format	of ftrace itself
 *	u32 number: system\0 u32 number: u64 size, format
 *
 * Kernel symbols and printk strings follow, which are not needed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#endif

#include "events.h"
#include "session/session-priv.h"

#define MAGIC		"\x17\x08\x44tracing"
#define FORMAT_MAX	(1 << 20)	/* maximum size of a format in bytes; the longest format in Linux has 12 KiB */
#define PRINT		"print fmt:"

struct nt_events {
	const struct nt_session *session;
	struct tep_handle *formats;
	const char	*error;
	unsigned int	long_size;
};

#ifdef HAVE_TRACEEVENT

/* ---- Read the formats of events ---- */

struct cursor {
	const uint8_t	*at, *end;
};

static bool take_bytes(struct cursor *c, void *to, size_t size)
{
	if ((size_t)(c->end - c->at) < size)
		return false;
	memcpy(to, c->at, size);
	c->at += size;
	return true;
}

static const char *take_string(struct cursor *c)
{
	const char *text = (const char *)c->at;
	const uint8_t *nul = memchr(c->at, 0, c->end - c->at);

	if (!nul)
		return NULL;
	c->at = nul + 1;
	return text;
}

/* Read a 64-bit size, followed by a text of this size. */
static bool take_text(struct cursor *c, const char **text, size_t *size)
{
	uint64_t n;

	if (!take_bytes(c, &n, sizeof(n)) || n > (uint64_t)(c->end - c->at))
		return false;
	*text = (const char *)c->at;
	*size = n;
	c->at += n;
	return true;
}

/*
 * Pass a format to libtraceevent without its print expression, which the session library does not
 * need. To parse print expressions would take most of the time, and would be most of the risk with a
 * damaged format. Return false if the format is damaged, or if out of memory.
 */
static bool add_format(struct nt_events *events, const char *system, const char *text, size_t size)
{
	const char *print = memmem(text, size, PRINT, strlen(PRINT));
	char *format;
	int n;

	if (size > FORMAT_MAX || !print || memchr(text, 0, print - text))
		return false;
	n = asprintf(&format, "%.*s" PRINT " \"\"\n", (int)(print - text), text);
	if (n < 0)
		return false;
	/* ignore a format that libtraceevent cannot parse, so that only its tracepoint has no name */
	tep_parse_event(events->formats, format, n, system);
	free(format);
	return true;
}

static bool add_systems(struct nt_events *events, struct cursor *c)
{
	uint32_t systems, formats;
	const char *system, *text;
	size_t size;

	if (!take_bytes(c, &systems, sizeof(systems)))
		return false;
	while (systems--) {
		system = take_string(c);
		if (!system || !take_bytes(c, &formats, sizeof(formats)))
			return false;
		while (formats--) {
			if (!take_text(c, &text, &size) || !add_format(events, system, text, size))
				return false;
		}
	}
	return true;
}

static bool skip_header(struct cursor *c, const char *name)
{
	const char *is = take_string(c), *text;
	size_t size;

	return is && !strcmp(is, name) && take_text(c, &text, &size);
}

static const char *read_formats(struct nt_events *events, struct cursor *c)
{
	uint8_t magic[sizeof(MAGIC) - 1], big_endian, long_size;
	const char *text;
	uint32_t nr;
	size_t size;

	if (!take_bytes(c, magic, sizeof(magic)) || memcmp(magic, MAGIC, sizeof(magic)) || !take_string(c))
		return "the formats of tracepoints do not begin as perf writes them";
	if (!take_bytes(c, &big_endian, 1) || !take_bytes(c, &long_size, 1) || !take_bytes(c, &nr, sizeof(nr)))
		return "the formats of tracepoints are cut short";
	if (big_endian || (long_size != 4 && long_size != 8))
		return "the formats of tracepoints are of a big-endian machine, or damaged";
	events->long_size = long_size;
	tep_set_long_size(events->formats, long_size);
	if (!skip_header(c, "header_page") || !skip_header(c, "header_event") || !take_bytes(c, &nr, sizeof(nr)))
		return "the formats of tracepoints are damaged in their header";
	while (nr--) {
		if (!take_text(c, &text, &size))
			return "the formats of tracepoints are damaged: one of ftrace is cut short";
	}
	return add_systems(events, c) ? NULL : "the formats of tracepoints are damaged: a format is cut short, or has no system or no print format";
}

static bool open_formats(struct nt_events *events)
{
	const struct pd_section *section = &events->session->pd.tracing;
	struct cursor c = { section->data, section->data + section->size };

	events->formats = tep_alloc();
	if (!events->formats)
		return false;
	/* do not let libtraceevent print parse errors to the standard error */
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_local_bigendian(events->formats, TEP_LITTLE_ENDIAN);
	tep_set_file_bigendian(events->formats, TEP_LITTLE_ENDIAN);
	if (section->size)
		events->error = read_formats(events, &c);
	else if (events->session->events.nr)
		events->error = "the recording has tracepoints, but not their formats";
	return true;
}

/* Set the name of an event, and the format that nt_event_field() needs. */
static void set_format(const struct nt_events *events, struct nt_event *event)
{
	const struct tep_event *format = event->id <= INT32_MAX ? tep_find_event(events->formats, event->id) : NULL;

	if (format && format->name && format->system) {
		event->system = format->system;
		event->name = format->name;
		event->priv = format;
	}
}

#else

static bool open_formats(struct nt_events *events)
{
	if (events->session->events.nr)
		events->error = "tracepoints have no names and fields, because ntrace was built without libtraceevent: apt-get install libtraceevent-dev, and build it again";
	return true;
}

static void set_format(const struct nt_events *events, struct nt_event *event)
{
}

static void tep_free(struct tep_handle *formats)
{
}

#endif

/* ---- All events of a recording ---- */

struct nt_events *nt_events_new(const struct nt_session *session)
{
	struct nt_events *events = calloc(1, sizeof(*events));

	if (!events)
		return NULL;
	events->session = session;
	if (open_formats(events))
		return events;
	free(events);
	return NULL;
}

void nt_events_free(struct nt_events *events)
{
	if (events)
		tep_free(events->formats);
	free(events);
}

const char *nt_events_error(const struct nt_events *events)
{
	return events->error;
}

bool nt_events_get(const struct nt_events *events, size_t nth, struct nt_event *event)
{
	const struct nt_session *session = events->session;
	const struct pd_record *r;

	if (nth >= session->events.nr)
		return false;
	r = &session->events.at[nth];
	*event = (struct nt_event){
		.time = r->id.time, .cpu = r->id.cpu, .pid = r->id.pid, .tid = r->id.tid,
		.id = pd_attr_of(&session->pd, r->id.id)->attr.config,
		.raw = r->data, .raw_size = r->data_size,
	};
	set_format(events, event);
	return true;
}

/* ---- Fields ---- */

#ifdef HAVE_TRACEEVENT

/* Find the bytes of a field. A dynamic field encodes their offset and size. Return false if the event is too short. */
static bool find_bytes(const struct nt_event *event, const struct tep_format_field *f,
		       struct nt_event_field *field)
{
	uint64_t offset = f->offset, size = f->size;
	uint32_t where;

	if (f->offset < 0 || f->size < 0 || offset + size > event->raw_size)
		return false;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (size != sizeof(where))
			return false;
		memcpy(&where, (const uint8_t *)event->raw + offset, sizeof(where));
		offset = (where & 0xffff) + (f->flags & TEP_FIELD_IS_RELATIVE ? offset + size : 0);
		size = where >> 16;
		if (offset + size > event->raw_size)
			return false;
	}
	field->bytes = (const uint8_t *)event->raw + offset;
	field->size = size;
	return true;
}

static bool read_number(struct nt_event_field *field, bool is_signed)
{
	unsigned int unused = 64 - 8 * field->size;

	if (field->size != 1 && field->size != 2 && field->size != 4 && field->size != 8)
		return false;
	field->number = 0;
	memcpy(&field->number, field->bytes, field->size);
	if (is_signed)
		field->number = (uint64_t)((int64_t)(field->number << unused) >> unused);
	return true;
}

static enum nt_event_field_kind kind_of(const struct tep_format_field *f, struct nt_event_field *field)
{
	/* also check the type, because libtraceevent also sets the string flag for arrays of bytes */
	if (f->flags & TEP_FIELD_IS_STRING && f->type && strstr(f->type, "char")) {
		field->size = strnlen(field->bytes, field->size);
		return NT_FIELD_TEXT;
	}
	field->each = f->elementsize == 2 || f->elementsize == 4 || f->elementsize == 8 ? f->elementsize : 1;
	if (f->flags & TEP_FIELD_IS_ARRAY || !read_number(field, f->flags & TEP_FIELD_IS_SIGNED))
		return NT_FIELD_BYTES;
	if (f->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_FLAG))
		return NT_FIELD_ADDRESS;
	return f->flags & TEP_FIELD_IS_SIGNED ? NT_FIELD_SIGNED : NT_FIELD_UNSIGNED;
}

bool nt_event_field(const struct nt_event *event, size_t nth, struct nt_event_field *field)
{
	const struct tep_event *format = event->priv;
	const struct tep_format_field *f = format ? format->format.fields : NULL;

	while (f && nth--)
		f = f->next;
	if (!f || !f->name)
		return false;
	*field = (struct nt_event_field){ .name = f->name, .kind = NT_FIELD_DAMAGED };
	if (find_bytes(event, f, field))
		field->kind = kind_of(f, field);
	return true;
}

#else

bool nt_event_field(const struct nt_event *event, size_t nth, struct nt_event_field *field)
{
	return false;
}

#endif
