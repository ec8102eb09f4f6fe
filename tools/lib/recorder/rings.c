// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file opens events and their buffers by libperf. Each CPU or thread has a ring of records,
 * and an AUX buffer for trace. The AUX buffer belongs to the first event of a ring, so the trace
 * event must be the first one.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/pidfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <internal/evlist.h>
#include <internal/evsel.h>
#include <internal/lib.h>
#include <internal/mmap.h>
#include <perf/core.h>
#include <perf/cpumap.h>
#include <perf/evlist.h>
#include <perf/evsel.h>
#include <perf/mmap.h>
#include <perf/threadmap.h>

#include "recorder-priv.h"

#define KIB		UINT64_C(1024)
#define MIB		(1024 * KIB)
#define TRACE_SIZE_MIN	(8 * KIB)

struct trace_ring {
	uint8_t		*base;		/* AUX buffer; NULL if the ring has no trace */
	uint64_t	prev;		/* value of the head up to which the buffer was read */
	bool		wrapped;	/* the buffer was full before, so that all its bytes are trace */
	int32_t		cpu, tid;
};

struct rec_rings {
	struct perf_evlist *evlist;
	struct perf_evsel *trace;
	struct trace_ring *traces;	/* array with one entry for each map of libperf */
	uint64_t	trace_size;
	bool		per_cpu;
	int		child;		/* pidfd of the command, or -1 */
	struct rec_clock clock;
};

static int quiet(enum libperf_print_level level, const char *fmt, va_list ap)
{
	return 0;
}

/* ---- Sizes of the ring buffers ---- */

static uint64_t power_of_2(uint64_t size, uint64_t least)
{
	while (least < size && least < 1ULL << 40)
		least *= 2;
	return least;
}

/*
 * Set the sizes of the buffers. By default, a user may lock 516 KiB of memory for each CPU, so the
 * default sizes fit this limit.
 */
static int set_sizes(struct nt_recorder *r)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * page_size;
	uint64_t trace = r->options.trace_size, ring = r->options.ring_size;

	if (!trace)
		trace = r->privileged ? 4 * MIB : 128 * KIB;
	if (!ring)
		ring = r->privileged ? 512 * KIB : 256 * KIB;
	trace = power_of_2(trace, TRACE_SIZE_MIN);
	ring = power_of_2(ring, page_size);
	if (trace + ring > memory / sysconf(_SC_NPROCESSORS_ONLN))
		return rec_fail(r, "buffers of %llu MiB for each CPU do not fit into memory: choose smaller ones, such as -m 16M",
				(unsigned long long)((trace + ring) / MIB));
	r->rings->trace_size = trace;
	r->rings->evlist->mmap_len = ring + page_size;
	return 0;
}

/* ---- Events ---- */

static struct perf_evsel *add_event(struct nt_recorder *r, struct perf_event_attr *attr)
{
	struct perf_evsel *evsel = perf_evsel__new(attr);

	if (evsel)
		perf_evlist__add(r->rings->evlist, evsel);
	else
		rec_fail(r, "out of memory");
	return evsel;
}

/*
 * Return the CPUs on which to open the trace event, or NULL. The kernel accepts an event of a task
 * on an offline CPU, on which the task may run later, but refuses an event of all tasks.
 */
static struct perf_cpu_map *encoder_cpus(bool online_only)
{
	FILE *f = fopen(REC_PMU "/cpumask", "re");
	struct perf_cpu_map *all = f ? perf_cpu_map__read(f) : NULL;
	struct perf_cpu_map *online = online_only ? perf_cpu_map__new_online_cpus() :
						    perf_cpu_map__get(all);
	struct perf_cpu_map *cpus = perf_cpu_map__intersect(all, online);

	if (f)
		fclose(f);
	perf_cpu_map__put(all);
	perf_cpu_map__put(online);
	return cpus;
}

static int add_users_events(struct nt_recorder *r)
{
	bool everywhere = r->options.all || r->options.cpus;
	struct perf_evsel *evsel;
	struct rec_event *e;

	for (e = r->events; e < r->events + r->nr_events; e++) {
		e->attr.inherit = r->rings->per_cpu && !everywhere;
		e->attr.enable_on_exec = r->options.command && !everywhere && !r->options.pids;
		if (e->is_trace && !r->options.snapshot)
			e->attr.aux_watermark = r->rings->trace_size / 4 < UINT32_MAX ?
						r->rings->trace_size / 4 : UINT32_MAX;
		evsel = add_event(r, &e->attr);
		if (!evsel)
			return -1;
		if (!e->is_trace)
			continue;
		r->rings->trace = evsel;
		evsel->own_cpus = encoder_cpus(everywhere);
		if (!evsel->own_cpus)
			return rec_fail(r, "no CPU with a trace encoder is online (" REC_PMU "/cpumask)");
		evsel->cpus = perf_cpu_map__get(evsel->own_cpus);
	}
	return 0;
}

