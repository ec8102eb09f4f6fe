/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Make random programs, execute them, and encode their N-Trace according to the specification's text.
 * The source files are:
 *
 *   options  chooses the options of a seed, for the program, the encoder and the transport
 *   program  makes real machine code with known targets
 *   execute  executes that code, and reports each step of a hart
 *   encode   makes messages of these steps, and notes which message reports which step
 *   library  runs libntrace in each way that it offers
 *   check    compares the results with each other and with the execution
 */
#ifndef RANDOM_H
#define RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---------------------------------------------------------------- random numbers */

struct rng {
	uint64_t	state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Return a random number from 0 to @n - 1 */
static inline uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return n ? (uint32_t)((rng_next(rng) >> 32) * n >> 32) : 0;
}

/* Return a random number from @low to @high, including both */
static inline uint32_t rng_range(struct rng *rng, uint32_t low, uint32_t high)
{
	return low + rng_below(rng, high - low + 1);
}

static inline bool rng_percent(struct rng *rng, uint32_t percent)
{
	return rng_below(rng, 100) < percent;
}

/* Return true once in @n times on average, or never if @n is 0 */
static inline bool rng_once_in(struct rng *rng, uint32_t n)
{
	return n && !rng_below(rng, n);
}

/*
 * Make the random number generator of a part of the test, such as a hart. Each part has its own generator, so that an
 * option changes as few random choices as possible.
 */
static inline struct rng rng_new(uint64_t seed, uint64_t part)
{
	struct rng rng = { seed * 0x2545f4914f6cdd1dULL + part * 0x632be59bd9b4e019ULL };

	rng_next(&rng);
	return rng;
}

/* ---------------------------------- arrays that grow when an element is added */

void *grow_array(void *array, size_t *room, size_t size);

#define VEC(type)	struct { type *v; size_t n, room; }
#define VEC_ADD(vec)							\
	(*({ if ((vec)->n == (vec)->room)				\
		(vec)->v = grow_array((vec)->v, &(vec)->room, sizeof(*(vec)->v)); \
	     &(vec)->v[(vec)->n++]; }))

/* ------------------------------------------------------------------------ options */

/*
 * Each option has a name, a plain value, a highest value, and a description. The value 0 of a "Once in
 * N" option means never. --shrink tries the plain value.
 */
