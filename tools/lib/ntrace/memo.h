/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What is remembered of ways through the code, so that they need not be walked again.
 */
#ifndef NTRACE_MEMO_H
#define NTRACE_MEMO_H

#include "flow.h"

#define PATH_BITS	8	/* of HIST, at most */
#define PATH_RANGES	16
#define PATH_PUSHES	3

#define GROUP_RANGES	64
#define GROUP_POPS	6
#define GROUP_PUSHES	6

#define PATHS_SHIFT	13
#define GROUPS_SHIFT	12
/*
 * 512 KiB of ranges, a ring: what is newer than these is remembered. 256 KiB of calls; all is
 * forgotten when they are used up.
 */
#define NR_RANGES	(1u << 15)
#define NR_CALLS	(1u << 16)

enum path_end {
	PATH_GOES_ON,	/* @next is to be walked yet */
	PATH_TAKEN,	/* by the branch that DirectBranch tells of, to @next */
	PATH_JUMP,	/* the last range is block @next, an indirect jump */
	PATH_RETURN,	/* the same, a return */
};

/* What becomes of the return stack on a way */
struct nt_effect {
	uint32_t	calls;		/* nt_memo::calls: what is popped below the top, what is pushed */
	bool		any;
	uint8_t		nr_pops;	/* first */
	uint8_t		nr_pushes;	/* then */
	uint8_t		drop;		/* at last, it has that many less than it has room for */
};

static inline unsigned int nr_below(const struct nt_effect *effect)
{
	return effect->nr_pops > 1 ? effect->nr_pops - 1 : 0;
}

/*
 * The way from one block on, as a few bits of HIST or an I-CNT say. Its key is the block and
 * one of these:
 *
 *	HTM: stop-bit and up to PATH_BITS of HIST; PATH_FINAL if I-CNT ends it, which with a
 *	     return stack is there, too
 *	BTM: PATH_BTM, I-CNT, PATH_DIRECT if it is DirectBranch's
 *
 * and, as it may go on behind a return, the top of the return stack.
 */
struct nt_path {
	uint64_t	key;		/* 0: none */
	uint32_t	top;		/* block whose end is a call; 0: none that is known */
	uint32_t	ranges;		/* the first, see ranges_of() */
	uint32_t	next;
	uint16_t	halfwords;
	uint8_t		nr_ranges;
	uint8_t		nr_bits;	/* used up */
	uint8_t		end;		/* enum path_end */
	struct nt_effect effect;
};

#define PATH_FINAL	(1u << (PATH_BITS + 1))
#define PATH_LEFT_SHIFT	(PATH_BITS + 2)
#define PATH_LEFT_MAX	((1u << (31 - PATH_LEFT_SHIFT)) - 1)
#define PATH_BTM	(1u << 31)
#define PATH_DIRECT	(1u << 30)
#define PATH_ICNT	(PATH_DIRECT - 1)

static inline uint64_t path_key(uint32_t block, uint32_t what)
{
	return (uint64_t)block << 32 | what;
}

/* What messages that follow each other led to, by their bytes: see fast.c. A cache line */
struct nt_group {
	uint64_t	key[2];		/* bytes of the messages, zeros behind; key[0] 0: none */
	uint64_t	ref;
	uint64_t	next_ref;
	uint32_t	start;		/* block, which has fewer bits, and mode */
	uint32_t	next;
	uint32_t	top;		/* of the return stack, as in struct nt_path */
	uint32_t	ranges;
	struct nt_effect effect;
	uint16_t	walked;		/* half-words, as in struct nt_source */
	uint16_t	next_walked;
	uint16_t	counts;		/* messages by type, see count_of(); 4 bits for each */
	uint8_t		nr_ranges;
	uint8_t		last;		/* where the last message begins */
};

/* nt_group::start, enum nt_mode */
#define GROUP_MODE_SHIFT	28

/* What the return stack was before a push */
struct nt_undo {
	uint32_t		slot;
	struct nt_return	value;
};

#define MAX_UNDO	256

#define MEMO_ALIGN	64	/* a cache line */

struct nt_memo {
	void		*allocated;
	uint32_t	nr_ranges;	/* that were ever in @ranges */
	uint32_t	nr_calls;
	unsigned int	window;		/* bytes whose messages are looked up together; 0: off */
	bool		by_blocks;	/* no paths */
	bool		trying;		/* paths, for some messages */
	uint32_t	messages;	/* since it was judged what pays */
	uint32_t	until;		/* so many of them */
	uint32_t	missed;		/* of them, their group was not remembered */
	uint32_t	misses;		/* paths that were not */
	uint32_t	patience;
	uint32_t	nr_undo;
	struct nt_undo	undo[MAX_UNDO];
	_Alignas(MEMO_ALIGN) struct nt_path paths[1u << PATHS_SHIFT];
	_Alignas(MEMO_ALIGN) struct nt_group groups[1u << GROUPS_SHIFT];
	/* the rest is not used before something is kept there */
	struct nt_range	ranges[NR_RANGES + GROUP_RANGES];
	uint32_t	calls[NR_CALLS];	/* blocks whose ends they are */
};

/* Two places where a path may be: this one and its neighbour */
static inline struct nt_path *path_slot(struct nt_memo *memo, uint64_t key, uint32_t top)
{
	uint64_t h = (key ^ top * 0xc2b2ae3d27d4eb4fULL) * 0x9e3779b97f4a7c15ULL;

	return &memo->paths[h >> (64 - PATHS_SHIFT)];
}

static inline struct nt_path *path_other(struct nt_memo *memo, const struct nt_path *path)
{
	return &memo->paths[(path - memo->paths) ^ 1];
}

static inline const struct nt_range *ranges_of(const struct nt_memo *memo, uint32_t ranges)
{
	return &memo->ranges[ranges % NR_RANGES];
}

/* They were not overwritten yet. */
static inline bool are_ranges_there(const struct nt_memo *memo, uint32_t ranges)
{
	return memo->nr_ranges - ranges <= NR_RANGES - GROUP_RANGES;
}

static inline bool is_path(const struct nt_memo *memo, const struct nt_path *path, uint64_t key,
			   uint32_t top)
{
	return path->key == key && path->top == top && are_ranges_there(memo, path->ranges);
}

/* NULL: out of memory */
struct nt_memo *nt_memo_new(void);

void nt_memo_free(struct nt_memo *memo);

/* Before a way is kept: all others may be forgotten for it. */
void nt_memo_make_room(struct nt_memo *memo);

/* Keep @nr ranges, at most GROUP_RANGES. Returns where */
uint32_t nt_memo_ranges(struct nt_memo *memo, const struct nt_range *ranges, unsigned int nr);

/* Keep what @effect is about: calls @below the top, and calls @pushed */
void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const uint32_t *below,
		   const uint32_t *pushed);

void nt_memo_clear(struct nt_memo *memo);

/*
 * Walk a path that is not remembered, and remember it. NULL: some block on the way does not
 * fit. May move @flow->code.blocks, and forget every other path.
 */
const struct nt_path *nt_memo_walk(struct nt_flow *flow, struct nt_source *src, uint64_t key,
				   uint32_t top);

#endif /* NTRACE_MEMO_H */
