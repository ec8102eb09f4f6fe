/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The N-Trace encoder takes blocks of retired instructions and makes messages.
 *
 * It implements the RISC-V N-Trace 1.0 specification, and depends neither on
 * the emulator nor on the registers. regs.h declares the hardware around it;
 * `ntrace encode` uses the encoder alone.
 *
 * Calls in the life of an encoder:
 *
 *	nb_encoder_init(&enc, &config, out, opaque);
 *	nb_encoder_start(&enc, NB_SYNC_TRACE_ENABLE);
 *	nb_encoder_ingress(&enc, &block);	once for each block, traced or not
 *	nb_encoder_stop(&enc, NB_EVCODE_DISABLED);
 *
 * The functions are not thread safe, so the caller must serialise the calls
 * for one encoder. They do not allocate memory.
 */
#ifndef NTRACE_BOARD_ENCODER_H
#define NTRACE_BOARD_ENCODER_H

#include <stddef.h>

#include "ingress.h"

#define NB_LIKELY(x)	__builtin_expect(!!(x), 1)
#define NB_UNLIKELY(x)	__builtin_expect(!!(x), 0)
#define NB_NOINLINE	__attribute__((noinline))

/* table "Fields in Messages" */
enum nb_tcode {
	NB_TCODE_OWNERSHIP			= 2,
	NB_TCODE_DIRECT_BRANCH			= 3,
	NB_TCODE_INDIRECT_BRANCH		= 4,
	NB_TCODE_ERROR				= 8,
	NB_TCODE_PROG_TRACE_SYNC		= 9,
	NB_TCODE_DIRECT_BRANCH_SYNC		= 11,
	NB_TCODE_INDIRECT_BRANCH_SYNC		= 12,
	NB_TCODE_RESOURCE_FULL			= 27,
	NB_TCODE_INDIRECT_BRANCH_HIST		= 28,
	NB_TCODE_INDIRECT_BRANCH_HIST_SYNC	= 29,
	NB_TCODE_REPEAT_BRANCH			= 30,
	NB_TCODE_PROG_TRACE_CORRELATION		= 33,
};

/* table "SYNC Field Values" */
enum nb_sync {
	NB_SYNC_EXT_TRIGGER	= 0,
	NB_SYNC_EXIT_RESET	= 1,
	NB_SYNC_PERIODIC	= 2,
	NB_SYNC_EXIT_DEBUG	= 3,
	NB_SYNC_SEQUENTIAL	= 4,	/* I-CNT full, BTM only */
	NB_SYNC_TRACE_ENABLE	= 5,
	NB_SYNC_TRACE_EVENT	= 6,
	NB_SYNC_FIFO_OVERRUN	= 7,
	NB_SYNC_EXIT_POWERDOWN	= 9,
	NB_SYNC_NONE		= 16,	/* not a value of the field */
};

/* table "Program Trace Correlation Message Fields" */
enum nb_evcode {
	NB_EVCODE_DEBUG		= 0,
	NB_EVCODE_LOW_POWER	= 1,
	NB_EVCODE_DISABLED	= 4,
};

enum nb_mode {
	NB_MODE_BTM = 3,	/* trTeInstMode */
	NB_MODE_HTM = 6,
};

/*
 * Behaviour that the specification allows and that this encoder only shows on request, with its name
 * and description. Variants can be combined. A variant of the other trace mode has no effect.
 */
