// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the start and the end of the trace in the memory (area) of each sink in a record of the flight recorder. */
#include <stdlib.h>
#include <string.h>

#include "flight.h"
#include "session/flow/trace.h"

/*
 * If the area of a sink ends with at least this number of idle bytes, the sink has not yet reached the end of the area.
 */
#define UNWRITTEN	64

/* Find the later of the two positions of a sink that the record contains. Return false if neither is valid. */
static bool latest_pointer(struct ns_flight *f, size_t sink, struct ntrace_flight_pointer *best)
{
	struct ntrace_flight_pointer *all;
	bool found = false;
	size_t nr, i;

	all = ns_flight_copy_part(f, NTRACE_FLIGHT_POINTERS, sizeof(*all), &nr);
	for (i = 2 * sink; all && i < 2 * sink + 2 && i < nr; i++) {
		if (!ns_flight_entry_is_good(f, &all[i], sizeof(*all), NTRACE_FLIGHT_POINTERS, i) ||
		    all[i].offset > f->sinks[sink].size)
			continue;
		if (!found || all[i].number > best->number)
			*best = all[i];
		found = true;
	}
	free(all);
	return found;
}

/* Get a configuration that can read the messages of all sources of the sink. Return false if none is valid. */
static bool config_of(const struct ns_flight *f, size_t sink, struct nt_config *config)
{
	size_t i;

	for (i = 0; i < f->nr_cpus; i++) {
		if (f->cpus[i].sink != sink || !f->setup.cpus[i].valid)
			continue;
		*config = f->setup.cpus[i].nt;
		config->src_id = NT_SRC_ANY;
		return true;
	}
	return false;
}

/*
 * Copy the bytes of a ring from offset @from to offset @to of its area. After the end of the area, continue
 * at its start. Add idle bytes before the trace until the size is a power of two. The idle bytes show a reader
 * that the start of the trace is lost, and that the first byte may be inside a message.
 */
static int take_ring(struct ns_flight *f, struct ns_flight_trace *t, uint64_t from, uint64_t to)
{
	uint64_t used = to > from ? to - from : t->area_size - from + to, size = 4096, first;

	while (size < used)
		size *= 2;

	t->bytes = malloc(size);
	if (!t->bytes)
		return ns_flight_fail(f, "out of memory");
	memset(t->bytes, NS_IDLE, size - used);
	first = t->area_size - from < used ? t->area_size - from : used;
	memcpy(t->bytes + size - used, t->area + from, first);
	memcpy(t->bytes + size - used + first, t->area, used - first);
	t->size = size;
	t->middle = true;
	return 0;
}

/* Copy the bytes from the start of the area up to offset @to. The sink has not yet reached the end of the area. */
static int take_line(struct ns_flight *f, struct ns_flight_trace *t, uint64_t to)
{
	t->size = to;
	t->bytes = malloc(to + 1);
	if (!t->bytes)
		return ns_flight_fail(f, "out of memory");
	memcpy(t->bytes, t->area, to);
	if (!to)
		t->end = NS_FLIGHT_END_NONE;
	return 0;
}

/*
 * State of a search for the seam, which is the position in a ring at which the newest trace ends and the oldest begins.
 * The search is necessary if the driver has not saved the position of the sink.
 */
struct seam {
	uint64_t newest, oldest, time;
	uint64_t first;		/* time of the first message of the search */
	unsigned int older;	/* number of consecutive messages that are older than @first */
	bool	found, want_oldest;
};

#define SEAM_OLDER	16
#define SEAM_STEPS	64

/*
 * Examine one message for the seam, which is the position between the newest and the oldest trace of a ring. Return
 * false if the message is after the seam.
 */
static bool look_for_seam(struct seam *seam, const struct nt_message *msg)
{
	if (!nt_message_is_sync(msg) || !(msg->fields & NT_FIELD_TSTAMP))
		return true;
	if (!seam->found)
		seam->first = msg->tstamp;
	if (seam->want_oldest)
		seam->oldest = msg->offset;
	seam->want_oldest = false;
	seam->older = msg->tstamp < seam->first ? seam->older + 1 : 0;
	if (msg->tstamp < seam->time)
		return seam->older < SEAM_OLDER;
	seam->time = msg->tstamp;
	seam->newest = msg->offset + msg->length;
	seam->found = seam->want_oldest = true;
	return true;
}

/* Get the time of the first message with SYNC at or after offset @at. Return false if there is no such message. */
static bool time_at(struct nt_reader *reader, const struct ns_flight_trace *t, uint64_t at,
		    uint64_t *time)
{
	struct nt_message msg;
	int ret;

	nt_reader_seek(reader, 0, true);
	nt_reader_feed(reader, t->area + at, t->area_size - at);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		if (ret < 0 || !nt_message_is_sync(&msg) || !(msg.fields & NT_FIELD_TSTAMP))
			continue;
		*time = msg.tstamp;
		return true;
	}
	return false;
}

/*
 * Find a position shortly before the seam by bisection. The newest trace of the ring ends at the seam, and the oldest
 * trace begins there. Messages that are older than the first message of the area are after the seam.
 */
