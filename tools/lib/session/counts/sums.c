// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The table of counts of files, and the functions that add counts. sums-text.c reads and writes the table as text. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sums-priv.h"

#define SHARDS_MAX	(1 << 20)	/* maximum number of shards of one recording */
#define JOIN_FROM	(1 << 16)	/* number of entries after which entries of the same code are joined */

int sums_fail(struct nt_sums *sums, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sums->error, sizeof(sums->error), fmt, ap);
	va_end(ap);
	return -1;
}

const char *nt_sums_error(const struct nt_sums *sums)
{
	return sums ? sums->error : "out of memory";
}

struct nt_sums *nt_sums_new(void)
{
	return calloc(1, sizeof(struct nt_sums));
}

void nt_sums_free(struct nt_sums *sums)
{
	size_t i;

	if (!sums)
		return;
	for (i = 0; i < sums->files.nr; i++)
		free(sums->files.at[i].path);
	for (i = 0; i < sums->sets.nr; i++) {
		free(sums->sets.at[i].name);
		free(sums->sets.at[i].here);
	}
	free(sums->files.at);
	free(sums->hash.slots);
	free(sums->entries.at);
	free(sums->sets.at);
	free(sums);
}

int sums_put_xlen(struct nt_sums *sums, uint32_t xlen)
{
	if (sums->xlen && xlen && xlen != sums->xlen)
		return sums_fail(sums, "counts of RV%u and of RV%u cannot be added", sums->xlen,
				 xlen);
	sums->xlen = xlen ? xlen : sums->xlen;
	return 0;
}

/* ---- Find the index of a file, or add the file ---- */

static bool is_file(const struct sums_file *file, const char *path, const uint8_t *id, size_t size)
{
	return file->build_id_size == size && !memcmp(file->build_id, id, size) &&
		!strcmp(file->path, path);
}

uint32_t sums_file_of(struct nt_sums *sums, const char *path, const uint8_t *build_id, size_t size)
{
	struct sums_file file = { .build_id_size = size };
	uint64_t hash = ns_hash_bytes(ns_hash_bytes(NS_HASH_START, path, strlen(path) + 1), build_id, size);
	struct ns_hash_slot *slot;

	slot = ns_hash_find(&sums->hash, hash ^ hash >> 32, is_file(&sums->files.at[i], path, build_id, size));
	if (!slot || slot->index)
		return slot ? slot->index - 1 : SUMS_NO_FILE;
	memcpy(file.build_id, build_id, size);
	file.path = strdup(path);
	if (!file.path || !ns_array_add(&sums->files, file)) {
		free(file.path);
		return SUMS_NO_FILE;
	}
	ns_hash_set(&sums->hash, slot, sums->files.nr - 1);
	return sums->files.nr - 1;
}

/* ---- Sort and merge entries ---- */

static int entry_cmp(const void *a, const void *b)
{
	const struct sums_entry *x = a, *y = b;

	return ns_order(x->file, y->file) ?: ns_order(x->type, y->type) ?:
		ns_order(x->from, y->from) ?: ns_order(x->to_file, y->to_file) ?:
		ns_order(x->to, y->to) ?: ns_order(x->how, y->how);
}

static void merge_entries(struct sums_entry *to, const struct sums_entry *from)
{
	to->count += from->count;
	to->insns += from->insns;
	to->not_taken += from->not_taken;
}

/* Sort entries, and add up entries of the same code. */
static void join(struct nt_sums *sums)
{
	if (sums->joined != sums->entries.nr)
		ns_array_join(&sums->entries, entry_cmp, merge_entries(a, b));
	sums->joined = sums->entries.nr;
}

int sums_put(struct nt_sums *sums, const struct sums_entry *entry)
{
	if (sums->entries.nr >= JOIN_FROM && sums->entries.nr >= 4 * sums->joined)
		join(sums);
	if (!ns_array_add(&sums->entries, *entry))
		return sums_fail(sums, "out of memory");
	return 0;
}

/* ---- Sort sets of shards and files, and replace the indices of files in the entries ---- */

static int set_cmp(const void *a, const void *b)
{
	const struct sums_set *x = a, *y = b;

	return ns_order(x->id, y->id) ?: ns_order(x->of, y->of);
}