#define NB_VARIANTS(X) \
	X(TSTAMP_SOME,	"tstamp-some",	"TSTAMP on synchronising messages and a third of the others") \
	X(IDLE,		"idle",		"idle bytes between messages") \
	X(PAD,		"pad",		"more zeros, or sign bits, in variable fields than needed") \
	X(TRAP_FILTERED, "trap-filtered", "the address of a jump to code that is not traced, before the stop") \
	X(SPLIT,	"split",	"messages in the middle of a basic block (needs single instructions)") \
	X(OVERRUN_BRANCH, "overrun-branch", "SYNC 7 on a branch message, with I-CNT and HIST from before the overflow") \
	X(WFI,		"wfi",		"EVCODE 1 at wfi, and SYNC 9 after it") \
	X(ICNT_FIRST,	"icnt-first",	"ResourceFull of I-CNT before that of HIST") \
	X(FULL_BEFORE,	"full-before",	"ResourceFull of I-CNT before the instruction that fills it") \
	X(HIST_ANY,	"hist-any",	"HIST of any length is full") \
	X(HIST_FLUSH,	"hist-flush",	"ResourceFull of HIST, then ProgTraceSync") \
	X(HREPEAT_ONE,	"hrepeat-one",	"RCODE 2 with HREPEAT 1") \
	X(HREPEAT_SPLIT, "hrepeat-split", "RCODE 1, then RCODE 2 for its repetitions") \
	X(LINEAR_INDIRECT, "linear-indirect", "IndirectBranchSync on linear code") \
	X(LINEAR_DIRECT, "linear-direct", "DirectBranchSync on linear code (BTM)") \
	X(EARLY_STOP,	"early-stop",	"ProgTraceCorrelation before the first synchronising message") \
	X(NO_STOP,	"no-stop",	"no ProgTraceCorrelation when trace is switched off") \
	X(OWNERSHIP,	"ownership",	"Ownership messages although nothing has changed") \
	X(ECODE_ZERO,	"ecode-zero",	"ECODE 0") \
	X(ETYPE_VENDOR,	"etype-vendor",	"ETYPE 8") \
	X(VENDOR,	"vendor",	"messages with TCODE 56 to 62") \
	X(VENDOR_CODES,	"vendor-codes",	"EVCODE 8, and SYNC 14 for a periodic synchronisation") \
	X(BRANCH_NEXT,	"branch-next",	"a branch to the next instruction may be taken") \
	X(DEBUG,	"debug",	"random entries to Debug Mode (EVCODE 0, SYNC 3)") \
	X(TRIGGER,	"trigger",	"random triggers (SYNC 0 and 6)") \
	X(RETURN_STRICT, "return-strict", "a return is implicit only if a message has reported its call") \
	X(STACK_STOPS,	"stack-stops",	"a full return stack ignores further calls") \
	X(SIGN_COPIES,	"sign-copies",	"addresses of RV64 have a copy of their sign above bit 63") \
	X(CYCLES,	"cycles",	"an instruction takes several cycles, and a jump more; wfi stops the clock")

/* Behaviour of known encoders that the specification forbids. Option --variant also chooses them. */
#define NB_DEVIATIONS(X) \
	X(SYNC_LACKS_BIT, "sync-lacks-bit", "SYNC at a taken branch has no bit for it, and is DirectBranchSync if HIST is empty (HTM)") \
	X(HIST_IN_BTM,	"hist-in-btm",	"ProgTraceCorrelation has an empty HIST (BTM)") \
	X(STACK_OVER_SYNC, "stack-over-sync", "only an overrun or a stop empties the return stack")

enum nb_variant_bit {
#define X(id, name, text) NB_VARIANT_BIT_##id,
	NB_VARIANTS(X)
	NB_DEVIATIONS(X)
#undef X
};

enum nb_variant {
#define X(id, name, text) NB_VARIANT_##id = 1U << NB_VARIANT_BIT_##id,
	NB_VARIANTS(X)
	NB_DEVIATIONS(X)
#undef X
};

/**
 * nb_variant_find() - find a variant by its name
 * @name: A name from NB_VARIANTS or NB_DEVIATIONS
 *
 * Return: The enum nb_variant, or 0 if no variant has this name.
 */
uint32_t nb_variant_find(const char *name);

#define NB_MESSAGE_MAX		64	/* bytes; the fields of the specification need up to 38 */
#define NB_FIFO_MAX		1024	/* largest capacity of a FIFO for refused messages, in bytes */
#define NB_FIFO_DEFAULT		128	/* capacity of this FIFO if fifo_depth is 0, in bytes */
#define NB_FIFO_SLACK		1024	/* bytes that one block may add to it before the hart stalls */
#define NB_STACK_MAX		32	/* deepest stack of chapter "Implicit Return Optimization" */

/*
 * Differences of the messages of an encoder that is older than the specification. If all members
 * are 0, the messages have the ratified form.
 */
