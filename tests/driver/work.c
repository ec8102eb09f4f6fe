// SPDX-License-Identifier: GPL-2.0-only
/* This program is traced by tests. main() calls inside() and outside() */
#include <stdlib.h>
#include <sys/utsname.h>

__attribute__((noinline)) unsigned int inside(unsigned int x)
{
	unsigned int i;

	for (i = 0; i < 10; i++)
		x = x & 1 ? 3 * x + 1 : x / 2 + i;
	return x;
}

__attribute__((noinline)) unsigned int outside(unsigned int x)
{
	return x % 3 ? x + 5 : x - 1;
}

int main(int argc, char **argv)
{
	unsigned int n = argc > 1 ? atoi(argv[1]) : 1000;
	volatile unsigned int x = 1;
	struct utsname name;

	while (n--) {
		x = outside(inside(x));
		if (n % 100 == 0)
			uname(&name);
	}
	return 0;
}
