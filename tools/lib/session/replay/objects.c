// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the processes of a recording, and the files whose code they executed. */
#include <stdlib.h>
#include <string.h>

#include "replay-priv.h"

/* ---- Lists of files ---- */

static const struct ns_generation *generation_of(const struct nt_replay *replay, uint64_t space)
{
	return &replay->session->sideband.generations.at[space - NS_SPACE_GENERATION];
}

static struct ns_process *process_of(struct nt_replay *replay, uint64_t space)
{
	const struct ns_sideband *sb = &replay->session->sideband;
	int32_t pid = generation_of(replay, space)->pid;

	return &sb->processes.at[ns_lower_bound(sb->processes.nr, sb->processes.at[i].pid < pid)];
}

static bool has_file(struct nt_session *session, const struct ns_map *map)
{
	return map->object->path[0] == '/' && ns_object_open(&session->objects, map->object) &&
	       map->object->segments.nr;
}

/*
 * Add a file to the list, unless the list already has this file, or another file that overlaps it or has the same path.
 * But if nt_replay_options::cpus is set, an address does not show whether the file or the other one executes. Then set
 * the size of both to 0, so that settle() removes them. Return false if out of memory.
 */
static bool add_file(const struct nt_replay *replay, struct ns_files *files, struct nt_replay_object *file)
{
	struct nt_replay_object *other = files->all.at, *end = other + files->all.nr;

	for (; other < end; other++) {
		if (other->path == file->path && other->start == file->start)
			return true;
		/* continue if the addresses do not overlap, unless the two are different files with the same path */
		if ((other->start >= file->end || file->start >= other->end) && (other->path == file->path || strcmp(other->path, file->path)))
			continue;
		if (!replay->options.cpus)
			return true;
		other->size = file->size = 0;
	}
	return ns_array_add(&files->all, *file);
}

static bool add_files(const struct nt_replay *replay, struct ns_files *files, uint64_t space)
{
	const struct ns_segment *first, *last;
	const struct ns_object *object;
	const struct ns_map *map;
	uint64_t addr = 0;

	for (; (map = ns_maps_first(generation_of(replay, space)->maps, addr)); addr = map->end) {
		object = map->object;
		if (!has_file(replay->session, map))
			continue;
		first = object->segments.at;
		last = first + object->segments.nr - 1;
		struct nt_replay_object file = {
			.path = object->path, .file = object->file, .data = object->map, .size = object->size, .space = space,
			.start = map->start - ns_object_address(object, map->pgoff) + first->addr,
			.has_build_id = object->build_id_size, .object = object,
		};

		file.end = file.start + last->addr + last->size - first->addr;
		if (!add_file(replay, files, &file))
			return false;
	}
	return true;
}

/* Add the files of an address space, and the files that the program loads later at other addresses. */
static bool add_program(struct nt_replay *replay, struct ns_files *files, uint64_t space)
{
	const struct ns_process *p = process_of(replay, space);
	const struct ns_generation *all = replay->session->sideband.generations.at;
	uint32_t image = generation_of(replay, space)->image;
	size_t nth = ns_lower_bound(p->generations.nr, all[p->generations.at[i]].image <= image);

	return add_files(replay, files, space) && add_files(replay, files, NS_SPACE_GENERATION + p->generations.at[nth - 1]);
}

static int file_cmp(const void *a, const void *b)
{
	const struct nt_replay_object *x = a, *y = b;

	return ns_order(x->start, y->start);
}

/* Remove the files with a size of 0, and sort the other files by address. */
static void settle(struct ns_files *files)
{
	size_t i, n = 0;

	for (i = 0; i < files->all.nr; i++) {
		if (files->all.at[i].size)
			files->all.at[n++] = files->all.at[i];
	}
	files->all.nr = n;
	ns_array_sort(&files->all, file_cmp);
}

static bool make_files(struct nt_replay *replay, struct ns_files *files, uint64_t space)
{
	bool ok = true;
	size_t i;

	for (i = 0; ok && i < (replay->options.cpus ? replay->spaces.nr : 1); i++)
		ok = replay->options.cpus ? add_files(replay, files, replay->spaces.at[i]) : add_program(replay, files, space);
	settle(files);
	return ok;
}

