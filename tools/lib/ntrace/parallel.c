// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode a buffer by several threads.
 *
 * A message with SYNC resets all encoder state, so that decoding can start from
 * it (chapter 8.4). The part before it ends with that same message, as it
 * tells the way to it; the SYNC item itself comes from the part behind it.
 *
 * A worker whose turn it is gives out what it decodes at once. The others keep theirs
 * and go on with further parts; they wait only where they have no more room.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "plain.h"

/* Bytes of a part, about: many ranges more than MAX_RANGES, and less than the room for them */
#define PART_SIZE	(16u << 10)
#define ROOM_RANGES	(64u << 10)
#define ROOM_MARKS	(16u << 10)
#define ROOM_BATCHES	1024
/* Parts that a worker is ahead: to wait for a turn costs more than to decode a part */
#define NR_SLOTS	4

struct part {
	size_t		start;
	size_t		end;	/* behind the message with SYNC that begins the next part */
	size_t		last;	/* offset of that message; SIZE_MAX: this is the last part */
	uint64_t	number;
};

/* A part, and what waits for its turn; the flow writes behind it */
struct slot {
	struct part	part;
	int		result;
	unsigned int	nr_batches;
	struct nt_batch	batches[ROOM_BATCHES];
	struct nt_range	ranges[ROOM_RANGES + MAX_RANGES];
	struct nt_mark	marks[ROOM_MARKS + MAX_MARKS];
};

struct worker {
	struct parallel	*job;
	struct nt_flow	*flow;
	pthread_t	thread;
	bool		has_turn;	/* for the slot in decoding */
	/* slots[0 ... nr) are in use, in the order of their parts; the last may be in decoding */
	unsigned int	nr;
	struct slot	*slots[NR_SLOTS];
	struct slot	memory[NR_SLOTS];
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

/*
 * Does a message with SYNC begin with this byte? TCODE, and MSEO 00: fixed fields
 * follow.
 */
static inline bool is_sync_byte(uint8_t byte)
{
	return byte == NT_PROG_TRACE_SYNC << 2 || byte == NT_DIRECT_BRANCH_SYNC << 2 ||
	       byte == NT_INDIRECT_BRANCH_SYNC << 2 || byte == NT_INDIRECT_BRANCH_HIST_SYNC << 2;
}

/* Which bytes of the window are such ones: bit i is of byte i */
#if defined(__SSE2__)
static inline unsigned int find_sync_bytes(const uint8_t *p)
{
	__m128i v = _mm_loadu_si128((const __m128i *)p);
	__m128i prog = _mm_cmpeq_epi8(v, _mm_set1_epi8(NT_PROG_TRACE_SYNC << 2));
	__m128i direct = _mm_cmpeq_epi8(v, _mm_set1_epi8(NT_DIRECT_BRANCH_SYNC << 2));
	__m128i indirect = _mm_cmpeq_epi8(v, _mm_set1_epi8(NT_INDIRECT_BRANCH_SYNC << 2));
	__m128i hist = _mm_cmpeq_epi8(v, _mm_set1_epi8(NT_INDIRECT_BRANCH_HIST_SYNC << 2));

	return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(prog, direct),
					      _mm_or_si128(indirect, hist)));
}
#else
static inline unsigned int find_sync_bytes(const uint8_t *p)
{
	unsigned int i, found = 0;

	for (i = 0; i < WINDOW; i++)
		found |= is_sync_byte(p[i]) << i;
	return found;
}
#endif

/* Is there a message with SYNC at @at, where its first byte is? */
static inline bool is_sync(const struct parallel *job, size_t at, struct part *part)
{
	struct nt_message msg;

	if (mseo(job->data[at - 1]) != MSEO_END ||
	    nt_message_decode(job->config, job->data + at, job->size - at, &msg) != 1)
		return false;
	part->last = at;
	part->end = at + msg.length;
	return true;
}

