// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX buffers: where trace goes, without a copy.
 *
 * perf allocates the AUX area as runs of contiguous pages. A window is a part
 * of one run that the sink may write: it begins at the head, and ends with the
 * free space or with the run. A timer looks at the write pointer, and before
 * the window is full, the path is stopped, what is in the window is handed to
 * perf, and the next window opened.
 *
 *        offset                      offset + win.end - win.start
 *          |first|                        |
 *  --------+-----+==============----------+---------  AUX area
 *          ^     ^             ^          ^
 *   trRamStart  head + pad  trRamWP    trRamLimit + A
 *
 * trRamStart may be below the head, because some sinks only accept multiples of a larger granule.
 * Then the sink must stop at trRamLimit (trRamStopOnWrap), so that it writes nothing before the
 * head. In a snapshot buffer of one run, the sink wraps around without help.
 */
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "session.h"
#include "topology.h"

/* N-Trace, chapter "Transmission": idle bytes may stand between messages */
#define NTRACE_IDLE		0xff

/* A smaller window costs more than it brings: each one begins with a synchronising message */
#define NTRACE_WINDOW_MIN	256

/*
 * The driver skips the rest of a run of pages if that is so short that it may be full before a
 * late timer looks at it: an eighth of the run, at most this
 */
#define NTRACE_REST_MAX		SZ_128K
/* ... or this, in a snapshot buffer of a sink that writes frames, see ntrace_window_least() */
#define NTRACE_FRAMES_REST_MAX	SZ_2M

/**
 * struct ntrace_chunk - a run of AUX pages, contiguous for a sink
 * @offset: In the AUX area
 * @len: Bytes
 * @dma: Address for the sink
 */
struct ntrace_chunk {
	unsigned long	offset;
	unsigned long	len;
	dma_addr_t	dma;
};

/**
 * struct ntrace_map - an AUX area as one sink sees it
 * @dev: The device of the sink
 * @nr: Number of @chunks, in the order of their offsets
 * @chunks: All of the area
 */
struct ntrace_map {
	struct device		*dev;
	unsigned int		nr;
	struct ntrace_chunk	chunks[];
};

/* Length of the contiguous run that begins at page @first */
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

/* ... that may not cross a line of 4 GiB, if the sink cannot */
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
	/* The DMA mask only knows of an upper bound */
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

/* Only the window that the sink writes is synchronised with the CPU, see ntrace_window_smem() */
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

	for (first = 0; first < nr_pages; first += n) {
		struct ntrace_chunk *chunk = &map->chunks[map->nr];

		n = ntrace_run_of(area, pages, first, nr_pages, max);
		chunk->offset = (unsigned long)first << PAGE_SHIFT;
		chunk->len = (unsigned long)n << PAGE_SHIFT;
		chunk->dma = dma_map_page_attrs(dev, virt_to_page(pages[first]), 0, chunk->len,
						DMA_FROM_DEVICE, DMA_ATTR_SKIP_CPU_SYNC);
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

/* Does the sink write AUX pages, in one of its modes? */
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
 * ntrace_scrap_make - a page that a sink may write, and nobody reads
 * @sink: The sink, which keeps it until its driver is unbound
 *
 * Context: May sleep.
 * Return: 0, also if there is none: see ntrace_sink_drain()
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

/* Make a buffer of AUX pages for the sink @only, NULL: for each. Context: ntrace_mutex is held. */
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
	 * A sink did not say that it had stopped. perf drops its reference of
	 * each page next; ours keeps them from being used for anything else.
	 */
	for (i = 0; i < buf->size >> PAGE_SHIFT; i++)
		get_page(virt_to_page(buf->pages[i]));
	pr_err("ntrace: %lu KiB of AUX buffer are given up, a trace sink may still write them\n",
	       buf->size >> 10);
}

/* Frames of a formatter with no trace in them: byte 0 is a change to id 0. */
static void ntrace_fill_frames(u8 *to, unsigned long len)
{
	memset(to, 0, len);
	for (; len >= 16; len -= 16, to += 16)
		*to = 1;
}

