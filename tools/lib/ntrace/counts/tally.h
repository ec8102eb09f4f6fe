/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The tally has the counts of a flow that are not yet converted to struct nt_counts.
 *
 * The tally counts blocks by their index, and edges by the indices of two blocks. A step is one
 * execution of a block, and contains the direction of the branch at the end of the block. A record
 * of steps has the steps of a path or group (fast/memo.h), and the number of times that this path
 * or group was used. When the record is dropped, its steps are counted that many times.
 *
 * Callers first reserve room (nt_tally_reserve()), so that counting cannot fail halfway.
 */
#ifndef NTRACE_TALLY_H
#define NTRACE_TALLY_H

#include "counts.h"
#include "../fast/memo.h"

/* A step is the index of the block << STEP_SHIFT, with these flags. */
#define STEP_EDGE	1u	/* only the trace shows the destination, which is the block of the next step */
#define STEP_TAKEN	2u	/* the branch or jump at the end of the block was taken */
#define STEP_SHIFT	2

static inline uint32_t nt_step_of(const struct nt_block *blocks, uint32_t index, unsigned int flags)
{
	return index << STEP_SHIFT | (flags & NT_RANGE_TAKEN ? STEP_TAKEN : 0) |
		(blocks[index].range.how >= NT_END_INDIRECT_JUMP);
}

/*
 * A record of the @nr steps of one path or group. The array @steps has @nr + 1 elements. The last one is
 * the index, << STEP_SHIFT, of the block that follows the steps, or 0 if the path or group does not
 * determine that block.
 */
struct nt_record {
	uint64_t	count;		/* number of times that the path or group was used */
	uint16_t	nr;
	uint16_t	space;		/* index of the address space */
	uint32_t	steps[];
};

/* Maximum number of steps of a group whose ranges are counted */
#define RECORD_STEPS	256
/* A group with more steps than this is stored only when it occurs for the second time. */
#define RECORD_SURE	64

/*
 * Records of steps are stored in a ring of NR_WORDS words of 8 bytes. A record that begins near the
 * end of the ring can continue in the SPARE_WORDS words after the ring.
 */
#ifndef NR_WORDS
#define NR_WORDS	(1u << 15)
#endif
/*
 * All records of steps are dropped when their numbers reach this limit, so that no number is used
 * twice.
 */
#ifndef LAST_RECORD
#define LAST_RECORD	INT32_MAX
#endif
#define RECORD_WORDS(nr)	((16 + 4 * (nr) + 7 + 4) / 8)
#define SPARE_WORDS	RECORD_WORDS(RECORD_STEPS)

/*
 * A message uses at most TALLY_PATHS paths, each of which may be new. The tally makes room for the
 * records of steps of all these paths before the message is decoded, because making room drops old
 * records, and the log (fast/fast-log.h) may refer to them while the message is decoded.
 */
#define TALLY_PATHS	64
#define MESSAGE_WORDS	(TALLY_PATHS * RECORD_WORDS(PATH_RANGES) + SPARE_WORDS)

/*
 * Limits of the log (fast/fast-log.h). Decoding of a message begins only if the log has at most
 * TALLY_STEPS steps. A message adds at most MESSAGE_STEPS steps.
 */
#define TALLY_STEPS	512
#define MESSAGE_STEPS	(TALLY_PATHS * PATH_RANGES)

/* Maximum numbers of new edges and blocks between two calls of nt_tally_has_room() */
#define ROOM_EDGES	(2 * (MESSAGE_WORDS + SPARE_WORDS) + TALLY_STEPS + MESSAGE_STEPS)
#define ROOM_BLOCKS	(2 * MESSAGE_STEPS)

/* An edge from one block to another. @key is nt_edge_key(), or 0 if the slot is free. */
struct nt_edge {
	uint64_t	key;
	uint64_t	count;
};

