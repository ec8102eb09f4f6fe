// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Build the list of threads, processes and maps at each time of a recording (sideband.h). */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "session/code/object.h"
#include "sideband.h"

struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	char name[];
};

struct mmap2_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint8_t build_id_size, reserved[3];
	uint8_t build_id[20];
	uint32_t prot, flags;
	char name[];
};

struct comm_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	char comm[];
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

struct switch_cpu_record {
	struct perf_event_header header;
	uint32_t next_prev_pid, next_prev_tid;
};

struct itrace_start_record {
	struct perf_event_header header;
	uint32_t pid, tid;
};

struct lost_record {
	struct perf_event_header header;
	uint64_t id, lost;
};

#define MISC_EXEC		(1 << 13)	/* PERF_RECORD_MISC_COMM_EXEC */
#define MISC_DATA		(1 << 13)	/* PERF_RECORD_MISC_MMAP_DATA */
#define MISC_SWITCH_OUT		(1 << 13)
#define MISC_HAS_BUILD_ID	(1 << 14)	/* PERF_RECORD_MISC_MMAP_BUILD_ID */

#define PROT_EXECUTE		4

/* ---- Search ---- */

static const struct ns_process *find_process(const struct ns_sideband *sb, int32_t pid)
{
	size_t n = ns_lower_bound(sb->processes.nr, sb->processes.at[i].pid < pid);

	return n < sb->processes.nr && sb->processes.at[n].pid == pid ? &sb->processes.at[n] : NULL;
}

static const struct ns_thread *find_thread(const struct ns_sideband *sb, int32_t tid)
{
	size_t n = ns_lower_bound(sb->threads.nr, sb->threads.at[i].tid < tid);

	return n < sb->threads.nr && sb->threads.at[n].tid == tid ? &sb->threads.at[n] : NULL;
}

const struct ns_era *ns_sideband_era(const struct ns_sideband *sb, int32_t tid, uint64_t time)
{
	const struct ns_thread *t = find_thread(sb, tid);
	size_t n;

	if (!t)
		return NULL;
	n = ns_lower_bound(t->eras.nr, t->eras.at[i].since <= time);
	/* at a time before the first record of a thread, use the name and the process of this first record */
	return t->eras.nr ? &t->eras.at[n ? n - 1 : 0] : NULL;
}

void ns_sideband_mark(const struct ns_sideband *sb, int32_t tid, uint64_t time)
{
	struct ns_era *era = (struct ns_era *)ns_sideband_era(sb, tid, time);

	if (era)
		__atomic_store_n(&era->traced, true, __ATOMIC_RELAXED);
}

int64_t ns_sideband_generation(const struct ns_sideband *sb, int32_t pid, uint64_t time)
{
	const struct ns_process *p = find_process(sb, pid);
	size_t n;

	if (!p || !p->generations.nr)
		return -1;
	n = ns_lower_bound(p->generations.nr,
			   sb->generations.at[p->generations.at[i]].since <= time);
	return p->generations.at[n ? n - 1 : 0];
}

int32_t ns_sideband_running(const struct ns_sideband *sb, int32_t cpu, uint64_t time)
{
	const struct ns_switch *at = sb->switches.at;
	size_t n = ns_lower_bound(sb->switches.nr,
				  at[i].cpu < cpu || (at[i].cpu == cpu && at[i].time <= time));

	return n && at[n - 1].cpu == cpu ? at[n - 1].tid : -1;
}

bool ns_sideband_ran(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
		     uint64_t to)
{
	const struct ns_switch *at = sb->switches.at;
	size_t n = ns_lower_bound(sb->switches.nr,
				  at[i].cpu < cpu || (at[i].cpu == cpu && at[i].time < from));

	if (!n || at[n - 1].cpu != cpu || at[n - 1].tid == tid)
		return true;
	for (; n < sb->switches.nr && at[n].cpu == cpu && at[n].time <= to; n++) {
		if (at[n].tid == tid)
			return true;
	}
	return false;
}

uint64_t ns_sideband_switched(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from, uint64_t to)
{
	const struct ns_switch *at = sb->switches.at;
	size_t n = ns_lower_bound(sb->switches.nr, at[i].cpu < cpu || (at[i].cpu == cpu && at[i].time <= to));

	return n && at[n - 1].cpu == cpu && at[n - 1].tid == tid && at[n - 1].time > from ? at[n - 1].time : from;
}

