// SPDX-License-Identifier: GPL-2.0-only
/* This program prints names and hangs. Documentation/ntrace/gdb.rst finds out why. */
#include <stdio.h>
#include <string.h>

enum { GO_ON, WAIT };
static volatile int more;
static int check(const char *line)
{
	if (line[0] == '#')
		return GO_ON;
	if (strlen(line) > 8)
		return WAIT;
	return GO_ON;
}

static void wait_for_more(void)
{
	while (!more)
		;
}

static void take(const char *line)
{
	int status = check(line);

	if (status == WAIT)
		wait_for_more();
	puts(line);
}

int main(void)
{
	static const char *const names[] = { "anna", "bob", "clara", "maximilian", "zoe" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		take(names[i]);
	return 0;
}
