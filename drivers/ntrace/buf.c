// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX buffers, which sinks write without a copy by the CPU.
 *
 * perf allocates the AUX area as runs of contiguous pages. A window is a part
 * of one run that the sink may write. It starts at the head, and ends with the
 * free space or with the run. A timer reads the write pointer. Before the
 * window is full, the driver stops the path, passes the contents of the window
 * to perf, and opens the next window.
 *
 *        offset                      offset + win.end - win.start
 *          |first|                        |
 *  --------+-----+==============----------+---------  AUX area
 *          ^     ^             ^          ^
 *   trRamStart  head + pad  trRamWP    trRamLimit + A
 *
 * trRamStart may be below the head, because some sinks only accept multiples of a larger granule.
 * The sink must then stop at trRamLimit (trRamStopOnWrap), so that it writes nothing before the
 * head. If a snapshot buffer is one run, it is one window, in which the sink wraps around.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "session.h"
#include "topology.h"

/* Idle byte, which may occur between messages (N-Trace, chapter "Transmission") */
#define NTRACE_IDLE		0xff

/* Minimum size of a window, because each window begins with a synchronising message */
#define NTRACE_WINDOW_MIN	256

/*
 * Maximum number of bytes that the driver skips at the end of contiguous pages. The driver skips
 * the rest of contiguous pages if it is shorter than an eighth of them, because the sink may fill
 * this rest before a late timer reads the write pointer.
 */
#define NTRACE_REST_MAX		SZ_128K
/*
 * Maximum number of bytes that the driver skips at the end of a run of pages, if the buffer is of a
 * snapshot and the sink writes CoreSight frames, see ntrace_window_least()
 */
#define NTRACE_FRAMES_REST_MAX	SZ_2M

/**
 * struct ntrace_chunk - a run of AUX pages that is contiguous for a sink
 * @offset: Offset in the AUX area
 * @len: Length in bytes
 * @dma: Address for the sink
 */
struct ntrace_chunk {
	unsigned long	offset;
	unsigned long	len;
	dma_addr_t	dma;
};

/**
 * struct ntrace_map - mapping of an AUX area for one sink
 * @dev: Device of the sink
 * @sink: Value of sink->id
 * @nr: Number of @chunks
 * @chunks: Chunks of the whole area, in the order of their offsets
 */
struct ntrace_map {
	struct device		*dev;
	u64			sink;
	unsigned int		nr;
	struct ntrace_chunk	chunks[];
};

/* Return the number of contiguous pages that begin at page @first */
static unsigned int ntrace_run(void **pages, unsigned int first, unsigned int nr_pages,
			       unsigned int max)
{
	phys_addr_t phys = virt_to_phys(pages[first]);
	unsigned int n = 1;

	while (first + n < nr_pages && n < max &&
	       virt_to_phys(pages[first + n]) == phys + ((phys_addr_t)n << PAGE_SHIFT))
		n++;
	return n;
}

/* Like ntrace_run(), but the run ends at a multiple of 4 GiB if the sink cannot cross it */
static unsigned int ntrace_run_of(const struct ntrace_ram_area *area, void **pages,
				  unsigned int first, unsigned int nr_pages, unsigned int max)
{
	phys_addr_t phys = virt_to_phys(pages[first]);

	if (area->one_line)
		max = min_t(u64, max, (SZ_4G - lower_32_bits(phys)) >> PAGE_SHIFT);
	return ntrace_run(pages, first, nr_pages, max);
}

static bool ntrace_chunk_fits(const struct ntrace_ram_area *area, const struct ntrace_chunk *chunk)
{
	dma_addr_t last = chunk->dma + chunk->len - area->align;

	if (area->one_line && upper_32_bits(chunk->dma) != upper_32_bits(last))
		return false;
	/* Check both bounds, because the DMA mask only ensures an upper bound */
	return chunk->dma >= area->min && last <= area->max;
}

static void ntrace_unmap(struct ntrace_map *map)
{
	unsigned int i;

	if (!map)
		return;
	for (i = 0; i < map->nr; i++)
		dma_unmap_page_attrs(map->dev, map->chunks[i].dma, map->chunks[i].len,
				     DMA_FROM_DEVICE, DMA_ATTR_SKIP_CPU_SYNC);
	put_device(map->dev);
	kvfree(map);
}

/*
 * Map pages, and clean the caches of all of them. Later, the driver cleans only the bytes that it
 * writes into the pages itself, so that the time to open a window does not grow with the window.
 */
