// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Find the processes of a recording, and the files whose code they executed. */
#include <stdlib.h>

#include "replay-priv.h"

/* Return the last state of the program that the process executes at @time, or NULL. */
static const struct ns_generation *program_of(const struct ns_sideband *sb, int32_t pid, uint64_t time)
{
	int64_t now = ns_sideband_generation(sb, pid, time);
	const struct ns_generation *g, *last = NULL;
	const struct ns_process *p = sb->processes.at, *end = p + sb->processes.nr;
	size_t i;

	for (; now >= 0 && p < end; p++) {
		for (i = 0; p->pid == pid && i < p->generations.nr; i++) {
			g = &sb->generations.at[p->generations.at[i]];
			if (g->image == sb->generations.at[now].image)
				last = g;
		}
	}
	return last;
}

static bool is_known(struct nt_session *session, const struct ns_map *map)
{
	return map->object->path[0] == '/' && ns_object_open(&session->objects, map->object) &&
	       map->object->segments.nr;
}

bool nt_replay_object(struct nt_session *session, int32_t pid, uint64_t time, size_t nth, struct nt_replay_object *object)
{
	const struct ns_generation *g = program_of(&session->sideband, pid, time);
	const struct ns_object *last = NULL;
	const struct ns_map *map;
	uint64_t addr = 0;

	for (; g && (map = ns_maps_first(g->maps, addr)); addr = map->end) {
		if (map->object == last || !is_known(session, map))
			continue;
		last = map->object;
		if (nth--)
			continue;
		*object = (struct nt_replay_object){
			.path = map->object->path, .file = map->object->file, .data = map->object->map,
			.size = map->object->size, .has_build_id = map->object->build_id_size,
			.start = map->start - ns_object_address(map->object, map->pgoff) + map->object->segments.at[0].addr,
		};
		return true;
	}
	return false;
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

/* Return the only process that has mapped code, or -1 if there are several. */
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

int nt_replay_main(struct nt_session *session, int32_t *pid)
{
	const struct nt_consumer consumer = {
		.size = sizeof(consumer), .begin = begin, .ranges = take_ranges, .end = end,
	};
	struct counts counts = { .kernel_start = ns_kernel_start(session) };
	uint64_t most = 0;
	size_t i;
	int err;

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
	free(counts.all.at);
	return err;
}
