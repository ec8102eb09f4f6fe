// SPDX-License-Identifier: GPL-2.0-only
/*
 * Save the trace of a perf event when the kernel panics. The newest trace is written into the area
 * of the sink in the flight record, over the recorder's trace from before the event. So the trace
 * of `perf record -S`, whose snapshot can no longer be requested, is available in a crash dump and
 * after a reset.
 *
 * Other CPUs may have died at any point while they were changing the event, or still run and end it
 * now. So this code takes no lock, and checks all values that it reads. Where perf may have freed
 * the memory, it reads with copy_from_kernel_nofault().
 */
#include <linux/uaccess.h>

#include "record.h"

/**
 * struct ntrace_loot - trace of a perf event that is saved to the flight record
 * @end: Offset after the last byte of trace in the AUX area of the event
 * @aux: Number of bytes of trace in the AUX area, which end at @end
 * @from: Offset of the oldest byte in the sink's SRAM that is not in the AUX area yet
 * @own: Number of bytes in the SRAM from @from on, which may wrap around the end of the SRAM
 * @size: Size of the SRAM in bytes
 * @pages: Pages of the AUX area
 * @room: Size of the AUX area in bytes
 */
struct ntrace_loot {
	unsigned long end, aux, from, own, size;
	void **pages;
	unsigned long room;
};

/* Return the task that opened the event or its parent, or NULL if the task has ended */
static struct task_struct *ntrace_loot_owner(const struct ntrace_session *s)
{
	struct perf_event *event = READ_ONCE(s->event), *parent;
	struct task_struct *owner;

	if (get_kernel_nofault(parent, &event->parent) ||
	    get_kernel_nofault(owner, &(parent ?: event)->owner))
		return NULL;
	return owner;
}

/*
 * Return true if the event traces the kernel. If it traces only user mode, its trace explains a
 * panic less well than the recorder's older trace, so that the recorder's trace is kept.
 */
static bool ntrace_traces_kernel(const struct ntrace_want *want)
{
	u8 priv;

	return !get_kernel_nofault(priv, &want->filter.priv) &&
	       (!priv || priv & (NTRACE_PRIV_S | NTRACE_PRIV_VS));
}

/* Return the session that traces into the sink and whose trace can be saved, or NULL */
static struct ntrace_session *ntrace_seizable(const struct ntrace_sink *sink)
{
	struct ntrace_session *s = READ_ONCE(sink->owner);

	if (!READ_ONCE(sink->flight) || sink->ops || sink->frames || !s ||
	    READ_ONCE(s->state) != NTRACE_SESSION_OWNER || !ntrace_traces_kernel(s->want))
		return NULL;
	return s;
}

/* Return true if a perf event owns @sink and its trace can be saved */
bool ntrace_flight_may_seize(const struct ntrace_sink *sink)
{
	return ntrace_seizable(sink);
}

/*
 * Find the trace in a window of the AUX area. If the sink wrapped around in it, the oldest bytes
 * are in the middle.
 */
static void ntrace_loot_window(struct ntrace_sink *sink, struct ntrace_session *s,
			       struct ntrace_loot *loot)
{
	unsigned long size = s->win.end - s->win.start, written;
	u64 total = s->handle.head + s->pad;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (wrapped && s->win.stop)
		written = size;
	loot->end = s->offset + written;
	if (wrapped && !s->win.stop && !s->win.circular)
		total = written;
	else
		total += written - s->first;
	if (s->win.circular && (wrapped || written < s->first))
		total += size;
	loot->aux = min_t(u64, total, loot->room);
	ntrace_window_sync(s, s->win.start, size);
}

/* Find the trace in the sink's own memory, which the driver has not copied to the AUX area */
static void ntrace_loot_copied(struct ntrace_sink *sink, struct ntrace_session *s,
			       struct ntrace_loot *loot)
{
	unsigned long written;
	bool wrapped;

