/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Read the records of perf.data, which is a file, a folder (perf record --kcore) or a pipe. The
 * kernel's tools/perf/Documentation/perf.data-file-format.txt describes the format.
 *
 * The file is mapped and never written. Each size and offset in it is checked before use.
 */
#ifndef NTRACE_SESSION_PERFDATA_H
#define NTRACE_SESSION_PERFDATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/perf_event.h>

#include "session/array.h"

#define PD_MAGIC	0x32454c4946524550ULL	/* "PERFILE2" */

/* Position and size of a part of the file */
struct pd_file_section {
	uint64_t offset, size;
};

/* Types of the records that perf itself writes; types of the kernel's records are below 64 */
enum pd_user_record {
	PD_HEADER_ATTR		= 64,
	PD_TRACING_DATA		= 66,
	PD_BUILD_ID		= 67,
	PD_FINISHED_ROUND	= 68,
	PD_ID_INDEX		= 69,
	PD_AUXTRACE_INFO	= 70,
	PD_AUXTRACE		= 71,
	PD_TIME_CONV		= 79,
	PD_FEATURE		= 80,
	PD_COMPRESSED		= 81,
	PD_COMPRESSED2		= 83,
};

/* Features of the header that this library uses */
enum pd_feature {
	PD_FEAT_TRACING_DATA	= 1,
	PD_FEAT_BUILD_ID	= 2,
	PD_FEAT_HOSTNAME	= 3,
	PD_FEAT_OSRELEASE	= 4,
	PD_FEAT_VERSION		= 5,
	PD_FEAT_ARCH		= 6,
	PD_FEAT_NRCPUS		= 7,
	PD_FEAT_TOTAL_MEM	= 10,
	PD_FEAT_CMDLINE		= 11,
	PD_FEAT_EVENT_DESC	= 12,
	PD_FEAT_BRANCH_STACK	= 15,
	PD_FEAT_PMU_MAPPINGS	= 16,
	PD_FEAT_AUXTRACE	= 18,
	PD_FEAT_SAMPLE_TIME	= 21,
	PD_FEAT_CLOCKID		= 23,
	PD_FEAT_DIR_FORMAT	= 24,
	PD_FEAT_COMPRESSED	= 27,
	PD_FEAT_CLOCK_DATA	= 29,
	PD_FEAT_SHARD		= 240,	/* struct pd_shard; perf skips features that it does not know */
	PD_FEAT_MAX		= 256,
};

/* Header at the start of a file */
struct pd_file_header {
	uint64_t	magic, size, attr_size;
	struct pd_file_section attrs, data, event_types;
	uint64_t	features[PD_FEAT_MAX / 64];
};

#define PD_BUILD_ID_SIZE	20

/* Description of a shard, see split.h */
struct pd_shard {
	uint64_t	id;
	uint32_t	nth, of;
	char		name[];		/* ends with a NUL */
};

struct pd_build_id {
	int32_t		pid;		/* pid of the virtual machine that executed the file; -1 or 0: the host */
	uint8_t		size;
	uint8_t		id[PD_BUILD_ID_SIZE];
	const char	*path;		/* path of the file, in a copy of the record */
};

/* CPU of the perf event with an id, for records that contain only the id */
struct pd_id_cpu {
	uint64_t	id;
	int32_t		cpu;
};

struct pd_attr {
	struct perf_event_attr attr;
	uint64_t	*ids;
	size_t		nr_ids;
};

/* The fields that perf_event_attr::sample_id_all adds to each record. A missing @time or @id is 0, others are -1. */
struct pd_sample_id {
	int32_t		pid, tid, cpu;
	uint64_t	time, id;
};

/* sample_id of each record that this library writes, with the fields TID, TIME, CPU and IDENTIFIER */
struct pd_written_id {
	uint32_t	pid, tid;
	uint64_t	time;
	uint32_t	cpu, reserved;
	uint64_t	id;
};

/* PERF_RECORD_COMM that this library writes, with its sample_id */
struct pd_comm_record {
	struct perf_event_header header;
	uint32_t	pid, tid;
	char		comm[16];
	struct pd_written_id id;
};

/* PERF_RECORD_AUX, without its sample_id */
struct pd_aux_record {
	struct perf_event_header header;
	uint64_t offset, size, flags;
};

/* struct perf_record_auxtrace; @size bytes of trace follow the record */
struct pd_auxtrace_record {
	struct perf_event_header header;
	uint64_t size, offset, reference;
	uint32_t idx, tid, cpu, reserved;
};

/* struct perf_record_auxtrace_info */
struct pd_info_record {
	struct perf_event_header header;
	uint32_t	type, reserved;
	uint64_t	words[];
};

