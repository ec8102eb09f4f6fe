// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare maps of a process with an array of pages. Check also that 16 times as many maps take less than 256 times
 * the processor time.
 *
 *   maps SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "session/world/sideband.h"
#include "session/code/object.h"
#include "session/session.h"

#define PAGES	256
#define PAGE	4096ULL

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t start, len, pgoff;
	uint8_t build_id_size, reserved[3], build_id[20];
	uint32_t prot, flags;
	char name[16];
};

static void fill(struct mmap2 *m, struct pd_record *r, uint64_t start, uint64_t len, unsigned int nth)
{
	memset(m, 0, sizeof(*m));
	m->header.type = PERF_RECORD_MMAP2;
	m->header.size = sizeof(*m);
	m->pid = m->tid = 1;
	m->start = start;
	m->len = len;
	m->prot = 4;
	snprintf(m->name, sizeof(m->name), "/tmp/%u", nth);
	*r = (struct pd_record){ .header = &m->header, .id = { .time = nth + 1 }, .nr = nth };
}

static const struct nt_session_options none;

static int build(struct ns_sideband *sb, struct ns_objects *objects, struct perfdata *pd,
		 struct pd_record *records, unsigned int nr)
{
	memset(pd, 0, sizeof(*pd));
	return ns_objects_init(objects, pd, NULL, &none) ||
		ns_sideband_build(sb, objects, records, nr);
}

/* Check that the maps have the contents of each page at the time of each generation. */
static int check(unsigned int seed)
{
	enum { NR = 300 };
	static struct mmap2 maps[NR];
	static struct pd_record records[NR];
	static int page[NR + 1][PAGES];
	struct ns_sideband sb;
	struct ns_objects objects;
	struct perfdata pd;
	const struct ns_map *map;
	unsigned int i, k, start, len;
	int wrong = 0;
	int64_t gen;

	srand(seed);
	memset(page, -1, sizeof(page));
	for (i = 0; i < NR; i++) {
		start = rand() % PAGES;
		len = 1 + rand() % 8;
		len = start + len > PAGES ? PAGES - start : len;
		fill(&maps[i], &records[i], (start + 1) * PAGE, len * PAGE, i);
		memcpy(page[i + 1], page[i], sizeof(page[i]));
		for (k = start; k < start + len; k++)
			page[i + 1][k] = i;
	}
	if (build(&sb, &objects, &pd, records, NR))
		return 1;
	for (i = 1; i <= NR; i++) {
		gen = ns_sideband_generation(&sb, 1, i);
		for (k = 0; gen >= 0 && k < PAGES; k++) {
			map = ns_generation_map(&sb.generations.at[gen], (k + 1) * PAGE + 5);
			/* Do not check addresses that no map contains at this time. A lookup may find a later map */
			if (page[i][k] < 0)
				continue;
			if (!map || map->object->path != maps[page[i][k]].name ||
			    (k + 1) * PAGE - map->start + map->pgoff !=
			    (k + 1) * PAGE - maps[page[i][k]].start)
				wrong++;
		}
		wrong += gen < 0;
	}
	ns_sideband_free(&sb);
	ns_objects_free(&objects);
	printf("seed %u: %d wrong\n", seed, wrong);
	return wrong;
}

/*
 * Return the processor time of this program. The kernel divides this time into user and system inexactly, so only the
 * sum is exact.
 */
static double processor_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/*
 * Return the processor time in seconds that the library takes to read @nr maps. Their addresses go from high to low,
 * like the addresses that mmap() returns. Every second map overlaps an earlier map.
 */
static double cost(unsigned int nr)
{
	struct mmap2 *maps = calloc(nr, sizeof(*maps));
	struct pd_record *records = calloc(nr, sizeof(*records));
	struct ns_sideband sb;
	struct ns_objects objects;
	struct perfdata pd;
	double before;
	unsigned int i;

	for (i = 0; i < nr; i++)
		fill(&maps[i], &records[i], (1ULL << 38) - PAGE * (i & 1 ? i / 2 : i), PAGE, i);
	before = processor_time();
	if (build(&sb, &objects, &pd, records, nr))
		exit(1);
	before = processor_time() - before;
	ns_sideband_free(&sb);
	ns_objects_free(&objects);
	free(maps);
	free(records);
	return before;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc > 1 ? strtoul(argv[1], NULL, 0) : 1, i;
	double small, large;
	int wrong = 0;

	for (i = 0; i < 20; i++)
		wrong += check(seed + i);
	/*
	 * For 16 times as many maps, a tree takes about 20 times as long, and an array 256 times. A limit between
	 * these numbers tolerates a busy host
	 */
	small = cost(6250);
	for (i = 0; i < 4; i++) {
		large = cost(6250);
		small = large > small ? large : small;
	}
	large = cost(100000);
	printf("6250 maps: %.4f s, 100000 maps: %.4f s, %.1f times\n", small, large, large / small);
	return wrong || large > 100 * small;
}