	loot->size = s->win.end - s->win.start;
	written = ntrace_sink_written(sink, &s->win, &wrapped);
	loot->from = wrapped ? written : 0;
	loot->own = wrapped ? loot->size : written;
	loot->end = s->handle.head;
	loot->aux = min_t(u64, s->handle.head, loot->room);
}

/*
 * Copy from the AUX area. It is a ring whose size perf has made a power of two. Idle bytes replace
 * a page that cannot be read.
 */
static void ntrace_loot_take_aux(const struct ntrace_loot *loot, u8 *to, unsigned long len)
{
	unsigned long at = loot->end - len, n;
	void *page;

	for (; len; len -= n, at += n, to += n) {
		unsigned long offset = at & (loot->room - 1);

		n = min(len, PAGE_SIZE - offset_in_page(offset));
		if (get_kernel_nofault(page, &loot->pages[offset >> PAGE_SHIFT]) ||
		    copy_from_kernel_nofault(to, page + offset_in_page(offset), n))
			memset(to, 0xff, n);
	}
}

static void ntrace_loot_take_own(struct ntrace_sink *sink, const struct ntrace_loot *loot, u8 *to,
				 unsigned long len)
{
	unsigned long at = loot->from + loot->own - len, n;

	for (; len; len -= n, at += n, to += n) {
		n = min(len, loot->size - at % loot->size);
		ntrace_ramsink_read(sink, at % loot->size, to, n);
	}
}

/* Copy the newest trace to the end of the area, and fill the rest of the area with idle bytes */
static void ntrace_loot_take(struct ntrace_sink *sink, const struct ntrace_loot *loot)
{
	const struct ntrace_area *area = sink->flight;
	unsigned long own = min_t(u64, loot->own, area->size);
	unsigned long aux = min_t(u64, loot->aux, area->size - own);
	unsigned long idle = area->size - own - aux;
	u8 *to = ntrace_record_area(area->offset);

	ntrace_record_seize(true);
	memset(to, 0xff, idle);
	ntrace_loot_take_aux(loot, to + idle, aux);
	ntrace_loot_take_own(sink, loot, to + idle + aux, own);
	ntrace_record_written(to, area->size);
	ntrace_record_seize(false);
}

/**
 * ntrace_flight_seize - save the trace that an event has written to a sink in the record
 * @sink: The sink, which has been disabled
 * @stopped: True if the sink has reported that it is empty, so that all its trace is in memory
 *
 * Context: Any, interrupts off; the event does not continue.
 */
void ntrace_flight_seize(struct ntrace_sink *sink, bool stopped)
{
	struct ntrace_session *s = ntrace_seizable(sink);
	struct ntrace_loot loot = { 0 };
	struct ntrace_want want;
	u32 src_bits;
	u64 config;

	if (!s || copy_from_kernel_nofault(&want, READ_ONCE(s->want), sizeof(want)) ||
	    get_kernel_nofault(loot.pages, &s->buf->pages) ||
	    get_kernel_nofault(loot.room, &s->buf->size) ||
	    !is_power_of_2(loot.room) || s->win.end <= s->win.start)
		return;
	/*
	 * The sink has reported that it is empty. Reads of memory after this barrier see its trace.
	 */
	mb();
	if (sink->area->copied)
		ntrace_loot_copied(sink, s, &loot);
	else
		ntrace_loot_window(sink, s, &loot);
	if (!loot.own && !loot.aux)
		return;
	ntrace_loot_take(sink, &loot);
	config = ntrace_encoder_resolve(s->enc, want.config);
	src_bits = config & NTRACE_CONFIG_INHIBIT_SRC ? 0 : s->enc->src_bits;
	ntrace_record_session(sink->flight, &want, config, src_bits, ntrace_loot_owner(s));
	ntrace_record_pointer(sink->flight, 0, NTRACE_FLIGHT_POINTER_WRAPPED |
			      (stopped ? NTRACE_FLIGHT_POINTER_STOPPED : 0), true);
}
