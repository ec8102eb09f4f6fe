// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode a buffer by several threads.
 *
 * Each thread, which is called a worker here, decodes one part of the buffer at a time (cuts.h). A
 * part begins right after a message with SYNC, and ends after the next message with SYNC at which
 * the buffer is cut. That last message belongs to the part, because it reports instructions of the
 * part, and because its item contains the losses before it.
 *
 * A worker without a part takes the next part. If no part is ready, the worker scans cells until a
 * part is ready. A worker also scans cells when it has decoded all cells that are known to belong
 * to its part.
 *
 * The consumer is the caller's function that gets the batches. In ordered decoding, the consumer
 * gets the batches in the order of the buffer. Therefore only the worker of the first unfinished
 * part passes its batches to the consumer at once. This worker has the turn. Other workers store
 * their batches in queues and continue with further parts. A worker waits only if its queue is full.
 */
#include <pthread.h>
#include <stdlib.h>

#include "../counts/counts.h"
#include "cuts.h"
#include "queue.h"

/*
 * Size in bytes of the queues of all workers together, and limits of the size of one queue. Each
 * queue has room for at least one batch.
 */
#define QUEUES_SIZE	(16u << 20)
#define MAX_QUEUE_SIZE	(4u << 20)
#define MIN_QUEUE_SIZE	(64u << 10)
/*
 * A worker does not take another part while its queue has more bytes than this, because more
 * batches would not fit into the second-level cache.
 */
#define QUEUE_ENOUGH	(512u << 10)

#define CELLS_A_THREAD	4	/* number of scanned cells (parts of the buffer) that are stored for each worker */

/* The bytes from one cut to the next. @job->lock protects @end and @has_end. */
struct part {
	uint64_t		number;
	struct nt_entry		entry;
	bool			is_first;	/* the part begins at the start of the buffer, so @entry is not used */
	bool			has_end;
	size_t			end;
};

/*
 * Result of the scan of a cell (a part of the buffer), whose effects on context and time are not yet added to those of
 * the earlier cells (cuts.h)
 */
struct scanned {
	bool			done;
	struct nt_cell		cell;
};

struct worker {
	struct parallel		*job;
	struct nt_flow		*flow;
	void			*ctx;
	pthread_t		thread;
	struct part		part;
	bool			has_turn;	/* batches of @part go directly to the consumer */
	/* batches of @part and of earlier parts, which the consumer has not received */
	struct nt_queue		queue;
};

typedef int (*consume_fn)(void *ctx, uint64_t part, const struct nt_batch *batch);

struct parallel {
	consume_fn		consume;
	bool			unordered;
	struct nt_counts	*counts;	/* where to count ranges; if NULL, @consume gets the ranges */
	struct nt_cuts		cuts;
	pthread_mutex_t		lock;
	pthread_cond_t		changed;
	/*
	 * @lock protects all members below. @turn and @stop can also be read without @lock, because
	 * they are accessed by atomic operations.
	 */
	unsigned int		nr_waiting;	/* number of workers that wait for @changed */
	/* ring of @nr_scanned cells, which are scanned parts of the buffer (cuts.h) */
	struct scanned		*scanned;
	size_t			nr_scanned;
	/* number of the next cell, or part of the buffer, to scan for SYNC messages */
	size_t			next_cell;
	/*
	 * number of the next scanned cell (part of the buffer) whose changes of context and time
	 * are added to those of the earlier cells; see cuts.h
	 */
	size_t			next_chained;
	struct nt_chain		chain;
	struct part		*ready;		/* a ring of up to @nr_scanned parts that no worker has taken */
	size_t			nr_ready;
	size_t			first_ready;
	uint64_t		nr_parts;
	struct part		*newest;	/* last part, whose end is not yet known */
	uint64_t		turn;		/* number of the first part that is not completely consumed */
	bool			stop;
	int			result;
};

/* ---- wait for other workers, and wake them ---- */

static bool parallel_is_stopped(const struct parallel *job)
{
	return __atomic_load_n(&job->stop, __ATOMIC_RELAXED);
}

static bool parallel_is_turn(const struct parallel *job, uint64_t number)
{
	return __atomic_load_n(&job->turn, __ATOMIC_ACQUIRE) == number;
}

static void parallel_wait_change(struct parallel *job)
{
	job->nr_waiting++;
	pthread_cond_wait(&job->changed, &job->lock);
	job->nr_waiting--;
}

