// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Make a session without trace from a file of saved counts. The session has one process. All
 * counted files are mapped into the address space of this process, one after the other.
 */
#include <stdlib.h>
#include <string.h>

#include "sums-priv.h"

#define ALIGN		(64 << 10)
#define KERNEL_NAME	"[kernel.kallsyms]"
#define SPACE		NS_SPACE_GENERATION	/* address space of the session's only process */

/* The counts of a session. @bases has the address at which each file is mapped. */
struct file_counts {
	struct ns_counted counted;	/* must be the first member, for counts_of() */
	struct nt_sums	*sums;
	uint64_t	*bases;
};

/* Return the counts of a session, or NULL if the session has trace. */
static struct file_counts *counts_of(const struct nt_session *s)
{
	return (struct file_counts *)s->counted;
}

/* Increase *size, the size of a file, to include the instruction at @offset. map_file() refuses too large sizes. */
static void cover(uint64_t *size, uint64_t offset)
{
	uint64_t end = offset < UINT64_MAX - 4 ? offset + 4 : UINT64_MAX;

	if (end > *size)
		*size = end;
}

/* Set the size of each file to the end of the last code in it that was counted. */
static void file_sizes(const struct nt_sums *sums, uint64_t *sizes)
{
	const struct sums_entry *e = sums->entries.at, *end = e + sums->entries.nr;

	for (; e < end; e++) {
		cover(&sizes[e->file], e->from);
		if (e->type != NT_COUNT_BRANCH)
			cover(&sizes[e->to_file], e->to);
	}
}

static bool is_kernel(const struct sums_file *file)
{
	return !strcmp(file->path, KERNEL_NAME);
}

static int map_file(struct nt_session *s, uint64_t *at, uint64_t size, const struct sums_file *file)
{
	struct ns_generation *gen = &s->sideband.generations.at[0];
	uint64_t room = ns_kernel_start(s) - *at;
	struct ns_map map = { .start = *at };

	if (size > room || room - size < ALIGN)
		return ns_fail(s, "the counts are damaged: %s is too large", file->path);
	map.end = map.start + ((size + ALIGN) & ~(uint64_t)(ALIGN - 1));
	*at = map.end;
	map.object = ns_objects_get(&s->objects, file->path, file->build_id, file->build_id_size);
	if (!map.object)
		return ns_fail(s, "out of memory");
	gen->maps = ns_maps_add(&s->sideband.store, gen->maps, &map, gen->epoch);
	return s->sideband.store.failed ? ns_fail(s, "out of memory") : 0;
}

/* Map the files of the counts one after the other, and set file_counts::bases to their addresses. Return 0 or -1. */
static int map_files(struct nt_session *s, uint64_t *sizes)
{
	struct file_counts *c = counts_of(s);
	const struct ns_generation gen = { .pid = -1, .image = 1 };
	const struct sums_file *file;
	uint64_t at = ALIGN;
	size_t i;
	int err = 0;

	if (!ns_array_add(&s->sideband.generations, gen))
		return ns_fail(s, "out of memory");
	for (i = 0; !err && i < c->sums->files.nr; i++) {
		file = &c->sums->files.at[i];
		c->bases[i] = at;
		if (file->path[0] && !is_kernel(file))
			err = map_file(s, &at, sizes[i], file);
	}
	return err;
}

static int open_files(struct nt_session *s)
{
	struct file_counts *c = counts_of(s);
	size_t nr = c->sums->files.nr;
	uint64_t *sizes = calloc(nr + 1, sizeof(*sizes));
	int err;

	c->bases = calloc(nr + 1, sizeof(*c->bases));
	s->setup.cpus = calloc(1, sizeof(*s->setup.cpus));
	if (!sizes || !c->bases || !s->setup.cpus) {
		free(sizes);
		return ns_fail(s, "out of memory");
	}
	s->setup.nr_cpus = 1;
	nt_config_init(&s->setup.cpus[0].nt, sizeof(s->setup.cpus[0].nt));
	if (c->sums->xlen)
		s->setup.cpus[0].nt.xlen = c->sums->xlen;
	file_sizes(c->sums, sizes);
	err = map_files(s, sizes);
	free(sizes);
	return err;
}

