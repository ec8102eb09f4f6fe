// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The plain case, fast: branch messages, one after the other, through code that
 * is decoded already.
 *
 * Whatever is not plain (a message of another type, code that is new, anything
 * that does not fit) is left to engine.c, which begins that message anew: the
 * functions here change nothing before a message is decoded completely.
 *
 * Programs do the same over and over. The memo therefore remembers what messages
 * led to: bytes and PC give the ranges and the next PC. It is sound, as its key
 * is all that the ranges depend on: the bytes of the messages up to the
 * timestamp, PC, address reference, address space, and the return addresses
 * that were used.
 */
#include <stdlib.h>

#include "flow.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define NR_ENTRIES	4096
#define ENTRY_RANGES	10
#define ENTRY_STACK	2

/* Messages that are looked at in one go are in so many bytes. */
#define WINDOW		16
/* Longest run of ranges that one of them may lead to, here */
#define MAX_RUN		64
#define MAX_UNDO	32

/* Lookups after which it is judged whether the memo pays */
#define SAMPLE		2048
/* ... and for how many it then stays off, if it does not */
#define PAUSE		65536

struct entry {
	uint64_t	key[2];		/* bytes of the messages, zeros behind; key[0] 0: empty */
	uint64_t	pc;
	uint64_t	ref;
	uint64_t	next_pc;
	uint64_t	next_ref;
	uint32_t	next_block;
	uint16_t	space;
	uint8_t		nr_ranges : 4;
	uint8_t		last : 4;	/* where the last message begins */
	uint8_t		nr_pops : 4;	/* return addresses taken off the stack: @pops */
	uint8_t		nr_pushes : 4;	/* and put on it: @pushes */
	uint64_t	counts;		/* messages by type, see count_of() */
	uint64_t	pops[ENTRY_STACK];
	uint64_t	pushes[ENTRY_STACK];
	struct nt_range	ranges[ENTRY_RANGES];
};

struct nt_memo {
	struct entry	entries[NR_ENTRIES];
	unsigned int	window;		/* bytes whose messages are looked up together; 0: off */
	uint32_t	lookups;
	uint32_t	hits;
	uint32_t	pause;
};

/* Where each byte of the window ends something: bit i is of byte i */
struct ends {
	unsigned int	field;		/* MSEO 01 or 11 */
	unsigned int	high;		/* MSEO 10 or 11 */
};

/* What the loop keeps in registers */
struct run {
	struct nt_flow		*flow;
	struct nt_source	*src;
	const struct nt_block	*blocks;
	const uint8_t		*p;
	struct nt_range		*out;
	uint64_t		pc;
	uint64_t		ref;
	uint32_t		block;
	uint64_t		walked;
	uint64_t		tstamp;
	bool			has_tstamp;	/* the last message had one */
	uint64_t		counts;
	const uint8_t		*last;		/* last message; NULL: none yet */
	/* return stack: what to put back if the message is left to engine.c */
	unsigned int		nr_undo;
	struct { uint32_t slot; uint64_t value; } undo[MAX_UNDO];
	/* what the messages looked up together did to the stack as it was before them */
	unsigned int		nr_pops;
	unsigned int		nr_pushes;
	uint64_t		pops[ENTRY_STACK];
	bool			no_memo;	/* too much for an entry */
};

/* ---- bytes ---- */

#if defined(__SSE2__)
static inline struct ends find_ends(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)p);

	return (struct ends){
		.field = _mm_movemask_epi8(_mm_slli_epi16(v, 7)),
		.high = _mm_movemask_epi8(_mm_slli_epi16(v, 6)),
	};
}
#else
/* The lowest bit of each byte: the multiplication moves bit 8i to bit 56 + i. */
static inline unsigned int low_bits(uint64_t w)
{
	return (w & 0x0101010101010101ULL) * 0x0102040810204080ULL >> 56;
}

static inline struct ends find_ends(const uint8_t *p)
{
	uint64_t w0 = load64(p), w1 = load64(p + 8);

	return (struct ends){
		.field = low_bits(w0) | low_bits(w1) << 8,
		.high = low_bits(w0 >> 1) | low_bits(w1 >> 1) << 8,
	};
}
#endif