#define OPTIONS(X)								\
	X(xlen,		 64,	64, "32 or 64")					\
	X(compressed,	 0,	1, "16-bit instructions")			\
	X(zcmp,		 0,	1, "cm.popret and the like")			\
	X(zcmt,		 0,	1, "cm.jt and cm.jalt")				\
	X(long_insns,	 0,	1, "instructions of 48 bits and more")		\
	X(custom,	 0,	100, "percent of blocks that end with a custom jump") \
	X(functions,	 1,	60, "functions of a program")			\
	X(blocks,	 1,	20, "most blocks of a function")		\
	X(block_insns,	 1,	4000, "most instructions of a block")		\
	X(high,		 0,	3, "where code lies")				\
	X(pairs,	 0,	100, "percent of blocks that end with lui/auipc and jalr") \
	X(harts,	 1,	3, "harts, each a trace source")		\
	X(same_code,	 0,	1, "all harts run the same program")		\
	X(procs,	 1,	4, "address spaces")				\
	X(insns,	 20,	2000000, "instructions to execute")		\
	X(chance,	 0,	100, "percent of branches and jumps that are pure chance") \
	X(wild,		 0,	100, "percent of returns that go elsewhere")	\
	X(exceptions,	 0,	1000000, "an exception once in N instructions")	\
	X(interrupts,	 0,	1000000, "an interrupt once in N instructions") \
	X(guests,	 0,	1, "V bit, hcontext")				\
	X(htm,		 0,	1, "HTM, else BTM")				\
	X(mode_given,	 0,	1, "the decoder is given the mode")		\
	X(ir_mode,	 0,	3, "trTeInstImplicitReturnMode")		\
	X(ir_depth,	 1,	32, "depth of the encoder's return stack")	\
	X(ir_decoder,	 32,	32, "depth of the decoder's return stack, if not smaller") \
	X(ir_strict,	 0,	1, "only calls of an earlier message are inferred") \
	X(ir_reject,	 0,	1, "a full return stack ignores calls")		\
	X(seq,		 0,	1, "trTeInstEnSequentialJump")			\
	X(seq_told,	 0,	100, "percent of sequential jumps that are reported anyway") \
	X(all_jumps,	 0,	1, "trTeInstEnAllJumps")			\
	X(rephist,	 0,	1, "trTeInstEnRepeatedHistory")			\
	X(hrep_max,	 1,	262143, "highest HREPEAT")			\
	X(hrep_short,	 0,	1, "a repeated pattern is reported by its period") \
	X(hrep_first,	 0,	1, "the first of repeated HIST by RCODE 1")	\
	X(hrep_one,	 0,	1, "RCODE 2 with HREPEAT 1")			\
	X(hist_bits,	 31,	31, "bits of HIST, without the stop-bit")	\
	X(hist_early,	 0,	100, "percent of branches that flush HIST early") \
	X(hist_before,	 0,	1, "full HIST is reported before the next branch") \
	X(repeat,	 0,	1, "RepeatBranch")				\
	X(bcnt_max,	 1,	262143, "highest B-CNT")			\
	X(repeat_loose,	 0,	1, "DirectBranch repeats if only I-CNT is the same") \
	X(ext,		 0,	1, "trTeInstExtendAddrMSB")			\
	X(icnt_bits,	 22,	22, "bits of I-CNT")				\
	X(icnt_before,	 0,	1, "full I-CNT is reported before the next instruction") \
	X(icnt_early,	 0,	1000000, "I-CNT is reported early once in N instructions") \
	X(icnt_sync,	 0,	100, "percent of full I-CNT by SYNC=4 (BTM)")	\
	X(icnt_first,	 0,	100, "percent of full I-CNT before pending HIST") \
	X(hist_first,	 0,	100, "percent of synchronizing messages with HIST flushed before") \
	X(ib_empty,	 100,	100, "percent of empty HIST as IndirectBranch")	\
	X(sync,		 0,	1000000, "a periodic sync once in N instructions") \
	X(sync_upgrade,	 0,	100, "percent of syncs by the next branch message") \
	X(sync_other,	 0,	100, "percent of syncs with SYNC 0, 6")		\
	X(sync_vendor,	 0,	100, "percent of syncs with SYNC 14, 15, reserved ones") \
	X(sync_any,	 0,	1, "syncs in straight code by each message")	\
	X(sync_direct,	 0,	1, "one of them is DirectBranchSync")		\
	X(stops,	 0,	1000000, "trace stops once in N instructions")	\
	X(no_corr,	 0,	100, "percent of stops without ProgTraceCorrelation") \
	X(stop_jump,	 0,	100, "percent of stops right after a jump without its address") \
	X(stop_cdf0,	 0,	1, "CDF 0 in HTM where HIST is empty")		\
	X(stop_vendor,	 0,	1, "vendor EVCODE")				\
	X(disabled,	 0,	1, "trace starts disabled, with ProgTraceCorrelation") \
	X(resets,	 0,	1000000, "reset or power-down once in N instructions") \
	X(reset_jump,	 0,	100, "percent of resets right after a jump")	\
	X(overruns,	 0,	1000000, "the FIFO overruns once in N instructions") \
	X(overrun_stale, 0,	1, "SYNC=7 with I-CNT and HIST of what was lost") \
	X(error_vendor,	 0,	1, "vendor ETYPE")				\
	X(ts,		 0,	1, "timestamps")				\
	X(ts_bits,	 64,	64, "bits of the timestamp")			\
	X(ts_share,	 100,	100, "percent of messages with a timestamp")	\
	X(ts_step,	 1,	100000, "ticks between instructions, at most")	\
	X(idle,		 0,	100, "percent of messages with idle bytes before") \
	X(padding,	 0,	100, "percent of fields with more bytes than needed") \
	X(vendor,	 0,	100, "percent of messages before a vendor or reserved one") \
	X(vendor_ts,	 0,	1, "vendor messages have timestamps")		\
	X(vendor_bytes,	 8,	2000, "longest vendor message")			\
	X(context,	 0,	1, "Ownership")					\
	X(own_again,	 0,	1000000, "Ownership for no reason once in N instructions") \
	X(src_bits,	 0,	12, "bits of SRC")				\
	X(btype1,	 0,	1, "B-TYPE 1 for traps")			\
	X(dev_direct,	 0,	1, "deviation: DirectBranchSync reports a branch in HTM") \
	X(dev_bit,	 0,	1, "deviation: HIST lacks a branch that SYNC reports") \
	X(dev_hist,	 0,	1, "deviation: ProgTraceCorrelation has HIST in BTM") \
	X(dev_stack,	 0,	1, "deviation: SYNC does not empty the return stack") \
	X(dev_xret,	 0,	1, "deviation: B-TYPE 3 if SYNC reports a trap return") \
	X(dev_self,	 0,	1, "deviation: RepeatInstruction (HTM)")	\
	X(dev_ecode,	 0,	1, "deviation: ECODE has 8 fixed bits")		\
	X(dev_gap,	 0,	1, "deviation: traps are reported while trace is disabled") \
	X(dev_addr,	 0,	1, "deviation: addresses of RV64 have a copy of their sign") \
	X(named,	 1,	1, "the decoder is given the names of the deviations") \
	X(cut,		 0,	1, "the stream ends inside a message")		\
	X(mixed,	 0,	1, "items and batches are mixed")		\
	X(parallel,	 0,	1, "parallel decoding")

