/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * libntrace decodes RISC-V N-Trace (RISC-V N-Trace Specification 1.0).
 *
 * It has four layers, each of which can be used alone:
 *
 *   message  converts bytes to struct nt_message			(chapters 3, 6, 7)
 *   insn     converts an opcode to struct nt_insn			(chapter 2)
 *   image    finds code by address space and address
 *   flow     finds the executed instructions by messages and code	(chapters 8, 9, 11)
 *
 * "Chapter" always means a chapter of that specification. Fields and messages have the names of
 * the specification: icnt is I-CNT, and addr is F-ADDR or U-ADDR.
 *
 * Names: objects are opaque. nt_<object>_new() creates an object, nt_<object>_free() frees it and
 * accepts NULL, and nt_<object>_<verb>() operates on it.
 *
 * Errors: a function that can fail returns a negative number of NT_ERRORS, and the comment above
 * the function lists these numbers. The library prints nothing.
 *
 * Threads: the library has no global state. Different threads may use different objects at the
 * same time, but only one thread at a time may use an object. The exception is struct nt_image.
 * Any number of flows in any number of threads may read an image at the same time if its reader
 * allows concurrent calls, and if no thread changes the image (by nt_image_add(),
 * nt_image_set_reader(), nt_image_invalidate() and similar functions).
 *
 * Structures that a program allocates may become longer in a newer library. struct nt_config begins
 * with its own size, which NT_CONFIG_INIT and nt_config_init() set. Functions with other structures
 * take the size that the program knows: nt_<...>() is an inline function that calls
 * nt_<...>_sized() with sizeof(). Other languages call nt_<...>_sized(). struct nt_range and struct
 * nt_mark never change. A NULL configuration means NT_CONFIG_INIT.
 *
 * Units: addresses and sizes are in bytes, I-CNT is in half-words (16 bits), and timestamps are in
 * ticks of the trace source's counter.
 *
 * The headers need C11 or C++11. Link by "pkg-config --cflags --libs libntrace", with libntrace-elf for
 * <ntrace/elf.h>. To use a built tree that is not installed, give -Iinclude -Lbuild/lib -lntrace
 * (-lntrace-elf before it), and set LD_LIBRARY_PATH to build/lib. Each function has a manual page in
 * section 3, which "make install" writes to build/man and installs.
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

/* Return the version of the library that runs, such as "1.0". Never fails. */
const char *nt_version(void);

/*
 * Each error has a name, a number, a sentence and a hint.
 *
 * Numbers -1..-9 are errors of a call. The decoder finds the other errors in the trace and reports
 * them by NT_ITEM_ERROR. libntrace-elf adds the numbers -100 and below (nt_elf_error_text() in
 * <ntrace/elf.h>). Numbers -10..-29 are errors of a message, and numbers from -30 down are
 * errors of the flow. Two of these errors mean that code is missing. NT_ITEM_GAP reports these two
 * errors. See nt_error_is_gap().
 */
#define NT_ERRORS(X)								\
	X(NT_E_NOMEM,	 -1, "out of memory",					\
	  "")									\
	X(NT_E_INVALID,	 -2, "an argument is not valid",			\
	  "")									\
	X(NT_E_SPACE,	 -3, "the buffer for the result is too small",		\
	  "")									\
	X(NT_E_NOT_FOUND, -4, "nothing was found that matches the arguments",		\
	  "")									\
	X(NT_E_BUSY,	 -5, "the previous bytes are not all decoded yet",	\
	  "call nt_flow_next() until it returns 0")				\
	X(NT_E_MSEO,	-10, "reserved MSEO sequence",				\
	  "the trace is damaged, or is not N-Trace")				\
	X(NT_E_TOO_LONG, -11, "message is longer than the maximum",		\
	  "the trace is damaged; memory that was never written looks like this") \
	X(NT_E_OVERFLOW, -12, "field has more bits than its maximum",		\
	  "the trace is damaged, or the given width of SRC is wrong")	\
	X(NT_E_MISSING,	-13, "message ends before its last field",		\
	  "the trace is damaged, or the given width of SRC is wrong")	\
	X(NT_E_EXTRA,	-14, "message has more fields than its type allows",		\
	  "enable timestamps if the encoder sends them; or the trace is damaged")			\
	X(NT_E_TRUNCATED, -15, "trace ends inside a message",			\
	  "the last bytes were lost")						\
	X(NT_E_HIST_ZERO, -16, "HIST has no stop-bit",				\
	  "the trace is damaged")						\
	X(NT_E_RESERVED, -17, "field has a reserved value",			\
	  "the trace is damaged, or of a later version")			\
	X(NT_E_FRAME_ID, -18, "frame has a reserved trace ID",			\
	  "the trace is damaged, or does not consist of CoreSight frames")		\
	X(NT_E_FRAME_SYNC, -19, "frame is incomplete",		\
	  "bytes of the trace were lost")					\
	X(NT_E_KIND,	-20, "message has a type that this encoder does not send",	\
	  "the trace is damaged, or 'flow only' is wrong for this encoder")	\
	/* The library never reports this error. */				\
	X(NT_E_HIST_SIZE, -21, "full HIST has another size than the full HIST before",	\
	  "the trace is damaged")						\
	X(NT_E_NO_CODE,	-30, "there is no code at this address",		\
	  "give the program, library or firmware that was executed, and the right xlen")	\
	X(NT_E_INSN,	-31, "code has no valid instruction at this address",	\
	  "is this the program that was executed?")				\
	X(NT_E_ICNT_INSN, -32, "I-CNT ends inside an instruction",		\
	  "is this the program that was executed?")				\
	X(NT_E_ICNT_LEFT, -33, "I-CNT continues after a jump to an unknown address", \
	  "does the encoder use implicit return or sequential jump? is this the executed program?") \
	X(NT_E_ICNT_SHORT, -34, "I-CNT ends before all bits of HIST are used",	\
	  "is this the program that was executed?")				\
	X(NT_E_HIST_SHORT, -35, "HIST has no bit for a branch",			\
	  "is this the program that was executed? does HIST report all jumps (--all-jumps)?")		\
	X(NT_E_HIST_LEFT, -36, "HIST has more bits than there are branches", \
	  "is this the program that was executed? does HIST report all jumps (--all-jumps)?")		\
	X(NT_E_HIST_JUMP, -37, "HIST reports an unconditional jump as not taken", \
	  "does HIST report all jumps (--all-jumps)?")							\
	X(NT_E_CLASS,	-38, "last instruction has another type than the message reports",	\
	  "is this the program that was executed?")				\
	X(NT_E_ADDR,	-39, "address in the message differs from the decoded address",		\
	  "is this the program that was executed? was the trace interrupted?")	\
	X(NT_E_NO_RETURN, -40, "implicit return without a call before it",	\
	  "does the encoder use implicit return? is this the program that was executed?")	\
	X(NT_E_NO_REPEAT, -41, "RepeatBranch has no branch message before it",	\
	  "the trace is damaged")						\
	X(NT_E_ENDLESS,	-42, "code is an endless loop without a branch",		\
	  "is this the program that was executed?")				\
	X(NT_E_RESTART,	-43, "trace restarts, but no message reported a stop", \
	  "messages were lost")							\
	X(NT_E_MODE,	-44, "message belongs to the other trace mode",			\
	  "the trace is damaged, or mixes two encoders")			\
	X(NT_E_PRIV,	-45, "PROCESS has an invalid privilege mode",		\
	  "the trace is damaged")						\
	X(NT_E_GAP_RETURN, -46, "implicit return, but its call is in missing code", \
	  "give the program, library or firmware that was executed")		\
	X(NT_E_SKIPPED, -47, "message of an unsupported type changes the PC",	\
	  "disable this feature in the encoder (bits 4 and 5 of trTeInstFeatures)")	\
	X(NT_E_DEVIATION, -48, "the encoder deviates from the specification",	\
	  "decode without --strict: the summary lists how the encoder deviates")