/* Bytes that a decoder skips */
static void ntrace_buf_idle(const struct ntrace_sink *sink, struct ntrace_buf *buf,
			    unsigned long offset, unsigned long len)
{
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
 * A snapshot buffer of one run: the sink uses all of it, and wraps around. A sink that writes
 * frames begins at the start of its window, which has to be the head.
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
 * Where the sink can stop when its window is full, nothing is overwritten. This is not done if the
 * encoder may stall its hart: a sink that has stopped would stall the hart for ever, and the hart
 * could not restart the sink.
 */
bool ntrace_session_may_stop(const struct ntrace_session *s)
{
	const struct ntrace_sink *sink = s->enc->sink;

	return sink->stop_fixed ||
	       (sink->stop_on_wrap && !(s->want->config & NTRACE_CONFIG_STALL));
}

/* The rest of @chunk from @offset on, at most @room bytes; false if below @least */
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
 * The driver skips the rest of @chunk that has fewer bytes. A sink that writes frames cannot stop
 * when its window is full. In a snapshot it gets windows of half a run, which the timer looks at in
 * time though its period may be that of the window before; and after these, one that is all of the
 * buffer.
 */
static unsigned long ntrace_window_least(const struct ntrace_sink *sink,
					 const struct ntrace_buf *buf,
					 const struct ntrace_chunk *chunk)
{
	if (buf->overwrite && sink->frames)
		return clamp_t(unsigned long, chunk->len / 2, NTRACE_WINDOW_MIN,
			       NTRACE_FRAMES_REST_MAX);
	return clamp_t(unsigned long, chunk->len / 8, NTRACE_WINDOW_MIN, NTRACE_REST_MAX);
}

/* A window in the AUX pages for an SMEM sink; idle bytes go before it as needed */
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
	if (!map)
		return -ENXIO;
	s->pad = 0;
	if (ntrace_window_circular(s, buf, map, offset))
		goto out;

	chunk = ntrace_find_chunk(map, offset);
	rest = chunk->offset + chunk->len - offset;
	least = ntrace_window_least(s->enc->sink, buf, chunk);
	if (rest < least && rest + least < room) {
		ntrace_buf_idle(s->enc->sink, buf, offset, rest);
		s->pad = rest;
		room -= rest;
		offset = (offset + rest) & (buf->size - 1);
		chunk = ntrace_find_chunk(map, offset);
	}
	if (!ntrace_window_linear(s, chunk, offset, room, NTRACE_WINDOW_MIN))
		return -ENOSPC;
	rest = s->offset + (s->win.wp - s->win.start) - offset;
	ntrace_buf_idle(s->enc->sink, buf, offset, rest);
	s->pad += rest;
out:
	s->first = s->win.wp - s->win.start;
	dma_sync_single_for_device(map->dev, s->win.wp, s->win.end - s->win.wp, DMA_FROM_DEVICE);
	return 0;
}

/* A sink with memory of its own has its window there, which is copied when it stops */
int ntrace_window_copied(struct ntrace_session *s, struct ntrace_buf *buf)
{
	const struct ntrace_sink *sink = s->enc->sink;
	const struct ntrace_ram_area *area = sink->area;

	if (!buf->overwrite && s->handle.size < NTRACE_WINDOW_MIN)
		return -ENOSPC;
	s->pad = 0;
	s->first = 0;
	s->win.circular = buf->overwrite && !sink->stop_fixed;
	s->win.stop = !s->win.circular && ntrace_session_may_stop(s);
	s->win.start = area->min;
	s->win.wp = area->min;
	s->win.end = area->max + area->align;
	/* Trace that the buffer has no room for would be lost */
	if (!buf->overwrite && area->trims)
		s->win.end = min(s->win.end, area->min + ALIGN_DOWN(s->handle.size, area->align));
	return 0;
}

static void ntrace_reverse(struct ntrace_buf *buf, unsigned long from, unsigned long to)
{
	u32 *a, *b;

	for (; from + 4 < to; from += 4) {
		to -= 4;
		a = buf->pages[from >> PAGE_SHIFT] + offset_in_page(from);
		b = buf->pages[to >> PAGE_SHIFT] + offset_in_page(to);
		swap(*a, *b);
	}
}

/*
 * Without trRamStopOnWrap the sink ran around in its window: the oldest is at
 * @wp. Put it first, in place, word by word: rotation is three reversals.
 */
static void ntrace_buf_unwrap(struct ntrace_buf *buf, unsigned long start, unsigned long wp,
			      unsigned long end)
{
	ntrace_reverse(buf, start, wp);
	ntrace_reverse(buf, wp, end);
	ntrace_reverse(buf, start, end);
}

/* The sink came to the end of its window; sets PARTIAL if trace is missing */
unsigned long ntrace_window_collect_wrapped(struct ntrace_session *s, unsigned long written)
{
	unsigned long size = s->win.end - s->win.start, used;
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;

	sink->holds = NULL;
	if (s->win.circular) {
		ntrace_window_sync(s, s->win.start, size);
		/* the sink has wrapped around at least once; the head is at the write pointer */
		return written + size - s->first;
	}

	perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	used = size - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	if (!s->win.stop)
		ntrace_buf_unwrap(buf, s->offset, s->offset + written, s->offset + size);
	return used;
}

/* Has this core mappings past the caches (Svpbmt)? Without them, such a mapping is a cached one. */
bool ntrace_maps_uncached(void)
{
	return pgprot_val(pgprot_writecombine(PAGE_KERNEL)) != pgprot_val(PAGE_KERNEL);
}