/*
 * Add a dummy event, which counts nothing. Its ring gets the sideband records, such as maps and
 * names. Return NULL on failure.
 */
static struct perf_evsel *add_dummy(struct nt_recorder *r, struct perf_event_attr *attr,
				    const char *name)
{
	struct rec_event *e = &r->events[r->nr_events];

	*attr = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY, .size = sizeof(*attr),
		.sample_type = r->events->attr.sample_type, .read_format = PERF_FORMAT_ID,
		.sample_id_all = 1, .exclude_kernel = 1, .sample_period = 1,
	};
	e->name = strdup(name);
	if (!e->name) {
		rec_fail(r, "out of memory");
		return NULL;
	}
	r->nr_events++;
	return add_event(r, attr);
}

/*
 * Record maps, names, forks and switches of the traced tasks. If only some CPUs are traced, also
 * record maps on the other CPUs, because tasks migrate, and because kernel code may change on any
 * CPU.
 */
static int add_sideband(struct nt_recorder *r)
{
	bool kernel = rec_event_kernel(&r->events[0]) && r->privileged;
	bool everywhere = r->options.all || r->options.cpus;
	struct perf_evsel *evsel;
	struct perf_event_attr attr;

	evsel = add_dummy(r, &attr, "dummy:u");
	if (!evsel)
		return -1;
	attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task = 1;
	attr.inherit = r->events[0].attr.inherit;
	attr.context_switch = r->rings->per_cpu;
	attr.ksymbol = attr.text_poke = kernel && everywhere;
	evsel->attr = attr;
	evsel->system_wide = r->options.cpus && !r->events[0].attr.exclude_user;
	/* Include offline CPUs on which the tasks may run later. */
	if (r->rings->per_cpu && !everywhere)
		evsel->own_cpus = perf_cpu_map__merge(perf_cpu_map__new_online_cpus(),
						      r->rings->trace->own_cpus);
	if (!kernel || everywhere)
		return 0;
	evsel = add_dummy(r, &attr, "dummy:u");
	if (!evsel)
		return -1;
	evsel->attr.ksymbol = evsel->attr.text_poke = 1;
	evsel->system_wide = true;
	return 0;
}

/* ---- CPUs and threads to trace ---- */

static int set_maps(struct nt_recorder *r)
{
	struct perf_cpu_map *cpus = r->rings->per_cpu ?
		rec_target_cpus(r, r->rings->trace->own_cpus) : perf_cpu_map__new_any_cpu();
	struct perf_thread_map *threads = cpus ? rec_target_thread_map(r) : NULL;

	if (cpus && threads) {
		r->rings->evlist->has_user_cpus = r->options.cpus;
		perf_evlist__set_maps(r->rings->evlist, cpus, threads);
	} else if (!*r->error) {
		rec_fail(r, "out of memory");
	}
	perf_cpu_map__put(cpus);
	perf_thread_map__put(threads);
	return cpus && threads ? 0 : -1;
}

/* ---- Open ---- */

/*
 * Close all events, and remove the threads that have ended from the threads to trace. Return false if no thread has
 * ended, or if none is left.
 */
static bool drop_ended(struct nt_recorder *r)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	struct perf_evlist *evlist = r->rings->evlist;
	int i, fd, nr = perf_thread_map__nr(evlist->threads);
	struct perf_thread_map *left = NULL;
	struct rec_pids pids = { 0 };
	struct perf_evsel *evsel;
	pid_t tid;

	for (i = 0; i < nr; i++) {
		tid = perf_thread_map__pid(evlist->threads, i);
		fd = syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0 && errno == ESRCH)
			continue;
		close(fd);
		if (!ns_array_add(&pids.tids, tid))
			break;
	}
	if (i == nr && pids.tids.nr && pids.tids.nr < (size_t)nr)
		left = perf_thread_map__new_array(pids.tids.nr, pids.tids.at);
	free(pids.tids.at);
	if (!left)
		return false;
	perf_evlist__for_each_entry(evlist, evsel)
		perf_evsel__close(evsel);
	perf_evlist__set_maps(evlist, evlist->user_requested_cpus, left);
	perf_thread_map__put(left);
	return true;
}

