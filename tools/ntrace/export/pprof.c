// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format pprof - write a profile for github.com/google/pprof (proto/profile.proto).
 * The profile has one sample for each stack of each thread. Its values are exact sums, and not
 * numbers of samples.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>

#include "bytes.h"
#include "export.h"
#include "session/code/lines.h"

enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6, PROFILE_DEFAULT_TYPE = 14,
	TYPE_NAME = 1, TYPE_UNIT = 2,
	SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_TEXT = 2, LABEL_NUMBER = 3,
	MAPPING_ID = 1, MAPPING_LIMIT = 3, MAPPING_FILE = 5, MAPPING_BUILD_ID = 6, MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8, MAPPING_HAS_LINES = 9,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4, FUNCTION_LINE = 5,
};

#define FRAMES	32	/* maximum number of nested inlined functions */

struct pprof {
	struct bytes	profile, message, inner;
	NS_ARRAY(const char *) objects;		/* object of each mapping */
	uint64_t	strings;		/* number of strings in the table */
	uint64_t	thread, pid, tid;	/* indices of the label names in the string table */
};

/* Add a string to the string table, and return its index. */
static uint64_t add_string(struct pprof *p, const char *text)
{
	protobuf_string(&p->profile, PROFILE_STRING, text);
	return p->strings++;
}

static void put_type(struct pprof *p, const char *name, const char *unit)
{
	protobuf_number(&p->message, TYPE_NAME, add_string(p, name));
	protobuf_number(&p->message, TYPE_UNIT, add_string(p, unit));
	protobuf_message(&p->profile, PROFILE_SAMPLE_TYPE, &p->message);
}

/*
 * Return the number of the object's mapping, from 1. Add the mapping if it is new, and declare that
 * it has names, because pprof otherwise reads the object's file.
 */
static uint64_t mapping_of(struct export *e, struct pprof *p, const char *object)
{
	char text[BUILD_ID_TEXT];
	const char *id;
	size_t i;

	for (i = p->objects.nr; i--; ) {
		if (p->objects.at[i] == object)
			return i + 1;
	}
	if (!ns_array_add(&p->objects, object))
		p->profile.failed = true;
	id = recording_build_id(e->session, object, text);
	protobuf_number(&p->message, MAPPING_ID, p->objects.nr);
	protobuf_number(&p->message, MAPPING_LIMIT, UINT64_MAX);
	protobuf_number(&p->message, MAPPING_FILE, add_string(p, object ? object : "[unknown]"));
	if (id)
		protobuf_number(&p->message, MAPPING_BUILD_ID, add_string(p, id));
	protobuf_number(&p->message, MAPPING_HAS_FUNCTIONS, 1);
	protobuf_number(&p->message, MAPPING_HAS_FILES, 1);
	protobuf_number(&p->message, MAPPING_HAS_LINES, 1);
	protobuf_message(&p->profile, PROFILE_MAPPING, &p->message);
	return p->objects.nr;
}

/* Write a function, and a location with the same number at the start of the function. */
static void put_function(struct export *e, struct pprof *p, struct nt_lines *lines, uint64_t id)
{
	const struct nt_function *f = nt_calls_function(e->calls, id - 1);
	struct nt_frame frames[FRAMES], frame;
	uint64_t name, mapping = mapping_of(e, p, f->object);

	frame = frames[nt_lines_at(lines, f->object, f->address, frames, FRAMES) - 1];
	name = add_string(p, f->symbol ? f->symbol : f->object ? f->object : "[unknown]");
	protobuf_number(&p->message, FUNCTION_ID, id);
	protobuf_number(&p->message, FUNCTION_NAME, name);
	protobuf_number(&p->message, FUNCTION_SYSTEM_NAME, name);
	if (frame.file)
		protobuf_number(&p->message, FUNCTION_FILE, add_string(p, frame.file));
	protobuf_number(&p->message, FUNCTION_LINE, frame.start);
	protobuf_message(&p->profile, PROFILE_FUNCTION, &p->message);
	protobuf_number(&p->message, LOCATION_ID, id);
	protobuf_number(&p->message, LOCATION_MAPPING, mapping);
	protobuf_number(&p->message, LOCATION_ADDRESS, f->address);
	protobuf_number(&p->inner, LINE_FUNCTION, id);
	protobuf_number(&p->inner, LINE_LINE, frame.line);
	protobuf_message(&p->message, LOCATION_LINE, &p->inner);
	protobuf_message(&p->profile, PROFILE_LOCATION, &p->message);
}