uint64_t ns_sideband_away(const struct ns_sideband *sb, int32_t cpu, int32_t tid, uint64_t from,
			  uint64_t to)
{
	const struct ns_switch *at = sb->switches.at;
	size_t n = ns_lower_bound(sb->switches.nr,
				  at[i].cpu < cpu || (at[i].cpu == cpu && at[i].time <= from));
	bool away = n && at[n - 1].cpu == cpu && at[n - 1].tid != tid;
	uint64_t ns = 0;

	for (; n < sb->switches.nr && at[n].cpu == cpu && at[n].time < to; n++) {
		ns += away ? at[n].time - from : 0;
		away = at[n].tid != tid;
		from = at[n].time;
	}
	return ns + (away ? to - from : 0);
}

uint64_t ns_sideband_next_switch(const struct ns_sideband *sb, int32_t cpu, uint64_t time)
{
	const struct ns_switch *at = sb->switches.at;
	size_t n = ns_lower_bound(sb->switches.nr,
				  at[i].cpu < cpu || (at[i].cpu == cpu && at[i].time <= time));

	return n < sb->switches.nr && at[n].cpu == cpu ? at[n].time : UINT64_MAX;
}

uint64_t ns_sideband_next_change(const struct ns_sideband *sb, uint64_t time)
{
	size_t n = ns_lower_bound(sb->changes.nr, sb->changes.at[i] <= time);

	return n < sb->changes.nr ? sb->changes.at[n] : UINT64_MAX;
}

const struct ns_map *ns_generation_map(const struct ns_generation *gen, uint64_t addr)
{
	return ns_maps_find(gen->maps, addr);
}

/* ---- Build the sideband from records ---- */

static bool changed(struct ns_sideband *sb, uint64_t time)
{
	if (sb->changes.nr && sb->changes.at[sb->changes.nr - 1] == time)
		return true;
	return ns_array_add(&sb->changes, time);
}

static struct ns_process *get_process(struct ns_sideband *sb, int32_t pid)
{
	size_t n = ns_lower_bound(sb->processes.nr, sb->processes.at[i].pid < pid);
	const struct ns_process new = { .pid = pid };

	if ((n < sb->processes.nr && sb->processes.at[n].pid == pid) || ns_array_insert(&sb->processes, n, new))
		return &sb->processes.at[n];
	return NULL;
}

static struct ns_thread *get_thread(struct ns_sideband *sb, int32_t tid)
{
	size_t n = ns_lower_bound(sb->threads.nr, sb->threads.at[i].tid < tid);
	const struct ns_thread new = { .tid = tid };

	if ((n < sb->threads.nr && sb->threads.at[n].tid == tid) || ns_array_insert(&sb->threads, n, new))
		return &sb->threads.at[n];
	return NULL;
}

static struct ns_generation *newest(struct ns_sideband *sb, const struct ns_process *p)
{
	return p->generations.nr ? &sb->generations.at[p->generations.at[p->generations.nr - 1]] :
				   NULL;
}

/*
 * Start a generation of process @pid with the maps of the generation with index @from, or without
 * maps if @from is -1. Return NULL if out of memory.
 */
static struct ns_generation *new_generation(struct ns_sideband *sb, int32_t pid, uint64_t time,
					    int64_t from)
{
	struct ns_process *p = get_process(sb, pid);
	struct ns_generation *gen;

	if (!p || !ns_array_grow(&sb->generations) ||
	    !ns_array_add(&p->generations, sb->generations.nr) || !changed(sb, time))
		return NULL;
	gen = &sb->generations.at[sb->generations.nr++];
	*gen = (struct ns_generation){ .since = time, .pid = pid };
	gen->image = from < 0 ? ++sb->images : sb->generations.at[from].image;
	gen->epoch = ++sb->epochs;
	if (from >= 0) {
		gen->maps = sb->generations.at[from].maps;
		/*
		 * both generations now share the nodes of the tree of maps. A generation changes a node
		 * only if the node has its epoch, and otherwise changes a copy. Give the old generation a
		 * new epoch too, so that it does not change nodes that the new generation uses
		 */
		sb->generations.at[from].epoch = ++sb->epochs;
	}
	return gen;
}

static bool same_map(const struct ns_map *a, const struct ns_map *b)
{
	return a->start == b->start && a->end == b->end && a->pgoff == b->pgoff &&
		a->object == b->object;
}

bool ns_sideband_add_map(struct ns_sideband *sb, int32_t pid, uint64_t time, const struct ns_map *map)
{
	struct ns_process *p = get_process(sb, pid);
	struct ns_generation *gen;
	const struct ns_map *under;

	if (!p)
		return false;
	gen = newest(sb, p);
	if (!gen)
		gen = new_generation(sb, pid, time, -1);
	if (!gen)
		return false;
	under = ns_maps_first(gen->maps, map->start);
	if (under && under->start < map->end) {
		if (same_map(under, map))
			return true;
		gen = new_generation(sb, pid, time, gen - sb->generations.at);
		if (!gen)
			return false;
	}
	gen->maps = ns_maps_add(&sb->store, gen->maps, map, gen->epoch);
	return !sb->store.failed;
}

