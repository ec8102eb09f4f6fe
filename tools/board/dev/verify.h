/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparison of a decoder's result with the truth of one hart.
 *
 * The truth is the file in which the board writes the instructions that a hart executed, block by block
 * (truth.h). The decoder's result is a list of items, which are executed code, gaps and restarts. A gap
 * is a place at which the decoder has lost its position in the program. A restart is a place at which
 * the encoder starts to trace, for the first time or after a stop or a loss. A session is the trace from
 * a restart to the next stop or loss.
 */
#ifndef NTRACE_VERIFY_H
#define NTRACE_VERIFY_H

#include <ntrace/ntrace.h>

#include "truth.h"

/*
 * After a gap, the comparison collects AHEAD decoded items, and continues at the first position in the
 * truth at which they match. In a loop, several positions match. If a later item does not match, the
 * comparison tries the next positions, in up to SEARCH blocks of the truth after the first position. If
 * SURE items match, the position is certain, because the body of a loop has fewer items.
 */
#define AHEAD		48
#define SURE		200000
#define SEARCH		4000000

/* ---- Blocks of traced instructions that the truth contains ---- */

struct block {
	uint64_t	iaddr;
	uint32_t	iretire, ninsn;
	uint8_t		priv, itype;	/* if a trap directly follows the block, itype is that of the trap */
	const uint64_t	*wide;
	bool		start;		/* the trace starts or restarts with this block */
	uint32_t	empty;		/* number of sessions without a traced block directly before this block */
	bool		sync;		/* a synchronising message contains the address of this block */
	bool		lost_before;	/* the encoder lost messages between the previous restart and this one */
	bool		silent_before;	/* before this restart, the encoder stopped and sent no ProgTraceCorrelation */
	const uint8_t	*code;		/* instructions of the block; NULL if the truth does not contain them */
	uint64_t	scontext, time;	/* scontext, and the last known time, at the start of this block */
	uint64_t	scontext_before; /* value that scontext had before its last change */
};

/* Ring buffer of blocks that were read from the truth and are still needed. It grows if necessary. */
struct ring {
	struct block	*block;
	size_t		first, n, size;	/* index of the first block, number of blocks, capacity (power of two) */
};

/*
 * Position in the truth. @index is the number of the block in the ring, @insn is the number of the
 * instruction in this block, and @pc is its address, which is not used if @insn is 0.
 */
struct place {
	size_t		index;
	uint32_t	insn;
	uint64_t	pc;
};

/* ---- One item of the decoded flow ---- */

enum item_kind {
	ITEM_PC,
	ITEM_RANGE,
	ITEM_GAP,	/* decoding continues at a synchronising message whose position is not known */
	ITEM_LOST,	/* the encoder reported a loss, and decoding continues at its next restart */
	ITEM_START,	/* a restart of the encoder */
};

struct item {
	enum item_kind	kind;
	unsigned int	cpu;
	uint64_t	start, end, ninsn;
	/* Details of a range, which are known if this program has decoded the trace */
	bool		detailed, has_priv, has_scontext, has_time, taken, to_next;
	uint8_t		how, priv;	/* enum nt_end, enum nt_priv */
	uint64_t	scontext, time;
	uint64_t	where;		/* line of the item in the decoder's output, or its offset in the trace */
};

/*
 * A position in the truth at which the comparison tries to continue after a gap, and the values that the
 * members of struct hart and struct after_gap had there
 */
struct tried {
	struct place	at;
	uint64_t	compared, last_time, used_of, skipped;
	uint32_t	used;
};

struct after_gap {
	struct item	*item;		/* items since the gap */
	size_t		n, size;
	bool		may_be_none;	/* no gap was reported, so count a gap only if instructions must be skipped */
	bool		placed;		/* all items since the gap match the truth from position @here on */
	bool		why;		/* hart.difference describes why an item did not match at a tried position */
	struct tried	here, first;	/* position that is tried now, and first position at which all items matched */
	uint64_t	skipped;	/* number of instructions in the truth between the gap and @here */
};

