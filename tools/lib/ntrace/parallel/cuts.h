/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where a buffer is cut, so that several threads can decode it.
 *
 * A message with SYNC resets all encoder state (chapter 8.4), so that a part may start right
 * after one. What SYNC does not reset are the context, the wraps of the timestamp and the
 * trace mode. Messages alone decide these, so that they are known before the code is walked.
 *
 * The buffer is seen as cells of equal size. Any thread scans any cell: it looks for a message
 * with SYNC, and adds up what the cell's messages do to context and time (struct nt_cell). The
 * cells are then chained in order, which is quick: it gives each part the state it starts in.
 * Neither scanning nor decoding holds the lock.
 */
#ifndef NTRACE_CUTS_H
#define NTRACE_CUTS_H

#include "../flow.h"

/*
 * Bytes of a cell, so that a small buffer has several. If each thread has many, they are made
 * larger, as each part costs something to begin: 256 KiB save a tenth of the time of two threads.
 * If they were still larger, a part's ranges would not fit into a queue that keeps their order.
 */
#ifndef NT_CELL_SIZE
#define NT_CELL_SIZE	(16u << 10)
#endif
#define NT_LARGE_CELL_SIZE	(16 * NT_CELL_SIZE)
#define NT_MANY_CELLS		64	/* of a thread */
#define NT_MAX_CELLS		(1u << 20)

/* What a stretch of messages does to context and time */
struct nt_effect {
	bool			loses_context;	/* the value before the stretch */
	struct nt_context	context;	/* what was set since */
	uint64_t		delta;		/* sum of the times relative to that of before */
	bool			sets_known;	/* whether the time is known does not depend on before */
	bool			is_known;
	bool			has_sync;	/* then the time was absolute: */
	uint64_t		sync;
	uint64_t		tstamp;		/* if that was time @sync, the end is this time */
};

/* What the scan of one cell found */
struct nt_cell {
	bool			has_cut;	/* @entry is valid, but for what is before it */
	bool			must_join;	/* something that parts cannot carry on */
	uint8_t			modes;		/* bit enum nt_mode */
	int			src;		/* of its messages; -1: there is none */
	uint64_t		cut_tstamp;	/* TSTAMP of the message with SYNC */
	struct nt_entry		entry;
	struct nt_effect	before;		/* the cut, or in the whole cell if there is none */
	struct nt_effect	after;
};

/* The state between two cells */
struct nt_chain {
	int			src;		/* -1: no message came yet */
	uint8_t			modes;
	bool			broken;		/* no part may start any more */
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
	bool			chains_time;	/* wraps have to be counted */
	bool			keeps_stack;	/* SYNC does not empty the return stack */
};

void nt_cuts_init(struct nt_cuts *cuts, const struct nt_config *config, const uint8_t *data,
		  size_t size, unsigned int threads);

/* Where cell @number begins; the end of the buffer if there is none */
size_t nt_cuts_offset(const struct nt_cuts *cuts, size_t number);

void nt_cuts_scan(const struct nt_cuts *cuts, size_t number, struct nt_cell *cell);

/* Go on past @cell. Returns whether a part starts in it: @cell->entry is complete then. */
bool nt_chain_cell(const struct nt_cuts *cuts, struct nt_chain *chain, struct nt_cell *cell);

#endif /* NTRACE_CUTS_H */
