/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * These functions cut a buffer into parts, so that several threads can decode it.
 *
 * A cut is the place right after a message with SYNC, because SYNC resets all encoder state
 * (chapter 8.4). A part is the trace between two cuts, which one thread decodes. SYNC does not
 * reset the context, the wraps of the timestamp and the trace mode, but they depend on messages
 * alone, and can be determined without walking the code.
 *
 * The buffer is divided into cells of equal size, which threads scan in any order. The scan looks
 * for a message with SYNC, and adds up the effects of the cell's messages on context and time
 * (struct nt_cell). Then the effects of all earlier cells are applied in order to get the state at
 * each cut. This is called chaining. It takes little time, and only chaining holds the lock.
 */
#ifndef NTRACE_CUTS_H
#define NTRACE_CUTS_H

#include "../flow.h"

/*
 * Smallest size of a cell in bytes, with which even a small buffer has several cells. If each
 * thread has many cells, cells are larger, because starting a part takes time. With cells of 256
 * KiB, two threads need a tenth less time. With even larger cells, the ranges of a part would not
 * fit into a queue.
 */
#ifndef NT_CELL_SIZE
#define NT_CELL_SIZE	(16u << 10)
#endif
#define NT_LARGE_CELL_SIZE	(16 * NT_CELL_SIZE)
#define NT_MANY_CELLS		64	/* cells of a thread */
#define NT_MAX_CELLS		(1u << 20)

/* Effect of a sequence of messages on context and time */
struct nt_effect {
	bool			loses_context;	/* the earlier context is lost */
	struct nt_context	context;	/* context that the messages set */
	uint64_t		delta;		/* sum of the relative times */
	bool			sets_known;	/* @is_known replaces the earlier knowledge */
	bool			is_known;	/* the time at the end is known */
	bool			has_sync;	/* there was an absolute time, which is @sync */
	uint64_t		sync;
	uint64_t		tstamp;		/* time at the end, without a wrap before @sync */
};

/* Result of the scan of one cell */
struct nt_cell {
	bool			has_cut;	/* @entry lacks only the effects of earlier cells */
	bool			must_join;	/* the cell has messages that only a single flow can decode */
	uint8_t			modes;		/* one bit for each enum nt_mode */
	int			src;		/* source of the messages; -1 without messages */
	uint64_t		cut_tstamp;	/* TSTAMP of the message with SYNC */
	struct nt_entry		entry;
	struct nt_effect	before;		/* effect of the messages before the cut; without a cut, of all messages */
	struct nt_effect	after;		/* effect of the messages after the cut */
};

/* The state between two cells */
struct nt_chain {
	int			src;		/* -1 before the first message */
	uint8_t			modes;
	bool			broken;		/* no further part may start */
	bool			has_tstamp;
	uint64_t		tstamp;
	struct nt_context	context;
};

struct nt_cuts {
	struct nt_config	config;
	const uint8_t		*data;
	size_t			size;
	size_t			cell_size;
	size_t			nr_cells;
	bool			chains_time;	/* wraps of the timestamp must be counted */
	bool			keeps_stack;	/* SYNC does not empty the return stack */
};

void nt_cuts_init(struct nt_cuts *cuts, const struct nt_config *config, const uint8_t *data,
		  size_t size, unsigned int threads);

/* Return the offset of cell @number, or the end of the buffer if there is no such cell. */
size_t nt_cuts_offset(const struct nt_cuts *cuts, size_t number);

void nt_cuts_scan(const struct nt_cuts *cuts, size_t number, struct nt_cell *cell);

/*
 * Add the effects of @cell to *chain. If a part starts in the cell, first complete @cell->entry,
 * the state at its cut, and return true.
 */
bool nt_chain_cell(const struct nt_cuts *cuts, struct nt_chain *chain, struct nt_cell *cell);

#endif /* NTRACE_CUTS_H */
