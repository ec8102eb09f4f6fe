/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What messages of a trace are there, and what they take: counted without code.
 */
#ifndef NTRACE_TOOL_MESSAGE_STATS_H
#define NTRACE_TOOL_MESSAGE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

#define STATS_TCODES	64
#define STATS_CODES	16	/* SYNC, ETYPE */
#define STATS_TAIL	64	/* bytes: longer than the longest field */

/* An encoder, by its SRC */
struct source_stats {
	uint64_t	messages, bytes;
	uint64_t	last_icnt;	/* of the branch that a RepeatBranch repeats; 0: there is none */
	uint64_t	now;		/* its timestamp, if @has_now */
	bool		has_now;
};

struct message_stats {
	uint64_t	bytes;		/* all of the trace */
	uint64_t	messages, message_bytes;
	uint64_t	by_tcode[STATS_TCODES], bytes_by_tcode[STATS_TCODES];
	uint64_t	syncs, by_sync[STATS_CODES];
	uint64_t	errors, by_etype[STATS_CODES];	/* Error messages */
	uint64_t	invalid, invalid_bytes;
	uint64_t	other_bytes;	/* messages of other sources than the wanted one */
	uint64_t	tstamps, tstamp_bytes;
	uint64_t	halfwords;	/* I-CNT */
	uint64_t	stretches, losses;	/* of a recording */
	uint64_t	ticks;		/* that stretches take, by their timestamps */
	uint64_t	from, to;	/* ns, if @has_time */
	bool		has_time;
};

/* The messages of one stream, a part at a time */
struct message_walk {
	struct message_stats stats;
	const struct nt_config *config;
	struct nt_reader *reader;
	struct source_stats *sources;	/* 1 << src_bits */
	uint64_t	fed;		/* bytes since the reader began */
	/* the end of the part before, for a field that goes on from there */
	uint8_t		tail[STATS_TAIL];
	uint64_t	first, last;	/* timestamps of the stretch, if @has_ticks */
	bool		has_ticks;
	bool		is_open;	/* a stretch has begun */
};

/* walk_begin() - a stretch begins, maybe in the @middle of a message. -1: out of memory */
int walk_begin(struct message_walk *walk, const struct nt_config *config, bool middle);
void walk_feed(struct message_walk *walk, const uint8_t *data, size_t size);
/* walk_end() - the stretch ends; its first and last timestamps stay */
void walk_end(struct message_walk *walk);
void walk_free(struct message_walk *walk);

/* stats_add() - @sum becomes that of both */
void stats_add(struct message_stats *sum, const struct message_stats *stats);

#endif /* NTRACE_TOOL_MESSAGE_STATS_H */
