// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program with unpredictable branches, which tests trace. It sorts random numbers, searches for
 * them, and puts them in a tree. argv[1] is the number of random numbers.
 */
#include <stdio.h>
#include <stdlib.h>

struct node {
	unsigned int	value;
	struct node	*child[2];
};

static unsigned int seed = 1;

static unsigned int next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 17;
	seed ^= seed << 5;
	return seed;
}

static void sink(unsigned int *heap, int i, int n)
{
	unsigned int value = heap[i];
	int child;

	while ((child = 2 * i + 1) < n) {
		if (child + 1 < n && heap[child + 1] > heap[child])
			child++;
		if (heap[child] <= value)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = value;
}

static void sort(unsigned int *values, int n)
{
	int i;

	for (i = n / 2 - 1; i >= 0; i--)
		sink(values, i, n);
	for (i = n - 1; i > 0; i--) {
		unsigned int max = values[0];

		values[0] = values[i];
		values[i] = max;
		sink(values, 0, i);
	}
}

static int search(const unsigned int *values, int n, unsigned int wanted)
{
	int low = 0, high = n;

	while (low < high) {
		int middle = (low + high) / 2;

		if (values[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct node *insert(struct node *node, unsigned int value)
{
	if (!node) {
		node = calloc(1, sizeof(*node));
		node->value = value;
	} else if (value < node->value) {
		node->child[0] = insert(node->child[0], value);
	} else {
		node->child[1] = insert(node->child[1], value);
	}
	return node;
}

static int compare(const void *a, const void *b)
{
	unsigned int x = *(const unsigned int *)a, y = *(const unsigned int *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	unsigned int *values = malloc(n * sizeof(*values));
	struct node *tree = NULL;
	unsigned long sum = 0;
	int i;

	for (i = 0; i < n; i++)
		tree = insert(tree, next_random());
	for (i = 0; i < n; i++)
		values[i] = next_random();
	sort(values, n);
	for (i = 0; i < n; i++)
		sum += search(values, n, next_random());
	for (i = 0; i < n; i++)
		values[i] = next_random();
	qsort(values, n, sizeof(*values), compare);
	printf("%lu %u\n", sum, tree->value);
	return 0;
}