static int pprof_begin(struct export *e)
{
	struct nt_lines *lines = nt_lines_new(e->session);
	struct pprof *p = e->writer = calloc(1, sizeof(*p));
	size_t i;

	if (!p || !lines || export_stacks_begin(e)) {
		nt_lines_free(lines);
		return -1;
	}
	add_string(p, "");
	put_type(p, "calls", "count");
	put_type(p, "instructions", "count");
	protobuf_number(&p->profile, PROFILE_DEFAULT_TYPE, p->strings);
	put_type(p, "time", "nanoseconds");
	put_type(p, "on_cpu", "nanoseconds");
	p->thread = add_string(p, "thread");
	p->pid = add_string(p, "pid");
	p->tid = add_string(p, "tid");
	for (i = 0; nt_calls_function(e->calls, i); i++)
		put_function(e, p, lines, i + 1);
	nt_lines_free(lines);
	return 0;
}

static void put_label(struct pprof *p, uint64_t key, unsigned int field, uint64_t value)
{
	protobuf_number(&p->inner, LABEL_KEY, key);
	protobuf_number(&p->inner, field, value);
	protobuf_message(&p->message, SAMPLE_LABEL, &p->inner);
}

static int put_stack(struct export *e, const struct export_stack *stack)
{
	struct pprof *p = e->writer;
	uint32_t i;

	for (i = 0; i < stack->depth; i++)
		bytes_varint(&p->inner, stack->path[i] + UINT64_C(1));
	protobuf_message(&p->message, SAMPLE_LOCATIONS, &p->inner);
	bytes_varint(&p->inner, stack->calls);
	bytes_varint(&p->inner, stack->insns);
	bytes_varint(&p->inner, stack->ns);
	bytes_varint(&p->inner, stack->ran);
	protobuf_message(&p->message, SAMPLE_VALUES, &p->inner);
	put_label(p, p->thread, LABEL_TEXT, add_string(p, stack->thread->comm));
	put_label(p, p->pid, LABEL_NUMBER, stack->thread->pid);
	put_label(p, p->tid, LABEL_NUMBER, stack->thread->tid);
	protobuf_message(&p->profile, PROFILE_SAMPLE, &p->message);
	return 0;
}

/* Write the profile with the compression of gzip, which pprof expects. */
static int write_gzip(struct export *e, const struct bytes *bytes)
{
	z_stream z = { .next_in = bytes->at };
	size_t left = bytes->nr;
	int code = Z_OK;
	char *at;

	if (deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -1;
	while (code != Z_STREAM_END) {
		at = export_room(e, 64 << 10);
		if (!at)
			break;
		z.avail_in = left > 1 << 30 ? 1 << 30 : left;
		left -= z.avail_in;
		z.next_out = (uint8_t *)at;
		z.avail_out = 64 << 10;
		code = deflate(&z, left ? Z_NO_FLUSH : Z_FINISH);
		left += z.avail_in;
		export_done(e, (char *)z.next_out);
	}
	deflateEnd(&z);
	return code == Z_STREAM_END ? 0 : -1;
}

static int pprof_end(struct export *e)
{
	struct pprof *p = e->writer;

	if (export_stacks_each(e, put_stack))
		return -1;
	if (!p->profile.failed && !p->message.failed && !p->inner.failed)
		return write_gzip(e, &p->profile);
	errno = ENOMEM;
	return -1;
}

static void pprof_free(struct export *e)
{
	struct pprof *p = e->writer;

	if (p) {
		free(p->profile.at);
		free(p->message.at);
		free(p->inner.at);
		free(p->objects.at);
	}
	free(p);
	export_stacks_free(e);
}

const struct export_format export_pprof = {
	.name = "pprof", .begin = pprof_begin, .enter = export_stacks_enter, .leave = export_stacks_leave,
	.end = pprof_end, .free = pprof_free,
};
