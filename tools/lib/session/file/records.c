// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Read the records of perf.data one by one, and decompress compressed records. */
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

#include "perfdata-priv.h"

struct walk {
	struct perfdata	*pd;
	int		(*take)(void *ctx, const struct pd_record *record);
	void		*ctx;
	ZSTD_DStream	*zstd;
	uint8_t		*left;		/* start of a record that continues in the next chunk of decompressed bytes */
	size_t		nr_left;
	uint64_t	nr;		/* number of records that were passed to @take so far */
	uint64_t	expanded;	/* number of decompressed bytes so far */
	bool		again;		/* true if an earlier call has read the recording */
	uint8_t		*chunk;		/* newest chunk of decompressed records */
	uint64_t	record[1 << 13];	/* copy of one record of the file */
	uint64_t	moved[1 << 13];	/* copy of one decompressed record, at an aligned address */
};

/* Limits for the expansion of compressed records, so that a small file cannot use up all memory */
#define EXPANSION	256		/* maximum number of decompressed bytes for each byte of the file */
#define EXPANDED_LEAST	(64 << 20)	/* number of decompressed bytes that a file of any size may have */

/* ---- Memory ---- */

#define COPIES	(1 << 20)	/* size in bytes of the memory (chunk) to which several records are copied */

static uint8_t *new_chunk(struct perfdata *pd, size_t size)
{
	uint8_t *chunk = malloc(size);

	if (chunk && ns_array_add(&pd->chunks, chunk))
		return chunk;
	free(chunk);
	pd_fail(pd, "out of memory");
	return NULL;
}

const void *pd_keep(struct perfdata *pd, const void *data, size_t size)
{
	const size_t chunk = size > COPIES ? size : COPIES;
	uint8_t *copy;

	if (!pd->copies || pd->nr_copied + size > pd->copies_size) {
		copy = new_chunk(pd, chunk);
		if (!copy)
			return NULL;
		pd->copies = copy;
		pd->copies_size = chunk;
		pd->nr_copied = 0;
	}
	copy = pd->copies + pd->nr_copied;
	pd->nr_copied += (size + 7) & ~(size_t)7;
	return memcpy(copy, data, size);
}

/*
 * Copy a record of the file, because another process may change the file after the record was checked, and
 * because perf does not pad the features of a pipe, so that a record may be unaligned. Records of frequent
 * types, and all records of a later pass, share one buffer. Return the copy, or NULL if out of memory.
 */
static const struct perf_event_header *copy_record(struct walk *w, const uint8_t *record, uint16_t length)
{
	struct perf_event_header *copy = memcpy(w->record, record, length);

	copy->size = length;
	if (w->again || copy->type == PERF_RECORD_SAMPLE || copy->type == PD_COMPRESSED || copy->type == PD_COMPRESSED2)
		return copy;
	return pd_keep(w->pd, copy, length);
}

/* Return the length in bytes of a record, which may be unaligned. */
static uint16_t length_of(const void *record)
{
	uint16_t length;

	memcpy(&length, (const uint8_t *)record + offsetof(struct perf_event_header, size),
	       sizeof(length));
	return length;
}

/* ---- Fields that perf adds to each record ---- */

/* Fields that perf_event_attr::sample_id_all adds to the end of each record, in this order */
#define ID_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | \
			 PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)

struct cursor {
	const uint8_t	*at;
};

/* Read the next 8 bytes. Return 0 if the record is too short. */
static uint64_t cursor_next(struct cursor *c, const uint8_t *end)
{
	uint64_t word = 0;

	if (end - c->at < 8)
		return 0;
	memcpy(&word, c->at, sizeof(word));
	c->at += 8;
	return word;
}

