// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Open and close a recording, and look up its contents (session.h). */
#include <fnmatch.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/ntrace.h>

#include "ntrace/foreign.h"
#include "ntrace/sinks.h"
#include "session-priv.h"

/* The members of struct perf_record_time_conv that are in records of any perf version */
struct time_conv_record {
	struct perf_event_header header;
	uint64_t shift, mult, zero;
};

/* Layout of a PERF_RECORD_AUX_OUTPUT_HW_ID */
struct hw_id_record {
	struct perf_event_header header;
	uint64_t hw_id;
};

int ns_fail(struct nt_session *session, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(session->error, sizeof(session->error), fmt, ap);
	va_end(ap);
	return -1;
}

const char *nt_session_error(const struct nt_session *session)
{
	return session ? session->error : "out of memory";
}

/* ---- Records ---- */

static int take_info(struct nt_session *s, const struct pd_record *record)
{
	const struct pd_info_record *r = (const void *)record->header;
	size_t nr = (record->header->size - sizeof(*r)) / 8;
	const char *error = NULL;

	if (record->header->size < sizeof(*r))
		return ns_fail(s, "the recording is damaged: the metadata of its trace is too short");
	if (r->type == NTRACE_AUXTRACE_TYPE)
		error = ns_setup_parse(&s->setup, r->words, nr);
	else if (r->type != NT_FOREIGN_TYPE)
		return ns_fail(s, "the trace in this recording is not N-Trace, but of type %u",
			       r->type);
	else if (!s->trace.foreign)
		s->trace.foreign = nt_foreign_new(r->words, nr, &error);
	if (error)
		return ns_fail(s, "%s", error);
	s->has_setup = true;
	return 0;
}

static void take_time_conv(struct nt_session *s, const struct pd_record *record)
{
	const struct time_conv_record *r = (const void *)record->header;

	if (record->header->size >= sizeof(*r))
		s->clock = (struct nt_foreign_clock){ r->shift, r->mult, r->zero };
}

static void take_hw_id(struct nt_session *s, const struct pd_record *record)
{
	const struct hw_id_record *r = (const void *)record->header;

	if (s->trace.foreign && record->header->size >= sizeof(*r))
		nt_foreign_add_id(s->trace.foreign, record->id.cpu, r->hw_id);
}

/* Complete the metadata of a recording that another driver has made. */
static int settle_foreign(struct nt_session *s)
{
	const struct pd_feature_section *cpus = &s->pd.features[PD_FEAT_NRCPUS];
	const char *error;
	uint32_t nr_cpus = 0;
	const uint64_t *words;
	size_t i, j, nr;

	if (!s->trace.foreign)
		return 0;
	if (cpus->there && cpus->section.size >= sizeof(nr_cpus))
		memcpy(&nr_cpus, cpus->section.data, sizeof(nr_cpus));
	for (i = 0; i < s->trace.queues.nr; i++) {
		for (j = 0; j < s->trace.queues.at[i].buffers.nr; j++)
			nt_foreign_learn(s->trace.foreign, s->trace.queues.at[i].buffers.at[j].data,
					 s->trace.queues.at[i].buffers.at[j].size);
	}
	error = nt_foreign_settle(s->trace.foreign, nr_cpus, &s->clock);
	words = nt_foreign_words(s->trace.foreign, &nr);
	error = error ?: ns_setup_parse(&s->setup, words, nr);
	return error ? ns_fail(s, "%s", error) : 0;
}

/*
 * Return true for records about programs and their code. If nt_session_options::keep_records is
 * set, also return true for all other records that the kernel wrote.
 */
static bool is_sideband(const struct nt_session *s, const struct perf_event_header *header)
{
	if (ns_sideband_wants(header))
		return true;
	return s->options.keep_records && header->type < PD_HEADER_ATTR;
}

/* Take a sample, if it is of a tracepoint. Return false if out of memory. */
static bool take_sample(struct nt_session *s, const struct pd_record *record)
{
	const struct pd_attr *attr = pd_attr_of(&s->pd, record->id.id);
	struct pd_record event = *record;
	struct pd_section raw;

	if (!attr || attr->attr.type != PERF_TYPE_TRACEPOINT || !pd_sample_raw(&s->pd, record, &raw))
		return true;
	if (!ns_sideband_add_sample(&s->sideband, &s->pd.tracing, record, attr->attr.config, &raw))
		return false;
	if (!s->options.keep_events)
		return true;
	event.header = NULL;
	event.data = pd_keep(&s->pd, raw.data, raw.size);
	event.data_size = raw.size;
	return event.data && ns_array_add(&s->events, event);
}

