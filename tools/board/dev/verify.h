/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparison of a decoder's result with the truth of one hart.
 */
#ifndef NTRACE_VERIFY_H
#define NTRACE_VERIFY_H

#include <ntrace/ntrace.h>

#include "truth.h"

/*
 * After a gap, the comparison continues at the first position in the truth that matches the next AHEAD
 * items. In a loop, several positions match. If SURE items match, the position is certain, because a
 * long loop has fewer items. If an earlier item does not match, the next position is searched in up to
 * SEARCH blocks of the truth.
 */
#define AHEAD		48
#define SURE		200000
#define SEARCH		4000000

/* ---- Traced blocks of the truth with at least one instruction ---- */

struct block {
	uint64_t	iaddr;
	uint32_t	iretire, ninsn;
	uint8_t		priv, itype;	/* if a trap directly follows the block, itype is that of the trap */
	const uint64_t	*wide;
	bool		start;		/* the trace starts or restarts with this block */
	uint32_t	empty;		/* number of restarts before this restart after which nothing was traced */
	bool		sync;		/* a synchronising message has this address */
	bool		lost_before;	/* the encoder lost trace before this restart */
	bool		silent_before;	/* the encoder stopped before this restart without a message */
	const uint8_t	*code;		/* NULL if the truth has no code */
	uint64_t	scontext, time;	/* scontext, and the last known time, at the start of this block */
	uint64_t	scontext_before; /* value that scontext had before its last change */
};

/* Ring buffer of blocks that were read ahead. It grows if necessary. */
struct ring {
	struct block	*block;
	size_t		first, n, size;	/* size is a power of two */
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
	ITEM_GAP,	/* decoding continues at an unknown synchronising message */
	ITEM_LOST,	/* a loss that the encoder reported, after which decoding continues at its restart */
	ITEM_START,
};

struct item {
	enum item_kind	kind;
	unsigned int	cpu;
	uint64_t	start, end, ninsn;
	/* Details of a range, which are known if this program has decoded the trace */
	bool		detailed, has_priv, has_scontext, has_time, taken, to_next;
	uint8_t		how, priv;	/* enum nt_end, enum nt_priv */
	uint64_t	scontext, time;
	uint64_t	where;		/* position of the item in the decoder's result, which is a line or an offset */
};

/* Position in the truth where decoding may have continued after a gap, with the state there */
struct tried {
	struct place	at;
	uint64_t	compared, last_time, used_of, skipped;
	uint32_t	used;
};

struct after_gap {
	struct item	*item;		/* items since the gap */
	size_t		n, size;
	bool		may_be_none;	/* if no instructions are skipped, this is not counted as a gap */
	bool		placed;		/* all items match the truth at @here */
	bool		why;		/* hart::difference describes a detail that differs at a tried position */
	struct tried	here, first;	/* current and first position that were tried */
	uint64_t	skipped;	/* number of instructions that were skipped before the current position */
};

struct hart {
	struct nb_truth_reader *reader;
	const char	*path;
	struct ring	ring;
	struct place	at;
	bool		ended, lost, silent;	/* state of the reader */
	bool		pending_start, pending_sync, pending_session;
	bool		losing;		/* the encoder lost a message of the next block */
	uint32_t	pending_empty;	/* value of block::empty for the next block */
	uint64_t	scontext, scontext_before, time;	/* current values of the truth's reader */
	uint64_t	last_time;	/* last time in the trace */
	bool		differs;
	bool		gap;		/* a gap was reported, and the position after it is not certain */
	uint64_t	used_of;	/* number of the last block whose restarts were compared */
	uint32_t	used;		/* number of restarts of block @used_of that were compared */
	bool		told;		/* ITEM_LOST was received, and no restart after it */
	bool		may_skip;	/* the recording reports missing trace after the last restart */
	bool		strict;		/* each loss must be reported; an unreported loss is a difference */
	struct after_gap after_gap;
	struct block	held;		/* block that was read but is not in the ring */
	bool		holds;
	uint64_t	behind;		/* number of blocks that were removed from the ring */
	uint64_t	where;		/* line or offset of the compared item */
	const char	*unit;		/* name of the unit of @where, which is "line" or "offset" */
	uint64_t	compared, gaps, lost_declared, missing, errors;
	char		difference[256];

	/*
	 * Called with each block before it is added to the ring. It returns false if the block must
	 * not be added at this time. If @force is true, it returns true. NULL accepts every block.
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
 * Compare the next decoded item. If hart::may_skip is set, a restart may match a later restart of
 * the truth.
 */
void hart_take(struct hart *h, const struct item *it);

/*
 * Return true if, according to the truth, the encoder ends the compared session without a message.
 * If the function returns false for a session without a message at its end, the sink had no space for
 * this message and possibly for earlier messages.
 */
bool hart_ends_silently(struct hart *h);

/* Finish the comparison after the last decoded item */
void hart_finish(struct hart *h);

/* Read up to @n blocks ahead of the comparison, or up to a block that hart::learn refuses. */
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
