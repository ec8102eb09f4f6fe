/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A memo stores paths and groups, which are results of walks, so that a walk through the same
 * code is not repeated.
 */
#ifndef NTRACE_MEMO_H
#define NTRACE_MEMO_H

#include "../stack.h"

/* Maximum numbers of HIST bits, ranges, and pushes on the return stack, of one path */
#define PATH_BITS	8
#define PATH_RANGES	16
#define PATH_PUSHES	3

/* Maximum numbers of ranges, and of pops and pushes on the return stack, of one group */
#define GROUP_RANGES	64
#define GROUP_POPS	NT_NET_POPS
#define GROUP_PUSHES	6

#ifndef PATHS_SHIFT
#define PATHS_SHIFT	13
#define GROUPS_SHIFT	12
#endif
/*
 * The ring of ranges has 512 KiB, and new ranges overwrite the oldest. The array of calls has 256
 * KiB. When the array is full, all paths and groups are dropped.
 */
#define NR_RANGES	(1u << 15)
#define NR_CALLS	(1u << 16)

enum path_end {
	PATH_GOES_ON,	/* the walk continues at block nt_path::next */
	PATH_TAKEN,	/* the path ends with the branch of DirectBranch, which goes to block nt_path::next */
	PATH_JUMP,	/* the path ends with the indirect jump at the end of block nt_path::next */
	PATH_RETURN,	/* the path ends with the return at the end of block nt_path::next */
};

/* Effect of a path or group, which first pops entries of the return stack, and then pushes calls */
struct nt_effect {
	/*
	 * index in nt_memo::calls of the calls to pop, without the first one, which nt_path::top or nt_group::top
	 * contains. The calls to push are stored after the calls to pop.
	 */
	uint32_t	calls;
	bool		any;		/* the path or group changes the return stack */
	uint8_t		nr_pops;
	uint8_t		nr_pushes;
	/* minimum number of free entries of the return stack after the path or group */
	uint8_t		drop;
};

/*
 * Return the number of entries that nt_memo::calls has for the calls that a path or group pops. It has all these calls
 * except the first one, which nt_path::top or nt_group::top contains.
 */
static __always_inline unsigned int memo_nr_below(const struct nt_effect *effect)
{
	return effect->nr_pops > 1 ? effect->nr_pops - 1 : 0;
}

/*
 * A path is the result of a walk from one block until a few bits of HIST, or an I-CNT, are used up.
 * Its key consists of the block, the top of the return stack, because the path may continue after a
 * return, and a value of 32 bits. In HTM and BTM, this value consists of:
 *
 *	HTM: Up to PATH_BITS bits of HIST, below a bit that is 1 (stop-bit). If I-CNT is used up at the end
 *	     of the path, also PATH_FINAL, and with a return stack also I-CNT << PATH_LEFT_SHIFT.
 *	BTM: PATH_BTM, I-CNT, and PATH_DIRECT if the message is DirectBranch.
 */
