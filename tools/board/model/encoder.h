/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The N-Trace encoder: blocks of retired instructions in, messages out.
 *
 * Written from the RISC-V N-Trace 1.0 specification. It knows neither the
 * emulator nor the registers: regs.h has the hardware around it, and
 * `ntrace encode` uses it bare.
 *
 * Life of an encoder:
 *
 *	nb_encoder_init(&enc, &config, out, opaque);
 *	nb_encoder_start(&enc, NB_SYNC_TRACE_ENABLE);
 *	nb_encoder_ingress(&enc, &block);	once for each block, traced or not
 *	nb_encoder_stop(&enc, NB_EVCODE_DISABLED);
 *
 * Not thread safe: the caller keeps calls for one encoder apart.
 * Nothing here allocates memory.
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
 * Things that the specification allows, and that this encoder does only on request: name, text.
 * Several can be on at once. One that is not for the encoder's mode has no effect.
 */
#define NB_VARIANTS(X) \
	X(TSTAMP_SOME,	"tstamp-some",	"TSTAMP on synchronising messages and a third of the others") \
	X(IDLE,		"idle",		"idle bytes between messages") \
	X(PAD,		"pad",		"more zeros, or sign bits, in variable fields than needed") \
	X(TRAP_FILTERED, "trap-filtered", "the address of a jump to code that is not traced, before the stop") \
	X(SPLIT,	"split",	"messages in the middle of a basic block: its owner gives single instructions") \
	X(OVERRUN_BRANCH, "overrun-branch", "SYNC 7 on a branch message, with I-CNT and HIST of before") \
	X(WFI,		"wfi",		"EVCODE 1 at wfi, and SYNC 9 after it") \
	X(ICNT_FIRST,	"icnt-first",	"ResourceFull of I-CNT before that of HIST") \
	X(FULL_BEFORE,	"full-before",	"ResourceFull of I-CNT before the instruction that fills it") \
	X(HIST_ANY,	"hist-any",	"HIST of any length is full") \
	X(HIST_FLUSH,	"hist-flush",	"ResourceFull of HIST, then ProgTraceSync") \
	X(HREPEAT_ONE,	"hrepeat-one",	"RCODE 2 with HREPEAT 1") \
	X(HREPEAT_SPLIT, "hrepeat-split", "RCODE 1, then RCODE 2 for what repeats it") \
	X(LINEAR_INDIRECT, "linear-indirect", "IndirectBranchSync on linear code") \
	X(LINEAR_DIRECT, "linear-direct", "DirectBranchSync on linear code (BTM)") \
	X(EARLY_STOP,	"early-stop",	"ProgTraceCorrelation before the first synchronising message") \
	X(NO_STOP,	"no-stop",	"no ProgTraceCorrelation when trace is switched off") \
	X(OWNERSHIP,	"ownership",	"Ownership though nothing has changed") \
	X(ECODE_ZERO,	"ecode-zero",	"ECODE 0") \
	X(ETYPE_VENDOR,	"etype-vendor",	"ETYPE 8") \
	X(VENDOR,	"vendor",	"messages with TCODE 56 to 62") \
	X(VENDOR_CODES,	"vendor-codes",	"EVCODE 8, and SYNC 14 for a periodic synchronisation") \
	X(BRANCH_NEXT,	"branch-next",	"a branch to the next instruction may be taken") \
	X(DEBUG,	"debug",	"Debug Mode now and then: EVCODE 0, SYNC 3") \
	X(TRIGGER,	"trigger",	"triggers now and then: SYNC 0 and 6") \
	X(RETURN_STRICT, "return-strict", "a return is implicit only if a message has reported its call") \
	X(STACK_STOPS,	"stack-stops",	"a full return stack takes no more calls") \
	X(SIGN_COPIES,	"sign-copies",	"addresses of RV64 have a copy of their sign above bit 63") \
	X(CYCLES,	"cycles",	"an instruction takes several cycles, and a jump more; wfi stands still")