struct options {
#define OPTION_FIELD(name, plain, max, text)	uint32_t name;
	OPTIONS(OPTION_FIELD)
#undef OPTION_FIELD
};

void options_draw(struct options *opt, uint64_t seed);
void options_deviate(struct options *opt, uint64_t seed);
void options_settle(struct options *opt);
uint32_t *options_find(struct options *opt, const char *name, size_t length);
void options_print(const struct options *opt);
bool options_shrink(struct options *opt, uint32_t step);
bool options_exclude(struct options *opt, const char *allowed);
void options_list_exclusions(void);

/* ------------------------------------------------------------------------ program */

enum kind {
	K_LINEAR,
	K_CONST,	/* lui, c.lui or auipc, which writes a constant to a register */
	K_BRANCH,
	K_JUMP,
	K_CALL,
	K_IJUMP,
	K_ICALL,
	K_RETURN,
	K_SWAP,
	K_XRET,
	K_TRAP,		/* ecall, ebreak or an illegal instruction, which never retires */
	K_CUSTOM,	/* custom instruction, which may jump (chapter 10.1) */
	K_SCONTEXT,	/* csrw scontext */
};

enum form { FORM_4, FORM_2, FORM_TABLE, FORM_POPRET, FORM_LONG };

#define MAX_CANDIDATES	4

struct insn {
	uint64_t	addr;
	uint8_t		length;
	uint8_t		kind;
	uint8_t		form;
	uint8_t		rd, rs1;
	uint8_t		habit;		/* behaviour of a branch or an indirect jump, see execute.c */
	uint8_t		nr_candidates;
	bool		paired;		/* true for a jalr that is a pair with a lui or auipc, and jumps to @target */
	bool		last;		/* no code follows the instruction */
	uint16_t	entry;		/* index in the jump table of Zcmt */
	uint32_t	param;
	uint32_t	target;		/* index of the instruction to which this one, or its pair, jumps */
	uint32_t	candidates[MAX_CANDIDATES];
};

#define TABLE_ENTRIES	256

struct program {
	uint64_t	base;
	size_t		size;
	uint8_t		*code;
	uint32_t	*at;		/* for each half-word, 1 + the index of the instruction that starts there */
	VEC(struct insn) insns;
	VEC(uint32_t)	functions;	/* index of the first instruction of each function */
	uint8_t		table[TABLE_ENTRIES * 8];
	uint32_t	table_target[TABLE_ENTRIES];
	uint64_t	scontext, hcontext;
	bool		kernel;
};

#define MAX_PROGRAMS	5		/* number of programs, of which the last is the kernel */

struct world {
	uint64_t	seed;
	struct options	opt;
	uint32_t	nr_procs;
	uint64_t	jvt;		/* address of the jump table of cm.jt and cm.jalt (CSR jvt) */
	struct program	programs[MAX_PROGRAMS];
	struct program	*kernel;
};

void program_make(struct world *world, struct program *program, uint64_t base, uint32_t nr);
void program_free(struct program *program);

static inline const struct insn *program_at(const struct program *program, uint64_t addr)
{
	uint64_t offset = addr - program->base;

	if (offset >= program->size || offset & 1 || !program->at[offset / 2])
		return NULL;
	return &program->insns.v[program->at[offset / 2] - 1];
}

/* ------------------------------- executed code, which a decoder must return */

/* Properties of an expected range that the trace does not determine, so that any value is right */
#define ANY_TAKEN	(1 << 0)	/* The range ends with a branch to the next instruction, taken or not */
#define ANY_INFERRED	(1 << 1)	/* @inferred is unknown if SYNC reports the destination or a later address */
#define ANY_DEST	(1 << 2)	/* The destination is unknown, because no instruction followed the range */
#define ANY_HOW		(1 << 5)	/* @how is unknown, because the custom instruction at the end may have jumped */
#define ANY_THERE	(1 << 3)	/* A decoder may omit the range, because messages were lost after it */
#define ANY_PART	(1 << 4)	/* A decoder may omit the end of a range that it may also omit (ANY_THERE) */

