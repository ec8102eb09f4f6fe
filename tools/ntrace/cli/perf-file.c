// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "perf-file.h"
#include "session/file/perfdata.h"

#define ID	1

static int put(struct perf_file *file, const void *data, size_t size)
{
	return !size || fwrite(data, 1, size, file->file) == size ? 0 : -1;
}

/* What comes before the records: the header, the id of the event, its attributes */
int perf_file_create(struct perf_file *file, const char *path, const struct perf_event_attr *attr)
{
	const struct pd_file_section ids = { .offset = sizeof(struct pd_file_header), .size = sizeof(file->id) };
	struct pd_file_header header = { 0 };

	memset(file, 0, sizeof(*file));
	file->id = ID;
	file->file = fopen(path, "w");
	if (!file->file)
		return -1;
	file->data_at = sizeof(header) + sizeof(file->id) + attr->size + sizeof(ids);
	/* a reader that comes too early finds no magic */
	header.attr_size = attr->size + sizeof(ids);
	return put(file, &header, sizeof(header)) || put(file, &file->id, sizeof(file->id)) ||
		put(file, attr, attr->size) || put(file, &ids, sizeof(ids)) ? -1 : 0;
}

int perf_file_record(struct perf_file *file, const void *record, size_t size)
{
	file->data_size += size;
	return put(file, record, size);
}

void perf_file_feature(struct perf_file *file, unsigned int nth, const void *data, size_t size)
{
	file->features[nth / 64] |= 1ULL << (nth % 64);
	file->contents[nth].data = data;
	file->contents[nth].size = size;
}

/* A section for each feature, by its number, and then what they have */
static int put_features(struct perf_file *file)
{
	uint64_t at = file->data_at + file->data_size;
	struct pd_file_section section;
	unsigned int i, nr = 0;
	int err = 0;

	for (i = 0; i < PERF_FILE_FEATURES; i++)
		nr += file->features[i / 64] >> (i % 64) & 1;
	at += nr * sizeof(section);
	for (i = 0; !err && i < PERF_FILE_FEATURES; i++) {
		if (!(file->features[i / 64] >> (i % 64) & 1))
			continue;
		section = (struct pd_file_section){ .offset = at, .size = file->contents[i].size };
		at += section.size;
		err = put(file, &section, sizeof(section));
	}
	for (i = 0; !err && i < PERF_FILE_FEATURES; i++)
		err = put(file, file->contents[i].data, file->contents[i].size);
	return err;
}

static int put_header(struct perf_file *file)
{
	struct pd_file_header header = {
		.magic = PD_MAGIC, .size = sizeof(header),
		.attrs = { .offset = sizeof(header) + sizeof(file->id) },
		.data = { .offset = file->data_at, .size = file->data_size },
	};

	header.attrs.size = file->data_at - header.attrs.offset;
	header.attr_size = header.attrs.size;
	memcpy(header.features, file->features, sizeof(header.features));
	return fseek(file->file, 0, SEEK_SET) || put(file, &header, sizeof(header)) ? -1 : 0;
}

int perf_file_finish(struct perf_file *file)
{
	int err = put_features(file) || put_header(file);

	return fclose(file->file) || err ? -1 : 0;
}
