/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions of CPUs and their AUX buffers: session.c, sample.c, buf.c */
#ifndef NTRACE_SESSION_H
#define NTRACE_SESSION_H

#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/uidgid.h>

#include "route.h"

struct ntrace_map;

/* Limits of strobing in microseconds: the timer of neither part may fire too often */
#define NTRACE_STROBE_MIN	50
#define NTRACE_STROBE_MAX	10000000

/**
 * struct ntrace_buf - an AUX area
 * @id: no other has had it
 * @pages: its pages, kernel addresses; perf's array
 * @size: bytes
 * @overwrite: snapshot mode
 * @leak: a sink may still write to it, so it is never freed
 * @nr_maps: number of @maps
 * @maps: for each sink, by its index; NULL where not needed
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
 * enum ntrace_session_state - what the session of a CPU does
 * @NTRACE_SESSION_NONE: the CPU has no encoder
 * @NTRACE_SESSION_IDLE: no event traces
 * @NTRACE_SESSION_RESTING: the event, if there is one, is stopped until the CPU or the system has
 *	resumed
 * @NTRACE_SESSION_WAITING: the event waits for the sink, which another event has; its handle is not
 *	open
 * @NTRACE_SESSION_FULL: the event waits for room in its AUX area; its handle is not open
 * @NTRACE_SESSION_ORPHAN: it has no sink, since the owner of the sink left, and its AUX area was
 *	not fit for the sink; its handle is open
 * @NTRACE_SESSION_MEMBER: the sink writes its trace to the AUX area of another session
 * @NTRACE_SESSION_OWNER: the sink writes to its AUX area
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
 * struct ntrace_user - who opened an event
 * @event: the event
 * @pid: the process; one that is inherited belongs to the process that opened its parent
 * @uid: its user
 * @comm: its name at that time, without characters that cannot be printed
 * @inherited: the event is a child of another one
 * @node: in the list of users.c
 * @hash: in the table of users.c
 */
struct ntrace_user {
	const struct perf_event	*event;
	struct pid		*pid;
	kuid_t			uid;
	char			comm[TASK_COMM_LEN];
	bool			inherited;
	struct list_head	node;
	struct hlist_node	hash;
};

/**
 * struct ntrace_session - an event that traces on a CPU
 * @handle: output handle of the event
 * @buf: the AUX buffer of @handle
 * @enc: the encoder of the CPU, NULL if there is none
 * @event: the event, NULL if there is none
 * @want: settings of the event
 * @state: state of the event on this CPU
 * @rested: while @state is resting, and when the event starts after that: what the event waited for
 *	before; idle, if for nothing
 * @barred: the event waits because the flight recorder has the encoder
 * @leaving: the CPU goes offline, or has done so: it is not recorded, and has given up links that
 *	only it uses
 * @win: the window that the sink writes, or wrote last
 * @buf_id: of the AUX buffer that @win is in
 * @next: the head after what was handed over last
 * @offset: offset of @win.start in the AUX buffer, below its size
 * @first: bytes of @win that were there already, from its start
 * @half: the sink goes on in @win if no more than this of it is full
 * @pad: idle bytes between the head and @first
 * @filled: the sink's write pointer when the timer looked at it last
 * @paused: another event has paused it
 * @strobe_off: strobing has paused it
 * @strobe: ends the part of a period that @strobe_off says
 * @timer: looks at the write pointer
 * @period: of @timer
 * @window_period: of @timer while the sink writes @win
 * @queued: the period with which @timer was started
 * @timer_cpu: the CPU
 * @kick: lets the CPU look, for an interrupt of the sink
 *
 * Touched on its CPU only, with interrupts off; while it is a member of a sink
 * that others share, also under the lock of the sink. @event and @state of a member are written
 * under that lock in any case: other CPUs that hold it look at the event of the owner, and make a
 * member the owner.
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
	unsigned long			filled;
	bool				paused;
	bool				strobe_off;
	struct hrtimer			strobe;
	struct hrtimer			timer;
	ktime_t				period;
	ktime_t				window_period;
	ktime_t				queued;
	unsigned int			timer_cpu;
	call_single_data_t		kick;
};

/* Its event traces, or tries to */
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
unsigned long ntrace_window_collect_wrapped(struct ntrace_session *s, unsigned long written);

/*
 * Let the CPU see what the sink wrote. A window that was full when it was collected
 * is at the end of its mapping: nothing is to be synced there, not even with size 0.
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

/* Bytes that the window of a stopped SMEM sink holds */
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
void ntrace_session_restart_timers(struct ntrace_session *s);
void ntrace_session_cancel_timers(struct ntrace_session *s);
void ntrace_session_stop(struct ntrace_session *s);
void ntrace_session_pause(struct ntrace_session *s, bool pause);
__printf(1, 2) void ntrace_busy_say(const char *fmt, ...);
void ntrace_busy_exit(void);

/* users.c */
void ntrace_user_add(struct ntrace_user *user, const struct perf_event *event,
		     const struct ntrace_user *parent);
void ntrace_user_del(struct ntrace_user *user);
void ntrace_user_say_refused(const struct ntrace_user *user);
ssize_t ntrace_users_show(char *buf);

#endif /* NTRACE_SESSION_H */