/* Read the fields of sample type @type. They have the same order in a sample and at the end of any other record. */
static void take_fields(struct cursor *c, const uint8_t *end, uint64_t type, struct pd_sample_id *id)
{
	uint64_t word;

	if (type & PERF_SAMPLE_IP)
		cursor_next(c, end);
	if (type & PERF_SAMPLE_TID) {
		word = cursor_next(c, end);
		id->pid = (int32_t)word;
		id->tid = (int32_t)(word >> 32);
	}
	if (type & PERF_SAMPLE_TIME)
		id->time = cursor_next(c, end);
	if (type & PERF_SAMPLE_ADDR)
		cursor_next(c, end);
	if (type & PERF_SAMPLE_ID)
		id->id = cursor_next(c, end);
	if (type & PERF_SAMPLE_STREAM_ID)
		cursor_next(c, end);
	if (type & PERF_SAMPLE_CPU)
		id->cpu = (int32_t)cursor_next(c, end);
}

/* Read the fields that are at the end of a record that is not a sample (struct sample_id in perf_event.h). */
static void parse_sample_id(const struct perfdata *pd, const struct perf_event_header *header,
			    struct pd_sample_id *id)
{
	const uint8_t *end = (const uint8_t *)header + header->size;
	size_t room = header->size - sizeof(*header), size;
	uint64_t type = pd->attrs->attr.sample_type;

	if (!pd->attrs->attr.sample_id_all)
		return;
	if (type & PERF_SAMPLE_IDENTIFIER && room >= sizeof(id->id)) {
		memcpy(&id->id, end - sizeof(id->id), sizeof(id->id));
		type = pd_attr_of(pd, id->id)->attr.sample_type;
	}
	size = 8 * __builtin_popcountll(type & ID_FIELDS);
	if (size <= room)
		take_fields(&(struct cursor){ end - size }, end, type & ID_FIELDS, id);
}

static void parse_sample(const struct perfdata *pd, const struct perf_event_header *header,
			 struct pd_sample_id *id)
{
	const uint8_t *end = (const uint8_t *)header + header->size;
	struct cursor c = { .at = (const uint8_t *)(header + 1) };
	uint64_t type = pd->attrs->attr.sample_type;

	if (type & PERF_SAMPLE_IDENTIFIER) {
		id->id = cursor_next(&c, end);
		type = pd_attr_of(pd, id->id)->attr.sample_type;
	}
	take_fields(&c, end, type, id);
}

size_t pd_sample_id_size(const struct perfdata *pd, const struct pd_record *record)
{
	const struct pd_attr *attr = pd_attr_of(pd, record->id.id);
	size_t size;

	if (!attr || !attr->attr.sample_id_all)
		return 0;
	size = 8 * __builtin_popcountll(attr->attr.sample_type & ID_FIELDS);
	return size <= record->header->size - sizeof(*record->header) ? size : 0;
}

/* Skip the counter values of a sample. Return false if the sample is too short. */
static bool skip_counts(struct cursor *c, const uint8_t *end, uint64_t format)
{
	uint64_t each = 1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST), nr = 1, words = 0;

	if (format & PERF_FORMAT_GROUP) {
		nr = cursor_next(c, end);
		if (nr > 1 << 16)
			return false;
	}
	words = nr * each + !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
		!!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	if ((uint64_t)(end - c->at) / 8 < words)
		return false;
	c->at += 8 * words;
	return true;
}

/* Skip the fields that precede the raw data in PERF_RECORD_SAMPLE. perf_event.h lists the fields in their order. */
bool pd_sample_raw(const struct perfdata *pd, const struct pd_record *record, struct pd_section *raw)
{
	const uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
				PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				PERF_SAMPLE_PERIOD;
	const struct perf_event_attr *attr = &pd_attr_of(pd, record->id.id)->attr;
	const uint8_t *end = (const uint8_t *)record->header + record->header->size;
	struct cursor c = { .at = (const uint8_t *)(record->header + 1) };
	uint64_t nr, words = __builtin_popcountll(attr->sample_type & before);
	uint32_t size;

	if (!(attr->sample_type & PERF_SAMPLE_RAW) || (uint64_t)(end - c.at) / 8 < words)
		return false;
	c.at += 8 * words;
	if (attr->sample_type & PERF_SAMPLE_READ && !skip_counts(&c, end, attr->read_format))
		return false;
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN) {
		nr = cursor_next(&c, end);
		if ((uint64_t)(end - c.at) / 8 < nr)
			return false;
		c.at += 8 * nr;
	}
	if (end - c.at < (ptrdiff_t)sizeof(size))
		return false;
	memcpy(&size, c.at, sizeof(size));
	c.at += sizeof(size);
	if (size > (size_t)(end - c.at))
		return false;
	*raw = (struct pd_section){ c.at, size };
	return true;
}

