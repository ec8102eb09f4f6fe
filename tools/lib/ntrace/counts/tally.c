// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The tally has the counts of a flow that are not yet converted to struct nt_counts (see tally.h).
 */
#include <stdlib.h>

#include "tally.h"

struct nt_tally *nt_tally_new(void)
{
	struct nt_tally *tally = calloc(1, sizeof(*tally));

	if (!tally)
		return NULL;
	tally->memo = nt_memo_new();
	if (!tally->memo) {
		free(tally);
		return NULL;
	}
	tally->memo->path_bits = PATH_BITS;
	return tally;
}

void nt_tally_free(struct nt_tally *tally)
{
	if (!tally)
		return;
	nt_memo_free(tally->memo);
	free(tally->counts.entries);
	free(tally->counts.slots);
	free(tally->blocks);
	free(tally->edges);
	free(tally);
}

/* ---- allocate larger arrays and hash tables ---- */

static int tally_grow_blocks(struct nt_tally *tally, uint32_t nr)
{
	uint32_t max = nr + nr / 2 + ROOM_BLOCKS;
	uint64_t *blocks = calloc(2 * (size_t)max, sizeof(*blocks));

	if (!blocks)
		return NT_E_NOMEM;
	if (tally->blocks)
		memcpy(blocks, tally->blocks, 2 * (size_t)tally->max_blocks * sizeof(*blocks));
	free(tally->blocks);
	tally->blocks = blocks;
	tally->max_blocks = max;
	return NT_OK;
}

static int tally_grow_edges(struct nt_tally *tally)
{
	struct nt_edge *old = tally->edges;
	uint32_t nr = old ? tally->edge_mask + 1 : 0, i, size = 1;

	while (size / 4 * 3 < tally->nr_edges + ROOM_EDGES + ROOM_EDGES / 4)
		size *= 2;
	tally->edges = calloc(size, sizeof(*old));
	if (!tally->edges) {
		tally->edges = old;
		return NT_E_NOMEM;
	}
	tally->edge_mask = size - 1;
	tally->nr_edges = 0;
	for (i = 0; i < nr; i++) {
		if (old[i].key)
			nt_tally_add_edge(tally, old[i].key, old[i].count);
	}
	free(old);
	return NT_OK;
}

int nt_tally_reserve(struct nt_tally *tally, const struct nt_code *code)
{
	if (code->nr_blocks + ROOM_BLOCKS > tally->max_blocks &&
	    tally_grow_blocks(tally, code->nr_blocks + ROOM_BLOCKS))
		return NT_E_NOMEM;
	if (!tally->edges || tally->nr_edges + ROOM_EDGES > (tally->edge_mask + 1) / 4 * 3)
		return tally_grow_edges(tally);
	return NT_OK;
}

/* ---- records ---- */

/*
 * A record lists the steps (executed blocks) of one path or group. Return the number of the record that
 * is stored after record @number, which has @nr steps.
 */
static uint32_t tally_next(uint32_t number, unsigned int nr)
{
	uint32_t next = number + RECORD_WORDS(nr);

	return number % NR_WORDS + RECORD_WORDS(nr) < NR_WORDS ? next :
		(number / NR_WORDS + 1) * NR_WORDS;
}

static void tally_expand(struct nt_tally *tally, struct nt_record *record)
{
	if (!record->count)
		return;
	nt_tally_add_steps(tally, record->space, record->steps, record->nr, record->count);
	record->count = 0;
}

void nt_tally_drop(struct nt_tally *tally)
{
	while (NR_WORDS - (tally->memo->nr_ranges - tally->first) < MESSAGE_WORDS) {
		struct nt_record *record = nt_tally_record(tally, tally->first);

		tally_expand(tally, record);
		tally->first = tally_next(tally->first, record->nr);
	}
}

uint32_t nt_tally_store(struct nt_tally *tally, int space, const uint32_t *steps, unsigned int nr,
			uint32_t next, uint64_t count)
{
	uint32_t number = tally->memo->nr_ranges;
	struct nt_record *record = nt_tally_record(tally, number);

	record->count = count;
	record->nr = nr;
	record->space = space;
	memcpy(record->steps, steps, nr * sizeof(*steps));
	record->steps[nr] = next << STEP_SHIFT;
	tally->memo->nr_ranges = tally_next(number, nr);
	return number;
}