/* struct perf_record_time_conv */
struct pd_clock_record {
	struct perf_event_header header;
	uint64_t	shift, mult, zero, cycles, mask;
	uint8_t		zero_known, is_short, reserved[6];
};

struct pd_record {
	const struct perf_event_header *header;	/* the record, which has header->size bytes */
	const uint8_t	*data;		/* trace after a PD_AUXTRACE record, in the mapped file */
	size_t		data_size;
	struct pd_sample_id id;
	uint64_t	nr;		/* number of records before this record */
};

struct pd_section {
	const uint8_t	*data;
	size_t		size;
};

struct pd_feature_section {
	struct pd_section section;
	bool		there;
};

struct perfdata {
	const uint8_t	*map;
	size_t		size;
	char		*folder;	/* path of the recording's folder; NULL: the recording is a file or a pipe */
	bool		pipe;
	bool		truncated;	/* the file ends inside a record, or before its features */
	struct pd_attr	*attrs;
	size_t		nr_attrs;
	NS_ARRAY(struct pd_id_cpu) id_cpus;
	bool		id_cpus_sorted;	/* @id_cpus is sorted by id */
	struct pd_section data;
	struct pd_feature_section features[PD_FEAT_MAX];
	struct pd_section tracing;	/* formats of tracepoints */
	struct pd_build_id *build_ids;
	size_t		nr_build_ids;
	NS_ARRAY(uint8_t *) chunks;	/* records that were decompressed or copied */
	uint8_t		*copies;	/* chunk to which the next records are copied */
	size_t		nr_copied, copies_size;
	char		error[256];	/* sentence that describes the error, if a call has failed */
};

/*
 * pd_open() - open @path, which is a file, a folder, or "-" for the standard input
 *
 * Return: 0, or -1 with the reason in @pd->error. Call pd_close() in both cases.
 */
int pd_open(struct perfdata *pd, const char *path);
void pd_close(struct perfdata *pd);

#define PD_AROUND	(2 << 20)	/* size of a large folio, which the kernel may map as a whole */
#define PD_BLOCK	(256 << 10)	/* pd_forget() ignores a piece that does not reach the end of a block of this size */

/*
 * pd_forget() - release the memory of bytes of the mapped file that are not needed soon. The bytes can still be read.
 *
 * Adjacent pages that the kernel mapped in advance are also released.
 */
void pd_forget(const struct perfdata *pd, const uint8_t *data, size_t size);

/*
 * pd_for_each() - call @take for each record, in the order of the file
 *
 * The function decompresses PERF_RECORD_COMPRESSED, and passes the records in it. A record is valid
 * until pd_close(), but a sample only until @take returns. @take returns 0 to continue.
 *
 * Return: 0; the value that @take returned if it was not 0; or -1 with @pd->error.
 */
int pd_for_each(struct perfdata *pd, int (*take)(void *ctx, const struct pd_record *record), void *ctx);

/*
 * pd_each_again() - call @take again for each record, after pd_for_each() has read all records
 *
 * This call does not store the records in memory, so a record is only valid until @take returns.
 */
int pd_each_again(struct perfdata *pd, int (*take)(void *ctx, const struct pd_record *record), void *ctx);

/*
 * pd_keep() - return a copy of bytes that is valid until pd_close(); NULL if out of memory
 *
 * Check and use the copy, because another process may change the bytes of the file after a check.
 */
const void *pd_keep(struct perfdata *pd, const void *data, size_t size);

/*
 * pd_sample_id_size() - return the size of the fields that perf appends to each record
 *
 * The record must not be a sample.
 */
size_t pd_sample_id_size(const struct perfdata *pd, const struct pd_record *record);

/*
 * pd_sample_raw() - find the raw data of a PERF_RECORD_SAMPLE (PERF_SAMPLE_RAW)
 *
 * Return false if the sample has no raw data.
 */
bool pd_sample_raw(const struct perfdata *pd, const struct pd_record *record, struct pd_section *raw);

/* pd_attr_of() - return the event with the id @id, otherwise the first event, or NULL if there are no events */
const struct pd_attr *pd_attr_of(const struct perfdata *pd, uint64_t id);

/* pd_string() - return the string of a feature of the header, or NULL */
const char *pd_string(const struct perfdata *pd, enum pd_feature feature);

/* pd_list_string() - return string @nth, from 0, of the strings that begin at offset @at of a feature, or NULL */
const char *pd_list_string(const struct perfdata *pd, enum pd_feature feature, size_t at, uint32_t nth);

#endif /* NTRACE_SESSION_PERFDATA_H */
