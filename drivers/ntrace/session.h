/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace sessions of CPUs and their AUX buffers, see session.c, sample.c and buf.c */
#ifndef NTRACE_SESSION_H
#define NTRACE_SESSION_H

#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "route.h"

struct ntrace_map;

/**
 * struct ntrace_buf - an AUX area
 * @id: Unique number
 * @pages: Kernel addresses of its pages, perf's array
 * @size: Size in bytes
 * @overwrite: True in snapshot mode
 * @leak: A sink may still write to it, so it is never freed
 * @nr_maps: Number of @maps
 * @maps: DMA mappings by index of the sink; NULL if not needed
 */
struct ntrace_buf {
	u64			id;
	void			**pages;
	unsigned long		size;
	bool			overwrite;
	bool			leak;
	unsigned int		nr_maps;
	struct ntrace_map	*maps[];
};

/**
 * enum ntrace_session_state - state of the session of a CPU
 * @NTRACE_SESSION_NONE: The CPU has no encoder
 * @NTRACE_SESSION_IDLE: No event traces
 * @NTRACE_SESSION_RESTING: The event, if there is one, is stopped until the CPU or the
 *	system has resumed
 * @NTRACE_SESSION_WAITING: The event waits for the sink, which another event uses; its
 *	handle is not open
 * @NTRACE_SESSION_FULL: The event waits for room in its AUX area; its handle is not open
 * @NTRACE_SESSION_ORPHAN: The event has no sink, because the owner of the sink has stopped, and
 *	the sink cannot use the AUX area of this event; its handle is open
 * @NTRACE_SESSION_MEMBER: The sink writes its trace to the AUX area of another session
 * @NTRACE_SESSION_OWNER: The sink writes to its AUX area
 */
enum ntrace_session_state {
	NTRACE_SESSION_NONE,
	NTRACE_SESSION_IDLE,
	NTRACE_SESSION_RESTING,
	NTRACE_SESSION_WAITING,
	NTRACE_SESSION_FULL,
	NTRACE_SESSION_ORPHAN,
	NTRACE_SESSION_MEMBER,
	NTRACE_SESSION_OWNER,
};

/**
 * struct ntrace_session - an event that traces on a CPU
 * @handle: Output handle of the event
 * @buf: AUX buffer of @handle
 * @enc: Encoder of the CPU, or NULL
 * @event: The event, or NULL
 * @want: Settings of the event
 * @state: State of the event on this CPU
 * @rested: Value of @state before it became NTRACE_SESSION_RESTING, if the event waited then, or
 *	NTRACE_SESSION_IDLE; valid until the event has started again
 * @barred: The event waits because the flight recorder uses the encoder
 * @leaving: The CPU goes offline or is offline. The flight recorder does not record it, and links
 *	that only this CPU uses are in reset.
 * @win: Window that the sink writes, or wrote last
 * @buf_id: Number (ntrace_buf.id) of the AUX buffer that contains @win
 * @next: Position in the AUX area after the trace that was last passed to perf
 * @offset: Offset of @win.start in the AUX buffer, below the size of the buffer
 * @first: Number of bytes at the start of @win that were already passed to perf or counted in @pad
 * @half: The sink may continue in @win if at most this number of bytes is used
 * @pad: Number of idle bytes, and of bytes whose cache lines the timer has invalidated, between the
 *	head and @first
 * @behind: The sink may have overtaken @first in a circular window, so @first means nothing
 * @timed: The timer has to read the write pointer of @win
 * @filled: Offset of the write pointer in @win when the timer last read it
 * @timer: Timer that reads the write pointer
 * @period: Period of @timer
 * @window_period: Period of @timer while the sink writes @win
 * @queued: Period with which @timer was started
 * @timer_cpu: CPU of the session
 * @kick: Function call by which another CPU, or an interrupt of the sink, makes the CPU of the
 *	session check the sink
 *
 * Only its CPU accesses the session, with interrupts off. While the session is a member of a shared
 * sink, the lock of the sink is also held. @event and @state of a member are always written under
 * that lock, because other CPUs that hold it read the event of the owner, and make a member the
 * owner.
 */
