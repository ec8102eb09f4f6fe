/* SPDX-License-Identifier: GPL-2.0-only */
/* Statistics of the messages of a trace and of their sizes, counted without code. */
#ifndef NTRACE_TOOL_MESSAGE_STATS_H
#define NTRACE_TOOL_MESSAGE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

#define STATS_TCODES	64
#define STATS_CODES	16	/* SYNC, ETYPE */
#define STATS_TAIL	64	/* saved bytes, more than the longest field has */

/* Statistics of an encoder, by its SRC */
struct source_stats {
	uint64_t	messages, bytes;
	uint64_t	last_icnt;	/* I-CNT of the branch that a RepeatBranch repeats; 0: none */
	uint64_t	now;		/* current timestamp, valid if @has_now */
	bool		has_now;
};

struct message_stats {
	uint64_t	bytes;		/* bytes of the whole trace */
	uint64_t	messages, message_bytes;
	uint64_t	by_tcode[STATS_TCODES], bytes_by_tcode[STATS_TCODES];
	uint64_t	syncs, by_sync[STATS_CODES];
	uint64_t	errors, by_etype[STATS_CODES];	/* Error messages */
	uint64_t	invalid, invalid_bytes;
	uint64_t	other_bytes;	/* bytes of messages of other sources than the selected one */
	uint64_t	tstamps, tstamp_bytes;
	uint64_t	halfwords;	/* sum of I-CNT */
	uint64_t	stretches, losses;	/* stretches and losses of a recording */
	uint64_t	ticks;		/* duration of stretches by their timestamps */
	uint64_t	from, to;	/* times in ns, valid if @has_time */
	bool		has_time;
};

/* The messages of one stream, a part at a time */
struct message_walk {
	struct message_stats stats;
	const struct nt_config *config;
	struct nt_reader *reader;
	struct source_stats *sources;	/* 1 << src_bits */
	uint64_t	fed;		/* bytes since the start of the reader */
	/* end of the previous part, for a field that continues from there */
	uint8_t		tail[STATS_TAIL];
	uint64_t	first, last;	/* timestamps of the stretch, if @has_ticks */
	bool		has_ticks;
	bool		is_open;	/* a stretch has started */
};

/*
 * walk_begin() - start a stretch, which may begin in the @middle of a message. Return -1 if out of
 * memory.
 */
int walk_begin(struct message_walk *walk, const struct nt_config *config, bool middle);
void walk_feed(struct message_walk *walk, const uint8_t *data, size_t size);
/* walk_end() - end the stretch; its first and last timestamps stay valid */
void walk_end(struct message_walk *walk);
void walk_free(struct message_walk *walk);

/* stats_add() - add @stats to @sum */
void stats_add(struct message_stats *sum, const struct message_stats *stats);

#endif /* NTRACE_TOOL_MESSAGE_STATS_H */
