/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * libntrace: decode RISC-V N-Trace (RISC-V N-Trace Specification 1.0).
 *
 * Four layers, each of use alone:
 *
 *   message  bytes to struct nt_message			(chapters 3, 6, 7)
 *   insn     opcode to struct nt_insn			(chapter 2)
 *   image    code, by address space and address
 *   flow     messages and code to what was executed	(chapters 8, 9, 11)
 *
 * "Chapter" is always a chapter of that specification. Fields and messages
 * bear its names: I-CNT is icnt, F-ADDR and U-ADDR are addr.
 *
 * Names: an object is opaque and made by nt_<object>_new(), given back by
 * nt_<object>_free(NULL is fine); a function of it is nt_<object>_<verb>().
 *
 * Errors: a function that can fail returns a negative number of NT_ERRORS, and
 * the comment above it lists which ones. The library prints nothing.
 *
 * Threads: the library has no global state. Different objects may be used by
 * different threads at a time; one object by one thread at a time, except for
 * struct nt_image, which any number of flows in any number of threads may read
 * at the same time, as long as none changes it (nt_image_add(),
 * nt_image_set_reader(), nt_image_invalidate() and the like) and its reader allows for it.
 *
 * Structures that a program allocates may get longer in a newer library. struct nt_config begins
 * with its own size: set it up by NT_CONFIG_INIT or nt_config_init(). Of the others the program's
 * size is passed: nt_<...>() is an inline function that calls nt_<...>_sized() with sizeof().
 * Other languages call that one. struct nt_range and struct nt_mark stay as they are.
 * A configuration that is NULL is the plain case, NT_CONFIG_INIT.
 *
 * Units: addresses and sizes are in bytes, I-CNT is in half-words (16 bit),
 * timestamps are in ticks of the trace source's counter.
 */
#ifndef NTRACE_NTRACE_H
#define NTRACE_NTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NT_VERSION_MAJOR	1
#define NT_VERSION_MINOR	0

/* "1.0": the version of the library that runs. Never fails. */
const char *nt_version(void);

/*
 * Errors: name, number, sentence, hint.
 *
 * -1..-9 are errors of a call. The others are found in the trace, and reported
 * by NT_ITEM_ERROR; those up to -29 concern a message, from -30 on the flow. Two of them are no
 * errors of the trace, and reported by NT_ITEM_GAP: see nt_error_is_gap().
 */
#define NT_ERRORS(X)								\
	X(NT_E_NOMEM,	 -1, "out of memory",					\
	  "")									\
	X(NT_E_INVALID,	 -2, "an argument is not valid",			\
	  "")									\
	X(NT_E_SPACE,	 -3, "the buffer for the result is too small",		\
	  "")									\
	X(NT_E_NOT_FOUND, -4, "there is no such thing",				\
	  "")									\
	X(NT_E_BUSY,	 -5, "the buffer fed before is not used up yet",	\
	  "call nt_flow_next() until it returns 0")				\
	X(NT_E_MSEO,	-10, "reserved MSEO sequence",				\
	  "the trace is damaged, or is not N-Trace")				\
	X(NT_E_TOO_LONG, -11, "message is longer than any can be",		\
	  "the trace is damaged; memory that was never written looks like this") \
	X(NT_E_OVERFLOW, -12, "field has more bits than its maximum",		\
	  "the trace is damaged, or the width of SRC is not the one given")	\
	X(NT_E_MISSING,	-13, "message ends before its last field",		\
	  "the trace is damaged, or the width of SRC is not the one given")	\
	X(NT_E_EXTRA,	-14, "message has more fields than its type",		\
	  "are timestamps on? the trace may be damaged too")			\
	X(NT_E_TRUNCATED, -15, "trace ends inside a message",			\
	  "the last bytes were lost")						\
	X(NT_E_HIST_ZERO, -16, "HIST has no stop-bit",				\
	  "the trace is damaged")						\
	X(NT_E_RESERVED, -17, "field has a reserved value",			\
	  "the trace is damaged, or of a later version")			\
	X(NT_E_FRAME_ID, -18, "frame has a reserved trace ID",			\
	  "the trace is damaged, or is not of a CoreSight formatter")		\
	X(NT_E_FRAME_SYNC, -19, "frame ends before its last byte",		\
	  "bytes of the trace were lost")					\
	X(NT_E_KIND,	-20, "message of a kind that the encoder does not send",	\
	  "the trace is damaged, or the encoder sends more than the flow")	\
	/* not given any more */						\
	X(NT_E_HIST_SIZE, -21, "HIST that is full has another size than before",	\
	  "the trace is damaged")						\
	X(NT_E_NO_CODE,	-30, "there is no code at this address",		\
	  "give the program, library or firmware that was executed")		\
	X(NT_E_INSN,	-31, "code has no valid instruction at this address",	\
	  "is this the program that was executed?")				\
	X(NT_E_ICNT_INSN, -32, "I-CNT ends inside an instruction",		\
	  "is this the program that was executed?")				\
	X(NT_E_ICNT_LEFT, -33, "I-CNT goes on past a jump that needs an address", \
	  "is implicit return or sequential jump on? is this the program that was executed?") \
	X(NT_E_ICNT_SHORT, -34, "I-CNT ends before the last bit of HIST",	\
	  "is this the program that was executed?")				\
	X(NT_E_HIST_SHORT, -35, "branch has no bit in HIST",			\
	  "is this the program that was executed? is all jumps on?")		\
	X(NT_E_HIST_LEFT, -36, "HIST has bits left for which there is no branch", \
	  "is this the program that was executed? is all jumps on?")		\
	X(NT_E_HIST_JUMP, -37, "HIST says that an unconditional jump was not taken", \
	  "is all jumps on?")							\
	X(NT_E_CLASS,	-38, "last instruction does not fit the message",	\
	  "is this the program that was executed?")				\
	X(NT_E_ADDR,	-39, "address in the message is not the one reached",		\
	  "is this the program that was executed? was the trace interrupted?")	\
	X(NT_E_NO_RETURN, -40, "implicit return, but no call before it",	\
	  "is implicit return on? is this the program that was executed?")	\
	X(NT_E_NO_REPEAT, -41, "RepeatBranch has no branch message before it",	\
	  "the trace is damaged")						\
	X(NT_E_ENDLESS,	-42, "code loops with neither branch nor end",		\
	  "is this the program that was executed?")				\
	X(NT_E_RESTART,	-43, "trace restarts, and had not said that it stopped", \
	  "messages were lost")							\
	X(NT_E_MODE,	-44, "message of the other trace mode",			\
	  "the trace is damaged, or is of two encoders")			\
	X(NT_E_PRIV,	-45, "PROCESS has no such privilege mode",		\
	  "the trace is damaged")						\
	X(NT_E_GAP_RETURN, -46, "implicit return of a call that missing code hides", \
	  "give the program, library or firmware that was executed")		\
	X(NT_E_SKIPPED, -47, "message that this decoder cannot follow moves the PC",	\
	  "switch the feature off in the encoder: bits 4 and 5 of trTeInstFeatures")	\
	X(NT_E_DEVIATION, -48, "the encoder deviates from the specification",	\
	  "decode without --strict: the summary lists how the encoder deviates")

enum nt_error {
	NT_OK = 0,
#define NT_ERROR_ENUM(name, number, text, hint)	name = number,
	NT_ERRORS(NT_ERROR_ENUM)
#undef NT_ERROR_ENUM
};

/*
 * Does NT_ITEM_GAP report it? Then code is missing, and the trace is right as far as is known. With
 * that code it would be decoded.
 */
static inline bool nt_error_is_gap(int error)
{
	return error == NT_E_NO_CODE || error == NT_E_GAP_RETURN;
}

