// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Read the header of perf.data, which contains the attributes of events and the features. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfdata-priv.h"
#include "whole-file.h"

#define MAGIC_SWAPPED	0x50455246494c4532ULL

#define PIPE_HEADER_SIZE	16

int pd_fail(struct perfdata *pd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(pd->error, sizeof(pd->error), fmt, ap);
	va_end(ap);
	return -1;
}

/* ---- Bytes ---- */

static int map_file(struct perfdata *pd, int fd, const char *path)
{
	struct stat st;
	void *map;

	if (fstat(fd, &st))
		return pd_fail(pd, "%s: %s", path, strerror(errno));
	whole_file_input(fd);
	if (!S_ISREG(st.st_mode))
		return pd_fail(pd, "%s is not a file", path);
	if (st.st_size < PIPE_HEADER_SIZE)
		return pd_fail(pd, "%s is not a recording of perf: it is empty or was cut short", path);
	map = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return pd_fail(pd, "%s: %s", path, strerror(errno));
	pd->map = map;
	pd->size = st.st_size;
	return 0;
}

/*
 * Copy a pipe to an unnamed file and map this file, because a pipe cannot be mapped, and a copy in
 * memory could be too large.
 */
static int spool(struct perfdata *pd, int fd)
{
	char name[PATH_MAX], buf[64 << 10];
	const char *folder = getenv("TMPDIR");
	ssize_t n, done;
	bool begun = false;
	int to, ret;

	whole_file_input(fd);
	snprintf(name, sizeof(name), "%s/ntrace-XXXXXX", folder ? folder : "/tmp");
	to = mkstemp(name);
	if (to < 0)
		return pd_fail(pd, "%s: %s", name, strerror(errno));
	unlink(name);
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		for (done = 0; done < n; done += ret) {
			ret = write(to, buf + done, n - done);
			if (ret < 0) {
				ret = pd_fail(pd, "cannot copy the standard input to %s: %s",
					      folder ? folder : "/tmp", strerror(errno));
				goto out;
			}
		}
		/* stop if the first bytes are not those of a recording, because the input may be endless */
		if (!begun && n >= 8 && memcmp(buf, "PERFILE2", 8))
			break;
		begun = true;
	}
	ret = n < 0 ? pd_fail(pd, "standard input: %s", strerror(errno)) :
		      map_file(pd, to, "the standard input");
out:
	close(to);
	return ret;
}

static int open_bytes(struct perfdata *pd, const char *path)
{
	char name[PATH_MAX];
	struct stat st;
	int fd, ret;

	if (!strcmp(path, "-"))
		return spool(pd, STDIN_FILENO);
	if (!stat(path, &st) && S_ISDIR(st.st_mode)) {
		pd->folder = strdup(path);
		if (!pd->folder)
			return pd_fail(pd, "out of memory");
		if (snprintf(name, sizeof(name), "%s/data", path) >= (int)sizeof(name))
			return pd_fail(pd, "%s: the name is too long", path);
		path = name;
	}
	fd = pd->folder ? whole_file_read(path) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pd_fail(pd, "%s: %s", path, whole_file_strerror(errno));
	ret = fstat(fd, &st) || !S_ISFIFO(st.st_mode) ? map_file(pd, fd, path) : spool(pd, fd);
	close(fd);
	return ret;
}

/* Get the bytes of a section. If the file is truncated, get the bytes that it contains, and return false. */
static bool section(const struct perfdata *pd, const struct pd_file_section *from,
		    struct pd_section *to)
{
	if (from->offset > pd->size)
		return false;
	to->data = pd->map + from->offset;
	to->size = from->size < pd->size - from->offset ? from->size : pd->size - from->offset;
	return to->size == from->size;
}

/* ---- Attributes ---- */

int pd_add_attr(struct perfdata *pd, const void *attr, size_t attr_size, const void *ids,
		size_t nr_ids)
{
	struct pd_attr *all = realloc(pd->attrs, (pd->nr_attrs + 1) * sizeof(*all)), *one;

	if (!all)
		return pd_fail(pd, "out of memory");
	pd->attrs = all;
	one = &all[pd->nr_attrs];
	memset(one, 0, sizeof(*one));
	memcpy(&one->attr, attr, attr_size < sizeof(one->attr) ? attr_size : sizeof(one->attr));
	one->ids = malloc(nr_ids * sizeof(*one->ids) + 1);
	if (!one->ids)
		return pd_fail(pd, "out of memory");
	memcpy(one->ids, ids, nr_ids * sizeof(*one->ids));
	one->nr_ids = nr_ids;
	pd->nr_attrs++;
	return 0;
}