/* The first @n bytes of an 8-byte word; 0 <= n <= 8 */
static inline uint64_t first_bytes(uint64_t w, int n)
{
	if (n <= 0)
		return 0;
	return n >= 8 ? w : w & ((1ULL << (8 * n)) - 1);
}

/* The MDO of up to 16 bytes */
struct bits96 {
	uint64_t	low;	/* 48 bits */
	uint64_t	high;
};

/* Bits from @from up to, not including, @to; less than 60 of them */
static inline uint64_t get_bits(const struct bits96 *bits, unsigned int from, unsigned int to)
{
	uint64_t v;

	if (from >= 48)
		v = bits->high >> (from - 48);
	else
		v = bits->low >> from | bits->high << (48 - from);
	return v & ((1ULL << (to - from)) - 1);
}

/* Variable-length fields of the messages that are plain; 0: not one of them */
static const uint8_t nr_vars[64] = {
	[NT_DIRECT_BRANCH]		= 1,
	[NT_INDIRECT_BRANCH]		= 2,
	[NT_INDIRECT_BRANCH_HIST]	= 3,
	[NT_RESOURCE_FULL]		= 1,
};

/* A counter of 16 bits for each of their types, in one number */
static inline uint64_t count_of(unsigned int tcode)
{
	switch (tcode) {
	case NT_DIRECT_BRANCH:
		return 1;
	case NT_INDIRECT_BRANCH:
		return 1 << 16;
	case NT_INDIRECT_BRANCH_HIST:
		return 1ULL << 32;
	}
	return 1ULL << 48;
}

struct plain {
	unsigned int	tcode;
	unsigned int	length;
	uint64_t	icnt;
	uint64_t	addr;
	uint64_t	hist;
	uint64_t	tstamp;
	bool		has_tstamp;
};

/* Field at bits @from..@to, where it may have no more than @max bits */
static inline bool get_field(const struct bits96 *bits, unsigned int from, unsigned int to,
			     unsigned int max, uint64_t *value)
{
	if (to - from >= 60)
		return false;
	*value = get_bits(bits, from, to);
	return !(*value >> max);
}

/* U-ADDR, extended (chapter 9.4) */
static inline bool get_addr(const struct nt_config *config, const struct bits96 *bits,
			    unsigned int from, unsigned int to, uint64_t *addr)
{
	uint64_t value;

	if (!get_field(bits, from, to, 60, &value))
		return false;
	if (config->extend_addr && value >> (to - from - 1))
		value |= ~0ULL << (to - from);
	*addr = value << 1;
	if (config->xlen == 32) {
		if (!config->extend_addr && *addr >> 32)
			return false;
		*addr = (uint32_t)*addr;
	}
	return true;
}

/* The bit behind the end of the first field that ends in *ends, which is then cut off */
static inline unsigned int next_end(unsigned int *ends)
{
	unsigned int end = MDO_BITS * (__builtin_ctz(*ends) + 1);

	*ends &= *ends - 1;
	return end;
}

/* Fields of a message that are being taken apart */
struct parser {
	const struct nt_config	*config;
	struct bits96		bits;
	unsigned int		fields;		/* ends of fields, as in struct ends */
	unsigned int		at;		/* first bit that is not taken yet */
};

static inline unsigned int take_fixed(struct parser *parser, unsigned int nr)
{
	parser->at += nr;
	return get_bits(&parser->bits, parser->at - nr, parser->at);
}

/* The next variable-length field, of @max bits at most. False: there is no such one */
static inline bool take_var(struct parser *parser, unsigned int max, uint64_t *value)
{
	unsigned int from = parser->at;

	if (!parser->fields)
		return false;
	parser->at = next_end(&parser->fields);
	return parser->at > from && get_field(&parser->bits, from, parser->at, max, value);
}

static inline bool take_addr(struct parser *parser, uint64_t *addr)
{
	unsigned int from = parser->at;

	if (!parser->fields)
		return false;
	parser->at = next_end(&parser->fields);
	return get_addr(parser->config, &parser->bits, from, parser->at, addr);
}