static void parallel_signal_change(struct parallel *job)
{
	if (job->nr_waiting)
		pthread_cond_broadcast(&job->changed);
}

/* Stop all workers. Decoding returns @result, unless an earlier call has stopped the workers. */
static void parallel_stop(struct parallel *job, int result)
{
	pthread_mutex_lock(&job->lock);
	if (!job->stop)
		job->result = result;
	__atomic_store_n(&job->stop, true, __ATOMIC_RELAXED);
	parallel_signal_change(job);
	pthread_mutex_unlock(&job->lock);
}

/* ---- division of the buffer into parts ---- */

/*
 * End the newest part at @entry->offset, and add the next part, which begins there. The caller
 * holds @job->lock.
 */
static void parallel_add_part(struct parallel *job, const struct nt_entry *entry)
{
	struct part *part = &job->ready[(job->first_ready + job->nr_ready++) % job->nr_scanned];

	if (job->newest) {
		job->newest->end = entry->offset;
		job->newest->has_end = true;
	}
	*part = (struct part){
		.number = job->nr_parts++, .entry = *entry, .is_first = !job->newest,
	};
	job->newest = part;
}

/*
 * Go through the scanned cells in the order of the buffer. Add up their changes of context and
 * time, and add the parts that begin in them (cuts.h describes cells). The caller holds @job->lock.
 */
static void parallel_chain_cells(struct parallel *job)
{
	struct scanned *scanned;

	for (;; job->next_chained++) {
		scanned = &job->scanned[job->next_chained % job->nr_scanned];
		if (!scanned->done)
			break;
		scanned->done = false;
		/*
		 * If another process changes the trace during the scans, the cut of this cell may
		 * be before the cut of the previous cell.
		 */
		if (nt_chain_cell(&job->cuts, &job->chain, &scanned->cell) &&
		    scanned->cell.entry.offset > job->newest->entry.offset)
			parallel_add_part(job, &scanned->cell.entry);
	}
	if (job->next_chained == job->cuts.nr_cells) {
		job->newest->end = job->cuts.size;
		job->newest->has_end = true;
	}
	parallel_signal_change(job);
}

/*
 * Scan the next cell, which is a part of the buffer. The caller holds @job->lock, which is not held
 * during the scan. Do not scan if other workers have taken all cells, or if @job->scanned has no room
 * for another result. Then wait until another worker signals that it has scanned a cell, for example.
 */
static void parallel_scan_cell(struct parallel *job)
{
	struct scanned *scanned;
	size_t number;

	if (job->next_cell == job->cuts.nr_cells ||
	    job->next_cell - job->next_chained == job->nr_scanned) {
		parallel_wait_change(job);
		return;
	}
	number = job->next_cell++;
	scanned = &job->scanned[number % job->nr_scanned];
	pthread_mutex_unlock(&job->lock);
	nt_cuts_scan(&job->cuts, number, &scanned->cell);
	pthread_mutex_lock(&job->lock);
	scanned->done = true;
	if (number == job->next_chained)
		parallel_chain_cells(job);
}

/* Take the next part for this worker to decode. Return false if no part is ready. */
static bool worker_take_part(struct worker *worker)
{
	struct parallel *job = worker->job;
	bool taken;

	pthread_mutex_lock(&job->lock);
	while (!job->nr_ready && job->next_chained < job->cuts.nr_cells && !job->stop)
		parallel_scan_cell(job);
	taken = job->nr_ready && !job->stop;
	if (taken) {
		worker->part = job->ready[job->first_ready];
		if (job->newest == &job->ready[job->first_ready])
			job->newest = &worker->part;
		job->first_ready = (job->first_ready + 1) % job->nr_scanned;
		job->nr_ready--;
	}
	pthread_mutex_unlock(&job->lock);
	return taken;
}

/*
 * Return the offset up to which all bytes are known to belong to the part that @worker decodes. Set
 * *is_end if the part ends there. If it does not end there, first scan cells, or wait for other workers,
 * until the offset is greater than @at, up to which the worker has decoded.
 */
static size_t worker_find_limit(struct worker *worker, size_t at, bool *is_end)
{
	struct parallel *job = worker->job;
	struct part *part = &worker->part;
	size_t limit;

	pthread_mutex_lock(&job->lock);
	for (;;) {
		limit = part->has_end ? part->end : nt_cuts_offset(&job->cuts, job->next_chained);
		if (part->has_end || limit > at || job->stop)
			break;
		parallel_scan_cell(job);
	}
	*is_end = part->has_end;
	pthread_mutex_unlock(&job->lock);
	return limit;
}