enum nt_error {
	NT_OK = 0,
#define NT_ERROR_ENUM(name, number, text, hint)	name = number,
	NT_ERRORS(NT_ERROR_ENUM)
#undef NT_ERROR_ENUM
};

/*
 * Return true if NT_ITEM_GAP reports @error. Then code is missing, and nothing shows that the trace
 * is wrong. With that code, the decoder could decode the trace.
 */
static inline bool nt_error_is_gap(int error)
{
	return error == NT_E_NO_CODE || error == NT_E_GAP_RETURN;
}

/*
 * Return the name of @error (such as "NT_E_ADDR"), its sentence, or its hint, which is "" if there
 * is none. Any number is accepted.
 */
const char *nt_error_name(int error);
const char *nt_error_text(int error);
const char *nt_error_hint(int error);

/*
 * The settings of the encoder. The default of each member is 0, except for @xlen (64) and @src_id
 * (NT_SRC_ANY). nt_elf_info() gets @xlen and @isa of a program. nt_config_check() refuses other
 * values than those that the comments of the members name.
 */
struct nt_config {
	size_t		size;		/* sizeof(struct nt_config), at most NT_CONFIG_SIZE_MAX */
	uint32_t	xlen;		/* 32 or 64 */
	uint32_t	src_bits;	/* trTeSrcBits, 0..12; 0 if trTeInhibitSrc is set */
	uint32_t	src_id;		/* source to decode, less than 1 << @src_bits; or NT_SRC_ANY */
	uint32_t	mode;		/* enum nt_mode */
	uint32_t	timestamp;	/* 1 if trTsEnable is set, so that messages may end with TSTAMP; or 0 */
	uint32_t	tstamp_bits;	/* trTsWidth, 1..64, or 0 for 64; decoded times do not wrap around */
	uint32_t	return_depth;	/* entries of the return stack, 1..NT_RETURN_DEPTH_MAX; 0 without implicit return */
	uint32_t	sequential_jump; /* 1 if trTeInstEnSequentialJump is set, or 0 */
	uint32_t	all_jumps;	/* 1 if trTeInstEnAllJumps is set, or 0 */
	uint32_t	extend_addr;	/* 1 if trTeInstExtendAddrMSB is set, or 0 */
	uint32_t	isa;		/* NT_ISA_*, extensions besides I, C, Zicsr and privileged */
	uint64_t	jvt;		/* CSR jvt, base of the table of cm.jt and cm.jalt */
	uint32_t	dialect;	/* enum nt_dialect */
	uint32_t	addr_bits;	/* number of address bits that are sent, 32..@xlen; 0 for the dialect's number */
	uint32_t	return_full;	/* enum nt_return_full, effect of a call on a full stack */
	uint32_t	custom_jumps;	/* NT_CUSTOM_*, more instructions that may change the PC */
	uint32_t	flow_only;	/* 1 if the encoder sends no Ownership, data or event message, or 0 */
	uint32_t	accept;		/* deviations to accept besides those of the dialect, 1 << enum nt_deviation */
	uint32_t	strict;		/* 1 if each deviation is an error, or 0 */
};

/*
 * Known deviations of encoders from the specification. Each entry has a name, a number, the name of
 * an option, a sentence, and the chapter that the deviation contradicts. nt_stats::deviations counts
 * how often the trace shows each deviation.
 *
 * The decoder always accepts a deviation that it cannot mistake for damage. It accepts a deviation
 * of NT_DEV_UNSURE only if nt_config::dialect implies it, or if nt_config::accept has its bit,
 * 1 << number.
 */
#define NT_DEVIATIONS(X)							\
	X(NT_DEV_DIRECT_SYNC, 0, "direct-sync-in-htm",				\
	  "DirectBranchSync is sent in HTM", "7.6")			\
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
	  "RepeatInstruction is used, which only IEEE-ISTO 5001 defines", "6.1") \
	X(NT_DEV_ECODE_BITS, 7, "ecode-8-bits",					\
	  "TSTAMP follows ECODE in the same field", "7.4")			\
	X(NT_DEV_TRAP_IN_GAP, 8, "trap-in-gap",					\
	  "a trap is reported while trace is disabled", "7.12")			\
	X(NT_DEV_ADDR_BITS, 9, "address-sign-bits",				\
	  "an address is sign-extended beyond the width of addresses", "8.1")

enum nt_deviation {
#define NT_DEVIATION_ENUM(name, number, option, text, chapter)	name = number,
	NT_DEVIATIONS(NT_DEVIATION_ENUM)
#undef NT_DEVIATION_ENUM
};

#define NT_DEV_BIT(number)	(1u << (number))
#define NT_DEV_UNSURE							\
	(NT_DEV_BIT(NT_DEV_SYNC_LACKS_BIT) | NT_DEV_BIT(NT_DEV_STACK_OVER_SYNC) | \
	 NT_DEV_BIT(NT_DEV_TRAP_IN_GAP))
#define NT_DEV_MAX		32	/* size of nt_stats::deviations */

/*
 * Return the name of the option for @deviation, a sentence about the encoder's behaviour, or the
 * chapter that it contradicts. Return NULL if @deviation is unknown.
 */
const char *nt_deviation_name(unsigned int deviation);
const char *nt_deviation_text(unsigned int deviation);
const char *nt_deviation_chapter(unsigned int deviation);

/*
 * Each dialect describes one type of encoder. A dialect has a name (such as "accemic"), the messages
 * that the encoder sends, and its known deviations.
 *
 * NT_DIALECT_RATIFIED is any encoder that follows the specification.
 *
 * NT_DIALECT_SIFIVE0 is a SiFive core whose trace components have version 0, such as the P550.
 * TSTAMP is XORed with the previous timestamp. RCODE 8 reports a number of branches that were not
 * taken, and RCODE 9 a number of taken branches. The encoder also sends messages with TCODE 7, 23,
 * 34 and 35. Addresses of RV64 have 48 bits if @addr_bits is 0. If implicit return is on, the
 * encoder counts up to NT_RETURN_DEPTH_SIFIVE0 calls, compares no addresses, and reports no return
 * to a counted call. If implicit return is off, the encoder reports each return. The decoder
 * detects which of the two applies. If each return is reported, an implicit return is an error. A
 * B-TYPE of 3 is also an error. The dialect sets no other member of struct nt_config: set @timestamp to
 * 1 if the encoder sends timestamps, and @return_depth to NT_RETURN_DEPTH_SIFIVE0, which also decodes
 * trace in which each return is reported.
 *
 * NT_DIALECT_SPACEMIT_K3 is SpacemiT's K3, which sends addresses with copies of their sign bit.
 *
 * NT_DIALECT_ACCEMIC is CEDARtools.TraceEncoder. Its return stack has 16 entries, and ignores a call
 * when it is full. SYNC does not empty the stack. TCODE 31 and 32 have the meaning of IEEE-ISTO
 * 5001. TCODE 56 and 57 move the PC to an address that the decoder cannot determine.
 *
 * NT_DIALECT_MICROBLAZE_V is AMD MicroBlaze V, which has none of the optional features.
 */
enum nt_dialect {
	NT_DIALECT_RATIFIED	= 0,
	NT_DIALECT_SIFIVE0	= 1,
	NT_DIALECT_SPACEMIT_K3	= 2,
	NT_DIALECT_ACCEMIC	= 3,
	NT_DIALECT_MICROBLAZE_V	= 4,
};

/* Return the name of the encoder, such as "accemic"; NULL if @dialect is unknown. */
const char *nt_encoder_name(unsigned int dialect);

/* Set *dialect to the dialect of the encoder @name. Return NT_OK or NT_E_NOT_FOUND. */
int nt_encoder_find(const char *name, uint32_t *dialect);