static int take(void *ctx, const struct pd_record *record)
{
	struct nt_session *s = ctx;
	int err = 0;

	switch (record->header->type) {
	case PD_AUXTRACE_INFO:
		return take_info(s, record);
	case PD_AUXTRACE:
		err = ns_trace_add_data(&s->trace, record);
		pd_forget(&s->pd, record->data, record->data_size);
		break;
	case PERF_RECORD_AUX:
		err = ns_trace_add_aux(&s->trace, record);
		break;
	case PD_TIME_CONV:
		take_time_conv(s, record);
		break;
	case PERF_RECORD_SAMPLE:
		err = take_sample(s, record) ? 0 : -1;
		break;
	default:
		if (record->header->type == PERF_RECORD_AUX_OUTPUT_HW_ID)
			take_hw_id(s, record);
		if (is_sideband(s, record->header))
			err = ns_array_add(&s->records, *record) ? 0 : -1;
	}
	return err ? ns_fail(s, "out of memory") : 0;
}

/*
 * Compare the times of two records for qsort(). The file does not contain the records of different
 * CPUs in the order of time. Records with equal times keep the order of the file.
 */
static int record_cmp(const void *a, const void *b)
{
	const struct pd_record *x = a, *y = b;

	return ns_order(x->id.time, y->id.time) ?: ns_order(x->nr, y->nr);
}

static int read_records(struct nt_session *s, const char *path)
{
	if (pd_for_each(&s->pd, take, s))
		return s->error[0] ? -1 : ns_fail(s, "%s", s->pd.error);
	if (!s->has_setup)
		return ns_fail(s, "this recording has no N-Trace in it: record with -e ntrace//");
	if (settle_foreign(s))
		return -1;
	ns_array_sort(&s->records, record_cmp);
	ns_array_sort(&s->events, record_cmp);
	s->has_objects = true;
	if (ns_objects_init(&s->objects, &s->pd, path, &s->options))
		return ns_fail(s, "out of memory");
	if (s->options.modules && !s->objects.kallsyms)
		return ns_fail(s, "this recording has no code of the kernel, so --modules cannot be given");
	if (s->options.firmware && ns_firmware_load(s, s->options.firmware))
		return -1;
	if (ns_sideband_build(&s->sideband, &s->objects, s->records.at, s->records.nr) ||
	    ns_trace_cut(&s->trace, &s->setup, &s->pd) ||
	    ns_visits_build(&s->visits, &s->trace, &s->setup, s->records.at, s->records.nr))
		return ns_fail(s, "out of memory");
	ns_objects_note(&s->objects);
	if (s->options.keep_records)
		return 0;
	free(s->records.at);
	memset(&s->records, 0, sizeof(s->records));
	return 0;
}

/* ---- Open and close ---- */

void ns_take_options(struct nt_session *s, const struct nt_session_options *options)
{
	size_t size = options ? options->size : 0;

	if (options)
		memcpy(&s->options, options, size < sizeof(s->options) ? size : sizeof(s->options));
	if (!s->options.cache && getenv("HOME") &&
	    asprintf(&s->cache, "%s/.debug", getenv("HOME")) < 0)
		s->cache = NULL;
	s->options.cache = s->options.cache ?: s->cache;
}

int nt_session_open(struct nt_session **session, const char *path,
		    const struct nt_session_options *options)
{
	struct nt_session *s = calloc(1, sizeof(*s));

	*session = s;
	if (!s)
		return -1;
	ns_take_options(s, options);
	if (pd_open(&s->pd, path))
		return ns_fail(s, "%s", s->pd.error);
	return read_records(s, path);
}

