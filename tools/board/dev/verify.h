/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparison of a decoder's result with the truth of one hart.
 */
#ifndef NTRACE_VERIFY_H
#define NTRACE_VERIFY_H

#include <ntrace/ntrace.h>

#include "truth.h"

/*
 * After a gap, decoding may continue at any position in the truth that matches the next AHEAD
 * items. The position is certain after SURE more items, because a long loop ends earlier. Until
 * then, other positions are searched in up to SEARCH blocks of the truth.
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
	bool		start;		/* the trace starts or restarts here */
	uint32_t	empty;		/* earlier restarts after which nothing was traced */
	bool		sync;		/* a synchronising message has this address */
	bool		lost_before;	/* the encoder lost trace before this restart */
	bool		silent_before;	/* the encoder stopped before this restart without a message */
	const uint8_t	*code;		/* NULL if the truth has no code */
	uint64_t	scontext, time;	/* state before this block; time is the last known time */
	uint64_t	scontext_before; /* value before scontext */
};

/* Ring buffer of blocks that were read ahead. It grows if necessary. */
struct ring {
	struct block	*block;
	size_t		first, n, size;	/* size is a power of two */
};

/*
 * Position in the truth, which is instruction number @insn, at address @pc, in block number @index
 * of the ring.
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
	ITEM_LOST,	/* a reported loss, after which decoding continues at the encoder's restart */
	ITEM_START,
};

struct item {
	enum item_kind	kind;
	unsigned int	cpu;
	uint64_t	start, end, ninsn;
	/* Details of a range, if the trace was decoded here */
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
	bool		may_be_none;	/* true if the gap counts only if instructions are skipped */
	bool		placed;		/* all items match the truth at @here */
	bool		why;		/* hart::difference contains the item that matches nowhere */
	struct tried	here, first;	/* current and first position that were tried */
	uint64_t	skipped;	/* instructions skipped before @here */
};

struct hart {
	struct nb_truth_reader *reader;
	const char	*path;
	struct ring	ring;
	struct place	at;
	bool		ended, lost, silent;	/* state of the reader */
	bool		pending_start, pending_sync, pending_session;
	bool		losing;		/* the next block caused the loss of a message */
	uint32_t	pending_empty;
	uint64_t	scontext, scontext_before, time;	/* current values of the truth's reader */
	uint64_t	last_time;	/* last time in the trace */
	bool		differs;
	bool		gap;		/* a gap was reported, and the position after it is not certain */
	uint64_t	used_of;	/* number of the last block whose restarts were compared */
	uint32_t	used;		/* number of its restarts that were compared */
	bool		told;		/* ITEM_LOST was received, and the trace has not restarted */
	bool		may_skip;	/* the recording reports missing trace after the last restart */
	bool		strict;		/* each loss must be reported; an unreported loss is a difference */
	struct after_gap after_gap;
	struct block	held;		/* block that was read but is not in the ring */
	bool		holds;
	uint64_t	behind;		/* number of blocks that were removed from the ring */
	uint64_t	where;		/* line or offset of the compared item */
	const char	*unit;		/* "line" or "offset" */
	uint64_t	compared, gaps, lost_declared, missing, errors;
	char		difference[256];

	/*
	 * Called with each block before it is added to the ring. Returns false if the block must
	 * wait, unless @force is set. NULL accepts every block.
	 */
	bool		(*learn)(void *ctx, const struct block *block, uint64_t index, bool force);
	void		*learn_ctx;
};

/*
 * Open the truth file @path and return the number of its hart in @number. Return NULL after
 * printing the reason if this fails.
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
 * If it does not, and the trace ends without a message, the sink had no space for this message and
 * possibly for earlier messages.
 */
bool hart_ends_silently(struct hart *h);

/* Finish the comparison after the last decoded item */
void hart_finish(struct hart *h);

/* Read up to @n blocks ahead of the comparison, unless hart::learn stops it */
void hart_read_ahead(struct hart *h, size_t n);

/* Return the number of the block that is compared next. hart::learn receives the same numbers. */
uint64_t hart_index(const struct hart *h);

struct options;

/*
 * Decode @path and compare it with @h. @lost is NULL or a file with one line for each loss that the
 * recording reports, which is the decimal offset in the trace at which trace is missing, in
 * ascending order. @elf is an array of @n_elf names of ELF files; without a file, the code in the
 * truth file is used. Return false after printing the reason if this fails.
 */
bool verify_trace(struct hart *h, const char *path, const char *lost, const struct options *options,
		  const char *const *elf, unsigned int n_elf);

#endif /* NTRACE_VERIFY_H */
