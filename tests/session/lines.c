// SPDX-License-Identifier: GPL-2.0-only
/* This program has functions that are inlined into each other. A profile counts its source lines. */
static volatile unsigned long sum;

static inline __attribute__((always_inline)) void add(unsigned long n)
{
	sum += n;
	if (n & 1)
		sum ^= n;
}

static inline __attribute__((always_inline)) void twice(unsigned long n)
{
	add(n);
	add(n + 1);
}

__attribute__((noinline)) static void work(int n)
{
	while (n--)
		twice(n);
	add(1);
}

__attribute__((noinline)) static int recurse(int n)
{
	return n ? recurse(n - 1) + 1 : 0;
}

static inline __attribute__((always_inline)) void helper(int n)
{
	work(10 + n);
}

int main(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		helper(i);
		add(recurse(i));
	}
	return 0;
}
