/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A worker is a thread that decodes one part at a time. A job is the work of all threads. */
#ifndef NTRACE_SESSION_WORKER_H
#define NTRACE_SESSION_WORKER_H

#include <pthread.h>

#include "session/session-priv.h"

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
	uint64_t	least;		/* earliest valid time of a message of the stretch, ns */
	uint64_t	set_back;	/* ns by which the counter of the stretch was set back; UINT64_MAX if it is constant */
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

/* A position in a stretch, given as a piece (struct ns_piece) and an offset in that piece */
struct place {
	size_t		piece;
	size_t		at;
};

/* State of the reader that finds the times of a stretch's messages before they are decoded */
struct scan {
	uint64_t	begin;		/* offset of the stretch in the AUX buffer */
	size_t		piece;		/* index of the next piece to read */
	uint64_t	offset;		/* offset of the last message with a time */
	uint64_t	time;		/* its time, ns; UINT64_MAX: the stretch has ended */
};

/* ---- worker.c ---- */

/* These two functions return 0, or -1 with nt_session_error(). */
int ns_worker_init(struct worker *w, struct job *job);
int ns_worker_new_flow(struct worker *w);
void ns_worker_free(struct worker *w);

/* Return true if the kernel wrote its thread ids to scontext, which Ownership messages report. */
bool ns_worker_writes_scontext(const struct worker *w);

/* Set the thread of @w->who for a context at @w->now. */
void ns_worker_set_thread(struct worker *w, const struct nt_context *context);

/* nt_image_reader::space of @w->image */
uint64_t ns_worker_space(void *ctx, const struct nt_context *context);

/* ---- ahead.c ---- */

/* Return the time in ns of a counter value. */
uint64_t ns_worker_time(const struct worker *w, uint64_t ticks);

struct place ns_place_end(const struct ns_stretch *s);

/* Begin to read the times of a stretch. */
void ns_worker_scan(struct worker *w, struct scan *scan);

/*
 * Read up to the first message that is later than @time, and return its position. The message is
 * kept for the next call, because several events may precede it.
 */
struct place ns_worker_read_until(struct worker *w, uint64_t time, struct scan *scan);

/* Compare the first timestamps of the stretch with the times that the kernel recorded. */
void ns_worker_check_clock(struct worker *w);

/*
 * Set the time back to the first message of the stretch, which may have waited in a queue since
 * before the end of the previous stretch. No message waits longer than 10 ms, unless its time is
 * damaged.
 */
void ns_worker_begin_early(struct worker *w, struct scan *scan);

/* ---- decode.c; each int is 0, or an error that ends the job ---- */

/* Call the consumer's begin(), decode the part, and pass what is decoded to the consumer. */
void ns_worker_begin(struct worker *w, uint64_t number);
int ns_worker_decode(struct worker *w);
int ns_worker_drain(struct worker *w);

/* Feed the whole stretch, stopping at each event that changes the code. */
int ns_worker_feed(struct worker *w);

#endif /* NTRACE_SESSION_WORKER_H */
