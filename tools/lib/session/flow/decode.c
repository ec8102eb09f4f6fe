// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode the stretches of a recording in several threads. A stretch is the trace that one
 * PERF_RECORD_AUX describes (trace.h).
 *
 * The decoder must read code as it was at the time of the trace. Events that change the code (exec,
 * a mapping over another one, a reused process id) have times. Therefore the worker passes a
 * stretch to the decoder up to the first message that is later than such an event. Then the event
 * takes effect, and the worker passes the rest of the stretch.
 *
 * If encoders share a buffer, an event takes effect at a different position in the messages of each
 * encoder. A stretch is therefore decoded once for each encoder. The messages of one encoder in a
 * stretch are called a part (see sources.h).
 */
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "ntrace/sinks.h"
#include "frames.h"
#include "session/session-priv.h"
#include "sources.h"
#include "worker.h"

#define CHUNK	(256 << 10)	/* maximum number of bytes per call of nt_flow_feed() */
/* number of decoded parts per thread that may be stored until earlier parts are decoded */
#define AHEAD	16

/* ---- Feed ---- */

/*
 * Return true if the batch consists only of the error that a message is truncated, and the flags of
 * the stretch already report that trace is missing.
 */
static bool is_reported(const struct worker *w, const struct nt_batch *batch)
{
	const struct ns_stretch *s = w->stretch;

	return !batch->nr && batch->item.type == NT_ITEM_ERROR && batch->item.error.code == NT_E_TRUNCATED &&
	       (ns_stretch_is_full(s) || s->flags & PERF_AUX_FLAG_TRUNCATED);
}

/* Return the time of the last message of a batch, or @w->who.time if that is later. */
static uint64_t last_time_of(const struct worker *w, const struct nt_batch *batch)
{
	const struct nt_mark *mark = batch->nr_marks ? &batch->marks[batch->nr_marks - 1] : NULL;
	uint64_t time = mark ? nt_who_time(&w->who, mark->tstamp, mark->tstamp_kind) : 0;

	return time > w->who.time ? time : w->who.time;
}

static void note_loss(struct worker *w, const struct nt_item *item)
{
	if (item->type == NT_ITEM_LOST)
		ns_traced_lose(&w->traced, NT_LOST_ENCODER);
	else if (item->type == NT_ITEM_ERROR)
		ns_traced_lose(&w->traced, NT_LOST_ERROR);
	else if (item->type == NT_ITEM_GAP)
		ns_traced_lose(&w->traced, NT_LOST_CODE);
}

static int give_batch(struct worker *w, const struct nt_batch *batch)
{
	const struct nt_consumer *consumer = w->job->consumer;
	const struct nt_context *context = batch->nr ? &batch->context : &batch->item.context;
	uint64_t tstamp = batch->nr ? batch->tstamp : batch->item.tstamp;
	uint8_t kind = batch->nr ? batch->tstamp_kind : batch->item.tstamp_kind;
	uint64_t time;

	if (is_reported(w, batch))
		return 0;
	w->who.space = ns_worker_space(w, context);
	time = nt_who_time(&w->who, tstamp, kind);
	if (time > w->who.time)
		w->who.time = time;
	if (kind != NT_TSTAMP_NONE && w->cpu->has_time)
		ns_traced_add(&w->traced, batch, w->who.time, last_time_of(w, batch));
	else if (!w->cpu->has_time)
		ns_traced_count(&w->traced, batch);
	if (!batch->nr)
		note_loss(w, &batch->item);
	if (batch->nr)
		return consumer->ranges(w->part, &w->who, batch);
	return consumer->item ? consumer->item(w->part, &w->who, &batch->item) : 0;
}

/* Let the decoder count the ranges, and pass the other items to the consumer. */
static int drain_counts(struct worker *w)
{
	struct nt_batch batch = { 0 };
	int ret, err;

	while ((ret = nt_flow_count(w->flow, &batch.item)) > 0) {
		err = give_batch(w, &batch);
		if (err)
			return err;
	}
	return ret ? ns_fail(w->session, "out of memory") : 0;
}