/*
 * Return the number of entries of the encoder's return stack. Set nt_config::return_depth to it only if
 * the encoder uses implicit return, or if @dialect is NT_DIALECT_SIFIVE0. Any other value than 0
 * switches implicit return on. Return 0 if the encoder has no implicit return
 * (NT_DIALECT_MICROBLAZE_V), and NT_RETURN_DEPTH if @dialect is unknown.
 */
uint32_t nt_encoder_return_depth(unsigned int dialect);

enum nt_mode {
	NT_MODE_AUTO	= 0,	/* the decoder detects the mode from the messages */
	NT_MODE_BTM	= 3,	/* trTeInstMode, chapter 5 */
	NT_MODE_HTM	= 6,
};

#define NT_SRC_ANY		0xffffffffu
#define NT_SRC_BITS_MAX		12
#define NT_RETURN_DEPTH		32	/* maximum of the specification (chapter 9.2) */
#define NT_RETURN_DEPTH_SIFIVE0	1023
#define NT_RETURN_DEPTH_MAX	4096
#define NT_ADDR_BITS_MIN	32

#define NT_ISA_ZCMP		(1u << 0)	/* without this bit, encodings of Zcmp are decoded as c.fsdsp */
#define NT_ISA_ZCMT		(1u << 1)

/*
 * The entry that the encoder loses if a call is executed while its return stack is full. Chapter 9.2
 * does not define this entry. The value matters only if @return_depth is the encoder's own depth,
 * and if the program does not return to its calls in order.
 */
enum nt_return_full {
	NT_RETURN_DROP_OLDEST	= 0,	/* the call overwrites the oldest entry */
	NT_RETURN_DROP_NEWEST	= 1,	/* the call is not pushed; decoding is slower */
};

/* Custom instructions that may change the PC (chapter 10.1), besides custom-0 to custom-3 */
#define NT_CUSTOM_SYSTEM	(1u << 0)	/* SYSTEM encodings for custom use */
#define NT_CUSTOM_COMPRESSED	(1u << 1)	/* all 16-bit instructions except standard jumps */

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

/* Do the same as NT_CONFIG_INIT, which only C and C++ can use. @size is sizeof(struct nt_config). */
void nt_config_init(struct nt_config *config, size_t size);

/*
 * Members that this library does not know are 0 in a valid configuration, so that a program which was
 * built with a newer header can run with this library.
 */
#define NT_CONFIG_SIZE_MAX	256

/* Return NT_OK, or NT_E_INVALID if a member of *config is out of its range. */
int nt_config_check(const struct nt_config *config);

/* Return the name of a member of *config that is out of its range, such as "addr_bits"; otherwise NULL. */
const char *nt_config_bad_member(const struct nt_config *config);

/* ------------------------------------------------------------------ message */

/* TCODE (table "Fields in Messages"). The decoder skips messages with any other TCODE. */
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
	/* messages that only NT_DIALECT_ACCEMIC sends */
	NT_TCODE_REPEAT_INSN		= 31,
	NT_TCODE_REPEAT_INSN_SYNC	= 32,
	/* messages that only NT_DIALECT_SIFIVE0 sends */
	NT_TCODE_DATA_ACQUISITION	= 7,
	NT_TCODE_AUX_ACCESS_WRITE	= 23,
	NT_TCODE_IN_CIRCUIT_TRACE	= 34,
	NT_TCODE_IN_CIRCUIT_TRACE_SYNC	= 35,
};

/*
 * Bits of nt_message::fields, one for each field that the message has. A comment names the member
 * with the value of the field, if the member has another name.
 */
enum nt_field {
	NT_FIELD_SRC	 = 1 << 0,
	NT_FIELD_SYNC	 = 1 << 1,
	NT_FIELD_BTYPE	 = 1 << 2,
	NT_FIELD_ICNT	 = 1 << 3,
	NT_FIELD_FADDR	 = 1 << 4,	/* in nt_message::addr */
	NT_FIELD_UADDR	 = 1 << 5,	/* in nt_message::addr */
	NT_FIELD_HIST	 = 1 << 6,
	NT_FIELD_TSTAMP	 = 1 << 7,
	NT_FIELD_PROCESS = 1 << 8,	/* in nt_message::value, format, priv and context */
	NT_FIELD_ETYPE	 = 1 << 9,	/* in nt_message::code */
	NT_FIELD_ECODE	 = 1 << 10,	/* in nt_message::value */
	NT_FIELD_RCODE	 = 1 << 11,	/* in nt_message::code */
	NT_FIELD_RDATA	 = 1 << 12,	/* in nt_message::value, if RCODE is not 0, 1 or 2 */
	NT_FIELD_HREPEAT = 1 << 13,	/* in nt_message::value */
	NT_FIELD_BCNT	 = 1 << 14,	/* in nt_message::value */
	NT_FIELD_EVCODE	 = 1 << 15,	/* in nt_message::code */
	NT_FIELD_CDF	 = 1 << 16,
	/* fields that only NT_DIALECT_SIFIVE0 sends, except NT_FIELD_RCNT */
	NT_FIELD_IDTAG	 = 1 << 17,	/* in nt_message::value */
	NT_FIELD_DQDATA	 = 1 << 18,	/* in nt_message::data */
	NT_FIELD_AUX_ADDR = 1 << 19,	/* in nt_message::value */
	NT_FIELD_AUX_DATA = 1 << 20,	/* in nt_message::data */
	NT_FIELD_CKSRC	 = 1 << 21,	/* in nt_message::code */
	NT_FIELD_CKDF	 = 1 << 22,	/* in nt_message::cdf */
	NT_FIELD_CKDATA0 = 1 << 23,	/* in nt_message::value, without a conversion */
	NT_FIELD_CKDATA1 = 1 << 24,	/* in nt_message::data, without a conversion */
	NT_FIELD_RCNT	 = 1 << 25,	/* in nt_message::value (RepeatInstruction) */
};

/* B-TYPE, chapter 6.2 */
enum nt_btype {
	NT_BTYPE_INDIRECT	= 0,	/* jump, call or return; in a message with SYNC, also straight code */
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
	NT_SYNC_PC_SAMPLE	= 15,	/* only NT_DIALECT_SIFIVE0 sends this value */
};

enum nt_rcode {
	NT_RCODE_ICNT = 0, NT_RCODE_HIST = 1, NT_RCODE_HIST_REPEAT = 2,
	/* In NT_DIALECT_SIFIVE0, HREPEAT is a number of branches that were not taken (8) or taken (9). */
	NT_RCODE_NOT_TAKEN = 8, NT_RCODE_TAKEN = 9,
};

/* CKSRC of NT_TCODE_IN_CIRCUIT_TRACE, which is the event that the encoder reports */
enum nt_cksrc {
	NT_CKSRC_CONTROL	= 0,	/* without CKDATA1, CKDATA0 is a control code and not an address */
	NT_CKSRC_EXT_TRIGGER	= 8,
	NT_CKSRC_CALL		= 9,	/* CKDATA1 is the target of the call XOR the address of the call */
	NT_CKSRC_EXCEPTION	= 10,	/* CKDATA1 is the cause of the exception */
	NT_CKSRC_INTERRUPT	= 11,	/* CKDATA1 is the cause of the interrupt */
	NT_CKSRC_CONTEXT	= 13,	/* CKDATA1 is the new context */
	NT_CKSRC_WATCHPOINT	= 14,
	NT_CKSRC_PC_SAMPLE	= 15,
};
enum nt_evcode { NT_EVCODE_DEBUG = 0, NT_EVCODE_LOW_POWER = 1, NT_EVCODE_DISABLED = 4 };
enum nt_format { NT_FORMAT_PRIV = 0, NT_FORMAT_SCONTEXT = 2, NT_FORMAT_HCONTEXT = 3 };

/* The values of nt_message::priv and nt_context::priv are V << 2 | PRV. */
enum nt_priv {
	NT_PRIV_U = 0, NT_PRIV_S = 1, NT_PRIV_M = 3, NT_PRIV_VU = 4, NT_PRIV_VS = 5,
};