enum nb_variant_bit {
#define X(id, name, text) NB_VARIANT_BIT_##id,
	NB_VARIANTS(X)
#undef X
};

enum nb_variant {
#define X(id, name, text) NB_VARIANT_##id = 1 << NB_VARIANT_BIT_##id,
	NB_VARIANTS(X)
#undef X
};

/**
 * nb_variant_find() - a variant by its name
 * @name: as in NB_VARIANTS
 *
 * Return: enum nb_variant, or 0 if there is none of that name.
 */
uint32_t nb_variant_find(const char *name);

#define NB_MESSAGE_MAX		64	/* bytes; the specification's own sum is 38 */
#define NB_FIFO_MAX		1024	/* bytes that a FIFO can hold while nobody takes them */
#define NB_FIFO_DEFAULT		128	/* ... if fifo_depth is 0, which is about its speed */
#define NB_FIFO_SLACK		1024	/* what one block may add before its hart stands still */
#define NB_STACK_MAX		32	/* chapter "Implicit Return Optimization": never deeper */

/*
 * How messages of an encoder older than the specification differ. If all members are 0, they have
 * the ratified form.
 */
struct nb_dialect {
	uint8_t		addr_bits;	/* of RV64: bits of an address above bit 0 that are sent */
	uint16_t	stack_max;	/* calls that the return stack can count */
	bool		xor_time;	/* TSTAMP without SYNC is XORed with the one before */
	bool		empty_cdf;	/* HTM: a Correlation with no HIST says so by CDF 0 */
	bool		swap_reported;	/* a swap of return stacks is a call, and never implicit */
	bool		sync_at_branch;	/* a sync due with HIST full takes the branch that filled it */
};

extern const struct nb_dialect nb_dialect_ratified, nb_dialect_sifive0;

/*
 * All 0 is a valid configuration except for @mode. Numbers of bits out of their
 * range are clamped.
 */
struct nb_encoder_config {
	uint8_t		mode;			/* enum nb_mode */
	uint8_t		xlen;			/* 32 or 64; 0 is 64 */
	bool		context;		/* trTeContext: Ownership messages */
	bool		hcontext;		/* the hart has hcontext: two Ownership messages */
	bool		timestamp;		/* trTsEnable */
	uint8_t		ts_width;		/* bits of the timestamp, 0 is 64 */
	uint8_t		sync_mode;		/* trTeInstSyncMode: messages, cycles, half-words */
	uint8_t		sync_max;		/* trTeInstSyncMax: every 2^(n + 4) of them */
	bool		sync_delayed;		/* periodic sync waits for a branch message */
	uint8_t		src_bits;		/* width of SRC, 0..12; 0: trTeInhibitSrc */
	uint16_t	src_id;
	uint8_t		implicit_return;	/* 0 off, or its mode 1..3 */
	uint16_t	stack_depth;		/* return stack, 1..dialect->stack_max; 0 is that */
	uint8_t		stack_bits;		/* of an address that mode 2 compares, 2..63; 0 is 17 */
	bool		sequential_jump;	/* trTeInstEnSequentialJump */
	bool		repeated_history;	/* trTeInstEnRepeatedHistory (HTM) */
	bool		all_jumps;		/* trTeInstEnAllJumps */
	bool		extend_addr;		/* trTeInstExtendAddrMSB */
	bool		repeat_branch;		/* RepeatBranch (BTM; no control bit) */
	bool		btype_extended;		/* B-TYPE 2 and 3, not 1 */
	bool		hist_always;		/* HTM: HIST even where it is empty */
	bool		icnt_sync;		/* BTM: a full I-CNT makes SYNC=4 */
	uint8_t		icnt_bits;		/* with its overflow bit, 4..22; 0 is 22 */
	uint8_t		hist_bits;		/* with its stop bit, 2..32; 0 is 32 */
	uint8_t		priv_mask;		/* traces enum nb_priv N where bit N; 0: all */
	bool		stall;			/* trTeInstStallEna: the hart waits */
	uint32_t	fifo_depth;		/* bytes before the sink; 0: never slow */
	uint32_t	fifo_rate;		/* bytes drained each 256 instructions */
	uint32_t	variant;		/* enum nb_variant, several */
	uint32_t	seed;			/* of what variants choose by chance */
	const struct nb_dialect *dialect;	/* NULL: ratified */
	bool		runs;			/* HTM: full HISTs of equal branches become RCODE 8 and 9 */
	uint64_t	no_tstamp;		/* bit N: messages of TCODE N without SYNC have no TSTAMP */
};

