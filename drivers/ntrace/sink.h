/* SPDX-License-Identifier: GPL-2.0-only */
/* A sink, the memory that it may write, its members and its lock */
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

/*
 * Largest amount of trace whose cache lines the driver invalidates at once. This takes about 50 us
 * with interrupts off.
 */
#define NTRACE_FOLLOW_MAX	SZ_64K

/**
 * struct ntrace_window - memory that a sink may write
 * @start: Address for trRamStart
 * @wp: Address for trRamWP
 * @end: First address after the window; trRamLimit is one access below
 * @circular: The sink may overwrite the oldest trace when the window is full
 * @stop: The sink stops when the window is full
 * @follow: The sink writes past the caches, and the timer of the session invalidates the cache
 *	lines of new trace, so that only a few are left when the sink stops
 */
struct ntrace_window {
	dma_addr_t	start;
	dma_addr_t	wp;
	dma_addr_t	end;
	bool		circular;
	bool		stop;
	bool		follow;
};

/**
 * struct ntrace_ram_area - the memory of a sink in one of its modes
 * @there: The sink has this mode, and the driver can use it
 * @copied: The sink does not write AUX pages, so the driver copies the trace to AUX pages
 * @align: Access width "A", which is the granule of trRamLimit and trRamWP
 * @start_align: Granule of trRamStart
 * @min: Lowest address that trRamStart accepts
 * @max: Highest address that trRamLimit accepts
 * @one_line: All addresses of a window must have the same upper 32 bits
 * @any_size: The sink accepts windows of any size, not only of 2^M bytes
 * @trims: The driver can lower trRamLimit; used only if @copied
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
 * struct ntrace_sink_ops - operations of a sink other than a RAM sink
 * @program: Point the disabled sink to a window
 * @enable: Enable the sink, which writes at the start of the window
 * @disable: Disable the sink, and wait until all trace is in memory
 * @written: The same as ntrace_ramsink_written()
 *
 * Context: The same as for ntrace_sink_start().
 */
struct ntrace_sink_ops {
	int (*program)(struct ntrace_sink *sink, struct ntrace_window *win);
	int (*enable)(struct ntrace_sink *sink);
	int (*disable)(struct ntrace_sink *sink);
	u32 (*written)(const struct ntrace_sink *sink, const struct ntrace_window *win,
		       bool *wrapped);
};

/**
 * struct ntrace_sink - a RAM sink, a CoreSight ETR, or a funnel of SiFive that writes to memory
 * @comp: The component
 * @ops: Operations, or NULL for a RAM sink
 * @frames: The sink writes frames, and starts at the beginning of its window whenever it is enabled
 * @areas: Memory of the sink in each of its modes; the index is TR_RAM_MODE_*
 * @area: Entry of @areas for the mode that the driver uses
 * @mem: Memory that the device tree reserves for the sink, or NULL
 * @mem_start: Address of @mem
 * @mem_end: Address after @mem
 * @mem_cached: The caches of CPUs may contain old bytes of @mem, because the sink writes to memory
 *	and not to the caches
 * @past_caches: CPUs have to invalidate cache lines to see the trace
 * @stop_on_wrap: The bit trRamStopOnWrap can be set
 * @stop_fixed: The bit cannot be cleared, so the sink stops when its window is full, even in
 *	a snapshot
 * @base: Start of the window of a sink that writes frames
 * @id: Unique number, which no later sink has
 * @index: Index of the sink for ntrace_sink_at()
 * @encoders: Number of encoders that may lead to the sink, according to the device tree
 * @cpu: CPU of one of these encoders
 * @lock: Protects the members below and the registers, if @encoders is above 1. Otherwise
 *	only the CPU of the encoder accesses them, with interrupts off.
 * @members: Encoders that trace into the sink. If @encoders is 1, the list always contains the only
 *	encoder.
 * @held: Disabled encoders whose path still holds trace that did not fit into the window
 * @scrap: Bus address of a page for trace that is discarded, see ntrace_sink_drain(), or 0
 * @scrap_page: The page at @scrap
 * @scrap_map: Mapping of @scrap_page, which buf.c creates
 * @owner: Session whose window the sink writes now, see session.c, or NULL
 * @holds: Session whose window the registers still contain, see session.c, or NULL
 * @loose: The sink did not stop when requested, and may still write its window
 * @full: The window was full before a reset of the sink, and trRamWP does not show this after the
 *	reset
 * @pausing: A member is to be paused or resumed by the next CPU that unlocks the sink
 * @closed: The system shuts down, and the sink must not be started again
 * @flight: Area of the sink in the record of the flight recorder, or NULL
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
	bool			past_caches;
	bool			stop_on_wrap;
	bool			stop_fixed;
	u64			id;
	unsigned int		index;
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

static inline void ntrace_sink_lock(struct ntrace_sink *sink) __acquires(&sink->lock)
{
	if (sink->encoders > 1)
		raw_spin_lock(&sink->lock);
	else
		__acquire(&sink->lock);
}

/*
 * Lock a sink if this is possible without waiting. The caller may have interrupted code that holds
 * the lock. A sink with one encoder needs no lock. While the driver changes this sink, its owner is
 * NULL.
 */