/* "NT_E_ADDR"; its sentence; its hint, "" where there is none. Any number is fine. */
const char *nt_error_name(int error);
const char *nt_error_text(int error);
const char *nt_error_hint(int error);

/*
 * How the encoder was set up. A zero is the plain case, but for @xlen (64),
 * and @src_id (NT_SRC_ANY).
 */
struct nt_config {
	size_t		size;		/* sizeof(struct nt_config) */
	uint32_t	xlen;		/* 32 or 64 */
	uint32_t	src_bits;	/* trTeSrcBits, 0..12; 0 too with trTeInhibitSrc */
	uint32_t	src_id;		/* decode this source only, or NT_SRC_ANY */
	uint32_t	mode;		/* enum nt_mode */
	uint32_t	timestamp;	/* 1: trTsEnable, messages may end with TSTAMP */
	uint32_t	tstamp_bits;	/* trTsWidth; 0 is 64. Timestamps go on past a wrap. */
	uint32_t	return_depth;	/* trTeInstEnImplicitReturn: depth, usually 32; 0 off */
	uint32_t	sequential_jump; /* 1: trTeInstEnSequentialJump */
	uint32_t	all_jumps;	/* 1: trTeInstEnAllJumps */
	uint32_t	extend_addr;	/* 1: trTeInstExtendAddrMSB */
	uint32_t	isa;		/* NT_ISA_*: beyond I, C, Zicsr and privileged */
	uint64_t	jvt;		/* CSR jvt: table of cm.jt and cm.jalt */
	uint32_t	dialect;	/* enum nt_dialect */
	uint32_t	addr_bits;	/* addresses are sent without bits above these; 0: see there */
	uint32_t	return_full;	/* enum nt_return_full: a call when the stack is full */
	uint32_t	custom_jumps;	/* NT_CUSTOM_*: beyond custom-0 to custom-3 and over 32 bits */
	uint32_t	flow_only;	/* 1: no Ownership (trTeContext is 0), data or event */
	uint32_t	accept;		/* deviations that the encoder has beside its dialect's */
	uint32_t	strict;		/* 1: each deviation is an error */
};

/*
 * Known deviations of encoders from the specification. Each entry has its number, the name of its
 * option, a sentence, and the chapter that it contradicts. nt_stats::deviations counts each one.
 *
 * The decoder always accepts a deviation that it cannot mistake for damage. It accepts those of
 * NT_DEV_UNSURE only if nt_config::dialect or nt_config::accept names them. nt_config::accept has bit
 * 1 << number of each deviation.
 */
#define NT_DEVIATIONS(X)							\
	X(NT_DEV_DIRECT_SYNC, 0, "direct-sync-in-htm",				\
	  "DirectBranchSync reports a branch in HTM", "7.6")			\
	X(NT_DEV_HIST_IN_BTM, 1, "hist-in-btm",					\
	  "a message has HIST in BTM", "7.12")					\
	X(NT_DEV_NO_HIST, 2, "no-hist-in-htm",					\
	  "ProgTraceCorrelation has no HIST in HTM", "7.12")			\
	X(NT_DEV_SYNC_LACKS_BIT, 3, "sync-lacks-bit",				\
	  "HIST lacks the branch that a message with SYNC reports", "8.4")	\
	X(NT_DEV_STACK_OVER_SYNC, 4, "stack-over-sync",				\
	  "SYNC does not empty the return stack", "8.4")			\
	X(NT_DEV_XRET_INTERRUPT, 5, "trap-return-as-interrupt",			\
	  "B-TYPE of a trap return is that of a trap", "6.2")			\
	X(NT_DEV_REPEAT_INSN, 6, "repeat-instruction",				\
	  "RepeatInstruction of IEEE-ISTO 5001 reports instructions", "6.1")	\
	X(NT_DEV_ECODE_BITS, 7, "ecode-8-bits",					\
	  "TSTAMP follows ECODE in the same field", "7.4")			\
	X(NT_DEV_TRAP_IN_GAP, 8, "trap-in-gap",					\
	  "a trap is reported while trace is disabled", "7.12")			\
	X(NT_DEV_ADDR_BITS, 9, "address-sign-bits",				\
	  "an address has copies of its sign above its width", "8.1")

enum nt_deviation {
#define NT_DEVIATION_ENUM(name, number, option, text, chapter)	name = number,
	NT_DEVIATIONS(NT_DEVIATION_ENUM)
#undef NT_DEVIATION_ENUM
};

#define NT_DEV_BIT(number)	(1u << (number))
#define NT_DEV_UNSURE							\
	(NT_DEV_BIT(NT_DEV_SYNC_LACKS_BIT) | NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC) | \
	 NT_DEV_BIT(NT_DEV_TRAP_IN_GAP))
#define NT_DEV_MAX		32	/* room in nt_stats::deviations */

/* The name, what the encoder does, and the chapter; NULL if there is no such deviation. */
const char *nt_deviation_name(unsigned int deviation);
const char *nt_deviation_text(unsigned int deviation);
const char *nt_deviation_chapter(unsigned int deviation);

/*
 * The encoder. Each one has a name ("accemic"), the messages that it sends, and the deviations that
 * it is known to have.
 *
 * NT_DIALECT_RATIFIED: any encoder that follows the specification.
 *
 * NT_DIALECT_SIFIVE0: SiFive cores whose trace components are of version 0, as the P550. TSTAMP is
 * XORed with the timestamp before; RCODE 8 and 9 are runs of branches; TCODE 7, 23, 34 and 35 are
 * messages; addresses of RV64 have 48 bits if @addr_bits is 0. Their implicit return counts up to
 * NT_RETURN_DEPTH_SIFIVE0 calls, and compares no address: if it is on, no return to a call that is
 * counted is reported, and if it is off, each return is. The decoder sees which it is, and anything
 * else is an error. So are a B-TYPE of 3, and HIST that is full with another size than before.
 *
 * NT_DIALECT_SPACEMIT_K3: SpacemiT's K3, which sends addresses with copies of their sign.
 *
 * NT_DIALECT_ACCEMIC: CEDARtools.TraceEncoder. SYNC leaves its return stack as it is, which has 16
 * entries and ignores a call when it is full. TCODE 31 and 32 are those of IEEE-ISTO 5001. TCODE 56
 * and 57 move the PC, which cannot be followed.
 *
 * NT_DIALECT_MICROBLAZE_V: AMD MicroBlaze V, which has none of the optional features.
 */
enum nt_dialect {
	NT_DIALECT_RATIFIED	= 0,
	NT_DIALECT_SIFIVE0	= 1,
	NT_DIALECT_SPACEMIT_K3	= 2,
	NT_DIALECT_ACCEMIC	= 3,
	NT_DIALECT_MICROBLAZE_V	= 4,
};

/* "accemic": the name of the encoder; NULL if there is no such dialect */
const char *nt_encoder_name(unsigned int dialect);

/* Set *dialect to that of the encoder @name. NT_OK; NT_E_NOT_FOUND */
int nt_encoder_find(const char *name, uint32_t *dialect);

/* Entries of the return stack of that encoder, for nt_config::return_depth */
uint32_t nt_encoder_return_depth(unsigned int dialect);

enum nt_mode {
	NT_MODE_AUTO	= 0,	/* seen from the messages */
	NT_MODE_BTM	= 3,	/* trTeInstMode, chapter 5 */
	NT_MODE_HTM	= 6,
};

#define NT_SRC_ANY		0xffffffffu
#define NT_SRC_BITS_MAX		12
#define NT_RETURN_DEPTH		32	/* chapter 9.2: never deeper */
#define NT_RETURN_DEPTH_SIFIVE0	1023
#define NT_RETURN_DEPTH_MAX	4096
#define NT_ADDR_BITS_MIN	32