/* A file, and its index before the files are sorted */
struct ordered {
	const struct sums_file *file;
	uint32_t	number;
};

static int file_cmp(const void *a, const void *b)
{
	const struct sums_file *x = ((const struct ordered *)a)->file;
	const struct sums_file *y = ((const struct ordered *)b)->file;

	return strcmp(x->path, y->path) ?: ns_order(x->build_id_size, y->build_id_size) ?:
		memcmp(x->build_id, y->build_id, x->build_id_size);
}

/*
 * Bring the files into the order of @order, and replace their indices in all entries. Empty the
 * hash table, which has the old indices.
 */
static bool renumber(struct nt_sums *sums, const struct ordered *order, uint32_t *now)
{
	struct sums_file *files = calloc(sums->files.nr, sizeof(*files));
	struct sums_entry *entry = sums->entries.at, *end = entry + sums->entries.nr;
	size_t i;

	if (!files)
		return false;
	for (i = 0; i < sums->files.nr; i++) {
		files[i] = *order[i].file;
		now[order[i].number] = i;
	}
	memcpy(sums->files.at, files, sums->files.nr * sizeof(*files));
	free(files);
	for (; entry < end; entry++) {
		entry->file = now[entry->file];
		entry->to_file = now[entry->to_file];
	}
	free(sums->hash.slots);
	sums->hash = (struct ns_hash){ 0 };
	sums->joined = 0;
	return true;
}

int sums_order(struct nt_sums *sums)
{
	size_t nr = sums->files.nr, i;
	struct ordered *order = calloc(nr + 1, sizeof(*order));
	uint32_t *now = calloc(nr + 1, sizeof(*now));
	bool ok = order && now;

	for (i = 0; ok && i < nr; i++)
		order[i] = (struct ordered){ .file = &sums->files.at[i], .number = i };
	if (ok && nr) {
		qsort(order, nr, sizeof(*order), file_cmp);
		ok = renumber(sums, order, now);
	}
	free(order);
	free(now);
	if (!ok)
		return sums_fail(sums, "out of memory");
	join(sums);
	ns_array_sort(&sums->sets, set_cmp);
	return 0;
}

/* ---- Remember the added shards of each recording, and find missing ones ---- */

static struct sums_set *set_of(struct nt_sums *sums, const struct nt_shard *shard)
{
	struct sums_set set = { .id = shard->id, .of = shard->of };
	size_t i;

	for (i = 0; i < sums->sets.nr; i++) {
		if (sums->sets.at[i].id == shard->id && sums->sets.at[i].of == shard->of)
			return &sums->sets.at[i];
	}
	set.name = strdup(shard->name);
	set.here = calloc(shard->of, 1);
	if (set.name && set.here && ns_array_add(&sums->sets, set))
		return &sums->sets.at[sums->sets.nr - 1];
	free(set.name);
	free(set.here);
	return NULL;
}

int sums_put_shard(struct nt_sums *sums, const struct nt_shard *shard)
{
	struct sums_set *set;

	if (!shard->nth || shard->nth > shard->of || shard->of > SHARDS_MAX)
		return sums_fail(sums, "the file is damaged: it names shard %u of %u of %s, but a recording has 1 to %d shards, numbered from 1",
				 shard->nth, shard->of, shard->name, SHARDS_MAX);
	set = set_of(sums, shard);
	if (!set)
		return sums_fail(sums, "out of memory");
	if (set->here[shard->nth - 1])
		return sums_fail(sums, "shard %u of %u of %s is given twice, and would count twice",
				 shard->nth, shard->of, shard->name);
	set->here[shard->nth - 1] = 1;
	set->nr++;
	return 0;
}

bool nt_sums_missing(const struct nt_sums *sums, size_t nth, struct nt_shard *shard)
{
	const struct sums_set *set = sums->sets.at, *end = set + sums->sets.nr;
	uint32_t i;

	for (; set < end; set++) {
		for (i = 0; i < set->of; i++) {
			if (set->here[i] || nth--)
				continue;
			*shard = (struct nt_shard){
				.id = set->id, .nth = i + 1, .of = set->of, .name = set->name,
			};
			return true;
		}
	}
	return false;
}