int ns_worker_drain(struct worker *w)
{
	struct nt_batch batch;
	int ret, err;

	if (w->job->consumer->counts)
		return drain_counts(w);

	while ((ret = nt_flow_next_batch(w->flow, &batch)) > 0) {
		err = give_batch(w, &batch);
		if (err)
			return err;
	}
	return ret ? ns_fail(w->session, "out of memory") : 0;
}

/* Report the progress to the user of the library, unless another thread is reporting it at the same time. */
static void tell_progress(struct worker *w, size_t size)
{
	const struct nt_session_options *options = &w->session->options;
	struct job *job = w->job;
	uint64_t fed;

	if (!options->progress)
		return;
	if (w->stretch->cpus.nr)
		size /= w->stretch->cpus.nr;
	fed = __atomic_add_fetch(&job->fed, size, __ATOMIC_RELAXED);
	if (pthread_mutex_trylock(&job->progress_lock))
		return;
	if (fed < w->session->trace.bytes)
		options->progress(options->progress_ctx, fed, w->session->trace.bytes);
	pthread_mutex_unlock(&job->progress_lock);
}

static int feed(struct worker *w, struct place *from, const struct place *to)
{
	const struct ns_piece *piece;
	size_t n, end;
	int err;

	while (from->piece < to->piece || (from->piece == to->piece && from->at < to->at)) {
		piece = &w->stretch->pieces.at[from->piece];
		end = from->piece < to->piece ? piece->size : to->at;
		n = end - from->at < CHUNK ? end - from->at : CHUNK;
		nt_flow_feed(w->flow, piece->data + from->at, n);
		err = ns_worker_drain(w);
		if (err)
			return err;
		tell_progress(w, n);
		pd_forget(&w->session->pd, piece->data + from->at, n);
		from->at += n;
		if (from->at == piece->size) {
			from->piece++;
			from->at = 0;
		}
	}
	return 0;
}

/* ---- A stretch ---- */

/*
 * Return the time of the next event that changes code. If Ownership messages do not report the
 * threads, a context switch is also such an event, because it changes which thread's code is
 * executed.
 */
static uint64_t next_change(const struct worker *w)
{
	const struct ns_sideband *sb = &w->session->sideband;
	uint64_t change = ns_sideband_next_change(sb, w->now), sw;

	if (w->cpu->config & NTRACE_CONFIG_CONTEXT && ns_worker_writes_scontext(w))
		return change;
	sw = ns_sideband_next_switch(sb, w->who.cpu, w->now);
	return sw < change ? sw : change;
}

int ns_worker_feed(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t change, last = s->end ? s->end : UINT64_MAX - 1;
	struct place from = { 0 }, to;
	struct scan scan;
	int err = 0;

	ns_worker_scan(w, &scan);
	if (w->cpu->has_time)
		ns_worker_begin_early(w, &scan);
	else
		w->now = last;
	while (!err) {
		change = next_change(w);
		if (change > last)
			break;
		to = ns_worker_read_until(w, change - 1, &scan);
		err = feed(w, &from, &to);
		w->now = change;
		nt_image_remap(w->image);
	}
	to = ns_place_end(s);
	return err ?: feed(w, &from, &to);
}

/*
 * Return true if the stretch overlaps a period of time that the consumer has selected. Return true
 * for a stretch without times.
 */
static bool is_wanted(const struct nt_consumer *consumer, const struct ns_stretch *s)
{
	size_t i;

	for (i = 0; s->end && i < consumer->nr_windows; i++) {
		if (s->start <= consumer->windows[i].to && s->end >= consumer->windows[i].from)
			return true;
	}
	return !consumer->nr_windows || !s->end;
}

static int decode_messages(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	int err;

	if (w->cpu->has_time)
		ns_worker_check_clock(w);
	nt_image_remap(w->image);
	nt_flow_restart(w->flow, s->offset, s->middle);
	err = ns_worker_feed(w);
	if (err)
		return err;
	nt_flow_end(w->flow);
	err = ns_worker_drain(w);
	if (err || !w->job->consumer->counts)
		return err;
	return w->job->consumer->counts(w->part, &w->who, w->flow);
}