#define NT_ISA_ZCMP		(1u << 0)	/* its encodings are c.fsdsp of D otherwise */
#define NT_ISA_ZCMT		(1u << 1)

/*
 * The encoder's return stack is full, and there is a call: chapter 9.2 does not say which
 * entry is lost. It matters only if @return_depth is the encoder's own depth, and the program
 * does not return to its calls in order.
 */
enum nt_return_full {
	NT_RETURN_DROP_OLDEST	= 0,	/* a ring */
	NT_RETURN_DROP_NEWEST	= 1,	/* the call is not pushed; decoding is slower */
};

/* Custom instructions that may change the PC (chapter 10.1), beside custom-0 to custom-3 */
#define NT_CUSTOM_SYSTEM	(1u << 0)	/* SYSTEM encodings for custom use */
#define NT_CUSTOM_COMPRESSED	(1u << 1)	/* any of 16 bits that is no jump by the standard */

#ifndef __cplusplus
#define NT_CONFIG_INIT	{ .size = sizeof(struct nt_config), .xlen = 64, .src_id = NT_SRC_ANY }
#else
#define NT_CONFIG_INIT	nt_config_initial()
static inline struct nt_config nt_config_initial(void)
{
	struct nt_config config = {};

	config.size = sizeof(config);
	config.xlen = 64;
	config.src_id = NT_SRC_ANY;
	return config;
}
#endif

/* As NT_CONFIG_INIT, for other languages. @size is sizeof(struct nt_config). */
void nt_config_init(struct nt_config *config, size_t size);

/* NT_OK; NT_E_INVALID: a value is out of its range */
int nt_config_check(const struct nt_config *config);

/* ------------------------------------------------------------------ message */

/* TCODE: table "Fields in Messages". The decoder frames and skips any other. */
enum nt_tcode {
	NT_TCODE_OWNERSHIP			= 2,
	NT_TCODE_DIRECT_BRANCH		= 3,
	NT_TCODE_INDIRECT_BRANCH		= 4,
	NT_TCODE_ERROR			= 8,
	NT_TCODE_PROG_TRACE_SYNC		= 9,
	NT_TCODE_DIRECT_BRANCH_SYNC		= 11,
	NT_TCODE_INDIRECT_BRANCH_SYNC		= 12,
	NT_TCODE_RESOURCE_FULL		= 27,
	NT_TCODE_INDIRECT_BRANCH_HIST		= 28,
	NT_TCODE_INDIRECT_BRANCH_HIST_SYNC	= 29,
	NT_TCODE_REPEAT_BRANCH		= 30,
	NT_TCODE_PROG_TRACE_CORRELATION	= 33,
	NT_TCODE_VENDOR_FIRST			= 56,
	NT_TCODE_VENDOR_LAST			= 62,
	/* NT_DIALECT_ACCEMIC only */
	NT_TCODE_REPEAT_INSN		= 31,
	NT_TCODE_REPEAT_INSN_SYNC	= 32,
	/* NT_DIALECT_SIFIVE0 only */
	NT_TCODE_DATA_ACQUISITION	= 7,
	NT_TCODE_AUX_ACCESS_WRITE	= 23,
	NT_TCODE_IN_CIRCUIT_TRACE	= 34,
	NT_TCODE_IN_CIRCUIT_TRACE_SYNC	= 35,
};

/* nt_message::fields: which fields the message has */
enum nt_field {
	NT_FIELD_SRC	 = 1 << 0,
	NT_FIELD_SYNC	 = 1 << 1,
	NT_FIELD_BTYPE	 = 1 << 2,
	NT_FIELD_ICNT	 = 1 << 3,
	NT_FIELD_FADDR	 = 1 << 4,	/* in nt_message::addr */
	NT_FIELD_UADDR	 = 1 << 5,	/* in nt_message::addr */
	NT_FIELD_HIST	 = 1 << 6,
	NT_FIELD_TSTAMP	 = 1 << 7,
	NT_FIELD_PROCESS = 1 << 8,	/* in nt_message::value, and taken apart */
	NT_FIELD_ETYPE	 = 1 << 9,	/* in nt_message::code */
	NT_FIELD_ECODE	 = 1 << 10,	/* in nt_message::value */
	NT_FIELD_RCODE	 = 1 << 11,	/* in nt_message::code */
	NT_FIELD_RDATA	 = 1 << 12,	/* in nt_message::value: RCODE is none of 0, 1, 2 */
	NT_FIELD_HREPEAT = 1 << 13,	/* in nt_message::value */
	NT_FIELD_BCNT	 = 1 << 14,	/* in nt_message::value */
	NT_FIELD_EVCODE	 = 1 << 15,	/* in nt_message::code */
	NT_FIELD_CDF	 = 1 << 16,
	/* NT_DIALECT_SIFIVE0 only */
	NT_FIELD_IDTAG	 = 1 << 17,	/* in nt_message::value */
	NT_FIELD_DQDATA	 = 1 << 18,	/* in nt_message::data */
	NT_FIELD_AUX_ADDR = 1 << 19,	/* in nt_message::value */
	NT_FIELD_AUX_DATA = 1 << 20,	/* in nt_message::data */
	NT_FIELD_CKSRC	 = 1 << 21,	/* in nt_message::code */
	NT_FIELD_CKDF	 = 1 << 22,	/* in nt_message::cdf */
	NT_FIELD_CKDATA0 = 1 << 23,	/* in nt_message::value, as sent */
	NT_FIELD_CKDATA1 = 1 << 24,	/* in nt_message::data, as sent */
	NT_FIELD_RCNT	 = 1 << 25,	/* in nt_message::value: RepeatInstruction */
};

/* B-TYPE, chapter 6.2 */
enum nt_btype {
	NT_BTYPE_INDIRECT	= 0,	/* jump, call, return; or none, in a message with SYNC */
	NT_BTYPE_TRAP		= 1,	/* exception or interrupt */
	NT_BTYPE_EXCEPTION	= 2,
	NT_BTYPE_INTERRUPT	= 3,
};

/* SYNC, table "SYNC Field Values" */
enum nt_sync {
	NT_SYNC_EXT_TRIGGER	= 0,
	NT_SYNC_EXIT_RESET	= 1,
	NT_SYNC_PERIODIC	= 2,
	NT_SYNC_EXIT_DEBUG	= 3,
	NT_SYNC_SEQ_ICNT	= 4,
	NT_SYNC_TRACE_ENABLE	= 5,
	NT_SYNC_TRACE_EVENT	= 6,
	NT_SYNC_FIFO_OVERRUN	= 7,
	NT_SYNC_POWER_DOWN	= 9,
	NT_SYNC_PC_SAMPLE	= 15,	/* NT_DIALECT_SIFIVE0 */
};

enum nt_rcode {
	NT_RCODE_ICNT = 0, NT_RCODE_HIST = 1, NT_RCODE_HIST_REPEAT = 2,
	/* NT_DIALECT_SIFIVE0: as many branches as HREPEAT says, all not taken, or all taken */
	NT_RCODE_NOT_TAKEN = 8, NT_RCODE_TAKEN = 9,
};

/* CKSRC of NT_TCODE_IN_CIRCUIT_TRACE: what the encoder reports */
enum nt_cksrc {
	NT_CKSRC_CONTROL	= 0,	/* CKDATA0 is a code, unless there is CKDATA1 */
	NT_CKSRC_EXT_TRIGGER	= 8,
	NT_CKSRC_CALL		= 9,	/* CKDATA1: where to, XORed with where from */
	NT_CKSRC_EXCEPTION	= 10,	/* CKDATA1: cause */
	NT_CKSRC_INTERRUPT	= 11,	/* CKDATA1: cause */
	NT_CKSRC_CONTEXT	= 13,	/* CKDATA1: new context */
	NT_CKSRC_WATCHPOINT	= 14,
	NT_CKSRC_PC_SAMPLE	= 15,
};
enum nt_evcode { NT_EVCODE_DEBUG = 0, NT_EVCODE_LOW_POWER = 1, NT_EVCODE_DISABLED = 4 };
enum nt_format { NT_FORMAT_PRIV = 0, NT_FORMAT_SCONTEXT = 2, NT_FORMAT_HCONTEXT = 3 };

