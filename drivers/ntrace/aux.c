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
 * trRamStart may be below the head, where its granule wants so: then the sink
 * must stop at trRamLimit (trRamStopOnWrap), and nothing before the head is
 * written. In a snapshot buffer of one run the sink goes around by itself.
 */
#include <linux/dma-mapping.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>

#include "aux.h"
#include "compat.h"

typeof(perf_output_copy) *ntrace_output_copy __ro_after_init = perf_output_copy;

/* N-Trace, chapter "Transmission": idle bytes may stand between messages */
#define NTRACE_IDLE		0xff

/* A smaller window is not worth a synchronisation */
#define NTRACE_WINDOW_MIN	256

/*
 * What is left of a run of pages is given up where it is so little that it may
 * be full before a late timer looks at it: an eighth of the run, at most this
 */
#define NTRACE_REST_MAX		SZ_128K

/*
 * How soon the write pointer is looked at: a nanosecond for each byte of the
 * window. What a hart emits in that time (it is below 0.25 byte) is less than
 * the half of the window that is kept free, see ntrace_session_due(); timers
 * may be late.
 */
#define NTRACE_PERIOD_MIN	(50 * NSEC_PER_USEC)
#define NTRACE_PERIOD_MAX	(4 * NSEC_PER_MSEC)

/**
 * struct ntrace_chunk - a run of AUX pages, contiguous for a sink
 * @offset: in the AUX area
 * @len: bytes
 * @dma: address for the sink
 */
struct ntrace_chunk {
	unsigned long	offset;
	unsigned long	len;
	dma_addr_t	dma;
};

/**
 * struct ntrace_map - an AUX area as one sink sees it
 * @dev: the device of the sink
 * @nr: number of @chunks, in the order of their offsets
 * @chunks: all of the area
 */
struct ntrace_map {
	struct device		*dev;
	unsigned int		nr;
	struct ntrace_chunk	chunks[];
};

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

