/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes of truth files, and the dictionary of their blocks. The writer (truth.c) and the reader (truth_read.c) use
 * these declarations.
 */
#ifndef NTRACE_BOARD_TRUTH_COMMON_H
#define NTRACE_BOARD_TRUTH_COMMON_H

#include "truth.h"

#define MAGIC		"NBTRUTH\n"
#define VERSION		1
#define VERSION_STACKS	2
#define VERSION_AT	8		/* offset of the version in the header */
#define HEADER_SIZE	24
#define BUFFER		(256 << 10)
#define CHUNK		4096		/* number of entries per allocation */
#define HASH_SIZE	(1U << 20)
#define ENTRIES_MAX	(4U << 20)	/* number of entries at which the dictionary is reset */
#define IRETIRE_MAX	(1U << 20)

/*
 * A record begins with a token, which is a byte. The two high bits of the token are the kind of the record. If
 * the kind is KIND_OP, the other bits are the operation (OP_*). Otherwise they are a number below 63, or 63 if the
 * next bytes are a varint with the number minus 63.
 */
enum { KIND_RUN, KIND_OTHER, KIND_REF, KIND_OP };
enum { OP_DEFINE, OP_CONTEXT, OP_TIME, OP_START, OP_STOP, OP_SYNC, OP_END, OP_RESET, OP_STACK };
#define SHORT_MAX	63

/* Fields of the flags byte in a definition of a block */
#define DEF_ITYPE	0x0f
#define DEF_LASTSIZE	0x30
#define DEF_SIJUMP	0x40
#define DEF_WIDE	0x80
/* Fields of the privilege byte in a definition of a block */
#define DEF_PRIV	0x07
#define DEF_CODE	0x08

/* The blocks that were defined. The writer and the reader build equal dictionaries. */
struct nb_truth_dictionary {
	struct nb_truth_entry	**chunk;
	uint32_t		n, chunks;
	struct nb_truth_entry	root;	/* predecessor of the first block, which has no other */
};

static inline struct nb_truth_entry *nb_truth_entry_at(const struct nb_truth_dictionary *d, uint32_t index)
{
	return &d->chunk[index / CHUNK][index % CHUNK];
}

/* Add a block to the dictionary. Return its entry, or NULL if memory is exhausted. */
struct nb_truth_entry *nb_truth_add_entry(struct nb_truth_dictionary *d, const struct nb_ingress *blk);
void nb_truth_free(struct nb_truth_dictionary *d);

static inline void nb_truth_reset(struct nb_truth_dictionary *d)
{
	d->n = 0;
	d->root.next[0] = NULL;
	d->root.next[1] = NULL;
}

/* Record that @to followed @from, so that @to is expected after @from in the future. */
static inline void nb_truth_learn(struct nb_truth_entry *from, struct nb_truth_entry *to)
{
	if (from->next[0] == to)
		return;
	from->next[1] = from->next[0];
	from->next[0] = to;
}

static inline uint64_t nb_truth_end_of(const struct nb_truth_entry *e)
{
	return e->blk.iaddr + 2ULL * e->blk.iretire;
}

/* Zigzag encoding stores the sign of a number in bit 0. */
static inline uint64_t zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ value >> 63;
}

static inline int64_t unzigzag(uint64_t value)
{
	return value >> 1 ^ -(value & 1);
}

#endif /* NTRACE_BOARD_TRUTH_COMMON_H */
