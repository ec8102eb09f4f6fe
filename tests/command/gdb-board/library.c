// SPDX-License-Identifier: GPL-2.0-only
/* Functions that program.c calls through the PLT. They also call each other through the PLT. */
#include "library.h"

static __thread int sink;

int leaf(int n)
{
	sink += n;
	return sink;
}

int sum(int n)
{
	int rest;

	if (!n)
		return 0;
	rest = sum(n - 1);
	return leaf(n) + rest;
}

void each(int n, void (*fn)(int n))
{
	while (n) {
		fn(n);
		n--;
	}
	leaf(n);
}