/*
 * Call the consumer's begin(). The caller holds the lock, so that begin() is called for the parts
 * in the same order as end().
 */
void ns_worker_begin(struct worker *w, uint64_t number)
{
	const struct ns_stretch *s = ns_part_stretch(w->session, number);

	w->stretch = s;
	w->cpu = ns_part_cpu(w->session, number);
	w->now = s->start;
	w->who = (struct nt_who){ .time = s->start, .cpu = s->cpu, .pid = s->pid, .tid = s->tid,
				  .comm = "", .buffer = s->queue, .lost = ns_frames_lost(s),
				  .busy = s->flags & PERF_AUX_FLAG_COLLISION, .priv = w };
	if (w->cpu)
		w->who.cpu = w->cpu->cpu;
	w->traced = (struct ns_traced){ .cpu = w->who.cpu, .lost_before = ns_frames_lost(s),
					.counted = w->job->consumer->counts };
	if (w->traced.counted)
		w->traced.insns = s->size;
	if (w->cpu != ns_sources_own(w->session, s))
		w->who.pid = w->who.tid = -1;
	w->known_tid = INT32_MIN;
	w->part = w->job->consumer->begin(w->job->ctx, number);
}

static int decode_frames(struct worker *w, const struct ns_stretch *s)
{
	int err;

	if (ns_frames_join(s, &w->session->setup, w->cpu, &w->joined))
		return ns_fail(w->session, "out of memory");
	ns_trace_find_middle(&w->joined, &w->session->setup);
	w->stretch = &w->joined;
	err = decode_messages(w);
	w->stretch = s;
	ns_frames_free(&w->joined);
	return err;
}

/*
 * If no item of the part has a time, and the record has no trace or the sink was full, the encoder has
 * lost all trace since the sink's last earlier record of trace. Set @w->who.time to the time of that
 * record, which is the time at which this loss began.
 */
static void place_loss(struct worker *w)
{
	const struct nt_session *session = w->session;
	uint64_t before;

	if (w->traced.has_time || !session->sinks || !w->cpu ||
	    (w->stretch->size && !ns_stretch_is_full(w->stretch)))
		return;
	before = nt_sinks_before(session->sinks, w->cpu - session->setup.cpus, w->stretch->end);
	if (before > w->who.time)
		w->who.time = before;
}

int ns_worker_decode(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	int err;

	if (!w->part)
		return ns_fail(w->session, "out of memory");
	if (!w->cpu || !s->pieces.nr || !is_wanted(w->job->consumer, s))
		return 0;
	err = w->cpu != w->made_for ? ns_worker_new_flow(w) : 0;
	if (err)
		return err;
	return ns_frames_has(s) ? decode_frames(w, s) : decode_messages(w);
}

/* ---- Decode the parts of the trace with several threads ---- */

static unsigned int nr_threads(const struct nt_session *session)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	if (session->options.threads)
		return session->options.threads;
	return processors < 1 ? 1 : processors;
}

static bool wants_full(const struct job *job)
{
	const struct ns_trace *trace = &job->session->trace;
	size_t i;

	for (i = 0; i < trace->stretches.nr; i++) {
		if (ns_stretch_is_full(&trace->stretches.at[i]) &&
		    is_wanted(job->consumer, &trace->stretches.at[i]))
			return true;
	}
	return false;
}

/*
 * Find the encoders that have messages in the selected stretches of shared buffers. If a sink was
 * full, search all stretches, because any of them may show which encoders share that sink.
 */
static bool find_sources(struct job *job)
{
	const struct nt_session *session = job->session;
	const struct ns_stretch *s;
	const struct ns_cpu *own;
	NS_ARRAY(size_t) shared = { 0 };
	bool all = wants_full(job), ok = true;
	size_t i;

	for (i = 0; ok && session->setup.has_sources && i < session->trace.stretches.nr; i++) {
		s = &session->trace.stretches.at[i];
		own = ns_sources_own(session, s);
		if (own && own->nt.src_bits && !s->cpus.nr && (all || is_wanted(job->consumer, s)))
			ok = ns_array_add(&shared, i);
	}
	if (ok && shared.nr)
		ok = !ns_sources_find(job->session, shared.at, shared.nr, nr_threads(session));
	free(shared.at);
	return ok;
}

