/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Batches that wait until it is their turn: first in, first out, in memory of a fixed size.
 */
#ifndef NTRACE_QUEUE_H
#define NTRACE_QUEUE_H

#include "../flow.h"

/* A batch, or the end of a part. Ranges and marks of the batch follow it in memory. */
struct nt_kept {
	uint64_t	part;
	size_t		size;		/* with what follows it */
	bool		is_end;
	int		result;		/* at the end: of decoding the part */
	struct nt_batch	batch;
};

/* A ring. When it is empty, it starts again from its beginning, as that memory is in the cache. */
struct nt_queue {
	uint8_t		*memory;
	size_t		size;
	size_t		first;
	size_t		next;		/* where the next one is added */
	size_t		wrap;		/* if @next is before @first: nothing is here and after */
	size_t		nr;
};

/* @size: bytes that it takes at most, once something is added */
void nt_queue_init(struct nt_queue *queue, size_t size);
void nt_queue_exit(struct nt_queue *queue);

/*
 * Memory for the ranges of the next batch, MAX_RANGES of them. NULL: there is no room; if the
 * queue is empty, there is no memory. It is free again until the batch is added.
 */
struct nt_range *nt_queue_reserve(struct nt_queue *queue);

/* Add *batch, whose ranges are in the memory that was reserved last. */
void nt_queue_add(struct nt_queue *queue, uint64_t part, const struct nt_batch *batch);

/* Add the end of @part. False: there is no room. */
bool nt_queue_add_end(struct nt_queue *queue, uint64_t part, int result);

/* NULL: it is empty */
const struct nt_kept *nt_queue_first(const struct nt_queue *queue);
void nt_queue_remove(struct nt_queue *queue);

/* Bytes from the first to the last */
size_t nt_queue_used(const struct nt_queue *queue);

#endif /* NTRACE_QUEUE_H */