/* What the sink may write is synchronised window by window, see below */
static struct ntrace_map *ntrace_map_sink(const struct ntrace_sink *sink, void **pages,
					  unsigned int nr_pages)
{
	struct device *dev = sink->comp.dev;
	unsigned int max = min_t(size_t, dma_max_mapping_size(dev), SZ_1G) >> PAGE_SHIFT;
	unsigned int first, n, nr = 0;
	struct ntrace_map *map;

	for (first = 0; first < nr_pages; first += ntrace_run(pages, first, nr_pages, max))
		nr++;

	map = kvzalloc(struct_size(map, chunks, nr), GFP_KERNEL);
	if (!map)
		return NULL;
	map->dev = get_device(dev);

	for (first = 0; first < nr_pages; first += n) {
		struct ntrace_chunk *chunk = &map->chunks[map->nr];

		n = ntrace_run(pages, first, nr_pages, max);
		chunk->offset = (unsigned long)first << PAGE_SHIFT;
		chunk->len = (unsigned long)n << PAGE_SHIFT;
		chunk->dma = dma_map_page_attrs(dev, virt_to_page(pages[first]), 0, chunk->len,
						DMA_FROM_DEVICE, DMA_ATTR_SKIP_CPU_SYNC);
		if (dma_mapping_error(dev, chunk->dma))
			goto fail;
		map->nr++;
		/* The DMA mask only knows of an upper bound */
		if (chunk->dma < sink->min || chunk->dma + chunk->len - sink->align > sink->max)
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

static int ntrace_buf_map(struct ntrace_buf *buf, unsigned int nr_pages,
			  const struct ntrace_sink *only)
{
	unsigned int i;

	for (i = 0; i < buf->nr_maps; i++) {
		const struct ntrace_sink *sink = ntrace_sink_at(i);

		if (!sink || !sink->smem || (only && sink != only))
			continue;
		buf->maps[i] = ntrace_map_sink(sink, buf->pages, nr_pages);
		if (!buf->maps[i])
			return -ENOMEM;
	}
	return 0;
}

static struct ntrace_buf *ntrace_buf_make(void **pages, unsigned int nr_pages, bool overwrite,
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

/* pmu::setup_aux: map the pages for each sink that the event can reach */
void *ntrace_aux_setup(struct perf_event *event, void **pages, int nr_pages, bool overwrite)
{
	struct ntrace_encoder *enc = NULL;
	struct ntrace_buf *buf = NULL;

	mutex_lock(&ntrace_mutex);
	if (event->cpu >= 0)
		enc = ntrace_encoder_of(event->cpu);
	if (enc || event->cpu < 0)
		buf = ntrace_buf_make(pages, nr_pages, overwrite, enc ? enc->sink : NULL);
	mutex_unlock(&ntrace_mutex);
	return buf;
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

		if (sink->ops)
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

/* A snapshot buffer of one run: all of it, around and around */
static bool ntrace_window_circular(struct ntrace_session *s, const struct ntrace_buf *buf,
				   const struct ntrace_map *map, unsigned long offset)
{
	const struct ntrace_sink *sink = s->enc->sink;
	const struct ntrace_chunk *chunk = map->chunks;

	if (!buf->overwrite || map->nr != 1 || !IS_ALIGNED(chunk->dma, sink->start_align) ||
	    !IS_ALIGNED(offset, sink->align))
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
 * Where the sink can stop when its window is full, nothing is overwritten. Not
 * if the encoder stalls its hart: a sink that takes no more would stall it for
 * ever, before it could do something about that.
 */
static bool ntrace_session_may_stop(const struct ntrace_session *s)
{
	return s->enc->sink->stop_on_wrap && !(s->config & NTRACE_CONFIG_STALL);
}

/* The rest of @chunk from @offset on, at most @room bytes; false if below @least */
static bool ntrace_window_linear(struct ntrace_session *s, const struct ntrace_chunk *chunk,
				 unsigned long offset, unsigned long room, unsigned long least)
{
	const struct ntrace_sink *sink = s->enc->sink;
	dma_addr_t head = chunk->dma + (offset - chunk->offset);
	dma_addr_t wp = ALIGN(head, sink->align);
	dma_addr_t start = ALIGN_DOWN(wp, sink->start_align);
	dma_addr_t end = min(chunk->dma + chunk->len, head + room);
	bool stop = ntrace_session_may_stop(s);

	if (start != wp && (!stop || start < chunk->dma)) {
		start = ALIGN(wp, sink->start_align);
		wp = start;
	}
	end = ALIGN_DOWN(end, sink->align);
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

/* A window in the AUX pages for an SMEM sink; idle bytes go before it as needed */
static int ntrace_window_smem(struct ntrace_session *s, struct ntrace_buf *buf)
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
	least = clamp_t(unsigned long, chunk->len / 8, NTRACE_WINDOW_MIN, NTRACE_REST_MAX);
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

/* An SRAM sink has a window of its own, and is copied when it stops */
static int ntrace_window_sram(struct ntrace_session *s, struct ntrace_buf *buf)
{
	const struct ntrace_sink *sink = s->enc->sink;

	if (!buf->overwrite && s->handle.size < NTRACE_WINDOW_MIN)
		return -ENOSPC;
	s->pad = 0;
	s->first = 0;
	s->win.circular = buf->overwrite;
	s->win.stop = !buf->overwrite && ntrace_session_may_stop(s);
	s->win.start = sink->min;
	s->win.wp = sink->min;
	s->win.end = sink->max + 4;
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

/* The sink came to the end of its window; sets PARTIAL if trace is missing */
static noinline unsigned long ntrace_collect_wrapped(struct ntrace_session *s,
						     unsigned long written)
{
	unsigned long size = s->win.end - s->win.start, used;
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;

	sink->holds = NULL;
	if (s->win.circular) {
		ntrace_window_sync(s, s->win.start, size);
		/* once around at least; the head is where the write pointer is */
		return written + size - s->first;
	}

	perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	used = size - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	if (!s->win.stop)
		ntrace_buf_unwrap(buf, s->offset, s->offset + written, s->offset + size);
	return used;
}

/* Bytes that the window of a stopped SMEM sink holds */
static __always_inline unsigned long ntrace_collect_smem(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used, written;
	bool wrapped;

	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (unlikely(wrapped || written < s->first))
		return ntrace_collect_wrapped(s, written);
	used = written - s->first;
	ntrace_window_sync(s, s->win.wp, used);
	s->win.wp += used;
	s->first = written;
	return used;
}

/* Copy from SRAM to the head, as much as there is room for; PARTIAL if that is not all */
static noinline unsigned long ntrace_collect_sram(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long size = s->win.end - s->win.start, head, used, n, done;
	bool wrapped;
	u32 from;

	used = ntrace_sink_written(sink, &s->win, &wrapped);
	from = wrapped ? used : 0;
	if (wrapped)
		used = size;
	if (buf->overwrite) {
		if (used > buf->size) {
			from = (from + used - buf->size) % size;
			used = buf->size;
		}
	} else if (wrapped || used > s->handle.size) {
		used = min(used, ALIGN_DOWN(s->handle.size, 4));
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	}

	head = s->handle.head;
	for (done = 0; done < used; done += n) {
		unsigned long offset = (head + done) & (buf->size - 1);

		n = min(used - done, PAGE_SIZE - offset_in_page(offset));
		ntrace_ramsink_read(sink, (from + done) % size,
				    buf->pages[offset >> PAGE_SHIFT] + offset_in_page(offset), n);
	}
	return used;
}

/*
 * The sink has stopped: what it wrote is ready to be handed over. Sets flags of
 * the handle. Returns the bytes.
 */
static __always_inline unsigned long ntrace_session_collect(struct ntrace_session *s, int stopped)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	unsigned long used = 0;

	/* It said that it is empty: what follows sees what it wrote */
	mb();
	if (unlikely(sink->loose && sink->smem))
		buf->leak = true;
	else if (sink->smem)
		used = ntrace_collect_smem(s);
	else
		used = ntrace_collect_sram(s);

	if (unlikely(sink->ops))
		perf_aux_output_flag(&s->handle, NTRACE_AUX_FORMAT_FRAMES);
	if (unlikely(stopped))
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);

	used += s->pad;
	s->next = s->handle.head + used;
	if (buf->overwrite)
		s->handle.head += used;
	return min(used, buf->size);
}

/*
 * May the sink go on in its window, where it stopped? It may if nobody else has
 * used its registers or the AUX area since, and the part that is left does not
 * make a stop necessary soon. Then no register need be written for it.
 */
static __always_inline bool ntrace_session_may_continue(const struct ntrace_session *s)
{
	if (s->enc->sink->holds != s || s->buf_id != s->buf->id || s->next != s->handle.head)
		return false;
	if (s->win.circular)
		return true;
	/* One that runs around would write what perf has been given */
	return s->win.stop && ntrace_session_may_stop(s) &&
	       s->first <= (s->win.end - s->win.start) / 2;
}

/* Open a window at the head, and point the sink to it */
static noinline int ntrace_session_renew(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_buf *buf = s->buf;
	int ret;

	ret = sink->smem ? ntrace_window_smem(s, buf) : ntrace_window_sram(s, buf);
	if (!ret)
		ret = ntrace_sink_start(sink, &s->win);
	if (ret)
		return ret;
	s->buf_id = buf->id;
	/* SRAM, and a sink that is no RAM sink, begin anew each time. */
	sink->holds = sink->smem && !sink->ops ? s : NULL;
	return 0;
}

/* A window in the AUX area of @s for its sink and all members of that */
static __always_inline int ntrace_session_run(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	if (likely(ntrace_session_may_continue(s))) {
		s->pad = 0;
		ret = ntrace_sink_start(sink, NULL);
	} else {
		ret = ntrace_session_renew(s);
	}
	if (unlikely(ret)) {
		s->buf->leak |= sink->loose && sink->smem;
		return ret;
	}
	s->filled = s->first;
	s->period = ns_to_ktime(clamp_t(u64, s->win.end - s->win.wp,
					NTRACE_PERIOD_MIN, NTRACE_PERIOD_MAX));
	/* A sample may be taken from now on, see ntrace_session_sample() */
	barrier();
	WRITE_ONCE(sink->owner, s);
	return 0;
}

/* Another member's memory is used from now on, or the timers of the members sort it out */
static noinline void ntrace_session_hand_on(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct ntrace_encoder *enc;

	list_del_init(&s->enc->member);
	list_for_each_entry(enc, &sink->members, member) {
		struct ntrace_session *next = enc->session;

		if (ntrace_session_run(next))
			continue;
		/* Its timer is that of one who is in no hurry */
		if (next->period < next->queued)
			smp_call_function_single_async(next->timer_cpu, &next->kick);
		break;
	}
}

/* The owner of a sink, which has stopped, is done */
static __always_inline void ntrace_session_leave(struct ntrace_session *s)
{
	if (s->enc->sink->encoders > 1)
		ntrace_session_hand_on(s);
}

/*
 * A shared sink writes what all its encoders trace to the buffer of one of
 * them; SRC tells them apart. That is for events of one owner that see the
 * same.
 */
static bool ntrace_session_may_share(const struct ntrace_session *a,
				     const struct ntrace_session *b)
{
	const struct perf_event *ea = a->event->parent ?: a->event;
	const struct perf_event *eb = b->event->parent ?: b->event;

	return ea->owner && ea->owner == eb->owner && a->config == b->config &&
	       a->filter->priv == b->filter->priv && !a->filter->nr_ranges &&
	       !b->filter->nr_ranges && !(a->config & NTRACE_CONFIG_INHIBIT_SRC);
}

static __always_inline int ntrace_session_enter(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	int ret;

	if (unlikely(sink->owner)) {
		if (!ntrace_session_may_share(sink->owner, s))
			return -EBUSY;
		return ntrace_sink_join(sink, s->enc);
	}
	ntrace_sink_add(sink, &s->enc->member);
	ret = ntrace_session_run(s);
	if (unlikely(ret))
		ntrace_sink_del(sink, &s->enc->member);
	return ret;
}

/* Is it time: will the window be full, or does the reader want to be woken? */
static bool ntrace_session_due(struct ntrace_session *s)
{
	unsigned long size = s->win.end - s->win.start, written, delta;
	bool wrapped;

	written = ntrace_sink_written(s->enc->sink, &s->win, &wrapped);
	delta = written - s->filled;
	s->filled = written;
	if (wrapped || size - written < max(2 * delta, size / 2))
		return true;
	/* A snapshot buffer, with no room to keep account of, wakes nobody */
	return s->handle.size &&
	       (long)(s->handle.head + s->pad + written - s->first - s->handle.wakeup) >= 0;
}

/*
 * No room, or no sink. Say once that trace is missing. The timer tries again: nobody switches a
 * system-wide event out and in.
 */
static noinline int ntrace_session_refused(struct ntrace_session *s, int ret, bool again)
{
	s->waiting = ret == -ENOSPC || ret == -EBUSY;
	if (!again || !s->waiting)
		perf_aux_output_flag(&s->handle, ret == -EBUSY ? PERF_AUX_FLAG_PARTIAL :
								 PERF_AUX_FLAG_TRUNCATED);
	perf_aux_output_end(&s->handle, 0);
	return s->waiting ? 0 : ret;
}

/*
 * Trace into the AUX area of the event from now on. Without room there, the
 * event waits for its reader: see ntrace_session_timer().
 *
 * TRUNCATED makes perf disable the event until its reader enables it again,
 * which perf does when it has read. Linux 6.12 forgets to, but for a task that
 * is switched: there it is the timer that goes on.
 */
static __always_inline int ntrace_session_open(struct ntrace_session *s, bool again)
{
	int ret;

	s->waiting = false;
	/* A member that is not the owner, or waits for room, is in no hurry */
	s->period = ns_to_ktime(NTRACE_PERIOD_MAX);
	/* Without a buffer; some room is always left in one */
	s->buf = perf_aux_output_begin(&s->handle, s->event);
	if (unlikely(!s->buf))
		return -ENOSPC;
	ret = ntrace_session_enter(s);
	if (likely(!ret))
		return 0;
	return ntrace_session_refused(s, ret, again);
}

static noinline int ntrace_session_reopen(struct ntrace_session *s, bool again)
{
	return ntrace_session_open(s, again);
}

/* What there is, of the owner of a sink; that stops */
static __always_inline unsigned long ntrace_session_take(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long used;

	WRITE_ONCE(sink->owner, NULL);
	barrier();
	used = ntrace_session_collect(s, ntrace_sink_stop(sink));
	ntrace_session_leave(s);
	return used;
}

/* Hand over what there is, and go on */
static int ntrace_session_drain(struct ntrace_session *s)
{
	perf_aux_output_end(&s->handle, ntrace_session_take(s));
	return ntrace_session_reopen(s, false);
}

/* A member whose memory was not fit for the others, see ntrace_session_leave() */
static int ntrace_session_restart(struct ntrace_session *s)
{
	ntrace_sink_del(s->enc->sink, &s->enc->member);
	perf_aux_output_end(&s->handle, 0);
	return ntrace_session_reopen(s, false);
}

/* Look what the sink has done. Context: on the CPU of @s, interrupts off. */
static void ntrace_session_look(struct ntrace_session *s)
{
	struct ntrace_sink *sink = s->enc->sink;
	struct perf_event *event = s->event;
	int ret = 0;

	ntrace_sink_lock(sink);
	if (s->waiting)
		ret = ntrace_session_reopen(s, true);
	else if (!sink->owner)
		ret = ntrace_session_restart(s);
	else if (sink->owner == s && !s->win.circular && ntrace_session_due(s))
		ret = ntrace_session_drain(s);
	if (unlikely(ret)) {
		WRITE_ONCE(s->event, NULL);
		event->hw.state |= PERF_HES_STOPPED;
	}
	ntrace_sink_unlock(sink);
}

static enum hrtimer_restart ntrace_session_timer(struct hrtimer *timer)
{
	struct ntrace_session *s = container_of(timer, struct ntrace_session, timer);

	if (!s->event || s->timer_cpu != smp_processor_id())
		return HRTIMER_NORESTART;
	ntrace_session_look(s);
	if (!s->event)
		return HRTIMER_NORESTART;
	s->queued = s->period;
	hrtimer_forward_now(timer, s->period);
	return HRTIMER_RESTART;
}

/**
 * ntrace_sink_interrupt - a sink says that its window is full
 * @sink: the sink
 *
 * The specification has no interrupt; some sinks have. The timer is to come
 * before it, and goes on without it: when it was late, this ends the loss.
 *
 * Context: hard interrupt.
 * Return: false if it cannot have been the sink
 */
bool ntrace_sink_interrupt(struct ntrace_sink *sink)
{
	struct ntrace_session *s;

	ntrace_sink_lock(sink);
	s = sink->owner;
	ntrace_sink_unlock(sink);
	if (!s)
		return false;
	/* Its CPU may have been told already */
	smp_call_function_single_async(s->timer_cpu, &s->kick);
	return true;
}

static void ntrace_session_start_timer(struct ntrace_session *s)
{
	if (s->enc->sink->encoders == 1 && !s->waiting && s->win.circular)
		return;
	/* One that another event has left may be too late for this one */
	if (hrtimer_is_queued(&s->timer) && s->queued <= s->period)
		return;
	s->queued = s->period;
	hrtimer_start(&s->timer, s->period, HRTIMER_MODE_REL_PINNED_HARD);
}

/* The sink interrupted, perhaps another CPU; or another CPU has made this one the owner */
static void ntrace_session_kicked(void *data)
{
	struct ntrace_session *s = data;

	if (!s->event)
		return;
	ntrace_session_look(s);
	if (s->event)
		ntrace_session_start_timer(s);
}

/* Before the first event */
void ntrace_session_init(struct ntrace_session *s, unsigned int cpu)
{
	s->timer_cpu = cpu;
	INIT_CSD(&s->kick, ntrace_session_kicked, s);
	ntrace_hrtimer_setup(&s->timer, ntrace_session_timer, CLOCK_MONOTONIC,
			     HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * ntrace_session_start - trace into the AUX area of an event
 * @s: of this CPU
 * @event: the event
 * @config: its config
 * @filter: what it traces
 *
 * Context: interrupts off.
 * Return: 0, or a negative error: nothing is traced
 */
int ntrace_session_start(struct ntrace_session *s, struct perf_event *event, u64 config,
			 const struct ntrace_filter *filter)
{
	struct ntrace_encoder *enc = s->enc;
	struct ntrace_sink *sink = enc->sink;
	int ret = 0;

	s->config = config;
	s->filter = filter;
	enc->paused = ntrace_event_is_paused(event);

	if (unlikely(!ntrace_encoder_holds(enc, config, filter)))
		ret = ntrace_encoder_program(enc, config, filter);
	if (unlikely(ret))
		return ret;
	ntrace_sink_lock(sink);
	WRITE_ONCE(s->event, event);
	ret = ntrace_session_open(s, false);
	if (unlikely(ret))
		WRITE_ONCE(s->event, NULL);
	ntrace_sink_unlock(sink);
	if (likely(!ret))
		ntrace_session_start_timer(s);
	return ret;
}

/*
 * The timer is left to find that there is nothing to do: a task switch does not
 * pay for it. Context: interrupts off.
 */
void ntrace_session_stop(struct ntrace_session *s)
{
	struct ntrace_sink *sink;
	unsigned long used = 0;
	bool waiting, on;

	if (!s->event)
		return;
	sink = s->enc->sink;
	ntrace_sink_lock(sink);
	waiting = s->waiting;
	if (likely(sink->owner == s)) {
		used = ntrace_session_take(s);
	} else if (!waiting) {
		on = s->enc->on;
		if (ntrace_sink_leave(sink, s->enc) || !on)
			perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
	}
	/* Not before: other CPUs ask the owner's event whether theirs may share the sink */
	WRITE_ONCE(s->event, NULL);
	ntrace_sink_unlock(sink);
	if (likely(!waiting))
		perf_aux_output_end(&s->handle, used);
}

/*
 * PERF_EF_PAUSE and PERF_EF_RESUME come from another event, which may have interrupted code of
 * this file that has the sink locked. Who has the lock is asked to do it then.
 *
 * Context: interrupts off, any other.
 */
void ntrace_session_pause(struct ntrace_session *s, bool pause)
{
	struct ntrace_sink *sink;

	if (!READ_ONCE(s->event))
		return;
	sink = s->enc->sink;
	WRITE_ONCE(s->enc->paused, pause);
	ntrace_sink_pause(sink);
}

static void ntrace_sample_copy(struct perf_output_handle *to, const struct ntrace_buf *buf,
			       unsigned long from, unsigned long len)
{
	unsigned long n;

	for (; len; from += n, len -= n) {
		from &= buf->size - 1;
		n = min(len, PAGE_SIZE - offset_in_page(from));
		ntrace_output_copy(to, buf->pages[from >> PAGE_SHIFT] + offset_in_page(from), n);
	}
}

static void ntrace_sample_idle(struct perf_output_handle *to, unsigned long len)
{
	static const u64 idle[8] = { ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL, ~0ULL };
	unsigned long n;

	for (; len; len -= n) {
		n = min(len, sizeof(idle));
		ntrace_output_copy(to, idle, n);
	}
}

/* The last @len of @all bytes that were ever written to the AUX area; they end at @end */
static void ntrace_sample_aux(struct perf_output_handle *to, const struct ntrace_buf *buf,
			      unsigned long end, unsigned long all, unsigned long len)
{
	unsigned long have = min3(len, all, buf->size);

	ntrace_sample_idle(to, len - have);
	ntrace_sample_copy(to, buf, end - have, have);
}

/* A sink without trRamStopOnWrap ran around in its window: the oldest is at its write pointer */
static void ntrace_sample_around(struct ntrace_session *s, struct perf_output_handle *to,
				 unsigned long size, unsigned long written)
{
	unsigned long len = s->win.end - s->win.start, n = min(size, len);

	ntrace_sample_aux(to, s->buf, s->offset, s->handle.head + s->pad, size - n);
	if (n > written) {
		ntrace_sample_copy(to, s->buf, s->offset + len - (n - written), n - written);
		n = written;
	}
	ntrace_sample_copy(to, s->buf, s->offset + written - n, n);
}

static void ntrace_sample_smem(struct ntrace_session *s, struct perf_output_handle *to,
			       unsigned long size, unsigned long written, bool wrapped)
{
	unsigned long len = s->win.end - s->win.start, all = s->handle.head + s->pad - s->first;

	if (wrapped && !s->win.stop)
		ntrace_window_sync(s, s->win.start, len);
	else if (wrapped)
		written = len;
	if (!wrapped || s->win.stop)
		ntrace_window_sync(s, s->win.wp, written - s->first);

	if (wrapped && !s->win.stop && !s->win.circular)
		ntrace_sample_around(s, to, size, written);
	else
		ntrace_sample_aux(to, s->buf, s->offset + written,
				  wrapped ? s->buf->size : all + written, size);
}

/* What an SRAM sink holds is not in the AUX area yet */
static void ntrace_sample_sram(struct ntrace_session *s, struct perf_output_handle *to,
			       unsigned long size, unsigned long written, bool wrapped)
{
	unsigned long len = s->win.end - s->win.start, n, part;
	u32 words[16];

	n = min(size, wrapped ? len : written);
	ntrace_sample_aux(to, s->buf, s->handle.head, s->handle.head, size - n);
	for (; n; n -= part) {
		part = min(n, sizeof(words));
		ntrace_ramsink_read(s->enc->sink, (written + len - n) % len, words, part);
		ntrace_output_copy(to, words, part);
	}
}

/*
 * Stop the sink, take the newest trace of its owner, and let it go on where it
 * stopped. One that is full waits for the timer, which sees that, and says that
 * trace is missing.
 */
static void ntrace_sample_owner(struct ntrace_session *s, struct perf_output_handle *to,
				unsigned long size)
{
	struct ntrace_sink *sink = s->enc->sink;
	unsigned long written;
	bool wrapped;
	int ret;

	ret = ntrace_sink_stop(sink);
	/* It said that it is empty: what follows sees what it wrote */
	mb();
	if (sink->comp.stuck) {
		ntrace_sample_idle(to, size);
		return;
	}
	written = ntrace_sink_written(sink, &s->win, &wrapped);
	if (sink->smem)
		ntrace_sample_smem(s, to, size, written, wrapped);
	else
		ntrace_sample_sram(s, to, size, written, wrapped);
	if (!wrapped || !s->win.stop)
		ret = ntrace_sink_start(sink, NULL) ?: ret;
	if (ret)
		perf_aux_output_flag(&s->handle, PERF_AUX_FLAG_PARTIAL);
}

/**
 * ntrace_session_sample - write the newest trace of an event into a sample
 * @s: of this CPU
 * @event: the event
 * @to: the sample
 * @size: bytes to be written; idle ones come before what there is
 *
 * Whom this interrupts may be anywhere in this file: in a tracepoint, or in code
 * that no interrupt is kept from. It does not find an owner of the sink then, or not the
 * lock, and the sample has no trace.
 *
 * A member of a sink that is shared has its trace in the buffer of the owner,
 * which may see the same, see ntrace_session_may_share().
 *
 * Context: interrupts off, any other.
 * Return: @size
 */
long ntrace_session_sample(struct ntrace_session *s, struct perf_event *event,
			   struct perf_output_handle *to, unsigned long size)
{
	struct ntrace_sink *sink = s->enc ? s->enc->sink : NULL;
	struct ntrace_session *owner;

	/* Frames could not be told apart at a cut. */
	if (!sink || sink->ops || READ_ONCE(s->event) != event || !ntrace_sink_trylock(sink)) {
		ntrace_sample_idle(to, size);
		return size;
	}
	owner = READ_ONCE(sink->owner);
	if (owner == s || (owner && s->enc->on))
		ntrace_sample_owner(owner, to, size);
	else
		ntrace_sample_idle(to, size);
	ntrace_sink_unlock(sink);
	return size;
}