/* nt_message::priv and nt_context::priv: V << 2 | PRV */
enum nt_priv {
	NT_PRIV_U = 0, NT_PRIV_S = 1, NT_PRIV_M = 3, NT_PRIV_VU = 4, NT_PRIV_VS = 5,
};

struct nt_message {
	uint64_t	offset;		/* of its first byte in the stream */
	uint32_t	length;		/* bytes */
	uint32_t	fields;		/* NT_FIELD_* */
	uint16_t	src;		/* SRC, 0 where there is none */
	uint8_t		tcode;		/* enum nt_tcode, or another */
	uint8_t		sync;		/* enum nt_sync, or another */
	uint8_t		btype;		/* enum nt_btype */
	uint8_t		code;		/* ETYPE, RCODE, EVCODE or CKSRC */
	uint8_t		cdf;		/* CDF or CKDF */
	uint8_t		format;		/* PROCESS.FORMAT */
	uint8_t		priv;		/* PROCESS.V and PRV: enum nt_priv, or another */
	uint8_t		dialect;	/* enum nt_dialect */
	uint64_t	icnt;		/* I-CNT, or RDATA with RCODE 0: half-words */
	uint64_t	addr;		/* F-ADDR or U-ADDR, with bit 0 put back, and extended */
	uint64_t	hist;		/* HIST, or RDATA with RCODE 1 or 2; has its stop-bit */
	uint64_t	tstamp;		/* TSTAMP as sent: absolute with SYNC, relative else */
	uint64_t	value;		/* PROCESS, ECODE, RDATA, HREPEAT or B-CNT */
	uint64_t	context;	/* PROCESS.CONTEXT */
	uint64_t	data;		/* DQDATA, or the second of a pair of fields */
	uint32_t	deviations;	/* bits of enum nt_deviation that the message itself shows */
	/*
	 * A message that is not about the flow has @nr_others variable-length fields, of which the
	 * first NT_MESSAGE_OTHERS are in the eight-byte members from @icnt to @data, in this order.
	 * Of a longer field, the low 64 bits are there. Fixed fields after SRC are in @other_fixed.
	 */
	uint16_t	other_fixed;
	uint8_t		nr_others;
};

#define NT_MESSAGE_OTHERS	7

/*
 * Bytes: a longer message is NT_E_TOO_LONG, unless it is a vendor's (NT_TCODE_VENDOR_FIRST to
 * NT_TCODE_VENDOR_LAST). The longest one of the specification has 38.
 */
#define NT_MESSAGE_MAX	256

/*
 * Decode the message at @data. Idle bytes before it are skipped. @msg->offset
 * is the number of them; @msg->length is set too when there is an error.
 *
 * Returns 1: *msg is filled in. The next one is at offset + length.
 *	   0: these @size bytes hold no end of a message.
 *	   NT_E_MSEO, NT_E_TOO_LONG, NT_E_OVERFLOW, NT_E_MISSING, NT_E_EXTRA,
 *	   NT_E_HIST_ZERO, NT_E_RESERVED: the message is not valid. Go on at
 *	   offset + length, which is past its last byte; or, where that is all
 *	   of the bytes, past the next one with an MSEO of 11.
 */
int nt_message_decode_sized(const struct nt_config *config, const uint8_t *data, size_t size,
			    struct nt_message *msg, size_t msg_size);
static inline int nt_message_decode(const struct nt_config *config, const uint8_t *data,
				    size_t size, struct nt_message *msg)
{
	return nt_message_decode_sized(config, data, size, msg, sizeof(*msg));
}

/* Has a SYNC field: decoding may start from it */
static inline bool nt_message_is_sync(const struct nt_message *msg)
{
	return msg->fields & NT_FIELD_SYNC;
}

/*
 * "IndirectBranchHist", "Periodic Synchronization", ...: the name in the
 * specification; "Reserved" or "Vendor Defined" else. Never NULL.
 */
const char *nt_tcode_name(unsigned int tcode);
const char *nt_cksrc_name(unsigned int cksrc);
const char *nt_sync_name(unsigned int sync);
const char *nt_btype_name(unsigned int btype);
const char *nt_etype_name(unsigned int etype);
const char *nt_ecode_name(unsigned int bit);	/* ECODE is a mask: what its bit says was lost */
const char *nt_rcode_name(unsigned int rcode);
const char *nt_evcode_name(unsigned int evcode);
const char *nt_priv_name(unsigned int priv);	/* "U", "S", "M", "VU", "VS", "?" */

/* As nt_tcode_name(), with the messages of that enum nt_dialect, too */
const char *nt_dialect_tcode_name(unsigned int dialect, unsigned int tcode);

/*
 * Write "IndirectBranchHist SRC=1 B-TYPE=0 (Indirect) I-CNT=125 U-ADDR=0x7 HIST=0xffe" to
 * @buf, always with a final NUL. Returns the length; NT_E_SPACE: @size is too
 * small, @buf holds the beginning.
 */
int nt_message_desc_sized(const struct nt_message *msg, size_t msg_size, char *buf, size_t size);
static inline int nt_message_desc(const struct nt_message *msg, char *buf, size_t size)
{
	return nt_message_desc_sized(msg, sizeof(*msg), buf, size);
}

/* Bytes that are enough for any text of nt_message_desc(), and of nt_item_desc() */
#define NT_MESSAGE_DESC_MAX	512
#define NT_ITEM_DESC_MAX	512

/*
 * Messages from a stream that arrives in pieces, split anywhere.
 *
 * The bytes given to nt_reader_feed() must stay until nt_reader_next() has
 * returned 0; the reader keeps a copy only of the message that is not complete.
 */
struct nt_reader;

/* NULL: errno is ENOMEM, or EINVAL if *config is not valid */
struct nt_reader *nt_reader_new(const struct nt_config *config);
void nt_reader_free(struct nt_reader *reader);

/* NT_OK; NT_E_BUSY: nt_reader_next() has not returned 0 yet */
int nt_reader_feed(struct nt_reader *reader, const uint8_t *data, size_t size);

/*
 * The bytes come from the middle of a stream, as of a wrapped buffer: skip to
 * the first byte after an MSEO of 11 (chapter 3.1.1). Forgets what was fed.
 */
void nt_reader_seek(struct nt_reader *reader, uint64_t offset, bool middle);

/*
 * Returns 1, 0 or an error as nt_message_decode() does; after an error the next
 * call goes on. @msg->offset is the offset in the stream. 0: feed more, or
 * nt_reader_end().
 */
int nt_reader_next_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size);
static inline int nt_reader_next(struct nt_reader *reader, struct nt_message *msg)
{
	return nt_reader_next_sized(reader, msg, sizeof(*msg));
}

/*
 * No more bytes. NT_OK; NT_E_TRUNCATED: a message is not complete, *msg says where; NT_E_TOO_LONG:
 * the same, and it is longer than any can be.
 */
int nt_reader_end_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size);
static inline int nt_reader_end(struct nt_reader *reader, struct nt_message *msg)
{
	return nt_reader_end_sized(reader, msg, sizeof(*msg));
}

/* --------------------------------------------------------------------- insn */

/*
 * What an instruction does to the PC: the itype of chapter 2 as far as the
 * opcode alone decides.
 */