void nt_session_close(struct nt_session *session)
{
	if (!session)
		return;
	ns_sideband_free(&session->sideband);
	if (session->has_objects)
		ns_objects_free(&session->objects);
	ns_visits_free(&session->visits);
	nt_foreign_free(session->trace.foreign);
	ns_trace_free(&session->trace);
	ns_setup_free(&session->setup);
	nt_sinks_free(session->sinks);
	free(session->traced.at);
	free(session->missing.at);
	free(session->firmware.at);
	free(session->records.at);
	free(session->events.at);
	pd_close(&session->pd);
	if (session->counted)
		session->counted->free(session->counted);
	free(session->cache);
	free(session);
}

void nt_session_info(const struct nt_session *session, struct nt_session_info *info, size_t size)
{
	const struct nt_session_info all = {
		.size = size,
		.trace_bytes = session->trace.bytes,
		.stretches = session->trace.stretches.nr,
		.lost_records = session->sideband.lost,
		.cpus = session->setup.nr_cpus,
		.buffers = session->trace.queues.nr,
		.truncated = session->pd.truncated,
		.has_kcore = session->objects.kcore.map,
		.has_time = session->setup.has_time,
		.unknown_source = (int32_t)session->unknown_source - 1,
		.wrong_clock = (int32_t)session->wrong_clock - 1,
		.missing_bytes = session->trace.missing,
		.recorder = session->trace.foreign ? nt_foreign_name(session->trace.foreign) : NULL,
		.wrapped = session->trace.wrapped,
		.old_bytes = session->trace.old,
		.host = pd_string(&session->pd, PD_FEAT_HOSTNAME),
		.kernel = pd_string(&session->pd, PD_FEAT_OSRELEASE),
	};

	memcpy(info, &all, size < sizeof(all) ? size : sizeof(all));
}

const char *nt_session_argument(const struct nt_session *session, uint32_t nth)
{
	/* skip the first sizeof(nth) bytes of the feature, which contain the number of words of the command */
	return pd_list_string(&session->pd, PD_FEAT_CMDLINE, sizeof(nth), nth);
}

/* ---- Code and symbols ---- */

static const struct ns_map *user_map(const struct nt_session *session, uint64_t space,
				     uint64_t addr)
{
	uint64_t gen = space - NS_SPACE_GENERATION;
	const struct ns_map *map = NULL;

	if (space >= NS_SPACE_GENERATION && gen < session->sideband.generations.nr)
		map = ns_generation_map(&session->sideband.generations.at[gen], addr);
	/* Also search the code of machine mode, which an encoder may trace without sending the privilege mode. */
	return map ?: ns_firmware_map(session, addr);
}

size_t nt_session_read(struct nt_session *session, uint64_t space, uint64_t addr, void *buf,
		       size_t size)
{
	const struct ns_map *map;

	if (addr >= ns_kernel_start(session))
		return space == NS_SPACE_UNKNOWN || space == NS_SPACE_FIRMWARE ? 0 :
			ns_kernel_read(&session->objects, addr, buf, size);
	map = user_map(session, space, addr);
	if (!map)
		return 0;
	if (size > map->end - addr)
		size = map->end - addr;
	return ns_object_read(&session->objects, map->object, addr - map->start + map->pgoff,
			      buf, size);
}

const struct ns_object *ns_session_object(const struct nt_session *session, uint64_t space,
					  uint64_t addr, uint64_t *offset)
{
	const struct ns_map *map;

	*offset = addr;
	if (addr >= ns_kernel_start(session))
		return space == NS_SPACE_UNKNOWN || space == NS_SPACE_FIRMWARE ? NULL :
			&session->objects.kcore;
	map = user_map(session, space, addr);
	if (!map)
		return NULL;
	*offset = addr - map->start + map->pgoff;
	return map->object;
}

void nt_session_where(struct nt_session *session, uint64_t space, uint64_t addr,
		      struct nt_place *place)
{
	struct ns_object *object = &session->objects.kcore;
	const struct ns_symbol *symbol;
	const struct ns_map *map;
	uint64_t offset, bias;

	memset(place, 0, sizeof(*place));
	place->address = addr;
	if (addr < ns_kernel_start(session)) {
		map = user_map(session, space, addr);
		if (!map)
			return;
		object = map->object;
		offset = addr - map->start + map->pgoff;
		place->address = ns_object_open(&session->objects, object) ? ns_object_address(object, offset) : offset;
	}
	bias = addr - place->address;
	symbol = ns_symbol_at(object, place->address);
	place->object = symbol && symbol->module ? symbol->module : object->path;
	if (!symbol)
		return;
	place->symbol = ns_symbol_name(&session->objects, object, symbol);
	place->linkage = symbol->name ?: place->symbol;
	place->start = symbol->start + bias;
	place->end = symbol->end + bias;
	place->offset = addr - place->start;
}

