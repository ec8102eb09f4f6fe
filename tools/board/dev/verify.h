/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compare the result of a decoder with the truth of one hart.
 */
#ifndef NTRACE_VERIFY_H
#define NTRACE_VERIFY_H

#include <ntrace/ntrace.h>

#include "truth.h"

/*
 * After a gap, the decode may go on at each place of the truth where so many items agree. After so many
 * more the place is sure: a long loop has ended by then. Until then other places are looked for in so many
 * blocks of the truth.
 */
#define AHEAD		48
#define SURE		200000
#define SEARCH		4000000

/* ---- The truth: traced blocks with at least one instruction ---- */

struct block {
	uint64_t	iaddr;
	uint32_t	iretire, ninsn;
	uint8_t		priv, itype;	/* itype: that of a trap, if one follows at once */
	const uint64_t	*wide;
	bool		start;		/* the trace (re)starts here */
	uint32_t	empty;		/* restarts before this one, after which nothing was traced */
	bool		sync;		/* a synchronising message has this address */
	bool		lost_before;	/* the encoder lost trace before this restart */
	bool		silent_before;	/* ... or stopped without a word, so that its end is missing */
	const uint8_t	*code;		/* NULL if the truth has none */
	uint64_t	scontext, time;	/* as they are before it; time: the last one known */
	uint64_t	scontext_before; /* the value before that one */
};

/* Blocks read ahead: a ring that grows. */
struct ring {
	struct block	*block;
	size_t		first, n, size;	/* size is a power of two */
};

/* A place in the truth: instruction @insn, at @pc, of the @index'th block of the ring. */
struct place {
	size_t		index;
	uint32_t	insn;
	uint64_t	pc;
};

/* ---- What the decoder walked: one line ---- */

enum item_kind {
	ITEM_PC,
	ITEM_RANGE,
	ITEM_GAP,	/* the decode goes on at some synchronising message */
	ITEM_LOST,	/* ... where the encoder did, which lost messages and says so */
	ITEM_START,
};

struct item {
	enum item_kind	kind;
	unsigned int	cpu;
	uint64_t	start, end, ninsn;
	/* of a trace that was decoded here: what else it says of a range */
	bool		detailed, has_priv, has_scontext, has_time, taken, to_next;
	uint8_t		how, priv;	/* enum nt_end, enum nt_priv */
	uint64_t	scontext, time;
	uint64_t	where;		/* line or offset of an item after a gap */
};

/* A place of the truth where the decode may have gone on after a gap, and what was known there */
struct tried {
	struct place	at;
	uint64_t	compared, last_time, used_of, skipped;
	uint32_t	used;
};

struct after_gap {
	struct item	*item;		/* since the gap */
	size_t		n, size;
	bool		may_be_none;	/* it is a gap if something is missing */
	bool		placed;		/* all of them fit after @here */
	bool		why;		/* hart::difference has what does not fit anywhere */
	struct tried	here, first;	/* the place that is tried, and the first one that was */
	uint64_t	skipped;	/* instructions before it */
};

struct hart {
	struct nb_truth_reader *reader;
	const char	*path;
	struct ring	ring;
	struct place	at;
	bool		ended, lost, silent;	/* of the reader */
	bool		pending_start, pending_sync, pending_session;
	bool		losing;		/* the next block is the one that lost a message */
	uint32_t	pending_empty;
	uint64_t	scontext, scontext_before, time;	/* of the truth, where it is read */
	uint64_t	last_time;	/* of the trace */
	bool		differs;
	bool		gap;		/* declared, and where the decode went on is not sure yet */
	uint64_t	used_of;	/* number of the block whose restarts were compared last, ... */
	uint32_t	used;		/* ... and how many of them */
	bool		told;		/* ITEM_LOST, and the trace has not restarted yet */
	bool		may_skip;	/* trace is missing since the last restart, as the recording says */
	bool		strict;		/* each loss is reported: one that is not is a difference */
	struct after_gap after_gap;
	struct block	held;		/* read, but not in the ring yet */
	bool		holds;
	uint64_t	behind;		/* blocks that have left the ring */
	uint64_t	where;		/* line or offset of what is compared */
	const char	*unit;		/* "line" or "offset" */
	uint64_t	compared, gaps, lost_declared, missing, errors;
	char		difference[256];

	/*
	 * Called with each block before it is put into the ring; false: not yet,
	 * unless @force. NULL: every block is welcome.
	 */
	bool		(*learn)(void *ctx, const struct block *block, uint64_t index, bool force);
	void		*learn_ctx;
};

/* The truth file of @path and the number of its hart. NULL: the reason was printed. */
struct hart *hart_open(const char *path, unsigned int *number);
void hart_close(struct hart *h);

/* Compare the next item that was decoded. Where hart::may_skip is set, a restart may be one further on. */
void hart_take(struct hart *h, const struct item *it);

/*
 * Does the encoder end the session that is compared without a message, according to the truth? If not, and
 * the trace has no message, a sink had no room for it, or for more than that.
 */
bool hart_ends_silently(struct hart *h);

/* Nothing more was decoded */
void hart_finish(struct hart *h);

/* Read up to @n blocks ahead of the comparison, as far as hart::learn lets */
void hart_read_ahead(struct hart *h, size_t n);

/* Number of the block at which the comparison is, as hart::learn gets it */
uint64_t hart_index(const struct hart *h);

struct options;

/*
 * Decode @path and compare it with @h. @lost: NULL, or a file with a line for each loss that the recording
 * tells of: the decimal offset in the trace behind which it is, in ascending order. @elf: @n_elf names of ELF
 * files; without any, the code is that which the truth file has. False: the reason was printed.
 */
bool verify_trace(struct hart *h, const char *path, const char *lost, const struct options *options,
		  char *const *elf, unsigned int n_elf);

#endif /* NTRACE_VERIFY_H */
