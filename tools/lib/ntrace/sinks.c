// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Find the sinks that several encoders share, and the CPUs whose trace a full sink has lost
 * (sinks.h).
 */
#include <stdlib.h>

#include "sinks.h"

struct sinks_cpu {
	bool		has_src;
	uint32_t	number;		/* number of the sink; 0 if not known */
	unsigned int	group;		/* same number for CPUs whose messages were found in the same AUX buffer */
};

struct sinks_window {
	uint64_t	time;
	unsigned int	cpu;
};

struct nt_sinks {
	unsigned int		nr_cpus;
	struct sinks_cpu	*cpus;
	struct sinks_window	*windows;	/* sorted by time after nt_sinks_settle() */
	size_t			nr_windows, max_windows;
};

struct nt_sinks *nt_sinks_new(unsigned int nr_cpus)
{
	struct nt_sinks *sinks = calloc(1, sizeof(*sinks));
	unsigned int i;

	if (!sinks)
		return NULL;
	sinks->cpus = calloc(nr_cpus + 1, sizeof(*sinks->cpus));
	if (!sinks->cpus) {
		free(sinks);
		return NULL;
	}
	sinks->nr_cpus = nr_cpus;
	for (i = 0; i < nr_cpus; i++)
		sinks->cpus[i].group = i;
	return sinks;
}

void nt_sinks_free(struct nt_sinks *sinks)
{
	if (!sinks)
		return;
	free(sinks->windows);
	free(sinks->cpus);
	free(sinks);
}

void nt_sinks_set_cpu(struct nt_sinks *sinks, unsigned int cpu, uint32_t number)
{
	sinks->cpus[cpu].has_src = true;
	sinks->cpus[cpu].number = number;
}

void nt_sinks_join(struct nt_sinks *sinks, unsigned int a, unsigned int b)
{
	unsigned int from = sinks->cpus[b].group, to = sinks->cpus[a].group, i;

	for (i = 0; from != to && i < sinks->nr_cpus; i++) {
		if (sinks->cpus[i].group == from)
			sinks->cpus[i].group = to;
	}
}

static bool sinks_are_one(const struct nt_sinks *sinks, unsigned int a, unsigned int b)
{
	const struct sinks_cpu *x = &sinks->cpus[a], *y = &sinks->cpus[b];

	if (a == b || !x->has_src || !y->has_src)
		return a == b;
	return x->number && y->number ? x->number == y->number : x->group == y->group;
}

bool nt_sinks_share(const struct nt_sinks *sinks, unsigned int a, unsigned int b)
{
	const struct sinks_cpu *x = &sinks->cpus[a], *y = &sinks->cpus[b];

	return sinks_are_one(sinks, a, b) || (x->has_src && y->has_src && !(x->number && y->number));
}

bool nt_sinks_add_window(struct nt_sinks *sinks, unsigned int cpu, uint64_t time)
{
	struct sinks_window *more;

	if (sinks->nr_windows == sinks->max_windows) {
		sinks->max_windows = 2 * sinks->max_windows + 64;
		more = realloc(sinks->windows, sinks->max_windows * sizeof(*more));
		if (!more)
			return false;
		sinks->windows = more;
	}
	sinks->windows[sinks->nr_windows++] = (struct sinks_window){ .time = time, .cpu = cpu };
	return true;
}

static int sinks_compare(const void *a, const void *b)
{
	const struct sinks_window *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void nt_sinks_settle(struct nt_sinks *sinks)
{
	if (sinks->nr_windows)
		qsort(sinks->windows, sinks->nr_windows, sizeof(*sinks->windows), sinks_compare);
}

uint64_t nt_sinks_before(const struct nt_sinks *sinks, unsigned int cpu, uint64_t time)
{
	size_t low = 0, high = sinks->nr_windows, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (sinks->windows[mid].time < time)
			low = mid + 1;
		else
			high = mid;
	}
	while (low && !sinks_are_one(sinks, cpu, sinks->windows[low - 1].cpu))
		low--;
	return low ? sinks->windows[low - 1].time : 0;
}