struct nt_message {
	uint64_t	offset;		/* offset of the first byte in the stream */
	uint32_t	length;		/* length in bytes */
	uint32_t	fields;		/* NT_FIELD_* */
	uint16_t	src;		/* SRC, or 0 if the message has none */
	uint8_t		tcode;		/* enum nt_tcode, or another value */
	uint8_t		sync;		/* enum nt_sync, or another value */
	uint8_t		btype;		/* enum nt_btype */
	uint8_t		code;		/* ETYPE, RCODE, EVCODE or CKSRC */
	uint8_t		cdf;		/* CDF or CKDF */
	uint8_t		format;		/* PROCESS.FORMAT */
	uint8_t		priv;		/* PROCESS.V and PRV; enum nt_priv, or another value */
	uint8_t		dialect;	/* enum nt_dialect */
	uint64_t	icnt;		/* I-CNT, or RDATA with RCODE 0, in half-words */
	uint64_t	addr;		/* F-ADDR or U-ADDR in bytes (with bit 0), sign-extended */
	uint64_t	hist;		/* HIST, or RDATA with RCODE 1 or 2, including its stop-bit */
	uint64_t	tstamp;		/* TSTAMP as sent, absolute with SYNC, otherwise relative */
	uint64_t	value;		/* PROCESS, ECODE, RDATA, HREPEAT, B-CNT; see enum nt_field */
	uint64_t	context;	/* PROCESS.CONTEXT */
	uint64_t	data;		/* DQDATA, AUX_DATA or CKDATA1, see enum nt_field */
	uint32_t	deviations;	/* deviations that this message alone shows, 1 << enum nt_deviation */
	/*
	 * A message that is not about the flow has @nr_others variable-length fields. The
	 * eight-byte members from @icnt to @data hold the first NT_MESSAGE_OTHERS of them, in this
	 * order, and the low 64 bits of a longer field. @other_fixed holds the fixed-length fields
	 * after SRC.
	 */
	uint16_t	other_fixed;
	uint8_t		nr_others;
};

#define NT_MESSAGE_OTHERS	7

/*
 * Maximum length of a message in bytes. A longer message is NT_E_TOO_LONG, unless it is a vendor's
 * (NT_TCODE_VENDOR_FIRST to NT_TCODE_VENDOR_LAST). The longest message of the specification has 38
 * bytes.
 */
#define NT_MESSAGE_MAX	256

/*
 * Decode the message at @data. Idle bytes before it are skipped, and @msg->offset is set to their
 * number. @msg->length is set even if the message is not valid.
 *
 * Returns 1: *msg is filled in. The next message is at offset + length.
 *	   0: these @size bytes do not contain the end of a message.
 *	   NT_E_MSEO, NT_E_TOO_LONG, NT_E_OVERFLOW, NT_E_MISSING, NT_E_EXTRA,
 *	   NT_E_HIST_ZERO, NT_E_RESERVED, NT_E_KIND: the message is not valid.
 *	   Continue at offset + length, which is after its last byte. If no byte is
 *	   left there, continue after the next byte with an MSEO of 11.
 *	   NT_E_INVALID: *config is not valid.
 */
int nt_message_decode_sized(const struct nt_config *config, const uint8_t *data, size_t size,
			    struct nt_message *msg, size_t msg_size);
static inline int nt_message_decode(const struct nt_config *config, const uint8_t *data,
				    size_t size, struct nt_message *msg)
{
	return nt_message_decode_sized(config, data, size, msg, sizeof(*msg));
}

/* Return true if the message has a SYNC field, so that decoding may start from it. */
static inline bool nt_message_is_sync(const struct nt_message *msg)
{
	return msg->fields & NT_FIELD_SYNC;
}

/*
 * Return the name in the specification, such as "IndirectBranchHist" or "Periodic Synchronization";
 * otherwise "Reserved" or "Vendor Defined". Never NULL.
 */
const char *nt_tcode_name(unsigned int tcode);
const char *nt_cksrc_name(unsigned int cksrc);
const char *nt_sync_name(unsigned int sync);
const char *nt_btype_name(unsigned int btype);
const char *nt_etype_name(unsigned int etype);
const char *nt_ecode_name(unsigned int bit);	/* type of lost messages that @bit of ECODE reports */
const char *nt_rcode_name(unsigned int rcode);
const char *nt_evcode_name(unsigned int evcode);
const char *nt_priv_name(unsigned int priv);	/* "U", "S", "M", "VU", "VS", "?" */

/* Return a name like nt_tcode_name(), or the name of a message that only @dialect has. */
const char *nt_dialect_tcode_name(unsigned int dialect, unsigned int tcode);

/*
 * Write a text such as "IndirectBranchHist SRC=1 B-TYPE=0 (Indirect) I-CNT=125 U-ADDR=0x7 HIST=0xffe"
 * to @buf, always with a final NUL. Return the length, or NT_E_SPACE if @size is too small; then @buf
 * holds the beginning of the text.
 */
int nt_message_desc_sized(const struct nt_message *msg, size_t msg_size, char *buf, size_t size);
static inline int nt_message_desc(const struct nt_message *msg, char *buf, size_t size)
{
	return nt_message_desc_sized(msg, sizeof(*msg), buf, size);
}

/* Bytes that suffice for any text of nt_message_desc(), and of nt_item_desc() */
#define NT_MESSAGE_DESC_MAX	512
#define NT_ITEM_DESC_MAX	512

/*
 * A reader of messages from a stream that arrives in pieces, which may be split anywhere.
 *
 * The bytes passed to nt_reader_feed() must stay valid until nt_reader_next() has returned 0. The
 * reader copies only the bytes of an incomplete message.
 */
struct nt_reader;

/* Return NULL on failure; errno is ENOMEM, or EINVAL if *config is not valid. */
struct nt_reader *nt_reader_new(const struct nt_config *config);
void nt_reader_free(struct nt_reader *reader);

/* Return NT_OK, or NT_E_BUSY if nt_reader_next() has not returned 0 yet. */
int nt_reader_feed(struct nt_reader *reader, const uint8_t *data, size_t size);

/*
 * Drop all bytes that were fed, and start again at @offset of the stream. If @middle is set, the
 * bytes are from the middle of a stream, such as a wrapped buffer, and the reader skips to the
 * first byte after an MSEO of 11 (chapter 3.1.1).
 */
void nt_reader_seek(struct nt_reader *reader, uint64_t offset, bool middle);

/*
 * Return 1, 0 or an error, like nt_message_decode(). After an error, the next call continues with
 * the next message. @msg->offset is the offset in the stream. After 0, call nt_reader_feed() or
 * nt_reader_end().
 */
int nt_reader_next_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size);
static inline int nt_reader_next(struct nt_reader *reader, struct nt_message *msg)
{
	return nt_reader_next_sized(reader, msg, sizeof(*msg));
}

/*
 * End the stream. Return NT_OK; NT_E_TRUNCATED if the last message is not complete; or NT_E_TOO_LONG
 * if the incomplete message is also longer than any message can be. After an error, *msg has the
 * offset, the length and, if it is complete, the SRC of the incomplete message.
 */
int nt_reader_end_sized(struct nt_reader *reader, struct nt_message *msg, size_t msg_size);
static inline int nt_reader_end(struct nt_reader *reader, struct nt_message *msg)
{
	return nt_reader_end_sized(reader, msg, sizeof(*msg));
}

/* --------------------------------------------------------------------- insn */

/*
 * Effect of an instruction on the PC. This is the part of itype (chapter 2) that depends on the
 * opcode alone.
 */
