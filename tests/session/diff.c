// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two threads with conditions, each of which can be inverted once. `diff NUMBER TIMES` inverts condition NUMBER of each
 * thread after the thread has evaluated this condition TIMES times. The code that inverts a condition has no branch.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define NOINLINE __attribute__((noinline, noclone))
static unsigned int wanted = -1, when;
static __thread unsigned int counts[16];
static __thread volatile unsigned int sink;
static unsigned int inverts(unsigned int number)
{
	unsigned int differ = (number ^ wanted) | (counts[number]++ ^ when);

	return (((differ | -differ) >> 31) ^ 1) & 1;
}
#define IS(number, condition) (((condition) != 0) ^ inverts(number))
struct tree { struct tree *left, *right; unsigned int key; };
NOINLINE struct tree *insert(struct tree *t, struct tree *node)
{
	if (IS(0, !t))
		return node;
	if (IS(1, node->key < t->key))
		t->left = t->left ? insert(t->left, node) : node;
	else
		t->right = t->right ? insert(t->right, node) : node;
	return t;
}
NOINLINE unsigned int gcd(unsigned int a, unsigned int b) { return IS(2, b) && b ? gcd(b, a % b) : a; }
NOINLINE unsigned int sum(const unsigned int *v, unsigned int nr)
{
	unsigned int i, all = 0;

	for (i = 0; IS(3, i < nr) && i < nr; i++)
		all += IS(4, v[i] & 1) ? 3 * v[i] : v[i];
	return all;
}
NOINLINE unsigned int words(const char *s)
{
	unsigned int n = 0;

	for (; *s; s++)
		n += IS(5, *s == ' ');
	return n;
}
static unsigned int add(unsigned int a) { return a + 1; }
static unsigned int twice(unsigned int a) { return 2 * a; }
static unsigned int (*const functions[])(unsigned int) = { add, twice };
static int compare(const void *a, const void *b) { return IS(7, *(unsigned int *)a < *(unsigned int *)b) ? -1 : 1; }
#ifndef LOOPS
#define LOOPS 15
#endif
NOINLINE void *work(void *arg)
{
	struct tree *root = NULL, *node;
	unsigned int v[24], i, j;

	for (i = 0; i < LOOPS; i++) {
		for (j = 0; j < 24; j++)
			v[j] = (j * 7919 + i * 31) % 101;
		node = calloc(1, sizeof(*node));
		node->key = v[3];
		root = root ? insert(root, node) : node;
		qsort(v, 24, sizeof(*v), compare);
		sink += gcd(v[20] + 2, v[22] + 1) + sum(v, 24) + words("a few words to count");
		sink = functions[IS(6, i & 2)](sink);
	}
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc > 2) {
		wanted = atoi(argv[1]);
		when = atoi(argv[2]);
	}
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 1;
	work(NULL);
	return 0;
}