static int read_attrs(struct perfdata *pd, const struct pd_file_header *header)
{
	size_t each = header->attr_size, i;
	struct pd_section attrs, ids;
	struct pd_file_section at;
	size_t all = 0;

	if (each < sizeof(at) + PERF_ATTR_SIZE_VER0 || each > 4096 ||
	    !section(pd, &header->attrs, &attrs))
		return pd_fail(pd, "the file is damaged: its events cannot be read");
	for (i = 0; i + each <= attrs.size; i += each) {
		memcpy(&at, attrs.data + i + each - sizeof(at), sizeof(at));
		/*
		 * pd_add_attr() copies the ids of each event. Refuse a file in which the ids of several events are at
		 * the same position, because these copies could need much more memory than the file has bytes
		 */
		if (!section(pd, &at, &ids) || (all += ids.size) > pd->size)
			return pd_fail(pd, "the file is damaged: the ids of its events are missing");
		if (pd_add_attr(pd, attrs.data + i, each - sizeof(at), ids.data, ids.size / 8))
			return -1;
	}
	return 0;
}

const struct pd_attr *pd_attr_of(const struct perfdata *pd, uint64_t id)
{
	size_t i, j;

	for (i = 0; id && i < pd->nr_attrs; i++) {
		for (j = 0; j < pd->attrs[i].nr_ids; j++) {
			if (pd->attrs[i].ids[j] == id)
				return &pd->attrs[i];
		}
	}
	return pd->nr_attrs ? pd->attrs : NULL;
}

/* ---- Features ---- */

#define BUILD_ID_HAS_SIZE	(1 << 15)	/* PERF_RECORD_MISC_BUILD_ID_SIZE */

/*
 * Add a struct perf_record_header_build_id. It consists of the header, the pid, the 20 bytes of the id, the size of
 * the id in the next byte, and the name.
 */
int pd_add_build_id(struct perfdata *pd, const void *at)
{
	const uint8_t *record = at;
	struct perf_event_header header;
	const size_t name = sizeof(header) + 4 + 24;
	struct pd_build_id *all, *one;

	memcpy(&header, at, sizeof(header));
	if (header.size <= name || !memchr(record + name, 0, header.size - name))
		return 0;
	all = realloc(pd->build_ids, (pd->nr_build_ids + 1) * sizeof(*all));
	if (!all)
		return pd_fail(pd, "out of memory");
	pd->build_ids = all;
	one = &all[pd->nr_build_ids++];
	memcpy(&one->pid, record + sizeof(header), 4);
	memcpy(one->id, record + sizeof(header) + 4, PD_BUILD_ID_SIZE);
	one->size = PD_BUILD_ID_SIZE;
	if (header.misc & BUILD_ID_HAS_SIZE && record[sizeof(header) + 24] <= PD_BUILD_ID_SIZE)
		one->size = record[sizeof(header) + 24];
	one->path = (const char *)record + name;
	return 0;
}

static int read_build_ids(struct perfdata *pd)
{
	const struct pd_section *s = &pd->features[PD_FEAT_BUILD_ID].section;
	struct perf_event_header header;
	size_t at = 0;

	while (pd->features[PD_FEAT_BUILD_ID].there && at + sizeof(header) <= s->size) {
		memcpy(&header, s->data + at, sizeof(header));
		if (header.size < sizeof(header) || header.size > s->size - at)
			break;
		if (pd_add_build_id(pd, s->data + at))
			return -1;
		at += header.size;
	}
	return 0;
}

/* Read the features. After the data, the file has the offset and size of each feature whose header bit is set. */
static int read_features(struct perfdata *pd, const struct pd_file_header *header)
{
	uint64_t at = header->data.offset + header->data.size, all = 0;
	struct pd_feature_section *f;
	struct pd_file_section s;
	unsigned int i;

	if (at < header->data.offset)
		return pd_fail(pd, "the file is damaged: the size of its data is impossible");
	for (i = 0; i < PD_FEAT_MAX; i++) {
		if (!(header->features[i / 64] >> i % 64 & 1))
			continue;
		/* if the file was cut short, use the features that it has */
		if (at > pd->size || pd->size - at < sizeof(s)) {
			pd->truncated = true;
			break;
		}
		memcpy(&s, pd->map + at, sizeof(s));
		at += sizeof(s);
		f = &pd->features[i];
		f->there = section(pd, &s, &f->section);
		pd->truncated |= !f->there;
		/* refuse features that share bytes, because copies of them could need more memory than the file */
		if (f->there && (all += s.size) > pd->size)
			return pd_fail(pd, "the file is damaged: its features are larger than the file");
		if (f->there && !(f->section.data = pd_keep(pd, f->section.data, s.size)))
			return -1;
	}
	if (pd->features[PD_FEAT_TRACING_DATA].there)
		pd->tracing = pd->features[PD_FEAT_TRACING_DATA].section;
	return read_build_ids(pd);
}