static bool are_equal(const struct ns_files *a, const struct ns_files *b)
{
	size_t i = 0;

	while (i < a->all.nr && i < b->all.nr && a->all.at[i].path == b->all.at[i].path &&
	       a->all.at[i].start == b->all.at[i].start)
		i++;
	return i == a->all.nr && i == b->all.nr;
}

/* Make a list, and return its number; -1 if out of memory. */
static int new_list(struct nt_replay *replay, uint64_t space)
{
	struct ns_files files = { 0 };
	bool ok = make_files(replay, &files, space);
	size_t nth = ns_lower_bound(ok ? replay->files.nr : 0, !are_equal(&replay->files.at[i], &files));

	if (ok && nth == replay->files.nr && ns_array_add(&replay->files, files))
		return nth;
	free(files.all.at);
	return ok ? (int)nth : -1;
}

static size_t index_of(const struct nt_replay *replay, uint64_t space)
{
	return ns_lower_bound(replay->spaces.nr, replay->spaces.at[i] < space);
}

int nt_replay_files(struct nt_replay *replay, uint64_t space)
{
	size_t nth = replay->options.cpus ? 0 : index_of(replay, space);

	if (nth >= replay->spaces.nr || (!replay->options.cpus && replay->spaces.at[nth] != space))
		return -1;
	while (replay->lists.nr < replay->spaces.nr) {
		if (!ns_array_add(&replay->lists, -2))
			return -1;
	}
	if (replay->lists.at[nth] == -2)
		replay->lists.at[nth] = new_list(replay, replay->spaces.at[nth]);
	return replay->lists.at[nth];
}

bool nt_replay_file(struct nt_replay *replay, int list, size_t nth, struct nt_replay_object *object)
{
	const struct ns_files *files = &replay->kernel;

	if (list == NT_REPLAY_KERNEL && !replay->has_kernel)
		ns_kernel_files(replay->session, &replay->kernel);
	replay->has_kernel |= list == NT_REPLAY_KERNEL;
	if (list != NT_REPLAY_KERNEL)
		files = &replay->files.at[list];
	if (nth >= files->all.nr)
		return false;
	*object = files->all.at[nth];
	return true;
}

size_t nt_replay_constants(const struct nt_replay *replay, int list, uint64_t addr, void *buf, size_t size)
{
	struct ns_files none = { 0 };
	const struct ns_files *files = list >= 0 ? &replay->files.at[list] : &none;
	const struct nt_replay_object *file = files->all.at, *end = file + files->all.nr;
	const struct ns_segment *first, *s;
	uint64_t at;

	for (; file < end; file++) {
		first = file->object->segments.at;
		for (s = first; s < first + file->object->segments.nr; s++) {
			at = addr - file->start + first->addr - s->addr;
			if (s->exec || s->write || at >= s->size)
				continue;
			size = size < s->size - at ? size : s->size - at;
			memcpy(buf, file->data + s->offset + at, size);
			return size;
		}
	}
	return 0;
}

bool nt_replay_change(struct nt_replay *replay, uint64_t *space, bool backwards, uint64_t *time)
{
	int list = replay->options.cpus ? -1 : nt_replay_files(replay, *space);
	size_t nth = index_of(replay, *space);
	int32_t pid;
	bool differs;

	if (list < 0)
		return false;
	pid = generation_of(replay, *space)->pid;
	*time = generation_of(replay, *space)->since;
	while (backwards ? nth-- > 0 : ++nth < replay->spaces.nr) {
		if (generation_of(replay, replay->spaces.at[nth])->pid != pid)
			continue;
		*space = replay->spaces.at[nth];
		differs = nt_replay_files(replay, *space) != list;
		/* the change happened when the later one of the two address spaces before and after the change began */
		if (!backwards || !differs)
			*time = generation_of(replay, *space)->since;
		if (differs)
			return true;
	}
	return false;
}