struct nb_dialect {
	uint8_t		addr_bits;	/* RV64: number of address bits above bit 0 that are sent */
	uint16_t	stack_max;	/* calls that the return stack can count */
	bool		xor_time;	/* TSTAMP without SYNC is the XOR with the last timestamp */
	bool		empty_cdf;	/* HTM: ProgTraceCorrelation without HIST has CDF 0 */
	bool		swap_reported;	/* a swap counts as a call and is never implicit */
	bool		sync_at_branch;	/* a sync with HIST full also reports the branch that filled it */
};

extern const struct nb_dialect nb_dialect_ratified, nb_dialect_sifive0;

/*
 * All members except @mode may be 0. Numbers of bits that are out of range are
 * clamped.
 */
struct nb_encoder_config {
	uint8_t		mode;			/* enum nb_mode */
	uint8_t		xlen;			/* 32 or 64; 0 is 64 */
	bool		context;		/* trTeContext, sends Ownership messages */
	bool		hcontext;		/* the hart has hcontext, so Ownership is sent twice */
	bool		timestamp;		/* trTsEnable */
	uint8_t		ts_width;		/* bits of the timestamp, 0 is 64 */
	uint8_t		sync_mode;		/* trTeInstSyncMode, 1 messages, 2 cycles, 3 half-words */
	uint8_t		sync_max;		/* trTeInstSyncMax N, the period is 2^(N + 4) units */
	bool		sync_delayed;		/* a periodic sync waits for a branch message */
	uint8_t		src_bits;		/* width of SRC, 0..12; 0 means trTeInhibitSrc */
	uint16_t	src_id;
	uint8_t		implicit_return;	/* 0 is off, else the mode 1..3 */
	uint16_t	stack_depth;		/* return stack, 1..dialect->stack_max; 0 is the maximum */
	uint8_t		stack_bits;		/* address bits that mode 2 compares, 2..63; 0 is 17 */
	bool		sequential_jump;	/* trTeInstEnSequentialJump */
	bool		repeated_history;	/* trTeInstEnRepeatedHistory (HTM) */
	bool		all_jumps;		/* trTeInstEnAllJumps */
	bool		extend_addr;		/* trTeInstExtendAddrMSB */
	bool		repeat_branch;		/* RepeatBranch (BTM; no control bit) */
	bool		btype_extended;		/* B-TYPE 2 and 3 instead of 1 */
	bool		hist_always;		/* send HIST even if it is empty (HTM) */
	bool		icnt_sync;		/* a full I-CNT causes SYNC 4 (BTM) */
	uint8_t		icnt_bits;		/* width of I-CNT with the overflow bit, 4..22; 0 is 22 */
	uint8_t		hist_bits;		/* width of HIST with the stop bit, 2..32; 0 is 32 */
	uint8_t		priv_mask;		/* bit N traces enum nb_priv N; 0 traces all */
	bool		stall;			/* trTeInstStallEna, the hart waits for the FIFO */
	uint32_t	fifo_depth;		/* bytes before the sink; 0 means that it never fills */
	uint32_t	fifo_rate;		/* bytes that drain per 256 cycles */
	uint32_t	variant;		/* set of enum nb_variant */
	uint32_t	seed;			/* seed of the random choices of variants */
	const struct nb_dialect *dialect;	/* NULL is the ratified form */
	bool		runs;			/* HTM: a full HIST of equal branches becomes RCODE 8 or 9 */
	uint64_t	no_tstamp;		/* bit N: TCODE N has no TSTAMP unless it has SYNC */
};

/* Additional values of evcode, for lost messages and for an encoder that does not report stops */
#define NB_ENDED_LOST	0xff
#define NB_ENDED_SILENT	0xfe

/*
 * The result of encoding the last block, for the truth. @stamp changes whenever another member
 * changes.
 */
struct nb_trace_state {
	uint32_t	stamp;
	uint32_t	session;	/* number of the last start; 0 if the last block was not traced */
	uint32_t	starts;		/* sessions whose first message was sent, even if the next one was lost */
	uint32_t	syncs;		/* synchronising messages so far */
	uint8_t		sync;		/* SYNC of the last synchronising message, which contained the address of its block */
	uint8_t		evcode;		/* reason for the end of the last session */
	uint8_t		evcode_before;	/* reason for the end of the session before it */
};

