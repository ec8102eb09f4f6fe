// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode a buffer by several threads.
 *
 * A message with SYNC resets all encoder state, so that decoding can start from
 * it (chapter 8.4). The part before it ends with that same message, as it
 * tells the way to it; the SYNC item itself comes from the part behind it.
 *
 * A worker whose turn it is gives out what it decodes at once. The others keep theirs
 * until it is; if they have no more room, they wait.
 */
#include <pthread.h>
#include <stdlib.h>

#include "flow.h"

/* Bytes of a part, about: many ranges more than MAX_RANGES, and less than the room for them */
#define PART_SIZE	(16u << 10)
#define ROOM_RANGES	(64u << 10)
#define ROOM_MARKS	(16u << 10)
#define ROOM_BATCHES	1024

struct part {
	size_t		start;
	size_t		end;	/* behind the message with SYNC that begins the next part */
	size_t		last;	/* offset of that message; SIZE_MAX: this is the last part */
	uint64_t	number;
};

struct worker {
	struct parallel	*job;
	struct nt_flow	*flow;
	pthread_t	thread;
	struct part	part;
	bool		has_turn;
	/* what waits for its turn; the flow writes behind it */
	unsigned int	nr_batches;
	struct nt_batch	batches[ROOM_BATCHES];
	struct nt_range	ranges[ROOM_RANGES + MAX_RANGES];
	struct nt_mark	marks[ROOM_MARKS + MAX_MARKS];
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
	uint64_t		turn;		/* part to be consumed; read without the lock */
	int			result;
};

/* TCODE of messages with SYNC */
#define SYNC_TCODES							\
	(1ULL << NT_PROG_TRACE_SYNC | 1ULL << NT_DIRECT_BRANCH_SYNC |	\
	 1ULL << NT_INDIRECT_BRANCH_SYNC | 1ULL << NT_INDIRECT_BRANCH_HIST_SYNC)

/* The first message with SYNC behind a byte that ends one, from @at on */
static bool find_sync(const struct parallel *job, size_t at, struct part *part)
{
	struct nt_message msg;

	while (at < job->size && mseo(job->data[at - 1]) != MSEO_END)
		at++;
	while (at < job->size) {
		const uint8_t *p = job->data + at;

		if (SYNC_TCODES >> (*p >> 2) & 1 &&
		    nt_message_decode(job->config, p, job->size - at, &msg) == 1) {
			part->last = at;
			part->end = at + msg.length;
			return true;
		}
		while (at < job->size && mseo(job->data[at]) != MSEO_END)
			at++;
		at++;
	}
	return false;
}

/* The next part. Returns false if there is none. */
static bool take_part(struct parallel *job, struct part *part)
{
	bool more;

	pthread_mutex_lock(&job->lock);
	more = !job->at_end && !job->result;
	if (more) {
		part->start = job->at;
		part->last = SIZE_MAX;
		part->end = job->size;
		part->number = job->nr_parts++;
		job->at_end = !find_sync(job, part->start + PART_SIZE, part);
		job->at = part->last;
	}
	pthread_mutex_unlock(&job->lock);
	return more;
}

/* It is this worker's turn */
static void give_out(struct worker *worker, const struct nt_batch *batch)
{
	struct parallel *job = worker->job;
	int ret;

	if (job->result)
		return;
	ret = job->consume(job->ctx, batch);
	if (!ret)
		return;
	pthread_mutex_lock(&job->lock);
	job->result = ret;
	pthread_mutex_unlock(&job->lock);
}

/* Wait until all parts before are consumed, then give out what was kept. */
static void take_turn(struct worker *worker)
{
	struct parallel *job = worker->job;
	unsigned int i;

	pthread_mutex_lock(&job->lock);
	while (job->turn != worker->part.number)
		pthread_cond_wait(&job->turn_changed, &job->lock);
	pthread_mutex_unlock(&job->lock);
	worker->has_turn = true;
	for (i = 0; i < worker->nr_batches; i++)
		give_out(worker, &worker->batches[i]);
	worker->nr_batches = 0;
}

static void pass_turn(struct worker *worker, int result)
{
	struct parallel *job = worker->job;

	pthread_mutex_lock(&job->lock);
	if (!job->result)
		job->result = result;
	__atomic_store_n(&job->turn, job->turn + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&job->turn_changed);
	pthread_mutex_unlock(&job->lock);
	worker->has_turn = false;
}

static void keep(struct worker *worker, const struct nt_batch *batch)
{
	worker->batches[worker->nr_batches++] = *batch;
	if (!batch->nr)
		return;
	/* what comes next is written behind */
	worker->flow->ranges += worker->flow->nr_ranges;
	worker->flow->marks += worker->flow->nr_marks;
}

static bool has_room(const struct worker *worker)
{
	return worker->nr_batches < ROOM_BATCHES &&
	       worker->flow->ranges < worker->ranges + ROOM_RANGES &&
	       worker->flow->marks < worker->marks + ROOM_MARKS;
}

static bool is_turn(const struct worker *worker)
{
	return __atomic_load_n(&worker->job->turn, __ATOMIC_ACQUIRE) == worker->part.number;
}

/* The SYNC item that ends the part: the next part gives it out. */
static bool is_next_parts(const struct part *part, const struct nt_batch *batch)
{
	return !batch->nr && batch->item.type == NT_ITEM_SYNC && batch->item.offset == part->last;
}

static int decode_part(struct worker *worker)
{
	struct nt_flow *flow = worker->flow;
	const struct part *part = &worker->part;
	struct nt_batch batch;
	int ret;

	flow->ranges = worker->ranges;
	flow->marks = worker->marks;
	nt_flow_restart(flow, part->start, false);
	nt_flow_feed(flow, worker->job->data + part->start, part->end - part->start);
	if (part->last == SIZE_MAX)
		nt_flow_end(flow);
	while ((ret = nt_flow_next_batch(flow, &batch)) > 0) {
		if (is_next_parts(part, &batch))
			continue;
		if (!worker->has_turn && (is_turn(worker) || !has_room(worker)))
			take_turn(worker);
		if (worker->has_turn)
			give_out(worker, &batch);
		else
			keep(worker, &batch);
	}
	return ret;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (take_part(worker->job, &worker->part)) {
		int ret = decode_part(worker);

		if (!worker->has_turn)
			take_turn(worker);
		pass_turn(worker, ret);
	}
	return NULL;
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
