/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A queue stores batches (first in, first out) until the consumer has received the batches of all
 * earlier parts (parallel.c). The memory of a queue has a fixed size.
 */
#ifndef NTRACE_QUEUE_H
#define NTRACE_QUEUE_H

#include "../flow.h"

/* A queue entry, which is a batch or the end of a part. Ranges and marks of the batch follow it. */
struct nt_kept {
	uint64_t	part;
	size_t		size;		/* size of the entry in bytes, including the ranges and marks of its batch */
	bool		is_end;
	int		result;		/* result of decoding the part, if @is_end */
	struct nt_batch	batch;
};

/*
 * A queue, which is a ring. The next entry of an empty queue is stored at offset 0, because that
 * memory is in the cache.
 */
struct nt_queue {
	uint8_t		*memory;
	size_t		size;
	size_t		first;		/* offset of the first entry */
	size_t		next;		/* offset of the next entry to add */
	size_t		wrap;		/* offset of the end of the last entry before the ring wrapped */
	size_t		nr;		/* number of entries */
};

/* Set up a queue of up to @size bytes, which are allocated when the queue is first used. */
void nt_queue_init(struct nt_queue *queue, size_t size);
void nt_queue_exit(struct nt_queue *queue);

/*
 * Return memory for MAX_RANGES ranges of the next batch. Return NULL if the queue is full, or if
 * the first use of the queue finds no memory. The batch is in the queue only after nt_queue_add().
 */
struct nt_range *nt_queue_reserve(struct nt_queue *queue);

/* Add *batch, whose ranges are in the memory that nt_queue_reserve() returned last. */
void nt_queue_add(struct nt_queue *queue, uint64_t part, const struct nt_batch *batch);

/* Add the end of @part. Return false if there is no room. */
bool nt_queue_add_end(struct nt_queue *queue, uint64_t part, int result);

/* Return the first entry, or NULL if the queue is empty. */
const struct nt_kept *nt_queue_first(const struct nt_queue *queue);

/* Remove the first entry. The queue must not be empty. */
void nt_queue_remove(struct nt_queue *queue);

/* Return the number of bytes from the first to the last entry. */
size_t nt_queue_used(const struct nt_queue *queue);

#endif /* NTRACE_QUEUE_H */