enum nt_class {
	NT_CLASS_LINEAR		= 0,	/* the PC continues at the next instruction */
	NT_CLASS_BRANCH		= 1,	/* direct conditional branch */
	NT_CLASS_JUMP		= 2,	/* direct jump, with or without linkage */
	NT_CLASS_CALL		= 3,	/* direct call, which links x1 or x5 */
	NT_CLASS_INDIRECT_JUMP	= 4,	/* indirect jump, with or without linkage */
	NT_CLASS_INDIRECT_CALL	= 5,
	NT_CLASS_RETURN		= 6,
	NT_CLASS_SWAP		= 7,	/* co-routine swap, which is a return and a call */
	NT_CLASS_TRAP_RETURN	= 8,	/* mret, sret, mnret */
	NT_CLASS_INVALID	= 9,	/* opcode with all zeros or all ones */
};

struct nt_insn {
	uint8_t		length;		/* length in bytes, which is 2, 4, 6, ... 22 */
	uint8_t		klass;		/* enum nt_class */
	uint8_t		rs1;		/* base register of an indirect jump */
	uint8_t		rd;		/* register that lui, c.lui or auipc writes, or 0 */
	bool		is_pc_relative;	/* the instruction is auipc */
	bool		is_table_jump;	/* cm.jt or cm.jalt, whose index is @imm */
	bool		is_system;	/* ecall, ebreak or c.ebreak, which traps; it retires only in emulators */
	int64_t		imm;		/* offset of a jump or branch; constant of lui, auipc */
};

/*
 * Decode the instruction at @code, where @size bytes can be read. Return its length in bytes; 0 if
 * @size is too small; or NT_E_INVALID if *config is not valid. Decoding needs 2 bytes, or 4 if the low
 * two bits of the first byte are set.
 */
int nt_insn_decode_sized(const struct nt_config *config, const uint8_t *code, size_t size,
			 struct nt_insn *insn, size_t insn_size);
static inline int nt_insn_decode(const struct nt_config *config, const uint8_t *code, size_t size,
				 struct nt_insn *insn)
{
	return nt_insn_decode_sized(config, code, size, insn, sizeof(*insn));
}

/* Return the name of @klass (enum nt_class), such as "branch" or "call". Never NULL. */
const char *nt_class_name(unsigned int klass);

/* -------------------------------------------------------------------- image */

/*
 * The context that executes. Only members that an Ownership message (chapter 7.1) has reported are
 * set.
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
 * The code that was executed. The library reads the code from the sections that were added. The
 * reader provides the code at all other addresses.
 *
 * Each address belongs to an address space, which is a number that the caller chooses.
 * reader::space() maps a context to an address space. Without this function, there is only space 0.
 * Sections of space 0 are also visible in every other space, except for addresses at which that
 * space has a section. The library stores decoded code for each space. Therefore reader::space()
 * should return the same space each time for code that is executed in all spaces, such as a kernel.
 */
struct nt_image;

struct nt_image_reader {
	/* Optional. Return the address space in which @context executes. */
	uint64_t (*space)(void *ctx, const struct nt_context *context);
	/*
	 * Optional. Copy up to @size bytes at @addr to @buf. Return the number of bytes copied,
	 * which may be fewer than @size, or 0 or less if there is no code at @addr.
	 */
	int (*read)(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size);
	void *ctx;
	/*
	 * Optional. Set *jvt to the CSR jvt (Zcmt) in @space. Return false if it is not known.
	 * Without this function, jvt is nt_config::jvt in all spaces.
	 */
	bool (*jvt)(void *ctx, uint64_t space, uint64_t *jvt);
};

/* Return NULL if out of memory. */
struct nt_image *nt_image_new(void);
void nt_image_free(struct nt_image *image);	/* first free the flows that use @image */

/*
 * Add a section. The image stores the pointer, so @data must stay valid until the section is removed
 * or the image is freed. If two sections overlap, the later section hides the earlier section.
 * Return NT_OK; NT_E_NOMEM; or NT_E_INVALID if @size is 0, or the section wraps around 2^64.
 */
int nt_image_add(struct nt_image *image, uint64_t space, uint64_t addr,
		 const void *data, size_t size);

/*
 * Remove the section that nt_image_add() added with the same @space, @addr and @size. If there are
 * several such sections, remove the last one. Sections that it has hidden become visible. The caller
 * may free the section's data after the call. Return NT_OK or NT_E_NOT_FOUND.
 */
int nt_image_remove(struct nt_image *image, uint64_t space, uint64_t addr, size_t size);

/* Set the reader to a copy of *reader. NULL removes the reader. */
void nt_image_set_reader_sized(struct nt_image *image, const struct nt_image_reader *reader,
			       size_t reader_size);
static inline void nt_image_set_reader(struct nt_image *image,
				       const struct nt_image_reader *reader)
{
	nt_image_set_reader_sized(image, reader, sizeof(*reader));
}

/*
 * Report that code, or the mapping of contexts to spaces, has changed, because a module was loaded,
 * a program was executed, or text was patched. All flows that use the image drop the code that they
 * have decoded. The change does not affect items that nt_flow_next() has already returned.
 */
void nt_image_invalidate(struct nt_image *image);

/*
 * Do the same as nt_image_invalidate(), but only for code at @addr..@addr + @size in all spaces,
 * because a module was loaded, or a function was patched or compiled. Flows keep all other code.
 */
void nt_image_invalidate_range(struct nt_image *image, uint64_t addr, uint64_t size);

/* Report that only the mapping of contexts to spaces has changed. Flows keep all code. */
void nt_image_remap(struct nt_image *image);

/*
 * Copy up to @size bytes of code at @addr to @buf. Return the number of bytes copied, or 0 if @addr
 * has no code.
 */
size_t nt_image_read(const struct nt_image *image, uint64_t space, uint64_t addr,
		     void *buf, size_t size);

#define NT_INSN_MAX	22	/* bytes of the longest instruction */

/*
 * Copy the bytes of the instruction at @addr to @code, and decode it to *insn. To get each
 * instruction of a range, begin at the start of the range and add the returned length. Return the
 * length in bytes; 0 if there is no code; or NT_E_INVALID if *config is not valid.
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
 * The way in which a range ended. This is the class of its last instruction (NT_CLASS_*), or a trap if
 * the last instruction is NT_CLASS_LINEAR or not known.
 */
enum nt_end {
	/* no jump, branch or trap; for example, the message ends here */
	NT_END_LINEAR		= NT_CLASS_LINEAR,
	NT_END_BRANCH		= NT_CLASS_BRANCH,	/* conditional branch, taken if NT_RANGE_TAKEN is set */
	NT_END_JUMP		= NT_CLASS_JUMP,
	NT_END_CALL		= NT_CLASS_CALL,
	NT_END_INDIRECT_JUMP	= NT_CLASS_INDIRECT_JUMP,
	NT_END_INDIRECT_CALL	= NT_CLASS_INDIRECT_CALL,
	NT_END_RETURN		= NT_CLASS_RETURN,
	NT_END_SWAP		= NT_CLASS_SWAP,
	NT_END_TRAP_RETURN	= NT_CLASS_TRAP_RETURN,
	NT_END_TRAP		= 16,	/* exception or interrupt before the next instruction */
	NT_END_EXCEPTION	= 17,	/* exception before the next instruction */
	NT_END_INTERRUPT	= 18,	/* interrupt before the next instruction */
};

/* Return the name of @end (enum nt_end), such as "branch" or "exception". Never NULL. */
const char *nt_end_name(unsigned int end);

#define NT_RANGE_TAKEN		(1 << 0)	/* the PC did not continue at the next instruction */
#define NT_RANGE_INFERRED	(1 << 1)	/* the destination was inferred (implicit return or sequential jump) */

/*
 * Consecutive instructions. Only the last of them may change the PC. If no instruction retired
 * before a trap, the trap is a range without instructions. A sequence with more half-words than
 * NT_RANGE_HALFWORDS is reported in several ranges. All of them except the last end with
 * NT_END_LINEAR.
 */