struct xcontext {
	uint64_t	scontext, hcontext;
	uint8_t		priv;
	bool		has_priv, has_scontext, has_hcontext;
};

struct xrange {
	uint64_t	start, end, last, dest;
	uint64_t	bit;		/* number of HIST bits from the start of trace to the branch's bit; 0: no bit */
	uint32_t	insns;
	int		early, late;	/* first and last message after which a decoder may return the range */
	uint8_t		how;		/* end of the range, see enum xhow */
	uint8_t		any;
	bool		taken, has_dest, inferred;
	bool		part_known;	/* a ResourceFull message has reported the first bits of the range's HIST */
};

/* How a range ends */
enum xhow {
	X_LINEAR, X_BRANCH, X_JUMP, X_CALL, X_INDIRECT_JUMP, X_INDIRECT_CALL, X_RETURN,
	X_SWAP, X_TRAP_RETURN, X_TRAP, X_EXCEPTION, X_INTERRUPT,
};

enum xtype { X_SYNC, X_STOP, X_LOST, X_CONTEXT, X_SKIPPED };

struct xitem {
	uint8_t		type;
	int		message;
	uint64_t	addr;
	uint64_t	value;		/* ECODE, or the length of a skipped message */
	uint8_t		reason;		/* SYNC, EVCODE, ETYPE or TCODE */
	bool		has_addr, restart;
	bool		any_addr;	/* a decoder may return the item with or without an address */
};

struct message {
	uint64_t	offset;		/* position in the stream */
	uint64_t	time;		/* time of the message without the bits that a decoder cannot know */
	struct xcontext	context;	/* context of the hart after the message */
	uint32_t	start, length;	/* position in the bytes of the hart, and length in bytes */
	uint8_t		tcode;
	bool		has_time;	/* TSTAMP is in this message, or in the message that it repeats */
	bool		sure;		/* true if a decoder can know the exact time */
	bool		known;		/* true if a decoder knows a time, which may be inexact */
};

/* ---------- encoder, which also stores the ranges and items that a decoder must return */

struct pack;

#define STACK_DEPTH	32

struct encoder {
	const struct options *opt;
	struct rng	rng;
	uint64_t	*now;
	uint16_t	src;

	/* sent bytes and messages */
	VEC(uint8_t)	bytes;
	VEC(struct message) messages;
	size_t		sent;		/* number of messages that are in the stream */

	/* ranges and items that a decoder must return for @messages */
	VEC(struct xrange) ranges;
	size_t		settled;	/* number of @ranges whose member @late is final */
	VEC(struct xitem) items;
	VEC(struct xrange) pending;	/* executed ranges that are not reported */
	VEC(struct xrange) repeated;	/* ranges that RepeatBranch will report */
	struct xrange	open;		/* range that began at the last change of the PC and has not ended */

	/* state of the encoder (chapter 8) */
	uint64_t	ref;		/* last reported address, to which U-ADDR is relative */
	uint32_t	icnt;
	uint32_t	hist;		/* HIST with its stop bit */
	uint32_t	hist_len;
	uint32_t	btm_hist;	/* HIST with option dev_hist. It has a bit only if trace starts with a branch */
	uint64_t	bits, bits_sent; /* number of bits that were added to HIST, or sent, since the start */
	uint32_t	hrep_hist, hrep_len, hrep_count;
	uint32_t	const_reg;	/* destination register if the previous instruction is lui or auipc, else 0 */
	uint64_t	nr_icnt;	/* number of messages with I-CNT so far */

	struct { uint64_t addr, nr_icnt; } stack[STACK_DEPTH];
	uint32_t	stack_top, stack_nr;

	/* the last branch message, and the number of times that RepeatBranch will repeat it */
	bool		last_valid;
	struct { uint8_t tcode, btype; uint32_t icnt, hist; uint64_t addr; } last;
	uint32_t	repeat_count;

	/* repetitions of a branch to itself, which message RepeatInstruction reports */
	uint64_t	self;		/* address of the last instruction if it was a branch to itself, else 0 */
	uint32_t	self_count;	/* number of repetitions that were not reported */

	/* timestamps */
	uint64_t	last_time;	/* time that was reported last */
	uint64_t	sure_time;	/* last time that a decoder can know in spite of lost messages */
	uint64_t	time_base;	/* time at the last wrap of the timestamp counter before the first message */
	bool		time_known, time_sure, time_started;

