// SPDX-License-Identifier: GPL-2.0-only
/* Count the messages of a trace and their sizes (message-stats.h). */
#include <stdlib.h>
#include <string.h>

#include "message-stats.h"

#define MSEO	3	/* bits of MSEO in a byte; 1 ends a field, 3 ends a message (chapter 3.1.4) */

/* ---- A message ---- */

/*
 * Return the byte at @offset of the stretch. This byte is in @data, which begins at offset @begin of
 * the stretch, or in message_walk::tail, which has the bytes of the stretch before @begin.
 */
static uint8_t byte_at(const struct message_walk *walk, const uint8_t *data, uint64_t begin,
		       uint64_t offset)
{
	return offset >= begin ? data[offset - begin] :
				 walk->tail[STATS_TAIL - (begin - offset)];
}

/*
 * Return the length of TSTAMP in bytes. TSTAMP is the last field of a message and has a variable
 * length, so that it has all bytes after the end of the previous field.
 */
static unsigned int tstamp_length(const struct message_walk *walk, const struct nt_message *msg,
				  const uint8_t *data, uint64_t begin)
{
	uint64_t end = msg->offset + msg->length;
	unsigned int n = 1;

	while (n < msg->length && (end - n > begin || begin - (end - n) < STATS_TAIL) &&
	       !(byte_at(walk, data, begin, end - n - 1) & MSEO))
		n++;
	return n;
}

/*
 * Return the value of the timestamp counter at a message without SYNC. Depending on the dialect,
 * its timestamp is a difference, or the XOR of the new and the old value.
 */
static uint64_t next_tick(const struct nt_config *config, uint64_t now, uint64_t tstamp)
{
	uint64_t mask = config->tstamp_bits && config->tstamp_bits < 64 ?
			(1ULL << config->tstamp_bits) - 1 : ~0ULL;

	return config->dialect != NT_DIALECT_SIFIVE0 ? now + tstamp :
						       now + (((now ^ tstamp) - now) & mask);
}

static void count_time(struct message_walk *walk, struct source_stats *source,
		       const struct nt_message *msg)
{
	if (nt_message_is_sync(msg)) {
		source->now = msg->tstamp;
		source->has_now = true;
	} else if (source->has_now) {
		source->now = next_tick(walk->config, source->now, msg->tstamp);
	} else {
		return;
	}
	if (!walk->has_ticks || source->now < walk->first)
		walk->first = source->now;
	if (!walk->has_ticks || source->now > walk->last)
		walk->last = source->now;
	walk->has_ticks = true;
}

/*
 * Add the code that a message reports. A RepeatBranch repeats the previous branch message,
 * including its I-CNT, several times.
 */
static void count_code(struct message_walk *walk, struct source_stats *source,
		       const struct nt_message *msg)
{
	if (msg->tcode == NT_TCODE_REPEAT_BRANCH) {
		walk->stats.halfwords += msg->value * source->last_icnt;
		return;
	}
	if (!(msg->fields & NT_FIELD_ICNT))
		return;
	walk->stats.halfwords += msg->icnt;
	source->last_icnt = nt_message_is_sync(msg) || msg->tcode == NT_TCODE_RESOURCE_FULL ?
			    0 : msg->icnt;
}

static void count_message(struct message_walk *walk, const struct nt_message *msg,
			  const uint8_t *data, uint64_t begin)
{
	struct source_stats *source = &walk->sources[msg->src];
	struct message_stats *s = &walk->stats;

	if (walk->config->src_id != NT_SRC_ANY && msg->src != walk->config->src_id) {
		s->other_bytes += msg->length;
		return;
	}
	s->messages++;
	s->message_bytes += msg->length;
	s->by_tcode[msg->tcode % STATS_TCODES]++;
	s->bytes_by_tcode[msg->tcode % STATS_TCODES] += msg->length;
	source->messages++;
	source->bytes += msg->length;
	if (nt_message_is_sync(msg)) {
		s->syncs++;
		s->by_sync[msg->sync % STATS_CODES]++;
	}
	if (msg->tcode == NT_TCODE_ERROR) {
		s->errors++;
		s->by_etype[msg->code % STATS_CODES]++;
	}
	count_code(walk, source, msg);
	if (msg->fields & NT_FIELD_TSTAMP) {
		s->tstamps++;
		s->tstamp_bytes += tstamp_length(walk, msg, data, begin);
		count_time(walk, source, msg);
	}
}

/* ---- A stretch ---- */

static void forget_sources(struct message_walk *walk)
{
	size_t i;

	for (i = 0; i < (size_t)1 << walk->config->src_bits; i++) {
		walk->sources[i].has_now = false;
		walk->sources[i].last_icnt = 0;
	}
}

int walk_begin(struct message_walk *walk, const struct nt_config *config, bool middle)
{
	if (walk->is_open)
		walk_end(walk);
	if (!walk->reader) {
		walk->config = config;
		walk->reader = nt_reader_new(config);
		walk->sources = calloc((size_t)1 << config->src_bits, sizeof(*walk->sources));
	}
	if (!walk->reader || !walk->sources)
		return -1;
	nt_reader_seek(walk->reader, 0, middle);
	forget_sources(walk);
	walk->fed = 0;
	walk->is_open = true;
	walk->has_ticks = false;
	return 0;
}

static void count_invalid(struct message_walk *walk, const struct nt_message *msg)
{
	walk->stats.invalid++;
	walk->stats.invalid_bytes += msg->length;
}

static void keep_tail(struct message_walk *walk, const uint8_t *data, size_t size)
{
	size_t n = size < STATS_TAIL ? size : STATS_TAIL;

	memmove(walk->tail, walk->tail + n, STATS_TAIL - n);
	memcpy(walk->tail + STATS_TAIL - n, data + size - n, n);
}

void walk_feed(struct message_walk *walk, const uint8_t *data, size_t size)
{
	struct nt_message msg;
	int ret;

	nt_reader_feed(walk->reader, data, size);
	while ((ret = nt_reader_next(walk->reader, &msg)) != 0) {
		if (ret > 0)
			count_message(walk, &msg, data, walk->fed);
		else
			count_invalid(walk, &msg);
	}
	walk->fed += size;
	walk->stats.bytes += size;
	keep_tail(walk, data, size);
}

void walk_end(struct message_walk *walk)
{
	struct nt_message msg;

	if (!walk->is_open)
		return;
	if (nt_reader_end(walk->reader, &msg))
		count_invalid(walk, &msg);
	walk->is_open = false;
	walk->stats.stretches++;
	if (walk->has_ticks)
		walk->stats.ticks += walk->last - walk->first;
}

void walk_free(struct message_walk *walk)
{
	nt_reader_free(walk->reader);
	free(walk->sources);
}

void stats_add(struct message_stats *sum, const struct message_stats *stats)
{
	struct message_stats before = *sum;
	uint64_t *to = (uint64_t *)sum;
	size_t i;

	/* add up the members of struct message_stats that precede member @from, all of which are 64-bit counts */
	for (i = 0; i < offsetof(struct message_stats, from) / sizeof(*to); i++)
		to[i] += ((const uint64_t *)stats)[i];
	if (!stats->has_time)
		return;
	sum->has_time = true;
	sum->from = before.has_time && before.from < stats->from ? before.from : stats->from;
	sum->to = before.has_time && before.to > stats->to ? before.to : stats->to;
}