/* ---- pass the decoded batches to the caller ---- */

static void worker_give_out(struct worker *worker, uint64_t part, const struct nt_batch *batch)
{
	struct parallel *job = worker->job;
	int ret;

	if (parallel_is_stopped(job))
		return;
	ret = job->consume(worker->ctx, part, batch);
	if (ret)
		parallel_stop(job, ret);
}

static void parallel_pass_turn(struct parallel *job)
{
	pthread_mutex_lock(&job->lock);
	__atomic_store_n(&job->turn, job->turn + 1, __ATOMIC_RELEASE);
	parallel_signal_change(job);
	pthread_mutex_unlock(&job->lock);
}

static void parallel_wait_turn(struct parallel *job, uint64_t number)
{
	pthread_mutex_lock(&job->lock);
	while (!parallel_is_turn(job, number) && !job->stop)
		parallel_wait_change(job);
	pthread_mutex_unlock(&job->lock);
}

/* Finish a part whose batches are all consumed. @result is 0, or an error if decoding failed. */
static void worker_finish_part(struct worker *worker, int result)
{
	if (result)
		parallel_stop(worker->job, result);
	else
		parallel_pass_turn(worker->job);
}

/*
 * Pass queued batches to the consumer, until the next batch belongs to a part that must wait for an
 * earlier part.
 */
static void worker_give_out_kept(struct worker *worker)
{
	const struct nt_kept *kept;

	while ((kept = nt_queue_first(&worker->queue)) &&
	       parallel_is_turn(worker->job, kept->part) && !parallel_is_stopped(worker->job)) {
		if (kept->is_end)
			worker_finish_part(worker, kept->result);
		else
			worker_give_out(worker, kept->part, &kept->batch);
		nt_queue_remove(&worker->queue);
	}
}

/*
 * Pass queued batches to the consumer. After that, set worker::has_turn if all parts before the
 * part of this worker are consumed.
 */
static void worker_look_at_turn(struct worker *worker)
{
	worker_give_out_kept(worker);
	worker->has_turn = !nt_queue_first(&worker->queue) &&
			   parallel_is_turn(worker->job, worker->part.number);
}

/*
 * Wait until all parts before the part of the first queued batch are consumed. If the queue is
 * empty, wait until all parts before the part of this worker are consumed.
 */
static void worker_wait_first(struct worker *worker)
{
	const struct nt_kept *kept = nt_queue_first(&worker->queue);

	parallel_wait_turn(worker->job, kept ? kept->part : worker->part.number);
	worker_look_at_turn(worker);
}

static void worker_end_part(struct worker *worker, int result)
{
	while (!worker->has_turn) {
		if (parallel_is_stopped(worker->job) ||
		    nt_queue_add_end(&worker->queue, worker->part.number, result))
			return;
		worker_wait_first(worker);
	}
	worker_finish_part(worker, result);
}

/* ---- decode the parts ---- */

/*
 * Return memory of the queue for the ranges of the next batch. Return NULL if all parts before the
 * part of this worker are consumed, so that the batch needs no queue, or if decoding is stopped.
 */
static struct nt_range *worker_find_buffer(struct worker *worker)
{
	struct nt_range *ranges;

	for (;;) {
		if (!worker->has_turn)
			worker_look_at_turn(worker);
		if (worker->has_turn || parallel_is_stopped(worker->job))
			return NULL;
		ranges = nt_queue_reserve(&worker->queue);
		if (ranges)
			return ranges;
		worker_wait_first(worker);
	}
}

/* Count the ranges of the bytes that nt_flow_feed() passed to @flow. Return NT_OK or NT_E_NOMEM. */
static int worker_count_fed(struct nt_flow *flow)
{
	struct nt_item item;
	int ret;

	do
		ret = nt_flow_take_counted(flow, &item);
	while (ret > 0);
	return ret;
}

/* Decode the bytes that nt_flow_feed() passed to the worker's flow. Return NT_OK or NT_E_NOMEM. */
static int worker_decode_fed(struct worker *worker)
{
	struct nt_range *buffer;
	struct nt_batch batch;
	int ret;

	if (worker->job->counts)
		return worker_count_fed(worker->flow);
	for (;;) {
		buffer = worker_find_buffer(worker);
		if (parallel_is_stopped(worker->job))
			return NT_OK;
		nt_flow_set_buffer(worker->flow, buffer);
		ret = nt_flow_take_batch(worker->flow, &batch);
		if (ret <= 0)
			return ret;
		if (buffer)
			nt_queue_add(&worker->queue, worker->part.number, &batch);
		else
			worker_give_out(worker, worker->part.number, &batch);
	}
}

