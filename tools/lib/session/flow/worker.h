/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A worker is a thread that decodes one part at a time. A job is one call of nt_session_decode(),
 * with the parts that all workers decode.
 */
#ifndef NTRACE_SESSION_WORKER_H
#define NTRACE_SESSION_WORKER_H

#include <pthread.h>

#include "session/session-priv.h"

struct job;

/* The last timestamp that was read from the messages of an encoder, in ticks of its counter */
struct ns_clock {
	uint64_t	ticks;
	bool		known;
};

/* A thread of the library, and the part that it decodes */
struct worker {
	struct job	*job;
	struct nt_session *session;
	struct nt_image	*image;
	struct nt_flow	*flow;
	struct nt_reader *reader;
	const struct ns_cpu *made_for;	/* CPU for which @flow and @reader were created */
	/* CPU whose messages are decoded; NULL: the recording does not describe the encoder */
	const struct ns_cpu *cpu;
	const struct ns_stretch *stretch;
	/* messages that were unpacked from frames; @stretch points to them if the trace consists of frames */
	struct ns_stretch joined;
	uint64_t	now;		/* time in ns; exec and mmap events up to this time have taken effect */
	struct ns_clock	clock;		/* timestamp of the last message that @reader has read */
	uint64_t	least;		/* earliest valid time of a message of the stretch, ns */
	/* ns by which the timestamp counter was set back before the stretch; UINT64_MAX: the counter is constant */
	uint64_t	set_back;
	struct nt_who	who;
	struct ns_traced traced;	/* amount, times and losses of the trace that was decoded so far */
	int32_t		known_tid;	/* id of the thread that @who described at the time @known_at */
	uint64_t	known_at;
	uint64_t	kernel_start;
	void		*part;
	pthread_t	thread;
};

/* ns_who_space() - do the work of nt_who_space(), inline, because it is needed twice for most branches */
static inline uint64_t ns_who_space(const struct nt_who *who, uint64_t addr)
{
	const struct worker *w = who->priv;

	if (who->space == NS_SPACE_UNKNOWN || who->space == NS_SPACE_FIRMWARE)
		return who->space;
	return addr < w->kernel_start ? who->user : NS_SPACE_KERNEL;
}

/* Return true if the instruction at @addr is an ecall, in the address space of @who. */
bool ns_is_ecall(const struct nt_who *who, uint64_t addr);

/*
 * An entry of the list of parts, which has the order in which the consumer's end() is called. After a part was decoded,
 * its entry stores the results until end() was called for all earlier parts.
 */
struct turn {
	uint64_t	number;		/* part number, see sources.h */
	/* start time in ns, which is not less than that of earlier parts of the same buffer */
	uint64_t	start;
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
	NS_ARRAY(struct turn) turns;	/* all parts, ordered by their start time */
	size_t		next;		/* index in @turns of the first part that no worker has taken */
	size_t		turn;		/* index in @turns of the part for which end() is called next */
	/* maximum number of parts that were taken and for which end() was not called yet; each uses memory */
	size_t		ahead;
	bool		ending;		/* a thread is calling end() */
	bool		finds_missing;	/* the job sets nt_session::missing for nt_session_lost() */
	pthread_cond_t	ended;
	pthread_mutex_t	progress_lock;
	/* number of decoded bytes of trace; if N encoders share a buffer, each decoded byte is counted as 1 / N */
	uint64_t	fed;
	int		result;		/* result of the job; threads stop if the result is not 0 */
};

/* A position in a stretch, given as a piece (struct ns_piece) and an offset in that piece */
struct place {
	size_t		piece;
	size_t		at;
};

/* State of the reader that finds the times of a stretch's messages before they are decoded */
struct scan {
	uint64_t	begin;		/* offset of the stretch in the AUX buffer */
	size_t		piece;		/* index in ns_stretch::pieces of the next piece to read */
	uint64_t	offset;		/* offset in the AUX buffer of the last message with a time */
	uint64_t	time;		/* time of the message at @offset, ns; UINT64_MAX: the stretch has ended */
};

/* ---- worker.c ---- */

/* ns_worker_init() and ns_worker_new_flow() return 0, or -1 with nt_session_error(). */
int ns_worker_init(struct worker *w, struct job *job);
int ns_worker_new_flow(struct worker *w);
void ns_worker_free(struct worker *w);

/* ns_who_now() - return the time of the newest switch or other record that applies to the branch */
uint64_t ns_who_now(const struct nt_who *who);

/* Return true if the kernel wrote thread ids to the CSR scontext. Ownership messages report the value of this CSR. */
bool ns_worker_writes_scontext(const struct worker *w);

/* Return the address space of a context. This function is nt_image_reader::space of @w->image. */
uint64_t ns_worker_space(void *ctx, const struct nt_context *context);

/* ---- ahead.c ---- */

/* Convert a value of the timestamp counter to ns. */
uint64_t ns_worker_time(const struct worker *w, uint64_t ticks);

struct place ns_place_end(const struct ns_stretch *s);

/* Seek @w->reader to the start of the stretch, and prepare *scan to read the times of its messages. */
void ns_worker_scan(struct worker *w, struct scan *scan);

/*
 * Read up to the first message that is later than @time, and return the position of this message.
 * *scan stores the time and position of this message. If this message is also later than the @time of
 * the next call, the next call returns its position again.
 */
struct place ns_worker_read_until(struct worker *w, uint64_t time, struct scan *scan);

/* Find out whether the timestamp counter is constant or was set back, and set @w->set_back and @w->least. */
void ns_worker_check_clock(struct worker *w);

/*
 * Set @w->now back to the time of the first message of the stretch, but not by more than 10 ms.
 * This message may be older than the end of the previous stretch, because it was in the encoder's
 * queue. If a message seems to be more than 10 ms older, its time is damaged.
 */
void ns_worker_begin_early(struct worker *w, struct scan *scan);

/* ---- decode.c; functions of type int return 0, or an error that ends the job ---- */

/*
 * ns_worker_begin() - select a part, and call the consumer's begin() for it
 * ns_worker_decode() - decode the part
 * ns_worker_drain() - pass the items that the decoder has ready to the consumer
 */
void ns_worker_begin(struct worker *w, uint64_t number);
int ns_worker_decode(struct worker *w);
int ns_worker_drain(struct worker *w);

/* Pass the whole stretch to the decoder. Stop at each event that changes the code, and let the event take effect. */
int ns_worker_feed(struct worker *w);

#endif /* NTRACE_SESSION_WORKER_H */
