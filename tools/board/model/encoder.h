/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The N-Trace encoder converts blocks of retired instructions to messages.
 *
 * The encoder implements the RISC-V N-Trace 1.0 specification, and depends
 * neither on the emulator nor on the registers. regs.h declares the registers
 * of the hardware that contains an encoder. `ntrace encode` uses the encoder
 * without registers.
 *
 * A session is the trace of successive blocks. It starts with a synchronising
 * message. It ends if the encoder is stopped, if a filter excludes a block, or if
 * a message is lost. A synchronising message, or sync, has the field SYNC and a
 * full address.
 *
 * An owner calls the following functions in this order.
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

/* Types of messages (N-Trace, table "Fields in Messages") */
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

/* Values of the field SYNC (N-Trace, table "SYNC Field Values") */
enum nb_sync {
	NB_SYNC_EXT_TRIGGER	= 0,
	NB_SYNC_EXIT_RESET	= 1,
	NB_SYNC_PERIODIC	= 2,
	NB_SYNC_EXIT_DEBUG	= 3,
	NB_SYNC_SEQUENTIAL	= 4,	/* I-CNT is full; only BTM uses this value */
	NB_SYNC_TRACE_ENABLE	= 5,
	NB_SYNC_TRACE_EVENT	= 6,
	NB_SYNC_FIFO_OVERRUN	= 7,
	NB_SYNC_EXIT_POWERDOWN	= 9,
	NB_SYNC_NONE		= 16,	/* no synchronising message is due; this is not a value of the field */
};

/* Values of the field EVCODE (N-Trace, table "Program Trace Correlation Message Fields") */
enum nb_evcode {
	NB_EVCODE_DEBUG		= 0,
	NB_EVCODE_LOW_POWER	= 1,
	NB_EVCODE_DISABLED	= 4,
};

/* Trace modes, which are values of trTeInstMode */
enum nb_mode {
	NB_MODE_BTM = 3,
	NB_MODE_HTM = 6,
};

/*
 * Variants of the encoder, which are choices that the specification allows. The encoder only uses a variant
 * if the configuration selects it. A line has the identifier, the name and the description. Variants can be
 * combined. A variant for BTM has no effect in HTM, and a variant for HTM has no effect in BTM.
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

/* Behaviour of known encoders that the specification forbids. Option --variant also selects it. */
#define NB_DEVIATIONS(X) \
	X(SYNC_LACKS_BIT, "sync-lacks-bit", "SYNC at a taken branch has no bit for it, and is DirectBranchSync if HIST is empty (HTM)") \
	X(DIRECT_SYNC,	"direct-sync-in-htm", "ResourceFull of HIST, then DirectBranchSync at a taken branch (HTM)") \
	X(HIST_IN_BTM,	"hist-in-btm",	"ProgTraceCorrelation has an empty HIST (BTM)") \
	X(NO_HIST,	"no-hist-in-htm", "ProgTraceCorrelation has no HIST if it is empty (HTM)") \
	X(STACK_OVER_SYNC, "stack-over-sync", "only an overrun or a stop empties the return stack") \
	X(XRET_INTERRUPT, "trap-return-as-interrupt", "B-TYPE 3 if SYNC reports a trap return") \
	X(ECODE_BITS,	"ecode-8-bits",	"ECODE has 8 fixed bits, and TSTAMP follows in the same field") \
	X(TRAP_IN_GAP,	"trap-in-gap",	"traps of code that is not traced are reported")

enum nb_variant_bit {
#define X(id, name, text) NB_VARIANT_BIT_##id,
	NB_VARIANTS(X)
	NB_DEVIATIONS(X)
#undef X
};

