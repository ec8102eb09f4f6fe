// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Split a recording into files (shards). The library reads it once, and writes each record to the shards that need it.
 * The kernel's tools/perf/Documentation/perf.data-file-format.txt describes the format.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "perfdata-write.h"
#include "session/session-priv.h"
#include "split.h"

#define LOST	(PERF_AUX_FLAG_TRUNCATED | PERF_AUX_FLAG_PARTIAL)

/* A cut is the start of a shard, and also the start of a stretch. Shards are in the order of stretches. */
struct split_cut {
	uint32_t	queue;
	uint64_t	offset;
	const struct ns_stretch *before;	/* the previous stretch of the same AUX buffer; NULL: none */
};

/* An entry of feature AUXTRACE, which is an index of the trace in the file */
struct entry {
	/* position of a PERF_RECORD_AUXTRACE in the file, and size of the record without the trace */
	uint64_t	offset, size;
};

struct shard {
	struct pd_writer file;
	const struct split_cut *from, *to;
	NS_ARRAY(struct entry) index;	/* entries of AUXTRACE; the first contains the number of the others */
};

struct split {
	struct nt_session *session;
	const struct nt_split_options *options;
	struct split_cut *cuts;
	struct shard	*shards;
	NS_ARRAY(uint8_t) build_ids;	/* build-id records of a pipe; each shard gets them as a feature */
	uint64_t	id;
	int		error;		/* errno of the first failure; 0: none */
};

static void fail(struct split *split)
{
	if (!split->error)
		split->error = errno;
}

static void put(struct split *split, struct shard *shard, const void *data, size_t size)
{
	if (pd_write(&shard->file, data, size))
		fail(split);
}

/* ---- Find the bytes of an AUX buffer that belong to one output file (shard) ---- */

struct window {
	uint64_t from, to;
};

static struct window window_of(const struct shard *shard, uint32_t queue)
{
	struct window w = { .to = UINT64_MAX };

	if (queue < shard->from->queue || queue > shard->to->queue)
		return (struct window){ 0 };
	if (queue == shard->from->queue)
		w.from = shard->from->offset;
	if (queue == shard->to->queue)
		w.to = shard->to->offset;
	return w;
}

/* ---- Copy records to the shards that need them ---- */

/* Return the offset of the end of the trace in a record, without the zeros that pad its size to a multiple of 8. */
static uint64_t trace_end(const struct ns_queue *q, uint64_t begin, const uint8_t *data)
{
	size_t nth = ns_lower_bound(q->buffers.nr, q->buffers.at[i].offset < begin);

	for (; nth < q->buffers.nr && q->buffers.at[nth].offset == begin; nth++) {
		if (q->buffers.at[nth].data == data)
			return begin + q->buffers.at[nth].size;
	}
	return begin;
}

static void put_bytes(struct split *split, struct shard *shard, const struct pd_record *record,
		      uint64_t from, uint64_t to)
{
	struct pd_auxtrace_record r = *(const struct pd_auxtrace_record *)record->header;
	uint64_t begin = r.offset, zeros = 0;

	if ((!shard->index.nr && !ns_array_add(&shard->index, (struct entry){ 0 })) ||
	    !ns_array_add(&shard->index, ((struct entry){ shard->file.at, r.header.size })))
		fail(split);
	/* perf requires a size that is a multiple of 8 */
	r.offset = from;
	r.size = (to - from + 7) & ~7ULL;
	put(split, shard, &r, sizeof(r));
	put(split, shard, (const uint8_t *)record->header + sizeof(r),
		 r.header.size - sizeof(r));
	put(split, shard, record->data + (from - begin), to - from);
	put(split, shard, &zeros, r.size - (to - from));
}