static struct ntrace_map *ntrace_map_sink(const struct ntrace_sink *sink, void **pages,
					  unsigned int nr_pages)
{
	const struct ntrace_ram_area *area = &sink->areas[TR_RAM_MODE_SMEM];
	struct device *dev = sink->comp.dev;
	unsigned int max = min_t(size_t, dma_max_mapping_size(dev), SZ_1G) >> PAGE_SHIFT;
	unsigned int first, n, nr = 0;
	struct ntrace_map *map;

	for (first = 0; first < nr_pages; first += ntrace_run_of(area, pages, first, nr_pages, max))
		nr++;

	map = kvzalloc(struct_size(map, chunks, nr), GFP_KERNEL);
	if (!map)
		return NULL;
	map->dev = get_device(dev);
	map->sink = sink->id;

	for (first = 0; first < nr_pages; first += n) {
		struct ntrace_chunk *chunk = &map->chunks[map->nr];

		n = ntrace_run_of(area, pages, first, nr_pages, max);
		chunk->offset = (unsigned long)first << PAGE_SHIFT;
		chunk->len = (unsigned long)n << PAGE_SHIFT;
		chunk->dma = dma_map_page(dev, virt_to_page(pages[first]), 0, chunk->len,
					  DMA_FROM_DEVICE);
		if (dma_mapping_error(dev, chunk->dma))
			goto fail;
		map->nr++;
		if (!ntrace_chunk_fits(area, chunk))
			goto fail;
	}
	return map;

fail:
	ntrace_unmap(map);
	return NULL;
}

static void ntrace_buf_free(struct ntrace_buf *buf)
{
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++)
		ntrace_unmap(buf->maps[i]);
	kfree(buf);
}

/* Return true if the sink can write AUX pages in one of its modes */
static bool ntrace_sink_may_map(const struct ntrace_sink *sink)
{
	const struct ntrace_ram_area *area = &sink->areas[TR_RAM_MODE_SMEM];

	return area->there && !area->copied;
}

static void ntrace_scrap_free(void *data)
{
	struct ntrace_sink *sink = data;

	if (sink->loose)
		return;
	ntrace_unmap(sink->scrap_map);
	free_page((unsigned long)sink->scrap_page);
}

/**
 * ntrace_scrap_make - allocate a page that a sink may write, and that is never read
 * @sink: The sink, which keeps the page until its driver is unbound
 *
 * Context: May sleep.
 * Return: 0, even if the sink cannot use the page, see ntrace_sink_drain(); or a negative error
 */
int ntrace_scrap_make(struct ntrace_sink *sink)
{
	if (!ntrace_sink_may_map(sink))
		return 0;
	sink->scrap_page = (void *)__get_free_page(GFP_KERNEL);
	if (!sink->scrap_page)
		return -ENOMEM;
	sink->scrap_map = ntrace_map_sink(sink, &sink->scrap_page, 1);
	if (sink->scrap_map)
		sink->scrap = sink->scrap_map->chunks[0].dma;
	return devm_add_action_or_reset(sink->comp.dev, ntrace_scrap_free, sink);
}

static int ntrace_buf_map(struct ntrace_buf *buf, unsigned int nr_pages,
			  const struct ntrace_sink *only)
{
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++) {
		const struct ntrace_sink *sink = ntrace_sink_at(i);

		if (!sink || !ntrace_sink_may_map(sink) || (only && sink != only))
			continue;
		buf->maps[i] = ntrace_map_sink(sink, buf->pages, nr_pages);
		if (!buf->maps[i])
			return -ENOMEM;
	}
	return 0;
}

/*
 * Create a buffer of AUX pages for the sink @only, or for all sinks if it is NULL. The caller holds
 * ntrace_mutex.
 */
struct ntrace_buf *ntrace_buf_make(void **pages, unsigned int nr_pages, bool overwrite,
				   const struct ntrace_sink *only)
{
	unsigned int nr_sinks = ntrace_nr_sinks();
	static atomic64_t ids = ATOMIC64_INIT(0);
	struct ntrace_buf *buf;

	buf = kzalloc(struct_size(buf, maps, nr_sinks), GFP_KERNEL);
	if (!buf)
		return NULL;
	buf->id = atomic64_inc_return(&ids);
	buf->pages = pages;
	buf->size = (unsigned long)nr_pages << PAGE_SHIFT;
	buf->overwrite = overwrite;
	buf->nr_maps = nr_sinks;
	if (!ntrace_buf_map(buf, nr_pages, only))
		return buf;
	ntrace_buf_free(buf);
	return NULL;
}