static int open_events(struct nt_recorder *r)
{
	struct perf_evsel *evsel;
	struct rec_event *e = r->events;
	int err;

	perf_evlist__for_each_entry(r->rings->evlist, evsel) {
		err = perf_evsel__open(evsel, evsel->cpus, evsel->threads);
		if (err == -EACCES && e->is_trace && e->any_privilege && !r->privileged &&
		    !evsel->attr.exclude_kernel) {
			/* An unprivileged user is allowed to trace programs if the kernel is excluded. */
			evsel->attr.exclude_kernel = evsel->attr.exclude_hv = 1;
			r->info.only_user = true;
			err = perf_evsel__open(evsel, evsel->cpus, evsel->threads);
		}
		if (err == -ESRCH && drop_ended(r))
			return open_events(r);
		if (err)
			return rec_event_explain(r, e, -err);
		(e++)->attr = evsel->attr;
	}
	return 0;
}

struct map_param {
	struct perf_mmap_param mp;
	struct nt_recorder *r;
	struct trace_ring *trace;	/* NULL if the mapped event has no trace */
};

static void map_next(struct perf_evlist *evlist, struct perf_evsel *evsel,
		     struct perf_mmap_param *mp, int idx)
{
	struct map_param *p = container_of(mp, struct map_param, mp);

	p->trace = evsel == p->r->rings->trace ? &p->r->rings->traces[idx] : NULL;
	if (p->trace)
		p->trace->tid = perf_thread_map__pid(evlist->threads, p->r->rings->per_cpu ? 0 : idx);
}

static struct perf_mmap *map_get(struct perf_evlist *evlist, bool overwrite, int idx)
{
	int i;

	if (!evlist->mmap) {
		evlist->mmap = calloc(evlist->nr_mmaps, sizeof(*evlist->mmap));
		for (i = 0; evlist->mmap && i < evlist->nr_mmaps; i++)
			perf_mmap__init(&evlist->mmap[i], i ? &evlist->mmap[i - 1] : NULL, false, NULL);
	}
	return evlist->mmap ? &evlist->mmap[idx] : NULL;
}

static int map_one(struct perf_mmap *map, struct perf_mmap_param *mp, int fd, struct perf_cpu cpu)
{
	struct map_param *p = container_of(mp, struct map_param, mp);
	struct rec_rings *rings = p->r->rings;
	struct perf_event_mmap_page *page;
	int prot = PROT_READ | (p->r->options.snapshot ? 0 : PROT_WRITE);
	void *base;

	if (perf_mmap__mmap(map, mp, fd, cpu) < 0)
		return -1;
	if (!p->trace)
		return 0;
	page = map->base;
	page->aux_offset = rings->evlist->mmap_len;
	page->aux_size = rings->trace_size;
	base = mmap(NULL, rings->trace_size, prot, MAP_SHARED, fd, page->aux_offset);
	if (base == MAP_FAILED)
		return -1;
	p->trace->base = base;
	p->trace->cpu = rings->per_cpu ? cpu.cpu : -1;
	return 0;
}

static int map_events(struct nt_recorder *r)
{
	struct perf_evlist_mmap_ops ops = { .idx = map_next, .get = map_get, .mmap = map_one };
	struct map_param param = { .r = r };
	struct perf_evlist *evlist = r->rings->evlist;

	param.mp.mask = evlist->mmap_len - page_size - 1;
	/* Allocate the maximum number of maps that libperf creates. */
	r->rings->traces = calloc(perf_cpu_map__nr(evlist->all_cpus) +
				  perf_thread_map__nr(evlist->threads), sizeof(*r->rings->traces));
	if (!r->rings->traces)
		return rec_fail(r, "out of memory");
	errno = 0;
	if (!perf_evlist__mmap_ops(evlist, &ops, &param.mp))
		return 0;
	if (errno == EPERM)
		return rec_fail(r, "this user may not lock that much memory for buffers: choose smaller ones, such as -m 64K, or raise kernel.perf_event_mlock_kb");
	return rec_fail(r, "the buffers cannot be allocated: %s. Try smaller ones, such as -m 1M", strerror(errno));
}

static void set_ids(struct nt_recorder *r)
{
	struct rec_event *e = r->events;
	struct perf_evsel *evsel;

	perf_evlist__for_each_entry(r->rings->evlist, evsel) {
		e->ids = evsel->id;
		(e++)->nr_ids = evsel->ids;
	}
}