static void put_trace(struct split *split, const struct pd_record *record)
{
	const struct pd_auxtrace_record *r = (const void *)record->header;
	struct ns_trace *trace = &split->session->trace;
	int64_t queue = ns_trace_queue(trace, (int32_t)r->cpu, (int32_t)r->tid);
	uint64_t from, to, end;
	struct window w;
	unsigned int i;

	if (queue < 0 || record->header->size < sizeof(*r))
		return;
	end = trace_end(&trace->queues.at[queue], r->offset, record->data);
	for (i = 0; i < split->options->shards; i++) {
		w = window_of(&split->shards[i], queue);
		from = w.from > r->offset ? w.from : r->offset;
		to = w.to < end ? w.to : end;
		if (from < to)
			put_bytes(split, &split->shards[i], record, from, to);
	}
	pd_forget(&split->session->pd, record->data, record->data_size);
}

static void put_aux(struct split *split, struct shard *shard, const struct pd_record *record,
		    const struct pd_aux_record *aux)
{
	put(split, shard, aux, sizeof(*aux));
	put(split, shard, (const uint8_t *)record->header + sizeof(*aux),
		 record->header->size - sizeof(*aux));
}

/*
 * Write the AUX record of the stretch before the shard's first stretch, but not the trace of this stretch. A
 * decoder needs the time of the record, because the first stretch cannot have started earlier.
 */
static void put_before(struct split *split, struct shard *shard, const struct pd_record *record,
		       struct pd_aux_record aux)
{
	/*
	 * Clear the flags of a loss, because the previous shard counts this loss. Without the flags, the trace of the
	 * first stretch would seem to follow the trace of this record without a loss. Therefore change the size or the
	 * offset in the record, so that one byte is missing between the two.
	 */
	if (aux.flags & LOST || !aux.size) {
		if (!aux.size && aux.offset < 2)
			return;
		aux.offset -= aux.size ? 0 : 2;
		aux.size = aux.size > 1 ? aux.size - 1 : 1;
	}
	aux.flags &= ~(uint64_t)LOST;
	put_aux(split, shard, record, &aux);
}

static void put_aux_to(struct split *split, struct shard *shard, const struct pd_record *record,
		       int64_t queue, uint64_t begin)
{
	const struct pd_aux_record *aux = (const void *)record->header;
	const struct ns_stretch *before = shard->from->before;
	struct window w = window_of(shard, queue);

	if (begin >= w.from && begin < w.to)
		put_aux(split, shard, record, aux);
	else if (before && before->queue == queue && before->offset == begin &&
		 before->end == record->id.time && shard->from->queue == queue)
		put_before(split, shard, record, *aux);
}

static void split_aux(struct split *split, const struct pd_record *record)
{
	const struct pd_aux_record *aux = (const void *)record->header;
	int64_t queue = ns_trace_queue(&split->session->trace, record->id.cpu, record->id.tid);
	uint64_t begin;
	unsigned int i;

	if (record->header->size < sizeof(*aux) || queue < 0)
		return;
	/* in snapshot mode the offset is the end of the trace */
	begin = aux->offset;
	if (aux->flags & PERF_AUX_FLAG_OVERWRITE)
		begin -= begin < aux->size ? begin : aux->size;
	for (i = 0; i < split->options->shards; i++)
		put_aux_to(split, &split->shards[i], record, queue, begin);
}

/*
 * Return true for a record that perf writes only to a pipe. A file, such as a shard, has the contents of this record in
 * its header, so the caller does not copy the record. Store the record if it contains a build id.
 */
static bool take_meta(struct split *split, const struct pd_record *record)
{
	const uint8_t *byte = (const uint8_t *)record->header;
	unsigned int i;

	switch (record->header->type) {
	case PD_BUILD_ID:
		for (i = 0; i < record->header->size; i++)
			if (!ns_array_add(&split->build_ids, byte[i]))
				fail(split);
		return true;
	case PD_TRACING_DATA:
	case PD_HEADER_ATTR:
	case PD_FEATURE:
		return true;
	}
	return false;
}