	bool		on;		/* true if trace is on, between its start and its stop */
	bool		started;	/* true if a SYNC was sent since the stream started or lost messages */
	bool		undeclared;	/* true if trace stopped without ProgTraceCorrelation */
	bool		disabled;	/* true if the last message about trace is ProgTraceCorrelation with EVCODE 4 */
	bool		overrun, lost;
	uint8_t		sync_due;	/* SYNC + 1 of the next branch message; 0: none */
	struct xcontext	context;	/* context of the hart */
	struct xcontext	reported;
	bool		has_hcontext;
	uint8_t		last_kind;	/* kind of the last retired instruction */
	bool		any_taken;	/* true if the last retired instruction was a branch to the next address */
};

void encoder_init(struct encoder *e, const struct options *opt, uint64_t seed, uint32_t hart,
		  uint64_t *now);
void encoder_free(struct encoder *e);
void encoder_start(struct encoder *e, uint8_t sync, uint64_t pc);
void encoder_stop(struct encoder *e, uint8_t evcode, uint64_t pc, bool quiet);
void encoder_disabled(struct encoder *e, uint8_t evcode);
void encoder_retire(struct encoder *e, const struct insn *insn, uint64_t next, bool taken);
void encoder_retire_unknown(struct encoder *e, const struct insn *insn);
void encoder_trap(struct encoder *e, uint64_t pc, uint64_t handler, bool interrupt);
void encoder_sync(struct encoder *e, uint8_t sync, uint64_t pc);
void encoder_reset(struct encoder *e, uint8_t sync, uint64_t pc);
void encoder_context(struct encoder *e, bool scontext, bool hcontext);
void encoder_vendor(struct encoder *e);
void encoder_icnt_early(struct encoder *e);
void encoder_overrun(struct encoder *e);
void encoder_recover(struct encoder *e, uint64_t pc);
void encoder_error(struct encoder *e);
void encoder_end(struct encoder *e);
bool encoder_infers_any(const struct encoder *e);
uint64_t encoder_counted_return(const struct encoder *e);

/* ----------------------------------------------------------------------- execution */

#define MAX_HARTS	3

struct trace {
	struct encoder	encoders[MAX_HARTS];
	VEC(uint8_t)	stream;
	uint64_t	executed;
};

void world_make(struct world *world, uint64_t seed, const struct options *opt);
void world_free(struct world *world);
void trace_make(struct trace *trace, struct world *world);
void trace_free(struct trace *trace);

/* ------------------------------------------------------------------------- library */

/* One item that the library returned, with all its fields */
struct item {
	uint64_t	offset, tstamp;
	struct xcontext	context;
	uint64_t	a, b, c, d;	/* start, end, last and dest of a range, or fields of another item */
	uint32_t	insns;
	uint16_t	src;
	uint8_t		type, tstamp_kind, tcode;
	uint8_t		how;		/* end of a range, reason of an item, or type of an error */
	bool		has_dest, taken, inferred, restart, has_addr;
	bool		bound;		/* true if @offset may be that of a later message, as for ranges of a batch */
	int		error;
};

typedef VEC(struct item) items_t;

enum way {
	WAY_NEXT, WAY_BATCH, WAY_NEXT_PIECES, WAY_BATCH_PIECES, WAY_MIXED, WAY_PARALLEL, NR_WAYS,
};

struct library;
struct library *library_new(const struct world *world, const struct trace *trace, int only_src);
void library_free(struct library *library);
/* Decode in @way and store the items. Return NULL, or a text that describes an error. */
const char *library_run(struct library *library, const uint8_t *data, size_t size, enum way way,
			uint64_t seed, items_t *items, size_t most);
/*
 * Check that nt_flow_count() alone, nt_flow_count() mixed with nt_flow_next(), and several threads give
 * the counts of the returned ranges. Do not compare if there are more than
 * @most items.
 */
bool library_counts(struct library *library, const uint8_t *data, size_t size, uint64_t seed,
		    size_t most);
const char *way_name(enum way way);
void item_print(const char *label, const struct item *item);
bool item_is_range(const struct item *item);
bool item_says_wrong(const struct item *item);

/* ------------ comparison of decoded items with each other and with the executed code */

bool check_same(const char *name, const items_t *a, const items_t *b);
bool check_executed(const struct world *world, const struct trace *trace, const items_t *items);

/* Result of decoding a stream whose deviations from the specification are not named to the decoder */
struct unknown {
	uint64_t	executed;	/* number of instructions that messages report */
	uint64_t	decoded;	/* number of instructions in @executed that were decoded */
	uint64_t	silent;		/* number of SYNC after wrong decoded instructions, without an error between */
};

void check_unknown(const struct world *world, const struct trace *trace, const items_t *items,
		   struct unknown *unknown);
void items_filter(items_t *to, const items_t *from, uint16_t src);

#endif