struct nt_path {
	uint64_t	key;		/* key of the path, which is never 0; 0 if the slot is free */
	uint32_t	top;		/* block of the call on top of the return stack; 0 if not known */
	uint32_t	ranges;		/* number of the first range, see memo_ranges_of() */
	uint32_t	next;		/* block at the end of the path, see enum path_end */
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
 * Value of nt_path::top for a source whose messages report all returns although the flow has a
 * return stack. No block has this index.
 */
#define MEMO_TOP_EXPLICIT	(1u << 31)

static __always_inline uint64_t path_key(uint32_t block, uint32_t what)
{
	return (uint64_t)block << 32 | what;
}

/*
 * A group is the result of a few messages. A lookup finds the group by the bytes of these messages
 * (fast-group.h). The structure fits a cache line.
 */
struct nt_group {
	uint64_t	key[2];		/* bytes of the messages, followed by zeros; 0 if the slot is free */
	uint64_t	ref;		/* address to which the first U-ADDR of the group is relative */
	uint64_t	next_ref;	/* address to which the first U-ADDR after the group is relative */
	uint32_t	start;		/* first block, SRC and trace mode, see group_start() */
	uint32_t	next;		/* block after the group */
	uint32_t	top;		/* top of the return stack, see nt_path::top */
	/* number of the first range; or, if ranges are counted, of the record of steps (tally.h) */
	uint32_t	ranges;
	struct nt_effect effect;
	/* half-words that both HIST and the next I-CNT report, before and after the group */
	uint16_t	walked;
	uint16_t	next_walked;
	uint16_t	counts;		/* four counters of messages, see fast_unpack_counts() */
	union {
		uint8_t	nr_ranges;
		uint8_t	length;		/* number of bytes in @key, if ranges are counted */
	};
	uint8_t		last;		/* offset of the last message in the bytes of the group */
};

/*
 * Bit positions in nt_group::start. This value contains the source, because another source may send
 * the same bytes at the same block, and must not use the group. The index of the block is in the bits
 * below GROUP_SRC_SHIFT. It fits, because there are at most MAX_BLOCKS blocks when a call of the fast
 * path begins, and the call adds fewer than MAX_BLOCKS.
 */
#define GROUP_SRC_SHIFT		19
#define GROUP_MODE_SHIFT	31

static inline uint32_t group_start(uint32_t block, uint32_t src, bool htm)
{
	return block | src << GROUP_SRC_SHIFT | (uint32_t)htm << GROUP_MODE_SHIFT;
}

#define MEMO_ALIGN	64	/* size of a cache line in bytes */

struct nt_memo {
	void		*allocated;
	uint32_t	nr_ranges;	/* number of ranges that were ever stored */
	uint32_t	nr_calls;
	unsigned int	window;		/* number of bytes that a group lookup covers; 0 if groups are not used */
	bool		by_blocks;	/* walk block by block, without groups and paths */
	bool		trying;		/* nt_judge() is still finding out whether paths repeat */
	unsigned int	path_bits;	/* maximum number of HIST bits of a path if ranges are counted */
	/* number of messages since nt_judge() last chose between groups, paths and blocks */
	uint32_t	messages;
	uint32_t	until;		/* value of @messages at which nt_judge() is called */
	uint32_t	missed;		/* part of @messages for which no group was found */
	uint32_t	misses;		/* number of path lookups without success since @messages was 0 */
	/* The decoder walks block by block for PAUSE << @patience messages if groups and paths were slower. */
	uint32_t	patience;
	struct nt_undo_log undo;
	_Alignas(MEMO_ALIGN) struct nt_path paths[1u << PATHS_SHIFT];
	_Alignas(MEMO_ALIGN) struct nt_group groups[1u << GROUPS_SHIFT];
	/* nt_memo_new() does not clear @ranges and @calls. */
	struct nt_range	ranges[NR_RANGES + GROUP_RANGES];
	uint32_t	calls[NR_CALLS];	/* blocks that end with a call */
};

/* Return the first of two slots in which a path may be. memo_other_slot() returns the second slot. */
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

/*
 * Return true if the ring nt_memo::ranges still has the ranges of a path or group, and newer ranges have
 * not overwritten them. @ranges is the number of the first of these ranges.
 */
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

/* Make room for one path or group. This may drop all other paths and groups. */
void nt_memo_make_room(struct nt_memo *memo);

/* Store @nr ranges, at most GROUP_RANGES. Return the number of the first range. */
uint32_t nt_memo_ranges(struct nt_memo *memo, const struct nt_range *ranges, unsigned int nr);

/*
 * Convert @net, the effect of a path or group on the return stack, to *effect, and store the calls
 * that were popped and the calls @pushed.
 */
void nt_memo_calls(struct nt_memo *memo, struct nt_effect *effect, const struct nt_net *net,
		   const uint32_t *pushed);

/* Drop all paths and groups. */
void nt_memo_clear(struct nt_memo *memo);

/*
 * Store the path *new, whose ranges and calls are already stored, in its first slot. The path that
 * was in this slot moves to the second slot. Return the stored path.
 */
const struct nt_path *nt_memo_keep_path(struct nt_memo *memo, const struct nt_path *new);

#endif /* NTRACE_MEMO_H */