/* ---- Add the counts of a recording ---- */

struct adding {
	struct nt_sums	*sums;
	struct nt_session *session;
	const struct ns_object *object;	/* object of the last address; its file has index @number */
	uint32_t	number;
};

/*
 * Compute a build id from the symbols of the kernel. Kernels with the same symbols at the same
 * addresses are considered equal.
 */
void sums_kernel_id(const struct nt_session *session, uint8_t id[PD_BUILD_ID_SIZE])
{
	const struct ns_symbol *symbol = session->objects.kcore.symbols.at;
	const struct ns_symbol *end = symbol + session->objects.kcore.symbols.nr;
	uint64_t hash[2] = { NS_HASH_START, 0x84222325cbf29ce4ULL };
	unsigned int i;

	for (; symbol < end; symbol++) {
		for (i = 0; i < 2; i++) {
			hash[i] = ns_hash_bytes(hash[i], &symbol->start, sizeof(symbol->start));
			hash[i] = ns_hash_bytes(hash[i], symbol->name, strlen(symbol->name));
		}
	}
	memset(id, 0, PD_BUILD_ID_SIZE);
	memcpy(id, hash, sizeof(hash));
}

static uint32_t number_of(struct adding *a, const struct ns_object *object)
{
	uint8_t id[PD_BUILD_ID_SIZE];

	if (object == a->object)
		return a->number;
	if (object == &a->session->objects.kcore) {
		sums_kernel_id(a->session, id);
		a->number = sums_file_of(a->sums, object->path, id, sizeof(id));
	} else {
		a->number = sums_file_of(a->sums, object->path, object->build_id,
					 object->build_id_size);
	}
	a->object = a->number == SUMS_NO_FILE ? NULL : object;
	return a->number;
}

/*
 * Find the file that contains an address of a process, and the offset in that file. For an address
 * outside all files, set the offset to 0, so that the counts of all such addresses are added up.
 * These addresses are different in each process, and therefore not stored.
 */
static bool locate(struct adding *a, uint64_t space, uint64_t addr, uint32_t *file, uint64_t *offset)
{
	const struct ns_object *object;

	object = ns_session_object(a->session, space, addr, offset);
	if (object) {
		*file = number_of(a, object);
	} else {
		*offset = 0;
		*file = sums_file_of(a->sums, "", (const uint8_t *)"", 0);
	}
	return *file != SUMS_NO_FILE;
}

static int add_count(struct adding *a, const struct nt_count *count)
{
	struct sums_entry entry = {
		.type = count->type, .how = count->how, .count = count->count,
		.insns = count->insns, .not_taken = count->not_taken,
	};

	if (!locate(a, count->space, count->from, &entry.file, &entry.from))
		return sums_fail(a->sums, "out of memory");
	entry.to_file = entry.file;
	if (count->type == NT_COUNT_BLOCK)
		entry.to = entry.from + (count->to - count->from);
	else if (count->type == NT_COUNT_EDGE &&
		 !locate(a, count->space, count->to, &entry.to_file, &entry.to))
		return sums_fail(a->sums, "out of memory");
	return sums_put(a->sums, &entry);
}

static int add_shards(struct nt_sums *sums, const struct nt_session *session)
{
	struct nt_shard shard;
	size_t i;
	int err = 0;

	for (i = 0; !err && nt_session_shard(session, i, &shard); i++)
		err = sums_put_shard(sums, &shard);
	return err;
}

int nt_sums_add(struct nt_sums *sums, const struct nt_profile *profile)
{
	struct nt_session *session = ns_profile_session(profile);
	struct adding adding = { .sums = sums, .session = session };
	struct nt_profile_totals totals;
	struct nt_count count;
	uint64_t at = 0;
	int err = add_shards(sums, session);

	nt_profile_totals(profile, &totals);
	sums->totals.losses += totals.losses;
	sums->totals.errors += totals.errors;
	sums->totals.gaps += totals.gaps;
	if (!err && session->setup.nr_cpus)
		err = sums_put_xlen(sums, session->setup.cpus[0].nt.xlen);
	while (!err && nt_profile_count(profile, &at, &count))
		err = add_count(&adding, &count);
	return err;
}