/* Decode the part. Return NT_OK or NT_E_NOMEM. */
static int worker_decode_part(struct worker *worker)
{
	const struct nt_cuts *cuts = &worker->job->cuts;
	size_t at = worker->part.entry.offset, limit;
	struct nt_flow *flow = worker->flow;
	bool is_end = false;
	int ret = NT_OK;

	if (!worker->part.is_first && nt_flow_enter(flow, &worker->part.entry))
		return NT_E_NOMEM;
	while (!is_end && !ret && !parallel_is_stopped(worker->job)) {
		limit = worker_find_limit(worker, at, &is_end);
		nt_flow_feed(flow, cuts->data + at, limit - at);
		if (is_end && limit == cuts->size)
			nt_flow_end(flow);
		ret = worker_decode_fed(worker);
		at = limit;
	}
	return ret;
}

static void *worker_run(void *arg)
{
	struct worker *worker = arg;

	while (worker_take_part(worker)) {
		worker->has_turn = worker->job->unordered;
		worker_end_part(worker, worker_decode_part(worker));
		worker->has_turn = false;
		while (nt_queue_used(&worker->queue) > QUEUE_ENOUGH &&
		       !parallel_is_stopped(worker->job))
			worker_wait_first(worker);
	}
	while (nt_queue_first(&worker->queue) && !parallel_is_stopped(worker->job))
		worker_wait_first(worker);
	return NULL;
}

/* ---- set-up ---- */

