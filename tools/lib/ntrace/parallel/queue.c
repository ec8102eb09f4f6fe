// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A thread stores the batches that it has decoded in a queue, until the consumer has received the batches of all
 * earlier parts of the trace.
 */
#include <stdlib.h>

#include "queue.h"

void nt_queue_init(struct nt_queue *queue, size_t size)
{
	*queue = (struct nt_queue){ .size = size };
}

void nt_queue_exit(struct nt_queue *queue)
{
	free(queue->memory);
}

/* Allocate the memory at the first use, so that an unused queue needs none. Return false on failure. */
static bool queue_has_memory(struct nt_queue *queue)
{
	if (!queue->memory)
		queue->memory = malloc(queue->size);
	return queue->memory;
}

/* Make room for the longest batch at @queue->next. Return NULL if there is no room. */
static struct nt_kept *queue_make_room(struct nt_queue *queue)
{
	size_t size = sizeof(struct nt_kept) + MAX_RANGES * sizeof(struct nt_range) +
		      MAX_MARKS * sizeof(struct nt_mark);
	bool wrapped = queue->nr && queue->next <= queue->first;
	size_t end = wrapped ? queue->first : queue->size;

	if (!queue_has_memory(queue))
		return NULL;
	if (!queue->nr) {
		queue->first = 0;
		queue->next = 0;
	}
	if (end - queue->next < size) {
		if (wrapped || queue->first < size)
			return NULL;
		queue->wrap = queue->next;
		queue->next = 0;
	}
	return (struct nt_kept *)(queue->memory + queue->next);
}

struct nt_range *nt_queue_reserve(struct nt_queue *queue)
{
	struct nt_kept *kept = queue_make_room(queue);

	return kept ? (struct nt_range *)(kept + 1) : NULL;
}

void nt_queue_add(struct nt_queue *queue, uint64_t part, const struct nt_batch *batch)
{
	size_t marks = batch->nr_marks * sizeof(batch->marks[0]);
	struct nt_kept *kept = (struct nt_kept *)(queue->memory + queue->next);

	*kept = (struct nt_kept){ .part = part, .batch = *batch };
	kept->size = sizeof(*kept) + batch->nr * sizeof(batch->ranges[0]) + marks;
	if (marks)
		kept->batch.marks = memcpy((void *)(batch->ranges + batch->nr), batch->marks, marks);
	queue->next += kept->size;
	queue->nr++;
}

bool nt_queue_add_end(struct nt_queue *queue, uint64_t part, int result)
{
	struct nt_kept *kept = queue_make_room(queue);

	if (!kept)
		return false;
	*kept = (struct nt_kept){
		.part = part, .size = sizeof(*kept), .is_end = true, .result = result,
	};
	queue->next += kept->size;
	queue->nr++;
	return true;
}

const struct nt_kept *nt_queue_first(const struct nt_queue *queue)
{
	return queue->nr ? (const struct nt_kept *)(queue->memory + queue->first) : NULL;
}

void nt_queue_remove(struct nt_queue *queue)
{
	queue->first += nt_queue_first(queue)->size;
	queue->nr--;
	if (queue->next < queue->first && queue->first == queue->wrap)
		queue->first = 0;
}

size_t nt_queue_used(const struct nt_queue *queue)
{
	if (!queue->nr)
		return 0;
	if (queue->next > queue->first)
		return queue->next - queue->first;
	return queue->wrap - queue->first + queue->next;
}