/* Messages to send at the next opportunity */
struct nb_due {
	uint8_t		sync;		/* enum nb_sync */
	bool		sync_forced;	/* the sync must not be delayed any longer */
	uint8_t		context;	/* enum nb_context_due, for Ownership */
};

enum nb_context_due {
	NB_CONTEXT_NONE,
	NB_CONTEXT_WRITTEN,	/* the instruction that wrote the context has not retired */
	NB_CONTEXT_RETIRED,
};

struct nb_encoder;

/**
 * typedef nb_out_fn - accept one complete message
 * @opaque: The argument of nb_encoder_init()
 * @bytes: The message, valid during the call
 * @len: Length of the message, at most NB_MESSAGE_MAX
 *
 * Return: False if it refuses the whole message. The encoder keeps the message in its FIFO, and
 * offers it again before the next one. If the FIFO is full, either trace is lost, which an Error
 * message reports as soon as it is accepted, or the hart must stall, see nb_encoder_stalls().
 */
typedef bool (*nb_out_fn)(void *opaque, const uint8_t *bytes, size_t len);

struct nb_encoder_stats {
	uint64_t	bytes;
	uint64_t	messages[64];		/* by TCODE */
	uint64_t	half_words;		/* half-words of code that were traced */
	uint64_t	blocks_lost;		/* blocks that passed while the FIFO was full */
	uint64_t	overflows;
	uint64_t	stall_cycles;
};

/* Action at the end of a block. The configuration determines it for each itype. */
#define NB_ACT_SHIFT	(1U << 0)	/* add a bit to HIST */
#define NB_ACT_ONE	(1U << 1)	/* the bit is 1 */
#define NB_ACT_SLOW	(1U << 2)	/* the block needs nb_encoder_slow() */
#define NB_ACT_DIRECT	(1U << 3)	/* BTM: DirectBranch */
#define NB_ACT_JUMP	(1U << 4)	/* with SLOW, nb_encoder_jump() is sufficient if the target is known */

/* Only the encoder uses these members, except for the callbacks that the owner sets. */
struct nb_encoder {
	/* members that each block needs */
	uint32_t	attention;	/* not 0 if the next block needs nb_encoder_slow() */
	uint8_t		priv;
	uint8_t		action[16];
	uint32_t	hist;
	uint32_t	hist_full;
	uint64_t	icnt;
	uint64_t	icnt_stop;
	uint64_t	cycles;
	uint64_t	cycles_stop;

	/* state of the message stream */
	uint64_t	ref;		/* address that the next U-ADDR is relative to */
	uint64_t	time;		/* last timestamp sent */
	uint64_t	sync_base;	/* half-words since the last sync, without I-CNT */
	uint64_t	sync_start;	/* cycles or messages at the last synchronising message */
	uint64_t	n_messages;
	uint64_t	icnt_limit;
	struct nb_due	due;
	uint8_t		start_sync;	/* SYNC of the next start */
	bool		enabled;	/* between start and stop */
	bool		running;	/* enabled, and the last block was qualified */
	bool		asleep;		/* running, and the last block ended with wfi, in the variant WFI */
	uint8_t		pending;	/* message that waits for the next block's address */
	uint8_t		pending_btype;
	uint64_t	pending_addr;	/* expected target of a return */
	uint64_t	scontext;
	uint64_t	hcontext;
	struct nb_trace_state state;
	uint32_t	sessions;

	/* "Repeated History Optimization" and RepeatBranch */
	uint32_t	rep_hist;
	uint32_t	rep_count;
	bool		rep_open;	/* rep_hist was sent once and may be repeated */
	struct {
		uint64_t	icnt, target;
		uint32_t	count;
		uint8_t		tcode, btype;
		bool		valid;
	} rep;