enum nb_variant {
#define X(id, name, text) NB_VARIANT_##id = 1ULL << NB_VARIANT_BIT_##id,
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
uint64_t nb_variant_find(const char *name);

#define NB_MESSAGE_MAX		64	/* bytes; the fields of the specification need up to 38 */
#define NB_FIFO_MAX		1024	/* largest capacity of a FIFO for refused messages, in bytes */
#define NB_FIFO_DEFAULT		128	/* capacity of this FIFO if fifo_depth is 0, in bytes */
#define NB_FIFO_SLACK		1024	/* bytes that one block may add to the FIFO before the hart stalls */
#define NB_STACK_MAX		32	/* deepest stack of chapter "Implicit Return Optimization" */

/*
 * Differences of an encoder that is older than the specification. In nb_dialect_ratified, which follows the
 * specification, all bool members are false.
 */
struct nb_dialect {
	uint8_t		addr_bits;	/* number of address bits above bit 0 that messages contain on RV64 */
	uint16_t	stack_max;	/* maximum number of calls that the return stack can count */
	bool		xor_time;	/* TSTAMP of a message without SYNC is the XOR with the last timestamp */
	bool		empty_cdf;	/* CDF of ProgTraceCorrelation in HTM is 0 if HIST is empty */
	bool		swap_reported;	/* co-routine swaps have a message, and the return stack treats them as calls */
	bool		sync_at_branch;	/* a sync replaces ResourceFull, and reports the branch that filled HIST */
};

extern const struct nb_dialect nb_dialect_ratified, nb_dialect_sifive0;

/*
 * Configuration of an encoder. All members except @mode may be 0. The encoder
 * clamps numbers of bits that are out of range.
 */
struct nb_encoder_config {
	uint8_t		mode;			/* enum nb_mode */
	uint8_t		xlen;			/* 32 or 64; 0 is 64 */
	bool		context;		/* trTeContext, sends Ownership messages */
	bool		hcontext;		/* the hart has hcontext, which a second Ownership message reports */
	bool		timestamp;		/* trTsEnable */
	uint8_t		ts_width;		/* bits of the timestamp, 0 is 64 */
	uint8_t		sync_mode;		/* trTeInstSyncMode, 1 messages, 2 cycles, 3 half-words */
	uint8_t		sync_max;		/* trTeInstSyncMax N, the period is 2^(N + 4) units */
	bool		sync_delayed;		/* a periodic sync waits until a branch message is due */
	uint8_t		src_bits;		/* width of SRC, 0..12; 0 means trTeInhibitSrc */
	uint16_t	src_id;
	uint8_t		implicit_return;	/* mode 1..3 of implicit return; 0 is off */
	uint16_t	stack_depth;		/* calls in the return stack, 1..dialect->stack_max; 0 is the maximum */
	uint8_t		stack_bits;		/* number of address bits that mode 2 compares, 2..63; 0 means 17 */
	bool		sequential_jump;	/* trTeInstEnSequentialJump */
	bool		repeated_history;	/* trTeInstEnRepeatedHistory (HTM) */
	bool		all_jumps;		/* trTeInstEnAllJumps */
	bool		extend_addr;		/* trTeInstExtendAddrMSB */
	bool		repeat_branch;		/* RepeatBranch messages in BTM, which no register controls */
	bool		btype_extended;		/* B-TYPE is 2 for an exception and 3 for an interrupt, instead of 1 */
	bool		hist_always;		/* send HIST even if it is empty (HTM) */
	bool		icnt_sync;		/* a full I-CNT causes SYNC 4 (BTM) */
	uint8_t		icnt_bits;		/* width of I-CNT with the overflow bit, 4..22; 0 is 22 */
	uint8_t		hist_bits;		/* width of HIST with the stop bit, 2..32; 0 is 32 */
	uint8_t		priv_mask;		/* bit N selects enum nb_priv N for tracing; 0 selects all modes */
	bool		stall;			/* trTeInstStallEna, which stalls the hart while the FIFO is full */
	uint32_t	fifo_depth;		/* bytes of the FIFO before the sink; 0 means that it is never full */
	uint32_t	fifo_rate;		/* bytes that drain per 256 cycles */
	uint64_t	variant;		/* bits of enum nb_variant */
	uint32_t	seed;			/* seed of the random choices of variants */
	const struct nb_dialect *dialect;	/* NULL is nb_dialect_ratified */
	bool		runs;			/* RCODE 8 or 9 reports a HIST full of equal branches (HTM) */
	uint64_t	no_tstamp;		/* bit N: messages with TCODE N and without SYNC have no TSTAMP */
};

/*
 * Values of nb_trace_state.evcode for a session that ended because a message was lost, and for a session that
 * ended without a message (variant NO_STOP)
 */
#define NB_ENDED_LOST	0xff
#define NB_ENDED_SILENT	0xfe

/*
 * The state of the trace after the last block, which the truth records. @stamp changes whenever another
 * member changes.
 */
struct nb_trace_state {
	uint32_t	stamp;
	uint32_t	session;	/* number of the current session, from 1; 0 if the last block was not traced */
	uint32_t	starts;		/* number of sessions whose first message was sent */
	uint32_t	syncs;		/* number of synchronising messages since nb_encoder_init() */
	uint8_t		sync;		/* SYNC of the last synchronising message */
	uint8_t		evcode;		/* enum nb_evcode or NB_ENDED_* of the last session that ended */
	uint8_t		evcode_before;	/* value of @evcode before the last session ended */
};

/* Messages to send at one of the next blocks */
struct nb_due {
	uint8_t		sync;		/* SYNC of a synchronising message, or NB_SYNC_NONE */
	bool		sync_forced;	/* this message must not wait for a branch message (sync_delayed) */
	uint8_t		context;	/* enum nb_context_due, for Ownership messages */
};

enum nb_context_due {
	NB_CONTEXT_NONE,
	NB_CONTEXT_WRITTEN,	/* the encoder has not processed the block that wrote the context */
	NB_CONTEXT_RETIRED,	/* the encoder has processed this block, and must send the context */
};

struct nb_encoder;

/**
 * typedef nb_out_fn - accept one complete message
 * @opaque: The argument of nb_encoder_init()
 * @bytes: The message, valid during the call
 * @len: Length of the message, at most NB_MESSAGE_MAX
 *
 * Return: False if the function refuses the message and has used no part of it. The encoder keeps
 * a refused message in its FIFO, and offers it again before the next message. If the FIFO is full and
 * cfg.stall is set, the hart must stall, see nb_encoder_stalls(). Otherwise the encoder loses trace, and
 * sends an Error message as soon as this function accepts it.
 */
typedef bool (*nb_out_fn)(void *opaque, const uint8_t *bytes, size_t len);

struct nb_encoder_stats {
	uint64_t	bytes;
	uint64_t	messages[64];		/* number of messages of each TCODE */
	uint64_t	half_words;		/* number of half-words of code that were traced */
	uint64_t	blocks_lost;		/* number of blocks that were not traced because the FIFO was full */
	uint64_t	overflows;
	uint64_t	stall_cycles;
};

/*
 * Flags that describe the action of the encoder at the end of a block. They depend on the itype of the block and on
 * the configuration.
 */
#define NB_ACT_SHIFT	(1U << 0)	/* add a bit to HIST */
#define NB_ACT_ONE	(1U << 1)	/* the bit that is added to HIST is 1 */
#define NB_ACT_SLOW	(1U << 2)	/* the block needs nb_encoder_slow() */
#define NB_ACT_DIRECT	(1U << 3)	/* send DirectBranch (BTM) */
#define NB_ACT_JUMP	(1U << 4)	/* if the target is known, nb_encoder_jump() can replace nb_encoder_slow() */

/* An encoder. Its owner only sets the callbacks at the end; the other members are private to encoder.c. */
struct nb_encoder {
	/* Members that the encoder uses for each block */
	uint32_t	attention;	/* not 0 if nb_encoder_slow() must process the next block */
	uint8_t		priv;
	uint8_t		action[16];
	uint32_t	hist;
	uint32_t	hist_full;
	uint64_t	icnt;
	uint64_t	icnt_stop;
	uint64_t	cycles;
	uint64_t	cycles_stop;