static uint64_t before_seam(struct nt_reader *reader, const struct ns_flight_trace *t)
{
	uint64_t low = 0, high = t->area_size, middle, begin, time;

	if (!time_at(reader, t, 0, &begin))
		return 0;
	while (high - low > t->area_size / SEAM_STEPS) {
		middle = low + (high - low) / 2;
		if (time_at(reader, t, middle, &time) && time >= begin)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/*
 * Find the seam, at which the newest trace of a ring ends and the oldest begins. The times of messages with
 * SYNC increase up to the newest message, and the next message is older. Messages that are older than the
 * first message of the search are therefore after the seam. A funnel may reorder messages of several harts, and
 * a message may be damaged, so only SEAM_OLDER consecutive older messages prove that the search passed the seam.
 */
static void find_seam(const struct nt_config *config, const struct ns_flight_trace *t,
		      struct seam *seam)
{
	struct nt_reader *reader = nt_reader_new(config);
	struct nt_message msg;
	bool goes_on = true;
	int piece, ret;
	uint64_t from;

	memset(seam, 0, sizeof(*seam));
	if (!reader)
		return;
	from = before_seam(reader, t);
	nt_reader_seek(reader, 0, true);
	for (piece = 0; piece < 2 && goes_on; piece++) {
		nt_reader_feed(reader, piece ? t->area : t->area + from,
			       piece ? from : t->area_size - from);
		while (goes_on && (ret = nt_reader_next(reader, &msg)) != 0)
			goes_on = ret < 0 || look_for_seam(seam, &msg);
	}
	if (seam->want_oldest)
		seam->oldest = 0;
	seam->oldest = (seam->oldest + from) % t->area_size;
	seam->newest = (seam->newest + from) % t->area_size;
	nt_reader_free(reader);
}

/* Find the end of the trace from the bytes of the area, because the driver did not save where the sink stopped. */
static int search_end(struct ns_flight *f, struct ns_flight_trace *t, const struct nt_config *config,
		      const struct ntrace_flight_pointer *last)
{
	uint64_t end = t->area_size;
	struct seam seam;

	while (end && t->area[end - 1] == NS_IDLE)
		end--;
	if (t->area_size - end >= UNWRITTEN && !(last && last->flags & NTRACE_FLIGHT_POINTER_WRAPPED)) {
		t->end = NS_FLIGHT_END_FOUND;
		return take_line(f, t, end);
	}
	find_seam(config, t, &seam);
	if (seam.found) {
		t->end = NS_FLIGHT_END_FOUND;
		t->end_time = 0;
		return take_ring(f, t, seam.oldest, seam.newest);
	}
	if (!last)
		return take_line(f, t, 0);
	t->end = NS_FLIGHT_END_SAVED;
	t->end_time = last->time;
	return take_ring(f, t, last->offset % t->area_size, last->offset % t->area_size);
}

/*
 * Remove the trace that the sink wrote after the reset. This trace begins with a SYNC message of type "exit from
 * reset". If there is no such message, remove all trace, because the sink has overwritten the older trace.
 */
static void cut_reset(struct ns_flight_trace *t, const struct nt_config *config)
{
	struct nt_reader *reader = nt_reader_new(config);
	uint64_t cut = 0, kept;
	struct nt_message msg;
	bool found = false;
	int ret;

	if (!reader)
		return;
	nt_reader_seek(reader, 0, t->middle);
	nt_reader_feed(reader, t->bytes, t->size);
	while ((ret = nt_reader_next(reader, &msg)) != 0) {
		if (ret < 0 || !nt_message_is_sync(&msg) || msg.sync != NT_SYNC_EXIT_RESET)
			continue;
		/*
		 * cut at the first message "exit from reset". Each encoder of a shared sink sends one
		 */
		if (!found)
			cut = msg.offset;
		found = true;
	}
	nt_reader_free(reader);
	t->end = found ? NS_FLIGHT_END_RESET : NS_FLIGHT_END_OVERWRITTEN;
	t->end_time = 0;
	if (!t->middle) {
		t->size = cut;
		return;
	}
	kept = cut;
	memmove(t->bytes + t->size - kept, t->bytes, kept);
	memset(t->bytes, NS_IDLE, t->size - kept);
}

int ns_flight_read_trace(struct ns_flight *f, size_t sink)
{
	struct ns_flight_trace *t = &f->traces[sink];
	struct ntrace_flight_pointer last;
	struct nt_config config;
	bool known;
	int err;

	if (!config_of(f, sink, &config))
		return take_line(f, t, 0);
	known = latest_pointer(f, sink, &last);
	if (!known || !(last.flags & NTRACE_FLIGHT_POINTER_STOPPED))
		return search_end(f, t, &config, known ? &last : NULL);
	t->end = NS_FLIGHT_END_STOPPED;
	t->end_time = last.time;
	err = last.flags & NTRACE_FLIGHT_POINTER_WRAPPED ?
	      take_ring(f, t, last.offset % t->area_size, last.offset % t->area_size) :
	      take_line(f, t, last.offset);
	if (!err && last.flags & NTRACE_FLIGHT_POINTER_RESET)
		cut_reset(t, &config);
	return err;
}