static void read_clock(struct rec_rings *rings)
{
	const volatile struct perf_event_mmap_page *page = rings->evlist->mmap[0].base;
	uint32_t seq;

	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		rings->clock = (struct rec_clock){
			.shift = page->time_shift, .mult = page->time_mult,
			.zero = page->time_zero, .known = page->cap_user_time_zero,
		};
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq);
}

int rec_rings_open(struct nt_recorder *r)
{
	struct rec_rings *rings = calloc(1, sizeof(*rings));

	libperf_init(quiet);
	r->rings = rings;
	if (!rings)
		return rec_fail(r, "out of memory");
	rings->child = -1;
	rings->per_cpu = !r->options.per_thread;
	rings->evlist = perf_evlist__new();
	if (!rings->evlist)
		return rec_fail(r, "out of memory");
	if (set_sizes(r) || add_users_events(r) || add_sideband(r) || set_maps(r) ||
	    open_events(r) || map_events(r))
		return -1;
	set_ids(r);
	read_clock(rings);
	if (r->child > 0)
		rings->child = pidfd_open(r->child, 0);
	if (rings->child >= 0)
		perf_evlist__add_pollfd(rings->evlist, rings->child, NULL, POLLIN,
					fdarray_flag__nonfilterable);
	return 0;
}

void rec_rings_close(struct nt_recorder *r)
{
	struct rec_rings *rings = r->rings;
	struct perf_evsel *evsel;
	int i;

	if (!rings)
		return;
	for (i = 0; rings->evlist && rings->traces && i < rings->evlist->nr_mmaps; i++) {
		if (rings->traces[i].base)
			munmap(rings->traces[i].base, rings->trace_size);
	}
	if (rings->child >= 0)
		close(rings->child);
	if (rings->evlist) {
		perf_evlist__for_each_entry(rings->evlist, evsel)
			perf_cpu_map__put(evsel->own_cpus);
	}
	perf_evlist__delete(rings->evlist);
	free(rings->traces);
	free(rings);
	r->rings = NULL;
}

void rec_rings_clock(const struct nt_recorder *r, struct rec_clock *clock)
{
	*clock = r->rings->clock;
}

bool rec_rings_per_cpu(const struct nt_recorder *r)
{
	return r->rings->per_cpu;
}

/* ---- Run ---- */

/* Enable the events, except events that exec enables. Dummy events are always enabled. */
int rec_rings_enable(struct nt_recorder *r)
{
	struct perf_evsel *evsel;

	perf_evlist__for_each_entry(r->rings->evlist, evsel) {
		if (evsel->attr.disabled && !evsel->attr.enable_on_exec && perf_evsel__enable(evsel))
			return rec_fail(r, "tracing cannot start: %s", strerror(errno));
	}
	return 0;
}

void rec_rings_disable(struct nt_recorder *r)
{
	struct perf_evsel *evsel;

	perf_evlist__for_each_entry(r->rings->evlist, evsel)
		perf_evsel__disable(evsel);
}

/*
 * Strobing means to trace only in the first part of each period. Enable or disable the trace for the
 * current time. Return the time in ms until the next change, or @timeout if this is earlier, or if
 * the recorder does not strobe.
 */
int rec_rings_strobe(struct nt_recorder *r, int timeout)
{
	unsigned int on = r->options.strobe_on, period = r->options.strobe_period, at, left;
	struct timespec now;

	if (!period)
		return timeout;
	clock_gettime(CLOCK_MONOTONIC, &now);
	at = (now.tv_sec * 1000ULL + now.tv_nsec / 1000000) % period;
	left = (at < on ? on : period) - at;
	if (r->strobe_off != (at >= on)) {
		r->strobe_off = !r->strobe_off;
		if (r->strobe_off)
			perf_evsel__disable(r->rings->trace);
		else
			perf_evsel__enable(r->rings->trace);
	}
	return timeout < 0 || left < (unsigned int)timeout ? (int)left : timeout;
}

bool rec_rings_wait(struct nt_recorder *r, int timeout)
{
	perf_evlist__poll(r->rings->evlist, timeout);
	return perf_evlist__filter_pollfd(r->rings->evlist, POLLERR | POLLHUP) > 0;
}

/* Set *pieces to the bytes from position @from to position @to of a ring with @size bytes. */
static void pieces_of(const uint8_t *base, uint64_t size, uint64_t from, uint64_t to,
		      struct rec_piece pieces[2])
{
	uint64_t at = from & (size - 1), n = to - from;
	uint64_t first = n < size - at ? n : size - at;