struct hart {
	struct nb_truth_reader *reader;
	const char	*path;
	struct ring	ring;
	struct place	at;
	/*
	 * @ended is set at the end of the truth. While fetch_block() reads the records before a block, it
	 * stores the values for the block's members lost_before, silent_before, start, sync and empty in
	 * @lost, @silent, @pending_start, @pending_sync and @pending_empty.
	 * @pending_session is set if no block was read after the last restart.
	 */
	bool		ended, lost, silent;
	bool		pending_start, pending_sync, pending_session;
	bool		losing;		/* the encoder lost a message while it processed the block that is read next */
	uint32_t	pending_empty;
	uint64_t	scontext, scontext_before, time;	/* values at the start of the block that is read next */
	uint64_t	last_time;	/* last time that the decoder has reported */
	bool		differs;
	bool		gap;		/* a gap was reported, and the position after it is not certain */
	/*
	 * Number of the last block before which a restart of the trace was compared, and number of restarts that were
	 * compared before it. There are several restarts before a block if the sessions between them are empty.
	 */
	uint64_t	used_of;
	uint32_t	used;
	bool		told;		/* the decoder has reported a loss (ITEM_LOST) and has not restarted since */
	bool		may_skip;	/* the recording reports that trace is missing after the last restart or gap */
	bool		strict;		/* each loss must be reported; an unreported loss is a difference */
	struct after_gap after_gap;
	struct block	held;		/* block that was read but is not in the ring, if @holds is set */
	bool		holds;
	uint64_t	behind;		/* number of blocks that were removed from the ring */
	uint64_t	where;		/* line in the decoder's output, or offset in the trace, of the compared item */
	const char	*unit;		/* name of the unit of @where, which is "line" or "offset" */
	/* Numbers of compared instructions, gaps, instructions in gaps, instructions missing elsewhere, and errors */
	uint64_t	compared, gaps, lost_declared, missing, errors;
	char		difference[256];

	/*
	 * Function that is called with each block before the block is added to the ring. It returns
	 * false if the block must not be added yet, and true if it may be added or if @force is true.
	 * If the pointer is NULL, each block is added.
	 */
	bool		(*learn)(void *ctx, const struct block *block, uint64_t index, bool force);
	void		*learn_ctx;
};

/*
 * Open the truth file @path, and store the number of its hart in @number. If this fails, print the
 * reason and return NULL.
 */
struct hart *hart_open(const char *path, unsigned int *number);
void hart_close(struct hart *h);

/*
 * Compare @it, the next item of the decoder's result, with the truth, and set hart::differs if they
 * differ. If @it is a restart and hart::may_skip is set, the decoder's result may lack whole sessions,
 * so the function searches for @it in the truth as after a gap.
 */
void hart_take(struct hart *h, const struct item *it);

/*
 * Return true if the truth records that the encoder ended the current session without
 * ProgTraceCorrelation. If the function returns false and the trace lacks this message, the sink had no
 * space for it and possibly for earlier messages.
 */
bool hart_ends_silently(struct hart *h);

/* Finish the comparison after the last decoded item */
void hart_finish(struct hart *h);

/* Read blocks of the truth until @n blocks follow the compared position, or hart::learn refuses a block. */
void hart_read_ahead(struct hart *h, size_t n);

/* Return the number of the block that is compared next. hart::learn receives the same numbers. */
uint64_t hart_index(const struct hart *h);

struct options;

/*
 * Decode @path and compare it with @h. @lost is NULL, or the name of a file with one line for each loss
 * that the recording reports. A line is the decimal offset in the trace at which trace is missing, and
 * the lines are in ascending order. @elf is an array of @n_elf names of ELF files. The truth file
 * provides the code that is in no ELF file. If this fails, print the reason and return false.
 */
bool verify_trace(struct hart *h, const char *path, const char *lost, const struct options *options,
		  const char *const *elf, unsigned int n_elf);

#endif /* NTRACE_VERIFY_H */