enum nt_class {
	NT_CLASS_LINEAR		= 0,	/* goes on at the next instruction */
	NT_CLASS_BRANCH		= 1,	/* direct conditional branch */
	NT_CLASS_JUMP		= 2,	/* direct jump, with or without linkage */
	NT_CLASS_CALL		= 3,	/* direct call: links x1 or x5 */
	NT_CLASS_INDIRECT_JUMP	= 4,	/* with or without linkage */
	NT_CLASS_INDIRECT_CALL	= 5,
	NT_CLASS_RETURN		= 6,
	NT_CLASS_SWAP		= 7,	/* co-routine swap: return and call */
	NT_CLASS_TRAP_RETURN	= 8,	/* mret, sret, mnret */
	NT_CLASS_INVALID	= 9,	/* all zeros or all ones */
};

struct nt_insn {
	uint8_t		length;		/* bytes: 2, 4, 6, ... 22 */
	uint8_t		klass;		/* enum nt_class */
	uint8_t		rs1;		/* base register of an indirect jump */
	uint8_t		rd;		/* register that lui, c.lui or auipc writes; 0 else */
	bool		is_pc_relative;	/* auipc */
	bool		is_table_jump;	/* cm.jt, cm.jalt: index in @imm */
	bool		is_system;	/* ecall, ebreak, c.ebreak: retires only in emulators */
	int64_t		imm;		/* offset of a jump or branch; constant of lui, auipc */
};

/*
 * Decode the instruction at @code, of which @size bytes are there.
 * Returns its length in bytes; 0: @size is too small for it (needs 2 bytes, or
 * 4 where the low two bits of the first are set).
 */
int nt_insn_decode_sized(const struct nt_config *config, const uint8_t *code, size_t size,
			 struct nt_insn *insn, size_t insn_size);
static inline int nt_insn_decode(const struct nt_config *config, const uint8_t *code, size_t size,
				 struct nt_insn *insn)
{
	return nt_insn_decode_sized(config, code, size, insn, sizeof(*insn));
}

/* "branch", "call", ...: never NULL */
const char *nt_class_name(unsigned int klass);

/* -------------------------------------------------------------------- image */

/*
 * Who executes: from the Ownership messages (chapter 7.1), as far as they came.
 */
struct nt_context {
	uint64_t	scontext;
	uint64_t	hcontext;
	uint8_t		priv;		/* enum nt_priv */
	bool		has_priv;
	bool		has_scontext;
	bool		has_hcontext;
};

/*
 * Code comes from sections that were added, else from a reader.
 *
 * Addresses belong to an address space, a number of the caller's choice:
 * reader::space() maps the context to it; without, there is one space, 0.
 * Sections of space 0 are seen in every space in which no other section has
 * the address. Code that is executed in all spaces (a kernel) should be
 * in one space by reader::space(), as decoded code is kept for each.
 */
struct nt_image;

struct nt_image_reader {
	/* Optional. The address space in which @context executes. */
	uint64_t (*space)(void *ctx, const struct nt_context *context);
	/*
	 * Optional. Copy up to @size bytes at @addr to @buf. Returns how many;
	 * 0 or less: no code there. Fewer than asked for is fine.
	 */
	int (*read)(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size);
	void *ctx;
	/*
	 * Optional. Set *jvt to the CSR of that name (Zcmt) in @space; without, it is
	 * nt_config::jvt in all spaces. False: it is not known.
	 */
	bool (*jvt)(void *ctx, uint64_t space, uint64_t *jvt);
};

/* NULL: out of memory */
struct nt_image *nt_image_new(void);
void nt_image_free(struct nt_image *image);	/* after the flows that use it */

/*
 * Add a section. The image keeps a pointer: @data must stay until the section is removed,
 * or the image is freed. A section added later hides an earlier one where they overlap.
 * NT_OK; NT_E_NOMEM; NT_E_INVALID: @size is 0, or the section wraps around 2^64.
 */
int nt_image_add(struct nt_image *image, uint64_t space, uint64_t addr,
		 const void *data, size_t size);

/*
 * Remove the section that nt_image_add() added with the same @space, @addr and @size; of several,
 * the last. What it hid is seen again. Its data is not needed any more when the call returns.
 * NT_OK; NT_E_NOT_FOUND
 */
int nt_image_remove(struct nt_image *image, uint64_t space, uint64_t addr, size_t size);

/* Take over *reader (a copy); NULL: none */
void nt_image_set_reader_sized(struct nt_image *image, const struct nt_image_reader *reader,
			       size_t reader_size);
static inline void nt_image_set_reader(struct nt_image *image,
				       const struct nt_image_reader *reader)
{
	nt_image_set_reader_sized(image, reader, sizeof(*reader));
}

/*
 * Code has changed, or the mapping of contexts to spaces: a module was loaded, a program
 * executed, text was patched. All flows that use the image forget what they
 * decoded of it. What was executed up to the item that nt_flow_next() returned
 * last is decoded already.
 */
void nt_image_invalidate(struct nt_image *image);

/*
 * As nt_image_invalidate(), but only code at @addr..@addr + @size, in all spaces, has changed:
 * a module was loaded, a function was patched or compiled. Other code is kept.
 */
void nt_image_invalidate_range(struct nt_image *image, uint64_t addr, uint64_t size);

/* Only the mapping of contexts to spaces has changed. All code is kept. */
void nt_image_remap(struct nt_image *image);

/* Bytes copied, 0: no code there */
size_t nt_image_read(const struct nt_image *image, uint64_t space, uint64_t addr,
		     void *buf, size_t size);

#define NT_INSN_MAX	22	/* bytes of the longest instruction */

/*
 * The instruction at @addr: its bytes to @code, and *insn. From the start of a range on, step by
 * the length to see each of its instructions. Returns the length in bytes; 0: there is no code;
 * NT_E_INVALID: config
 */
int nt_insn_read_sized(const struct nt_config *config, const struct nt_image *image,
		       uint64_t space, uint64_t addr, uint8_t code[NT_INSN_MAX],
		       struct nt_insn *insn, size_t insn_size);
static inline int nt_insn_read(const struct nt_config *config, const struct nt_image *image,
			       uint64_t space, uint64_t addr, uint8_t code[NT_INSN_MAX],
			       struct nt_insn *insn)
{
	return nt_insn_read_sized(config, image, space, addr, code, insn, sizeof(*insn));
}

/* --------------------------------------------------------------------- flow */

/*
 * How a range ended: the last instruction's class (NT_CLASS_*), or one of
 * these, where the last instruction is NT_CLASS_LINEAR or not known.
 */
enum nt_end {
	NT_END_LINEAR		= NT_CLASS_LINEAR,	/* a message ended it; goes straight on */
	NT_END_BRANCH		= NT_CLASS_BRANCH,	/* NT_RANGE_TAKEN says which way */
	NT_END_JUMP		= NT_CLASS_JUMP,
	NT_END_CALL		= NT_CLASS_CALL,
	NT_END_INDIRECT_JUMP	= NT_CLASS_INDIRECT_JUMP,
	NT_END_INDIRECT_CALL	= NT_CLASS_INDIRECT_CALL,
	NT_END_RETURN		= NT_CLASS_RETURN,
	NT_END_SWAP		= NT_CLASS_SWAP,
	NT_END_TRAP_RETURN	= NT_CLASS_TRAP_RETURN,
	NT_END_TRAP		= 16,	/* exception or interrupt before the next instruction */
	NT_END_EXCEPTION	= 17,
	NT_END_INTERRUPT	= 18,
};

/* "branch", "exception", ...: never NULL */
const char *nt_end_name(unsigned int end);

#define NT_RANGE_TAKEN		(1 << 0)	/* the PC did not go on right after it */
#define NT_RANGE_INFERRED	(1 << 1)	/* implicit return, sequential jump */

