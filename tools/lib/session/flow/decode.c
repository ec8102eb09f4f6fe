// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Decode the stretches of a recording in several threads. A stretch is the trace that one
 * PERF_RECORD_AUX describes (trace.h).
 *
 * Code must be read as it was at the time of the trace. Events that change it (exec, a mapping over
 * another one, a reused process id) have times. Therefore a stretch is passed to the decoder up to
 * the first message that is later than such an event. Then the event takes effect, and the rest is
 * passed.
 *
 * If encoders share a buffer, an event takes effect at a different place in the messages of each
 * encoder. A stretch is therefore decoded once for each encoder. The messages of one encoder in a
 * stretch are called a part (see sources.h).
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/ntrace.h>

#include "ntrace/sinks.h"
#include "decode.h"
#include "frames.h"
#include "session/session-priv.h"
#include "sources.h"

#define CHUNK	(256 << 10)	/* bytes per call of nt_flow_feed() */
#define EARLY	10000000	/* ns by which a message can be older than its stretch */
#define AHEAD	16		/* finished parts per thread that may wait for earlier parts */

struct job;

/* Last timestamp of a source */
struct ns_clock {
	uint64_t	ticks;
	bool		known;
};

/* One thread, and the part that it decodes */
struct worker {
	struct job	*job;
	struct nt_session *session;
	struct nt_image	*image;
	struct nt_flow	*flow;
	struct nt_reader *reader;
	const struct ns_cpu *made_for;	/* CPU for which @flow and @reader were created */
	const struct ns_cpu *cpu;	/* CPU whose messages are decoded; NULL: its encoder is not known */
	const struct ns_stretch *stretch;
	/* unpacked messages, to which @stretch points if the trace consists of frames */
	struct ns_stretch joined;
	uint64_t	now;		/* events up to this time have taken effect, ns */
	struct ns_clock	clock;		/* clock of @reader */
	uint64_t	least;		/* time, ns, before which a message of the stretch is damaged */
	uint64_t	set_back;	/* ns by which the counter of the stretch was set back; UINT64_MAX: it is constant */
	struct nt_who	who;
	struct ns_traced traced;	/* amount and times of the part's trace that was decoded */
	int32_t		known_tid;	/* thread and time for which @who was set */
	uint64_t	known_at;
	uint64_t	kernel_start;
	void		*part;
	pthread_t	thread;
};

/*
 * A part, and its place in the order in which the consumer's end() is called. A part whose decoding
 * is finished waits until end() was called for all earlier parts.
 */
struct turn {
	uint64_t	number;		/* part number, see sources.h */
	uint64_t	start;		/* start time, which is not before the start of earlier parts */
	void		*part;
	struct nt_who	who;
	struct ns_traced traced;
	bool		done;
};

struct job {
	struct nt_session *session;
	const struct nt_consumer *consumer;
	void		*ctx;
	pthread_mutex_t	lock;
	NS_ARRAY(struct turn) turns;	/* all parts, ordered by time */
	size_t		next;		/* index of the first turn that no thread has taken */
	size_t		turn;		/* index of the turn for which end() is called next */
	/* maximum number of turns that wait for their end(), because each one uses memory */
	size_t		ahead;
	bool		ending;		/* a thread is calling end() */
	bool		finds_missing;	/* the result is for nt_session_lost() */
	pthread_cond_t	ended;
	pthread_mutex_t	progress_lock;
	/*
	 * decoded bytes of trace; if several sources share a buffer, each one counts for its share
	 */
	uint64_t	fed;
	int		result;		/* result of the job; threads stop if it is not 0 */
};

/* ---- Who executes ---- */

/* Return true if the kernel wrote its thread ids to scontext, which Ownership messages report. */
static bool writes_scontext(const struct worker *w)
{
	return !(w->session->setup.flags & NTRACE_INFO_FLAG_NO_SCONTEXT);
}