static inline bool ntrace_sink_trylock(struct ntrace_sink *sink)
{
	return sink->encoders <= 1 || raw_spin_trylock(&sink->lock);
}

/*
 * Unlock a sink. Return true if ntrace_sink_pause() found the sink locked. The caller must carry
 * out the request.
 */
static inline bool ntrace_sink_release(struct ntrace_sink *sink) __releases(&sink->lock)
{
	if (sink->encoders <= 1) {
		__release(&sink->lock);
		return false;
	}
	/* Order the writes to registers before those of the CPU that locks the sink next */
	mb();
	raw_spin_unlock(&sink->lock);
	/*
	 * Pairs with ntrace_sink_pause(). Either that function got the lock, or this CPU sees its
	 * request.
	 */
	smp_mb();
	return unlikely(READ_ONCE(sink->pausing));
}

void ntrace_sink_pause(struct ntrace_sink *sink);

static inline void ntrace_sink_unlock(struct ntrace_sink *sink) __releases(&sink->lock)
{
	if (ntrace_sink_release(sink))
		ntrace_sink_pause(sink);
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
 * Maximum size in bytes of a sink's own memory that the driver uses, for SRAM and for reserved
 * memory. The driver copies this memory with interrupts off, which must take no longer than a few
 * milliseconds. SRAM has the lower limit, because each of its words needs one bus read.
 */
#define NTRACE_SRAM_MAX		SZ_64K
#define NTRACE_RESERVED_MAX	SZ_1M
extern const struct ntrace_comp_ops ntrace_ramsink_comp_ops;
int ntrace_ramsink_cap(const struct ntrace_sink *sink, struct ntrace_ram_area *area,
		       u64 limit_min, u64 most);
int ntrace_ramsink_setup(struct ntrace_sink *sink);
void ntrace_ramsink_revive(struct ntrace_sink *sink);
int ntrace_ramsink_program(struct ntrace_sink *sink, struct ntrace_window *win);
int ntrace_ramsink_disable(struct ntrace_sink *sink);
void ntrace_ramsink_read(struct ntrace_sink *sink, u32 from, void *buf, unsigned int len);

/*
 * Return the number of bytes between the start of @win and the write pointer. A window is far
 * smaller than 4 GiB, so one read of trRamWPLow is enough, and is consistent while the sink runs.
 * If the pointer is outside the window, the window counts as full.
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

/* Same as ntrace_ramsink_written(), for any kind of sink */
static inline u32 ntrace_sink_written(const struct ntrace_sink *sink,
				      const struct ntrace_window *win, bool *wrapped)
{
	if (unlikely(sink->ops))
		return sink->ops->written(sink, win, wrapped);
	return ntrace_ramsink_written(sink, win, wrapped);
}

#endif /* NTRACE_SINK_H */