	/* "Implicit Return Optimization" */
	uint64_t	stack[NB_STACK_MAX];
	uint64_t	stack_reports[NB_STACK_MAX];	/* value of @reports at the push */
	uint64_t	reports;	/* number of times that I-CNT was sent */
	uint32_t	chance;		/* random numbers, for some variants */
	uint32_t	stack_top;	/* next free entry, modulo NB_STACK_MAX */
	uint32_t	stack_n;	/* entries, at most cfg.stack_depth */

	/* FIFO to the sink */
	uint64_t	fifo_level;	/* bytes * 256 */
	uint64_t	fifo_cycles;	/* cycle for which fifo_level is valid */
	bool		lost;
	uint8_t		lost_ecode;
	uint64_t	retry_cycles;	/* cycle of the next attempt after a message was refused */
	uint32_t	n_held;		/* bytes in @held */
	bool		stalls;
	uint8_t		held[NB_FIFO_MAX + NB_FIFO_SLACK]; /* refused messages, each after its length */

	struct nb_encoder_config cfg;
	struct nb_encoder_stats stats;
	nb_out_fn	out;
	void		*opaque;

	/* callbacks, which the owner may set while the encoder is stopped, or NULL */
	uint64_t	(*now)(void *opaque);	/* timestamp for a message */
	void		*now_opaque;
	/* filter in addition to cfg.priv_mask */
	bool		(*qualify)(void *opaque, const struct nb_ingress *blk);
	void		*qualify_opaque;
	/* report a full FIFO, for trTeInstStallOrOverflow */
	void		(*stalled)(void *opaque, bool lost);
	void		*stalled_opaque;
};

/**
 * nb_encoder_init() - initialise a stopped encoder
 * @enc: Memory for the encoder, with any content
 * @cfg: The configuration, which is copied
 * @out: Called by the other functions for each message
 * @opaque: Argument of @out
 */
void nb_encoder_init(struct nb_encoder *enc, const struct nb_encoder_config *cfg,
		     nb_out_fn out, void *opaque);

/**
 * nb_encoder_configure() - change the configuration of a stopped encoder
 * @enc: The encoder, which keeps its statistics, contexts and callbacks
 * @cfg: The configuration, which is copied
 */
void nb_encoder_configure(struct nb_encoder *enc, const struct nb_encoder_config *cfg);

/**
 * nb_encoder_start() - start to trace with the next block
 * @enc: The encoder; the call has no effect if it is started
 * @sync: SYNC of the ProgTraceSync message, which is sent at the first
 *	qualified block because it needs the address
 */