static int32_t tid_of(const struct worker *w, const struct nt_context *context)
{
	const struct ns_stretch *s = w->stretch;
	int32_t tid;

	if (context->has_scontext && writes_scontext(w))
		return (int32_t)context->scontext;
	if (w->session->trace.queues.at[s->queue].cpu < 0)
		return w->session->trace.queues.at[s->queue].tid;
	/* The messages may be from another CPU than the stretch. */
	tid = ns_sideband_running(&w->session->sideband, w->who.cpu, w->now);
	return tid >= 0 || w->who.cpu != s->cpu ? tid : s->tid;
}

static void set_thread(struct worker *w, const struct nt_context *context)
{
	int64_t gen;

	w->who.tid = tid_of(w, context);
	if (w->who.tid == w->known_tid && w->now == w->known_at)
		return;
	w->known_tid = w->who.tid;
	w->known_at = w->now;
	nt_session_thread(w->session, w->who.tid, w->now, &w->who.pid, &w->who.comm);
	gen = w->who.pid < 0 ? -1 :
	      ns_sideband_generation(&w->session->sideband, w->who.pid, w->now);
	w->who.user = gen < 0 ? NS_SPACE_UNKNOWN : NS_SPACE_GENERATION + gen;
	w->who.image = gen < 0 ? 0 : w->session->sideband.generations.at[gen].image;
}

static bool is_guest(const struct nt_context *context)
{
	return context->priv == NT_PRIV_VS || context->priv == NT_PRIV_VU;
}

static uint64_t code_space(void *ctx, const struct nt_context *context)
{
	struct worker *w = ctx;

	if (w->session->one_map) {
		set_thread(w, context);
		return w->who.user;
	}
	if (context->has_priv && context->priv == NT_PRIV_M)
		return NS_SPACE_FIRMWARE;
	if (context->has_priv && is_guest(context))
		return NS_SPACE_UNKNOWN;
	if (context->has_priv && context->priv != NT_PRIV_U)
		return NS_SPACE_KERNEL;
	set_thread(w, context);
	/*
	 * if the privilege mode is unknown, the code may be the kernel's, which every thread can
	 * execute
	 */
	if (!context->has_priv && w->who.user == NS_SPACE_UNKNOWN)
		return NS_SPACE_KERNEL;
	return w->who.user;
}

static int code_read(void *ctx, uint64_t space, uint64_t addr, uint8_t *buf, size_t size)
{
	struct worker *w = ctx;

	return nt_session_read(w->session, space, addr, buf, size);
}

/* ---- Time ---- */

static uint64_t time_of(const struct worker *w, uint64_t ticks)
{
	const struct ns_setup *setup = &w->session->setup;
	const struct ns_stretch *s = w->stretch;
	uint64_t time;

	if (w->set_back == UINT64_MAX)
		return s->start ? s->start : s->end;
	time = ns_setup_time(setup, w->cpu, ns_setup_widen(setup, w->cpu, ticks, s->end)) + w->set_back;
	if (time < w->least)
		return w->least;
	return s->end && time > s->end ? s->end : time;
}

/* Update the reader's clock. Return true if @msg belongs to this part and has a known time. */
static bool clock_advance(struct worker *w, const struct nt_message *msg)
{
	struct ns_clock *clock = &w->clock;

	if (msg->fields & NT_FIELD_SRC && msg->src != w->cpu->src_id)
		return false;
	if (!(msg->fields & NT_FIELD_TSTAMP))
		return false;
	if (nt_message_is_sync(msg)) {
		clock->ticks = msg->tstamp;
		clock->known = true;
	} else {
		clock->ticks = ns_cpu_next_tstamp(w->cpu, clock->ticks, msg->tstamp);
	}
	return clock->known;
}

uint64_t nt_who_time(const struct nt_who *who, uint64_t tstamp, uint8_t kind)
{
	const struct worker *w = who->priv;

	return kind == NT_TSTAMP_NONE || !w->cpu->has_time ? who->time : time_of(w, tstamp);
}

uint64_t nt_who_space(const struct nt_who *who, uint64_t addr)
{
	const struct worker *w = who->priv;

	if (who->space == NS_SPACE_UNKNOWN || who->space == NS_SPACE_FIRMWARE)
		return who->space;
	return addr < w->kernel_start ? who->user : NS_SPACE_KERNEL;
}