static bool add_era(struct ns_sideband *sb, int32_t tid, uint64_t time, int32_t pid,
		    const char *comm)
{
	struct ns_thread *t = get_thread(sb, tid);
	const struct ns_era *last;
	struct ns_era era = { .since = time, .pid = pid, .comm = comm };

	if (!t)
		return false;
	last = t->eras.nr ? &t->eras.at[t->eras.nr - 1] : NULL;
	if (!era.comm)
		era.comm = last ? last->comm : "";
	if (last && last->pid == pid && !strcmp(last->comm, era.comm))
		return true;
	return ns_array_add(&t->eras, era) && changed(sb, time);
}

bool ns_sideband_add_thread(struct ns_sideband *sb, int32_t cpu, int32_t pid, int32_t tid, const char *comm)
{
	size_t n = ns_lower_bound(sb->switches.nr, sb->switches.at[i].cpu < cpu);
	const struct ns_switch new = { .cpu = cpu, .tid = tid };

	return ns_array_insert(&sb->switches, n, new) && add_era(sb, tid, 0, pid, comm);
}

/* ---- Records ---- */

/* Return the string at the end of a record, or NULL if the string has no terminating NUL. */
static const char *name_of(const struct perf_event_header *header, const char *name)
{
	const char *end = (const char *)header + header->size;

	return name < end && memchr(name, 0, end - name) ? name : NULL;
}

static bool take_map(struct ns_sideband *sb, const struct pd_record *r, int32_t pid,
		     struct ns_map map, const char *name, const uint8_t *build_id, size_t id_size)
{
	/* ignore maps of the kernel and its modules, whose code is read from kcore */
	if (!name || map.end <= map.start || pid == -1)
		return true;
	map.object = ns_objects_get(sb->objects, name, build_id, id_size);
	if (!map.object)
		return false;
	return ns_sideband_add_map(sb, pid, r->id.time, &map);
}

static bool take_mmap(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct mmap_record *m = (const void *)r->header;

	if (r->header->size <= sizeof(*m) || r->header->misc & MISC_DATA)
		return true;
	return take_map(sb, r, m->pid, (struct ns_map){ m->start, m->start + m->len, m->pgoff, NULL },
			name_of(r->header, m->name), NULL, 0);
}

static bool take_mmap2(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct mmap2_record *m = (const void *)r->header;
	bool has_id = r->header->misc & MISC_HAS_BUILD_ID;

	if (r->header->size <= sizeof(*m) || r->header->misc & MISC_DATA ||
	    !(m->prot & PROT_EXECUTE))
		return true;
	return take_map(sb, r, m->pid, (struct ns_map){ m->start, m->start + m->len, m->pgoff, NULL },
			name_of(r->header, m->name), m->build_id,
			has_id && m->build_id_size <= sizeof(m->build_id) ? m->build_id_size : 0);
}

static bool take_comm(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct comm_record *c = (const void *)r->header;
	const char *comm = r->header->size > sizeof(*c) ? name_of(r->header, c->comm) : NULL;

	if (!comm)
		return true;
	if (r->header->misc & MISC_EXEC && !new_generation(sb, c->pid, r->id.time, -1))
		return false;
	return add_era(sb, c->tid, r->id.time, c->pid, comm);
}

/* Add a new thread or process, which starts with the maps and the name of its parent. Return false if out of memory. */
static bool take_fork(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct fork_record *f = (const void *)r->header;
	const struct ns_era *parent;

	if (r->header->size < sizeof(*f))
		return true;
	parent = ns_sideband_era(sb, f->ptid, r->id.time);
	if (!add_era(sb, f->tid, r->id.time, f->pid, parent ? parent->comm : NULL))
		return false;
	return f->pid == f->ppid || f->pid != f->tid ||
		new_generation(sb, f->pid, r->id.time,
			       ns_sideband_generation(sb, f->ppid, r->id.time));
}

static bool take_switch(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct switch_cpu_record *s = (const void *)r->header;
	struct ns_switch sw = { .time = r->id.time, .cpu = r->id.cpu, .tid = r->id.tid };

	if (r->header->misc & MISC_SWITCH_OUT) {
		if (r->header->type != PERF_RECORD_SWITCH_CPU_WIDE ||
		    r->header->size < sizeof(*s))
			return true;
		sw.tid = s->next_prev_tid;
	}
	return sw.cpu < 0 || sw.tid < 0 || ns_array_add(&sb->switches, sw);
}

#define NO_SWITCH	UINT_MAX	/* value of ns_sideband::sched_switch if the formats lack this tracepoint */

/*
 * Set ns_sideband::sched_switch and ns_sideband::next_pid from the formats of tracepoints, which are texts like those in
 * /sys/kernel/tracing/events/ (see events.c).
 */