struct nt_tally {
	/* counts by address. nt_tally_flush() adds the counts of the records to them. */
	struct nt_counts counts;
	struct nt_memo	*memo;		/* paths and groups, each with the number of its record of steps */
	uint32_t	first;		/* number of the oldest record of steps */
	uint64_t	*blocks;	/* two counts for each block, of steps without and with STEP_TAKEN */
	uint32_t	max_blocks;
	struct nt_edge	*edges;		/* hash table of the counts of edges */
	uint32_t	edge_mask;	/* number of slots of @edges minus 1 */
	uint32_t	nr_edges;
	uint32_t	log[TALLY_STEPS + MESSAGE_STEPS + 2 * PATH_RANGES];
	uint64_t	words[NR_WORDS + SPARE_WORDS];	/* ring of records */
};

/* Return NULL if out of memory. */
struct nt_tally *nt_tally_new(void);
void nt_tally_free(struct nt_tally *tally);

static inline struct nt_record *nt_tally_record(struct nt_tally *tally, uint32_t number)
{
	return (struct nt_record *)&tally->words[number % NR_WORDS];
}

/* Return true if the record of steps with this number is still stored, and was not dropped to make room. */
static inline bool nt_tally_is_there(const struct nt_tally *tally, uint32_t number)
{
	return (int32_t)(number - tally->first) >= 0;
}

/* Return true if there is room for the edges and blocks of one message or group. */
static inline bool nt_tally_has_room(const struct nt_tally *tally, const struct nt_code *code)
{
	return tally->nr_edges + ROOM_EDGES <= (tally->edge_mask + 1) / 4 * 3 &&
		code->nr_blocks + ROOM_BLOCKS <= tally->max_blocks && !code->overflow;
}

/* Allocate memory, so that nt_tally_has_room() can return true. Return NT_OK or NT_E_NOMEM. */
int nt_tally_reserve(struct nt_tally *tally, const struct nt_code *code);

/* Drop the oldest records, so that there is room for the records of steps of one message. */
void nt_tally_drop(struct nt_tally *tally);

/* Make room for the records of steps of one message. */
static inline void nt_tally_make_words(struct nt_tally *tally)
{
	if (NR_WORDS - (tally->memo->nr_ranges - tally->first) < MESSAGE_WORDS)
		nt_tally_drop(tally);
}

/*
 * Store a record of @nr steps, at most RECORD_STEPS. The record was used @count times so far. @next
 * is the block after the last step, or 0 if the path or group does not determine this block. Return
 * the number of the record.
 */
uint32_t nt_tally_store(struct nt_tally *tally, int space, const uint32_t *steps, unsigned int nr,
			uint32_t next, uint64_t count);

static inline uint64_t nt_edge_key(int space, uint32_t from, uint32_t to)
{
	return (uint64_t)from << 40 | (uint64_t)to << 16 | (uint16_t)space;
}

static inline void nt_tally_add_edge(struct nt_tally *tally, uint64_t key, uint64_t count)
{
	uint32_t at = (key * 0x9e3779b97f4a7c15ULL >> 32) & tally->edge_mask;

	while (tally->edges[at].key != key) {
		if (!tally->edges[at].key) {
			tally->edges[at].key = key;
			tally->nr_edges++;
			break;
		}
		at = (at + 1) & tally->edge_mask;
	}
	tally->edges[at].count += count;
}

/* Count each of @nr steps @count times. @steps has one element more than @nr, see struct nt_record. */
static inline void nt_tally_add_steps(struct nt_tally *tally, int space, const uint32_t *steps,
				      unsigned int nr, uint64_t count)
{
	unsigned int i;

	for (i = 0; i < nr; i++) {
		uint32_t step = steps[i], next = steps[i + 1];

		tally->blocks[step >> 1] += count;
		if (step & STEP_EDGE && next)
			nt_tally_add_edge(tally, nt_edge_key(space, step >> STEP_SHIFT,
							     next >> STEP_SHIFT), count);
	}
}

/*
 * Convert the counts of blocks and edges to counts of addresses in @tally->counts. This is necessary
 * before code is dropped, and before the caller of the library gets the counts. The stored paths and
 * groups remain. Return NT_OK, or NT_E_NOMEM, in which case no count is lost.
 */
int nt_tally_flush(struct nt_tally *tally, const struct nt_code *code);

/* Drop all paths and groups. nt_tally_flush() must already have added their counts. */
void nt_tally_clear(struct nt_tally *tally);

#endif /* NTRACE_TALLY_H */