size_t nt_who_read(const struct nt_who *who, uint64_t addr, void *buf, size_t size)
{
	const struct worker *w = who->priv;

	return nt_session_read(w->session, who->space, addr, buf, size);
}

/* ---- Feed ---- */

/* Return true if the record of the stretch already reports why its last message is truncated. */
static bool is_reported(const struct worker *w, const struct nt_batch *batch)
{
	const struct ns_stretch *s = w->stretch;

	return !batch->nr && batch->item.type == NT_ITEM_ERROR && batch->item.error.code == NT_E_TRUNCATED &&
	       (ns_stretch_is_full(s) || s->flags & PERF_AUX_FLAG_TRUNCATED);
}

/* Return the time of the last message of a batch. */
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
	w->who.space = code_space(w, context);
	if (w->who.space < NS_SPACE_GENERATION)
		set_thread(w, context);
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

/* Count ranges, and pass the other items to the consumer. */
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

static int drain(struct worker *w)
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

/* A position in a stretch, given as a piece (struct ns_piece) and an offset in that piece */
struct place {
	size_t		piece;
	size_t		at;
};

/* Report progress, unless another thread is reporting at this moment. */
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
		err = drain(w);
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

static struct place end_of(const struct ns_stretch *s)
{
	return (struct place){ .piece = s->pieces.nr, .at = 0 };
}

/* Return the position of an offset in the AUX buffer. */
static struct place place_of(const struct ns_stretch *s, uint64_t begin, uint64_t offset)
{
	struct place p = { 0 };

	for (offset -= begin; p.piece < s->pieces.nr && offset >= s->pieces.at[p.piece].size;
	     p.piece++)
		offset -= s->pieces.at[p.piece].size;
	p.at = offset;
	return p;
}

/* ---- A stretch ---- */

/* State of the reader that finds the times of a stretch's messages before they are decoded */
struct scan {
	uint64_t	begin;		/* offset of the stretch in the AUX buffer */
	size_t		piece;		/* index of the next piece to read */
	uint64_t	offset;		/* offset of the last message with a time */
	uint64_t	time;		/* its time, ns; UINT64_MAX: the stretch has ended */
};

/*
 * Read up to the first message that is later than @time, and return its position. The message is
 * kept for the next call, because several events may precede it.
 */
static struct place read_until(struct worker *w, uint64_t time, struct scan *scan)
{
	const struct ns_stretch *s = w->stretch;
	struct nt_message msg;
	int ret;

	while (scan->time <= time) {
		ret = nt_reader_next(w->reader, &msg);
		if (ret > 0 && clock_advance(w, &msg)) {
			scan->time = time_of(w, w->clock.ticks);
			scan->offset = msg.offset;
		} else if (!ret && scan->piece == s->pieces.nr) {
			scan->time = UINT64_MAX;
		} else if (!ret) {
			nt_reader_feed(w->reader, s->pieces.at[scan->piece].data,
				       s->pieces.at[scan->piece].size);
			scan->piece++;
		}
	}
	return scan->time == UINT64_MAX ? end_of(s) : place_of(s, scan->begin, scan->offset);
}

/*
 * Return the time of the next event that changes code. Without Ownership messages, the records of
 * context switches also count, because they show which thread executes.
 */
static uint64_t next_change(const struct worker *w)
{
	const struct ns_sideband *sb = &w->session->sideband;
	uint64_t change = ns_sideband_next_change(sb, w->now), sw;

	if (w->cpu->config & NTRACE_CONFIG_CONTEXT && writes_scontext(w))
		return change;
	sw = ns_sideband_next_switch(sb, w->who.cpu, w->now);
	return sw < change ? sw : change;
}

/* ---- A counter that is constant or restarts ---- */

static void scan_begin(struct worker *w, struct scan *scan)
{
	*scan = (struct scan){ .begin = w->stretch->offset };
	nt_reader_seek(w->reader, w->stretch->offset, w->stretch->middle);
	w->clock = (struct ns_clock){ 0 };
}