static int turn_cmp(const void *a, const void *b)
{
	const struct turn *x = a, *y = b;

	return ns_order(x->start, y->start) ?: ns_order(x->number, y->number);
}

/*
 * Add a part to job::turns, the list of all parts, for each encoder in ns_stretch::cpus. If
 * ns_stretch::cpus is empty, or if the consumer has not selected the time of the stretch, only add
 * the part of the stretch's own CPU.
 */
static bool add_turns(struct job *job, const struct ns_stretch *s, uint64_t start)
{
	const struct nt_session *session = job->session;
	struct turn turn = {
		.number = ns_part_number(session, s, ns_sources_own(session, s)), .start = start,
	};
	bool ok = true;
	size_t i;

	if (!s->cpus.nr || !is_wanted(job->consumer, s))
		return ns_array_add(&job->turns, turn);
	for (i = 0; ok && i < s->cpus.nr; i++) {
		turn.number = ns_part_number(session, s, &session->setup.cpus[s->cpus.at[i]]);
		ok = ns_array_add(&job->turns, turn);
	}
	return ok;
}

/* Make job::turns, the list of all parts, and sort it by time. Parts of one buffer keep the order of the buffer. */
static bool order_parts(struct job *job)
{
	const struct ns_trace *trace = &job->session->trace;
	const struct ns_stretch *s = trace->stretches.at, *end = s + trace->stretches.nr;
	uint64_t start = 0;
	bool ok = find_sources(job);

	for (; ok && s < end; s++) {
		if (s == trace->stretches.at || s[-1].queue != s->queue || s->start > start)
			start = s->start;
		ok = add_turns(job, s, start);
	}
	if (ok)
		ns_array_sort(&job->turns, turn_cmp);
	job->session->nr_parts = job->turns.nr;
	return ok;
}

/*
 * Return true if trace was lost after the part. If the AUX buffer was full, the stretch's own CPU
 * has lost trace. If the sink was full, each encoder of the sink has lost trace, and no message reports
 * this loss. SiFive's funnel drops new messages. An ETR overwrites the oldest messages. The driver
 * drops the messages that are still in the queue of an encoder of N-Trace 1.0, including its Error
 * message.
 */
static bool has_lost(const struct nt_session *session, const struct turn *t)
{
	const struct ns_stretch *s = ns_part_stretch(session, t->number);
	const struct ns_cpu *cpu = ns_part_cpu(session, t->number);

	return s->lost && (cpu == ns_sources_own(session, s) || ns_stretch_is_full(s));
}

/* Return the reason for which trace is missing after a stretch. */
static enum nt_lost why_lost(const struct ns_stretch *s)
{
	if (s->flags & PERF_AUX_FLAG_COLLISION)
		return NT_LOST_BUSY;
	if (s->flags & PERF_AUX_FLAG_TRUNCATED)
		return NT_LOST_BUFFER;
	return s->flags & PERF_AUX_FLAG_PARTIAL ? NT_LOST_SINK : NT_LOST_FILE;
}

static int end_part(struct job *job, struct turn *t)
{
	const struct ns_stretch *s = ns_part_stretch(job->session, t->number);
	bool lost = has_lost(job->session, t);

	if (lost && ns_stretch_is_cut(s))
		ns_traced_lose(&t->traced, why_lost(s));
	if (t->who.time > t->traced.last)
		t->traced.last = t->who.time;
	t->traced.end = s->end > t->traced.last ? s->end : t->traced.last;
	if (job->finds_missing && is_wanted(job->consumer, s) &&
	    !ns_array_add(&job->session->traced, t->traced))
		return -1;
	return job->consumer->end(job->ctx, t->part, &t->who, lost);
}