/* evcode if messages were lost, or if the encoder does not report its stops; else enum nb_evcode */
#define NB_ENDED_LOST	0xff
#define NB_ENDED_SILENT	0xfe

/*
 * What the encoder did with the last block, for the truth. @stamp changes whenever another member
 * does.
 */
struct nb_trace_state {
	uint32_t	stamp;
	uint32_t	session;	/* 0: the last block was not traced; else counts starts */
	uint32_t	starts;		/* sessions whose first message was sent, also those that lost the next */
	uint32_t	syncs;		/* synchronising messages so far */
	uint8_t		sync;		/* SYNC of the last, which gave that block's address */
	uint8_t		evcode;		/* how the last session ended */
	uint8_t		evcode_before;	/* how the session before it ended */
};

/* What is to be sent at the next chance */
struct nb_due {
	uint8_t		sync;		/* enum nb_sync */
	bool		sync_forced;	/* ... which is not to be put off longer */
	uint8_t		context;	/* Ownership: enum nb_context_due */
};

enum nb_context_due {
	NB_CONTEXT_NONE,
	NB_CONTEXT_WRITTEN,	/* by an instruction that has not retired yet */
	NB_CONTEXT_RETIRED,
};

struct nb_encoder;

/**
 * typedef nb_out_fn - takes one whole message
 * @opaque: as given to nb_encoder_init()
 * @bytes: the message, valid during the call
 * @len: its length, at most NB_MESSAGE_MAX
 *
 * Return: false if the message is refused, as a whole. The encoder's FIFO holds it then, and
 * gives it again before the next one. When the FIFO is full, trace is lost, and an Error message
 * says so as soon as one is taken; or the hart has to stand still, see nb_encoder_stalls().
 */
typedef bool (*nb_out_fn)(void *opaque, const uint8_t *bytes, size_t len);

struct nb_encoder_stats {
	uint64_t	bytes;
	uint64_t	messages[64];		/* by TCODE */
	uint64_t	half_words;		/* retired while traced */
	uint64_t	blocks_lost;		/* blocks that passed while the FIFO was full */
	uint64_t	overflows;
	uint64_t	stall_cycles;
};

/* What to do at the end of a block; one for each itype, made by the configuration. */
#define NB_ACT_SHIFT	(1U << 0)	/* add a bit to HIST */
#define NB_ACT_ONE	(1U << 1)	/* ... which is 1 */
#define NB_ACT_SLOW	(1U << 2)	/* look closer */
#define NB_ACT_DIRECT	(1U << 3)	/* BTM: DirectBranch */
#define NB_ACT_JUMP	(1U << 4)	/* with SLOW: ... unless its target is known */

/* Only the encoder uses these fields, except for those under "set by the owner". */
struct nb_encoder {
	/* read at each block */
	uint32_t	attention;	/* not 0: the next block needs nb_encoder_slow() */
	uint8_t		priv;
	uint8_t		action[16];
	uint32_t	hist;
	uint32_t	hist_full;
	uint64_t	icnt;
	uint64_t	icnt_stop;
	uint64_t	cycles;
	uint64_t	cycles_stop;