/*
 * Return the time of the last message of the stretch, even if it is after the end of the stretch.
 * Return 0 if no message has a time.
 */
static uint64_t last_time(struct worker *w, const struct ns_stretch *s)
{
	const struct ns_stretch *own = w->stretch;
	struct scan scan;
	uint64_t time;

	w->stretch = s;
	scan_begin(w, &scan);
	read_until(w, UINT64_MAX - 1, &scan);
	time = !w->clock.known ? 0 : ns_setup_time(&w->session->setup, w->cpu, ns_setup_widen(
		&w->session->setup, w->cpu, w->clock.ticks, s->end));
	w->stretch = own;
	return time;
}

/*
 * Return by how many ns the counter was set back before the first message of the stretch, whose time is
 * @first. Return 0 if this message has an early time because it waited in a queue, or if its time is damaged.
 */
static uint64_t went_back(struct worker *w, uint64_t first)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t before, back = s->start - first;

	if (s->flags & PERF_AUX_FLAG_OVERWRITE || s == w->session->trace.stretches.at || s[-1].queue != s->queue)
		return 0;
	before = last_time(w, s - 1);
	if (before < first || (before == first && back < EARLY))
		return 0;
	if (!s->end || last_time(w, s) + back <= s->end + EARLY)
		return back;
	w->least = s->start;
	return 0;
}

/*
 * Return true if the counter is constant, because there are too many messages with the time @first.
 */
static bool stands_still(struct worker *w, uint64_t first, struct scan *scan)
{
	uint64_t tick = ns_setup_time(&w->session->setup, w->cpu, w->clock.ticks + 1) - first;
	uint64_t offset = scan->offset;

	read_until(w, first, scan);
	/*
	 * no processor executes more than eight instructions in a nanosecond, with eight bytes of
	 * trace each
	 */
	return scan->time == UINT64_MAX && scan->offset - offset > 4096 && (scan->offset - offset) / 64 > tick;
}

/* Compare the first timestamps of the stretch with the times that the kernel recorded. */
static void check_clock(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t first;
	struct scan scan;

	w->set_back = w->least = 0;
	scan_begin(w, &scan);
	read_until(w, 0, &scan);
	first = scan.time;
	/* the messages in frames have no offsets in the buffer */
	if (s == &w->joined || (first == UINT64_MAX && !w->clock.known))
		return;
	/* all messages have the same time, or none has a time */
	if (first == UINT64_MAX || stands_still(w, first, &scan))
		w->set_back = UINT64_MAX;
	else if (first < s->start)
		w->set_back = went_back(w, first);
	if (w->set_back)
		__atomic_store_n(&w->session->wrong_clock, w->who.cpu + 1, __ATOMIC_RELAXED);
}

/*
 * Set the time back to the first message of the stretch, which may have waited in a queue since
 * before the end of the previous stretch. No message waits longer than EARLY, unless its time is
 * damaged.
 */
static void begin_early(struct worker *w, struct scan *scan)
{
	read_until(w, 0, scan);
	if (scan->time < w->now)
		w->now = w->now - scan->time < EARLY ? scan->time : w->now - EARLY;
}

/* Feed the whole stretch, stopping at each event that changes the code. */
static int feed_stretch(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	uint64_t change, last = s->end ? s->end : UINT64_MAX - 1;
	struct place from = { 0 }, to;
	struct scan scan;
	int err = 0;

	scan_begin(w, &scan);
	if (w->cpu->has_time)
		begin_early(w, &scan);
	else
		w->now = last;
	while (!err) {
		change = next_change(w);
		if (change > last)
			break;
		to = read_until(w, change - 1, &scan);
		err = feed(w, &from, &to);
		w->now = change;
		nt_image_remap(w->image);
	}
	to = end_of(s);
	return err ?: feed(w, &from, &to);
}