/* ---- Find the CPUs of the events ---- */

/* PERF_RECORD_ID_INDEX. In a file of perf inject --guest-data, a struct id_machine for each entry follows. */
struct id_index_record {
	struct perf_event_header header;
	uint64_t	nr;
	struct {
		uint64_t id, idx, cpu, tid;
	} entries[];
};

struct id_machine {
	uint64_t	pid, vcpu;
};

static int id_cmp(const void *a, const void *b)
{
	const struct pd_id_cpu *x = a, *y = b;

	return ns_order(x->id, y->id);
}

/* Store the CPU of each event of the host, but not of events of virtual machines. Return false if out of memory. */
static bool take_id_index(struct perfdata *pd, const struct perf_event_header *header)
{
	const struct id_index_record *r = (const void *)header;
	const struct id_machine *machines;
	struct pd_id_cpu one;
	uint64_t nr, room, i;

	if (header->size < sizeof(*r))
		return true;
	room = header->size - sizeof(*r);
	nr = r->nr < room / sizeof(r->entries[0]) ? r->nr : room / sizeof(r->entries[0]);
	machines = (const void *)&r->entries[nr];
	if (room / (sizeof(r->entries[0]) + sizeof(*machines)) < nr)
		machines = NULL;
	for (i = 0; i < nr; i++) {
		one = (struct pd_id_cpu){ r->entries[i].id, r->entries[i].cpu };
		if (r->entries[i].cpu <= INT32_MAX && (!machines || !machines[i].pid) &&
		    !ns_array_add(&pd->id_cpus, one))
			return false;
	}
	pd->id_cpus_sorted = false;
	return true;
}

/* Return the CPU of the event with the id @id, or -1 if PERF_RECORD_ID_INDEX has no CPU of this event. */
static int32_t cpu_of_id(struct perfdata *pd, uint64_t id)
{
	size_t nth;

	if (!pd->id_cpus_sorted)
		ns_array_sort(&pd->id_cpus, id_cmp);
	pd->id_cpus_sorted = true;
	nth = ns_lower_bound(pd->id_cpus.nr, pd->id_cpus.at[i].id < id);
	return nth < pd->id_cpus.nr && pd->id_cpus.at[nth].id == id ? pd->id_cpus.at[nth].cpu : -1;
}

static int give(struct walk *w, const struct perf_event_header *header, const uint8_t *data,
		size_t data_size)
{
	struct pd_record record = {
		.header = header,
		.data = data,
		.data_size = data_size,
		.id = { .pid = -1, .tid = -1, .cpu = -1 },
		.nr = w->nr++,
	};

	if (w->pd->nr_attrs && header->type == PERF_RECORD_SAMPLE)
		parse_sample(w->pd, header, &record.id);
	else if (w->pd->nr_attrs && header->type < PD_HEADER_ATTR)
		parse_sample_id(w->pd, header, &record.id);
	/* replace a time of UINT64_MAX by 0, because this library uses UINT64_MAX as a time after all other times */
	if (record.id.time == UINT64_MAX)
		record.id.time = 0;
	if (record.id.cpu < 0 && record.id.id)
		record.id.cpu = cpu_of_id(w->pd, record.id.id);
	if (header->type == PD_ID_INDEX && !take_id_index(w->pd, header))
		return pd_fail(w->pd, "out of memory");
	return w->take(w->ctx, &record);
}

/* ---- Records that perf writes only to a pipe; a file has their contents in its header ---- */

static int take_attr(struct perfdata *pd, const struct perf_event_header *header)
{
	const uint8_t *attr = (const uint8_t *)(header + 1);
	size_t size = header->size - sizeof(*header);
	uint32_t attr_size;

	if (size < PERF_ATTR_SIZE_VER0)
		return pd_fail(pd, "the recording is damaged: the record of an event is too short");
	memcpy(&attr_size, attr + 4, sizeof(attr_size));
	if (attr_size < PERF_ATTR_SIZE_VER0 || attr_size > size)
		return pd_fail(pd, "the recording is damaged: an event has %u bytes", attr_size);
	return pd_add_attr(pd, attr, attr_size, attr + attr_size, (size - attr_size) / 8);
}

