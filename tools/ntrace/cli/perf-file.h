/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Write a file of perf with one event, which any perf reads. The format is described in the
 * kernel's tools/perf/Documentation/perf.data-file-format.txt.
 */
#ifndef NTRACE_TOOL_PERF_FILE_H
#define NTRACE_TOOL_PERF_FILE_H

#include <stdint.h>
#include <stdio.h>

#include <linux/perf_event.h>

#define PERF_FILE_FEATURES	256

/* Features of the header, beside those of session/perfdata.h */
enum {
	PERF_FEATURE_BRANCH_STACK = 15,
};

struct perf_file {
	FILE	*file;
	uint64_t id;			/* of the event */
	uint64_t data_at, data_size;
	uint64_t features[PERF_FILE_FEATURES / 64];
	struct { const void *data; size_t size; } contents[PERF_FILE_FEATURES];
};

/*
 * perf_file_create() - a file of that name, which is replaced
 * @attr: the event; its size decides how much of it is written
 *
 * Return: 0; -1: errno. The same of the others.
 */
int perf_file_create(struct perf_file *file, const char *path, const struct perf_event_attr *attr);

/* perf_file_record() - all of a record, header included */
int perf_file_record(struct perf_file *file, const void *record, size_t size);

/* perf_file_feature() - @data stays the caller's, and must be there until the file is finished */
void perf_file_feature(struct perf_file *file, unsigned int nth, const void *data, size_t size);

/* perf_file_finish() - write the header: only now another program can read the file. It is closed. */
int perf_file_finish(struct perf_file *file);

#endif /* NTRACE_TOOL_PERF_FILE_H */
