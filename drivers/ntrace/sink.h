/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sink: the memory that it may write, who traces into it, and its lock.
 */
#ifndef NTRACE_SINK_H
#define NTRACE_SINK_H

#include <linux/device.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "component.h"

struct ntrace_area;
struct ntrace_map;
struct ntrace_session;
struct ntrace_sink;

/**
 * struct ntrace_window - memory that a sink may write
 * @start: address for trRamStart
 * @wp: address for trRamWP
 * @end: first address after the window; trRamLimit is one access below
 * @circular: the oldest may be overwritten when it is full
 * @stop: the sink stops when it is full
 */
struct ntrace_window {
	dma_addr_t	start;
	dma_addr_t	wp;
	dma_addr_t	end;
	bool		circular;
	bool		stop;
};

/**
 * struct ntrace_ram_area - the memory of a sink in one of its modes
 * @there: the sink has this mode, and the driver can use it
 * @copied: the sink has memory of its own, which is copied to AUX pages; else it writes these
 * @align: access width "A": granule of trRamLimit and trRamWP
 * @start_align: granule of trRamStart
 * @min: lowest address that trRamStart takes
 * @max: highest address that trRamLimit takes
 * @one_line: all addresses of a window have their upper 32 bits in common
 * @any_size: trRamLimit takes windows of any size, not only of 2^M bytes
 * @trims: of one that is copied: trRamLimit can be lowered
 */
struct ntrace_ram_area {
	bool			there;
	bool			copied;
	u32			align;
	u32			start_align;
	u64			min;
	u64			max;
	bool			one_line;
	bool			any_size;
	bool			trims;
};

/**
 * struct ntrace_sink_ops - operations of a sink that is no RAM sink
 * @program: point the disabled sink to a window
 * @enable: begin at the start of the window
 * @disable: stop; all that was traced is in memory after it
 * @written: as ntrace_ramsink_written()
 *
 * Context: as ntrace_sink_start().
 */
struct ntrace_sink_ops {
	int (*program)(struct ntrace_sink *sink, struct ntrace_window *win);
	int (*enable)(struct ntrace_sink *sink);
	int (*disable)(struct ntrace_sink *sink);
	u32 (*written)(const struct ntrace_sink *sink, const struct ntrace_window *win,
		       bool *wrapped);
};

/**
 * struct ntrace_sink - a RAM sink, or a CoreSight ETR
 * @comp: the component
 * @ops: NULL for a RAM sink
 * @frames: it writes frames, and begins at the start of its window each time
 * @areas: its memory by TR_RAM_MODE_*
 * @area: of these, the one of the mode that is set
 * @mem: memory that the device tree reserves for it, NULL if there is none
 * @mem_start: address of @mem
 * @mem_end: address after @mem
 * @mem_cached: caches may have old contents of @mem, as the sink writes past them
 * @stop_on_wrap: trRamStopOnWrap can be set
 * @stop_fixed: it cannot be cleared: the sink stops when its window is full, also in a snapshot
 * @base: of one that writes frames: the start of its window
 * @index: index among the sinks
 * @number: what events choose it by, a hash of its name
 * @file: in the PMU's directory "sinks"; without a show() it is not there
 * @encoders: number of encoders that may lead here, as the device tree has them
 * @cpu: of one of them
 * @lock: protects what follows, and the registers, if @encoders is above 1.
 *	Else they are touched on the CPU of the encoder only, with interrupts off
 * @members: encoders that trace into it; always the encoder, if there is but one
 * @held: encoders that are disabled, and whose path still holds trace for which there was no room
 * @scrap: a page for trace that nobody is to have, see ntrace_sink_drain(), as the sink's address;
 *	0: there is none
 * @scrap_page: that page
 * @scrap_map: ... as buf.c has mapped it
 * @owner: whose memory it writes, see session.c; NULL if nobody traces
 * @holds: whose window the registers hold, see session.c; NULL if nobody's
 * @loose: it did not stop when it was to, and may still write its window
 * @full: it was reset when its window was full: trRamWP does not say so any more
 * @pausing: a member is to pause or to go on; who unlocks the sink next sees to it
 * @closed: the system goes down, it is not started any more
 * @flight: its area in the record of the flight recorder, NULL none
 */
struct ntrace_sink {
	struct ntrace_comp	comp;
	const struct ntrace_sink_ops *ops;
	bool			frames;
	struct ntrace_ram_area	areas[2];
	const struct ntrace_ram_area *area;
	void			*mem;
	u64			mem_start;
	u64			mem_end;
	bool			mem_cached;
	u64			base;
	bool			stop_on_wrap;
	bool			stop_fixed;
	unsigned int		index;
	u32			number;
	struct device_attribute	file;
	unsigned int		encoders;
	unsigned int		cpu;
	raw_spinlock_t		lock;
	struct list_head	members;
	struct list_head	held;
	dma_addr_t		scrap;
	void			*scrap_page;
	struct ntrace_map	*scrap_map;
	struct ntrace_session	*owner;
	struct ntrace_session	*holds;
	bool			loose;
	bool			full;
	bool			pausing;
	bool			closed;
	struct ntrace_area	*flight;
};

