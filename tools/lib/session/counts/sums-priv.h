/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the files of counts share; not for others. */
#ifndef NTRACE_SESSION_SUMS_PRIV_H
#define NTRACE_SESSION_SUMS_PRIV_H

#include "session/array.h"
#include "session/session-priv.h"
#include "sums.h"

#define SUMS_MAGIC	"ntrace counts 1\n"
#define SUMS_NO_FILE	UINT32_MAX

struct sums_file {
	char		*path;		/* "": the code is of no known file */
	uint8_t		build_id[PD_BUILD_ID_SIZE];
	uint8_t		build_id_size;	/* 0: not known */
};

struct sums_entry {
	uint8_t		type, how;	/* as of struct nt_count */
	uint32_t	file, to_file;	/* of sums->files */
	uint64_t	from, to;	/* offsets in them */
	uint64_t	count, insns, not_taken;
};

/* A recording that was cut into shards; those that are here */
struct sums_set {
	uint64_t	id;
	uint32_t	of;
	char		*name;
	uint8_t		*here;		/* one byte for each of @of */
	uint32_t	nr;
};

struct nt_sums {
	NS_ARRAY(struct sums_file) files;
	uint32_t	*hash;		/* of @files: number + 1 */
	size_t		hash_size;
	NS_ARRAY(struct sums_entry) entries;
	size_t		joined;		/* the first ones are in order, and all different */
	NS_ARRAY(struct sums_set) sets;
	struct nt_profile_totals totals;
	uint32_t	xlen;		/* 0: nothing was added */
	char		error[512];
};

int sums_fail(struct nt_sums *sums, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* sums_file_of() - the number of a file; SUMS_NO_FILE: out of memory. @path is copied. */
uint32_t sums_file_of(struct nt_sums *sums, const char *path, const uint8_t *build_id, size_t size);

/* sums_put() - add an entry. Return: 0; -1: out of memory, which sums->error says */
int sums_put(struct nt_sums *sums, const struct sums_entry *entry);

/* sums_join() - put entries in order, and add up those that are the same */
void sums_join(struct nt_sums *sums);

/*
 * sums_order() - put the files in order, and join: equal counts are the same from now on. The
 * next sums_file_of() finds them all the same. Return: 0; -1: out of memory
 */
int sums_order(struct nt_sums *sums);

/* sums_put_xlen() - bits of an address. Return: 0; -1: sums->error */
int sums_put_xlen(struct nt_sums *sums, uint32_t xlen);

/* sums_put_shard() - add a shard. Return: 0; -1: sums->error says what is wrong */
int sums_put_shard(struct nt_sums *sums, const struct nt_shard *shard);

/* sums_kernel_id() - the build id that counts of the session's kernel have */
void sums_kernel_id(const struct nt_session *session, uint8_t id[PD_BUILD_ID_SIZE]);

#endif /* NTRACE_SESSION_SUMS_PRIV_H */