	/* State of the messages that were sent */
	uint64_t	ref;		/* last address that was sent, to which the next U-ADDR is relative */
	uint64_t	time;		/* last timestamp that was sent */
	uint64_t	sync_base;	/* half-words that I-CNT of the messages since the last sync has reported */
	uint64_t	sync_start;	/* value of @n_messages (if sync_mode is 1) or @cycles at the last sync */
	uint64_t	n_messages;
	uint64_t	icnt_limit;
	struct nb_due	due;
	uint8_t		start_sync;	/* SYNC of the first message of the next session */
	bool		enabled;	/* nb_encoder_start() has started the encoder */
	bool		running;	/* the encoder is enabled, and traced the last block */
	bool		asleep;		/* the encoder is running, and the last block ended with wfi (variant WFI) */
	uint8_t		pending;	/* enum pending of the message that waits for the next block's address */
	uint8_t		pending_btype;
	uint64_t	pending_addr;	/* expected target of a return */
	uint64_t	scontext;
	uint64_t	hcontext;
	struct nb_trace_state state;
	uint32_t	sessions;

	/* State of the "Repeated History Optimization" and of RepeatBranch */
	uint32_t	rep_hist;
	uint32_t	rep_count;
	bool		rep_open;	/* a message with @rep_hist was sent, and the next one may repeat @rep_hist */
	struct {
		uint64_t	icnt, target;
		uint32_t	count;
		uint8_t		tcode, btype;
		bool		valid;
	} rep;