static void take_feature(struct perfdata *pd, const struct perf_event_header *header)
{
	uint64_t feature;

	if (header->size < sizeof(*header) + sizeof(feature))
		return;
	memcpy(&feature, header + 1, sizeof(feature));
	if (feature >= PD_FEAT_MAX)
		return;
	pd->features[feature].there = true;
	pd->features[feature].section = (struct pd_section){
		.data = (const uint8_t *)(header + 1) + sizeof(feature),
		.size = header->size - sizeof(*header) - sizeof(feature),
	};
}

static int take_meta(struct perfdata *pd, const struct perf_event_header *header,
		     const struct pd_section *after)
{
	switch (header->type) {
	case PD_TRACING_DATA:
		pd->tracing = (struct pd_section){ pd_keep(pd, after->data, after->size), after->size };
		return pd->tracing.data ? 0 : -1;
	case PD_HEADER_ATTR:
		return take_attr(pd, header);
	case PD_FEATURE:
		take_feature(pd, header);
		return 0;
	case PD_BUILD_ID:
		return pd_add_build_id(pd, header);
	}
	return 0;
}

/* ---- Compressed records ---- */

static int walk_chunk(struct walk *w, uint8_t *bytes, size_t size)
{
	const struct perf_event_header *header;
	uint16_t length;
	size_t at = 0;
	int ret;

	while (size - at >= sizeof(*header)) {
		header = (const struct perf_event_header *)(bytes + at);
		length = length_of(header);
		if (length < sizeof(*header))
			return pd_fail(w->pd, "the recording is damaged: a compressed record has %u bytes",
				       length);
		if (length > size - at)
			break;
		/* copy an unaligned record, because perf does not pad records before it compresses them */
		if ((uintptr_t)header % 8)
			header = w->again ? memcpy(w->moved, header, length) : pd_keep(w->pd, header, length);
		ret = header ? give(w, header, NULL, 0) : -1;
		if (ret)
			return ret;
		at += length;
	}
	w->left = bytes + at;
	w->nr_left = size - at;
	return 0;
}

/* Return a new chunk that begins with the incomplete record of the old one. Free the old chunk in pd_each_again(). */
static uint8_t *next_chunk(struct walk *w, size_t size)
{
	uint8_t *chunk = new_chunk(w->pd, size), *before = w->chunk;

	if (!chunk)
		return NULL;
	if (w->nr_left)
		memcpy(chunk, w->left, w->nr_left);
	w->chunk = chunk;
	if (before && w->again) {
		w->pd->chunks.nr--;
		w->pd->chunks.at[w->pd->chunks.nr - 1] = chunk;
		free(before);
	}
	return chunk;
}

/*
 * Decompress data into chunks. Each chunk starts with the incomplete record at the end of the previous
 * chunk, followed by as much decompressed data as fits.
 */
static int walk_compressed(struct walk *w, const uint8_t *data, size_t size)
{
	ZSTD_inBuffer in = { .src = data, .size = size };
	ZSTD_outBuffer out;
	size_t ret, full;
	int err;

	if (!w->zstd)
		w->zstd = ZSTD_createDStream();
	if (!w->zstd)
		return pd_fail(w->pd, "out of memory");
	do {
		out.size = w->nr_left + (1 << 16) + 8 * size;
		out.dst = next_chunk(w, out.size);
		if (!out.dst)
			return -1;
		out.pos = w->nr_left;
		ret = ZSTD_decompressStream(w->zstd, &out, &in);
		if (ZSTD_isError(ret))
			return pd_fail(w->pd, "the recording is damaged: zstd reports '%s'",
				       ZSTD_getErrorName(ret));
		w->expanded += out.pos - w->nr_left;
		if (w->expanded > EXPANDED_LEAST + EXPANSION * (uint64_t)w->pd->size)
			return pd_fail(w->pd, "the recording is damaged: its compressed records expand to more than %d times its size",
				       EXPANSION);
		full = out.pos == out.size;
		err = walk_chunk(w, out.dst, out.pos);
		if (err)
			return err;
	} while (in.pos < in.size || full);
	return 0;
}