	/* the state of the stream */
	uint64_t	ref;		/* address that the next U-ADDR is relative to */
	uint64_t	time;		/* last timestamp sent */
	uint64_t	sync_base;	/* half-words since the last sync, without I-CNT */
	uint64_t	sync_start;	/* cycles, or messages, at the last synchronising message */
	uint64_t	n_messages;
	uint64_t	icnt_limit;
	struct nb_due	due;
	uint8_t		start_sync;	/* SYNC of the next start */
	bool		enabled;	/* between start and stop */
	bool		running;	/* ... and the last block was qualified */
	bool		asleep;		/* a variant: ... and ended with wfi */
	uint8_t		pending;	/* message that waits for the next block's address */
	uint8_t		pending_btype;
	uint64_t	pending_addr;	/* where a return is expected to go */
	uint64_t	scontext;
	uint64_t	hcontext;
	struct nb_trace_state state;
	uint32_t	sessions;

	/* "Repeated History Optimization" and RepeatBranch */
	uint32_t	rep_hist;
	uint32_t	rep_count;
	bool		rep_open;	/* rep_hist was sent once, and may be repeated */
	struct {
		uint64_t	icnt, target;
		uint32_t	count;
		uint8_t		tcode, btype;
		bool		valid;
	} rep;

	/* "Implicit Return Optimization" */
	uint64_t	stack[NB_STACK_MAX];
	uint64_t	stack_reports[NB_STACK_MAX];	/* @reports when it was pushed */
	uint64_t	reports;	/* times that I-CNT was sent */
	uint32_t	chance;		/* random numbers, for some variants */
	uint32_t	stack_top;	/* next free, runs on for ever */
	uint32_t	stack_n;	/* entries, at most cfg.stack_depth */

	/* FIFO to the sink */
	uint64_t	fifo_level;	/* bytes * 256 */
	uint64_t	fifo_cycles;	/* cycles when fifo_level was true */
	bool		lost;
	uint8_t		lost_ecode;
	uint64_t	retry_cycles;	/* when to try again after a message was refused */
	uint32_t	n_held;		/* bytes in @held */
	bool		stalls;
	uint8_t		held[NB_FIFO_MAX + NB_FIFO_SLACK]; /* refused messages, a length before each */

	struct nb_encoder_config cfg;
	struct nb_encoder_stats stats;
	nb_out_fn	out;
	void		*opaque;

	/* set by the owner while stopped; NULL where not needed */
	uint64_t	(*now)(void *opaque);	/* timestamp, once for each message */
	void		*now_opaque;
	/* filter beyond cfg.priv_mask */
	bool		(*qualify)(void *opaque, const struct nb_ingress *blk);
	void		*qualify_opaque;
	/* the FIFO was full: trTeInstStallOrOverflow */
	void		(*stalled)(void *opaque, bool lost);
	void		*stalled_opaque;
};

/**
 * nb_encoder_init() - make an encoder that is stopped
 * @enc: any memory
 * @cfg: copied
 * @out: called for each message, from within the other functions
 * @opaque: for @out
 */
void nb_encoder_init(struct nb_encoder *enc, const struct nb_encoder_config *cfg,
		     nb_out_fn out, void *opaque);

/**
 * nb_encoder_configure() - change the configuration of a stopped encoder
 * @enc: keeps its statistics, contexts and callbacks
 * @cfg: copied
 */
void nb_encoder_configure(struct nb_encoder *enc, const struct nb_encoder_config *cfg);

/**
 * nb_encoder_start() - trace from the next block on
 * @enc: the encoder; no effect if it is started
 * @sync: SYNC of the ProgTraceSync message, which is sent when the first
 *	qualified block gives its address
 */