void ns_files_free(struct nt_replay *replay)
{
	size_t i;

	for (i = 0; i < replay->files.nr; i++)
		free(replay->files.at[i].all.at);
	ns_kernel_files_free(&replay->kernel);
	free(replay->files.at);
	free(replay->lists.at);
}

/* ---- The process with the most instructions ---- */

struct count {
	int32_t		pid;
	uint64_t	insns;
};

struct counts {
	NS_ARRAY(struct count) all;
	uint64_t	kernel_start;
};

static bool add_count(struct counts *counts, int32_t pid, uint64_t insns)
{
	size_t i = 0;

	while (i < counts->all.nr && counts->all.at[i].pid != pid)
		i++;
	if (i < counts->all.nr)
		counts->all.at[i].insns += insns;
	return i < counts->all.nr || ns_array_add(&counts->all, ((struct count){ .pid = pid, .insns = insns }));
}

static void *begin(void *ctx, uint64_t stretch)
{
	struct counts *counts = ctx, *part = calloc(1, sizeof(*part));

	if (part)
		part->kernel_start = counts->kernel_start;
	return part;
}

static int take_ranges(void *part, const struct nt_who *who, const struct nt_batch *batch)
{
	struct counts *counts = part;
	uint64_t insns = 0;
	size_t i;

	if (who->pid <= 0 || batch->ranges[0].start >= counts->kernel_start)
		return 0;
	for (i = 0; i < batch->nr; i++)
		insns += batch->ranges[i].insns;
	return add_count(counts, who->pid, insns) ? 0 : -1;
}

static int end(void *ctx, void *part, const struct nt_who *who, bool lost)
{
	struct counts *counts = part;
	bool ok = true;
	size_t i;

	for (i = 0; i < counts->all.nr; i++)
		ok = add_count(ctx, counts->all.at[i].pid, counts->all.at[i].insns) && ok;
	free(counts->all.at);
	free(counts);
	return ok ? 0 : -1;
}

/* Return the id of the only process that has mapped code, or -1 if no process or several processes have. */
static int32_t only_process(const struct ns_sideband *sb)
{
	const struct ns_process *p = sb->processes.at, *end = p + sb->processes.nr;
	int32_t found = -1;
	size_t i;

	for (; p < end; p++) {
		for (i = 0; i < p->generations.nr && !sb->generations.at[p->generations.at[i]].maps; i++)
			;
		if (i == p->generations.nr || p->pid <= 0)
			continue;
		if (found >= 0)
			return -1;
		found = p->pid;
	}
	return found;
}

bool nt_replay_has_code(struct nt_session *session, int32_t pid)
{
	const struct ns_sideband *sb = &session->sideband;
	int32_t only = pid < 0 ? only_process(sb) : pid;
	size_t nth = ns_lower_bound(sb->processes.nr, sb->processes.at[i].pid < only), i;
	const struct ns_process *p = &sb->processes.at[nth];
	const struct ns_map *map;
	uint64_t addr;

	if (session->objects.kcore.segments.nr || session->firmware.nr || only < 0 || nth == sb->processes.nr || p->pid != only)
		return true;
	/* search the newest program first, because the files that are searched in vain are reported */
	for (i = p->generations.nr; i-- > 0;) {
		for (addr = 0; (map = ns_maps_first(sb->generations.at[p->generations.at[i]].maps, addr)); addr = map->end) {
			if (has_file(session, map))
				return true;
		}
	}
	return false;
}

int nt_replay_main(struct nt_session *session, int32_t *pid, size_t *others)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = take_ranges, .end = end,
	};
	struct counts counts = { .kernel_start = ns_kernel_start(session) };
	uint64_t most = 0;
	size_t i;
	int err;

	*others = 0;
	*pid = only_process(&session->sideband);
	if (*pid >= 0)
		return 0;
	err = nt_session_decode(session, &consumer, &counts);
	for (i = 0; i < counts.all.nr; i++) {
		if (counts.all.at[i].insns > most) {
			most = counts.all.at[i].insns;
			*pid = counts.all.at[i].pid;
		}
	}
	*others = counts.all.nr ? counts.all.nr - 1 : 0;
	free(counts.all.at);
	return err;
}
