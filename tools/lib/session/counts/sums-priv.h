/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Declarations for the files that read and write sums. Sums are counts that were added up over
 * several recordings.
 */
#ifndef NTRACE_SESSION_SUMS_PRIV_H
#define NTRACE_SESSION_SUMS_PRIV_H

#include "session/array.h"
#include "session/hash.h"
#include "session/session-priv.h"
#include "sums.h"

#define SUMS_MAGIC	"ntrace counts 1\n"
#define SUMS_NO_FILE	UINT32_MAX

struct sums_file {
	char		*path;		/* path of the file; "": code that is not in a known file */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* size in bytes; 0: not known */
};

struct sums_entry {
	uint8_t		type, how;	/* kind of the count, and of the jump (see struct nt_count) */
	uint32_t	file, to_file;	/* indices in nt_sums::files */
	uint64_t	from, to;	/* offsets in these files */
	uint64_t	count, insns, not_taken;
};

/* A recording that was divided into parts (shards), with a flag for each shard that was added */
struct sums_set {
	uint64_t	id;
	uint32_t	of;
	char		*name;
	uint8_t		*here;		/* for each of the @of shards of the recording: 1 if it was added, or 0 */
	uint32_t	nr;
};

struct nt_sums {
	NS_ARRAY(struct sums_file) files;
	struct ns_hash	hash;		/* hash table that finds a file in @files */
	NS_ARRAY(struct sums_entry) entries;
	/* number of entries at the start of @entries that are sorted and all different */
	size_t		joined;
	NS_ARRAY(struct sums_set) sets;
	struct nt_profile_totals totals;
	uint32_t	xlen;		/* number of address bits; 0: no recording was added */
	char		error[512];
};

int sums_fail(struct nt_sums *sums, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * sums_file_of() - return the index of a file, which is added if it is new, or SUMS_NO_FILE if out
 * of memory. The function copies @path.
 */
uint32_t sums_file_of(struct nt_sums *sums, const char *path, const uint8_t *build_id, size_t size);

/* sums_put() - add an entry. Return: 0, or -1 if out of memory, with sums->error set. */
int sums_put(struct nt_sums *sums, const struct sums_entry *entry);

/*
 * sums_order() - sort the files, and join the entries, so that equal counts have equal entries in
 * the same order
 *
 * sums_file_of() still finds the files afterwards. Return: 0, or -1 if out of memory.
 */
int sums_order(struct nt_sums *sums);

/* sums_put_xlen() - set the number of address bits. Return: 0, or -1 with sums->error. */
int sums_put_xlen(struct nt_sums *sums, uint32_t xlen);

/* sums_put_shard() - record that a shard was added. Return: 0, or -1 with the reason in sums->error. */
int sums_put_shard(struct nt_sums *sums, const struct nt_shard *shard);

/* sums_kernel_id() - compute the build id that identifies the session's kernel in a file of counts */
void sums_kernel_id(const struct nt_session *session, uint8_t id[PD_BUILD_ID_SIZE]);

#endif /* NTRACE_SESSION_SUMS_PRIV_H */
