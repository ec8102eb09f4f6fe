// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The file: a header, the events, records one after the other, features. It is described in the
 * kernel's tools/perf/Documentation/perf.data-file-format.txt.
 *
 * The size of the records is written last. A disk may be full at any time: what was written of whole
 * records stays, and a reserve makes room for the events that the rings still have and the features.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "recorder-priv.h"

#define RESERVE		(1 << 20)

/* ---- A file that is there already ---- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(path);
}

/* Keep one older recording, as perf does */
static int keep_old(struct nt_recorder *r, const char *path)
{
	char data[PATH_MAX], old[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	snprintf(data, sizeof(data), "%s/data", path);
	if (S_ISDIR(st.st_mode) && access(data, F_OK))
		return rec_fail(r, "%s is a folder, and no recording", path);
	snprintf(old, sizeof(old), "%s.old", path);
	nftw(old, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return rename(path, old) ? rec_fail(r, "%s: %s", old, strerror(errno)) : 0;
}

/* ---- Bytes ---- */

/* How many bytes were written; fewer than asked for: out->error says why */
static size_t put(struct rec_output *out, const struct iovec *pieces, int nr)
{
	struct iovec left[4];
	size_t done = 0;
	ssize_t n;
	int i = 0;

	memcpy(left, pieces, nr * sizeof(*left));
	while (i < nr) {
		if (!left[i].iov_len) {
			i++;
			continue;
		}
		n = writev(out->fd, left + i, nr - i);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			out->error = n ? errno : ENOSPC;
			return done;
		}
		done += n;
		for (; i < nr && (size_t)n >= left[i].iov_len; i++)
			n -= left[i].iov_len;
		if (i < nr) {
			left[i].iov_base = (char *)left[i].iov_base + n;
			left[i].iov_len -= n;
		}
	}
	return done;
}

/* After a failure: the file ends at out->at, and there is room for the end of it */
static int cut(struct nt_recorder *r)
{
	struct rec_output *out = &r->out;

	if (out->reserve >= 0)
		close(out->reserve);
	out->reserve = -1;
	if (!ftruncate(out->fd, out->at))
		lseek(out->fd, out->at, SEEK_SET);
	return rec_fail(r, "writing %s failed: %s. What was recorded up to then can be read",
			out->path, strerror(out->error));
}

/* ---- Begin ---- */

static void make_reserve(struct rec_output *out)
{
	char folder[PATH_MAX], *slash;

	snprintf(folder, sizeof(folder), "%s", out->path);
	slash = strrchr(folder, '/');
	snprintf(slash ? slash + 1 : folder, 2, "%s", ".");
	out->reserve = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (out->reserve < 0 || !fallocate(out->reserve, 0, 0, RESERVE))
		return;
	close(out->reserve);
	out->reserve = -1;
}

int rec_output_open(struct nt_recorder *r, const char *path)
{
	struct rec_output *out = &r->out;

	if (keep_old(r, path))
		return -1;
	snprintf(out->path, sizeof(out->path), "%s", path);
	if (*r->folder) {
		if (mkdir(path, 0700))
			return rec_fail(r, "%s: %s", path, strerror(errno));
		if (snprintf(out->path, sizeof(out->path), "%s/data", path) >= PATH_MAX)
			return rec_fail(r, "%s: the name is too long", path);
	}
	out->fd = open(out->path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (out->fd < 0)
		return rec_fail(r, "%s: %s", out->path, strerror(errno));
	if (lseek(out->fd, 0, SEEK_CUR) < 0)
		return rec_fail(r, "%s is a pipe: -o names a file", out->path);
	make_reserve(out);
	return 0;
}

void rec_output_close(struct nt_recorder *r)
{
	struct rec_output *out = &r->out;

	if (out->reserve >= 0)
		close(out->reserve);
	if (out->fd >= 0)
		close(out->fd);
	out->reserve = out->fd = -1;
	free(out->chunks.at);
}

static void header_of(const struct nt_recorder *r, struct pd_file_header *header)
{
	const size_t each = sizeof(struct perf_event_attr) + sizeof(struct pd_file_section);
	uint64_t ids = 0;
	size_t i;

	for (i = 0; i < r->nr_events; i++)
		ids += r->events[i].nr_ids;
	*header = (struct pd_file_header){
		.magic = PD_MAGIC, .size = sizeof(*header), .attr_size = each,
		.attrs = { .offset = sizeof(*header) + 8 * ids, .size = r->nr_events * each },
	};
	header->data.offset = header->attrs.offset + header->attrs.size;
}

static int put_part(struct nt_recorder *r, const void *data, size_t size)
{
	const struct iovec part = { (void *)data, size };

	if (put(&r->out, &part, 1) == size)
		return 0;
	return rec_fail(r, "writing %s failed: %s", r->out.path, strerror(r->out.error));
}

int rec_output_events(struct nt_recorder *r)
{
	struct pd_file_section ids = { .offset = sizeof(struct pd_file_header) };
	const struct rec_event *e;
	struct pd_file_header header;

	header_of(r, &header);
	if (put_part(r, &header, sizeof(header)))
		return -1;
	for (e = r->events; e < r->events + r->nr_events; e++) {
		if (put_part(r, e->ids, 8 * e->nr_ids))
			return -1;
	}
	for (e = r->events; e < r->events + r->nr_events; e++) {
		ids.size = 8 * e->nr_ids;
		if (put_part(r, &e->attr, sizeof(e->attr)) || put_part(r, &ids, sizeof(ids)))
			return -1;
		ids.offset += ids.size;
	}
	r->out.data_at = r->out.at = header.data.offset;
	return 0;
}

/* ---- Records ---- */

/* Bytes of the pieces up to @done that are whole records; none is cut in two within its header */
static size_t whole_records(const struct rec_piece pieces[2], size_t done)
{
	const struct perf_event_header *header;
	size_t whole = 0;

	while (done - whole >= sizeof(*header)) {
		header = whole < pieces[0].size ?
			 (const void *)((const char *)pieces[0].data + whole) :
			 (const void *)((const char *)pieces[1].data + whole - pieces[0].size);
		if (header->size < sizeof(*header) || header->size > done - whole)
			break;
		whole += header->size;
	}
	return whole;
}

int rec_output_records(struct nt_recorder *r, const struct rec_piece pieces[2])
{
	const struct iovec all[] = {
		{ (void *)pieces[0].data, pieces[0].size },
		{ (void *)pieces[1].data, pieces[1].size },
	};
	size_t size = pieces[0].size + pieces[1].size, done = put(&r->out, all, 2);

	if (done == size) {
		r->out.at += size;
		return 0;
	}
	r->out.at += whole_records(pieces, done);
	return cut(r);
}

int rec_output_record(struct nt_recorder *r, const void *record, size_t size)
{
	const struct rec_piece pieces[2] = { { record, size } };

	return rec_output_records(r, pieces);
}

/* A part of the trace was written: the record says that it has as much */
static int keep_part(struct nt_recorder *r, struct pd_auxtrace_record *record, size_t done)
{
	struct rec_output *out = &r->out;
	struct rec_chunk chunk = { .offset = out->at, .size = sizeof(*record) };

	if (done >= sizeof(*record) + 8) {
		record->size = (done - sizeof(*record)) & ~7ULL;
		if (pwrite(out->fd, record, sizeof(*record), out->at) == sizeof(*record) &&
		    ns_array_add(&out->chunks, chunk)) {
			out->at += sizeof(*record) + record->size;
			r->info.trace_bytes += record->size;
		}
	}
	return cut(r);
}

int rec_output_trace(struct nt_recorder *r, uint64_t offset, uint32_t idx, int32_t tid,
		     int32_t cpu, const struct rec_piece pieces[2])
{
	static const uint64_t zero;
	struct pd_auxtrace_record record = {
		.header = { .type = PD_AUXTRACE, .size = sizeof(record) },
		.size = pieces[0].size + pieces[1].size, .offset = offset,
		.idx = idx, .tid = tid, .cpu = cpu,
	};
	const size_t trace = record.size, padding = -trace % 8;
	const struct iovec all[] = {
		{ &record, sizeof(record) },
		{ (void *)pieces[0].data, pieces[0].size },
		{ (void *)pieces[1].data, pieces[1].size },
		{ (void *)&zero, padding },
	};
	struct rec_chunk chunk = { .offset = r->out.at, .size = sizeof(record) };
	size_t done;

	record.size += padding;
	done = put(&r->out, all, 4);
	if (done != sizeof(record) + record.size)
		return keep_part(r, &record, done);
	r->out.at += done;
	r->info.trace_bytes += trace;
	return ns_array_add(&r->out.chunks, chunk) ? 0 : rec_fail(r, "out of memory");
}

/* ---- End ---- */

static int put_header(struct nt_recorder *r, const uint64_t *features)
{
	struct pd_file_header header;

	header_of(r, &header);
	header.data.size = r->out.at - header.data.offset;
	memcpy(header.features, features, sizeof(header.features));
	if (pwrite(r->out.fd, &header, sizeof(header), 0) == sizeof(header))
		return 0;
	return rec_fail(r, "writing %s failed: %s", r->out.path, strerror(errno));
}

/* A section for each feature, by its number, and then what they have */
static int put_features(struct nt_recorder *r, struct rec_text *texts, uint64_t *features)
{
	struct pd_file_section section;
	unsigned int i, nr = 0;
	int err = 0;

	for (i = 0; i < PD_FEAT_MAX; i++)
		nr += features[i / 64] >> (i % 64) & 1;
	section.offset = r->out.at + nr * sizeof(section);
	for (i = 0; !err && i < PD_FEAT_MAX; i++) {
		if (!(features[i / 64] >> (i % 64) & 1))
			continue;
		section.size = texts[i].bytes.nr;
		err = put_part(r, &section, sizeof(section));
		section.offset += section.size;
	}
	for (i = 0; !err && i < PD_FEAT_MAX; i++)
		err = put_part(r, texts[i].bytes.at, texts[i].bytes.nr);
	return err;
}

/*
 * The header says what there is before the features are made, as build ids come from the file
 * itself. Without room for the features, a reader has the records all the same.
 */
int rec_output_finish(struct nt_recorder *r)
{
	struct rec_text *texts = calloc(PD_FEAT_MAX, sizeof(*texts));
	uint64_t features[PD_FEAT_MAX / 64] = { 0 };
	unsigned int i;
	int err;

	if (!texts)
		return rec_fail(r, "out of memory");
	if (r->out.reserve >= 0)
		close(r->out.reserve);
	r->out.reserve = -1;
	err = put_header(r, features);
	for (i = 0; !err && i < PD_FEAT_MAX; i++) {
		if (rec_feature(r, i, &texts[i]) && !texts[i].failed)
			features[i / 64] |= 1ULL << (i % 64);
		else
			texts[i].bytes.nr = 0;
	}
	if (!err)
		err = put_features(r, texts, features);
	if (!err)
		err = put_header(r, features);
	r->info.bytes = lseek(r->out.fd, 0, SEEK_END);
	for (i = 0; i < PD_FEAT_MAX; i++)
		rec_text_free(&texts[i]);
	free(texts);
	return err;
}