/*
 * Instructions without a change of the PC in between. A trap with nothing
 * retired before it is a range without instructions. One that is longer than
 * NT_RANGE_HALFWORDS is given in parts, all but the last of which are NT_END_LINEAR.
 */
struct nt_range {
	uint64_t	start;		/* address of its first instruction */
	uint16_t	halfwords;	/* length */
	uint16_t	insns;
	uint8_t		how;		/* enum nt_end */
	uint8_t		flags;		/* NT_RANGE_* */
	uint8_t		last_len;	/* length of the last instruction, half-words */
	uint8_t		reserved;	/* has no meaning to a program, and any value */
};

#define NT_RANGE_HALFWORDS	1024

enum nt_item_type {
	NT_ITEM_RANGE	= 1,	/* instructions that were executed */
	NT_ITEM_SYNC	= 2,	/* a message with SYNC */
	NT_ITEM_STOP	= 3,	/* ProgTraceCorrelation: trace stops here */
	NT_ITEM_LOST	= 4,	/* Error message: the encoder lost messages */
	NT_ITEM_CONTEXT	= 5,	/* Ownership: nt_item::context is new */
	NT_ITEM_SKIPPED	= 6,	/* a message that is vendor defined or reserved */
	NT_ITEM_ERROR	= 7,	/* the trace is not right, or the code is not what was executed */
	/* NT_DIALECT_SIFIVE0 only */
	NT_ITEM_DATA	= 8,	/* software wrote a value into the trace */
	NT_ITEM_EVENT	= 9,	/* in-circuit trace: the flow does not change */
	/* The trace is right, but code is missing. The flow goes on at the next address or SYNC. */
	NT_ITEM_GAP	= 10,
};

/* Of NT_ITEM_ERROR and NT_ITEM_GAP */
struct nt_problem {
	int		code;		/* enum nt_error */
	uint64_t	addr;		/* where decoding was; valid if has_addr */
	bool		has_addr;
};

/* nt_item::tstamp_kind */
enum nt_tstamp_kind {
	NT_TSTAMP_NONE		= 0,	/* not known */
	NT_TSTAMP_EXACT		= 1,	/* of this: the message that ended it has a timestamp */
	NT_TSTAMP_CARRIED	= 2,	/* the last one known: it was at that time or later */
};

/*
 * One thing that the trace says.
 *
 * Ranges come in the order of execution; one range's @dest is the next one's
 * @start, until an item of another type says otherwise (SYNC with @restart,
 * STOP, LOST, ERROR, GAP).
 */
struct nt_item {
	uint8_t			type;		/* enum nt_item_type */
	uint8_t			tstamp_kind;	/* enum nt_tstamp_kind */
	uint16_t		src;
	uint8_t			tcode;		/* of the message, 0 where there is none */
	uint8_t			dialect;	/* enum nt_dialect */
	uint64_t		offset;		/* of the message, in the stream */
	uint64_t		tstamp;		/* absolute */
	struct nt_context	context;	/* which executed the range; or from now on */
	uint64_t		space;		/* address space that a range is in; 0 else */
	union {
		struct {
			uint64_t	start;
			uint64_t	end_addr;	/* address after the last instruction */
			uint64_t	last_addr;	/* address of the last instruction */
			uint64_t	dest;		/* what was executed next */
			bool		has_dest;	/* false: not known */
			bool		taken;
			bool		inferred;	/* implicit return, sequential jump */
			uint8_t		how;		/* enum nt_end */
			uint32_t	insns;
		} range;
		struct {
			uint64_t	addr;		/* F-ADDR */
			uint8_t		reason;		/* enum nt_sync, or another */
			bool		restart;	/* flow starts here, it does not go on */
			uint64_t	lost_messages;	/* not decoded since the flow was lost */
			uint64_t	lost_bytes;
		} sync;
		struct {
			uint64_t	addr;		/* where; valid if has_addr */
			bool		has_addr;
			uint8_t		reason;		/* enum nt_evcode, or another */
		} stop;
		struct {
			uint8_t		etype;
			uint64_t	ecode;
		} lost;
		struct {
			uint8_t		tcode;
			uint32_t	length;
		} skipped;
		struct {
			uint64_t	id;	/* IDTAG, or the address that was written to */
			uint64_t	value;
			bool		has_id;	/* false: Ownership that is no context */
		} data;
		struct {
			uint64_t	addr;		/* where; valid if has_addr */
			uint64_t	data;		/* see enum nt_cksrc; valid if has_data */
			bool		has_addr;
			bool		has_data;
			uint8_t		source;		/* enum nt_cksrc, or another */
		} event;
		struct nt_problem error;
		struct nt_problem gap;
	};
};

/*
 * A run of ranges at once, for speed: same source, same context, and each one's
 * destination is the next one's start. Or, if @nr is 0, one item of another type.
 *
 * @marks say where messages ended: that message or an earlier one reports the ranges up to,
 * not including, index @range. All is valid until the next call.
 */
struct nt_mark {
	uint64_t	offset;		/* of the message */
	uint64_t	tstamp;		/* absolute; the last one known, if it has none */
	uint32_t	range;
	uint8_t		tstamp_kind;
	uint8_t		tcode;
};

struct nt_batch {
	const struct nt_range	*ranges;
	size_t			nr;
	const struct nt_mark	*marks;
	size_t			nr_marks;
	uint64_t		dest;		/* of the last range */
	bool			has_dest;
	uint16_t		src;
	uint8_t			tstamp_kind;	/* NT_TSTAMP_NONE or NT_TSTAMP_CARRIED */
	uint64_t		tstamp;		/* the last one known before the first range */
	uint64_t		space;		/* address space that the ranges are in */
	struct nt_context	context;
	uint64_t		reserved[4];	/* 0 */
	struct nt_item		item;		/* if nr is 0; the last member, as it may grow */
};

struct nt_flow;

/*
 * Make a flow. *config is copied, @image is used until nt_flow_free().
 * NULL: errno is ENOMEM, or EINVAL if *config is not valid.
 */
struct nt_flow *nt_flow_new(const struct nt_config *config, struct nt_image *image);
void nt_flow_free(struct nt_flow *flow);

/*
 * A second flow in the state of @flow, which goes on where it does: to try one of two images, or
 * to decode from here on again. Only after nt_flow_next() returned 0.
 * NULL: errno is ENOMEM, or EBUSY if there are items left.
 */
struct nt_flow *nt_flow_clone(const struct nt_flow *flow);

/*
 * Feed the next bytes of the stream. They are not copied, and must stay until
 * nt_flow_next() has returned 0. A message may be split anywhere.
 * NT_OK; NT_E_BUSY: nt_flow_next() has not returned 0 yet.
 */
int nt_flow_feed(struct nt_flow *flow, const uint8_t *data, size_t size);

/*
 * The next item. Between two calls the caller may do as it likes: wait, use
 * other flows, change the image. At most one message is decoded ahead.
 *
 * Returns 1: *item is filled in; 0: feed more, or end; NT_E_NOMEM: nothing is lost, the next
 * call tries again.
 * What is wrong in the trace is an item, not a return value.
 */
int nt_flow_next_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size);
static inline int nt_flow_next(struct nt_flow *flow, struct nt_item *item)
{
	return nt_flow_next_sized(flow, item, sizeof(*item));
}

/* As nt_flow_next(), but many ranges at once; decodes far ahead. */
int nt_flow_next_batch_sized(struct nt_flow *flow, struct nt_batch *batch, size_t batch_size);
static inline int nt_flow_next_batch(struct nt_flow *flow, struct nt_batch *batch)
{
	return nt_flow_next_batch_sized(flow, batch, sizeof(*batch));
}