void nb_encoder_start(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_stop() - end the trace after the last block given
 * @enc: sends what is held back and ProgTraceCorrelation, if it was tracing
 * @evcode: the reason
 *
 * A jump or trap whose target is not known yet ends the trace without an
 * address: I-CNT of the last message counts up to it.
 */
void nb_encoder_stop(struct nb_encoder *enc, enum nb_evcode evcode);

/**
 * nb_encoder_context() - the hart has written scontext or hcontext
 * @enc: the encoder, started or not
 * @scontext: value now
 * @hcontext: value now (0 without the hypervisor extension)
 *
 * Call it before the block that holds the writing instruction is given. The
 * Ownership message follows that block.
 */
void nb_encoder_context(struct nb_encoder *enc, uint64_t scontext, uint64_t hcontext);

/**
 * nb_encoder_notify() - a trigger fired: mark the place in the trace
 * @enc: no effect unless tracing
 * @sync: NB_SYNC_EXT_TRIGGER or NB_SYNC_TRACE_EVENT, sent at the next block
 */
void nb_encoder_notify(struct nb_encoder *enc, enum nb_sync sync);

/**
 * nb_encoder_debug() - the hart enters or leaves Debug Mode
 * @enc: the encoder
 * @enter: true: ProgTraceCorrelation with EVCODE 0 is sent; false: the trace
 *	goes on with SYNC 3
 */
void nb_encoder_debug(struct nb_encoder *enc, bool enter);

/**
 * nb_encoder_jump() - a block has retired that ends with an indirect jump, and its target is known
 * @enc: the encoder
 * @iretire: half-words
 * @ninsn: instructions
 * @next: where the next block will begin, at the same privilege
 *
 * Instead of nb_encoder_ingress(), where nb_encoder_action() has NB_ACT_JUMP. The message does
 * not wait for the next block, and is the same.
 */
void nb_encoder_jump(struct nb_encoder *enc, uint32_t iretire, uint32_t ninsn, uint64_t next);

/**
 * nb_encoder_drain() - the way to the sink may be free again: send what the FIFO holds
 * @enc: the encoder, started or not
 */
void nb_encoder_drain(struct nb_encoder *enc);

/**
 * nb_encoder_drop() - forget what the FIFO holds, and what was lost
 * @enc: stopped
 */
void nb_encoder_drop(struct nb_encoder *enc);

/**
 * nb_encoder_is_empty() - has all trace been emitted that was generated?
 * @enc: the encoder; false too while an Error message is due
 */
static inline bool nb_encoder_is_empty(const struct nb_encoder *enc)
{
	return !enc->n_held && !enc->lost;
}

/**
 * nb_encoder_stalls() - does the encoder want its hart to stand still?
 * @enc: the encoder; if so, no block may be given until nb_encoder_drain() has ended it
 */
static inline bool nb_encoder_stalls(const struct nb_encoder *enc)
{
	return enc->stalls && enc->enabled;
}

/* The uncommon cases of nb_encoder_ingress(); not to be called otherwise. */
void nb_encoder_slow(struct nb_encoder *enc, const struct nb_ingress *blk);
void nb_encoder_full(struct nb_encoder *enc);
void nb_encoder_direct(struct nb_encoder *enc, uint64_t end);

/**
 * nb_encoder_action() - how a block can be counted
 * @enc: the encoder, started or not
 * @itype: of the block
 * @priv: of the block
 *
 * Return: for nb_encoder_count(), or with NB_ACT_SLOW: give the block to nb_encoder_slow(), or
 * with NB_ACT_JUMP too to nb_encoder_jump().
 */
static inline unsigned int nb_encoder_action(const struct nb_encoder *enc, unsigned int itype,
					     unsigned int priv)
{
	if (NB_UNLIKELY(enc->attention || priv != enc->priv))
		return NB_ACT_SLOW;
	return enc->action[itype & 15];
}

/**
 * nb_encoder_count() - one block has retired that needs no closer look
 * @enc: the encoder
 * @act: of nb_encoder_action(), without NB_ACT_SLOW
 * @iretire: half-words
 * @ninsn: instructions
 *
 * Return: whether nb_encoder_full() is to be called; with NB_ACT_DIRECT nb_encoder_direct() is,
 * in any case.
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
 * nb_encoder_ingress() - one block has retired
 * @enc: the encoder, started or not
 * @blk: the block; may be reused when the call returns
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
