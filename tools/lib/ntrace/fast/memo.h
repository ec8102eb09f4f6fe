/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Storage of paths and groups, so that code that was walked once need not be walked again.
 */
#ifndef NTRACE_MEMO_H
#define NTRACE_MEMO_H

#include "../stack.h"

#define PATH_BITS	8	/* of HIST, at most */
#define PATH_RANGES	16
#define PATH_PUSHES	3

#define GROUP_RANGES	64
#define GROUP_POPS	NT_NET_POPS
#define GROUP_PUSHES	6

#define PATHS_SHIFT	13
#define GROUPS_SHIFT	12
/*
 * Ranges: a ring of 512 KiB, of which the oldest are overwritten. Calls: 256 KiB; all paths and
 * groups are dropped when these are used up.
 */
#define NR_RANGES	(1u << 15)
#define NR_CALLS	(1u << 16)

enum path_end {
	PATH_GOES_ON,	/* the walk goes on at block @next */
	PATH_TAKEN,	/* the branch that DirectBranch reports was taken, to block @next */
	PATH_JUMP,	/* the last range is block @next, an indirect jump */
	PATH_RETURN,	/* the same, a return */
};

/* What a path or group does to the return stack */
struct nt_effect {
	uint32_t	calls;		/* nt_memo::calls: popped below the top, then pushed */
	bool		any;
	uint8_t		nr_pops;	/* first */
	uint8_t		nr_pushes;	/* then */
	uint8_t		drop;		/* afterwards the depth is at most return_depth - drop */
};

static __always_inline unsigned int memo_nr_below(const struct nt_effect *effect)
{
	return effect->nr_pops > 1 ? effect->nr_pops - 1 : 0;
}

/*
 * A path: the walk from one block on, by a few bits of HIST or by an I-CNT. Its key is the block,
 * one of these:
 *
 *	HTM: stop-bit and up to PATH_BITS of HIST; PATH_FINAL if I-CNT ends it, which with a
 *	     return stack is there, too
 *	BTM: PATH_BTM, I-CNT, PATH_DIRECT if it is DirectBranch's
 *
 * and the top of the return stack, as the path may go on after a return.
 */
struct nt_path {
	uint64_t	key;		/* 0: none */
	uint32_t	top;		/* block whose end is a call; 0: none that is known */
	uint32_t	ranges;		/* the first, see memo_ranges_of() */
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

/*
 * Instead of the top of the return stack, for a source whose returns are explicit though the flow
 * has a return stack. It is not the index of a block.
 */
#define MEMO_TOP_EXPLICIT	(1u << 31)

static __always_inline uint64_t path_key(uint32_t block, uint32_t what)
{
	return (uint64_t)block << 32 | what;
}

/* A group: what a few messages led to, found by their bytes (fast-group.h). A cache line */
struct nt_group {
	uint64_t	key[2];		/* bytes of the messages, then zeros; key[0] 0: none */
	uint64_t	ref;
	uint64_t	next_ref;
	uint32_t	start;		/* block, source and mode: see group_start() */
	uint32_t	next;
	uint32_t	top;		/* of the return stack, as in struct nt_path */
	uint32_t	ranges;
	struct nt_effect effect;
	uint16_t	walked;		/* half-words, as in struct nt_source */
	uint16_t	next_walked;
	uint16_t	counts;		/* messages by type, see count_of(); 4 bits for each */
	union {
		uint8_t	nr_ranges;
		uint8_t	length;		/* where ranges are counted: bytes of @key */
	};
	uint8_t		last;		/* where the last message begins */
};

/*
 * nt_group::start. Another source may send the same bytes from the same place, and a group must not
 * be taken for its messages. A run of the fast path begins with at most MAX_BLOCKS of blocks, and
 * cannot reach as many more.
 */
#define GROUP_SRC_SHIFT		19
#define GROUP_MODE_SHIFT	31

static inline uint32_t group_start(uint32_t block, uint32_t src, bool htm)
{
	return block | src << GROUP_SRC_SHIFT | (uint32_t)htm << GROUP_MODE_SHIFT;
}

#define MEMO_ALIGN	64	/* a cache line */

struct nt_memo {
	void		*allocated;
	uint32_t	nr_ranges;	/* that were ever stored */
	uint32_t	nr_calls;
	unsigned int	window;		/* bytes whose messages are looked up; 0: no groups */
	bool		by_blocks;	/* neither groups nor paths */
	bool		trying;		/* paths are on trial */
	unsigned int	path_bits;	/* of HIST that a path has, when steps are counted */
	uint32_t	messages;	/* since the strategy was judged */
	uint32_t	until;		/* the strategy is judged again after so many */
	uint32_t	missed;		/* of them, that no group was found for */
	uint32_t	misses;		/* paths that were not found */
	uint32_t	patience;
	struct nt_undo_log undo;
	_Alignas(MEMO_ALIGN) struct nt_path paths[1u << PATHS_SHIFT];
	_Alignas(MEMO_ALIGN) struct nt_group groups[1u << GROUPS_SHIFT];
	/* nt_memo_new() does not clear the rest */
	struct nt_range	ranges[NR_RANGES + GROUP_RANGES];
	uint32_t	calls[NR_CALLS];	/* each is the block that ends with it */
};

/* Two places where a path may be: this one and its neighbour */
static __always_inline struct nt_path *memo_path_slot(struct nt_memo *memo, uint64_t key,
						      uint32_t top)
{
	uint64_t h = (key ^ top * 0xc2b2ae3d27d4eb4fULL) * 0x9e3779b97f4a7c15ULL;

	return &memo->paths[h >> (64 - PATHS_SHIFT)];
}

static __always_inline struct nt_path *memo_other_slot(struct nt_memo *memo,
						       const struct nt_path *path)
{
	return &memo->paths[(path - memo->paths) ^ 1];
}

static __always_inline const struct nt_range *memo_ranges_of(const struct nt_memo *memo,
							     uint32_t ranges)
{
	return &memo->ranges[ranges % NR_RANGES];
}

/* Is number @ranges not overwritten yet? */
static __always_inline bool memo_has_ranges(const struct nt_memo *memo, uint32_t ranges)
{
	return memo->nr_ranges - ranges <= NR_RANGES - GROUP_RANGES;
}

static __always_inline bool memo_is_path(const struct nt_memo *memo, const struct nt_path *path,
					 uint64_t key, uint32_t top)
{
	return path->key == key && path->top == top && memo_has_ranges(memo, path->ranges);
}

/* NULL: out of memory */
struct nt_memo *nt_memo_new(void);

void nt_memo_free(struct nt_memo *memo);

/* Make room for one path or group. This may drop all others. */
void nt_memo_make_room(struct nt_memo *memo);

/* Store @nr ranges, at most GROUP_RANGES. Returns the number of the first */
uint32_t nt_memo_ranges(struct nt_memo *memo, const struct nt_range *ranges, unsigned int nr);

/* Store in *effect what @net and the calls @pushed do to the return stack. */
void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const struct nt_net *net,
		   const uint32_t *pushed);

void nt_memo_clear(struct nt_memo *memo);

/* Store *new. The path in its place moves to the other place. Ranges and calls are stored. */
const struct nt_path *nt_memo_keep_path(struct nt_memo *memo, const struct nt_path *new);

#endif /* NTRACE_MEMO_H */
