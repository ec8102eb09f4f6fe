/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * These functions cut a buffer into parts, so that several threads can decode it.
 *
 * A cut is a place right after a message with SYNC, at which decoding can begin, because SYNC resets
 * the state of the encoder (chapter 8.4). A part is the trace between two cuts, which one thread
 * decodes. SYNC does not reset the context, the wraps of the timestamp and the trace mode. These
 * depend only on messages, so they can be determined without walking the code.
 *
 * The buffer is divided into cells of equal size, which threads scan in any order. The scan looks
 * for a message with SYNC, and adds up the effects of the cell's messages on context and time
 * (struct nt_cell). Then the effects of all earlier cells are applied in order to get the state at
 * each cut. This is called chaining. Chaining takes little time, and one thread at a time does it.
 */
#ifndef NTRACE_CUTS_H
#define NTRACE_CUTS_H

#include "../flow.h"

/*
 * Smallest size of a cell in bytes. It is so small that even a small buffer has several cells. A
 * large buffer has cells of up to NT_LARGE_CELL_SIZE (256 KiB), because decoding begins anew in each
 * cell, which takes time. With cells of 256 KiB, two threads need a tenth less time than with the
 * smallest cells. Cells are larger than 256 KiB only if there would otherwise be more than NT_MAX_CELLS
 * of them, because a thread stores the ranges that it decodes in a queue (queue.h) until all earlier
 * ranges were consumed, and the ranges of a larger cell would not fit into the queue.
 */
#ifndef NT_CELL_SIZE
#define NT_CELL_SIZE	(16u << 10)
#endif
#define NT_LARGE_CELL_SIZE	(16 * NT_CELL_SIZE)
#define NT_MANY_CELLS		64	/* maximum number of cells for each thread, if cells are smaller than NT_LARGE_CELL_SIZE */
#define NT_MAX_CELLS		(1u << 20)	/* maximum number of cells of a buffer */

/* Effect of messages on the trace mode that a flow has detected */
enum nt_mode_effect {
	NT_EFFECT_KEEPS,
	NT_EFFECT_STOPS,	/* trace stopped, so a flow detects the mode again after the next SYNC */
	NT_EFFECT_HIDES,	/* it is unknown if a flow has detected the mode */
	NT_EFFECT_SHOWS,		/* a later message shows the mode */
};

/* Effect of a sequence of messages on the context, the time and the trace mode */
struct nt_effect {
	enum nt_mode_effect	mode;
	bool			loses_context;	/* the context that was set before these messages is lost */
	struct nt_context	context;	/* context that these messages set */
	uint64_t		delta;		/* sum of the relative TSTAMPs, in ticks */
	bool			sets_known;	/* @is_known is valid for the time after these messages */
	bool			is_known;	/* if @sets_known: the time after the messages is known */
	bool			has_sync;	/* the messages contain an absolute TSTAMP */
	uint64_t		sync;		/* the first absolute TSTAMP */
	/* time after the messages, if the counter of timestamps did not wrap before @sync, in ticks */
	uint64_t		tstamp;
};

/* Result of the scan of one cell, which is a part of the buffer */
struct nt_cell {
	/*
	 * decoding can begin in the cell (cut); @entry does not yet contain the effects of earlier
	 * cells
	 */
	bool			has_cut;
	bool			needs_mode;	/* the cut is possible only if earlier messages show the trace mode */
	bool			must_join;	/* the cell has messages after which the buffer cannot be cut */
	uint8_t			modes;		/* trace modes of the messages, 1 << enum nt_mode */
	int			src;		/* SRC of the messages; -1 if the cell has no message */
	uint64_t		cut_tstamp;	/* TSTAMP of the message with SYNC after which decoding can begin */
	struct nt_entry		entry;		/* state of the source at the cut, from which a flow can continue */
	/*
	 * effect on context and time of the messages before the cut, or of all messages if the cell
	 * has no cut
	 */
	struct nt_effect	before;
	struct nt_effect	after;		/* like @before, but of the messages after the cut */
};

/*
 * The state of the trace source at the end of a cell (a part of the buffer), which depends on the
 * messages of all cells up to there
 */
struct nt_chain {
	int			src;		/* SRC of all messages; -1 before the first message */
	uint8_t			modes;		/* trace modes of all messages, 1 << enum nt_mode */
	bool			knows_mode;	/* a flow from the start knows the mode, the only mode in @modes */
	bool			broken;		/* the rest of the buffer is not divided, but is in the last part */
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

/* Return the offset of cell @number (a part of the buffer). If the buffer has fewer cells, return its end. */
size_t nt_cuts_offset(const struct nt_cuts *cuts, size_t number);

/*
 * Scan cell @number, which is a part of the buffer, for messages that change context or time, and
 * for a cut. Store the result in *cell.
 */
void nt_cuts_scan(const struct nt_cuts *cuts, size_t number, struct nt_cell *cell);

/*
 * Apply the changes of context and time in a cell (a part of the buffer), which nt_cuts_scan() has stored
 * in *cell, to *chain. Before the call, *chain is the state of the trace source at the start of the cell,
 * and after the call, the state at its end. If the cell has a cut at which a thread can begin to decode,
 * also store the state at the cut in @cell->entry, and return true.
 */
bool nt_chain_cell(const struct nt_cuts *cuts, struct nt_chain *chain, struct nt_cell *cell);

#endif /* NTRACE_CUTS_H */
