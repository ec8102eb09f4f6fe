/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The tally has the counts of a flow that are not yet converted to struct nt_counts.
 *
 * It counts blocks by their index, and edges by the indices of two blocks. A step is one executed
 * block together with its destination. A record stores the steps of a path or group (fast/memo.h),
 * and how often it was used. When the record is dropped, its steps are counted that many times.
 *
 * Callers first reserve room (nt_tally_reserve()), so that counting cannot fail halfway.
 */
#ifndef NTRACE_TALLY_H
#define NTRACE_TALLY_H

#include "counts.h"
#include "../fast/memo.h"

/* A step is block << STEP_SHIFT with these flags. */
#define STEP_EDGE	1u	/* only the trace shows the destination, in the next step */
#define STEP_TAKEN	2u
#define STEP_SHIFT	2

static inline uint32_t nt_step_of(const struct nt_block *blocks, uint32_t index, unsigned int flags)
{
	return index << STEP_SHIFT | (flags & NT_RANGE_TAKEN ? STEP_TAKEN : 0) |
		(blocks[index].range.how >= NT_END_INDIRECT_JUMP);
}

/*
 * @steps has @nr steps, and one more element, which is the block after the last step, or 0 if
 * another message determines this block.
 */
struct nt_record {
	uint64_t	count;
	uint16_t	nr;
	uint16_t	space;		/* index of the address space */
	uint32_t	steps[];
};

/* Maximum number of steps of a group. Using a stored group takes the same time for any size. */
#define RECORD_STEPS	256
/* A group with more steps than this is stored only when it occurs for the second time. */
#define RECORD_SURE	64

/*
 * Records are stored in a ring of this many words of 8 bytes. A record that begins near the end of
 * the ring continues in SPARE_WORDS more words.
 */
#ifndef NR_WORDS
#define NR_WORDS	(1u << 15)
#endif
/* All records are dropped when a record gets this number, so that no number is used twice. */
#ifndef LAST_RECORD
#define LAST_RECORD	INT32_MAX
#endif
#define RECORD_WORDS(nr)	((16 + 4 * (nr) + 7 + 4) / 8)
#define SPARE_WORDS	RECORD_WORDS(RECORD_STEPS)

/*
 * A message uses at most TALLY_PATHS paths, each of which may be new. Room for all of them is made
 * before the message, because its log refers to records, which must not be dropped.
 */
#define TALLY_PATHS	64
#define MESSAGE_WORDS	(TALLY_PATHS * RECORD_WORDS(PATH_RANGES) + SPARE_WORDS)

/*
 * Limits of the log. No message is begun after TALLY_STEPS steps, and it adds at most
 * MESSAGE_STEPS.
 */
#define TALLY_STEPS	512
#define MESSAGE_STEPS	(TALLY_PATHS * PATH_RANGES)

/* Maximum numbers of new edges and blocks between two reservations of room */
#define ROOM_EDGES	(2 * (MESSAGE_WORDS + SPARE_WORDS) + TALLY_STEPS + MESSAGE_STEPS)
#define ROOM_BLOCKS	(2 * MESSAGE_STEPS)

/* An edge from one block to another. @key is 0 if the slot is free. */
struct nt_edge {
	uint64_t	key;
	uint64_t	count;
};

struct nt_tally {
	struct nt_counts counts;	/* counts of dropped code, and of partial blocks */
	struct nt_memo	*memo;		/* nt_path::ranges are record numbers in this memo */
	uint32_t	first;		/* number of the oldest record */
	uint64_t	*blocks;	/* two counts for each block, not taken and taken */
	uint32_t	max_blocks;
	struct nt_edge	*edges;
	uint32_t	edge_mask;
	uint32_t	nr_edges;
	uint32_t	log[TALLY_STEPS + MESSAGE_STEPS + 2 * PATH_RANGES];
	uint64_t	words[NR_WORDS + SPARE_WORDS];
};

/* Return NULL if out of memory. */
struct nt_tally *nt_tally_new(void);
void nt_tally_free(struct nt_tally *tally);

static inline struct nt_record *nt_tally_record(struct nt_tally *tally, uint32_t number)
{
	return (struct nt_record *)&tally->words[number % NR_WORDS];
}

/* Return true if record @number is still stored. */
static inline bool nt_tally_is_there(const struct nt_tally *tally, uint32_t number)
{
	return (int32_t)(number - tally->first) >= 0;
}

/* Return true if there is room for all counts and records of a lookup that found no group. */
static inline bool nt_tally_has_room(const struct nt_tally *tally, const struct nt_code *code)
{
	return tally->nr_edges + ROOM_EDGES <= (tally->edge_mask + 1) / 4 * 3 &&
		code->nr_blocks + ROOM_BLOCKS <= tally->max_blocks && !code->overflow;
}

/* Make room for nt_tally_has_room(). Return NT_OK or NT_E_NOMEM. */
int nt_tally_reserve(struct nt_tally *tally, const struct nt_code *code);

/* Drop the oldest records, so that a message can store its own. */
void nt_tally_drop(struct nt_tally *tally);

static inline void nt_tally_make_words(struct nt_tally *tally)
{
	if (NR_WORDS - (tally->memo->nr_ranges - tally->first) < MESSAGE_WORDS)
		nt_tally_drop(tally);
}

/*
 * Store @nr steps, at most RECORD_STEPS, as a record that was used @count times. @next is the block
 * after them, or 0 if another message determines this block. Return the number of the record.
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

/* Count each of @nr steps @count times. @steps has one more element, see struct nt_record. */
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
 * Convert counts by block to counts by address, because the code may be dropped, or because the
 * caller wants the counts. Paths and groups are kept. Return NT_OK, or NT_E_NOMEM without any loss.
 */
int nt_tally_flush(struct nt_tally *tally, const struct nt_code *code);

/* Drop all paths and groups, whose counts must already be flushed. */
void nt_tally_clear(struct nt_tally *tally);

#endif /* NTRACE_TALLY_H */