static int new_decoder(struct worker *w)
{
	struct nt_config config = w->cpu->nt;

	if (config.src_bits)
		config.src_id = w->cpu->src_id;
	nt_flow_free(w->flow);
	nt_reader_free(w->reader);
	w->flow = nt_flow_new(&config, w->image);
	w->reader = nt_reader_new(&config);
	w->made_for = w->cpu;
	return w->flow && w->reader ? 0 : ns_fail(w->session, "out of memory");
}

/*
 * Return true if the stretch overlaps a window of time that the consumer has selected. A stretch
 * without times always does.
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
		check_clock(w);
	nt_image_remap(w->image);
	nt_flow_restart(w->flow, s->offset, s->middle);
	err = feed_stretch(w);
	if (err)
		return err;
	nt_flow_end(w->flow);
	err = drain(w);
	if (err || !w->job->consumer->counts)
		return err;
	return w->job->consumer->counts(w->part, &w->who, w->flow);
}

/* Call the consumer's begin(). Parts start in the same order in which they end. */
static void begin_part(struct worker *w, uint64_t number)
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
 * Set the time of a loss in a part without any time, or in a record without trace. In both cases,
 * the encoder has lost all trace since the sink's previous window.
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

static int decode_part(struct worker *w)
{
	const struct ns_stretch *s = w->stretch;
	int err;

	if (!w->part)
		return ns_fail(w->session, "out of memory");
	if (!w->cpu || !s->pieces.nr || !is_wanted(w->job->consumer, s))
		return 0;
	err = w->cpu != w->made_for ? new_decoder(w) : 0;
	if (err)
		return err;
	return ns_frames_has(s) ? decode_frames(w, s) : decode_messages(w);
}

/* ---- Parts ---- */

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
 * full, all stretches are searched, because any of them may show which encoders share that sink.
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
 * Add the turns of a stretch. There is one for each encoder in ns_stretch::cpus, or one for the
 * encoder of the stretch's CPU if that list is empty.
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

/* Order the parts by time, but keep the parts of one buffer in the order of the buffer. */
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
 * Return true if trace was lost after the part. If the AUX buffer was full, the stretch's own CPU has
 * lost trace. If the sink was full, each of its encoders has lost trace, and none of them reports it:
 * SiFive's funnel drops new messages, an ETR overwrites the oldest ones, and the driver drops the
 * messages that an encoder of N-Trace 1.0 still holds, with its Error message.
 */
static bool has_lost(const struct nt_session *session, const struct turn *t)
{
	const struct ns_stretch *s = ns_part_stretch(session, t->number);
	const struct ns_cpu *cpu = ns_part_cpu(session, t->number);

	return s->lost && (cpu == ns_sources_own(session, s) || ns_stretch_is_full(s));
}

/* Return why trace is missing after a stretch that has lost some. */
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

/* Call end() for the decoded parts in their order. One thread does this for all. */
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
		begin_part(w, t->number);
		pthread_mutex_unlock(&job->lock);
		err = decode_part(w);
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

static int start_worker(struct worker *w, struct job *job)
{
	const struct nt_image_reader reader = {
		.space = code_space, .read = code_read, .ctx = w,
	};

	w->job = job;
	w->session = job->session;
	w->kernel_start = ns_kernel_start(job->session);
	w->image = nt_image_new();
	if (!w->image)
		return ns_fail(job->session, "out of memory");
	nt_image_set_reader(w->image, &reader);
	return 0;
}

static void free_worker(struct worker *w)
{
	nt_flow_free(w->flow);
	nt_reader_free(w->reader);
	nt_image_free(w->image);
}