/* Compare pointers, because nt_place::object is the pointer ns_object::path, which is different for each object. */
struct ns_object *ns_session_named(struct nt_session *session, const char *object)
{
	const struct ns_objects *all = &session->objects;
	size_t i;

	for (i = 0; i < all->all.nr; i++) {
		if (all->all.at[i]->path == object)
			return ns_object_open(&session->objects, all->all.at[i]) ? all->all.at[i] : NULL;
	}
	return NULL;
}

const char *nt_session_file(struct nt_session *session, const char *object, const char **debug)
{
	const struct ns_object *found = ns_session_named(session, object);

	*debug = NULL;
	if (found && found->map)
		dwfl_module_info(found->module, NULL, NULL, NULL, NULL, NULL, NULL, debug);
	return found ? found->file : NULL;
}

const uint8_t *nt_session_build_id(struct nt_session *session, const char *object, size_t *size)
{
	const struct ns_object *found = ns_session_named(session, object);
	const unsigned char *id = NULL;
	GElf_Addr at;
	int n = found && found->map ? dwfl_module_build_id(found->module, &id, &at) : 0;

	*size = n > 0 && n <= PD_BUILD_ID_SIZE ? n : 0;
	return id;
}

bool nt_session_is_filtered(const struct nt_session *session)
{
	return session->setup.flags & NTRACE_INFO_FLAG_FILTER;
}

bool nt_session_is(struct nt_session *session, const char *object, uint64_t address, const char *pattern)
{
	struct ns_object *found = object ? ns_session_named(session, object) : NULL;
	const struct ns_symbol *symbol;

	if (object && !found)
		found = &session->objects.kcore;
	symbol = found ? ns_symbol_at(found, address) : NULL;
	return symbol ? ns_symbol_matches(&session->objects, found, symbol, pattern) :
			ns_name_of_matches(object, address, pattern);
}

void nt_session_thread(const struct nt_session *session, int32_t tid, uint64_t time, int32_t *pid,
		       const char **comm)
{
	const struct ns_era *era = ns_sideband_era(&session->sideband, tid, time);

	*pid = era ? era->pid : tid ? -1 : 0;
	*comm = era ? era->comm : tid ? "" : "swapper";
}

const char *nt_session_program(const struct nt_session *session, int32_t pid, uint64_t time)
{
	const struct ns_sideband *sb = &session->sideband;
	int64_t nth = ns_sideband_generation(sb, pid, time);
	const struct ns_map *map = NULL;

	if (nth < 0)
		return NULL;
	do {
		map = ns_maps_first(sb->generations.at[nth].maps, map ? map->end : 0);
	} while (map && map->object->path[0] != '/');
	return map ? map->object->path : NULL;
}

bool nt_filter_has_thread(const struct nt_filter *filter, uint64_t time, int32_t tid)
{
	const char *comm;
	int32_t pid;

	nt_session_thread(filter->session, tid, time, &pid, &comm);
	return (!filter->pid || (pid >= 0 && filter->pid == (unsigned long)pid)) &&
	       (!filter->comm || !fnmatch(filter->comm, comm, 0));
}

bool nt_filter_has_object(const struct nt_filter *filter, const char *object)
{
	const char *wanted = filter->object, *name;
	size_t size, part;

	if (!wanted || !object)
		return !wanted;
	size = strlen(object);
	part = strlen(wanted);
	if (part && part <= size && !strcmp(object + size - part, wanted) &&
	    (part == size || *wanted == '/' || object[size - part - 1] == '/'))
		return true;
	name = strchr(wanted, '/') ? NULL : strrchr(object, '/');
	return !fnmatch(wanted, name ? name + 1 : object, 0);
}

bool nt_filter_has_code(const struct nt_filter *filter, uint64_t space, uint64_t addr)
{
	struct nt_place place = { 0 };

	if (filter->object)
		nt_session_where((struct nt_session *)filter->session, space, addr, &place);
	return nt_filter_has_object(filter, place.object);
}

/* ---- Contents of the recording ---- */

