// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * This file writes a recording. The file has its final name from the start, so that the recording
 * can be read even if the recorder is killed, because trace cannot be recorded twice. If the disk is
 * full, all complete records remain in the file. The recorder then frees the reserve, which is an
 * unnamed file, to make room for the features and for the records that are still in the rings.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder-priv.h"

#define RESERVE		(1 << 20)	/* bytes of the unnamed file that reserves room for the last records */

/* ---- Rename an older recording ---- */

/* Rename an older recording to PATH.old, like perf does. Never remove a folder with other files. */
static int keep_old(struct nt_recorder *r, const char *path)
{
	char data[PATH_MAX], *old = r->out.old;
	struct stat st;
	int err;

	if (stat(path, &st) || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	snprintf(data, sizeof(data), "%s/data", path);
	if (S_ISDIR(st.st_mode) && access(data, F_OK))
		return rec_fail(r, "%s is a folder, and not a recording", path);
	if (snprintf(old, PATH_MAX, "%s.old", path) >= PATH_MAX)
		err = ENAMETOOLONG;
	else if (!lstat(old, &st) && (S_ISDIR(st.st_mode) ? recording_remove(old) : unlink(old)))
		err = errno;
	else
		err = rename(path, old) ? errno : 0;
	if (!err)
		return 0;
	rec_fail(r, "%s: %s", old, err == ENOTEMPTY ?
		 "this folder has files that belong to no recording. Move it, or record to another name with -o" :
		 strerror(err));
	*old = '\0';
	return -1;
}

/* ---- Bytes ---- */

/*
 * Truncate the file at out->w.at after a failed write, and free the reserve (an unnamed file) to make
 * room for the last records. Return -1.
 */
static int cut(struct nt_recorder *r)
{
	struct rec_output *out = &r->out;

	if (out->reserve >= 0)
		close(out->reserve);
	out->reserve = -1;
	out->error = out->w.error;
	out->w.error = 0;
	if (!ftruncate(out->w.fd, out->w.at))
		lseek(out->w.fd, out->w.at, SEEK_SET);
	return rec_fail(r, "writing %s failed: %s. The file can be read, and has the recording up to then",
			out->path, strerror(out->error));
}

/* ---- Create and close the file ---- */

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
	struct stat st;

	/* If the name is a symbolic link, replace the file to which the link leads. */
	if (!realpath(path, out->name))
		snprintf(out->name, sizeof(out->name), "%s", path);
	path = out->name;
	if (keep_old(r, path))
		return -1;
	snprintf(out->path, sizeof(out->path), "%s", path);
	if (*r->folder) {
		if (mkdir(path, 0700))
			return rec_fail(r, "%s: %s", path, strerror(errno));
		out->created = true;
		if (snprintf(out->path, sizeof(out->path), "%s/data", path) >= PATH_MAX)
			return rec_fail(r, "%s: the name is too long", path);
	}
	out->w.fd = open(out->path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
	if (out->w.fd < 0)
		return rec_fail(r, "%s: %s", out->path, strerror(errno));
	out->created |= !fstat(out->w.fd, &st) && S_ISREG(st.st_mode);
	if (lseek(out->w.fd, 0, SEEK_CUR) < 0)
		return rec_fail(r, "%s is a pipe, but -o needs a file", out->path);
	make_reserve(out);
	return 0;
}

void rec_output_undo(struct nt_recorder *r)
{
	const struct rec_output *out = &r->out;

	if (out->created && *r->folder)
		recording_remove(out->name);
	else if (out->created)
		unlink(out->name);
	if (*out->old)
		rename(out->old, out->name);
}

void rec_output_close(struct nt_recorder *r)
{
	struct rec_output *out = &r->out;

	if (out->reserve >= 0)
		close(out->reserve);
	if (out->w.fd >= 0)
		close(out->w.fd);
	out->reserve = out->w.fd = -1;
	free(out->chunks.at);
}

static int write_failed(struct nt_recorder *r)
{
	return rec_fail(r, "writing %s failed: %s", r->out.path, strerror(errno));
}

int rec_output_events(struct nt_recorder *r)
{
	struct pd_attr attrs[REC_MAX_EVENTS];
	size_t i;

	for (i = 0; i < r->nr_events; i++)
		attrs[i] = (struct pd_attr){ r->events[i].attr, (uint64_t *)r->events[i].ids, r->events[i].nr_ids };
	return pd_write_begin(&r->out.w, r->out.w.fd, attrs, r->nr_events) ? write_failed(r) : 0;
}

/* ---- Records ---- */

/*
 * Return the size of the complete records in the first @done bytes of the pieces. A record may be
 * divided between the pieces, but its header is not divided.
 */
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
	size_t size = pieces[0].size + pieces[1].size, done = pd_write_direct(&r->out.w, all, 2);

	if (done == size)
		return 0;
	r->out.w.at -= done - whole_records(pieces, done);
	return cut(r);
}

int rec_output_record(struct nt_recorder *r, const void *record, size_t size)
{
	const struct rec_piece pieces[2] = { { record, size } };

	return rec_output_records(r, pieces);
}

/*
 * Handle a failure to write a record with trace, after @done bytes of it were written. Keep the trace
 * that was written, and write its size to the record. Return -1.
 */
static int keep_part(struct nt_recorder *r, struct pd_auxtrace_record *record, size_t done)
{
	struct rec_output *out = &r->out;
	struct rec_chunk chunk = { .offset = out->w.at - done, .size = sizeof(*record) };

	out->w.at -= done;
	if (done >= sizeof(*record) + 8) {
		record->size = (done - sizeof(*record)) & ~7ULL;
		if (pwrite(out->w.fd, record, sizeof(*record), out->w.at) == sizeof(*record) &&
		    ns_array_add(&out->chunks, chunk)) {
			out->w.at += sizeof(*record) + record->size;
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
	struct rec_chunk chunk = { .offset = r->out.w.at, .size = sizeof(record) };
	size_t done;

	record.size += padding;
	done = pd_write_direct(&r->out.w, all, 4);
	if (done != sizeof(record) + record.size)
		return keep_part(r, &record, done);
	r->info.trace_bytes += trace;
	return ns_array_add(&r->out.chunks, chunk) ? 0 : rec_fail(r, "out of memory");
}

/* ---- Finish the file ---- */

/*
 * Write the header, which has the size of the records, before the features. Build ids are features,
 * and rec_build_ids() reads the records of the file to find the programs. Even if there is not
 * enough room for the features, a reader can then read the records.
 */
int rec_output_finish(struct nt_recorder *r)
{
	struct pd_bytes features[PD_FEAT_MAX] = { 0 };
	struct pd_writer *w = &r->out.w;
	int err;

	if (r->out.reserve >= 0)
		close(r->out.reserve);
	r->out.reserve = -1;
	w->header.data.size = w->at - w->data_at;
	err = pd_write_header(w) ? write_failed(r) : 0;
	if (!err) {
		rec_features(r, features);
		err = pd_write_bytes(w, features) ? write_failed(r) : 0;
	}
	r->info.bytes = lseek(w->fd, 0, SEEK_END);
	return err;
}