	/* State of the "Implicit Return Optimization" */
	uint64_t	stack[NB_STACK_MAX];
	uint64_t	stack_reports[NB_STACK_MAX];	/* value of @reports when the entry was added to @stack */
	uint64_t	reports;	/* number of sent messages that contain I-CNT */
	uint32_t	chance;		/* state of the random number generator that some variants use */
	uint32_t	stack_top;	/* @stack_top % NB_STACK_MAX is the index of the next free entry of @stack */
	uint32_t	stack_n;	/* number of entries in @stack, at most cfg.stack_depth */

	/* FIFO between the encoder and the sink */
	uint64_t	fifo_level;	/* fill level in 1/256 bytes, because fifo_rate is bytes per 256 cycles */
	uint64_t	fifo_cycles;	/* value of @cycles when @fifo_level was last updated */
	bool		lost;
	uint8_t		lost_ecode;
	uint64_t	retry_cycles;	/* value of @cycles at which the encoder tries to send the Error message */
	uint32_t	n_held;		/* number of bytes in @held */
	bool		stalls;
	uint8_t		held[NB_FIFO_MAX + NB_FIFO_SLACK]; /* refused messages, each after a byte with its length */

	struct nb_encoder_config cfg;
	struct nb_encoder_stats stats;
	nb_out_fn	out;
	void		*opaque;