/* pmu::free_aux */
void ntrace_aux_free(void *aux)
{
	struct ntrace_buf *buf = aux;
	unsigned long i;

	if (!buf->leak) {
		ntrace_buf_free(buf);
		return;
	}

	/*
	 * A sink that did not stop may still write to these pages. perf drops its reference of each
	 * page next, so this reference prevents the reuse of the page.
	 */
	for (i = 0; i < buf->size >> PAGE_SHIFT; i++)
		get_page(virt_to_page(buf->pages[i]));
	pr_err("ntrace: %lu KiB of AUX buffer are never freed, because a trace sink may still write to them\n",
	       buf->size >> 10);
}

/*
 * Write formatter frames that contain no trace. Byte 0 changes the source to id 0, which means
 * padding.
 */
static void ntrace_fill_frames(u8 *to, unsigned long len)
{
	memset(to, 0, len);
	for (; len >= 16; len -= 16, to += 16)
		*to = 1;
}

/*
 * Write the CPU's bytes of a chunk back to memory. Otherwise caches could write them over trace
 * that the sink writes later to the same cache line.
 */
static void ntrace_chunk_sync(const struct ntrace_map *map, const struct ntrace_chunk *chunk,
			      unsigned long offset, unsigned long len)
{
	if (len)
		dma_sync_single_for_device(map->dev, chunk->dma + (offset - chunk->offset), len,
					   DMA_FROM_DEVICE);
}

/* Write bytes that a decoder skips into a chunk */
static void ntrace_buf_idle(const struct ntrace_session *s, const struct ntrace_chunk *chunk,
			    unsigned long offset, unsigned long len)
{
	const struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long begin = offset, all = len;

	while (len) {
		unsigned long n = min(len, PAGE_SIZE - offset_in_page(offset));
		void *to = buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset);

		if (sink->frames)
			ntrace_fill_frames(to, n);
		else
			memset(to, NTRACE_IDLE, n);
		offset += n;
		len -= n;
	}
	ntrace_chunk_sync(buf->maps[sink->index], chunk, begin, all);
}

static const struct ntrace_chunk *ntrace_find_chunk(const struct ntrace_map *map,
						    unsigned long offset)
{
	unsigned int low = 0, high = map->nr;

	while (high - low > 1) {
		unsigned int mid = (low + high) / 2;

		if (map->chunks[mid].offset <= offset)
			low = mid;
		else
			high = mid;
	}
	return &map->chunks[low];
}

/*
 * Open a circular window that is the whole buffer, if the buffer is a snapshot buffer and one run
 * of pages. A sink that writes frames always begins at the start of its window, so its head must be
 * at the start of the buffer.
 */
static bool ntrace_window_circular(struct ntrace_session *s, const struct ntrace_buf *buf,
				   const struct ntrace_map *map, unsigned long offset)
{
	const struct ntrace_sink *sink = s->enc->sink;
	const struct ntrace_chunk *chunk = map->chunks;

	if (!buf->overwrite || sink->stop_fixed || map->nr != 1 ||
	    !IS_ALIGNED(chunk->dma, sink->area->start_align) ||
	    !IS_ALIGNED(offset, sink->area->align))
		return false;
	if (sink->frames && offset)
		return false;

	s->win.circular = true;
	s->win.stop = false;
	s->win.start = chunk->dma;
	s->win.wp = chunk->dma + offset;
	s->win.end = chunk->dma + chunk->len;
	s->offset = 0;
	return true;
}

/*
 * Return true if the sink stops when its window is full, so that it overwrites nothing. It must not
 * stop if the encoder stalls its hart, because a stopped sink would stall the hart for ever, and
 * only this hart could restart the sink.
 */
bool ntrace_session_may_stop(const struct ntrace_session *s)
{
	const struct ntrace_sink *sink = s->enc->sink;

	return sink->stop_fixed ||
	       (sink->stop_on_wrap && !(s->want->config & NTRACE_CONFIG_STALL));
}

/*
 * Open a window in @chunk from @offset with at most @room bytes. Return false if the window would
 * have fewer than @least bytes.
 */