struct nt_range {
	uint64_t	start;		/* address of the first instruction */
	uint16_t	halfwords;	/* length in half-words */
	uint16_t	insns;		/* number of instructions */
	uint8_t		how;		/* enum nt_end */
	uint8_t		flags;		/* NT_RANGE_* */
	uint8_t		last_len;	/* length of the last instruction in half-words */
	uint8_t		reserved;	/* internal; may have any value */
};

#define NT_RANGE_HALFWORDS	1024

enum nt_item_type {
	NT_ITEM_RANGE	= 1,	/* instructions that were executed */
	NT_ITEM_SYNC	= 2,	/* a message with SYNC */
	NT_ITEM_STOP	= 3,	/* ProgTraceCorrelation, at which trace stops */
	NT_ITEM_LOST	= 4,	/* Error message, which reports that the encoder has lost messages */
	/*
	 * Ownership message, which reports nt_item::context. Encoders repeat it after SYNC, so the
	 * context may be the same as before.
	 */
	NT_ITEM_CONTEXT	= 5,
	NT_ITEM_SKIPPED	= 6,	/* a message that is vendor defined or reserved */
	NT_ITEM_ERROR	= 7,	/* the trace is wrong, or the code is not the executed code */
	/* items that only NT_DIALECT_SIFIVE0 has */
	NT_ITEM_DATA	= 8,	/* software wrote a value into the trace */
	NT_ITEM_EVENT	= 9,	/* in-circuit trace, which does not change the flow */
	/* The trace is right, but code is missing. The flow continues at the next address. */
	NT_ITEM_GAP	= 10,
};

/* Details of NT_ITEM_ERROR and NT_ITEM_GAP */
struct nt_problem {
	int		code;		/* enum nt_error */
	uint64_t	addr;		/* address that decoding had reached; valid if has_addr */
	bool		has_addr;
};

/* Values of nt_item::tstamp_kind */
enum nt_tstamp_kind {
	NT_TSTAMP_NONE		= 0,	/* the time is not known */
	NT_TSTAMP_EXACT		= 1,	/* timestamp of the message that reports the end of this item */
	NT_TSTAMP_CARRIED	= 2,	/* last known timestamp, which is a lower bound of the time */
};

/*
 * One item that the decoder found in the trace.
 *
 * Ranges are in the order of execution. The @dest of a range is the @start of the next range, unless
 * an item between the two ranges ends the flow. SYNC with @restart, STOP, LOST, ERROR and GAP end
 * the flow.
 */
struct nt_item {
	uint8_t			type;		/* enum nt_item_type */
	uint8_t			tstamp_kind;	/* enum nt_tstamp_kind */
	uint16_t		src;
	uint8_t			tcode;		/* TCODE of the message, or 0 if it is not known */
	uint8_t			dialect;	/* enum nt_dialect */
	uint64_t		offset;		/* offset of the message in the stream */
	uint64_t		tstamp;		/* absolute time */
	struct nt_context	context;	/* context of the range, or the reported context */
	uint64_t		space;		/* address space of a range, otherwise 0 */
	union {
		struct {
			uint64_t	start;
			uint64_t	end_addr;	/* address after the last instruction */
			uint64_t	last_addr;	/* address of the last instruction */
			uint64_t	dest;		/* address of the next instruction */
			bool		has_dest;	/* @dest is known */
			bool		taken;		/* NT_RANGE_TAKEN */
			bool		inferred;	/* NT_RANGE_INFERRED */
			uint8_t		how;		/* enum nt_end */
			uint32_t	insns;
		} range;
		struct {
			uint64_t	addr;		/* F-ADDR */
			uint8_t		reason;		/* enum nt_sync, or another value */
			bool		restart;	/* the flow does not continue, but starts at @addr */
			uint64_t	lost_messages;	/* number of messages before this that were not decoded */
			uint64_t	lost_bytes;	/* number of bytes of the messages that were not decoded */
		} sync;
		struct {
			uint64_t	addr;		/* address of the stop; valid if has_addr */
			bool		has_addr;
			uint8_t		reason;		/* enum nt_evcode, or another value */
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
			bool		has_id;	/* false if Ownership reports the value */
		} data;
		struct {
			uint64_t	addr;		/* PC of the event; valid if has_addr */
			uint64_t	data;		/* see enum nt_cksrc; valid if has_data */
			bool		has_addr;
			bool		has_data;
			uint8_t		source;		/* enum nt_cksrc, or another value */
		} event;
		struct nt_problem error;
		struct nt_problem gap;
	};
};

/*
 * A batch has several ranges, because returning them at once is faster. The ranges have the same
 * source and context, and the destination of each range is the start of the next range. If @nr is 0,
 * the batch has one item of another type, and no ranges.
 *
 * Each mark describes the end of a message. That message, or an earlier message, reports the ranges
 * up to, but not including, index @range. The whole batch is valid until the next call.
 */
struct nt_mark {
	uint64_t	offset;		/* offset of the message */
	uint64_t	tstamp;		/* time of the message, or else the last known time */
	uint32_t	range;		/* index of the first range after the message */
	uint8_t		tstamp_kind;	/* enum nt_tstamp_kind */
	uint8_t		tcode;
};

struct nt_batch {
	const struct nt_range	*ranges;
	size_t			nr;
	const struct nt_mark	*marks;
	size_t			nr_marks;
	uint64_t		dest;		/* destination of the last range */
	bool			has_dest;
	uint16_t		src;
	uint8_t			tstamp_kind;	/* NT_TSTAMP_NONE or NT_TSTAMP_CARRIED */
	uint64_t		tstamp;		/* last known time before the first range */
	uint64_t		space;		/* address space of the ranges */
	struct nt_context	context;
	uint64_t		reserved[4];	/* 0 */
	struct nt_item		item;		/* used if @nr is 0; the last member, because it may become longer */
};

struct nt_flow;

/*
 * Create a flow. *config is copied. The flow uses @image until nt_flow_free().
 * Return NULL on failure; errno is ENOMEM, or EINVAL if *config is not valid.
 */
struct nt_flow *nt_flow_new(const struct nt_config *config, struct nt_image *image);
void nt_flow_free(struct nt_flow *flow);

/*
 * Copy @flow with its state. The copy continues at the same position. Use this function to decode
 * the following bytes twice. Call it only after nt_flow_next() has returned 0.
 * Return NULL on failure; errno is ENOMEM, or EBUSY if there are items left.
 */
struct nt_flow *nt_flow_clone(const struct nt_flow *flow);

/*
 * Feed the next bytes of the stream. They are not copied, and must stay valid until nt_flow_next()
 * has returned 0. A message may be split anywhere.
 * Return NT_OK, or NT_E_BUSY if nt_flow_next() has not returned 0 yet.
 */
int nt_flow_feed(struct nt_flow *flow, const uint8_t *data, size_t size);

/*
 * Get the next item. The function decodes at most one message ahead. Between two calls, the caller
 * may wait, use other flows, or change the image.
 *
 * Return 1 if *item is filled in; 0 if all bytes are decoded, so that the caller must feed more or
 * end the stream; or NT_E_NOMEM. After NT_E_NOMEM, nothing is lost, and the next call tries again.
 * An error in the trace is an item, not a return value.
 */
int nt_flow_next_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size);
static inline int nt_flow_next(struct nt_flow *flow, struct nt_item *item)
{
	return nt_flow_next_sized(flow, item, sizeof(*item));
}

/* Do the same as nt_flow_next(), but decode many messages ahead, and return many ranges at once. */
int nt_flow_next_batch_sized(struct nt_flow *flow, struct nt_batch *batch, size_t batch_size);
static inline int nt_flow_next_batch(struct nt_flow *flow, struct nt_batch *batch)
{
	return nt_flow_next_batch_sized(flow, batch, sizeof(*batch));
}