static void parallel_add_stats(struct nt_stats *sum, const struct nt_flow *flow)
{
	const uint64_t *from = (const uint64_t *)&flow->stats;
	uint64_t *to = (uint64_t *)sum;
	size_t i;

	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

/*
 * Run the workers. The first worker is the caller's thread. If other threads cannot be started,
 * fewer workers decode the buffer.
 */
static int parallel_run_workers(struct parallel *job, struct nt_image *image,
				struct worker *workers, unsigned int nr)
{
	size_t queue_size = QUEUES_SIZE / nr;
	unsigned int i, started;

	if (queue_size > MAX_QUEUE_SIZE)
		queue_size = MAX_QUEUE_SIZE;
	if (queue_size < MIN_QUEUE_SIZE)
		queue_size = MIN_QUEUE_SIZE;
	for (started = 0; started < nr; started++) {
		struct worker *worker = &workers[started];

		nt_queue_init(&worker->queue, queue_size);
		worker->flow = nt_flow_new(&job->cuts.config, image);
		if (!worker->flow)
			break;
		if (started && pthread_create(&worker->thread, NULL, worker_run, worker))
			break;
	}
	if (!started)
		return NT_E_NOMEM;
	worker_run(&workers[0]);
	for (i = 1; i < started; i++)
		pthread_join(workers[i].thread, NULL);
	return job->result;
}

/* Add the counts of all flows to @job->counts. Return NT_OK, or NT_E_NOMEM without any change. */
static int parallel_take_counts(struct parallel *job, struct worker *workers, unsigned int nr)
{
	struct nt_counts *sum = nt_counts_new();
	int ret = sum ? NT_OK : NT_E_NOMEM;
	unsigned int i;

	for (i = 0; i < nr && !ret; i++) {
		if (workers[i].flow)
			ret = nt_counts_take(sum, workers[i].flow);
	}
	if (!ret)
		ret = nt_counts_merge(job->counts, sum);
	nt_counts_free(sum);
	return ret;
}

static int parallel_run(struct parallel *job, struct nt_image *image, unsigned int threads,
			void *const *ctxs, struct nt_stats *stats)
{
	static const struct nt_entry begin;
	struct worker *workers = calloc(threads, sizeof(*workers));
	unsigned int i;
	int ret = NT_E_NOMEM;

	job->nr_scanned = (size_t)threads * CELLS_A_THREAD;
	job->scanned = calloc(job->nr_scanned, sizeof(*job->scanned));
	job->ready = calloc(job->nr_scanned, sizeof(*job->ready));
	if (workers && job->scanned && job->ready) {
		parallel_add_part(job, &begin);
		for (i = 0; i < threads; i++) {
			workers[i].job = job;
			workers[i].ctx = job->consume ? ctxs[job->unordered ? i : 0] : NULL;
		}
		ret = parallel_run_workers(job, image, workers, threads);
		if (job->counts && !ret)
			ret = parallel_take_counts(job, workers, threads);
	}
	for (i = 0; workers && i < threads; i++) {
		if (workers[i].flow)
			parallel_add_stats(stats, workers[i].flow);
		nt_flow_free(workers[i].flow);
		nt_queue_exit(&workers[i].queue);
	}
	free(job->ready);
	free(job->scanned);
	free(workers);
	return ret;
}

/* Decode the whole buffer with one thread. Return NT_OK, an error, or the value that @consume returned. */
static int parallel_run_alone(struct parallel *job, struct nt_image *image, void *ctx,
			      struct nt_stats *stats)
{
	struct nt_flow *flow = nt_flow_new(&job->cuts.config, image);
	struct nt_batch batch;
	int ret;

	if (!flow)
		return NT_E_NOMEM;
	nt_flow_feed(flow, job->cuts.data, job->cuts.size);
	nt_flow_end(flow);
	while (!job->counts && (ret = nt_flow_take_batch(flow, &batch)) > 0) {
		ret = job->consume(ctx, 0, &batch);
		if (ret)
			break;
	}
	if (job->counts) {
		ret = worker_count_fed(flow);
		ret = ret ? ret : nt_counts_take(job->counts, flow);
	}
	parallel_add_stats(stats, flow);
	nt_flow_free(flow);
	return ret;
}

static int parallel_decode(struct parallel *job, const struct nt_config *config,
			   struct nt_image *image, const uint8_t *data, size_t size,
			   unsigned int threads, void *const *ctxs, struct nt_stats *stats,
			   size_t stats_size)
{
	struct nt_stats full = { 0 };
	struct nt_config copy;
	int ret = NT_E_INVALID;

	if (!threads || nt_config_check(config) || nt_config_copy(&copy, config))
		goto out;
	pthread_mutex_init(&job->lock, NULL);
	pthread_cond_init(&job->changed, NULL);
	job->chain.src = -1;
	nt_cuts_init(&job->cuts, &copy, data, size, threads);
	if (threads > job->cuts.nr_cells)
		threads = job->cuts.nr_cells;
	ret = threads <= 1 ?
	      parallel_run_alone(job, image, job->consume ? ctxs[0] : NULL, &full) :
	      parallel_run(job, image, threads, ctxs, &full);
out:
	if (stats)
		nt_copy_sized(stats, stats_size, &full, sizeof(full));
	return ret;
}

/* A consumer that receives the batches in their order, and therefore ignores the number of their part of the trace */
struct ordered {
	int	(*consume)(void *ctx, const struct nt_batch *batch);
	void	*ctx;
};

static int parallel_consume_ordered(void *ctx, uint64_t part, const struct nt_batch *batch)
{
	const struct ordered *ordered = ctx;

	(void)part;
	return ordered->consume(ordered->ctx, batch);
}

int nt_parallel_decode_sized(const struct nt_config *config, struct nt_image *image,
			     const uint8_t *data, size_t size, unsigned int threads,
			     int (*consume)(void *ctx, const struct nt_batch *batch), void *ctx,
			     struct nt_stats *stats, size_t stats_size)
{
	struct ordered ordered = { .consume = consume, .ctx = ctx };
	struct parallel job = { .consume = parallel_consume_ordered };
	void *ctxs[] = { &ordered };

	return parallel_decode(&job, config, image, data, size, threads, ctxs, stats, stats_size);
}

int nt_parallel_decode_unordered_sized(const struct nt_config *config, struct nt_image *image,
				       const uint8_t *data, size_t size, unsigned int threads,
				       int (*consume)(void *ctx, uint64_t part,
						      const struct nt_batch *batch),
				       void *const *ctxs, struct nt_stats *stats,
				       size_t stats_size)
{
	struct parallel job = { .consume = consume, .unordered = true };

	return parallel_decode(&job, config, image, data, size, threads, ctxs, stats, stats_size);
}

int nt_parallel_count_sized(const struct nt_config *config, struct nt_image *image,
			    const uint8_t *data, size_t size, unsigned int threads,
			    struct nt_counts *counts, struct nt_stats *stats, size_t stats_size)
{
	struct parallel job = { .unordered = true, .counts = counts };

	return parallel_decode(&job, config, image, data, size, threads, NULL, stats, stats_size);
}