static int split_record(void *ctx, const struct pd_record *record)
{
	struct split *split = ctx;
	unsigned int i;

	switch (record->header->type) {
	case PD_AUXTRACE:
		put_trace(split, record);
		break;
	case PERF_RECORD_AUX:
		split_aux(split, record);
		break;
	default:
		if (take_meta(split, record))
			break;
		for (i = 0; i < split->options->shards; i++)
			put(split, &split->shards[i], record->header, record->header->size);
	}
	return split->error ? -1 : 0;
}

/* ---- Write the features of a shard ---- */

/* Copy the features of the recording, except those that describe the format of its records. */
static void make_features(const struct split *split, struct pd_feature_section *features)
{
	memcpy(features, split->session->pd.features, PD_FEAT_MAX * sizeof(*features));
	features[PD_FEAT_AUXTRACE].there = false;
	features[PD_FEAT_COMPRESSED].there = false;
	if (split->build_ids.nr)
		features[PD_FEAT_BUILD_ID] = (struct pd_feature_section){
			{ split->build_ids.at, split->build_ids.nr }, true };
	if (split->session->pd.tracing.size)
		features[PD_FEAT_TRACING_DATA] = (struct pd_feature_section){ split->session->pd.tracing, true };
}

static int finish_shard(struct split *split, struct shard *shard)
{
	const char *name = split->options->name;
	size_t size = sizeof(struct pd_shard) + strlen(name) + 1;
	struct pd_feature_section features[PD_FEAT_MAX];
	struct pd_shard *said = calloc(1, size);
	int err;

	if (!said)
		return -1;
	said->id = split->id;
	said->nth = shard - split->shards + 1;
	said->of = split->options->shards;
	memcpy(said->name, name, strlen(name));
	make_features(split, features);
	if (shard->index.nr) {
		shard->index.at[0].size = shard->index.nr - 1;
		features[PD_FEAT_AUXTRACE] = (struct pd_feature_section){
			{ (const uint8_t *)&shard->index.at[0].size,
			  shard->index.nr * sizeof(*shard->index.at) - sizeof(uint64_t) }, true };
	}
	features[PD_FEAT_SHARD] = (struct pd_feature_section){ { (const uint8_t *)said, size }, true };
	err = pd_write_features(&shard->file, features);
	free(said);
	return err;
}

/* ---- Choose where each shard starts ---- */

static uint64_t bytes_of(const struct ns_stretch *s)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < s->pieces.nr; i++)
		bytes += s->pieces.at[i].size;
	return bytes;
}

/*
 * Choose the starts of the shards (cuts), so that all shards have about the same number of bytes of trace. The first
 * cut is at the start of the trace, and the last cut is after all trace.
 */
static void choose_cuts(struct split *split)
{
	const struct ns_trace *trace = &split->session->trace;
	const struct ns_stretch *s, *before = NULL, *end = trace->stretches.at + trace->stretches.nr;
	unsigned int shards = split->options->shards, next = 1;
	uint64_t all = 0, done = 0;

	for (s = trace->stretches.at; s < end; s++)
		all += bytes_of(s);
	for (s = trace->stretches.at; s < end; before = s++) {
		if (before && before->queue != s->queue)
			before = NULL;
		/*
		 * if a ring of another driver has wrapped, one AUX record may have been divided into two stretches,
		 * which must be in the same shard, so cut only between AUX buffers
		 */
		while ((!before || !trace->wrapped) && next < shards &&
		       (uint64_t)((unsigned __int128)all * next / shards) <= done)
			split->cuts[next++] = (struct split_cut){
				s->queue, before ? s->offset : 0, before };
		done += bytes_of(s);
	}
	for (; next <= shards; next++)
		split->cuts[next] = (struct split_cut){ .queue = UINT32_MAX };
}

/* ---- Create the files of the shards, and write them ---- */

