// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode a buffer by several threads.
 *
 * A message with SYNC resets all encoder state, so that decoding can start from
 * it (chapter 8.4). The part before it ends with that same message, as it
 * tells the way to it; the SYNC item itself comes from the part behind it.
 */
#include <pthread.h>
#include <stdlib.h>

#include "flow.h"

/* Bytes of a part, about: its ranges are kept until it is their turn. */
#define PART_SIZE	(32u << 10)

struct part {
	size_t		start;
	size_t		end;	/* behind the message with SYNC that begins the next part */
	size_t		last;	/* offset of that message; SIZE_MAX: this is the last part */
};

/* A run of ranges, or an item, that waits for its turn */
struct saved {
	struct saved	*next;
	struct nt_batch	batch;
};

struct worker {
	struct parallel	*job;
	struct nt_flow	*flow;
	pthread_t	thread;
};

struct parallel {
	const struct nt_config	*config;
	struct nt_image		*image;
	const uint8_t		*data;
	size_t			size;
	int			(*consume)(void *ctx, const struct nt_batch *batch);
	void			*ctx;
	pthread_mutex_t		lock;
	pthread_cond_t		turn_changed;
	size_t			at;		/* where the next part starts */
	bool			at_end;
	uint64_t		nr_parts;	/* handed out */
	uint64_t		turn;		/* part that may be consumed */
	int			result;
};

/* The next part, found by its messages. Called with the lock held. */
static bool take_part(struct parallel *job, struct part *part, uint64_t *number)
{
	struct nt_config config = *job->config;
	struct nt_message msg;
	size_t at;

	if (job->at_end || job->result)
		return false;
	part->start = job->at;
	part->last = SIZE_MAX;
	part->end = job->size;
	*number = job->nr_parts++;
	at = part->start + PART_SIZE;
	/* some message ends behind here; the first with SYNC begins the next part */
	while (at < job->size && mseo(job->data[at - 1]) != MSEO_END)
		at++;
	while (at < job->size) {
		int ret = nt_message_decode(&config, job->data + at, job->size - at, &msg);

		if (!ret)
			break;
		at += msg.offset;
		if (ret > 0 && nt_message_is_sync(&msg)) {
			part->last = at;
			part->end = at + msg.length;
			job->at = at;
			return true;
		}
		at += msg.length;
	}
	job->at_end = true;
	return true;
}

static struct saved *save(const struct nt_batch *batch)
{
	size_t ranges = batch->nr * sizeof(batch->ranges[0]);
	size_t marks = batch->nr_marks * sizeof(batch->marks[0]);
	struct saved *saved = malloc(sizeof(*saved) + ranges + marks);
	uint8_t *room = (uint8_t *)(saved + 1);

	if (!saved)
		return NULL;
	saved->next = NULL;
	saved->batch = *batch;
	if (ranges)
		memcpy(room, batch->ranges, ranges);
	saved->batch.ranges = (struct nt_range *)room;
	if (marks)
		memcpy(room + ranges, batch->marks, marks);
	saved->batch.marks = (struct nt_mark *)(room + ranges);
	return saved;
}

/* The SYNC item that ends the part: the next part gives it out. */
static bool is_next_parts(const struct part *part, const struct nt_batch *batch)
{
	return !batch->nr && batch->item.type == NT_ITEM_SYNC && batch->item.offset == part->last;
}

/* Decode one part into a list. */
static int decode_part(struct worker *worker, const struct part *part, struct saved **list)
{
	struct nt_flow *flow = worker->flow;
	struct saved **end = list;
	struct nt_batch batch;
	int ret;

	nt_flow_restart(flow, part->start, false);
	nt_flow_feed(flow, worker->job->data + part->start, part->end - part->start);
	if (part->last == SIZE_MAX)
		nt_flow_end(flow);
	while ((ret = nt_flow_next_batch(flow, &batch)) > 0) {
		if (is_next_parts(part, &batch))
			continue;
		*end = save(&batch);
		if (!*end)
			return NT_E_NOMEM;
		end = &(*end)->next;
	}
	return ret;
}

/* Wait until all parts before are consumed, then consume this one. */
static void consume_part(struct parallel *job, uint64_t number, struct saved *list, int result)
{
	struct saved *next;

	pthread_mutex_lock(&job->lock);
	while (job->turn != number)
		pthread_cond_wait(&job->turn_changed, &job->lock);
	pthread_mutex_unlock(&job->lock);
	for (; list; list = next) {
		next = list->next;
		if (!job->result)
			job->result = job->consume(job->ctx, &list->batch);
		free(list);
	}
	pthread_mutex_lock(&job->lock);
	if (!job->result)
		job->result = result;
	job->turn++;
	pthread_cond_broadcast(&job->turn_changed);
	pthread_mutex_unlock(&job->lock);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct parallel *job = worker->job;

	for (;;) {
		struct saved *list = NULL;
		struct part part;
		uint64_t number;
		bool more;
		int ret;

		pthread_mutex_lock(&job->lock);
		more = take_part(job, &part, &number);
		pthread_mutex_unlock(&job->lock);
		if (!more)
			return NULL;
		ret = decode_part(worker, &part, &list);
		consume_part(job, number, list, ret);
	}
}

static void add_stats(struct nt_stats *sum, const struct nt_flow *flow)
{
	const uint64_t *from = (const uint64_t *)&flow->stats;
	uint64_t *to = (uint64_t *)sum;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

static int run_workers(struct parallel *job, struct worker *workers, unsigned int nr,
		       struct nt_stats *stats)
{
	unsigned int i, started = 0;

	for (i = 0; i < nr; i++) {
		workers[i].job = job;
		workers[i].flow = nt_flow_new(job->config, job->image);
		if (!workers[i].flow ||
		    pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			break;
		started++;
	}
	for (i = 0; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < nr; i++) {
		if (stats && workers[i].flow)
			add_stats(stats, workers[i].flow);
		nt_flow_free(workers[i].flow);
	}
	return started ? job->result : NT_E_NOMEM;
}

int nt_parallel_decode(const struct nt_config *config, struct nt_image *image,
		       const uint8_t *data, size_t size, unsigned int threads,
		       int (*consume)(void *ctx, const struct nt_batch *batch), void *ctx,
		       struct nt_stats *stats)
{
	struct nt_config copy;
	struct parallel job = {
		.config = &copy, .image = image, .data = data, .size = size,
		.consume = consume, .ctx = ctx,
		.lock = PTHREAD_MUTEX_INITIALIZER, .turn_changed = PTHREAD_COND_INITIALIZER,
	};
	struct worker *workers;
	int ret;

	if (!threads || nt_config_check(config) || nt_config_copy(&copy, config))
		return NT_E_INVALID;
	if (stats)
		memset(stats, 0, sizeof(*stats));
	workers = calloc(threads, sizeof(*workers));
	if (!workers)
		return NT_E_NOMEM;
	ret = run_workers(&job, workers, threads, stats);
	free(workers);
	return ret;
}