/* The fields of each type, up to the timestamp (table "Fields in Messages") */
static inline bool take_fields(struct parser *parser, struct plain *msg)
{
	msg->hist = 1;
	switch (msg->tcode) {
	case NT_RESOURCE_FULL:
		return take_fixed(parser, 4) == NT_RCODE_HIST && take_var(parser, 32, &msg->hist);
	case NT_DIRECT_BRANCH:
		return take_var(parser, 30, &msg->icnt);
	}
	if (take_fixed(parser, 2) != NT_BTYPE_INDIRECT || !take_var(parser, 30, &msg->icnt) ||
	    !take_addr(parser, &msg->addr))
		return false;
	return msg->tcode == NT_INDIRECT_BRANCH || take_var(parser, 32, &msg->hist);
}

/* The message at @p, if it is a plain one */
static inline bool parse_plain(const struct nt_config *config, const uint8_t *p, struct ends e,
			       uint16_t src, struct plain *msg)
{
	struct parser parser = { .config = config, .at = MDO_BITS };
	unsigned int end = e.field & e.high;
	unsigned int in;

	if (!end || e.field & 1)
		return false;
	msg->length = __builtin_ctz(end) + 1;
	msg->tcode = p[0] >> 2;
	/* ends in this message; none by the reserved MSEO */
	in = (2u << (msg->length - 1)) - 1;
	if (!nr_vars[msg->tcode] || e.high & ~e.field & in)
		return false;
	parser.fields = e.field & in;
	parser.bits.low = gather_mdo(load64(p));
	parser.bits.high = msg->length > 8 ? gather_mdo(load64(p + 8)) : 0;
	if (config->src_bits && take_fixed(&parser, config->src_bits) != src)
		return false;
	if (!take_fields(&parser, msg))
		return false;
	msg->has_tstamp = parser.fields;
	if (msg->has_tstamp &&
	    (!config->timestamp || !take_var(&parser, 60, &msg->tstamp) || parser.fields))
		return false;
	return msg->hist;
}

/* ---- return stack ---- */

static inline bool fast_pop(struct run *run, uint64_t *pc)
{
	struct nt_source *src = run->src;

	if (!src->depth)
		return false;
	*pc = src->returns[src->top];
	src->top = src->top ? src->top - 1 : run->flow->config.return_depth - 1;
	src->depth--;
	if (run->nr_pushes) {
		run->nr_pushes--;
	} else if (run->nr_pops < ENTRY_STACK) {
		run->pops[run->nr_pops++] = *pc;
	} else {
		run->no_memo = true;
	}
	return true;
}

/* Returns false if it could not be undone any more. */
static inline bool fast_push(struct run *run, uint64_t pc)
{
	struct nt_source *src = run->src;
	uint32_t max = run->flow->config.return_depth;

	if (!max)
		return true;
	if (run->nr_undo == MAX_UNDO)
		return false;
	src->top = src->top + 1 < max ? src->top + 1 : 0;
	run->undo[run->nr_undo].slot = src->top;
	run->undo[run->nr_undo++].value = src->returns[src->top];
	src->returns[src->top] = nt_flow_mask(run->flow, pc);
	if (src->depth < max)
		src->depth++;
	run->nr_pushes++;
	return true;
}

/* The stack actions of the block's end (table "4-bit itype values") */
static inline bool fast_stack(struct run *run, const struct nt_block *block)
{
	unsigned int end = block->range.end;
	uint64_t ignored;

	if (!run->flow->config.return_depth)
		return true;
	if ((end == NT_END_RETURN || end == NT_END_SWAP) && !fast_pop(run, &ignored))
		run->no_memo = true;	/* the empty stack is not in the key */
	if (end == NT_END_CALL || end == NT_END_INDIRECT_CALL || end == NT_END_SWAP)
		return fast_push(run, nt_range_end(&block->range));
	return true;
}

/* ---- walk ---- */

static inline struct nt_range *put(struct nt_range *out, const struct nt_block *block,
				   unsigned int flags)
{
	*out = block->range;
	out->flags = flags;
	return out + 1;
}

/* The block at @pc, which the link of @block led to the last time. 0: it is not known */
static inline uint32_t find_by_link(struct run *run, uint32_t block, uint64_t pc)
{
	uint32_t link = run->blocks[block].link[1];

	if (likely(run->blocks[link].range.start == pc && link))
		return link;
	link = nt_code_find(&run->flow->code, run->src->space, pc);
	run->blocks = run->flow->code.blocks;
	if (link)
		run->flow->code.blocks[block].link[1] = link;
	return link;
}

enum walked { WALK_FAILED, WALK_TAIL, WALK_DONE };