bool nt_session_record(const struct nt_session *session, size_t nth, struct nt_record *record)
{
	const struct pd_record *r;

	if (nth >= session->records.nr)
		return false;
	r = &session->records.at[nth];
	*record = (struct nt_record){
		.data = r->header, .size = r->header->size, .time = r->id.time,
		.pid = r->id.pid, .tid = r->id.tid, .cpu = r->id.cpu,
	};
	record->size -= pd_sample_id_size(&session->pd, r);
	return true;
}

bool nt_session_feature(const struct nt_session *session, unsigned int nth, const void **data,
			size_t *size)
{
	if (nth >= PD_FEAT_MAX || !session->pd.features[nth].there)
		return false;
	*data = session->pd.features[nth].section.data;
	*size = session->pd.features[nth].section.size;
	return true;
}

static bool feature_shard(const struct nt_session *session, struct nt_shard *shard)
{
	const struct pd_feature_section *f = &session->pd.features[PD_FEAT_SHARD];
	struct pd_shard fixed;

	if (!f->there || f->section.size <= sizeof(fixed) ||
	    f->section.data[f->section.size - 1])
		return false;
	memcpy(&fixed, f->section.data, sizeof(fixed));
	*shard = (struct nt_shard){
		.id = fixed.id, .nth = fixed.nth, .of = fixed.of,
		.name = (const char *)f->section.data + sizeof(fixed),
	};
	return true;
}

bool nt_session_shard(const struct nt_session *session, size_t nth, struct nt_shard *shard)
{
	return !nth && feature_shard(session, shard);
}

const char *nt_session_folder(const struct nt_session *session)
{
	return session->pd.folder;
}

/* ---- Raw trace ---- */

/*
 * Return the index of a stretch at which to start the search for a piece of a CPU's trace. *nth is the
 * number of the piece in the trace of the CPU. Change it to the number that counts from the returned stretch.
 * The search starts at the stretch of the piece that was found last, or at stretch 0 if the piece
 * precedes that stretch or is of another CPU.
 */
static size_t begin_search(const struct nt_session *session, int cpu, size_t *nth)
{
	if (session->found.cpu != cpu || *nth < session->found.first)
		return 0;
	*nth -= session->found.first;
	return session->found.stretch;
}

bool nt_session_trace(struct nt_session *session, int cpu, size_t nth,
		      struct nt_trace_piece *piece)
{
	size_t wanted = nth, i = begin_search(session, cpu, &nth);

	for (; i < session->trace.stretches.nr; i++) {
		const struct ns_stretch *s = &session->trace.stretches.at[i];

		if (s->cpu != cpu)
			continue;
		if (nth < s->pieces.nr) {
			*piece = (struct nt_trace_piece){
				.data = s->pieces.at[nth].data, .size = s->pieces.at[nth].size,
				.begins = !nth,
			};
			session->found.cpu = cpu;
			session->found.stretch = i;
			session->found.first = wanted - nth;
			return true;
		}
		nth -= s->pieces.nr;
	}
	return false;
}

bool nt_session_cpu(struct nt_session *session, size_t nth, int *cpu,
		    struct nt_config *config)
{
	struct nt_trace_piece piece;
	const struct ns_cpu *c;
	size_t i;

	for (i = 0; i < session->setup.nr_cpus; i++) {
		c = &session->setup.cpus[i];
		if ((!session->counted && !nt_session_trace(session, c->cpu, 0, &piece)) || nth--)
			continue;
		*cpu = c->cpu;
		*config = c->nt;
		return true;
	}
	return false;
}

/* Return true if a file may contain the code. Code that was generated at run time ("//anon") is not in a file. */
static bool is_file(const char *path)
{
	return strcmp(path, "[vdso]") ? path[0] == '/' && strncmp(path, "//", 2) : true;
}

bool nt_session_missing(const struct nt_session *session, size_t nth, const char **path,
			const char **why)
{
	const struct ns_objects *all = &session->objects;
	size_t i;

	for (i = 0; i < all->all.nr; i++) {
		const struct ns_object *object = all->all.at[i];

		if (!object->opened || object->map || !is_file(object->path) || nth--)
			continue;
		*path = object->path;
		*why = object->why ? object->why : "out of memory";
		return true;
	}
	return false;
}