/* Run all workers. The calling thread is one of them. */
static void run_workers(struct job *job, struct worker *workers, unsigned int n)
{
	unsigned int i, started = 0;

	for (i = 0; i < n && !job->result; i++)
		job->result = start_worker(&workers[i], job);
	for (i = 1; i < n && !job->result; i++, started++) {
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			break;
	}
	if (n && !job->result)
		work(&workers[0]);
	for (i = 1; i <= started; i++)
		pthread_join(workers[i].thread, NULL);
	for (i = 0; i < n; i++)
		free_worker(&workers[i]);
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
	 * if an earlier run has found the missing trace, keep its result, because counting finds
	 * less exact times
	 */
	job.finds_missing = !consumer->counts || !session->missing.nr;
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
	/* end() must be called for each part, even if decoding was stopped */
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

/* ---- A piece of a part ---- */

struct ns_decoder {
	struct job	job;
	struct worker	worker;
	uint64_t	number;		/* part that was decoded last; UINT64_MAX: none */
};

struct ns_decoder *ns_decoder_new(struct nt_session *session)
{
	struct ns_decoder *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->job.session = session;
	d->number = UINT64_MAX;
	pthread_mutex_init(&d->job.progress_lock, NULL);
	if (!start_worker(&d->worker, &d->job))
		return d;
	ns_decoder_free(d);
	return NULL;
}

void ns_decoder_free(struct ns_decoder *d)
{
	if (!d)
		return;
	free_worker(&d->worker);
	pthread_mutex_destroy(&d->job.progress_lock);
	free(d);
}

/* Set *cut to a stretch with the bytes in [@from, @to) of @s. Return false if out of memory. */
static bool cut_stretch(const struct ns_stretch *s, uint64_t from, uint64_t to, struct ns_stretch *cut)
{
	uint64_t at = s->offset, begin, end;
	size_t i;

	*cut = *s;
	memset(&cut->pieces, 0, sizeof(cut->pieces));
	cut->middle = s->middle && from == s->offset;
	cut->offset = from;
	for (i = 0; i < s->pieces.nr; at += s->pieces.at[i++].size) {
		begin = from > at ? from - at : 0;
		end = to - at < s->pieces.at[i].size ? to - at : s->pieces.at[i].size;
		if (at >= to || begin >= end)
			continue;
		if (!ns_array_add(&cut->pieces, ((struct ns_piece){ s->pieces.at[i].data + begin, end - begin })))
			return false;
	}
	return true;
}

/* Decode the bytes in *cut. They begin with a message with SYNC, or are the start of the part. */
static int decode_cut(struct worker *w, struct ns_stretch *cut, bool begins_inside, bool ends_inside)
{
	struct scan scan;
	int err;

	w->stretch = cut;
	if (begins_inside && w->cpu->has_time) {
		/* changes of the code before the first message have taken effect */
		scan_begin(w, &scan);
		read_until(w, 0, &scan);
		if (scan.time != UINT64_MAX && scan.time > w->now)
			w->now = scan.time;
	}
	nt_image_remap(w->image);
	nt_flow_restart(w->flow, cut->offset, cut->middle);
	err = feed_stretch(w);
	if (err || ends_inside)
		return err;
	nt_flow_end(w->flow);
	return drain(w);
}

static int decode_between(struct ns_decoder *d, uint64_t number, uint64_t from, uint64_t to)
{
	struct worker *w = &d->worker;
	const struct ns_stretch *s = w->stretch;
	struct ns_stretch cut;
	int err;

	if (w->cpu != w->made_for && new_decoder(w))
		return -1;
	if (w->cpu->has_time && d->number != number)
		check_clock(w);
	d->number = number;
	if (!cut_stretch(s, from, to, &cut))
		return ns_fail(w->session, "out of memory");
	err = decode_cut(w, &cut, from != s->offset, to != UINT64_MAX);
	free(cut.pieces.at);
	w->stretch = s;
	return err;
}

int ns_decoder_run(struct ns_decoder *d, uint64_t number, uint64_t from, uint64_t to,
		   const struct nt_consumer *consumer, void *ctx)
{
	const struct ns_stretch *s = ns_part_stretch(d->job.session, number);
	struct worker *w = &d->worker;
	int err;

	d->job.consumer = consumer;
	d->job.ctx = ctx;
	begin_part(w, number);
	if (from == s->offset && to == UINT64_MAX) {
		d->number = UINT64_MAX;
		err = decode_part(w);
	} else {
		err = w->part ? decode_between(d, number, from, to) : ns_fail(w->session, "out of memory");
	}
	return w->part ? consumer->end(ctx, w->part, &w->who, false) ?: err : err;
}