/*
 * Call the consumer's end() for decoded parts in the order of job::turns, up to the first part that
 * is not decoded. If another thread is calling end(), return.
 */
static void end_finished(struct job *job)
{
	struct turn *t;
	int err;

	if (job->ending)
		return;
	job->ending = true;
	while (job->turn < job->turns.nr && job->turns.at[job->turn].done) {
		t = &job->turns.at[job->turn];
		pthread_mutex_unlock(&job->lock);
		err = end_part(job, t);
		pthread_mutex_lock(&job->lock);
		if (err && !job->result)
			job->result = err;
		job->turn++;
		pthread_cond_broadcast(&job->ended);
	}
	job->ending = false;
}

/* ---- All stretches ---- */

/* Return the next part that no thread has taken, or NULL. The caller holds the lock. */
static struct turn *take_turn(struct job *job)
{
	while (!job->result && job->next < job->turns.nr && job->next - job->turn >= job->ahead)
		pthread_cond_wait(&job->ended, &job->lock);
	return job->result || job->next == job->turns.nr ? NULL : &job->turns.at[job->next++];
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct job *job = w->job;
	struct turn *t;
	int err;

	pthread_mutex_lock(&job->lock);
	while ((t = take_turn(job))) {
		ns_worker_begin(w, t->number);
		pthread_mutex_unlock(&job->lock);
		err = ns_worker_decode(w);
		place_loss(w);
		pthread_mutex_lock(&job->lock);
		t->part = w->part;
		t->who = w->who;
		t->traced = w->traced;
		t->done = w->part;
		if (err && !job->result)
			job->result = err;
		end_finished(job);
	}
	pthread_cond_broadcast(&job->ended);
	pthread_mutex_unlock(&job->lock);
	return NULL;
}

/* Run all workers. The calling thread is the first worker. */
static void run_workers(struct job *job, struct worker *workers, unsigned int n)
{
	unsigned int i, started = 0;

	for (i = 0; i < n && !job->result; i++)
		job->result = ns_worker_init(&workers[i], job);
	for (i = 1; i < n && !job->result; i++, started++) {
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			break;
	}
	if (n && !job->result)
		work(&workers[0]);
	for (i = 1; i <= started; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < n; i++)
		ns_worker_free(&workers[i]);
}

int nt_session_decode(struct nt_session *session, const struct nt_consumer *consumer, void *ctx)
{
	struct job job = { .session = session, .consumer = consumer, .ctx = ctx };
	unsigned int n = nr_threads(session);
	struct worker *workers = NULL;
	size_t i;

	pthread_mutex_init(&job.lock, NULL);
	pthread_mutex_init(&job.progress_lock, NULL);
	pthread_cond_init(&job.ended, NULL);
	/*
	 * if an earlier call has set nt_session::missing, keep that result if this call decodes only some periods of
	 * time, because it does not find all losses, or if it only counts, because the times of losses are less exact
	 */
	job.finds_missing = !session->missing.nr || (!consumer->counts && !consumer->nr_windows);
	if (job.finds_missing)
		session->traced.nr = 0;
	if (order_parts(&job)) {
		n = job.turns.nr < n ? job.turns.nr : n;
		job.ahead = AHEAD * (size_t)n;
		workers = calloc(n + 1, sizeof(*workers));
	}
	if (workers)
		run_workers(&job, workers, n);
	else
		job.result = ns_fail(session, "out of memory");
	/* end() must be called for each decoded part, even if an error has stopped the job */
	for (i = job.turn; i < job.turns.nr; i++) {
		if (job.turns.at[i].done)
			consumer->end(ctx, job.turns.at[i].part, &job.turns.at[i].who, true);
	}
	if (!ns_traced_settle(session))
		job.result = ns_fail(session, "out of memory");
	pthread_cond_destroy(&job.ended);
	pthread_mutex_destroy(&job.lock);
	pthread_mutex_destroy(&job.progress_lock);
	if (session->options.progress)
		session->options.progress(session->options.progress_ctx, session->trace.bytes,
					  session->trace.bytes);
	free(job.turns.at);
	free(workers);
	return job.result;
}