static void find_sched_switch(struct ns_sideband *sb, const struct pd_section *formats)
{
	static const char name[] = "name: sched_switch\nID: ";
	const char *at = formats->size ? memmem(formats->data, formats->size, name, strlen(name)) : NULL;
	size_t left = at ? (const char *)formats->data + formats->size - at : 0;
	char text[2048] = "";

	sb->sched_switch = NO_SWITCH;
	if (!at)
		return;
	memcpy(text, at, left < sizeof(text) ? left : sizeof(text) - 1);
	at = strstr(text, " next_pid;\toffset:");
	if (!at || sscanf(at, " next_pid;\toffset:%u", &sb->next_pid) != 1 ||
	    sscanf(text + strlen(name), "%u", &sb->sched_switch) != 1)
		sb->sched_switch = NO_SWITCH;
}

bool ns_sideband_add_sample(struct ns_sideband *sb, const struct pd_section *formats, const struct pd_record *sample,
			    uint64_t event, const struct pd_section *raw)
{
	struct ns_switch sw = { .time = sample->id.time, .cpu = sample->id.cpu };

	if (!sb->sched_switch)
		find_sched_switch(sb, formats);
	if (event != sb->sched_switch || sw.cpu < 0 || raw->size < sizeof(sw.tid) || raw->size - sizeof(sw.tid) < sb->next_pid)
		return true;
	memcpy(&sw.tid, raw->data + sb->next_pid, sizeof(sw.tid));
	return sw.tid < 0 || ns_array_add(&sb->switches, sw);
}

static bool take_itrace_start(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct itrace_start_record *s = (const void *)r->header;
	struct ns_switch sw = { .time = r->id.time, .cpu = r->id.cpu };

	if (r->header->size < sizeof(*s) || r->id.cpu < 0)
		return true;
	sw.tid = s->tid;
	return ns_array_add(&sb->switches, sw);
}

static bool take_lost(struct ns_sideband *sb, const struct pd_record *r)
{
	const struct lost_record *l = (const void *)r->header;

	if (r->header->size >= sizeof(*l))
		sb->lost += l->lost;
	return true;
}

static bool (*const takers[])(struct ns_sideband *sb, const struct pd_record *r) = {
	[PERF_RECORD_MMAP]		= take_mmap,
	[PERF_RECORD_MMAP2]		= take_mmap2,
	[PERF_RECORD_COMM]		= take_comm,
	[PERF_RECORD_FORK]		= take_fork,
	[PERF_RECORD_SWITCH]		= take_switch,
	[PERF_RECORD_SWITCH_CPU_WIDE]	= take_switch,
	[PERF_RECORD_ITRACE_START]	= take_itrace_start,
	[PERF_RECORD_LOST]		= take_lost,
};

bool ns_sideband_wants(const struct perf_event_header *header)
{
	return header->type < sizeof(takers) / sizeof(takers[0]) && takers[header->type];
}

static int switch_cmp(const void *a, const void *b)
{
	const struct ns_switch *x = a, *y = b;

	return ns_order(x->cpu, y->cpu) ?: ns_order(x->time, y->time);
}

/*
 * The kernel writes up to three records of a switch, first the sample of sched_switch, and then a record of the thread
 * that is switched out and one of the thread that is switched in. Keep the first one.
 */
static void keep_first_records(struct ns_sideband *sb)
{
	struct ns_switch *at = sb->switches.at;
	size_t i, nr = 0;

	for (i = 0; i < sb->switches.nr; i++) {
		if (!nr || at[i].cpu != at[nr - 1].cpu || at[i].tid != at[nr - 1].tid)
			at[nr++] = at[i];
	}
	sb->switches.nr = nr;
}

int ns_sideband_build(struct ns_sideband *sb, struct ns_objects *objects,
		      const struct pd_record *records, size_t nr)
{
	size_t i;

	sb->objects = objects;
	for (i = 0; i < nr; i++) {
		if (ns_sideband_wants(records[i].header) &&
		    !takers[records[i].header->type](sb, &records[i]))
			return -1;
	}
	ns_array_sort(&sb->switches, switch_cmp);
	keep_first_records(sb);
	return 0;
}

void ns_sideband_free(struct ns_sideband *sb)
{
	size_t i;

	ns_map_store_free(&sb->store);
	for (i = 0; i < sb->processes.nr; i++)
		free(sb->processes.at[i].generations.at);
	for (i = 0; i < sb->threads.nr; i++)
		free(sb->threads.at[i].eras.at);
	free(sb->generations.at);
	free(sb->processes.at);
	free(sb->threads.at);
	free(sb->switches.at);
	free(sb->changes.at);
	memset(sb, 0, sizeof(*sb));
}