struct ntrace_session {
	struct perf_output_handle	handle;
	struct ntrace_buf		*buf;
	struct ntrace_encoder		*enc;
	struct perf_event		*event;
	struct ntrace_want		*want;
	enum ntrace_session_state	state;
	enum ntrace_session_state	rested;
	bool				barred;
	bool				leaving;
	struct ntrace_window		win;
	u64				buf_id;
	unsigned long			next;
	unsigned long			offset;
	unsigned long			first;
	unsigned long			half;
	unsigned long			pad;
	bool				behind;
	bool				timed;
	unsigned long			filled;
	struct hrtimer			timer;
	ktime_t				period;
	ktime_t				window_period;
	ktime_t				queued;
	unsigned int			timer_cpu;
	call_single_data_t		kick;
};

/* Return true if the event of the session traces, or waits to trace */
static inline bool ntrace_session_is_active(const struct ntrace_session *s)
{
	return READ_ONCE(s->state) >= NTRACE_SESSION_WAITING;
}

/* buf.c */
int ntrace_scrap_make(struct ntrace_sink *sink);
bool ntrace_maps_uncached(void);
struct ntrace_buf *ntrace_buf_make(void **pages, unsigned int nr_pages, bool overwrite,
				   const struct ntrace_sink *only);
void ntrace_aux_free(void *aux);
bool ntrace_session_may_stop(const struct ntrace_session *s);
int ntrace_window_smem(struct ntrace_session *s, struct ntrace_buf *buf);
int ntrace_window_copied(struct ntrace_session *s, struct ntrace_buf *buf);
void ntrace_window_follow(struct ntrace_session *s);
unsigned long ntrace_window_sync_circular(struct ntrace_session *s, unsigned long written);
unsigned long ntrace_window_collect_wrapped(struct ntrace_session *s, unsigned long written);

/*
 * Let the CPU see the trace that the sink wrote. Do nothing for size 0: if the window was full, the
 * address @from may be the end of the DMA mapping, which dma_sync_single_for_cpu() must not get.
 */
static __always_inline void ntrace_window_sync(struct ntrace_session *s, dma_addr_t from,
					       unsigned long size)
{
	if (likely(size))
		dma_sync_single_for_cpu(s->enc->sink->comp.dev, from, size, DMA_FROM_DEVICE);
}

static inline ktime_t ntrace_window_period(const struct ntrace_session *s)
{
	return ns_to_ktime(ntrace_sink_period(s->enc->sink, &s->win));
}

/* Return the number of new bytes in the window of a stopped SMEM sink */
static __always_inline unsigned long ntrace_window_collect(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used, written;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (unlikely(wrapped || written < s->first))
		return ntrace_window_collect_wrapped(s, written);
	used = written - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	s->win.wp += used;
	s->first = written;
	return used;
}

/* sample.c */
long ntrace_session_sample(struct ntrace_session *s, struct perf_event *event,
			   struct perf_output_handle *to, unsigned long size);

/* session.c */
bool ntrace_sink_interrupt(struct ntrace_sink *sink);
void ntrace_session_init(struct ntrace_session *s, unsigned int cpu);
int ntrace_session_start(struct ntrace_session *s, struct perf_event *event,
			 struct ntrace_want *want);
int ntrace_session_bar(struct ntrace_session *s, struct perf_event *event,
		       struct ntrace_want *want);
void ntrace_session_restart_timer(struct ntrace_session *s);
void ntrace_session_cancel_timer(struct ntrace_session *s);
void ntrace_session_stop(struct ntrace_session *s);
void ntrace_session_pause(struct ntrace_session *s, bool pause);

#endif /* NTRACE_SESSION_H */