/*
 * Call nt_flow_end() if the stream ends with the bytes that were fed, or is interrupted there. The call
 * is allowed before or after nt_flow_next() has returned 0 for these bytes. Call nt_flow_next() after
 * it until it returns 0, because it may return more items, such as NT_E_TRUNCATED. Before other bytes
 * are fed, call nt_flow_restart().
 *
 * Call nt_flow_restart() to start the flow again. The bytes of the next nt_flow_feed() begin with a
 * message. If @middle is true, they may begin inside a message, and bytes up to the first MSEO of 11
 * are skipped. @offset is the offset of the first byte. The flow drops all state, even the context. It
 * keeps only the last time, to detect that the counter of timestamps has wrapped around.
 */
void nt_flow_end(struct nt_flow *flow);
void nt_flow_restart(struct nt_flow *flow, uint64_t offset, bool middle);

/* Statistics since nt_flow_new() */
struct nt_stats {
	uint64_t	bytes;
	uint64_t	messages;
	uint64_t	by_tcode[64];
	uint64_t	syncs;
	uint64_t	restarts;
	uint64_t	errors;		/* number of NT_ITEM_ERROR */
	uint64_t	lost_messages;	/* number of messages that were not decoded, because the flow was not known */
	uint64_t	lost_bytes;
	uint64_t	skipped;	/* number of vendor defined or reserved messages */
	uint64_t	gaps;		/* number of NT_ITEM_GAP */
	uint64_t	deviations[NT_DEV_MAX];	/* number of each enum nt_deviation */
};

/* Copy the statistics to *stats, which has @size bytes. Trace that was decoded ahead is also counted. */
void nt_flow_stats(const struct nt_flow *flow, struct nt_stats *stats, size_t size);

/*
 * Write a text such as "I-CNT ends inside an instruction at 0x100, source 0, offset 7" or
 * "0x100..0x106 3 insns branch taken to 0x200" to @buf, always with a final NUL. Return the length of
 * the text, or NT_E_SPACE if @size is too small; then @buf holds the beginning of the text.
 */
int nt_item_desc_sized(const struct nt_item *item, size_t item_size, char *buf, size_t size);
static inline int nt_item_desc(const struct nt_item *item, char *buf, size_t size)
{
	return nt_item_desc_sized(item, sizeof(*item), buf, size);
}

/* ------------------------------------------------------------------- counts */

/*
 * Execution counts of each block, each direction of each branch, and each edge. The library counts
 * them without making ranges, which is faster. The result is the same as from counting the ranges
 * of nt_flow_next(), including inferred ranges and the ranges before an error.
 *
 * A function was called as often as the block that begins at its address was executed: add up @count
 * of the blocks with this @from. A loop back to this address is also counted.
 *
 * Counts have 64 bits. Entries that differ in @type, @how, @space, @from or @to are different.
 */
enum nt_count_type {
	/*
	 * The instructions of a range, from @from up to, but not including, @to. A range that
	 * begins inside another one is a separate block. A range without instructions is not
	 * counted.
	 */
	NT_COUNT_BLOCK	= 1,
	/*
	 * The conditional branch at @from. It has no @to, because its instruction determines both
	 * destinations.
	 */
	NT_COUNT_BRANCH	= 2,
	/*
	 * A change of the PC from @from to @to that only the trace shows. @how is enum nt_end. An
	 * edge is an indirect jump or call, a return, a swap or a trap return, inferred or not. It
	 * may also be a trap before the instruction at @from was executed. An edge is not counted
	 * if the trace does not contain its destination. Direct jumps and calls are not edges. Each
	 * of them has one target, and is executed as often as the block that ends with it.
	 */
	NT_COUNT_EDGE	= 3,
};

struct nt_count {
	uint8_t		type;		/* enum nt_count_type */
	uint8_t		how;		/* enum nt_end of an edge or branch; 0 for a block */
	uint64_t	space;		/* address space of @from */
	uint64_t	from;		/* address */
	uint64_t	to;		/* address, or 0 for a branch */
	uint64_t	count;		/* number of executions; for a branch, of times that it was taken */
	uint64_t	insns;		/* number of instructions in all executions of a block */
	uint64_t	not_taken;	/* number of times that a branch was not taken */
};

/* A set of counts. One thread at a time may use it. */
struct nt_counts;

/* Return NULL if out of memory. */
struct nt_counts *nt_counts_new(void);
void nt_counts_free(struct nt_counts *counts);

/*
 * Count the range *item once. Items of other types are ignored. Use this function only for ranges
 * that the caller already has, because nt_flow_count() is faster.
 * Return NT_OK, or NT_E_NOMEM, in which case *counts is unchanged.
 */
int nt_counts_add_item_sized(struct nt_counts *counts, const struct nt_item *item,
			     size_t item_size);
static inline int nt_counts_add_item(struct nt_counts *counts, const struct nt_item *item)
{
	return nt_counts_add_item_sized(counts, item, sizeof(*item));
}

/*
 * Add an entry that nt_counts_next() has returned. If *counts has the same entry, the numbers are
 * added to it. Return NT_OK, or NT_E_NOMEM, in which case *counts is unchanged.
 */
int nt_counts_add_sized(struct nt_counts *counts, const struct nt_count *count,
			size_t count_size);
static inline int nt_counts_add(struct nt_counts *counts, const struct nt_count *count)
{
	return nt_counts_add_sized(counts, count, sizeof(*count));
}

/*
 * Add the counts of *from, such as those of another thread or flow, to *counts. *from does not
 * change. Return NT_OK, or NT_E_NOMEM, in which case *counts is unchanged.
 */
int nt_counts_merge(struct nt_counts *counts, const struct nt_counts *from);

/*
 * Move the counts of nt_flow_count() from @flow to *counts. @flow continues to count from 0.
 * Return NT_OK or NT_E_NOMEM. After NT_E_NOMEM, nothing is lost, *counts is unchanged, and the call
 * can be repeated.
 */
int nt_counts_take(struct nt_counts *counts, struct nt_flow *flow);

/* Order the entries by type, space, from, to and how. Never fails. */
void nt_counts_sort(struct nt_counts *counts);

/*
 * Get the entries one by one. They are in the order of nt_counts_sort() until other entries are
 * added. Set *at to 0 for the first entry; the call advances it. Return 1 if *count is filled in,
 * or 0 if there are no more entries.
 */
int nt_counts_next_sized(const struct nt_counts *counts, uint64_t *at, struct nt_count *count,
			 size_t count_size);
static inline int nt_counts_next(const struct nt_counts *counts, uint64_t *at,
				 struct nt_count *count)
{
	return nt_counts_next_sized(counts, at, count, sizeof(*count));
}

/*
 * Do the same as nt_flow_next(), but count the ranges in @flow and do not return them. The function
 * decodes up to the next item of another type, or to the end of the bytes that were fed.
 * nt_counts_take() gets the counts. The caller may also call nt_flow_next() and
 * nt_flow_next_batch(). Then each range is either returned or counted. nt_flow_restart() does not
 * reset the counts. nt_flow_clone() does not copy the counts.
 *
 * Return 1 if *item, which is not a range, is filled in; 0 if all bytes are decoded, so that the
 * caller must feed more or end the stream; or NT_E_NOMEM. After NT_E_NOMEM, nothing is lost, and the
 * call can be repeated.
 */
int nt_flow_count_sized(struct nt_flow *flow, struct nt_item *item, size_t item_size);
static inline int nt_flow_count(struct nt_flow *flow, struct nt_item *item)
{
	return nt_flow_count_sized(flow, item, sizeof(*item));
}

/* ----------------------------------------------------------------- whole buffers */

/*
 * Find message number @nth (from 0) of the messages with SYNC in a buffer. The buffer begins with a
 * message. If @middle is true, it may begin inside a message. Set *offset to the offset of the
 * found message's first byte. Return NT_OK; NT_E_NOT_FOUND if the buffer has too few messages with
 * SYNC; or NT_E_INVALID if *config is not valid.
 */