	/* Callbacks, which the owner may set while the encoder is stopped; each may be NULL */
	uint64_t	(*now)(void *opaque);	/* returns the timestamp for a message */
	void		*now_opaque;
	/* returns whether to trace a block that cfg.priv_mask selects */
	bool		(*qualify)(void *opaque, const struct nb_ingress *blk);
	void		*qualify_opaque;
	/* reports for trTeInstStallOrOverflow that a message was lost, or that the hart stalls */
	void		(*stalled)(void *opaque, bool lost);
	void		*stalled_opaque;
};

/**
 * nb_encoder_init() - initialise a stopped encoder
 * @enc: Memory for the encoder, with any content
 * @cfg: The configuration, which is copied
 * @out: Receiver of the messages, which the other functions call
 * @opaque: Argument of @out
 */
void nb_encoder_init(struct nb_encoder *enc, const struct nb_encoder_config *cfg,
		     nb_out_fn out, void *opaque);

/**
 * nb_encoder_configure() - change the configuration of a stopped encoder
 * @enc: The encoder, whose statistics, contexts and callbacks do not change
 * @cfg: The configuration, which is copied
 */
void nb_encoder_configure(struct nb_encoder *enc, const struct nb_encoder_config *cfg);

/**
 * nb_encoder_start() - start to trace with the next block
 * @enc: The encoder; the call has no effect if the encoder is already started
 * @sync: SYNC of the ProgTraceSync message. This message needs the address of a
 *	block, so the encoder sends it at the first block that it traces.
 */
void nb_encoder_start(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_stop() - end the trace after the last block
 * @enc: The encoder. If it traced the last block, it sends pending trace and ProgTraceCorrelation.
 * @evcode: Reason that ProgTraceCorrelation reports
 *
 * A jump or trap whose target is not known yet ends the trace without an
 * address. I-CNT of the last message counts up to this jump or trap.
 */
void nb_encoder_stop(struct nb_encoder *enc, enum nb_evcode evcode);

/**
 * nb_encoder_context() - report that the hart has written scontext or hcontext
 * @enc: The encoder, started or not
 * @scontext: The value of scontext after the write
 * @hcontext: The value of hcontext after the write (0 without the hypervisor extension)
 *
 * Call this function before nb_encoder_ingress() for the block with the writing
 * instruction. The encoder sends the Ownership message after that block.
 */
void nb_encoder_context(struct nb_encoder *enc, uint64_t scontext, uint64_t hcontext);

/**
 * nb_encoder_notify() - mark the position in the trace at which a trigger fired
 * @enc: The encoder; the call has no effect if the encoder has not traced the last block
 * @sync: NB_SYNC_EXT_TRIGGER or NB_SYNC_TRACE_EVENT, the SYNC of a message that is sent at the next block
 */
void nb_encoder_notify(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_debug() - report that the hart enters or leaves Debug Mode
 * @enc: The encoder
 * @enter: True to send ProgTraceCorrelation with EVCODE 0; false to continue
 *	the trace with SYNC 3
 */
void nb_encoder_debug(struct nb_encoder *enc, bool enter);

/**
 * nb_encoder_jump() - trace a block that ends with an indirect jump to a known target
 * @enc: The encoder
 * @iretire: Length of the block in half-words
 * @ninsn: Number of instructions in the block
 * @next: Address of the next block, which has the same privilege mode
 *
 * Call this function instead of nb_encoder_ingress() if nb_encoder_action() returned NB_ACT_JUMP. It
 * sends the same message, but does not wait for the next block.
 */
void nb_encoder_jump(struct nb_encoder *enc, uint32_t iretire, uint32_t ninsn, uint64_t next);

/**
 * nb_encoder_drain() - send the content of the FIFO, because the sink may accept it now
 * @enc: The encoder, started or not
 */
void nb_encoder_drain(struct nb_encoder *enc);

/**
 * nb_encoder_drop() - discard the content of the FIFO, and forget that messages were lost
 * @enc: A stopped encoder
 */
void nb_encoder_drop(struct nb_encoder *enc);

/**
 * nb_encoder_is_empty() - check whether the output has accepted all messages
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
 * Return: True if the hart must not retire a block until nb_encoder_drain() has ended the stall.
 */
static inline bool nb_encoder_stalls(const struct nb_encoder *enc)
{
	return enc->stalls && enc->enabled;
}

/*
 * Handle the uncommon cases of nb_encoder_ingress(), which are any block that is not simple, a full counter, and a
 * direct branch or jump. A caller that uses nb_encoder_action() instead of nb_encoder_ingress() calls these three
 * functions when the results of nb_encoder_action() and nb_encoder_count() require it.
 */
void nb_encoder_slow(struct nb_encoder *enc, const struct nb_ingress *blk);
void nb_encoder_full(struct nb_encoder *enc);
void nb_encoder_direct(struct nb_encoder *enc, uint64_t end);

/**
 * nb_encoder_action() - choose the function to call for a block
 * @enc: The encoder, started or not
 * @itype: Type of the block
 * @priv: Privilege mode of the block
 *
 * Return: NB_ACT_* flags, the argument @act of nb_encoder_count(). If NB_ACT_SLOW is set, call
 * nb_encoder_slow() instead of nb_encoder_count(). If NB_ACT_JUMP is also set and the target is
 * known, nb_encoder_jump() is also possible.
 */
static inline unsigned int nb_encoder_action(const struct nb_encoder *enc, unsigned int itype,
					     unsigned int priv)
{
	if (NB_UNLIKELY(enc->attention || priv != enc->priv))
		return NB_ACT_SLOW;
	return enc->action[itype & 15];
}

/**
 * nb_encoder_count() - count a block that has retired and does not need nb_encoder_slow()
 * @enc: The encoder
 * @act: Result of nb_encoder_action(), without NB_ACT_SLOW
 * @iretire: Length of the block in half-words
 * @ninsn: Number of instructions in the block
 *
 * Return: True if the caller must call nb_encoder_full(). If @act contains NB_ACT_DIRECT, the caller
 * ignores the result and calls nb_encoder_direct().
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
 * nb_encoder_ingress() - trace a block that has retired
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