/* An implicit return in the middle of a walk. 0: it cannot be inferred */
static inline uint32_t walk_return(struct run *run, uint32_t index)
{
	uint64_t dest;

	if (run->blocks[index].range.internal != NT_KIND_RETURN || !fast_pop(run, &dest))
		return 0;
	return find_by_link(run, index, dest);
}

/*
 * Through HIST of @nr_bits and I-CNT of @left. WALK_TAIL: @run->block is the last
 * block and not given out; WALK_DONE: it is what follows.
 *
 * Block 0, where a link leads that is not known yet, is of a kind that ends the walk.
 * Branches are no more than the bits of HIST; only what is between them is counted.
 */
static __always_inline enum walked walk_htm(struct run *run, uint64_t hist, int nr_bits,
					    int64_t left, bool hist_only)
{
	const struct nt_block *blocks = run->blocks;
	struct nt_range *out = run->out;
	uint32_t index = run->block;
	unsigned int others = MAX_RUN - 32;

	/* the next bit is the highest one */
	hist = nr_bits ? hist << (64 - nr_bits) : 0;
	while (hist_only ? nr_bits : left) {
		const struct nt_block *block = &blocks[index];
		unsigned int kind = block->range.internal;

		left -= block->range.halfwords;
		if (unlikely(left < 0))
			return WALK_FAILED;
		if (likely(kind == NT_KIND_BRANCH)) {
			unsigned int taken = hist >> 63;

			if (unlikely(--nr_bits < 0))
				return WALK_FAILED;
			hist <<= 1;
			out = put(out, block, taken);
			index = block->link[taken];
			continue;
		}
		if (unlikely(!--others))
			return WALK_FAILED;
		if (kind <= NT_KIND_CALL) {
			out = put(out, block, kind ? NT_RANGE_TAKEN : 0);
			if (kind == NT_KIND_CALL && run->flow->config.return_depth &&
			    !fast_push(run, nt_range_end(&block->range)))
				return WALK_FAILED;
			index = block->link[kind != NT_KIND_LINEAR];
			continue;
		}
		if (!left && !nr_bits) {
			run->out = out;
			run->block = index;
			return WALK_TAIL;
		}
		out = put(out, block, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
		index = walk_return(run, index);
		blocks = run->blocks;
		if (unlikely(!index))
			return WALK_FAILED;
	}
	if (nr_bits || !index)
		return WALK_FAILED;
	run->out = out;
	run->block = index;
	run->walked = INT64_MAX - left;
	return WALK_DONE;
}

/* The same without HIST: branches are not taken, but for one at the very end. */
static inline enum walked walk_btm(struct run *run, int64_t left)
{
	struct nt_range *out = run->out;
	struct nt_range *end = out + MAX_RUN;
	uint32_t index = run->block;

	while (left) {
		const struct nt_block *block = &run->blocks[index];
		unsigned int kind = block->range.internal;
		uint64_t dest;

		left -= block->range.halfwords;
		if (unlikely(left < 0 || out >= end))
			return WALK_FAILED;
		if (!left && (kind == NT_KIND_BRANCH || kind > NT_KIND_CALL)) {
			run->out = out;
			run->block = index;
			return WALK_TAIL;
		}
		if (kind <= NT_KIND_CALL) {
			unsigned int jump = kind >= NT_KIND_JUMP;

			out = put(out, block, jump);
			if (kind == NT_KIND_CALL && !fast_stack(run, block))
				return WALK_FAILED;
			index = block->link[jump];
		} else {
			if (kind != NT_KIND_RETURN || !fast_pop(run, &dest))
				return WALK_FAILED;
			out = put(out, block, NT_RANGE_TAKEN | NT_RANGE_INFERRED);
			index = find_by_link(run, index, dest);
		}
		if (unlikely(!index))
			return WALK_FAILED;
	}
	run->out = out;
	run->block = index;
	return WALK_DONE;
}

/* The indirect jump at the end, to where U-ADDR says */
static inline bool end_indirect(struct run *run, const struct plain *msg)
{
	const struct nt_block *block = &run->blocks[run->block];
	unsigned int kind = block->range.internal;
	uint64_t dest = nt_flow_mask(run->flow, run->ref ^ msg->addr);

	if (kind < NT_KIND_INDIRECT_JUMP || kind > NT_KIND_TRAP_RETURN)
		return false;
	run->out = put(run->out, block, NT_RANGE_TAKEN);
	if (!fast_stack(run, block))
		return false;
	run->block = find_by_link(run, run->block, dest);
	run->pc = dest;
	run->ref = dest;
	return run->block;
}

static inline bool end_direct(struct run *run)
{
	const struct nt_block *block = &run->blocks[run->block];

	if (block->range.internal != NT_KIND_BRANCH)
		return false;
	run->out = put(run->out, block, NT_RANGE_TAKEN);
	run->pc = block->target;
	run->block = find_by_link(run, run->block, run->pc);
	return run->block;
}

/* One message. False: it is not plain, and something may have changed. */
static inline bool walk_plain(struct run *run, const struct plain *msg)
{
	int nr_bits = 63 - __builtin_clzll(msg->hist);
	uint64_t walked = run->walked;
	enum walked end;

	if (msg->tcode == NT_RESOURCE_FULL) {
		if (run->src->mode != NT_MODE_HTM ||
		    walk_htm(run, msg->hist, nr_bits, INT64_MAX, true) != WALK_DONE)
			return false;
		run->walked += walked;
		run->pc = run->blocks[run->block].range.start;
		return true;
	}
	if (msg->icnt < walked)
		return false;
	if (run->src->mode == NT_MODE_HTM) {
		if (msg->tcode == NT_DIRECT_BRANCH)
			return false;
		end = walk_htm(run, msg->hist, nr_bits, msg->icnt - walked, false);
		run->walked = 0;
	} else {
		if (run->src->mode != NT_MODE_BTM || msg->tcode == NT_INDIRECT_BRANCH_HIST)
			return false;
		end = walk_btm(run, msg->icnt);
	}
	if (end != WALK_TAIL)
		return false;
	return msg->tcode == NT_DIRECT_BRANCH ? end_direct(run) : end_indirect(run, msg);
}

/* ---- memo ---- */

static inline struct entry *memo_slot(struct nt_memo *memo, const uint64_t *key, uint64_t pc)
{
	uint64_t h = (key[0] ^ pc << 20) * 0x9e3779b97f4a7c15ULL;

	h ^= (key[1] ^ pc) * 0xc2b2ae3d27d4eb4fULL;
	return &memo->entries[h >> 52];
}

static inline bool memo_matches(const struct run *run, const struct entry *entry,
				const uint64_t *key)
{
	const struct nt_source *src = run->src;
	unsigned int i;

	if (((entry->key[0] ^ key[0]) | (entry->key[1] ^ key[1]) | (entry->pc ^ run->pc) |
	     (entry->ref ^ run->ref)) || entry->space != src->space)
		return false;
	if (likely(!entry->nr_pops))
		return true;
	if (src->depth < entry->nr_pops)
		return false;
	for (i = 0; i < entry->nr_pops; i++) {
		uint32_t max = run->flow->config.return_depth;

		if (src->returns[src->top >= i ? src->top - i : src->top + max - i] !=
		    entry->pops[i])
			return false;
	}
	return true;
}

static inline void memo_stack(struct run *run, const struct entry *entry)
{
	struct nt_source *src = run->src;
	uint32_t max = run->flow->config.return_depth;
	unsigned int i;

	src->depth -= entry->nr_pops;
	src->top = src->top >= entry->nr_pops ? src->top - entry->nr_pops :
		src->top + max - entry->nr_pops;
	for (i = 0; i < entry->nr_pushes; i++) {
		src->top = src->top + 1 < max ? src->top + 1 : 0;
		src->returns[src->top] = entry->pushes[i];
		if (src->depth < max)
			src->depth++;
	}
}

static inline void memo_use(struct run *run, const struct entry *entry)
{
	unsigned int i;

	for (i = 0; i < entry->nr_ranges; i += 2) {
		run->out[i] = entry->ranges[i];
		run->out[i + 1] = entry->ranges[i + 1];
	}
	run->out += entry->nr_ranges;
	run->pc = entry->next_pc;
	run->ref = entry->next_ref;
	run->block = entry->next_block;
	run->counts += entry->counts;
	if (entry->nr_pops | entry->nr_pushes)
		memo_stack(run, entry);
}

static void memo_keep(struct run *run, struct entry *entry, const uint64_t *key,
		      uint64_t pc, uint64_t ref, const struct nt_range *ranges, uint64_t counts,
		      const uint8_t *start)
{
	const struct nt_source *src = run->src;
	unsigned int nr = run->out - ranges;
	unsigned int i;

	if (run->no_memo || nr > ENTRY_RANGES || run->nr_pushes > ENTRY_STACK ||
	    src->space > UINT16_MAX)
		return;
	entry->key[0] = key[0];
	entry->key[1] = key[1];
	entry->pc = pc;
	entry->ref = ref;
	entry->next_pc = run->pc;
	entry->next_ref = run->ref;
	entry->next_block = run->block;
	entry->space = src->space;
	entry->nr_ranges = nr;
	entry->counts = counts;
	entry->last = run->last - start;
	entry->nr_pops = run->nr_pops;
	entry->nr_pushes = run->nr_pushes;
	for (i = 0; i < run->nr_pops; i++)
		entry->pops[i] = run->pops[i];
	for (i = 0; i < run->nr_pushes; i++) {
		uint32_t back = run->nr_pushes - 1 - i;
		uint32_t max = run->flow->config.return_depth;

		entry->pushes[i] = src->returns[src->top >= back ? src->top - back :
						src->top + max - back];
	}
	memcpy(entry->ranges, ranges, nr * sizeof(*ranges));
}

/*
 * Does it pay? Looking up many messages together is best where the program
 * repeats itself exactly; else fewer, else none for a while.
 */
static void memo_judge(struct nt_memo *memo)
{
	if (!memo->window) {
		memo->window = WINDOW;
	} else if (memo->hits < SAMPLE / 8 * 5) {
		memo->window = memo->window == WINDOW ? WINDOW / 2 : 0;
		memo->pause = PAUSE;
	}
	memo->lookups = 0;
	memo->hits = 0;
}

void nt_fast_flush(struct nt_flow *flow)
{
	if (flow->memo)
		memset(flow->memo->entries, 0, sizeof(flow->memo->entries));
}

/* ---- run ---- */

static void add_counts(struct nt_flow *flow, uint64_t counts)
{
	struct nt_stats *stats = &flow->stats;
	static const uint8_t tcodes[] = {
		NT_DIRECT_BRANCH, NT_INDIRECT_BRANCH, NT_INDIRECT_BRANCH_HIST, NT_RESOURCE_FULL,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(tcodes); i++) {
		uint64_t n = counts >> (16 * i) & 0xffff;

		stats->by_tcode[tcodes[i]] += n;
		stats->messages += n;
	}
}

static void undo(struct run *run, uint32_t top, uint32_t depth)
{
	struct nt_source *src = run->src;

	while (run->nr_undo) {
		run->nr_undo--;
		src->returns[run->undo[run->nr_undo].slot] = run->undo[run->nr_undo].value;
	}
	src->top = top;
	src->depth = depth;
}

static inline void reset_stack_log(struct run *run)
{
	run->nr_undo = 0;
	run->nr_pops = 0;
	run->nr_pushes = 0;
	run->no_memo = false;
}

/* One message, walked. False: engine.c is to do it; all is as it was before. */
static inline bool run_message(struct run *run, struct ends ends)
{
	struct nt_source *src = run->src;
	uint32_t top = src->top, depth = src->depth;
	struct run before;
	struct plain msg = { .addr = 0 };

	if (!parse_plain(&run->flow->config, run->p, ends, src->id, &msg))
		return false;
	before.out = run->out;
	before.pc = run->pc;
	before.ref = run->ref;
	before.block = run->block;
	before.walked = run->walked;
	run->nr_undo = 0;
	if (unlikely(!walk_plain(run, &msg))) {
		undo(run, top, depth);
		run->out = before.out;
		run->pc = before.pc;
		run->ref = before.ref;
		run->block = before.block;
		run->walked = before.walked;
		return false;
	}
	run->last = run->p;
	run->counts += count_of(msg.tcode);
	run->has_tstamp = msg.has_tstamp;
	if (msg.has_tstamp)
		run->tstamp += msg.tstamp;
	run->p += msg.length;
	return true;
}

static inline void put_mark(struct run *run, const uint8_t *message)
{
	struct nt_flow *flow = run->flow;
	struct nt_mark *mark;
	uint32_t nr = run->out - flow->ranges;

	mark = &flow->marks[flow->nr_marks];
	if (flow->nr_marks && mark[-1].range == nr)
		return;
	flow->nr_marks++;
	mark->offset = flow->reader.offset + (message - flow->reader.data);
	mark->tcode = message[0] >> 2;
	mark->range = nr;
	mark->tstamp = run->tstamp;
	mark->tstamp_kind = NT_TSTAMP_NONE;
	if (run->src->has_tstamp)
		mark->tstamp_kind = run->has_tstamp ? NT_TSTAMP_EXACT : NT_TSTAMP_CARRIED;
}

/* Bytes of the messages that are looked up together; 0: none ends in the window */
static inline unsigned int group_length(struct ends ends, unsigned int window)
{
	unsigned int end = ends.field & ends.high;
	unsigned int in = end & ((1u << window) - 1);

	if (likely(in))
		return 32 - __builtin_clz(in);
	return end ? __builtin_ctz(end) + 1 : 0;
}

/* Messages of one group. False: one of them is not plain. */
static bool run_group(struct run *run, const uint8_t *end)
{
	while (run->p < end) {
		if (*run->p == IDLE_BYTE) {
			run->p++;
			continue;
		}
		if (!run_message(run, find_ends(run->p)))
			return false;
	}
	return true;
}

/* Look up what the messages at hand lead to, or find out. False: they are not plain. */
static inline bool run_memo(struct run *run, struct nt_memo *memo)
{
	unsigned int length = group_length(find_ends(run->p), memo->window);
	const struct nt_range *ranges = run->out;
	uint64_t pc = run->pc, ref = run->ref, counts = run->counts;
	const uint8_t *start = run->p;
	struct entry *entry;
	uint64_t key[2];

	if (unlikely(!length))
		return false;
	key[0] = first_bytes(load64(start), length);
	key[1] = first_bytes(load64(start + 8), (int)length - 8);
	entry = memo_slot(memo, key, pc);
	if (unlikely(++memo->lookups == SAMPLE))
		memo_judge(memo);
	if (likely(memo_matches(run, entry, key))) {
		memo->hits++;
		memo_use(run, entry);
		run->p += length;
		run->last = start + entry->last;
		return true;
	}
	reset_stack_log(run);
	if (!run_group(run, start + length))
		return false;
	if (!run->walked)
		memo_keep(run, entry, key, pc, ref, ranges, run->counts - counts, start);
	return true;
}

/* The timestamp of a message: *body is where it begins. False: the message is not plain. */
static inline bool split_timestamp(const uint8_t *p, struct ends ends, unsigned int *length,
				   unsigned int *body, uint64_t *tstamp)
{
	unsigned int end = ends.field & ends.high;
	unsigned int nr = nr_vars[p[0] >> 2];
	unsigned int fields;

	if (unlikely(!end || !nr))
		return false;
	*length = __builtin_ctz(end) + 1;
	fields = ends.field & ((2u << (*length - 1)) - 1);
	if ((ends.high & ~ends.field) & ((2u << (*length - 1)) - 1))
		return false;
	while (--nr)
		fields &= fields - 1;
	if (!fields)
		return false;
	*body = __builtin_ctz(fields) + 1;
	*tstamp = 0;
	if (*body == *length)
		return true;
	fields &= fields - 1;
	if (fields & (fields - 1) || *length - *body > 8)
		return false;
	*tstamp = gather_mdo(first_bytes(load64(p + *body), *length - *body));
	return true;
}

/* As run_memo(), one message, all but its timestamp */
static inline bool run_timestamp(struct run *run, struct nt_memo *memo)
{
	const struct nt_range *ranges = run->out;
	uint64_t pc = run->pc, ref = run->ref, counts = run->counts;
	const uint8_t *start = run->p;
	unsigned int length, body;
	uint64_t key[2], tstamp;
	struct entry *entry;

	if (!split_timestamp(start, find_ends(start), &length, &body, &tstamp))
		return false;
	key[0] = first_bytes(load64(start), body);
	key[1] = first_bytes(load64(start + 8), (int)body - 8);
	entry = memo_slot(memo, key, pc);
	if (unlikely(++memo->lookups == SAMPLE))
		memo_judge(memo);
	if (likely(memo_matches(run, entry, key))) {
		memo->hits++;
		memo_use(run, entry);
		run->p += length;
		run->last = start;
		run->has_tstamp = length != body;
		run->tstamp += tstamp;
		return true;
	}
	reset_stack_log(run);
	if (!run_message(run, find_ends(start)))
		return false;
	if (!run->walked)
		memo_keep(run, entry, key, pc, ref, ranges, run->counts - counts, start);
	return true;
}

/* The next message or messages. False: they are not plain. */
static inline bool run_next(struct run *run, struct nt_memo *memo, bool timestamp)
{
	if (memo->window && !run->walked)
		return timestamp ? run_timestamp(run, memo) : run_memo(run, memo);
	if (!memo->window && !--memo->pause)
		memo_judge(memo);
	reset_stack_log(run);
	return run_message(run, find_ends(run->p));
}

/* RepeatBranch may come later: it repeats the message at @run->last. */
static void keep_last(struct run *run)
{
	struct nt_source *src = run->src;

	src->has_last = false;
	src->raw_length = run->p - run->last < WINDOW ? run->p - run->last : WINDOW;
	memcpy(src->raw, run->last, sizeof(src->raw));
	src->last_dest = run->ref;
}

void nt_fast_last(const struct nt_flow *flow, struct nt_source *src)
{
	struct nt_message msg;

	if (!src->raw_length)
		return;
	src->has_last = nt_message_decode(&flow->config, src->raw, src->raw_length, &msg) == 1 &&
		msg.tcode != NT_RESOURCE_FULL;
	src->last = msg;
	src->raw_length = 0;
}

static void run_all(struct run *run, struct nt_memo *memo, const uint8_t *end, bool single)
{
	struct nt_flow *flow = run->flow;
	struct nt_range *full = flow->ranges + FAST_RANGES;
	bool timestamp = flow->config.timestamp;

	while (run->p < end && run->out < full && flow->nr_marks < MAX_MARKS - 2) {
		const uint8_t *start = run->p;

		if (unlikely(*start == IDLE_BYTE)) {
			run->p++;
			continue;
		}
		if (single) {
			reset_stack_log(run);
			if (!run_message(run, find_ends(start)))
				return;
		} else if (!run_next(run, memo, timestamp)) {
			/* messages of a group in front of the one that is not plain */
			return;
		}
		if (timestamp || single)
			put_mark(run, run->last);
		if (single)
			return;
	}
}

/* Put the registers back. */
static void leave(struct run *run)
{
	struct nt_flow *flow = run->flow;
	struct nt_source *src = run->src;
	struct nt_reader *reader = &flow->reader;

	if (!run->last)
		return;
	src->pc = run->pc;
	src->ref = run->ref;
	src->block = run->block;
	src->walked = run->walked;
	src->tstamp = run->tstamp;
	flow->nr_ranges = run->out - flow->ranges;
	put_mark(run, run->last);
	keep_last(run);
	add_counts(flow, run->counts);
	flow->msg.offset = reader->offset + (run->last - reader->data);
	reader->offset += run->p - reader->data;
	reader->data = run->p;
}

bool nt_fast_run(struct nt_flow *flow, struct nt_source *src, bool single)
{
	struct nt_reader *reader = &flow->reader;
	struct run run = {
		.flow = flow, .src = src, .p = reader->data, .out = flow->ranges + flow->nr_ranges,
		.pc = src->pc, .ref = src->ref, .block = src->block, .walked = src->walked,
		.tstamp = src->tstamp,
	};

	if (reader->end - reader->data < 2 * WINDOW || reader->nr_carry || reader->skip ||
	    src->state != NT_STATE_LIVE || src->owed || flow->config.all_jumps ||
	    flow->nr_ranges >= FAST_RANGES)
		return false;
	if (!flow->memo)
		flow->memo = calloc(1, sizeof(*flow->memo));
	if (!flow->memo)
		return false;
	if (!flow->memo->window && !flow->memo->pause)
		flow->memo->window = WINDOW;
	if (!src->block)
		run.block = nt_code_find(&flow->code, src->space, src->pc);
	if (!run.block)
		return false;
	run.blocks = flow->code.blocks;
	run_all(&run, flow->memo, reader->end - 2 * WINDOW, single);
	leave(&run);
	return run.last;
}