/* ---- Use the counts of a file of sums as counts of the session ---- */

struct placing {
	const struct nt_session *session;
	uint32_t	kernel;		/* index of the file that is the session's kernel */
};

static uint32_t kernel_file(const struct nt_session *s)
{
	uint8_t id[PD_BUILD_ID_SIZE];
	const struct file_counts *c = counts_of(s);
	uint32_t i;

	sums_kernel_id(s, id);
	for (i = 0; c && i < c->sums->files.nr; i++) {
		if (is_kernel(&c->sums->files.at[i]) && s->objects.kcore.map &&
		    !memcmp(c->sums->files.at[i].build_id, id, sizeof(id)))
			return i;
	}
	return SUMS_NO_FILE;
}

/*
 * Convert an offset in a file to an address of the session's process or of the kernel. Return false
 * if the code of the file is not known.
 */
static bool place(const struct placing *p, uint32_t number, uint64_t offset, uint64_t *space,
		  uint64_t *addr)
{
	const struct file_counts *c = counts_of(p->session);
	const struct sums_file *file = &c->sums->files.at[number];

	*space = number == p->kernel ? NS_SPACE_KERNEL : SPACE;
	*addr = number == p->kernel ? offset : c->bases[number] + offset;
	return file->path[0] && (number == p->kernel || !is_kernel(file));
}

static int take_all(const struct nt_session *s, struct nt_counts *counts,
		    struct nt_profile_totals *totals)
{
	const struct nt_sums *sums = counts_of(s)->sums;
	const struct sums_entry *e = sums->entries.at, *end = e + sums->entries.nr;
	struct placing placing = { .session = s, .kernel = kernel_file(s) };
	struct nt_count count;
	uint64_t space;

	totals->losses = sums->totals.losses;
	totals->errors = sums->totals.errors;
	totals->gaps = sums->totals.gaps;
	for (; e < end; e++) {
		count = (struct nt_count){
			.type = e->type, .how = e->how, .count = e->count, .insns = e->insns,
			.not_taken = e->not_taken,
		};
		if (!place(&placing, e->file, e->from, &count.space, &count.from))
			continue;
		if (e->type == NT_COUNT_BLOCK)
			count.to = count.from + (e->to - e->from);
		else if (e->type == NT_COUNT_EDGE && !place(&placing, e->to_file, e->to, &space, &count.to))
			count.to = 0;
		if (nt_counts_add(counts, &count))
			return -1;
	}
	return 0;
}

bool nt_session_lacks_kernel(const struct nt_session *s)
{
	const struct file_counts *c = counts_of(s);
	uint32_t kernel = kernel_file(s), i;

	for (i = 0; c && i < c->sums->files.nr; i++) {
		if (i != kernel && is_kernel(&c->sums->files.at[i]))
			return true;
	}
	return false;
}

/* ---- All ---- */

static void free_counts(struct ns_counted *counted)
{
	struct file_counts *c = (struct file_counts *)counted;

	nt_sums_free(c->sums);
	free(c->bases);
	free(c);
}

static struct file_counts *new_counts(void)
{
	struct file_counts *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->counted = (struct ns_counted){ .take = take_all, .free = free_counts };
	c->sums = nt_sums_new();
	if (c->sums)
		return c;
	free(c);
	return NULL;
}

int nt_session_open_counts(struct nt_session **session, const char *path,
			   const struct nt_session_options *options)
{
	struct nt_session *s = calloc(1, sizeof(*s));
	struct file_counts *c;

	*session = s;
	if (!s)
		return -1;
	ns_take_options(s, options);
	c = new_counts();
	s->counted = (struct ns_counted *)c;
	if (s->options.kcore)
		s->pd.folder = strdup(s->options.kcore);
	s->has_objects = c && (!s->options.kcore || s->pd.folder);
	if (!s->has_objects || ns_objects_init(&s->objects, &s->pd, path, &s->options))
		return ns_fail(s, "out of memory");
	if (nt_sums_read(c->sums, path))
		return ns_fail(s, "%s", nt_sums_error(c->sums));
	return open_files(s);
}
