/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A memo stores paths and groups, which are results of walks, so that a walk through the same
 * code is not repeated.
 */
#ifndef NTRACE_MEMO_H
#define NTRACE_MEMO_H

#include "../stack.h"

#define PATH_BITS	8	/* maximum number of bits of HIST */
#define PATH_RANGES	16
#define PATH_PUSHES	3

#define GROUP_RANGES	64
#define GROUP_POPS	NT_NET_POPS
#define GROUP_PUSHES	6

#ifndef PATHS_SHIFT
#define PATHS_SHIFT	13
#define GROUPS_SHIFT	12
#endif
/*
 * Ranges are in a ring of 512 KiB, in which new ranges overwrite the oldest. Calls use 256 KiB;
 * when this is full, all paths and groups are dropped.
 */
#define NR_RANGES	(1u << 15)
#define NR_CALLS	(1u << 16)

enum path_end {
	PATH_GOES_ON,	/* the walk continues at block @next */
	PATH_TAKEN,	/* the branch that DirectBranch reports was taken, to block @next */
	PATH_JUMP,	/* the path ends with block @next and its indirect jump */
	PATH_RETURN,	/* the path ends with block @next and its return */
};

/* Effect of a path or group on the return stack. Pops are before pushes. */
struct nt_effect {
	/* index in nt_memo::calls of the popped calls (except the top), then the pushed calls */
	uint32_t	calls;
	bool		any;
	uint8_t		nr_pops;
	uint8_t		nr_pushes;
	uint8_t		drop;		/* the final depth is at most return_depth - drop */
};

static __always_inline unsigned int memo_nr_below(const struct nt_effect *effect)
{
	return effect->nr_pops > 1 ? effect->nr_pops - 1 : 0;
}

/*
 * A path is the result of a walk from one block until a few bits of HIST, or an I-CNT, are used up.
 * Its key consists of the block, one of the following values, and the top of the return stack,
 * because the path may continue after a return:
 *
 *	HTM: stop-bit and up to PATH_BITS bits of HIST; if I-CNT ends the path, also PATH_FINAL, and
 *	     I-CNT if there is a return stack
 *	BTM: PATH_BTM, I-CNT, and PATH_DIRECT if the message is DirectBranch
 */
struct nt_path {
	uint64_t	key;		/* 0 if the slot is free */
	uint32_t	top;		/* block that ends with the call; 0 if not known */
	uint32_t	ranges;		/* number of the first range, see memo_ranges_of() */
	uint32_t	next;
	uint16_t	halfwords;
	uint8_t		nr_ranges;
	uint8_t		nr_bits;	/* number of HIST bits that the path uses */
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
 * Value of @top for a source whose returns are explicit although the flow has a return stack. It is
 * not the index of a block.
 */
#define MEMO_TOP_EXPLICIT	(1u << 31)

static __always_inline uint64_t path_key(uint32_t block, uint32_t what)
{
	return (uint64_t)block << 32 | what;
}

/*
 * A group is the result of a few messages. A lookup finds it by the bytes of the messages
 * (fast-group.h). It fits a cache line.
 */
struct nt_group {
	uint64_t	key[2];		/* bytes of the messages, then zeros; 0 if free */
	uint64_t	ref;
	uint64_t	next_ref;
	uint32_t	start;		/* block, source and mode, see group_start() */
	uint32_t	next;
	uint32_t	top;		/* top of the return stack, see nt_path::top */
	uint32_t	ranges;
	struct nt_effect effect;
	uint16_t	walked;		/* half-words, see nt_source::walked */
	uint16_t	next_walked;
	uint16_t	counts;		/* 4-bit message counters, see fast_count_of() */
	union {
		uint8_t	nr_ranges;
		uint8_t	length;		/* bytes of @key, if ranges are counted */
	};
	uint8_t		last;		/* offset of the last message */
};

/*
 * Value of nt_group::start. It contains the source, because another source may send the same bytes
 * at the same block, and must not use this group. The index of the block fits below
 * GROUP_SRC_SHIFT, because a run of the fast path begins with at most MAX_BLOCKS blocks, and adds
 * fewer than MAX_BLOCKS.
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
	uint32_t	nr_ranges;	/* number of ranges that were ever stored */
	uint32_t	nr_calls;
	unsigned int	window;		/* bytes that a group lookup covers; 0: no groups */
	bool		by_blocks;	/* use neither groups nor paths */
	bool		trying;		/* nt_judge() is still finding out whether paths repeat */
	unsigned int	path_bits;	/* HIST bits of a path when steps are counted */
	uint32_t	messages;	/* messages since the last choice of a strategy */
	uint32_t	until;		/* number of messages before the next choice */
	uint32_t	missed;		/* messages whose lookup found no stored result */
	uint32_t	misses;		/* number of lookups that found no path */
	uint32_t	patience;
	struct nt_undo_log undo;
	_Alignas(MEMO_ALIGN) struct nt_path paths[1u << PATHS_SHIFT];
	_Alignas(MEMO_ALIGN) struct nt_group groups[1u << GROUPS_SHIFT];
	/* nt_memo_new() does not clear @ranges and @calls. */
	struct nt_range	ranges[NR_RANGES + GROUP_RANGES];
	uint32_t	calls[NR_CALLS];	/* blocks that end with a call */
};

/* Return the first slot of a path. The second is memo_other_slot(). */
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

/* Return true if the ranges from number @ranges are not overwritten. */
static __always_inline bool memo_has_ranges(const struct nt_memo *memo, uint32_t ranges)
{
	return memo->nr_ranges - ranges <= NR_RANGES - GROUP_RANGES;
}

static __always_inline bool memo_is_path(const struct nt_memo *memo, const struct nt_path *path,
					 uint64_t key, uint32_t top)
{
	return path->key == key && path->top == top && memo_has_ranges(memo, path->ranges);
}

/* Return NULL if out of memory. */
struct nt_memo *nt_memo_new(void);

void nt_memo_free(struct nt_memo *memo);

/* Make room for one path or group. This may drop all others. */
void nt_memo_make_room(struct nt_memo *memo);

/* Store @nr ranges, at most GROUP_RANGES. Return the number of the first range. */
uint32_t nt_memo_ranges(struct nt_memo *memo, const struct nt_range *ranges, unsigned int nr);

/* Store the effect of @net and the calls @pushed on the return stack in *effect. */
void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const struct nt_net *net,
		   const uint32_t *pushed);

void nt_memo_clear(struct nt_memo *memo);

/*
 * Store *new, whose ranges and calls are already stored. The path in its first slot moves to the
 * second slot.
 */
const struct nt_path *nt_memo_keep_path(struct nt_memo *memo, const struct nt_path *new);

#endif /* NTRACE_MEMO_H */
