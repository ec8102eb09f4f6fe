// SPDX-License-Identifier: GPL-2.0-only
/*
 * ntrace export --format perfetto - write packets with TrackEvents in Perfetto's protobuf format
 * (protos/perfetto/trace/trace_packet.proto and related files, and "Synthetic Track Event" in
 * Perfetto's documentation).
 *
 * Each thread has a track. A name is written once ("interned"), and identified by the number of its
 * function plus 1.
 */
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "export.h"

enum {
	TRACE_PACKET = 1,

	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE_ID = 10, PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12, PACKET_SEQUENCE_FLAGS = 13, PACKET_TRACK_DESCRIPTOR = 60,

	INTERNED_CATEGORIES = 1, INTERNED_NAMES = 2, INTERNED_ANNOTATION_NAMES = 3,
	INTERNED_IID = 1, INTERNED_NAME = 2,

	DESCRIPTOR_UUID = 1, DESCRIPTOR_NAME = 2, DESCRIPTOR_THREAD = 4, DESCRIPTOR_PARENT = 5,
	THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,

	EVENT_CATEGORY_IIDS = 3, EVENT_ANNOTATIONS = 4, EVENT_TYPE = 9, EVENT_NAME_IID = 10,
	EVENT_TRACK_UUID = 11, EVENT_CATEGORIES = 22, EVENT_NAME = 23,
	ANNOTATION_NAME_IID = 1, ANNOTATION_UINT = 3, ANNOTATION_JSON = 9, ANNOTATION_NAME = 10,

	SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3,
	STATE_CLEARED = 1, NEEDS_STATE = 2,
	INSNS_IID = 1, ON_CPU_IID = 2,
	SEQUENCE = 1,
};

struct perfetto {
	struct bytes	packet, event, inner;
	uint64_t	*categories;	/* interned number of each function's category, which is its object */
	NS_ARRAY(uint64_t) firsts;	/* number of the first function of each object */
	uint32_t	thread;		/* nested_call::thread of the track that was written last */
	uint32_t	first;		/* nested_call::thread of the first stack of thread @tid, which may have several stacks */
	int32_t		tid;
	bool		has_thread;
	NS_ARRAY(int32_t) cpus;		/* CPUs for which a track of tracepoints was written */
};

/* ---- Packets ---- */

static int put_packet(struct export *e)
{
	struct perfetto *p = e->state;
	uint8_t head[11] = { TRACE_PACKET << 3 | 2 };
	uint64_t size;
	unsigned int n = 1;
	char *at;

	protobuf_number(&p->packet, PACKET_SEQUENCE_ID, SEQUENCE);
	for (size = p->packet.nr; size >= 0x80; size >>= 7)
		head[n++] = size | 0x80;
	head[n++] = size;
	if (p->packet.failed)
		errno = ENOMEM;
	at = p->packet.failed ? NULL : export_room(e, n + p->packet.nr);
	if (!at)
		return -1;
	at = put_bytes(at, (char *)head, n);
	at = put_bytes(at, (char *)p->packet.at, p->packet.nr);
	p->packet.nr = 0;
	return export_done(e, at);
}

static void intern(struct perfetto *p, unsigned int field, uint64_t iid, const char *name)
{
	protobuf_number(&p->inner, INTERNED_IID, iid);
	protobuf_string(&p->inner, INTERNED_NAME, name);
	protobuf_message(&p->event, field, &p->inner);
}

/*
 * Return the interned number of the category of a function. The category is the object of the function. Its
 * number is 1 plus the number of the first function of this object.
 */
static uint64_t category_of(const struct export *e, struct perfetto *p, uint64_t function)
{
	const struct nt_function *f = nt_calls_function(e->calls, function);
	size_t i;

	for (i = p->firsts.nr; i--; ) {
		if (nt_calls_function(e->calls, p->firsts.at[i])->object == f->object)
			return p->firsts.at[i] + 1;
	}
	if (!ns_array_add(&p->firsts, function))
		p->packet.failed = true;
	return function + 1;
}