void nb_encoder_start(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_stop() - end the trace after the last block
 * @enc: The encoder; if it traced, it sends pending trace and ProgTraceCorrelation
 * @evcode: Reason that ProgTraceCorrelation reports
 *
 * A jump or trap whose target is not known yet ends the trace without an
 * address. I-CNT of the last message counts up to this jump or trap.
 */
void nb_encoder_stop(struct nb_encoder *enc, enum nb_evcode evcode);

/**
 * nb_encoder_context() - the hart has written scontext or hcontext
 * @enc: The encoder, started or not
 * @scontext: The new value
 * @hcontext: The new value (0 without the hypervisor extension)
 *
 * Call it before nb_encoder_ingress() for the block with the writing
 * instruction. The Ownership message follows that block.
 */
void nb_encoder_context(struct nb_encoder *enc, uint64_t scontext, uint64_t hcontext);

/**
 * nb_encoder_notify() - mark the position in the trace at which a trigger fired
 * @enc: The encoder; the call has no effect unless it traces
 * @sync: NB_SYNC_EXT_TRIGGER or NB_SYNC_TRACE_EVENT, sent at the next block
 */
void nb_encoder_notify(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_debug() - the hart enters or leaves Debug Mode
 * @enc: The encoder
 * @enter: True to send ProgTraceCorrelation with EVCODE 0; false to continue
 *	the trace with SYNC 3
 */
void nb_encoder_debug(struct nb_encoder *enc, bool enter);

/**
 * nb_encoder_jump() - a block with an indirect jump to a known target has retired
 * @enc: The encoder
 * @iretire: Length of the block in half-words
 * @ninsn: Number of instructions in the block
 * @next: Address of the next block, which has the same privilege mode
 *
 * Call it instead of nb_encoder_ingress() if nb_encoder_action() returned NB_ACT_JUMP. It sends
 * the same message without waiting for the next block.
 */
void nb_encoder_jump(struct nb_encoder *enc, uint32_t iretire, uint32_t ninsn, uint64_t next);

/**
 * nb_encoder_drain() - send the content of the FIFO, because the sink may accept it now
 * @enc: The encoder, started or not
 */
void nb_encoder_drain(struct nb_encoder *enc);

/**
 * nb_encoder_drop() - discard the content of the FIFO and the record of lost messages
 * @enc: A stopped encoder
 */
void nb_encoder_drop(struct nb_encoder *enc);

/**
 * nb_encoder_is_empty() - check whether all generated trace has been emitted
 * @enc: The encoder
 *
 * Return: True if the FIFO is empty and no Error message is due.
 */
static inline bool nb_encoder_is_empty(const struct nb_encoder *enc)
{
	return !enc->n_held && !enc->lost;
}

/**
 * nb_encoder_stalls() - check whether the encoder stalls its hart
 * @enc: The encoder
 *
 * Return: True if no block may be passed until nb_encoder_drain() has ended the stall.
 */
static inline bool nb_encoder_stalls(const struct nb_encoder *enc)
{
	return enc->stalls && enc->enabled;
}

/* These handle the uncommon cases of nb_encoder_ingress(). Do not call them otherwise. */
void nb_encoder_slow(struct nb_encoder *enc, const struct nb_ingress *blk);
void nb_encoder_full(struct nb_encoder *enc);
void nb_encoder_direct(struct nb_encoder *enc, uint64_t end);

/**
 * nb_encoder_action() - choose the function that counts a block
 * @enc: The encoder, started or not
 * @itype: Type of the block
 * @priv: Privilege mode of the block
 *
 * Return: Argument of nb_encoder_count(). If NB_ACT_SLOW is set, use nb_encoder_slow() instead; if
 * NB_ACT_JUMP is set, nb_encoder_jump() is also possible.
 */
static inline unsigned int nb_encoder_action(const struct nb_encoder *enc, unsigned int itype,
					     unsigned int priv)
{
	if (NB_UNLIKELY(enc->attention || priv != enc->priv))
		return NB_ACT_SLOW;
	return enc->action[itype & 15];
}

/**
 * nb_encoder_count() - a block has retired that does not need nb_encoder_slow()
 * @enc: The encoder
 * @act: Result of nb_encoder_action(), without NB_ACT_SLOW
 * @iretire: Length of the block in half-words
 * @ninsn: Number of instructions in the block
 *
 * Return: True if nb_encoder_full() must be called. With NB_ACT_DIRECT, call nb_encoder_direct()
 * instead, whatever the result is.
 */
static inline bool nb_encoder_count(struct nb_encoder *enc, unsigned int act, uint32_t iretire,
				    uint32_t ninsn)
{
	enc->icnt += iretire;
	enc->cycles += ninsn;
	enc->hist = enc->hist << (act & NB_ACT_SHIFT) | (act & NB_ACT_ONE) >> 1;
	return NB_UNLIKELY(enc->icnt >= enc->icnt_stop || enc->hist >= enc->hist_full ||
			   enc->cycles >= enc->cycles_stop);
}

/**
 * nb_encoder_ingress() - a block has retired
 * @enc: The encoder, started or not
 * @blk: The block, which the caller may reuse afterwards
 */
static inline void nb_encoder_ingress(struct nb_encoder *enc, const struct nb_ingress *blk)
{
	unsigned int act = nb_encoder_action(enc, blk->itype, blk->priv);
	bool full;

	if (NB_UNLIKELY(act & NB_ACT_SLOW)) {
		nb_encoder_slow(enc, blk);
		return;
	}
	full = nb_encoder_count(enc, act, blk->iretire, blk->ninsn);
	if (act & NB_ACT_DIRECT)
		nb_encoder_direct(enc, blk->iaddr + 2ULL * blk->iretire);
	else if (full)
		nb_encoder_full(enc);
}

#endif /* NTRACE_BOARD_ENCODER_H */
