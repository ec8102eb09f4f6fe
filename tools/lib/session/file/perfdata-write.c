// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Write perf.data with its header, records and features (perfdata-write.h). */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata-write.h"

/* ---- Bytes ---- */

static int failed(struct pd_writer *w)
{
	errno = w->error;
	return -1;
}

/* Write pieces of memory to the file. Return the number of written bytes. If bytes are missing, set w->error. */
static size_t write_pieces(struct pd_writer *w, const struct iovec *pieces, int nr)
{
	struct iovec left[PD_WRITE_MAX];
	size_t done = 0;
	ssize_t n;
	int i = 0;

	memcpy(left, pieces, nr * sizeof(*left));
	while (i < nr) {
		if (!left[i].iov_len) {
			i++;
			continue;
		}
		n = writev(w->fd, left + i, nr - i);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			w->error = n ? errno : ENOSPC;
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

static int flush(struct pd_writer *w)
{
	const struct iovec waiting = { w->waiting, w->nr_waiting };

	if (!w->error && write_pieces(w, &waiting, 1) == w->nr_waiting)
		w->nr_waiting = 0;
	return w->error ? failed(w) : 0;
}

size_t pd_write_direct(struct pd_writer *w, const struct iovec *pieces, int nr)
{
	size_t done = flush(w) ? 0 : write_pieces(w, pieces, nr);

	w->at += done;
	return done;
}

int pd_write(struct pd_writer *w, const void *data, size_t size)
{
	const struct iovec piece = { (void *)data, size };

	if (!size)
		return 0;
	if (size > sizeof(w->waiting) - w->nr_waiting && flush(w))
		return -1;
	if (size > sizeof(w->waiting))
		return pd_write_direct(w, &piece, 1) == size ? 0 : failed(w);
	memcpy(w->waiting + w->nr_waiting, data, size);
	w->nr_waiting += size;
	w->at += size;
	return 0;
}

/* ---- Header ---- */

static int write_attrs(struct pd_writer *w, const struct pd_attr *attrs, size_t nr, size_t attr_size)
{
	struct pd_file_section ids = { .offset = sizeof(w->header) };
	struct perf_event_attr attr;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (pd_write(w, attrs[i].ids, attrs[i].nr_ids * sizeof(uint64_t)))
			return -1;
	}
	w->header.attrs.offset = w->at;
	for (i = 0; i < nr; i++) {
		attr = attrs[i].attr;
		attr.size = attr_size;
		ids.size = attrs[i].nr_ids * sizeof(uint64_t);
		if (pd_write(w, &attr, attr_size) || pd_write(w, &ids, sizeof(ids)))
			return -1;
		ids.offset += ids.size;
	}
	w->header.attrs.size = w->at - w->header.attrs.offset;
	w->header.attr_size = attr_size + sizeof(ids);
	return 0;
}

/* Write all attributes with the same size, because the header of a file has one size for all of them. */
int pd_write_begin(struct pd_writer *w, int fd, const struct pd_attr *attrs, size_t nr)
{
	size_t attr_size = PERF_ATTR_SIZE_VER0, i;

	memset(w, 0, offsetof(struct pd_writer, whole));
	w->nr_waiting = 0;
	w->fd = fd;
	w->header = (struct pd_file_header){ .magic = PD_MAGIC, .size = sizeof(w->header) };
	for (i = 0; i < nr; i++) {
		if (attrs[i].attr.size > attr_size)
			attr_size = attrs[i].attr.size;
	}
	if (attr_size > sizeof(struct perf_event_attr))
		attr_size = sizeof(struct perf_event_attr);
	if (pd_write(w, &w->header, sizeof(w->header)) || write_attrs(w, attrs, nr, attr_size))
		return -1;
	w->data_at = w->header.data.offset = w->at;
	/* the data size in this header is 0, so a reader of an incomplete file reads records up to its end */
	return pd_write_header(w);
}

int pd_write_header(struct pd_writer *w)
{
	if (flush(w))
		return -1;
	if (pwrite(w->fd, &w->header, sizeof(w->header), 0) == (ssize_t)sizeof(w->header))
		return 0;
	w->error = errno;
	return -1;
}

/* ---- Features ---- */

/* Write the offset and size (section) of each feature in the order of their numbers, then their contents. */
int pd_write_features(struct pd_writer *w, const struct pd_feature_section *features)
{
	struct pd_file_section section = { .offset = w->at };
	unsigned int i;

	w->header.data.size = w->at - w->data_at;
	for (i = 0; i < PD_FEAT_MAX; i++)
		section.offset += features[i].there ? sizeof(section) : 0;
	for (i = 0; i < PD_FEAT_MAX; i++) {
		if (!features[i].there)
			continue;
		w->header.features[i / 64] |= 1ULL << (i % 64);
		section.size = features[i].section.size;
		if (pd_write(w, &section, sizeof(section)))
			return -1;
		section.offset += section.size;
	}
	for (i = 0; i < PD_FEAT_MAX; i++) {
		if (features[i].there && pd_write(w, features[i].section.data, features[i].section.size))
			return -1;
	}
	return pd_write_header(w);
}

int pd_write_bytes(struct pd_writer *w, struct pd_bytes *features)
{
	struct pd_feature_section sections[PD_FEAT_MAX];
	bool failed = false;
	unsigned int i;
	int err, error;

	for (i = 0; i < PD_FEAT_MAX; i++) {
		sections[i].section = (struct pd_section){ features[i].b.at, features[i].b.nr };
		sections[i].there = features[i].b.nr;
		failed |= features[i].failed;
	}
	errno = ENOMEM;
	err = failed ? -1 : pd_write_features(w, sections);
	error = errno;
	for (i = 0; i < PD_FEAT_MAX; i++)
		free(features[i].b.at);
	errno = error;
	return err;
}

/* ---- Bytes of features ---- */

#define NAME_ALIGN	64		/* strings are padded to a multiple of this size */
#define HAS_SIZE	(1 << 15)	/* PERF_RECORD_MISC_BUILD_ID_SIZE */

void pd_add(struct pd_bytes *to, const void *data, size_t size)
{
	const uint8_t *byte = data;

	while (size-- && !to->failed)
		to->failed = !ns_array_add(&to->b, *byte++);
}

void pd_add_u32(struct pd_bytes *to, uint32_t value)
{
	pd_add(to, &value, sizeof(value));
}

void pd_add_u64(struct pd_bytes *to, uint64_t value)
{
	pd_add(to, &value, sizeof(value));
}

/* Add a string, and zeros after it until the size is a multiple of @align. */
static void add_padded(struct pd_bytes *to, const char *text, size_t align)
{
	static const char zeros[NAME_ALIGN];
	size_t len = strlen(text) + 1;

	pd_add(to, text, len);
	pd_add(to, zeros, -len % align);
}

void pd_add_string(struct pd_bytes *to, const char *text)
{
	size_t len = strlen(text) + 1;

	pd_add_u32(to, len + -len % NAME_ALIGN);
	add_padded(to, text, NAME_ALIGN);
}

void pd_add_id(struct pd_bytes *to, uint16_t misc, const char *path, const uint8_t *id, size_t size)
{
	struct {
		struct perf_event_header header;
		int32_t		pid;
		uint8_t		id[PD_BUILD_ID_SIZE], size, reserved[3];
	} record = {
		.header = { .type = PD_BUILD_ID, .misc = misc | HAS_SIZE,
			    .size = sizeof(record) + ((strlen(path) + 8) & ~(size_t)7) },
		.pid = -1, .size = size,
	};

	memcpy(record.id, id, size);
	pd_add(to, &record, sizeof(record));
	add_padded(to, path, 8);
}

/* ---- Create and finish the file or folder of a recording ---- */

int pd_write_create(struct pd_writer *w, const char *path, bool folder,
		    const struct pd_attr *attrs, size_t nr)
{
	char data[PATH_MAX];
	const char *name;

	w->fd = -1;
	name = folder ? whole_folder_begin(&w->whole, path) : whole_file_begin(&w->whole, path, 0600);
	if (name && folder) {
		if (snprintf(data, sizeof(data), "%s/data", name) >= PATH_MAX)
			return errno = ENAMETOOLONG, -1;
		name = data;
	}
	w->fd = name ? open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
	if (w->fd < 0)
		return -1;
	/* refuse a pipe, because the header at the start of the file is written last */
	if (lseek(w->fd, 0, SEEK_CUR) < 0)
		return -1;
	return pd_write_begin(w, w->fd, attrs, nr);
}

/*
 * Make a hard link to a file, because a link needs no space. If this fails, copy the file, because the kernel
 * does not allow links to files of other users.
 */
static int take_over(const char *from, const char *to)
{
	return !link(from, to) || !whole_file_copy(from, to) ? 0 : -1;
}

/* Link or copy the files of the recorded kernel that exist. The list of modules need not exist. */
int pd_write_kernel(struct pd_writer *w, const char *from)
{
	static const char *const names[] = { "", "/kcore", "/kallsyms", "/modules" };
	char source[PATH_MAX], target[PATH_MAX];
	size_t i;
	int err = 0;

	for (i = 0; !err && i < sizeof(names) / sizeof(names[0]); i++) {
		if (snprintf(source, sizeof(source), "%s/kcore_dir%s", from, names[i]) >= PATH_MAX ||
		    snprintf(target, sizeof(target), "%s/kcore_dir%s", w->whole.part, names[i]) >= PATH_MAX)
			return errno = ENAMETOOLONG, -1;
		if (!*names[i])
			err = mkdir(target, 0700);
		else if (!access(source, F_OK))
			err = take_over(source, target);
	}
	return err;
}

int pd_write_close(struct pd_writer *w, const struct pd_feature_section *features, bool whole)
{
	int err = 0;

	if (whole && features && pd_write_features(w, features))
		err = errno;
	if (w->fd >= 0 && close(w->fd) && whole && !err)
		err = errno;
	w->fd = -1;
	if (whole_file_end(&w->whole, whole && !err) && !err)
		err = errno;
	if (err)
		errno = err;
	return err ? -1 : 0;
}