static bool ntrace_window_linear(struct ntrace_session *s, const struct ntrace_chunk *chunk,
				 unsigned long offset, unsigned long room, unsigned long least)
{
	const struct ntrace_sink *sink = s->enc->sink;
	dma_addr_t head = chunk->dma + (offset - chunk->offset);
	dma_addr_t wp = ALIGN(head, sink->area->align);
	dma_addr_t start = ALIGN_DOWN(wp, sink->area->start_align);
	dma_addr_t end = min(chunk->dma + chunk->len, head + room);
	bool stop = ntrace_session_may_stop(s);

	if (start != wp && (!stop || start < chunk->dma)) {
		start = ALIGN(wp, sink->area->start_align);
		wp = start;
	}
	end = ALIGN_DOWN(end, sink->area->align);
	if (wp + least > end)
		return false;

	s->win.circular = false;
	s->win.stop = stop;
	s->win.start = start;
	s->win.wp = wp;
	s->win.end = end;
	s->offset = chunk->offset + (start - chunk->dma);
	return true;
}

/*
 * Return the minimum number of bytes that must remain in @chunk after the head. If fewer bytes
 * remain, the driver skips them. A sink that writes frames cannot stop when its window is full. In
 * a snapshot, its windows therefore have at least half the size of @chunk, so that the timer reads
 * the write pointer in time, even if the first period of the timer in a window is still that of
 * the previous window. If bytes are skipped, the next window is the whole buffer. If the writes of
 * the sink bypass the caches, all periods of the timer are so short that the sink writes at most
 * NTRACE_FOLLOW_MAX in a period, so that windows of twice this size are enough.
 */
static unsigned long ntrace_window_least(const struct ntrace_sink *sink,
					 const struct ntrace_buf *buf,
					 const struct ntrace_chunk *chunk)
{
	if (buf->overwrite && sink->frames)
		return clamp_t(unsigned long, chunk->len / 2, NTRACE_WINDOW_MIN,
			       sink->past_caches ? 2 * NTRACE_FOLLOW_MAX : NTRACE_FRAMES_REST_MAX);
	/*
	 * The driver fills the bytes between the head and the end of the chunk with idle bytes, and
	 * cleans their cache lines, so keep their number small
	 */
	return clamp_t(unsigned long, chunk->len / 8, NTRACE_WINDOW_MIN,
		       sink->past_caches ? NTRACE_FOLLOW_MAX : NTRACE_REST_MAX);
}

/*
 * Open a window for an SMEM sink in the AUX pages. If the window cannot start at the head, idle
 * bytes fill the space before it.
 */
int ntrace_window_smem(struct ntrace_session *s, struct ntrace_buf *buf)
{
	unsigned long offset = s->handle.head & (buf->size - 1);
	unsigned long room = buf->overwrite ? buf->size : s->handle.size;
	const struct ntrace_chunk *chunk;
	const struct ntrace_map *map;
	unsigned long rest, least;

	if (s->enc->sink->index >= buf->nr_maps)
		return -ENXIO;
	map = buf->maps[s->enc->sink->index];
	if (!map || map->sink != s->enc->sink->id)
		return -ENXIO;
	s->pad = 0;
	if (ntrace_window_circular(s, buf, map, offset))
		goto out;

	chunk = ntrace_find_chunk(map, offset);
	rest = chunk->offset + chunk->len - offset;
	least = ntrace_window_least(s->enc->sink, buf, chunk);
	if (rest < least && rest + least < room) {
		ntrace_buf_idle(s, chunk, offset, rest);
		s->pad = rest;
		room -= rest;
		offset = (offset + rest) & (buf->size - 1);
		chunk = ntrace_find_chunk(map, offset);
	}
	if (!ntrace_window_linear(s, chunk, offset, room, NTRACE_WINDOW_MIN))
		return -ENOSPC;
	rest = s->offset + (s->win.wp - s->win.start) - offset;
	ntrace_buf_idle(s, chunk, offset, rest);
	s->pad += rest;
out:
	s->first = s->win.wp - s->win.start;
	s->behind = false;
	s->win.follow = s->enc->sink->past_caches &&
			s->win.end - s->win.start > NTRACE_FOLLOW_MAX;
	return 0;
}

/* Open a window in a sink's own memory, which is copied when the sink stops */
int ntrace_window_copied(struct ntrace_session *s, struct ntrace_buf *buf)
{
	const struct ntrace_sink *sink = s->enc->sink;
	const struct ntrace_ram_area *area = sink->area;

	if (!buf->overwrite && s->handle.size < NTRACE_WINDOW_MIN)
		return -ENOSPC;
	s->pad = 0;
	s->first = 0;
	s->win.follow = false;
	s->win.circular = buf->overwrite && !sink->stop_fixed;
	s->win.stop = !s->win.circular && ntrace_session_may_stop(s);
	s->win.start = area->min;
	s->win.wp = area->min;
	s->win.end = area->max + area->align;
	/*
	 * Make the window no larger than the room in the buffer, because the rest of the trace
	 * would be lost
	 */
	if (!buf->overwrite && area->trims)
		s->win.end = min(s->win.end, area->min + ALIGN_DOWN(s->handle.size, area->align));
	return 0;
}

