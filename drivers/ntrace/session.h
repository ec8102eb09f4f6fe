/* SPDX-License-Identifier: GPL-2.0-only */
/* Sessions of CPUs and their AUX buffers: session.c, sample.c, buf.c */
#ifndef NTRACE_SESSION_H
#define NTRACE_SESSION_H

#include <linux/dma-mapping.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/smp.h>

#include "ntrace.h"

struct ntrace_map;

/**
 * struct ntrace_buf - an AUX area
 * @id: no other has had it
 * @pages: its pages, kernel addresses; perf's array
 * @size: bytes
 * @overwrite: snapshot mode
 * @leak: a sink may still write it: never give it back
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
 * struct ntrace_session - an event that traces on a CPU
 * @handle: its output handle
 * @buf: the AUX buffer of @handle
 * @enc: the encoder of the CPU, NULL if there is none
 * @event: the event, NULL if none traces
 * @asleep: the event that was stopped for an idle state
 * @config: its config
 * @filter: what it traces
 * @waiting: for room in its AUX area; @handle is not open
 * @win: the window that the sink writes, or wrote last
 * @buf_id: of the AUX buffer that @win is in
 * @next: the head behind what was handed over last
 * @offset: offset of @win.start in the AUX buffer, below its size
 * @first: bytes of @win that were there already, from its start
 * @pad: idle bytes between the head and @first
 * @filled: the sink's write pointer when the timer looked at it last
 * @timer: looks at the write pointer
 * @period: of @timer
 * @queued: with which @timer was started
 * @timer_cpu: the CPU
 * @kick: has the CPU look, for an interrupt of the sink
 *
 * Touched on its CPU only, with interrupts off; while it is a member of a sink
 * that others share, also under the lock of the sink. @event is written under
 * that lock in any case: other CPUs that hold it look at the event of the owner.
 */
struct ntrace_session {
	struct perf_output_handle	handle;
	struct ntrace_buf		*buf;
	struct ntrace_encoder		*enc;
	struct perf_event		*event;
	struct perf_event		*asleep;
	u64				config;
	const struct ntrace_filter	*filter;
	bool				waiting;
	struct ntrace_window		win;
	u64				buf_id;
	unsigned long			next;
	unsigned long			offset;
	unsigned long			first;
	unsigned long			pad;
	unsigned long			filled;
	struct hrtimer			timer;
	ktime_t				period;
	ktime_t				queued;
	unsigned int			timer_cpu;
	call_single_data_t		kick;
};

/* buf.c */
void *ntrace_aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite);
void ntrace_aux_free(void *aux);
bool ntrace_session_may_stop(const struct ntrace_session *s);
int ntrace_window_smem(struct ntrace_session *s, struct ntrace_buf *buf);
int ntrace_window_sram(struct ntrace_session *s, struct ntrace_buf *buf);
void ntrace_buf_unwrap(struct ntrace_buf *buf, unsigned long start, unsigned long wp,
		       unsigned long end);

/*
 * What the sink wrote is for the CPU to see. A window that was full when it was collected
 * is at the end of its mapping: nothing is to be synced there, not even with size 0.
 */
static __always_inline void ntrace_window_sync(struct ntrace_session *s, dma_addr_t from,
					       unsigned long size)
{
	if (likely(size))
		dma_sync_single_for_cpu(s->enc->sink->comp.dev, from, size, DMA_FROM_DEVICE);
}

/* sample.c */
long ntrace_session_sample(struct ntrace_session *s, struct perf_event *event,
			   struct perf_output_handle *to, unsigned long size);

/* session.c */
void ntrace_session_init(struct ntrace_session *s, unsigned int cpu);
int ntrace_session_start(struct ntrace_session *s, struct perf_event *event, u64 config,
			 const struct ntrace_filter *filter);
void ntrace_session_stop(struct ntrace_session *s);
void ntrace_session_pause(struct ntrace_session *s, bool pause);

#endif /* NTRACE_SESSION_H */