/* The memory for events that do not choose */
static inline const struct ntrace_ram_area *ntrace_sink_default_area(const struct ntrace_sink *sink)
{
	return &sink->areas[sink->areas[TR_RAM_MODE_SMEM].there ? TR_RAM_MODE_SMEM :
								   TR_RAM_MODE_SRAM];
}

static inline void ntrace_sink_lock(struct ntrace_sink *sink) __acquires(&sink->lock)
{
	if (sink->encoders > 1)
		raw_spin_lock(&sink->lock);
	else
		__acquire(&sink->lock);
}

/*
 * For code that may have interrupted the holder of the lock, and must not wait for it. A sink
 * without a lock has @owner instead.
 */
static inline bool ntrace_sink_trylock(struct ntrace_sink *sink)
{
	return sink->encoders <= 1 || raw_spin_trylock(&sink->lock);
}

void ntrace_sink_pause(struct ntrace_sink *sink);

static inline void ntrace_sink_unlock(struct ntrace_sink *sink) __releases(&sink->lock)
{
	if (sink->encoders > 1) {
		/* registers were written, and another CPU may be the next */
		mb();
		raw_spin_unlock(&sink->lock);
		/*
		 * pairs with ntrace_sink_pause(): either it got the lock, or this CPU sees its
		 * request
		 */
		smp_mb();
		if (unlikely(READ_ONCE(sink->pausing)))
			ntrace_sink_pause(sink);
	} else {
		__release(&sink->lock);
	}
}

static inline void ntrace_sink_assert_locked(const struct ntrace_sink *sink)
{
	if (sink->encoders > 1)
		lockdep_assert_held(&sink->lock);
}

static inline void ntrace_sink_add(struct ntrace_sink *sink, struct list_head *member)
{
	if (sink->encoders > 1)
		list_add_tail(member, &sink->members);
}

static inline void ntrace_sink_del(struct ntrace_sink *sink, struct list_head *member)
{
	if (sink->encoders > 1)
		list_del_init(member);
}

#define to_ntrace_sink(c)	container_of(c, struct ntrace_sink, comp)

/* ramsink.c */
/*
 * The driver copies from a sink while interrupts are off. So it uses no more of the sink's memory
 * than can be copied in a few milliseconds: SRAM by a load of the bus for each word, or reserved
 * memory.
 */
#define NTRACE_SRAM_MAX		SZ_64K
#define NTRACE_RESERVED_MAX	SZ_1M
extern const struct ntrace_comp_ops ntrace_ramsink_comp_ops;
int ntrace_ramsink_cap(const struct ntrace_sink *sink, struct ntrace_ram_area *area,
		       u64 limit_min, u64 most);
int ntrace_ramsink_setup(struct ntrace_sink *sink);
void ntrace_ramsink_revive(struct ntrace_sink *sink);
int ntrace_ramsink_choose(struct ntrace_sink *sink, bool sram);
int ntrace_ramsink_program(struct ntrace_sink *sink, struct ntrace_window *win);
int ntrace_ramsink_disable(struct ntrace_sink *sink);
void ntrace_ramsink_read(struct ntrace_sink *sink, u32 from, void *buf, unsigned int len);

/*
 * Bytes between the first one of @win and the write pointer. A window is far below 4 GiB, so that
 * trRamWPLow is enough, and one read of it is consistent while the sink runs. If the pointer is
 * outside the window, the window counts as full.
 */
static inline u32 ntrace_ramsink_written(const struct ntrace_sink *sink,
					 const struct ntrace_window *win, bool *wrapped)
{
	u32 wp = ntrace_read(&sink->comp, TR_RAM_WP_LOW);
	u32 offset = (wp & TR_RAM_WP_MASK) - lower_32_bits(win->start);

	*wrapped = wp & TR_RAM_WRAP;
	if (unlikely(sink->full || offset >= win->end - win->start)) {
		*wrapped = true;
		return 0;
	}
	return offset;
}

/* As ntrace_ramsink_written(), for a sink of any kind */
static inline u32 ntrace_sink_written(const struct ntrace_sink *sink,
				      const struct ntrace_window *win, bool *wrapped)
{
	if (unlikely(sink->ops))
		return sink->ops->written(sink, win, wrapped);
	return ntrace_ramsink_written(sink, win, wrapped);
}

#endif /* NTRACE_SINK_H */