static int perfetto_begin(struct export *e)
{
	struct perfetto *p = e->state = calloc(1, sizeof(*p));
	const struct nt_function *f;
	uint64_t i, nr = 0;

	while (nt_calls_function(e->calls, nr))
		nr++;
	if (p)
		p->categories = calloc(nr + 1, sizeof(*p->categories));
	if (!p || !p->categories)
		return -1;
	intern(p, INTERNED_ANNOTATION_NAMES, INSNS_IID, "instructions");
	intern(p, INTERNED_ANNOTATION_NAMES, ON_CPU_IID, "on_cpu_ns");
	for (i = 0; (f = nt_calls_function(e->calls, i)); i++) {
		intern(p, INTERNED_NAMES, i + 1, f->symbol ? f->symbol : "[unknown]");
		p->categories[i] = category_of(e, p, i);
		if (p->categories[i] == i + 1)
			intern(p, INTERNED_CATEGORIES, i + 1, f->object ? f->object : "[unknown]");
	}
	protobuf_message(&p->packet, PACKET_INTERNED_DATA, &p->event);
	protobuf_number(&p->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
	return put_packet(e);
}

/*
 * Write the track of a thread. Perfetto requires that threads belong to processes, so idle threads
 * and unknown threads get tracks without a thread. If a thread has several stacks, the first stack
 * has the track of the thread, and each further stack has a track below it.
 */
static int put_track(struct export *e, const struct nested_call *call)
{
	const struct export_thread *thread = export_thread(e, &call->call);
	const struct nt_slice *s = nt_calls_slice(e->calls, call->call.slice);
	struct perfetto *p = e->state;
	char name[32];

	if (!thread)
		return -1;
	protobuf_number(&p->event, DESCRIPTOR_UUID, call->thread + 1);
	if (!p->has_thread || p->tid != thread->tid || thread->tid <= 0)
		p->first = call->thread;
	if (p->first != call->thread) {
		snprintf(name, sizeof(name), "stack %u", call->thread - p->first + 1);
		protobuf_number(&p->event, DESCRIPTOR_PARENT, p->first + UINT64_C(1));
		protobuf_string(&p->event, DESCRIPTOR_NAME, name);
	} else if (thread->pid > 0 && thread->tid > 0) {
		protobuf_number(&p->inner, THREAD_PID, thread->pid);
		protobuf_number(&p->inner, THREAD_TID, thread->tid);
		protobuf_string(&p->inner, THREAD_NAME, thread->comm);
		protobuf_message(&p->event, DESCRIPTOR_THREAD, &p->inner);
	} else {
		if (thread->tid > 0)
			snprintf(name, sizeof(name), "thread %d", thread->tid);
		else
			snprintf(name, sizeof(name), "%s, CPU %d", thread->tid ? "unknown thread" : "idle", s->cpu);
		protobuf_string(&p->event, DESCRIPTOR_NAME, name);
	}
	protobuf_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
	p->thread = call->thread;
	p->tid = thread->tid;
	p->has_thread = true;
	return put_packet(e);
}

/*
 * Write the two packets of each call directly to the buffer, and not to a struct bytes first. Each
 * packet and each message in it is shorter than 128 bytes, so that one byte is enough for its size.
 */
static uint8_t *put_field(uint8_t *at, unsigned int field, uint64_t number)
{
	*at++ = field << 3;
	for (; number >= 0x80; number >>= 7)
		*at++ = number | 0x80;
	*at++ = number;
	return at;
}

static uint8_t *begin_message(uint8_t *at, unsigned int field)
{
	at[0] = field << 3 | 2;
	return at + 2;
}

/* End a message. @inside is the value that begin_message() returned. */
static void end_message(uint8_t *inside, const uint8_t *end)
{
	inside[-1] = end - inside;
}

static uint8_t *put_annotation(uint8_t *at, unsigned int name, uint64_t value)
{
	uint8_t *annotation = begin_message(at, EVENT_ANNOTATIONS);

	at = put_field(annotation, ANNOTATION_NAME_IID, name);
	at = put_field(at, ANNOTATION_UINT, value);
	end_message(annotation, at);
	return at;
}

static int put_event(struct export *e, const struct nested_call *call, bool begins)
{
	uint8_t *at = (uint8_t *)export_room(e, 128), *packet, *event;
	const struct perfetto *p = e->state;

	if (!at)
		return -1;
	at = packet = begin_message(at, TRACE_PACKET);
	at = put_field(at, PACKET_TIMESTAMP, call->call.begin + (begins ? 0 : call->call.ns));
	at = put_field(at, PACKET_SEQUENCE_ID, SEQUENCE);
	at = put_field(at, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	at = event = begin_message(at, PACKET_TRACK_EVENT);
	at = put_field(at, EVENT_TYPE, begins ? SLICE_BEGIN : SLICE_END);
	at = put_field(at, EVENT_TRACK_UUID, (uint64_t)call->thread + 1);
	if (begins) {
		at = put_field(at, EVENT_NAME_IID, (uint64_t)call->call.function + 1);
		at = put_field(at, EVENT_CATEGORY_IIDS, p->categories[call->call.function]);
		at = put_annotation(at, INSNS_IID, call->call.insns);
		at = put_annotation(at, ON_CPU_IID, call->call.ran);
	}
	end_message(event, at);
	end_message(packet, at);
	return export_done(e, (char *)at);
}

static int perfetto_enter(struct export *e, struct nested_call *call)
{
	struct perfetto *p = e->state;

	if ((!p->has_thread || p->thread != call->thread) && put_track(e, call))
		return -1;
	return put_event(e, call, true);
}

static int perfetto_leave(struct export *e, const struct nested_call *call)
{
	return put_event(e, call, false);
}

/* The tracepoints of each CPU have a track. The numbers of these tracks are above those of all threads. */
#define EVENTS_UUID	(UINT64_C(1) << 33)

static int put_cpu_track(struct export *e, int32_t cpu)
{
	struct perfetto *p = e->state;
	char name[48];
	size_t i;

	for (i = 0; i < p->cpus.nr; i++) {
		if (p->cpus.at[i] == cpu)
			return 0;
	}
	if (!ns_array_add(&p->cpus, cpu))
		return -1;
	snprintf(name, sizeof(name), "tracepoints, CPU %d", cpu);
	protobuf_number(&p->event, DESCRIPTOR_UUID, EVENTS_UUID + cpu);
	protobuf_string(&p->event, DESCRIPTOR_NAME, name);
	protobuf_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
	return put_packet(e);
}

static int perfetto_event(struct export *e, const struct export_event *event)
{
	struct perfetto *p = e->state;

	if (put_cpu_track(e, event->event.cpu))
		return -1;
	protobuf_number(&p->packet, PACKET_TIMESTAMP, event->event.time);
	protobuf_number(&p->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	protobuf_string(&p->inner, ANNOTATION_NAME, "fields");
	protobuf_string(&p->inner, ANNOTATION_JSON, event->json);
	protobuf_message(&p->event, EVENT_ANNOTATIONS, &p->inner);
	protobuf_number(&p->inner, ANNOTATION_UINT, event->event.tid);
	protobuf_string(&p->inner, ANNOTATION_NAME, "thread");
	protobuf_message(&p->event, EVENT_ANNOTATIONS, &p->inner);
	protobuf_number(&p->event, EVENT_TYPE, INSTANT);
	protobuf_number(&p->event, EVENT_TRACK_UUID, EVENTS_UUID + event->event.cpu);
	protobuf_string(&p->event, EVENT_CATEGORIES, "tracepoint");
	protobuf_string(&p->event, EVENT_NAME, event->name);
	protobuf_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
	return put_packet(e);
}

static void perfetto_free(struct export *e)
{
	struct perfetto *p = e->state;

	if (p) {
		free(p->packet.at);
		free(p->event.at);
		free(p->inner.at);
		free(p->categories);
		free(p->firsts.at);
		free(p->cpus.at);
	}
	free(p);
}

const struct export_format export_perfetto = {
	.name = "perfetto", .begin = perfetto_begin, .enter = perfetto_enter,
	.leave = perfetto_leave, .event = perfetto_event, .free = perfetto_free,
};
