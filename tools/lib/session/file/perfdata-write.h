/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Write perf.data with its header, ids and attributes of events, records and features. The kernel's
 * tools/perf/Documentation/perf.data-file-format.txt describes the format.
 */
#ifndef NTRACE_SESSION_PERFDATA_WRITE_H
#define NTRACE_SESSION_PERFDATA_WRITE_H

#include <sys/uio.h>

#include "perfdata.h"
#include "whole-file.h"

#define PD_WRITE_MAX	4	/* maximum number of pieces that pd_write_direct() can write */

/* Bytes of a feature, which grow until the file is written */
struct pd_bytes {
	NS_ARRAY(uint8_t) b;
	bool		failed;		/* true if memory ran out, so that bytes are missing */
};

/*
 * Append data to a feature: pd_add_string() a string as in perf's header, pd_add_id() the build id of a file @path.
 */
void pd_add(struct pd_bytes *to, const void *data, size_t size);
void pd_add_u32(struct pd_bytes *to, uint32_t value);
void pd_add_u64(struct pd_bytes *to, uint64_t value);
void pd_add_string(struct pd_bytes *to, const char *text);
void pd_add_id(struct pd_bytes *to, uint16_t misc, const char *path, const uint8_t *id, size_t size);

struct pd_writer {
	int		fd;
	int		error;		/* errno of the first write that failed; 0 if none */
	uint64_t	data_at;	/* offset of the records in the file */
	uint64_t	at;		/* offset at which the next bytes are written */
	struct pd_file_header header;
	struct whole_file whole;	/* file or folder that pd_write_create() has started */
	size_t		nr_waiting;
	uint8_t		waiting[16 << 10];
};

/*
 * pd_write_begin() - write the start of a file, up to its first record, to @fd
 *
 * The function writes all @nr attributes with the size of the largest of them.
 *
 * Return: 0, or -1 with errno. The other functions with type int also return these values.
 */
int pd_write_begin(struct pd_writer *w, int fd, const struct pd_attr *attrs, size_t nr);

/* pd_write() - add a record, or a part of one */
int pd_write(struct pd_writer *w, const void *data, size_t size);

/*
 * pd_write_direct() - add up to PD_WRITE_MAX pieces without copying them. Return the number of bytes that were written.
 */
size_t pd_write_direct(struct pd_writer *w, const struct iovec *pieces, int nr);

/* pd_write_header() - write buffered data, and a header with the size of the records so far */
int pd_write_header(struct pd_writer *w);

/*
 * pd_write_features() - complete the file with the features
 * pd_write_bytes() - do the same with the features that are not empty, and free their bytes
 * @features: Array of PD_FEAT_MAX features
 */
int pd_write_features(struct pd_writer *w, const struct pd_feature_section *features);
int pd_write_bytes(struct pd_writer *w, struct pd_bytes *features);

/*
 * pd_write_create() - start a recording that gets its name @path when it is complete
 *
 * If @folder is false, the recording is a file. Otherwise it is a folder with a copy of the kernel, which
 * pd_write_kernel() or the caller writes to whole.part. Call pd_write_close() even after an error.
 */
int pd_write_create(struct pd_writer *w, const char *path, bool folder,
		    const struct pd_attr *attrs, size_t nr);

/* pd_write_kernel() - link or copy the kernel from the folder of another recording */
int pd_write_kernel(struct pd_writer *w, const char *from);

/*
 * pd_write_close() - complete the recording, or remove it if @whole is false
 * @features: Features to write; NULL if pd_write_features() has written the features
 */
int pd_write_close(struct pd_writer *w, const struct pd_feature_section *features, bool whole);

#endif /* NTRACE_SESSION_PERFDATA_WRITE_H */
