/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of the programs that measure the driver while a CPU switches between two tasks */
#ifndef TESTS_SWITCHES_H
#define TESTS_SWITCHES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Return the number in a file of a PMU, such as "ntrace/type". */
static uint64_t number(const char *file)
{
	char path[128], text[64] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/sys/bus/event_source/devices/%s", file);
	f = fopen(path, "r");
	if (!f || !fgets(text, sizeof(text), f)) {
		fprintf(stderr, "%s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return strtoull(text, NULL, 0);
}

/* Start a task that writes each byte from the pipe @to to the pipe @from. Return its pid. */
static int start_partner(const int to[2], const int from[2])
{
	int pid = fork();
	char c;

	if (pid)
		return pid;
	while (read(to[0], &c, 1) == 1)
		if (write(from[1], &c, 1) != 1)
			break;
	_exit(0);
}

#endif /* TESTS_SWITCHES_H */