static int create_shard(struct split *split, unsigned int nth)
{
	const struct perfdata *pd = &split->session->pd;
	struct shard *shard = &split->shards[nth];
	char path[PATH_MAX];

	shard->from = &split->cuts[nth];
	shard->to = &split->cuts[nth + 1];
	if (snprintf(path, sizeof(path), "%s/%u.data", split->options->folder, nth + 1) >= PATH_MAX)
		return ns_fail(split->session, "the name of the folder is too long");
	if (pd_write_create(&shard->file, path, pd->folder, pd->attrs, pd->nr_attrs) ||
	    (pd->folder && pd_write_kernel(&shard->file, pd->folder)))
		return ns_fail(split->session, "writing %s failed: %s", path, whole_file_strerror(errno));
	return 0;
}

static void hash(uint64_t *id, uint64_t word)
{
	*id = (*id ^ word) * 0x9e3779b97f4a7c15ULL;
	*id ^= *id >> 29;
}

/* Return a number that identifies the recording and the way in which it was split. */
static uint64_t make_id(const struct nt_session *session, const struct split_cut *cuts,
			unsigned int shards)
{
	const struct ns_stretch *s = session->trace.stretches.at, *end = s + session->trace.stretches.nr;
	uint64_t id = session->trace.bytes + shards;
	unsigned int i;

	for (; s < end; s++) {
		hash(&id, s->offset);
		hash(&id, s->size ^ s->flags << 56);
		hash(&id, s->end);
	}
	for (i = 0; i < shards; i++) {
		hash(&id, cuts[i].queue);
		hash(&id, cuts[i].offset);
	}
	return id;
}

static int write_shards(struct split *split)
{
	struct perfdata *pd = &split->session->pd;
	unsigned int i;
	int err = pd_each_again(pd, split_record, split);

	for (i = 0; !err && !split->error && i < split->options->shards; i++) {
		/* write all data to the disk, so that a full disk is reported before the first shard gets its name */
		if (finish_shard(split, &split->shards[i]) || fsync(split->shards[i].file.fd))
			fail(split);
	}
	/* rename the shards to their final names when all are complete */
	for (i = 0; !err && !split->error && i < split->options->shards; i++) {
		if (pd_write_close(&split->shards[i].file, NULL, true))
			fail(split);
	}
	if (split->error)
		return ns_fail(split->session, "writing %s failed: %s", split->options->folder,
			       whole_file_strerror(split->error));
	return err ? ns_fail(split->session, "%s", pd->error) : 0;
}

static int run_split(struct split *split)
{
	unsigned int shards = split->options->shards, created = 0, i;
	int err = 0;

	split->cuts = calloc(shards + 1, sizeof(*split->cuts));
	split->shards = calloc(shards, sizeof(*split->shards));
	if (!split->cuts || !split->shards)
		return ns_fail(split->session, "out of memory");
	choose_cuts(split);
	split->id = make_id(split->session, split->cuts, shards);
	for (i = 0; !err && i < shards; i++) {
		err = create_shard(split, i);
		created = i + 1;
	}
	if (!err)
		err = write_shards(split);
	for (i = 0; err && i < created; i++)
		pd_write_close(&split->shards[i].file, NULL, false);
	return err;
}

int nt_session_split(struct nt_session *session, const struct nt_split_options *options)
{
	struct split split = { .session = session, .options = options };
	struct nt_shard shard;
	unsigned int i;
	int err, empty = 0;

	if (nt_session_shard(session, 0, &shard))
		return ns_fail(session, "this is shard %u of %u of %s, and a shard cannot be split",
			       shard.nth, shard.of, shard.name);
	if (!options->shards || options->shards > NT_SHARDS_MAX)
		return ns_fail(session, "there can be 1 to %u shards", NT_SHARDS_MAX);
	err = run_split(&split);
	for (i = 0; split.shards && i < options->shards; i++) {
		empty += !split.shards[i].index.nr;
		free(split.shards[i].index.at);
	}
	free(split.cuts);
	free(split.shards);
	free(split.build_ids.at);
	return err ?: empty;
}
