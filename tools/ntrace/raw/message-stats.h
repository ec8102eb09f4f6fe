/* SPDX-License-Identifier: GPL-2.0-only */
/* Count the messages of a trace and their sizes. The code is not needed. */
#ifndef NTRACE_TOOL_MESSAGE_STATS_H
#define NTRACE_TOOL_MESSAGE_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include <ntrace/ntrace.h>

#define STATS_TCODES	64
#define STATS_CODES	16	/* number of values of SYNC and of ETYPE */
#define STATS_TAIL	64	/* number of bytes that are saved, which is more than the longest field has */

/* Statistics of the encoder that sends one SRC */
struct source_stats {
	uint64_t	messages, bytes;
	uint64_t	last_icnt;	/* I-CNT of the last branch message, which a RepeatBranch repeats; 0: none */
	uint64_t	now;		/* value of the timestamp counter at the last message; valid if @has_now */
	bool		has_now;
};

struct message_stats {
	uint64_t	bytes;		/* number of bytes of the whole trace */
	uint64_t	messages, message_bytes;
	uint64_t	by_tcode[STATS_TCODES], bytes_by_tcode[STATS_TCODES];
	uint64_t	syncs, by_sync[STATS_CODES];
	uint64_t	errors, by_etype[STATS_CODES];	/* number of Error messages, and their number for each ETYPE */
	uint64_t	invalid, invalid_bytes;
	uint64_t	other_bytes;	/* number of bytes of messages that are not from the selected source */
	uint64_t	tstamps, tstamp_bytes;
	uint64_t	halfwords;	/* sum of I-CNT, in units of 16 bits of code */
	uint64_t	stretches, losses;	/* numbers of stretches and losses of a recording */
	uint64_t	ticks;		/* sum of the durations of all stretches in ticks of the timestamps */
	uint64_t	from, to;	/* times of the first and the last message in ns; valid if @has_time */
	bool		has_time;
};

/* State of counting the messages of one stream, which is read in parts */
struct message_walk {
	struct message_stats stats;
	const struct nt_config *config;
	struct nt_reader *reader;
	struct source_stats *sources;	/* statistics of each source, 1 << src_bits of them */
	uint64_t	fed;		/* number of bytes that were fed since the start of the stretch */
	/* last bytes of the previous part, which may contain the start of a field */
	uint8_t		tail[STATS_TAIL];
	uint64_t	first, last;	/* first and last timestamp of the stretch; valid if @has_ticks */
	bool		has_ticks;
	bool		is_open;	/* a stretch was started and not ended */
};

/* walk_begin() - start a stretch, which may begin inside a message if @middle is true. Return -1 if out of memory. */
int walk_begin(struct message_walk *walk, const struct nt_config *config, bool middle);
void walk_feed(struct message_walk *walk, const uint8_t *data, size_t size);
/* walk_end() - end the stretch; message_walk::first and last stay valid */
void walk_end(struct message_walk *walk);
void walk_free(struct message_walk *walk);

/* stats_add() - add @stats to @sum */
void stats_add(struct message_stats *sum, const struct message_stats *stats);

#endif /* NTRACE_TOOL_MESSAGE_STATS_H */