void nt_tally_clear(struct nt_tally *tally)
{
	nt_memo_clear(tally->memo);
	tally->first = 0;
}

/* ---- flush ---- */

static int tally_flush_records(struct nt_tally *tally, const struct nt_code *code)
{
	uint32_t number = tally->first;

	while (number != tally->memo->nr_ranges) {
		struct nt_record *record = nt_tally_record(tally, number);

		if (nt_tally_reserve(tally, code))
			return NT_E_NOMEM;
		tally_expand(tally, record);
		number = tally_next(number, record->nr);
	}
	return NT_OK;
}

static uint64_t tally_mask(const struct nt_code *code, uint64_t pc)
{
	return code->config.xlen == 32 ? (uint32_t)pc : pc;
}

static uint64_t tally_end(const struct nt_code *code, const struct nt_range *range)
{
	return tally_mask(code, nt_range_end(range));
}

/* Return the address of the last instruction of a range. */
static uint64_t tally_last(const struct nt_code *code, const struct nt_range *range)
{
	return tally_mask(code, nt_range_end(range) - 2 * range->last_len);
}

static void tally_flush_block(struct nt_tally *tally, const struct nt_code *code, uint64_t space,
			      uint32_t index)
{
	const struct nt_range *range = &code->blocks[index].range;
	struct nt_count count = nt_count_key(NT_COUNT_BLOCK, 0, space, range->start,
					     tally_end(code, range));
	uint64_t *ways;

	if (index >= tally->max_blocks)
		return;
	ways = &tally->blocks[2 * (size_t)index];
	if (!ways[0] && !ways[1])
		return;
	count.count = ways[0] + ways[1];
	count.insns = count.count * range->insns;
	nt_counts_put(&tally->counts, &count);
	if (range->how == NT_END_BRANCH) {
		count = nt_count_key(NT_COUNT_BRANCH, NT_END_BRANCH, space,
				     tally_last(code, range), 0);
		count.count = ways[1];
		count.not_taken = ways[0];
		nt_counts_put(&tally->counts, &count);
	}
	ways[0] = 0;
	ways[1] = 0;
}

static int tally_flush_blocks(struct nt_tally *tally, const struct nt_code *code)
{
	uint32_t i, slot;

	for (i = 0; i < code->nr_spaces; i++) {
		const struct nt_space *space = &code->spaces[i];

		if (nt_counts_reserve(&tally->counts, NT_RANGE_COUNTS * (size_t)space->nr))
			return NT_E_NOMEM;
		for (slot = 0; slot <= space->mask; slot++) {
			if (space->slots[slot])
				tally_flush_block(tally, code, space->id, space->slots[slot]);
		}
	}
	return NT_OK;
}

static void tally_flush_edge(struct nt_tally *tally, const struct nt_code *code,
			     const struct nt_edge *edge)
{
	const struct nt_range *from = &code->blocks[edge->key >> 40].range;
	const struct nt_range *to = &code->blocks[edge->key >> 16 & 0xffffff].range;
	struct nt_count count = nt_count_key(NT_COUNT_EDGE, from->how,
					     code->spaces[edge->key & 0xffff].id,
					     tally_last(code, from), to->start);

	count.count = edge->count;
	nt_counts_put(&tally->counts, &count);
}

static int tally_flush_edges(struct nt_tally *tally, const struct nt_code *code)
{
	uint32_t i;

	if (!tally->nr_edges)
		return NT_OK;
	if (nt_counts_reserve(&tally->counts, tally->nr_edges))
		return NT_E_NOMEM;
	for (i = 0; i <= tally->edge_mask; i++) {
		if (tally->edges[i].key)
			tally_flush_edge(tally, code, &tally->edges[i]);
	}
	memset(tally->edges, 0, (tally->edge_mask + 1) * sizeof(*tally->edges));
	tally->nr_edges = 0;
	return NT_OK;
}

int nt_tally_flush(struct nt_tally *tally, const struct nt_code *code)
{
	if (tally_flush_records(tally, code) || tally_flush_blocks(tally, code))
		return NT_E_NOMEM;
	return tally_flush_edges(tally, code);
}
