// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with a problem: 100 requests, and 4 of them are slow, as they find
 * the table half full and move all of it to a larger one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct entry {
	unsigned long key;
	char payload[24];
};

static struct entry *table;
static size_t size = 256, used;

static void insert(unsigned long key)
{
	size_t i = key * 0x9e3779b97f4a7c15ul % size;

	while (table[i].key)
		i = (i + 1) % size;
	table[i].key = key;
	used++;
}

static void rehash(void)
{
	struct entry *old = table;
	size_t i, n = size;

	size *= 2;
	used = 0;
	table = calloc(size, sizeof(*table));
	for (i = 0; i < n; i++)
		if (old[i].key)
			insert(old[i].key);
	free(old);
}

static void request(unsigned long number)
{
	if (used * 2 >= size)
		rehash();
	for (int i = 1; i <= 16; i++)
		insert(number * 16 + i);
}

/* Linux has the clock in the vDSO: code that is in no file */
static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

int main(void)
{
	double begin = seconds();

	table = calloc(size, sizeof(*table));
	for (int i = 0; i < 100; i++)
		request(i);
	printf("100 requests, %zu entries, %.1f ms\n", used, (seconds() - begin) * 1e3);
	return 0;
}