/*
 * Return true if the sink may have overtaken @s->first in a circular window. This happens if the
 * timer is late, or if the sink writes more in a period than the timer invalidates in the caches.
 * A hart emits less than 0.25 byte in a ns. @s->queued is the period for which the timer runs.
 */
static bool ntrace_window_is_late(const struct ntrace_session *s)
{
	s64 size = s->win.end - s->win.start, left = (s->filled + size - s->first) % size;
	s64 ns = ktime_get_mono_fast_ns() - hrtimer_get_expires(&s->timer) + s->queued;

	return s->behind || left + ns * s->enc->sink->encoders / 4 >= size;
}

/*
 * Number of bytes before the write pointer of a running sink that may not have reached memory yet.
 * The timer does not yet invalidate their cache lines, because a CPU could then reload the
 * old contents of memory into its cache.
 */
#define NTRACE_FOLLOW_LAG	SZ_4K

/*
 * Invalidate the cache lines of trace that the running sink has written, so that the time for which
 * interrupts are off when it stops does not depend on the size of the window
 */
void ntrace_window_follow(struct ntrace_session *s)
{
	unsigned long size = s->win.end - s->win.start, written, n;
	bool wrapped;

	written = ntrace_sink_written(s->enc->sink, &s->win, &wrapped);
	if (wrapped && !s->win.circular)
		return;
	if (s->win.circular) {
		s->behind = wrapped && ntrace_window_is_late(s);
		s->filled = written;
	}
	n = (written + size - s->first) % size;
	if (n <= NTRACE_FOLLOW_LAG)
		return;
	n = min3(n - NTRACE_FOLLOW_LAG, size - s->first, (unsigned long)NTRACE_FOLLOW_MAX);
	ntrace_window_sync(s, s->win.start + s->first, n);
	s->pad += n;
	s->first = (s->first + n) % size;
	s->win.wp = s->win.start + s->first;
}

/*
 * Invalidate the cache lines of a circular window in which a sink that has stopped has wrapped
 * around. Return the number of bytes after @s->first.
 *
 * If the timer has not been late, it has already invalidated the cache lines of the trace before
 * @s->first, and has added the size of this trace to @s->pad. If @s->pad is above @s->first, the
 * timer has passed the end of the window. If not, the end of the window is after @s->first in the
 * trace, and the sink has passed it since.
 */
unsigned long ntrace_window_sync_circular(struct ntrace_session *s, unsigned long written)
{
	unsigned long size = s->win.end - s->win.start, n = (written + size - s->first) % size;
	unsigned long part;

	if (!s->win.follow || ntrace_window_is_late(s)) {
		ntrace_window_sync(s, s->win.start, size);
		return s->pad > s->first ? n : written + size - s->first;
	}
	part = min(n, size - s->first);
	ntrace_window_sync(s, s->win.start + s->first, part);
	ntrace_window_sync(s, s->win.start, n - part);
	return n;
}

/*
 * Collect a window that the sink has filled. Set PARTIAL if trace is missing.
 *
 * A sink without trRamStopOnWrap has wrapped around in its window. Its newest trace is between the
 * start of the window and the write pointer. The older trace behind the write pointer is dropped,
 * because this code runs with interrupts off, and would have to copy the whole window to put both
 * parts into order. If the write pointer is at the start, all trace is in order.
 */
unsigned long ntrace_window_collect_wrapped(struct ntrace_session *s, unsigned long written)
{
	unsigned long size = s->win.end - s->win.start, used;

	s->enc->sink->holds = NULL;
	if (s->win.circular)
		return ntrace_window_sync_circular(s, written);

	if (!s->win.stop) {
		/* The sink has overwritten the trace that the timer has counted in @pad */
		s->pad -= s->first;
		s->first = 0;
		s->win.wp = s->win.start;
	}
	perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	used = s->win.stop || !written ? size - s->first : written;
	ntrace_window_sync(s, s->win.wp, used);
	return used;
}

/* Return true if this core can map memory uncached (Svpbmt); otherwise all mappings are cached */
bool ntrace_maps_uncached(void)
{
	return pgprot_val(pgprot_writecombine(PAGE_KERNEL)) != pgprot_val(PAGE_KERNEL);
}