/*
 * The stream ends here, or is interrupted. Call it after nt_flow_next()
 * returned 0; then nt_flow_next() may return last items (NT_E_TRUNCATED).
 * The flow then starts anew: the next nt_flow_feed() begins with a message
 * (@middle false), or somewhere in one (@middle true: bytes up to the first MSEO
 * of 11 are skipped). @offset is the offset of its first byte. All state is
 * forgotten, the context too; only the count of wraps of the timestamp goes on.
 */
void nt_flow_end(struct nt_flow *flow);
void nt_flow_restart(struct nt_flow *flow, uint64_t offset, bool middle);

/* What was counted since nt_flow_new() */
struct nt_stats {
	uint64_t	bytes;
	uint64_t	messages;
	uint64_t	by_tcode[64];
	uint64_t	syncs;
	uint64_t	restarts;
	uint64_t	errors;		/* NT_ITEM_ERROR */
	uint64_t	lost_messages;	/* not decoded: flow was not known */
	uint64_t	lost_bytes;
	uint64_t	skipped;	/* vendor defined or reserved messages */
	uint64_t	gaps;		/* NT_ITEM_GAP */
	uint64_t	deviations[NT_DEV_MAX];	/* by enum nt_deviation */
};

/* @size is sizeof(struct nt_stats). Counts what was decoded, also ahead. */
void nt_flow_stats(const struct nt_flow *flow, struct nt_stats *stats, size_t size);

/*
 * Write "I-CNT ends inside an instruction at 0x100, source 0, offset 7" or
 * "0x100..0x106 3 insns branch taken to 0x200" or the like to @buf.
 * Returns the length; NT_E_SPACE.
 */
int nt_item_desc_sized(const struct nt_item *item, size_t item_size, char *buf, size_t size);
static inline int nt_item_desc(const struct nt_item *item, char *buf, size_t size)
{
	return nt_item_desc_sized(item, sizeof(*item), buf, size);
}

/* ------------------------------------------------------------------- counts */

/*
 * How often each block, each direction of each branch, and each edge was executed. They are
 * counted without ranges, which is faster, and are exactly what counting the ranges of
 * nt_flow_next() gives: those of a stretch that ends with an error, and inferred ones, too.
 *
 * Counts have 64 bits. Entries that differ in @type, @how, @space, @from or @to are different.
 */
enum nt_count_type {
	/*
	 * Instructions from @from up to, not including, @to, as one range has them. Ranges that
	 * begin inside others are blocks of their own; ranges without instructions are none.
	 */
	NT_COUNT_BLOCK	= 1,
	/*
	 * The conditional branch at @from; it has no @to. Its instruction says where its two ways
	 * lead.
	 */
	NT_COUNT_BRANCH	= 2,
	/*
	 * From an instruction at @from that only the trace can say the target of, to @to; @how is
	 * enum nt_end. That is an indirect jump or call, a return, a swap, a trap return, inferred
	 * or not; or a trap before the instruction at @from was executed. There is none if the
	 * trace does not say where it led. Direct jumps and calls are no edges: each one is the end
	 * of blocks, which say how often it was executed, and has one target.
	 */
	NT_COUNT_EDGE	= 3,
};

struct nt_count {
	uint8_t		type;		/* enum nt_count_type */
	uint8_t		how;		/* of an edge: enum nt_end; NT_END_BRANCH of a branch; or 0 */
	uint64_t	space;		/* address space of @from */
	uint64_t	from;		/* address */
	uint64_t	to;		/* address; 0 of a branch */
	uint64_t	count;		/* times executed; of a branch: taken */
	uint64_t	insns;		/* of a block: instructions executed, all times together */
	uint64_t	not_taken;	/* of a branch */
};

/* A set of counts. It is used by one thread at a time. */
struct nt_counts;

/* NULL: out of memory */
struct nt_counts *nt_counts_new(void);
void nt_counts_free(struct nt_counts *counts);

/*
 * Count the range that *item is, once; an item of another type counts nothing. This is for
 * ranges that are at hand: nt_flow_count() is faster.
 * NT_OK; NT_E_NOMEM: *counts is as before
 */
int nt_counts_add_item_sized(struct nt_counts *counts, const struct nt_item *item,
			     size_t item_size);
static inline int nt_counts_add_item(struct nt_counts *counts, const struct nt_item *item)
{
	return nt_counts_add_item_sized(counts, item, sizeof(*item));
}

/*
 * Add an entry, as nt_counts_next() gave it: its numbers are added to those of an entry that is
 * the same. NT_OK; NT_E_NOMEM: *counts is as before
 */
int nt_counts_add_sized(struct nt_counts *counts, const struct nt_count *count,
			size_t count_size);
static inline int nt_counts_add(struct nt_counts *counts, const struct nt_count *count)
{
	return nt_counts_add_sized(counts, count, sizeof(*count));
}

/*
 * Add what *from has to *counts, as of another thread, flow or run. *from stays as it is.
 * NT_OK; NT_E_NOMEM: *counts is as before
 */
int nt_counts_merge(struct nt_counts *counts, const struct nt_counts *from);

/*
 * Move what @flow has counted (nt_flow_count()) to *counts; @flow goes on counting from 0.
 * NT_OK; NT_E_NOMEM: nothing is lost, and another call tries again; *counts is as before
 */
int nt_counts_take(struct nt_counts *counts, struct nt_flow *flow);

/* Order the entries by type, space, from, to and how. Never fails. */
void nt_counts_sort(struct nt_counts *counts);

/*
 * The entries, one by one: in the order of nt_counts_sort(), until something else is added.
 * Set *at to 0 for the first one. It is moved on to the next. Returns 1: *count is filled in;
 * 0: there are no more.
 */
int nt_counts_next_sized(const struct nt_counts *counts, uint64_t *at, struct nt_count *count,
			 size_t count_size);
static inline int nt_counts_next(const struct nt_counts *counts, uint64_t *at,
				 struct nt_count *count)
{
	return nt_counts_next_sized(counts, at, count, sizeof(*count));
}

/*
 * As nt_flow_next(), but ranges are counted in @flow, and not given out: decodes as far ahead as
 * the next item of another type, or all that was fed. nt_counts_take() gets the counts. The
 * calls may be mixed with nt_flow_next() and nt_flow_next_batch(): each range is given out, or
 * counted. nt_flow_restart() drops no counts; nt_flow_clone() does not copy them.
 *
 * Returns 1: *item, which is no range, is filled in; 0: feed more, or end; NT_E_NOMEM: nothing is
 * lost, the next call tries again.
 */
int nt_flow_count_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size);
static inline int nt_flow_count(struct nt_flow *flow, struct nt_item *item)
{
	return nt_flow_count_sized(flow, item, sizeof(*item));
}

/* ----------------------------------------------------------------- whole buffers */

/*
 * Find the @nth (from 0) message with SYNC in a buffer that begins with a
 * message, or, if @middle, somewhere in one. Sets *offset to that of its first byte.
 * NT_OK; NT_E_NOT_FOUND: there are not so many; NT_E_INVALID: config.
 */
int nt_sync_find(const struct nt_config *config, const uint8_t *data, size_t size,
		 bool middle, uint64_t nth, size_t *offset);

/*
 * Find the first message with SYNC that begins at @from or later; or the last one that begins
 * before @before. @middle is as in nt_sync_find(). Sets *offset to that of its first byte.
 * NT_OK; NT_E_NOT_FOUND; NT_E_INVALID: config.
 */
int nt_sync_next(const struct nt_config *config, const uint8_t *data, size_t size, bool middle,
		 size_t from, size_t *offset);
int nt_sync_previous(const struct nt_config *config, const uint8_t *data, size_t size,
		     bool middle, size_t before, size_t *offset);