	pieces[0] = (struct rec_piece){ base + at, first };
	pieces[1] = (struct rec_piece){ base, n - first };
}

static void watch(struct nt_recorder *r, const struct rec_piece *piece, size_t skip)
{
	const struct perf_event_header *header;
	size_t at = skip;

	while (piece->size - at >= sizeof(*header) && at < piece->size) {
		header = (const void *)((const char *)piece->data + at);
		/*
		 * Ignore a record that continues at the start of the ring, so that it is not in one piece of
		 * memory. The counts need not be exact, because they only show the user the progress.
		 */
		if (header->size <= piece->size - at)
			rec_count(&r->info, header);
		at += header->size;
	}
}

static int64_t read_records(struct nt_recorder *r, struct perf_mmap *map)
{
	struct perf_event_mmap_page *page = map->base;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t size = map->mask + 1, n = head - map->prev;
	struct rec_piece pieces[2];

	if (!n)
		return 0;
	pieces_of((uint8_t *)map->base + page_size, size, map->prev, head, pieces);
	if (r->options.watch)
		watch(r, &pieces[0], 0);
	if (rec_output_records(r, pieces))
		return -1;
	map->prev = head;
	__atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
	return n;
}

static int64_t read_trace(struct nt_recorder *r, int nr)
{
	struct perf_event_mmap_page *page = r->rings->evlist->mmap[nr].base;
	struct trace_ring *trace = &r->rings->traces[nr];
	uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE);
	uint64_t n = head - trace->prev;
	struct rec_piece pieces[2];

	if (!n)
		return 0;
	pieces_of(trace->base, r->rings->trace_size, trace->prev, head, pieces);
	if (rec_output_trace(r, trace->prev, nr, trace->tid, trace->cpu, pieces))
		return -1;
	trace->prev = head;
	__atomic_store_n(&page->aux_tail, head, __ATOMIC_RELEASE);
	return n;
}

int64_t rec_rings_read(struct nt_recorder *r, bool with_trace)
{
	struct perf_evlist *evlist = r->rings->evlist;
	int64_t all = 0, n;
	int i;

	for (i = 0; i < evlist->nr_mmaps; i++) {
		n = read_records(r, &evlist->mmap[i]);
		if (n < 0)
			return -1;
		all += n;
		n = with_trace && r->rings->traces[i].base ? read_trace(r, i) : 0;
		if (n < 0)
			return -1;
		all += n;
	}
	return all;
}

/* ---- Read the newest trace for a snapshot ---- */

/*
 * Return true if the bytes from @start, the head, to @end contain trace. Then the buffer has wrapped
 * around, because memory that was never written contains zeros.
 */
static bool has_data(const uint8_t *data, uint64_t start, uint64_t end)
{
	uint64_t word = 0;

	for (start = (start + 7) & ~7ULL; start < end && !word; start += 8)
		memcpy(&word, data + start, sizeof(word));
	return word;
}

/*
 * Write a snapshot of ring @nr. If the buffer has not wrapped around, the new trace is between the
 * head at the last snapshot and the current head. When the buffer wraps around, some drivers restart
 * the head at 0, and others continue to count.
 */
static int snapshot_of(struct nt_recorder *r, int nr)
{
	struct perf_event_mmap_page *page = r->rings->evlist->mmap[nr].base;
	struct trace_ring *trace = &r->rings->traces[nr];
	uint64_t head = __atomic_load_n(&page->aux_head, __ATOMIC_ACQUIRE), size = r->rings->trace_size;
	uint64_t next = head, old = trace->prev;
	struct rec_piece pieces[2];

	if (head >= size) {
		if (head - old > size)
			old = head - size;
	} else if (trace->wrapped || head < old || has_data(trace->base, head, size)) {
		trace->wrapped = true;
		old = head;
		head += size;
	}
	if (head == old)
		return 0;
	pieces_of(trace->base, size, old, head, pieces);
	trace->prev = next;
	return rec_output_trace(r, old, nr, trace->tid, trace->cpu, pieces);
}

int rec_rings_snapshot(struct nt_recorder *r)
{
	int i, err = 0;

	perf_evsel__disable(r->rings->trace);
	for (i = 0; !err && i < r->rings->evlist->nr_mmaps; i++) {
		if (r->rings->traces[i].base)
			err = snapshot_of(r, i);
	}
	if (!err)
		err = rec_rings_read(r, false) < 0;
	if (!r->strobe_off)
		perf_evsel__enable(r->rings->trace);
	return err ? -1 : 0;
}