/* ---- Read all records ---- */

/*
 * Set *size to the number of bytes that follow a record and belong to it. These bytes are trace, or the
 * formats of tracepoints in a pipe. Return 0, or -1 if the record is damaged.
 */
static int payload(struct perfdata *pd, const struct perf_event_header *header, size_t *size)
{
	struct pd_auxtrace_record aux;
	uint32_t tracing = 0;

	*size = 0;
	if (header->type == PD_TRACING_DATA && header->size >= sizeof(*header) + 4) {
		memcpy(&tracing, header + 1, sizeof(tracing));
		*size = (tracing + 7UL) & ~7UL;
	} else if (header->type == PD_AUXTRACE) {
		if (header->size < sizeof(aux))
			return pd_fail(pd, "the recording is damaged: a record of trace is too short");
		memcpy(&aux, header, sizeof(aux));
		if ((int64_t)aux.size < 0 || aux.size % 8)
			return pd_fail(pd, "the recording is damaged: a record claims %#llx bytes of trace",
				       (unsigned long long)aux.size);
		*size = aux.size;
	}
	return 0;
}

static int walk_record(struct walk *w, const struct perf_event_header *header,
		       const uint8_t *data, size_t size)
{
	const struct pd_section after = { data, size };
	uint64_t compressed;
	int err;

	switch (header->type) {
	case PD_COMPRESSED:
		return walk_compressed(w, (const uint8_t *)(header + 1),
				       header->size - sizeof(*header));
	case PD_COMPRESSED2:
		if (header->size < sizeof(*header) + sizeof(compressed))
			return pd_fail(w->pd, "the recording is damaged: a compressed record is too short");
		memcpy(&compressed, header + 1, sizeof(compressed));
		if (compressed > header->size - sizeof(*header) - sizeof(compressed))
			return pd_fail(w->pd, "the recording is damaged: a compressed record is cut");
		return walk_compressed(w, (const uint8_t *)(header + 1) + sizeof(compressed),
				       compressed);
	}
	err = w->pd->pipe && !w->again ? take_meta(w->pd, header, &after) : 0;
	return err ?: give(w, header, data, size);
}

static int walk_records(struct walk *w)
{
	const struct pd_section *all = &w->pd->data;
	const struct perf_event_header *header;
	size_t at = 0, after, rest;
	uint16_t length;
	int ret;

	while (all->size - at >= sizeof(*header)) {
		header = (const struct perf_event_header *)(all->data + at);
		length = length_of(header);
		rest = all->size - at;
		if (length < sizeof(*header)) {
			/* a file that was cut short, or whose end was not written, has zeros instead of a record */
			w->pd->truncated = true;
			return at ? 0 : pd_fail(w->pd, "the recording is damaged: a record has %u bytes",
						length);
		}
		if (length > rest)
			break;
		header = copy_record(w, all->data + at, length);
		ret = header ? payload(w->pd, header, &after) : -1;
		if (ret)
			return ret;
		if (after > rest - length) {
			w->pd->truncated = true;
			after = rest - length;
		}
		ret = walk_record(w, header, all->data + at + length, after);
		if (ret)
			return ret;
		pd_forget(w->pd, all->data + at, length);
		at += length + after;
	}
	w->pd->truncated |= at < all->size;
	return 0;
}

static int walk_all(struct walk *w)
{
	int ret = walk_records(w);

	ZSTD_freeDStream(w->zstd);
	return ret;
}

int pd_for_each(struct perfdata *pd, int (*take)(void *ctx, const struct pd_record *record), void *ctx)
{
	return walk_all(&(struct walk){ .pd = pd, .take = take, .ctx = ctx });
}

int pd_each_again(struct perfdata *pd, int (*take)(void *ctx, const struct pd_record *record), void *ctx)
{
	return walk_all(&(struct walk){ .pd = pd, .take = take, .ctx = ctx, .again = true });
}