/*
 * Decode a whole buffer by @threads threads, one of which is the caller's. It is split at
 * messages with SYNC, as all encoder state is reset there (chapter 8.4). @consume is called with
 * the batches in the order of the stream, by one thread at a time. It returns 0 to go on;
 * otherwise it is not called again. Items are those of one flow, with their times and contexts,
 * but the batches may be cut elsewhere.
 *
 * From where a second source, or a message of the other trace mode, is found on, the stream is
 * decoded by one thread. Give nt_config::src_id, or nt_config::mode, to prevent that. So is a
 * stretch without SYNC. reader::space() and reader::read() of @image are called by all threads
 * at once. @stats may be NULL; @stats_size is sizeof(struct nt_stats).
 *
 * NT_OK; NT_E_NOMEM: after the batches decoded before; NT_E_INVALID: config, or threads is 0;
 * or what @consume returned.
 */
int nt_parallel_decode_sized(const struct nt_config *config, struct nt_image *image,
			     const uint8_t *data, size_t size, unsigned int threads,
			     int (*consume)(void *ctx, const struct nt_batch *batch), void *ctx,
			     struct nt_stats *stats, size_t stats_size);
static inline int nt_parallel_decode(const struct nt_config *config, struct nt_image *image,
				     const uint8_t *data, size_t size, unsigned int threads,
				     int (*consume)(void *ctx, const struct nt_batch *batch),
				     void *ctx, struct nt_stats *stats)
{
	return nt_parallel_decode_sized(config, image, data, size, threads, consume, ctx, stats,
					sizeof(*stats));
}

/*
 * As nt_parallel_decode(), but no thread waits for another: @consume is called by all threads
 * at once, each with its own of the @threads pointers in @ctxs. Parts of the stream are numbered
 * from 0 in the order of the stream, and each is decoded by one thread, its batches in order.
 * Who needs the order sorts by @part in the end. If a call returns other than 0, or memory runs
 * out, no further call begins; those of other threads may still run.
 */
int nt_parallel_decode_unordered_sized(const struct nt_config *config, struct nt_image *image,
				       const uint8_t *data, size_t size, unsigned int threads,
				       int (*consume)(void *ctx, uint64_t part,
						      const struct nt_batch *batch),
				       void *const *ctxs, struct nt_stats *stats,
				       size_t stats_size);
static inline int nt_parallel_decode_unordered(const struct nt_config *config,
					       struct nt_image *image, const uint8_t *data,
					       size_t size, unsigned int threads,
					       int (*consume)(void *ctx, uint64_t part,
							      const struct nt_batch *batch),
					       void *const *ctxs, struct nt_stats *stats)
{
	return nt_parallel_decode_unordered_sized(config, image, data, size, threads, consume,
						  ctxs, stats, sizeof(*stats));
}

/*
 * Count a whole buffer by @threads threads, one of which is the caller's, and add it to *counts,
 * as nt_flow_count() does. The buffer is split as by nt_parallel_decode_unordered(). Errors and
 * losses are in *stats, which may be NULL.
 *
 * NT_OK; NT_E_NOMEM: *counts is as before; NT_E_INVALID: config, or threads is 0
 */
int nt_parallel_count_sized(const struct nt_config *config, struct nt_image *image,
			    const uint8_t *data, size_t size, unsigned int threads,
			    struct nt_counts *counts, struct nt_stats *stats, size_t stats_size);
static inline int nt_parallel_count(const struct nt_config *config, struct nt_image *image,
				    const uint8_t *data, size_t size, unsigned int threads,
				    struct nt_counts *counts, struct nt_stats *stats)
{
	return nt_parallel_count_sized(config, image, data, size, threads, counts, stats,
				       sizeof(*stats));
}

/*
 * The pin interface (chapter 3.1.4): @pins (1, 2, 4, 8, 16) bits each clock edge, packed
 * least significant first, with any number of idle bits between messages. Turns them to
 * bytes as a RAM sink stores them.
 */
struct nt_pins;

/* NULL: errno is ENOMEM, or EINVAL if @pins is not one of these */
struct nt_pins *nt_pins_new(unsigned int pins);
void nt_pins_free(struct nt_pins *pins);

/*
 * Take in @size bytes, write at most @out_size (2 at least) to @out. Sets *used to
 * the bytes taken in. Returns the bytes written; 0 with all bytes used: feed more.
 * Bytes with a reserved MSEO are given out too, so that the error is seen; then the
 * converter looks for the next message after an idle byte.
 */
size_t nt_pins_convert(struct nt_pins *pins, const uint8_t *data, size_t size, size_t *used,
		       uint8_t *out, size_t out_size);

/*
 * CoreSight frames: what a trace formatter makes of the bytes of several sources, as after an ATB
 * bridge. A frame has 16 bytes, and trace IDs among them; full-synchronisation packets may be
 * between frames, half-synchronisation packets anywhere. Frames are taken apart here, into the
 * bytes of each ID.
 */
#define NT_FRAME_SIZE		16
#define NT_FRAMES_IDS		112	/* 1 to 0x6f are sources, 0 is padding */

/* The bytes of one ID */
struct nt_frames_out {
	uint8_t	*data;		/* NULL: they are not wanted */
	size_t	size;		/* of the buffer; at least NT_FRAMES_OUT_MIN */
	size_t	nr;		/* bytes that are in it; the caller sets it back to 0 */
};

#define NT_FRAMES_OUT_MIN	64

/* What nt_frames_convert() counts; see there */
struct nt_frames_stats {
	uint64_t	bytes;		/* taken in */
	uint64_t	frames;
	uint64_t	syncs;		/* synchronisation packets */
	uint64_t	padding;	/* bytes of ID 0 */
	uint64_t	unknown;	/* bytes whose ID is not known, as none came yet */
	uint64_t	triggers;	/* bytes of IDs 0x7b and 0x7d, which are no source's */
	uint64_t	lost;		/* bytes of frames that were not valid */
};

struct nt_frames;

/* NULL: out of memory */
struct nt_frames *nt_frames_new(void);
void nt_frames_free(struct nt_frames *frames);

/*
 * Take in @size bytes, split anywhere, and add them to @outs, one for each of NT_FRAMES_IDS.
 * Sets *used to the bytes taken in: all of them, unless there is no room for a frame in one of
 * @outs, or something else is returned than NT_OK. Call it again then, with the others.
 *
 * NT_OK.
 * 1: four full-synchronisation packets in a row, with which Linux marks that the buffer was
 *    interrupted: what comes now does not go on where any ID's bytes have ended, and the ID is not
 *    known before the next is sent.
 * NT_E_FRAME_ID, NT_E_FRAME_SYNC: a frame is not valid. It is dropped whole, and bytes up to
 *    the next ID, too. Bytes since the full-synchronisation packet before may be wrong, as
 *    bytes of any value are a valid frame more often than not; decode the bytes of each ID as from
 *    the middle of a message.
 */
int nt_frames_convert(struct nt_frames *frames, const uint8_t *data, size_t size, size_t *used,
		      struct nt_frames_out *outs);

/*
 * Find where the first frame begins in bytes that were cut anywhere, as of a buffer that has
 * wrapped around. That is the only place from which on each ID's bytes are N-Trace;
 * full-synchronisation packets are not needed. Some hundred bytes are enough if they hold messages,
 * 64 KiB at most are looked at. Sets *offset to 0..15, to be left out.
 * NT_OK; NT_E_NOT_FOUND: it is not certain; NT_E_NOMEM
 */
int nt_frames_find(const uint8_t *data, size_t size, size_t *offset);

/* No more bytes: NT_OK; NT_E_FRAME_SYNC: there is a part of a frame, which is dropped */
int nt_frames_end(struct nt_frames *frames);

/* @size is sizeof(struct nt_frames_stats) */
void nt_frames_stats(const struct nt_frames *frames, struct nt_frames_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_NTRACE_H */
