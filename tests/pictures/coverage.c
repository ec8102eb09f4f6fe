// SPDX-License-Identifier: GPL-2.0-only
/*
 * The program for which profile.t compares the coverage of `ntrace profile` with that of gcov. It has
 * loops, branches that are never taken, inlined functions, recursion, longjmp() and calls through
 * pointers.
 */
#include <setjmp.h>

static volatile unsigned long sum;
static jmp_buf back;

static inline __attribute__((always_inline)) void add(unsigned long n)
{
	sum += n;
	if (n & 1)
		sum ^= n;
}

static int is_prime(int n)
{
	int i;

	if (n < 2)
		return 0;
	for (i = 2; i * i <= n; i++) {
		if (n % i == 0)
			return 0;
	}
	return 1;
}

static void deep(int n)
{
	if (!n)
		longjmp(back, 1);
	deep(n - 1);
	sum = 0;
}

static void one(int n)
{
	add(n);
}

static void two(int n)
{
	add(n);
	add(n + 1);
}

static void never(int n)
{
	while (n--)
		add(n);
}

static int choose(int n)
{
	switch (n % 5) {
	case 0:
		return 3;
	case 1:
	case 2:
		return n > 7 && n < 20 ? 1 : 2;
	case 3:
		add(n);
		break;
	default:
		do {
			n -= 3;
		} while (n > 0);
	}
	return n;
}

int main(int argc, char **argv)
{
	void (*const call[])(int) = { one, two, one };
	int i, n = 0;

	for (i = 0; i < 200; i++)
		n += is_prime(i);
	for (i = 0; i < 30; i++)
		call[i % 3](choose(i));
	if (argc > 1)
		never(argc);
	if (!setjmp(back))
		deep(5);
	else
		n++;
	return n != 47;
}