const char *pd_string(const struct perfdata *pd, enum pd_feature feature)
{
	return pd_list_string(pd, feature, 0, 0);
}

const char *pd_list_string(const struct perfdata *pd, enum pd_feature feature, size_t at, uint32_t nth)
{
	const struct pd_section *f = &pd->features[feature].section;
	uint32_t len;

	for (; pd->features[feature].there && at < f->size && f->size - at > sizeof(len); at += len) {
		memcpy(&len, f->data + at, sizeof(len));
		at += sizeof(len);
		if (!len || len > f->size - at || !memchr(f->data + at, 0, len))
			break;
		if (!nth--)
			return (const char *)f->data + at;
	}
	return NULL;
}

/* ---- Open, release and close a file ---- */

void pd_forget(const struct perfdata *pd, const uint8_t *data, size_t size)
{
	uintptr_t page = sysconf(_SC_PAGESIZE), from, to;

	/*
	 * ignore bytes outside of the file. If bytes of their block of PD_BLOCK bytes follow, ignore them too, because
	 * the whole block is released when its last bytes are
	 */
	if (data < pd->map || data >= pd->map + pd->size || (data - pd->map) / PD_BLOCK == (data - pd->map + size) / PD_BLOCK)
		return;
	/*
	 * also release earlier bytes, because the kernel may map a whole folio when one page is read, and so
	 * map pages again that were already released
	 */
	from = (uintptr_t)data & ~(page - 1);
	from -= from - (uintptr_t)pd->map < PD_AROUND ? from - (uintptr_t)pd->map :
		PD_AROUND;
	if (size > (size_t)(pd->map + pd->size - data))
		size = pd->map + pd->size - data;
	to = ((uintptr_t)data + size) & ~(page - 1);
	if (from < to)
		madvise((void *)from, to - from, MADV_DONTNEED);
}

static int read_header(struct perfdata *pd)
{
	struct pd_file_header header = { 0 };
	size_t n = pd->size < sizeof(header) ? pd->size : sizeof(header);

	memcpy(&header, pd->map, n);
	if (header.magic == MAGIC_SWAPPED)
		return pd_fail(pd, "the recording was made on a big-endian machine, which has no N-Trace");
	if (header.magic != PD_MAGIC)
		return pd_fail(pd, "this is not a recording of perf: it does not begin with PERFILE2");
	if (header.size == PIPE_HEADER_SIZE) {
		pd->pipe = true;
		pd->data.data = pd->map + PIPE_HEADER_SIZE;
		pd->data.size = pd->size - PIPE_HEADER_SIZE;
		return 0;
	}
	if (n < sizeof(header))
		return pd_fail(pd, "the file was cut short: it ends inside its header");
	if (header.size != sizeof(header))
		return pd_fail(pd, "the file is damaged: the size of its header is %llu",
			       (unsigned long long)header.size);
	/* perf writes the size at the end of a recording, so with a size of 0, use all bytes after the header */
	if (!header.data.size)
		header.data.size = pd->size > header.data.offset ? pd->size - header.data.offset : 0;
	if (!section(pd, &header.data, &pd->data))
		pd->truncated = true;
	return read_attrs(pd, &header) ?: read_features(pd, &header);
}

int pd_open(struct perfdata *pd, const char *path)
{
	memset(pd, 0, sizeof(*pd));
	return open_bytes(pd, path) ?: read_header(pd);
}

void pd_close(struct perfdata *pd)
{
	size_t i;

	for (i = 0; i < pd->nr_attrs; i++)
		free(pd->attrs[i].ids);
	for (i = 0; i < pd->chunks.nr; i++)
		free(pd->chunks.at[i]);
	free(pd->attrs);
	free(pd->id_cpus.at);
	free(pd->chunks.at);
	free(pd->build_ids);
	free(pd->folder);
	if (pd->map)
		munmap((void *)pd->map, pd->size);
	memset(pd, 0, sizeof(*pd));
}