/* The first message with SYNC behind a byte that ends one, from @at on */
static bool find_sync(const struct parallel *job, size_t at, struct part *part)
{
	unsigned int in;

	for (; at + WINDOW <= job->size; at += WINDOW)
		for (in = find_sync_bytes(job->data + at); in; in &= in - 1)
			if (is_sync(job, at + __builtin_ctz(in), part))
				return true;
	for (; at < job->size; at++)
		if (is_sync_byte(job->data[at]) && is_sync(job, at, part))
			return true;
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

static bool is_turn(const struct parallel *job, const struct slot *slot)
{
	return __atomic_load_n(&job->turn, __ATOMIC_ACQUIRE) == slot->part.number;
}

/* All parts before are consumed. */
static void give_out_kept(struct worker *worker, struct slot *slot)
{
	unsigned int i;

	for (i = 0; i < slot->nr_batches; i++)
		give_out(worker, &slot->batches[i]);
	slot->nr_batches = 0;
}

/* The first slot is consumed. It is the next to be used again: its memory is near. */
static void pass_turn(struct worker *worker)
{
	struct parallel *job = worker->job;
	struct slot *first = worker->slots[0];

	pthread_mutex_lock(&job->lock);
	if (!job->result)
		job->result = first->result;
	__atomic_store_n(&job->turn, job->turn + 1, __ATOMIC_RELEASE);
	pthread_cond_broadcast(&job->turn_changed);
	pthread_mutex_unlock(&job->lock);
	worker->nr--;
	memmove(worker->slots, worker->slots + 1, worker->nr * sizeof(*worker->slots));
	worker->slots[worker->nr] = first;
}

static void wait_turn(struct parallel *job, const struct slot *slot)
{
	pthread_mutex_lock(&job->lock);
	while (!is_turn(job, slot))
		pthread_cond_wait(&job->turn_changed, &job->lock);
	pthread_mutex_unlock(&job->lock);
}

/* It is the turn of the first slot, which is decoded. */
static void give_out_first(struct worker *worker)
{
	give_out_kept(worker, worker->slots[0]);
	pass_turn(worker);
}

static void wait_first(struct worker *worker)
{
	wait_turn(worker->job, worker->slots[0]);
	give_out_first(worker);
}

/* Give out the slots in front of @slot, in decoding, whose turn it is; then @slot itself. */
static void look_at_turn(struct worker *worker, struct slot *slot)
{
	while (worker->nr > 1 && is_turn(worker->job, worker->slots[0]))
		give_out_first(worker);
	if (worker->nr == 1 && is_turn(worker->job, slot)) {
		give_out_kept(worker, slot);
		worker->has_turn = true;
	}
}

/* @slot, in decoding, has no more room. */
static void make_room(struct worker *worker, struct slot *slot)
{
	while (worker->nr > 1)
		wait_first(worker);
	wait_turn(worker->job, slot);
	look_at_turn(worker, slot);
}

static void keep(struct worker *worker, struct slot *slot, const struct nt_batch *batch)
{
	slot->batches[slot->nr_batches++] = *batch;
	if (!batch->nr)
		return;
	/* what comes next is written behind */
	worker->flow->ranges += worker->flow->nr_ranges;
	worker->flow->marks += worker->flow->nr_marks;
}

static bool has_room(const struct worker *worker, const struct slot *slot)
{
	return slot->nr_batches < ROOM_BATCHES &&
	       worker->flow->ranges < slot->ranges + ROOM_RANGES &&
	       worker->flow->marks < slot->marks + ROOM_MARKS;
}

/* The SYNC item that ends the part: the next part gives it out. */
static bool is_next_parts(const struct part *part, const struct nt_batch *batch)
{
	return !batch->nr && batch->item.type == NT_ITEM_SYNC && batch->item.offset == part->last;
}

static void decode_part(struct worker *worker, struct slot *slot)
{
	struct nt_flow *flow = worker->flow;
	const struct part *part = &slot->part;
	struct nt_batch batch;

	flow->ranges = slot->ranges;
	flow->marks = slot->marks;
	nt_flow_restart(flow, part->start, false);
	nt_flow_feed(flow, worker->job->data + part->start, part->end - part->start);
	if (part->last == SIZE_MAX)
		nt_flow_end(flow);
	while ((slot->result = nt_flow_next_batch(flow, &batch)) > 0) {
		if (is_next_parts(part, &batch))
			continue;
		if (!worker->has_turn)
			look_at_turn(worker, slot);
		if (!worker->has_turn && !has_room(worker, slot))
			make_room(worker, slot);
		if (worker->has_turn)
			give_out(worker, &batch);
		else
			keep(worker, slot, &batch);
	}
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	while (take_part(worker->job, &worker->slots[worker->nr]->part)) {
		worker->nr++;
		decode_part(worker, worker->slots[worker->nr - 1]);
		if (worker->has_turn)
			pass_turn(worker);
		worker->has_turn = false;
		if (worker->nr == NR_SLOTS)
			wait_first(worker);
	}
	while (worker->nr)
		wait_first(worker);
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
	unsigned int i, k, started = 0;

	for (i = 0; i < nr; i++) {
		workers[i].job = job;
		for (k = 0; k < NR_SLOTS; k++)
			workers[i].slots[k] = &workers[i].memory[k];
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