int nt_sync_find(const struct nt_config *config, const uint8_t *data, size_t size,
		 bool middle, uint64_t nth, size_t *offset);

/*
 * Find the first message with SYNC that begins at offset @from or later, or the last message with
 * SYNC that begins before offset @before. @middle has the same meaning as in nt_sync_find(). Set
 * *offset to the offset of the message's first byte. Return NT_OK; NT_E_NOT_FOUND; or NT_E_INVALID
 * if *config is not valid.
 */
int nt_sync_next(const struct nt_config *config, const uint8_t *data, size_t size, bool middle,
		 size_t from, size_t *offset);
int nt_sync_previous(const struct nt_config *config, const uint8_t *data, size_t size,
		     bool middle, size_t before, size_t *offset);

/*
 * Decode a whole buffer by @threads threads, one of which is the caller's. The buffer is split at
 * messages with SYNC, because decoding can begin there (chapter 8.4). @consume is called with the
 * batches in the order of the stream, by one thread at a time. @consume must return 0 to
 * continue. After another value, it is not called again. The items, their times and contexts are the
 * same as from one flow, but the batches may begin and end elsewhere.
 *
 * A part has at least 16 KiB. A buffer with more than 64 parts for each thread has larger parts, of
 * up to 256 KiB, and a larger buffer has more parts. One thread decodes
 *   a part without SYNC, and therefore a buffer in which SYNC is rarer than the parts;
 *   the rest of the stream after a second source, unless nt_config::src_id selects one;
 *   the rest of the stream after a message of the other trace mode (DirectBranch in HTM, HIST in
 *   BTM), unless nt_config::mode is set;
 *   the rest of the stream after in-circuit trace (NT_DIALECT_SIFIVE0);
 *   the whole stream if timestamps are XORed and have a @tstamp_bits of 1 to 63, or if SYNC does not
 *   empty the return stack (NT_DIALECT_ACCEMIC with a @return_depth).
 * All threads call reader::space() and reader::read() of @image at the same time. @stats may be NULL;
 * @stats_size is sizeof(struct nt_stats).
 *
 * Return NT_OK; NT_E_NOMEM, after the batches that were decoded before; NT_E_INVALID if *config is
 * not valid or @threads is 0; or the value that @consume returned.
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
 * Do the same as nt_parallel_decode(), but threads do not wait for each other. All threads call
 * @consume at the same time. @ctxs has @threads pointers, one for each thread. The parts of the
 * stream are numbered from 0 in the order of the stream. One thread decodes a part and passes the
 * batches of this part in order. A caller that needs the order of the stream sorts by @part at the
 * end. If a call of @consume does not return 0, or if memory runs out, no further call begins, but
 * calls by other threads may still run.
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
 * Count the ranges of a whole buffer like nt_flow_count(), by @threads threads, one of which is the
 * caller's, and add the counts to *counts. The buffer is split as by
 * nt_parallel_decode_unordered(). Errors and losses are in *stats, which may be NULL.
 *
 * Return NT_OK; NT_E_NOMEM, without a change of *counts; or NT_E_INVALID if *config is not valid or
 * @threads is 0.
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
 * A converter for the pin interface (chapter 3.1.4). The interface has @pins (1, 2, 4, 8 or 16) bits
 * for each clock edge, packed least significant first, with any number of idle bits between
 * messages. The converter produces the bytes that a RAM sink would store.
 */
struct nt_pins;

/* Return NULL on failure; errno is ENOMEM, or EINVAL if @pins is not 1, 2, 4, 8 or 16. */
struct nt_pins *nt_pins_new(unsigned int pins);
void nt_pins_free(struct nt_pins *pins);

/*
 * Convert up to @size bytes, and write at most @out_size bytes to @out. @out_size must be at least
 * 2. Set *used to the number of bytes consumed. Return the number of bytes written. If the result is
 * 0 and all bytes are used, feed more bytes. Bytes with a reserved MSEO are also written, so that
 * the decoder reports the error. After a byte with a reserved MSEO, the converter skips all bits up
 * to an idle byte.
 */
size_t nt_pins_convert(struct nt_pins *pins, const uint8_t *data, size_t size, size_t *used,
		       uint8_t *out, size_t out_size);

/*
 * CoreSight frames, in which a trace formatter packs the bytes of several sources, for example
 * after an ATB bridge. A frame has 16 bytes, some of which are trace IDs. Full-synchronisation
 * packets may be between frames, and half-synchronisation packets anywhere. These functions split
 * frames into the bytes of each ID.
 */
#define NT_FRAME_SIZE		16
#define NT_FRAMES_IDS		112	/* number of IDs; 1 to 0x6f are sources, 0 is padding */

/* A buffer for the bytes of one ID */
struct nt_frames_out {
	uint8_t	*data;		/* buffer, or NULL to drop the bytes */
	size_t	size;		/* size of the buffer, at least NT_FRAMES_OUT_MIN */
	size_t	nr;		/* number of bytes in the buffer; the caller resets it to 0 */
};

#define NT_FRAMES_OUT_MIN	64

/* Statistics of nt_frames_convert() */
struct nt_frames_stats {
	uint64_t	bytes;		/* number of bytes consumed */
	uint64_t	frames;
	uint64_t	syncs;		/* number of synchronisation packets */
	uint64_t	padding;	/* number of bytes with ID 0 */
	uint64_t	unknown;	/* number of bytes whose ID is not known, because no ID was sent before them */
	uint64_t	triggers;	/* number of bytes with ID 0x7b or 0x7d, which are not sources */
	uint64_t	lost;		/* number of bytes in frames that were not valid */
};

struct nt_frames;

/* Return NULL if out of memory. */
struct nt_frames *nt_frames_new(void);
void nt_frames_free(struct nt_frames *frames);

/*
 * Split up to @size bytes, which may begin and end anywhere, and add them to @outs, which has
 * NT_FRAMES_IDS entries, one for each ID. Set *used to the number of bytes consumed. If an entry of
 * @outs has no room for a frame, or if the function does not return NT_OK, some bytes may be left,
 * at least one of each frame that was not written. Then empty the buffers, and call the function
 * again with the rest. When *used is @size, all complete frames were written.
 *
 * Returns
 * NT_OK.
 * 1: there are four full-synchronisation packets in a row, with which Linux marks an interruption
 *    of the buffer. The bytes after them do not continue the earlier bytes of any ID, and their ID
 *    is not known before the next ID is sent.
 * NT_E_FRAME_ID, NT_E_FRAME_SYNC: a frame is not valid. The whole frame is dropped, and so are the
 *    bytes up to the next ID. Bytes since the previous full-synchronisation packet may be wrong,
 *    because random bytes are a valid frame more often than not. Decode the following bytes of each
 *    ID as from the middle of a message.
 */
int nt_frames_convert(struct nt_frames *frames, const uint8_t *data, size_t size, size_t *used,
		      struct nt_frames_out *outs);

/*
 * Find the start of the first frame in bytes that may begin anywhere, such as a buffer that has
 * wrapped around. This is the only offset at which the bytes of each ID are N-Trace, so
 * full-synchronisation packets are not needed. Some hundred bytes suffice if they contain messages;
 * at most 64 KiB are examined. Set *offset to the number of bytes to skip, 0..15.
 * Return NT_OK; NT_E_NOT_FOUND if the offset is not certain; or NT_E_NOMEM.
 */
int nt_frames_find(const uint8_t *data, size_t size, size_t *offset);

/*
 * End the stream after all bytes were used. Return NT_OK, or NT_E_FRAME_SYNC if the last frame is
 * incomplete. Its bytes are dropped.
 */
int nt_frames_end(struct nt_frames *frames);

/* Copy the statistics to *stats, which has @size bytes. */
void nt_frames_stats(const struct nt_frames *frames, struct nt_frames_stats *stats, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* NTRACE_NTRACE_H */
